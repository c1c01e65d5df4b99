"""Unite rankings of rows: by rank, by score, or by taking turns.

All three are deterministic, list each row once, and can be cut anywhere: fusing with a limit gives a
prefix of fusing without one. A row that one list repeats counts there once, at its first place.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from . import kernels_fusion
from .arrays import Bool, Float64, Int32, Int64, UInt8, UInt32, require
from .top_k import top_order

Normalisation: TypeAlias = Literal["minmax", "absolute"]


@dataclass(frozen=True, slots=True, eq=False)
class Fused:
    """Rows of several lists with their fused scores, best first; of equal ones the newer row first.

    Attributes
    ----------
    rows : int32[m]
        Each row of any list, once.
    scores : float64[m]
        The sum of its shares.
    shares : float64[m, l]
        What each of the l lists added; 0 where a list does not hold the row.
    """

    rows: Int32
    scores: Float64
    shares: Float64


def reciprocal_rank_fusion(
    rankings: Sequence[Int32],
    *,
    weights: Sequence[float] | None = None,
    k: float = 60.0,
    limit: int | None = None,
) -> Fused:
    """Fuse by rank alone: sum over the lists of weight / (k + rank), the best rank being 1.

    Cormack, Clarke and Buettcher, "Reciprocal rank fusion outperforms Condorcet and individual rank
    learning methods", SIGIR 2009; k = 60 is theirs. For lists whose scores mean different things.

    Parameters
    ----------
    rankings : int32[] each
        Rows, best first.
    weights : optional
        One a list, finite, not negative. Left out: 1 each.
    k : float
        Finite, not negative. The larger, the less the first places stand out.
    limit : int, optional
        How many rows at most.

    Raises
    ------
    ValueError
        Weights, k or limit outside their ranges.
    """
    if not (math.isfinite(k) and k >= 0):
        raise ValueError(f"k must be finite and not negative: {k}")
    shares = [
        weight / (k + np.arange(1, len(rows) + 1, dtype=np.float64))
        for rows, weight in zip(rankings, _weights(weights, len(rankings)), strict=True)
    ]
    return _united(rankings, shares, limit)


def linear_fusion(
    rankings: Sequence[Int32],
    scores: Sequence[Float64],
    *,
    weights: Sequence[float] | None = None,
    normalisation: Normalisation = "minmax",
    limit: int | None = None,
) -> Fused:
    """Fuse by score: sum over the lists of weight x normalised score; a row not in a list gets 0.

    Fox and Shaw, "Combination of multiple searches", TREC-2 1994 (CombSUM), weighted. ``minmax``
    is (score - lowest) / (highest - lowest) within the list: the best of each list gets 1, even
    where nothing in the list is any good; all get 1 where all scores are equal. ``absolute`` takes
    the scores as they are, for scores that are in [0, 1] and mean the same across questions.

    Parameters
    ----------
    rankings : int32[] each
        Rows, in any order.
    scores : float64[] each
        Parallel to the rows, finite.
    weights, limit
        See `reciprocal_rank_fusion`.

    Raises
    ------
    ValueError
        Scores that are not finite or of another length, weights or limit outside their ranges.
    """
    if normalisation not in ("minmax", "absolute"):
        raise ValueError(f"normalisation must be 'minmax' or 'absolute', not {normalisation!r}")
    for rows, values in zip(rankings, scores, strict=True):
        if len(require("scores", values, np.float64)) != len(rows):
            raise ValueError(f"scores must have one entry a row: {len(rows)}")
        if not np.isfinite(values).all():
            raise ValueError("scores must be finite")
    shares = [
        weight * (_min_max(values) if normalisation == "minmax" else values)
        for values, weight in zip(scores, _weights(weights, len(rankings)), strict=True)
    ]
    return _united(rankings, shares, limit)


def turns(first: int, of: int) -> tuple[bool, ...]:
    """Return a pattern for `take_turns`: ``first`` of every ``of`` turns are the first list's.

    They are spread evenly, the first list leading: ``turns(1, 2)`` alternates.

    Raises
    ------
    ValueError
        Unless 0 <= first <= of and of >= 1.
    """
    if not (0 <= first <= of and of >= 1):
        raise ValueError(f"of every {of} turns, {first} cannot be the first list's")
    # Rounded up, the quota of the turns so far; a turn that raises it is the first list's.
    quota = [-(-turn * first // of) for turn in range(of + 1)]
    return tuple(quota[turn + 1] > quota[turn] for turn in range(of))


class Turns(NamedTuple):
    """Candidates in the order of two rankings that took turns.

    Attributes
    ----------
    order : int64[k]
        Places among the candidates, each once; those that neither ranking has are left out.
    by_far : int64[k]
        Where the second ranking has the candidate if it gave the place, else -1.
    scores, stages : float64[m], uint8[m]
        Of every candidate, by the ranking that gave its place; 0 for those in neither.
    """

    order: Int64
    by_far: Int64
    scores: Float64
    stages: UInt8


def take_turns(
    rows: Int32,
    near: tuple[Int32, Int64, Float64, UInt8],
    far: tuple[Int32, Float64],
    pattern: Bool,
    link: tuple[float, float],
) -> Turns | None:
    """Let two rankings of candidates take turns: true takes the next row of the first, false of the second.

    The pattern repeats. A row that is in already is passed over without costing the turn; the turns of a ranking that
    has run out are the other's. (Balanced interleaving, Joachims 2003, with a fixed pattern in place of the coin.)

    Parameters
    ----------
    rows : int32[m]
        The candidates, ascending.
    near : int32[n], int64[n], float64[n], uint8[n]
        The first ranking: its rows, ascending, their places in it best first, their scores and stages.
    far : int32[k], float64[k]
        The second one, best first: places among the candidates, and linear scores. One that gave a place makes it a
        probability, logistic(slope x linear + offset), and the stage `BY_MEMORY`.
    pattern : bool[p], not empty; see `turns`.
    link : slope and offset.

    Returns
    -------
    Turns, or None where a row of `near` is no candidate
    """
    m = len(rows)
    taken = np.empty((2, len(near[0]) + len(far[0])), np.int64)
    scores, stages = np.empty(m, np.float64), np.empty(m, np.uint8)
    count = kernels_fusion.take_turns(
        rows, *near, *far, pattern, _pair(*link), taken, scores, stages
    )
    return None if count < 0 else Turns(taken[0, :count], taken[1, :count], scores, stages)


@lru_cache(maxsize=8)
def _pair(one: float, other: float) -> Float64:
    return np.array((one, other))


class United(NamedTuple):
    """Candidates of several sources.

    Attributes
    ----------
    rows, marks, references : int32[n], uint32[n], bool[n]
        Ascending rows; bit i: proposed by source i; shown as a reference.
    present : which of the added sources have rows, bits numbered as in `layout`.
    """

    rows: Int32
    marks: UInt32
    references: Bool
    present: int


def unite(
    candidates: tuple[Int32, UInt32, Bool],
    author: Int32,
    older: Int32,
    alike: Int32,
    far: Int32,
    found_by: Bool,
    known: tuple[int, ...],
    asker: int,
    first: int,
) -> United:
    """Add older rows of the talk, and the best of the history, to the candidates.

    Parameters
    ----------
    candidates : int32[m], uint32[m], bool[m]
        Ascending rows, their marks, and which are references.
    author : int32[n]
        Of each row of the channel.
    older : int32[j]
        Ascending rows; those that are no candidates yet, and not of the history, become part of the talk. Candidates
        get another mark where one of the two sources was asked by name.
    alike : int32[i]
        Ascending, among the older rows: those that words alone brought, and that get their mark.
    far : int32[k]
        Rows of the history, in any order; those that are no candidates yet are references.
    found_by : bool[2, k]
        Whether words and whether meaning found each of them.
    known : five numbers
        The number of each added source among those asked, -1: not asked.
    asker : int
        Whose older rows are the first source's; the others are the second's.
    first : int
        The number of the first source that is added; one without rows gets none.
    """
    rows, marks, references = candidates
    most = len(rows) + len(older) + len(far)
    out, out_marks = np.empty(most, np.int32), np.empty(most, np.uint32)
    out_references = np.empty(most, np.bool_)
    count, present = kernels_fusion.unite(
        rows, marks, references, author, older, alike, far, found_by, _how(*known, asker, first),
        out, out_marks, out_references,
    )  # fmt: skip
    return United(out[:count], out_marks[:count], out_references[:count], present)


@lru_cache(maxsize=4_096)
def _how(*numbers: int) -> Int64:
    return np.array(numbers, np.int64)


def _weights(weights: Sequence[float] | None, count: int) -> list[float]:
    if weights is None:
        return [1.0] * count
    if len(weights) != count:
        raise ValueError(f"weights must be {count} numbers, not {len(weights)}")
    values = [float(weight) for weight in weights]
    if not all(math.isfinite(value) and value >= 0 for value in values):
        raise ValueError(f"weights must be finite and not negative: {values}")
    return values


def _min_max(scores: Float64) -> Float64:
    if not len(scores):
        return scores
    lowest, highest = scores.min(), scores.max()
    # Halves: the span of two finite numbers may not be one.
    span = highest / 2 - lowest / 2
    return (scores / 2 - lowest / 2) / span if span > 0 else np.ones(len(scores), np.float64)


def _united(rankings: Sequence[Int32], shares: Sequence[Float64], limit: int | None) -> Fused:
    """Add up what the lists give each row, in the order of the lists."""
    for rows in rankings:
        require("rankings", rows, np.int32)
    every = np.concatenate([np.empty(0, np.int32), *rankings])
    rows, place = np.unique(every, return_inverse=True)
    table = np.zeros((len(rows), len(rankings)), np.float64)
    total = np.zeros(len(rows), np.float64)
    start = 0
    for column, share in enumerate(shares):
        places = place[start : start + len(share)]
        start += len(share)
        table[places[::-1], column] = share[
            ::-1
        ]  # of a repeated row the first place is written last
        total += table[:, column]
    order = top_order(total, rows, limit=limit)
    return Fused(rows[order], total[order], table[order])
