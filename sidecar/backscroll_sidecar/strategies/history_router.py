"""Is a question about the last lines, or about long ago? It decides which of two rankings gets the places. Pure.

Five signs: how likely the message starts something new (the reply model's word), the pause before it, how it sounds
and what the history has of its words, whether there is a talk at all, and whether that is with the bot. A pause alone
is not enough: people ask about long ago in the middle of a talk, and go on with it an hour later. A wrong call must
cost little: who is unsure takes turns, and the history never has more than ten places in a row (decision 0007).
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
NEVER = 2.0
PAUSE_MS = 30 * 60_000
"""Nobody answers a busy channel's last line after half an hour: 99 % of the replies there come in 92 s."""
SITTING_ROWS = 3
"""Fewer lines than this since the last pause are hardly a talk."""
UNSURE, SURE = 0.7, 0.9
"""Probability of starting something from which the history takes turns, and takes most of them."""
ASKS, ASKS_PLAINLY = 0.15, 0.5
"""Of `said_of_long_ago`: below the first nothing in the words asks, and rare words alone open nothing (half of the
replies of irc_dev that were sent to the history by their score told others where to read); from the second on it is a
question by its form, or speaks of somebody: locomo_dev's lowest is .5, of irc_dev's replies 3 % have that."""
SOUNDS_LONG_AGO = 0.65
"""Score of a text that asks from which a question in the middle of a talk takes turns."""
SOUNDS_WHEN_CALLED = 0.4
"""The same of a question that calls the bot: people tell each other what was just said, and ask a bot what they forgot.
Were all of irc_dev's replies such calls it would cost nothing of hit@5 and .005 of conversation recall."""
SOUNDS_WHEN_PLAIN = 0.45
"""The same of a text that asks plainly; and of any that asks, after a pause, for most of the places: 3 % of irc_dev's
replies have it when put an hour later, all of locomo_dev's questions."""
SOUNDS_CLEARLY = 0.7
"""Score of a text that asks plainly from which it gets most places in the middle of a talk, too. .5 % of irc_dev's
replies have it, and 90 % of locomo_dev's questions, which then find .80 when asked ten seconds after the last line; .73
where these take turns."""
CLEAR, CLEAR_BY_WORDS = 1.0, 0.8
"""Score of the history's best line from which it answers a line of a talk with the bot; and the same without meaning,
which gives the most to the most similar line. 93 % of madial's questions have such a line in the middle of their talk;
where the history is that of strangers 3 % do."""


class Reach(Enum):
    """How much of the ranking the history gets, beside the conversation."""

    NEAR = "near"
    HARDLY_FAR = "hardly_far"
    MOSTLY_NEAR = "mostly_near"
    TURNS = "turns"
    MOSTLY_FAR = "mostly_far"
    IN_TALK = "in_talk"
    FAR = "far"
    LONG_AGO = "long_ago"


_NEAR, _HARDLY_FAR, _MOSTLY_NEAR, _TURNS, _MOSTLY_FAR, _IN_TALK, _FAR, _LONG_AGO = Reach

PATTERNS = {
    how: np.array(pattern, np.bool_)
    for how, pattern in {
        Reach.NEAR: (True,),
        Reach.HARDLY_FAR: turns(7, 8),
        Reach.MOSTLY_NEAR: turns(2, 3),
        Reach.TURNS: turns(1, 2),
        Reach.MOSTLY_FAR: turns(3, 10),
        Reach.IN_TALK: turns(2, 10),
        Reach.FAR: (False, False, False, False, True, False, False, False),
        Reach.LONG_AGO: (*[False] * 10, True, False, False, False, False),
    }.items()
}
"""True: a place of the conversation. Where most are the history's it has the fifth, so that a wrong call is among the
first five. Where the question is plainly about long ago that would cost .010 to .014 of locomo_dev's recall@10."""


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


def reaches(starts_new: float, talk: Talk, said: float, *, to_bot: bool = False) -> Reach:
    """The reach of a question by the talk it stands in, whatever the history has of its words.

    `starts_new`, 0 to 1, is the probability that it answers nothing that was said here: "hello" asks nothing of the
    history either. `to_bot`: it is said to the bot, who is sooner asked for what was once said.
    """
    after_pause = talk.pause_ms >= PAUSE_MS
    if after_pause and talk.scattered:
        return _FAR
    asks = said >= ASKS
    if starts_new > SURE and asks:
        return _MOSTLY_FAR
    if (starts_new > UNSURE and asks) or talk.scattered or (after_pause and to_bot):
        return _TURNS
    return _HARDLY_FAR if after_pause else _NEAR


def decisive_score(pause_ms: int, said: float, *, calls_bot: bool) -> float:
    """The score from which the text counts, with such words after such a pause; 2: none is enough."""
    if pause_ms >= PAUSE_MS:
        return SOUNDS_WHEN_PLAIN if said >= ASKS else NEVER
    if calls_bot:
        return SOUNDS_WHEN_CALLED
    if said >= ASKS_PLAINLY:
        return SOUNDS_WHEN_PLAIN
    return SOUNDS_LONG_AGO if said >= ASKS else NEVER


def reach_by_words(reach: Reach, pause_ms: int, said: float, score: float) -> Reach:
    """The reach of a question whose text counts, and which without it would reach so far."""
    plain, clear = said >= ASKS_PLAINLY, score >= SOUNDS_CLEARLY
    if pause_ms >= PAUSE_MS:
        return _LONG_AGO if plain and clear else _FAR if plain or reach is _FAR else _MOSTLY_FAR
    if plain and clear:
        return _FAR
    return _TURNS if reach is _NEAR else reach


def settled(reach: Reach, best: float, *, by_words: bool = False) -> Reach:
    """How far a line of a talk with the bot reaches, by the history's best score; any other reach as it is.

    `by_words`: the score was made without meaning.
    """
    clear = CLEAR_BY_WORDS if by_words else CLEAR
    return _MOSTLY_NEAR if reach is _IN_TALK and best < clear else reach


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
