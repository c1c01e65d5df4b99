"""The score for long memory in plain Python: what `kernels_memory` computes, one row at a time."""

from __future__ import annotations

import math

import numpy as np

from backscroll_scoring.arrays import Bool, Float32, Float64, Int32, Int64, UInt8, UInt64
from backscroll_scoring.layout import CHUNK
from backscroll_scoring.status import BAD_OFFSETS, OK, ROW_OUT_OF_RANGE


def neighbours(
    row: int, n: int, time_ms: Int64, sitting_ms: int, reach: int
) -> list[tuple[int, int]]:
    """(other row, distance) of the rows up to `reach` away that lie in one sitting with `row`: no pause of `sitting_ms`
    or more between them.
    """
    out = []
    for step in (-1, 1):
        for distance in range(1, reach + 1):
            other = row + step * distance
            if not 0 <= other < n:
                break
            if abs(int(time_ms[other]) - int(time_ms[other - step])) >= sitting_ms:
                break
            out.append((other, distance))
    return out


def with_neighbours(
    values: list[float], time_ms: Int64, sitting_ms: int, weights: tuple[float, ...]
) -> list[float]:
    """Each value plus ``weights[d - 1]`` times those of its neighbours at distance d."""
    n = len(values)
    return [
        value
        + sum(
            weights[distance - 1] * values[other]
            for other, distance in neighbours(row, n, time_ms, sitting_ms, len(weights))
        )
        for row, value in enumerate(values)
    ]


def passages(cover: UInt64, side: int, idf: Float32) -> list[float]:
    """For the passage of each row and `side` rows around it: the weight of the terms it has, each once, over that of
    the best passage; 0 when no passage has any.
    """
    found = []
    for row in range(len(cover)):
        terms = 0
        for bits in cover[max(0, row - side) : row + side + 1].tolist():
            terms |= bits
        found.append(sum(w for i, w in enumerate(idf.tolist()) if terms >> i & 1))
    best = max(found, default=0.0)
    return [value / best if best > 0 else 0.0 for value in found]


def meaning(dense: Float32, time_ms: Int64, eligible: UInt8, sitting_ms: int) -> list[float]:
    """Similarity with .25 of both neighbours', scaled from 0, the least eligible row, to 1, the best; where a row has
    none, the mean of those that have one.
    """
    own = [0.0 if math.isnan(value) else value for value in dense.tolist()]
    mixed = with_neighbours(own, time_ms, sitting_ms, (0.25,))
    known = [bool(e) and not math.isnan(v) for e, v in zip(eligible, dense.tolist(), strict=True)]
    there = [value for value, is_known in zip(mixed, known, strict=True) if is_known]
    low, high = min(there, default=0.0), max(there, default=0.0)
    if high <= low:
        return [0.0] * len(own)
    mean = sum(there) / len(there)
    return [
        ((mean if math.isnan(raw) else value) - low) / (high - low)
        for value, raw in zip(mixed, dense.tolist(), strict=True)
    ]


