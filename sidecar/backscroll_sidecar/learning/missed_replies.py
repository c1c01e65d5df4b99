"""How often lines would not find what they answer among the best, by weights. Pure.

What a line answers is known where its author pressed reply, and likely where the reply model is sure of it. Neither
depends on feedback. So feedback of people who like other lines cannot move weights at the cost of what a question
really goes back to. Half of what people write on IRC names nobody: a guard by reply edges alone would judge by the
other half, and there other weights are the best.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from backscroll_scoring.arrays import Bool, Float64, Int64
from backscroll_sidecar.learning.adoption import GuardMetric

NAME = "missed_replies"
FIRST = 5
"""A line finds what it answers where that is among so many."""
LEAST_LINES = 200
"""Of fewer lines a single one is more than the margin."""
MOST_GROWTH = 0.005
"""By so much, as a share of the lines, more of them may miss it than with the weights that all channels share."""
_SURELY = 1.645
"""So many standard errors of the growth lie within the margin: a growth beyond it has a chance of one in twenty."""


@dataclass(frozen=True, slots=True, eq=False)
class Answering:
    """Lines whose answered line is known, and what a ranking has to choose from for each.

    Attributes
    ----------
    features : float64[n, k]
        Of all candidates, line by line; those of one line from the oldest to the newest.
    offsets : int64[m + 1]
        Where the candidates of each line begin.
    answered : int64[m]
        The place in `features` of what each line answers; -1: it is no candidate, and missed with any weights.
    """

    features: Float64
    offsets: Int64
    answered: Int64

    def __len__(self) -> int:
        return len(self.answered)

    def misses(self, weights: Float64) -> Bool:
        """bool[m]: which lines would not find it among the first `FIRST`; of equal scores the newer comes first."""
        scores = np.clip(self.features @ weights, 0.0, 1.0)
        line = np.repeat(np.arange(len(self)), np.diff(self.offsets))
        wanted = self.answered[line]
        score = scores[wanted]
        is_before = (scores > score) | ((scores == score) & (np.arange(len(scores)) > wanted))
        before = np.bincount(line[is_before], minlength=len(self))
        missed: Bool = (self.answered < 0) | (before >= FIRST)
        return missed


def guard_of(answering: Answering | None, proposed: Float64, shared: Float64) -> GuardMetric | None:
    """The share of lines that miss what they answer, always against the shared weights: small steps cannot add up.

    What chance may hide is taken from the margin, by the lines that the weights tell apart (the standard error of the
    difference of paired shares). Where the weights change no line, that is nothing.

    Parameters
    ----------
    answering : None: it was not looked at.
    proposed, shared : float64[k]

    Returns
    -------
    GuardMetric or None
        None: of too few lines it is known what they answer.
    """
    if answering is None or len(answering) < LEAST_LINES:
        return None
    old, new = answering.misses(shared), answering.misses(proposed)
    error = math.sqrt(float((old != new).sum())) / len(answering)
    margin = MOST_GROWTH - _SURELY * error
    return GuardMetric(NAME, float(old.mean()), float(new.mean()), absolute_margin=margin)


def factors_to_hold(
    answering: Answering, proposed: Float64, current: Float64, shared: Float64
) -> tuple[int, ...]:
    """The fewest factors whose weights must stay, so that the other changes hide nothing; of as many the best.

    What feedback says of a factor that hardly differs among the lines that compete is mostly chance. A change of it
    may cost lines what the others gain. None: one or two of them do not do.
    """
    for count in (1, 2):
        found = [
            (guard.candidate, held)
            for held, weights in _holding(proposed, current, count)
            if (guard := guard_of(answering, weights, shared)) and guard.candidate <= guard.most
        ]
        if found:
            return min(found)[1]
    return ()


def _holding(
    proposed: Float64, current: Float64, count: int
) -> Iterator[tuple[tuple[int, ...], Float64]]:
    """Ways to hold so many of the changed weights, and what is proposed then, of the same sum."""
    moved = np.flatnonzero(proposed != current).tolist()
    if len(moved) < count + 2:  # one alone cannot change
        return
    for held in combinations(moved, count):
        weights, stays = proposed.copy(), list(held)
        rest = np.delete(np.arange(len(weights)), stays)
        weights[stays] = current[stays]
        left = float(np.abs(current).sum() - np.abs(current[stays]).sum())
        weights[rest] *= left / float(np.abs(weights[rest]).sum())
        yield held, weights
