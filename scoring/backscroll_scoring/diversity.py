"""Less of the same: near-duplicates collapse, and maximal marginal relevance.

Both keep the ranking one that can be cut anywhere: what they decide about a place depends on the
better places only.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from . import kernels
from .arrays import Float64, Int32, require
from .status import check
from .texts import FeatureSets
from .top_k import top_order

Similarity: TypeAlias = Callable[[int], Float64]
"""Of one place to all m, float64[m] in [0, 1]."""


def near_duplicates(
    sets: FeatureSets,
    order: Int32,
    *,
    authors: Int32 | None = None,
    threshold: float = 0.8,
    across_authors: int = 16,
    engine: ModuleType = kernels,
) -> Int32:
    """Find what says the same as something better ranked; the best ranked one stays.

    A place is a near-duplicate of the first kept place whose facts are equal and whose set has a
    Jaccard similarity (shared / in either) of at least ``threshold`` with its own. Empty sets are
    like nothing. Short lines of different people are votes, not copies: they need
    ``across_authors`` members in both sets.

    Parameters
    ----------
    sets : FeatureSets of m
        See `shingle_sets`.
    order : int32[p]
        Places in 0 to m - 1, best first.
    authors : int32[m], optional
        Left out: all by one author. Negative: nobody knows, like nobody else.
    threshold : float
        In (0, 1].
    across_authors : int
        Not negative.

    Returns
    -------
    int32[p]
        For each entry of ``order`` the place it repeats, or -1: it stays.

    Raises
    ------
    IndexError
        A place outside the sets.
    ValueError
        Offsets that are not offsets, a threshold outside its range, authors of another length.
    """
    if not 0 < threshold <= 1:
        raise ValueError(f"threshold must be in (0, 1]: {threshold}")
    if across_authors < 0:
        raise ValueError(f"across_authors must not be negative: {across_authors}")
    if authors is None:
        authors = np.zeros(len(sets), np.int32)
    elif len(require("authors", authors, np.int32)) != len(sets):
        raise ValueError(f"authors must have one entry a set: {len(sets)}")
    require("order", order, np.int32)
    leaders = np.empty(len(order), np.int32)
    check(
        engine.collapse(
            *(sets.offsets, sets.ids, sets.facts, authors, order),
            *(threshold, across_authors, leaders),
        )
    )
    return leaders


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
        `set_similarity` or `vector_similarity`.
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


def set_similarity(sets: FeatureSets, *, engine: ModuleType = kernels) -> Similarity:
    """Return the Jaccard similarity of a set to all m, for `mmr_order`; empty sets are like nothing."""
    chosen = engine

    def to(place: int) -> Float64:
        out = np.empty(len(sets), np.float64)
        check(chosen.jaccard(sets.offsets, sets.ids, place, out))
        return out

    return to


def vector_similarity(vectors: NDArray[Any]) -> Similarity:
    """Return the cosine of a vector to all m, negative ones as 0, for `mmr_order`.

    ``vectors`` is float32[m, d] or float64[m, d], any length but finite; a zero vector is like
    nothing.
    """
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = vectors / np.where(length > 0, length, 1)

    def to(place: int) -> Float64:
        return np.clip((unit @ unit[place]).astype(np.float64), 0.0, 1.0)

    return to