def memory_scores(
    scores: Float32,
    cover: UInt64,
    idf: Float32,
    active: Bool,
    time_ms: Int64,
    author: Int32,
    asks: UInt8,
    eligible: UInt8,
    dense: Float32,
    speakers: Int32,
    asker: int,
    names_asker: UInt8,
    date_spans: Int32,
    date_values: Float32,
    has_time: UInt8,
    has_number: UInt8,
    weights: Float32,
    saturation: float,
    sitting_ms: int,
    choose: bool,
    rows: Int32,
    totals: Float64,
    shares: Float64,
    by: Bool,
) -> tuple[int, int]:
    """The score of rows and what it is made of.

    With B = BM25 / 10 of a row, r the largest B, sure = r / (r + saturation):

    - words: B / (r + saturation), with .2 of the next and .1 of the second rows in the same sitting, and .3 of the row
      before if that asks and this is somebody else's. Absolute: a question whose words hit nothing rare gets little.
    - passage: `passages` of 2 rows on each side, times sure; wide_passage: of 4.
    - meaning: `meaning`.
    - date: the sum of the values of the spans the row is in.
    - speaker: 1 if the question names the author.
    - question: 1 if the row asks: answers are wanted.
    - asker: 1 if the question may be about the asker and the row is by the asker or names the asker.
    - time_word: 1 if the question asks when and the row has a word of time.
    - number: 1 if the question asks how many and the row has a number.

    Parameters
    ----------
    scores, cover, idf, active
        Of `lexical.Matches`. The rest: `memory.MemoryCues`, `memory.score_memory`.
    weights : float32[10]
    choose : bool
        True: write the best rows, best first, of equal ones the later first; no row that is not eligible. False: they
        are given.
    rows : int32[m], totals : float64[m], shares : float64[m, 10], written
        See `memory.MemoryScores`.
    by : bool[2, m] or bool[2, 0], written
        Where there is room: true for a row that shares a word with the question; for one that is `nearest`, among m.

    Returns
    -------
    int
        OK; ROW_OUT_OF_RANGE when an array is too short, BAD_OFFSETS when spans and values do not match.
    int
        How many rows have scores now.
    """
    n = len(eligible)
    if (
        len(active) * CHUNK < n
        or len(scores) != n
        or len(cover) != n
        or min(len(time_ms), len(author), len(asks)) < n
    ):
        return ROW_OUT_OF_RANGE, 0
    if len(totals) != len(rows) or shares.shape != (len(rows), len(weights)):
        return ROW_OUT_OF_RANGE, 0
    if by.shape not in {(2, len(rows)), (2, 0)}:
        return ROW_OUT_OF_RANGE, 0
    if not choose and any(not 0 <= row < n for row in rows.tolist()):
        return ROW_OUT_OF_RANGE, 0
    if max(len(names_asker), len(has_time), len(has_number)) > n:
        return ROW_OUT_OF_RANGE, 0
    if len(date_spans) != 2 * len(date_values) or len(weights) != 10:
        return BAD_OFFSETS, 0
    known = np.repeat(active, CHUNK)[:n]
    scores, cover = np.where(known, scores, np.float32(0)), np.where(known, cover, np.uint64(0))
    r = float(scores.max(initial=0)) / 10
    sure = r / (r + saturation)
    words = with_neighbours(scores.tolist(), time_ms, sitting_ms, (0.2, 0.1))
    for row in range(1, n):
        together = int(time_ms[row]) - int(time_ms[row - 1]) < sitting_ms
        if together and asks[row - 1] and author[row] != author[row - 1]:
            words[row] += 0.3 * float(scores[row - 1])
    near, wide = passages(cover, 2, idf), passages(cover, 4, idf)
    similar = meaning(dense, time_ms, eligible, sitting_ms) if len(dense) == n else [0.0] * n
    every = np.empty((n, len(weights)), np.float64)
    for row in range(n):
        spans = zip(date_spans[::2].tolist(), date_spans[1::2].tolist(), date_values, strict=True)
        by_asker = asker >= 0 and author[row] == asker
        values = (
            words[row] / 10 / (r + saturation),
            near[row] * sure,
            wide[row] * sure,
            similar[row],
            sum(value for start, end, value in spans if start <= row < end),
        )
        signs = (
            author[row] in speakers,
            asks[row] != 0,
            by_asker or names_asker[row : row + 1].any(),
            has_time[row : row + 1].any(),
            has_number[row : row + 1].any(),
        )
        every[row, :5] = np.array(values, np.float32) * weights[:5]
        every[row, 5:] = np.array(signs, np.float32) * weights[5:]
    sums = np.where(eligible != 0, [math.fsum(one) for one in every.tolist()], -np.inf)
    if choose:
        order = sorted(range(n), key=lambda row: (sums[row], row), reverse=True)
        best = [row for row in order if sums[row] > -math.inf][: len(rows)]
        rows[: len(best)], rows = best, rows[: len(best)]
    if by.shape[1]:
        by[0, : len(rows)] = scores[rows] > 0
        by[1, : len(rows)] = nearest(dense, rows, len(totals))
    totals[: len(rows)], shares[: len(rows)] = sums[rows], every[rows]
    return OK, len(rows)


def nearest(values: Float32, rows: Int32, limit: int) -> list[bool]:
    """Which rows are among the `limit` with the highest values; of equal ones the later rows are, NaN is not."""
    known = [row for row, value in enumerate(values.tolist()) if not math.isnan(value)]
    best = sorted(known, key=lambda row: (values[row], row), reverse=True)[:limit]
    return [row in best for row in rows.tolist()]
