"""The newest rows of somebody, compiled."""

from __future__ import annotations

import numba as nb
import numpy as np

from .arrays import Int32, Int64
from .compile import READ_I32, READ_I64, kernel
from .layout import NO_ROW

BLOCK = 1_024


@kernel(nb.intp(READ_I32, READ_I64, nb.int32, nb.int64, nb.intp))
def newest_by(author: Int32, time_ms: Int64, user: int, since_ms: int, end: int) -> int:
    """See `newest.newest_by`; times never fall from row to row.

    A block whose rows are all somebody else's is left at once.
    """
    first, last = 0, end
    while first < last:  # the first row that is not too old
        middle = (first + last) // 2
        if time_ms[middle] < since_ms:
            first = middle + 1
        else:
            last = middle
    stop = end
    while stop > first:
        start = max(first, stop - BLOCK)
        rows, found = author[start:stop], np.int32(0)
        for i in range(rows.shape[0]):  # no test inside: vector instructions
            found |= np.int32(rows[i] == user)
        if found:
            for i in range(stop - start):
                if author[stop - 1 - i] == user:
                    return stop - 1 - i
        stop = start
    return NO_ROW
