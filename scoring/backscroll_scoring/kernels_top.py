"""The compiled ranking, and one look at rows."""

from __future__ import annotations

import numba as nb
import numpy as np

from .arrays import Bool, Float64, Int32
from .compile import I32, READ_BOOL, READ_F64, READ_I32, helper, kernel
from .status import NOT_A_NUMBER, NOT_ASCENDING, OK, REFUSED


@helper
def _before(scores: Float64, rows: Int32, a: int, b: int) -> bool:
    """Does position a come before position b? A total order: no two positions are equal."""
    if scores[a] != scores[b]:
        return scores[a] > scores[b]
    if rows[a] != rows[b]:
        return rows[a] > rows[b]
    return a > b


@helper
def _sink(scores: Float64, rows: Int32, heap: Int32, hole: int, size: int) -> None:
    """Restore the heap below ``hole``: the position that comes last of all is at the top."""
    moving = heap[hole]
    while True:
        child = 2 * hole + 1
        if child >= size:
            break
        if child + 1 < size and _before(scores, rows, heap[child], heap[child + 1]):
            child += 1
        if not _before(scores, rows, moving, heap[child]):
            break
        heap[hole] = heap[child]
        hole = child
    heap[hole] = moving


@kernel(nb.intp(READ_F64, READ_I32, I32), nogil=True)
def top(scores: Float64, rows: Int32, out: Int32) -> int:
    """Write the positions of the ``len(out)`` best of m scores into ``out``, best first; OK or NOT_A_NUMBER.

    Of equal scores the larger entry of ``rows``, int32[m], comes first, then the later position. ``out`` is int32, at
    most m. A heap of the k best so far: one comparison for nearly every score.

    From the last position on: of equal scores the later row is the better one, and is there already.
    """
    k = out.shape[0]
    m = scores.shape[0]
    nans = 0
    for i in range(m):
        nans |= scores[i] != scores[i]
    if nans:
        return NOT_A_NUMBER
    if k == 0:
        return OK
    for i in range(k):
        out[i] = m - 1 - i
    for i in range(k // 2 - 1, -1, -1):
        _sink(scores, rows, out, i, k)
    for i in range(m - k - 1, -1, -1):
        if scores[i] >= scores[out[0]] and _before(scores, rows, i, out[0]):
            out[0] = i
            _sink(scores, rows, out, 0, k)
    for size in range(k - 1, 0, -1):
        last = out[0]
        out[0] = out[size]
        out[size] = last
        _sink(scores, rows, out, 0, size)
    return OK


@kernel(nb.intp(READ_I32, READ_BOOL), nogil=True)
def survey(rows: Int32, eligible: Bool) -> int:
    """`REFUSED` if a row is outside ``eligible`` or not eligible, plus `NOT_ASCENDING` unless rows strictly ascend."""
    n, m = eligible.shape[0], rows.shape[0]
    if m == 0:
        return OK
    back, outside = np.int32(rows[0] < 0), np.int64(0)
    for j in range(1, m):
        back |= np.int32(rows[j] <= rows[j - 1])
    if back != 0:
        for j in range(m):
            row = np.int64(rows[j])
            outside |= row | (n - 1 - row)  # negative if either is
    if outside < 0 or rows[0] < 0 or rows[m - 1] >= n:
        return REFUSED | NOT_ASCENDING * int(back)
    allowed = np.uint8(1)
    if back == 0 and rows[m - 1] - rows[0] + 1 == m:  # every row from the first to the last
        part = eligible[rows[0] : rows[0] + m]
        for j in range(m):
            allowed &= np.uint8(part[j])
    else:
        for j in range(m):
            allowed &= np.uint8(eligible[rows[j]])
    return REFUSED * int(allowed == 0) | NOT_ASCENDING * int(back)
