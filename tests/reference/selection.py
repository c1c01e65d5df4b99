"""The specification of `kernels_selection` in plain Python; see `reference`."""

from __future__ import annotations

import math

import numpy as np

from backscroll_scoring.arrays import Bool, Float64, Int32, Int64, UInt8, UInt32
from backscroll_scoring.layout import OTHERS, OWN


def add_older(
    author: Int32,
    asker: int,
    older: Int32,
    first: int,
    bits: UInt32,
    flags: Bool,
    out_bits: UInt32,
    out_flags: Bool,
) -> int:
    """Put older rows of one or two more sources before k rows; return whose they are, `OWN` + `OTHERS`.

    Parameters
    ----------
    author : int32[n]
        Of each row.
    older : int32[j]
        Rows: the asker's are the first source's, the rest the second's.
    first : the number of the first new source; the second has the next, or this one where the asker has none.
    bits, flags : uint32[k], bool[k]
        Of the rows that are there.
    out_bits, out_flags : uint32[j + k], bool[j + k], written
        Bit i: proposed by source i. Older rows have no flag.
    """
    own = [author[row] == asker for row in older.tolist()]
    j = len(own)
    second = first + 1 if any(own) else first
    out_bits[:j] = [1 << first if mine else 1 << second for mine in own]
    out_flags[:j] = False
    out_bits[j:], out_flags[j:] = bits, flags
    return OWN * any(own) + OTHERS * (not all(own))


def choose(
    scores: Float64,
    order: Int64,
    stages: UInt8,
    kept_stage: int,
    least_score: float,
    least: int,
    floor: int,
    chosen: Int64,
    below: Bool,
    weak: Bool,
) -> int:
    """Take the candidates of an order that are good enough; return how many.

    Parameters
    ----------
    scores, stages : float64[m], uint8[m]
        Of each candidate: its score, and what gave it its place.
    order : int64[k]
        Some of them, best first; the others come behind, the last first.
    kept_stage : what a stage gave its place is never below.
    least_score, least : whose score is lower is below, but for the first so many of the order.
    floor : the last so many candidates are not weak.
    chosen : int64[m], written
        Those that are not weak, in order.
    below, weak : bool[m], written
        Weak are those below that the floor does not keep.
    """
    m = len(scores)
    first = set(order[:least].tolist())
    for j in range(m):
        below[j] = scores[j] < least_score and j not in first and stages[j] != kept_stage
        weak[j] = below[j] and j < m - floor
    there = order.tolist()
    others = [j for j in reversed(range(m)) if j not in set(there)]
    taken = [j for j in (*there, *others) if not weak[j]]
    chosen[: len(taken)] = taken
    return len(taken)


def choose_near(
    scores: Float64, order: Int64, rows: Int32, author: Int32, n_older: int, asker: int, recent: int, first: int,
    least_score: float, least: int, floor: int, chosen: Int64, bits: UInt32,
) -> tuple[int, int]:  # fmt: skip
    """Say who proposed m ranked rows and take those that are good enough: `add_older` and `choose` at once.

    Returns how many are taken, and whose the older rows are, `OWN` + `OTHERS`.

    Parameters
    ----------
    scores, order : float64[m], int64[m]
        Of each candidate; all of them, best first.
    rows : int32[m]
        The candidates, ascending; the first `n_older` are older rows.
    recent : the number of the source of the others.
    chosen, bits : int64[m], uint32[m], written
        Those that are taken, in order; bit i of a candidate: proposed by source i.
    """
    m = len(rows)
    older, flags = rows[:n_older], np.zeros(m, np.bool_)
    of_recent = np.full(m - n_older, 1 << recent, np.uint32)
    whose = add_older(author, asker, older, first, of_recent, flags[n_older:], bits, flags)
    stages, below, weak = np.zeros(m, np.uint8), flags.copy(), flags.copy()
    count = choose(scores, order, stages, -1, least_score, least, floor, chosen, below, weak)
    return count, whose


def give_places(
    taken: Int32,
    by_first: Bool,
    places: Int32,
    linear: Float64,
    scores: Float64,
    stages: UInt8,
    stage: int,
    slope: float,
    offset: float,
    order: Int64,
) -> None:
    """Let what a second list gave a place have that list's probability: logistic(slope linear + offset).

    Parameters
    ----------
    taken, by_first, places : int32[t], bool[t], int32[t]
        As `reference_fusion.take_turns` wrote them, of candidates.
    linear : float64[k]
        The second list's scores, in its order.
    scores, stages : float64[m], uint8[m], written
        Of each candidate.
    stage : what those of the second list have.
    order : int64[t], written
        `taken`.
    """
    for i, place in enumerate(taken.tolist()):
        order[i] = place
        if not by_first[i]:
            scores[place] = 1.0 / (1.0 + math.exp(-slope * float(linear[places[i]]) - offset))
            stages[place] = stage


def spread(
    rows: Int32,
    some: Int32,
    order: Int64,
    some_scores: Float64,
    some_stages: UInt8,
    places: Int64,
    scores: Float64,
    stages: UInt8,
) -> int:
    """Say of candidates what is known of some of them; return how many of those are candidates.

    Parameters
    ----------
    rows, some : int32[m], int32[k]
        Ascending, without repeats.
    order, some_scores, some_stages : int64[k], float64[k], uint8[k]
        Of `some`.
    places : int64[k], written
        The order, by places among `rows`; -1 for what is none of them.
    scores, stages : float64[m], uint8[m], written
        Of `rows`; 0 for those of which nothing is known.
    """
    scores[:], stages[:] = 0.0, 0
    at = {row: place for place, row in enumerate(rows.tolist())}
    there = [at.get(row, -1) for row in some.tolist()]
    for i, place in enumerate(there):
        if place >= 0:
            scores[place], stages[place] = some_scores[i], some_stages[i]
    places[:] = [there[i] for i in order.tolist()]
    return sum(place >= 0 for place in there)
