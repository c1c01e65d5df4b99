"""Whether a question is about long ago, judged by its text; and the moment at which it is asked. Pure.

One of several signs for choosing between the last lines and the whole history. A pause alone is not enough: people ask
about long ago in the middle of a talk.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from backscroll_scoring import Worth
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


class Moment(NamedTuple):
    """When a question is asked, seen from the last lines.

    Attributes
    ----------
    pause_ms : int
        From the last line to the question; -1 when there is no line before it.
    scattered : bool
        Lines are few and far between: the last `SITTING_ROWS` have a pause among them.
    """

    pause_ms: int
    scattered: bool


def moment_of(
    view: ChannelView, eligible: NDArray[np.bool_], asked_at_ms: int, *, all_count: bool = False
) -> Moment:
    """The moment of a question among the rows that count; `all_count`: these are all that are there."""
    if all_count:
        end = len(eligible)
        times_ms = view.columns.time_ms[max(0, end - SITTING_ROWS) : end].tolist()
    else:
        times_ms = _last_times(view, eligible, SITTING_ROWS)
    if not times_ms:
        return Moment(NO_PAUSE, scattered=False)
    scattered = False
    for one, later in pairwise(times_ms):
        scattered |= later - one >= PAUSE_MS
    return Moment(max(0, asked_at_ms - times_ms[-1]), scattered)


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
