"""The specification of `kernels_fusion.choose_far` in plain Python, of the steps it comes to; see `reference`."""

from __future__ import annotations

import numpy as np

from backscroll_scoring.arrays import Bool, Float64, Int32, Int64, UInt32
from backscroll_scoring.kernels_fusion import add_recalled, take_turns
from backscroll_scoring.kernels_selection import add_older, choose, give_places

NEAR, FAR = 0, 1


def choose_far(
    near: Int32, order: Int64, scores: Float64, author: Int32, n_older: int, asker: int, recent: int, first: int,
    least_score: float, least: int, floor: int,
    far: Int32, linear: Float64, by_words: Bool, by_meaning: Bool, slope: float, offset: float, pattern: Bool,
    rows: Int32, bits: UInt32, references: Bool, all_scores: Float64, chosen: Int64,
) -> tuple[int, int, int, int]:  # fmt: skip
    """Unite m ranked rows with the best k of the history: candidates, who proposed them, their scores, the selected.

    Returns how many candidates there are, how many are selected, and whose the older rows are and which sources those
    of the history have, as `add_older` and `add_recalled` tell.

    Parameters
    ----------
    near, order, scores : int32[m], int64[m], float64[m]
        Rows, ascending; their places, best first; their scores. The first `n_older` are older rows.
    recent, first : the number of the source of the others; the first number that no source has.
    far, linear, by_words, by_meaning : int32[k], float64[k], bool[k] twice
        The rows of the history, best first, their scores, where they are from.
    slope, offset : see `give_places`; pattern : see `take_turns`; least_score, least, floor : see `choose`.
    rows, bits, references, all_scores, chosen : [>= m + k], written
        The candidates; bit i: proposed by source i; proposed by the history alone; scores by what gave each its place;
        the places of the selected, best first.
    """
    m, k = len(near), len(far)
    of_recent, flags = np.full(m - n_older, 1 << recent, np.uint32), np.zeros(m, np.bool_)
    own_bits = np.empty(m, np.uint32)
    whose = add_older(
        author, asker, near[:n_older], first, of_recent, flags[n_older:], own_bits, flags
    )
    places = np.empty(k, np.int32)
    older_sources = whose.bit_count()
    n, sources = add_recalled(
        near, own_bits, flags, far, by_words, by_meaning, first + older_sources, rows, bits, references, places
    )  # fmt: skip
    near_at = np.searchsorted(rows[:n], near)
    all_scores[:n] = 0.0
    all_scores[near_at] = scores
    taken, by_near, at = np.empty(n, np.int32), np.empty(n, np.bool_), np.empty(n, np.int32)
    take_turns(near_at[order].astype(np.int32), places, pattern, taken, by_near, at)
    stages, both = np.full(n, NEAR, np.uint8), np.empty(n, np.int64)
    give_places(taken, by_near, at, linear, all_scores[:n], stages, FAR, slope, offset, both)
    below, weak = np.empty(n, np.bool_), np.empty(n, np.bool_)
    count = choose(
        all_scores[:n], both, stages, FAR, least_score, least, floor, chosen, below, weak
    )
    return n, count, whose, sources
