"""The newest rows of somebody, compiled. See `reference_lately` for what is computed."""

from __future__ import annotations

import numba as nb

from .arrays import Int32, Int64
from .compile import READ_I32, READ_I64, kernel
from .reference_lately import NO_ROW


@kernel(nb.intp(READ_I32, READ_I64, nb.int32, nb.int64, nb.intp))
def newest_by(author: Int32, time_ms: Int64, user: int, since_ms: int, end: int) -> int:
    """See `reference_lately.newest_by`."""
    for i in range(end):
        row = end - 1 - i
        if time_ms[row] < since_ms:
            break
        if author[row] == user:
            return row
    return NO_ROW
