"""The specification of `kernels_lately` in plain Python; see `reference`."""

from __future__ import annotations

from backscroll_scoring.arrays import Int32, Int64
from backscroll_scoring.layout import NO_ROW


def newest_by(author: Int32, time_ms: Int64, user: int, since_ms: int, end: int) -> int:
    """The newest row before `end` by a user, of those since a moment; -1 when there is none.

    Parameters
    ----------
    author, time_ms : int32[n], int64[n]
        Of each row; times never fall from row to row.
    end : 0 to n
    """
    for row in range(end - 1, -1, -1):
        if time_ms[row] < since_ms:
            break
        if author[row] == user:
            return row
    return NO_ROW
