"""How vectors are compared, in plain Python: the specification of `kernels_vectors`.

A vector is kept as int8 codes, one float32 scale for every 64 of them, and one sign bit a dimension. The codes give
the dot product to about 1 in 1,000; the signs, taken after a centre was subtracted, only an order (random hyperplanes:
Charikar, "Similarity estimation techniques from rounding algorithms", 2002, with the axes as hyperplanes).
"""

from __future__ import annotations

import numpy as np

from .arrays import Bool, Float32, Int8, Int16, Int32, UInt64
from .kernels_vectors import BLOCK


def dot(codes: Int8, scales: Float32, query: Float32, row: int) -> float:
    """Sum over blocks of (sum of code times query) times the block's scale."""
    total = 0.0
    for block, scale in enumerate(scales[row]):
        pairs = zip(codes[row, block].tolist(), query[block].tolist(), strict=True)
        total += sum(code * value for code, value in pairs) * float(scale)
    return total


def dots(codes: Int8, scales: Float32, query: Float32, out: Float32) -> None:
    """Dot product of the query with every row of ``out``.

    codes : int8[n, b, 64]; scales : float32[n, b]; query : float32[b, 64]; out : float32[at most n]. The order of the
    additions is free.
    """
    for row in range(out.shape[0]):
        out[row] = dot(codes, scales, query, row)


def dots_at(codes: Int8, scales: Float32, query: Float32, rows: Int32, out: Float32) -> None:
    """Dot product of the query with the rows named, in their order."""
    for place, row in enumerate(rows):
        out[place] = dot(codes, scales, query, int(row))


def sign_candidates(
    signs: UInt64, query: UInt64, allowed: Bool, limit: int, distances: Int16, out: Int32
) -> int:
    """Find the allowed rows whose signs differ least from the query's.

    Whole distances are taken while their rows fit ``limit``, so that no order of rows decides; all rows of the first
    distance that has any, however many.

    Parameters
    ----------
    signs : uint64[n, w]
    query : uint64[w]
    allowed : bool[n]
    limit : int, at least 1
    distances : int16[n], output
        Number of differing bits of every row, allowed or not.
    out : int32[n], output
        The rows found, ascending.

    Returns
    -------
    int
        How many were found.
    """
    for row in range(signs.shape[0]):
        distances[row] = sum(int(a ^ b).bit_count() for a, b in zip(signs[row], query, strict=True))
    near: list[int] = []
    for distance in range(signs.shape[1] * BLOCK + 1):
        same = [row for row in range(signs.shape[0]) if allowed[row] and distances[row] == distance]
        if near and len(near) + len(same) > limit:
            break
        near += same
    found = sorted(near)
    out[: len(found)] = np.array(found, np.int32)
    return len(found)
