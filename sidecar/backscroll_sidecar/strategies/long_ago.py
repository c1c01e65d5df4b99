"""How much a question sounds as if it were about long ago, told by text alone (the clock is not asked). Pure.

One of several signs for the gate between "the last lines" and "the whole history": a speaker in the middle of a talk
who asks about long ago pauses for nobody.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from backscroll_scoring import Worth
from backscroll_sidecar.analyze import recall_signs
from backscroll_sidecar.channels import ChannelView
from backscroll_sidecar.domain import MessageState
from backscroll_sidecar.strategies.memory import MemoryQuestion, Sought
from backscroll_sidecar.strategies.names import Named
from backscroll_sidecar.values import quick

NEAR_ROWS = 30
"""The last lines: what a question in the middle of a talk is usually about."""

BM25_AS_ONE, NEAR_SHARE, WHOLE = 10.0, 0.7, 1.2
"""Of the score: the BM25 that counts as 1, what the last lines' takes away, and what all is divided by."""

_LIVE = np.uint8(MessageState.LIVE)
NO_PAUSE = -1
PAUSE_MS = 30 * 60_000
"""Nobody answers a busy channel's last line after half an hour: 99 % of the replies there come in 92 s."""
SITTING_ROWS = 3
"""Fewer lines than this since the last pause are hardly a talk."""


@quick
@dataclass(frozen=True, slots=True)
class LongAgo:
    """The signs and the score they make.

    Attributes
    ----------
    far, near : float
        Best BM25 / 10 before and among the last `NEAR_ROWS` rows; usually 0 to 1, 2 at most. Where they cannot matter
        they are bounds, which a restart may move: nobody may be told them.
    signs : float
        Of the question's own words (`recall_signs`).
    speaks_of : bool
        It speaks of somebody of the channel (and does not call them).
    pause_ms : int
        From the last line to the question; -1 when there is no line before it. Not part of the score.
    scattered : bool
        Lines are few and far between: the last `SITTING_ROWS` have a pause among them. Not part of the score.
    calls_bot : bool
        It calls the bot by name. Not part of the score.
    """

    far: float
    near: float
    signs: float
    speaks_of: bool
    pause_ms: int
    scattered: bool = False
    calls_bot: bool = False

    def but(self, far: float, near: float) -> LongAgo:
        """The same where the best BM25 are these."""
        return LongAgo(
            *(far / BM25_AS_ONE, near / BM25_AS_ONE, self.signs, self.speaks_of),
            *(self.pause_ms, self.scattered, self.calls_bot),
        )

    @property
    def score(self) -> float:
        """0 to 1, hand-set; from .5 on the question is more likely about long ago.

        (far - .7 near + signs + .3 speaks of somebody) / 1.2; `far` counts up to 1: more rarity says nothing more.
        """
        value = (min(1.0, self.far) - NEAR_SHARE * self.near + self._said) / WHOLE
        return min(1.0, value) if value > 0.0 else 0.0

    def worth(self, score: float) -> Worth:
        """What the best BM25 must come to for that score, a little less for the sake of rounding."""
        least = BM25_AS_ONE * (WHOLE * score - self._said)
        return Worth(BM25_AS_ONE, NEAR_SHARE, least - 1e-4)

    @property
    def _said(self) -> float:
        """What the question says whatever the rows do."""
        return self.signs + 0.3 if self.speaks_of else self.signs


def most_long_ago(
    view: ChannelView, question: MemoryQuestion, named: Named, eligible: NDArray[np.bool_]
) -> LongAgo:
    """The most that rows could make of a question: its own words and the clock are read, and no row's words."""
    times_ms = _last_times(view, eligible, SITTING_ROWS)
    pause_ms, scattered = NO_PAUSE, False
    if times_ms:
        pause_ms = max(0, question.asked_at_ms - times_ms[-1])
    for one, later in pairwise(times_ms):
        scattered |= later - one >= PAUSE_MS
    signs = recall_signs(question.text)
    return LongAgo(1.0, 0.0, signs, named.speaks_of, pause_ms, scattered, question.calls_bot)


def long_ago(most: LongAgo, sought: Sought, score: float = -math.inf) -> LongAgo:
    """What the rows make of a question, `most` being what they could.

    Where it is plain that it cannot have that score the old rows are not read, and `far` and `near` are bounds.
    """
    cut = max(0, len(sought.eligible) - NEAR_ROWS)
    return most.but(*sought.best_before(cut, most.worth(score)))


def _last_times(view: ChannelView, eligible: NDArray[np.bool_], count: int) -> list[int]:
    """When the last `count` rows that count were said; mostly they are the last ones of all, so these come first."""
    end, times_ms = len(eligible), []
    for start in (max(0, end - count), max(0, end - NEAR_ROWS), 0):
        counts = eligible[start:]
        if not view.all_live:
            counts = counts & (view.state[start:end] == _LIVE)
        times_ms = view.columns.time_ms[start:end][counts][-count:].tolist()
        if len(times_ms) == count:
            break
    return times_ms
