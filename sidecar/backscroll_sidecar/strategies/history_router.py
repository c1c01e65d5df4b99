"""Is a question about the last lines, or about long ago? It decides which of two rankings gets the places. Pure.

Four signs: how likely the message starts something new (the reply model's word), the pause before it, how it sounds,
and whether there is a talk at all. A pause alone is not enough: people ask about long ago in the middle of a talk. A
wrong call must cost little: who is unsure takes turns, and no list ever has all the places (decision 0007).
"""

from __future__ import annotations

from enum import Enum
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from backscroll_scoring import Worth, turns
from backscroll_sidecar.analyze import recall_signs
from backscroll_sidecar.channels import LIVE, ChannelView
from backscroll_sidecar.strategies.memory import Sought

NEAR_ROWS = 30
"""The last lines: what a question in the middle of a talk is usually about."""

BM25_AS_ONE, NEAR_SHARE, WHOLE = 10.0, 0.7, 1.2
"""Of the score: the BM25 that counts as 1, the weight of the last lines' BM25, and the divisor."""

NO_PAUSE = -1
PAUSE_MS = 30 * 60_000
"""Nobody answers a busy channel's last line after half an hour: 99 % of the replies there come in 92 s."""
SITTING_ROWS = 3
"""Fewer lines than this since the last pause are hardly a talk."""
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


class Talk(NamedTuple):
    """The talk in which a question is asked, seen from the last lines.

    Attributes
    ----------
    pause_ms : int
        From the last line to the question; -1 when there is no line before it.
    scattered : bool
        Lines are few and far between: the last `SITTING_ROWS` have a pause among them.
    """

    pause_ms: int
    scattered: bool


def talk_before(
    view: ChannelView, eligible: NDArray[np.bool_], asked_at_ms: int, *, all_count: bool = False
) -> Talk:
    """The talk before a question, of the rows that count; `all_count`: these are all that are there."""
    if all_count:
        end = len(eligible)
        times_ms = view.columns.time_ms[max(0, end - SITTING_ROWS) : end].tolist()
    else:
        times_ms = _last_times(view, eligible, SITTING_ROWS)
    if not times_ms:
        return Talk(NO_PAUSE, scattered=False)
    scattered = False
    for one, later in pairwise(times_ms):
        scattered |= later - one >= PAUSE_MS
    return Talk(max(0, asked_at_ms - times_ms[-1]), scattered)


def reaches(starts_new: float, talk: Talk) -> tuple[Reach, Reach]:
    """The reach of a question that answers no message: by the talk it stands in, and if it sounds like long ago, too.

    What a platform says it answers is about the last lines. `starts_new`, 0 to 1, is the probability that the question
    answers nothing that was said here. Where both are the same, neither its words nor what the history has of them can
    change it.
    """
    after_pause = talk.pause_ms >= PAUSE_MS
    if after_pause and talk.scattered:
        return _FAR, _FAR
    if starts_new > SURE:
        quiet = loud = _MOSTLY_FAR
    elif starts_new > UNSURE or talk.scattered:
        quiet = loud = _TURNS
    else:
        quiet, loud = _MOSTLY_NEAR if after_pause else _NEAR, _TURNS
    return quiet, _FAR if after_pause else loud


def decisive_score(pause_ms: int, *, calls_bot: bool) -> float:
    """The score from which the text counts, after such a pause, asked of such a one."""
    if pause_ms >= PAUSE_MS:
        return SOUNDS_AFTER_PAUSE
    return SOUNDS_WHEN_CALLED if calls_bot else SOUNDS_LONG_AGO


def said_of_long_ago(text: str, *, speaks_of: bool) -> float:
    """The share of the question's own words: `recall_signs`, and .3 where it speaks of somebody of the channel."""
    signs = recall_signs(text)
    return signs + 0.3 if speaks_of else signs


def long_ago_score(far: float, near: float, said: float) -> float:
    """0 to 1, hand-set; from .5 on the question is more likely about long ago.

    (far / 10 - .7 near / 10 + said) / 1.2, where `far` and `near` are the best BM25 before and among the last
    `NEAR_ROWS` rows; `far` counts up to 10: more rarity says nothing more.
    """
    value = (min(BM25_AS_ONE, far) - NEAR_SHARE * near) / BM25_AS_ONE + said
    return min(1.0, value / WHOLE) if value > 0.0 else 0.0


def most_long_ago(said: float) -> float:
    """The highest score such words can reach."""
    return long_ago_score(BM25_AS_ONE, 0.0, said)


def worth(score: float, said: float) -> Worth:
    """The BM25 needed for that score, rounded down a little."""
    least = BM25_AS_ONE * (WHOLE * score - said)
    return Worth(BM25_AS_ONE, NEAR_SHARE, least - 1e-4)


def sounds_long_ago(sought: Sought, said: float, score: float) -> float:
    """The score of a question with such words, from its rows.

    Where it cannot reach `score` the old rows are not read, and the result is an upper bound. A restart may change the
    bound, so it must not be shown.
    """
    cut = max(0, len(sought.eligible) - NEAR_ROWS)
    return long_ago_score(*sought.best_before(cut, worth(score, said)), said)


def _last_times(view: ChannelView, eligible: NDArray[np.bool_], count: int) -> list[int]:
    """Times of the last `count` rows that count. The very last rows are tried first."""
    end, times_ms = len(eligible), []
    for start in (max(0, end - count), max(0, end - NEAR_ROWS), 0):
        counts = eligible[start:]
        if not view.all_live:
            counts = counts & (view.state[start:end] == LIVE)
        times_ms = view.columns.time_ms[start:end][counts][-count:].tolist()
        if len(times_ms) == count:
            break
    return times_ms
