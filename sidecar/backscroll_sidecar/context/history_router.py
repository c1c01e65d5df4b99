"""Is a question about the last lines, or about long ago? It decides which of two rankings gets the places. Pure.

Four signs: how likely the message starts something new (the reply model's word), the pause before it, how it sounds
(`strategies.long_ago`), and whether there is a talk at all. A wrong call must cost little: who is unsure takes turns,
and no list ever has all the places (decision 0007).
"""

from __future__ import annotations

from enum import Enum

import numpy as np

from backscroll_scoring import turns
from backscroll_sidecar.strategies.long_ago import PAUSE_MS, Moment

UNSURE, SURE = 0.7, 0.9
"""Probability of starting something from which the history takes turns, and takes most of them."""
SOUNDS_LONG_AGO = 0.65
"""Score of the text from which a question in the middle of a talk takes turns, too; never more than that."""
SOUNDS_WHEN_CALLED = 0.4
"""The same of a question that calls the bot: people tell each other what was just said, and ask a bot what they forgot.
Were all of irc_dev's replies such calls it would cost nothing of hit@5 and .005 of conversation recall; locomo_dev's
questions ten seconds after the last line find .737 among the first ten, .710 from `SOUNDS_LONG_AGO` on."""
SOUNDS_AFTER_PAUSE = 0.5
"""Score of the text that is enough after a pause for most of the places: 9 % of irc_dev's replies have it when put an
hour later, 99.7 % of locomo_dev's questions."""


class Reach(Enum):
    """How much of the ranking the history gets, beside the conversation."""

    NEAR = "near"
    MOSTLY_NEAR = "mostly_near"
    TURNS = "turns"
    MOSTLY_FAR = "mostly_far"
    FAR = "far"


_NEAR, _MOSTLY_NEAR, _TURNS, _MOSTLY_FAR, _FAR = Reach


def reaches(starts_new: float, moment: Moment) -> tuple[Reach, Reach]:
    """The reach of a question that answers no message: by the talk it stands in, and if it sounds like long ago, too.

    What a platform says it answers is about the last lines. `starts_new`, 0 to 1, is the probability that the question
    answers nothing that was said here. Where both are the same, neither its words nor what the history has of them can
    change it.
    """
    after_pause = moment.pause_ms >= PAUSE_MS
    if after_pause and moment.scattered:
        return _FAR, _FAR
    if starts_new > SURE:
        quiet = loud = _MOSTLY_FAR
    elif starts_new > UNSURE or moment.scattered:
        quiet = loud = _TURNS
    else:
        quiet, loud = _MOSTLY_NEAR if after_pause else _NEAR, _TURNS
    return quiet, _FAR if after_pause else loud


def decisive_score(pause_ms: int, *, calls_bot: bool) -> float:
    """The score from which the text counts, after such a pause, asked of such a one."""
    if pause_ms >= PAUSE_MS:
        return SOUNDS_AFTER_PAUSE
    return SOUNDS_WHEN_CALLED if calls_bot else SOUNDS_LONG_AGO


PATTERNS = {
    how: np.array(pattern, np.bool_)
    for how, pattern in {
        Reach.NEAR: (True,),
        Reach.MOSTLY_NEAR: turns(2, 3),
        Reach.TURNS: turns(1, 2),
        Reach.MOSTLY_FAR: turns(3, 10),
        Reach.FAR: (False, False, False, False, True, False, False, False),
    }.items()
}
"""True: a place of the conversation. After a pause it has the fifth, so that a wrong call is among the first five."""
