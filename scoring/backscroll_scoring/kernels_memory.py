"""The compiled score for long memory. See `reference_memory` for what is computed."""

from __future__ import annotations

import numba as nb
import numpy as np

from .arrays import Float32, Float64, Int32, Int64, UInt8, UInt64
from .compile import (
    F32_2D,
    F64,
    READ_F32,
    READ_I32,
    READ_I64,
    READ_U8,
    READ_U64,
    helper,
    kernel,
)
from .status import BAD_OFFSETS, OK, ROW_OUT_OF_RANGE

NEAR = np.float32(0.2)
FAR = np.float32(0.1)
DENSE_NEAR = np.float32(0.25)
WORDS, PASSAGE, WIDE_PASSAGE, MEANING, SPEAKER, DATE, QUESTION, ASKER, TIME_WORD, NUMBER = range(10)


@helper
def _joined(time_ms: Int64, n: int, sitting_ms: int) -> Float32:
    """1 where row i - 1 and row i are of one sitting; entries 0 and n are 0."""
    joined = np.zeros(n + 1, np.float32)
    for i in range(1, n):
        if time_ms[i] - time_ms[i - 1] < sitting_ms:
            joined[i] = np.float32(1.0)
    return joined


@helper
def _words(
    scores: Float32, joined: Float32, weight: float, saturation: float, out: Float32
) -> float:
    """Column WORDS. Returns r / (r + saturation) for r, the best score / 10."""
    n = scores.shape[0]
    best = np.float32(0.0)
    for i in range(n):
        best = max(best, scores[i])
    r = best * np.float32(0.1)
    factor = np.float32(weight) * np.float32(0.1) / (r + np.float32(saturation))
    for i in range(n):
        out[i] = scores[i]
    for i in range(1, n):
        out[i] += NEAR * (joined[i] * scores[i - 1])
        out[i - 1] += NEAR * (joined[i] * scores[i])
    for i in range(2, n):
        both = joined[i] * joined[i - 1]
        out[i] += FAR * (both * scores[i - 2])
        out[i - 2] += FAR * (both * scores[i])
    for i in range(n):
        out[i] *= factor
    return r / (r + np.float32(saturation))


@helper
def _spread(cover: UInt64, side: int) -> UInt64:
    """The terms of every row and `side` rows on each side."""
    n = cover.shape[0]
    out = cover.copy()
    for step in range(1, side + 1):
        for i in range(step, n):
            out[i] |= cover[i - step]
            out[i - step] |= cover[i]
    return out


@helper
def _passages(cover: UInt64, side: int, idf: Float32, scale: float, out: Float32) -> None:
    """`scale` times the share of the best passage's weight that the passage around each row has."""
    spread = _spread(cover, side)
    last = np.uint64(0)
    value = np.float32(0.0)
    best = np.float32(0.0)
    for i in range(spread.shape[0]):
        if spread[i] != last:
            last = spread[i]
            value = np.float32(0.0)
            for j in range(idf.shape[0]):
                if (last >> np.uint64(j)) & np.uint64(1):
                    value += idf[j]
            best = max(best, value)
        out[i] = value
    if best > np.float32(0.0):
        factor = np.float32(scale) / best
        for i in range(out.shape[0]):
            out[i] *= factor


@helper
def _meaning(dense: Float32, joined: Float32, eligible: UInt8, weight: float, out: Float32) -> None:
    n = eligible.shape[0]
    known = np.empty(n, np.float32)
    for i in range(n):
        known[i] = dense[i] if dense[i] == dense[i] else np.float32(0.0)
    for i in range(n):
        out[i] = known[i]
    for i in range(1, n):
        out[i] += DENSE_NEAR * (joined[i] * known[i - 1])
        out[i - 1] += DENSE_NEAR * (joined[i] * known[i])
    low, high = np.float32(np.inf), np.float32(-np.inf)
    for i in range(n):
        if eligible[i] != 0 and dense[i] == dense[i]:
            low = min(low, out[i])
            high = max(high, out[i])
    factor = np.float32(weight) / (high - low) if high > low else np.float32(0.0)
    for i in range(n):
        if factor > np.float32(0.0) and eligible[i] != 0 and dense[i] == dense[i]:
            out[i] = (out[i] - low) * factor
        else:
            out[i] = np.float32(0.0)


@kernel(
    nb.intp(
        *(READ_F32, READ_U64, READ_F32, READ_I64, READ_I32, READ_U8, READ_U8, READ_F32),
        *(READ_I32, nb.int32, READ_U8, READ_I32, READ_F32, READ_U8, READ_U8),
        *(READ_F32, nb.float64, nb.intp, F32_2D, F64),
    ),
    nogil=True,
)
def memory_shares(
    scores: Float32,
    cover: UInt64,
    idf: Float32,
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
    shares: Float32,
    totals: Float64,
) -> int:
    """See `reference_memory.memory_shares`."""
    n = eligible.shape[0]
    if scores.shape[0] != n or cover.shape[0] != n or time_ms.shape[0] < n or author.shape[0] < n:
        return ROW_OUT_OF_RANGE
    if asks.shape[0] < n or shares.shape[1] != n or totals.shape[0] != n:
        return ROW_OUT_OF_RANGE
    if date_spans.shape[0] != 2 * date_values.shape[0]:
        return BAD_OFFSETS
    shares[:] = 0.0
    joined = _joined(time_ms, n, sitting_ms)
    sure = _words(scores, joined, weights[WORDS], saturation, shares[WORDS])
    _passages(cover, 2, idf, weights[PASSAGE] * sure, shares[PASSAGE])
    _passages(cover, 4, idf, weights[WIDE_PASSAGE] * sure, shares[WIDE_PASSAGE])
    if dense.shape[0] == n:
        _meaning(dense, joined, eligible, weights[MEANING], shares[MEANING])
    for j in range(speakers.shape[0]):
        for i in range(n):
            if author[i] == speakers[j]:
                shares[SPEAKER, i] = weights[SPEAKER]
    for d in range(date_values.shape[0]):
        for i in range(max(0, date_spans[2 * d]), min(n, date_spans[2 * d + 1])):
            shares[DATE, i] += weights[DATE] * date_values[d]
    for i in range(n):
        shares[QUESTION, i] = weights[QUESTION] * np.float32(asks[i])
    if asker >= 0:
        for i in range(n):
            if author[i] == asker:
                shares[ASKER, i] = weights[ASKER]
    if names_asker.shape[0] == n:
        for i in range(n):
            if names_asker[i] != 0:
                shares[ASKER, i] = weights[ASKER]
    if has_time.shape[0] == n:
        for i in range(n):
            if has_time[i] != 0:
                shares[TIME_WORD, i] = weights[TIME_WORD]
    if has_number.shape[0] == n:
        for i in range(n):
            if has_number[i] != 0:
                shares[NUMBER, i] = weights[NUMBER]
    totals[:] = 0.0
    for f in range(shares.shape[0]):
        for i in range(n):
            totals[i] += np.float64(shares[f, i])
    for i in range(n):
        if eligible[i] == 0:
            totals[i] = -np.inf
    return OK
