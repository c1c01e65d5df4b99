"""Maximal marginal relevance."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from .arrays import Float64, Int32
from .kernels_diversity import jaccard
from .status import check
from .texts import FeatureSets
from .top_k import top_order

Similarity: TypeAlias = Callable[[int], Float64]
"""Of one place to all m, float64[m] in [0, 1]."""


def mmr_order(
    scores: Float64,
    similarity: Similarity,
    *,
    relevance: float = 0.7,
    rows: Int32 | None = None,
    limit: int | None = None,
) -> Int32:
    """Rank by maximal marginal relevance.

    Carbonell and Goldstein, "The use of MMR", SIGIR 1998: the next is the one with the greatest
    relevance * score - (1 - relevance) * (its largest similarity to one that is in). Of equal ones
    the one `top_order` has first. With ``relevance`` 1 it is `top_order`.

    Parameters
    ----------
    scores : float64[m]
        In [0, 1], as the similarities are.
    similarity
        See `set_similarity`.
    relevance : float
        The lambda of the paper, in [0, 1].
    rows : int32[m], optional
        For ties; see `top_order`.
    limit : int, optional
        How many at most. Cost: limit times m comparisons.

    Returns
    -------
    int32[min(m, limit)]
        Places, best first; a smaller limit gives a prefix.

    Raises
    ------
    ValueError
        ``relevance`` or ``limit`` outside their ranges, NaN among the scores.
    """
    if not 0 <= relevance <= 1:
        raise ValueError(f"relevance must be in [0, 1]: {relevance}")
    if limit is not None and limit < 0:
        raise ValueError(f"limit must not be negative: {limit}")
    by_score = top_order(scores, rows)
    out = np.empty(len(scores) if limit is None else min(len(scores), limit), np.int32)
    worth = relevance * scores[by_score]
    nearest = np.zeros(len(scores), np.float64)
    left = np.ones(len(scores), np.bool_)
    for turn in range(len(out)):
        # The first of equal maxima is the one that by_score has first.
        best = int(np.argmax(np.where(left, worth - (1.0 - relevance) * nearest, -np.inf)))
        out[turn] = by_score[best]
        left[best] = False
        np.maximum(nearest, similarity(int(by_score[best]))[by_score], out=nearest)
    return out


def set_similarity(sets: FeatureSets) -> Similarity:
    """Return the Jaccard similarity of a set to all m, for `mmr_order`; empty sets are like nothing."""

    def to(place: int) -> Float64:
        out = np.empty(len(sets), np.float64)
        check(jaccard(sets.offsets, sets.ids, place, out))
        return out

    return to
