"""Compiled reply trees."""

from __future__ import annotations

import numba as nb
import numpy as np

from .arrays import Int32
from .compile import I32, READ_I32, kernel


@kernel(nb.void(READ_I32, I32), nogil=True)
def roots(parent: Int32, out: Int32) -> None:
    """Write the root of every row into ``out``, int32[n]; see `replies`.

    No row is walked over more than twice, whatever the shape: linear time.
    """
    n = parent.shape[0]
    walk = np.full(n, -1, np.int32)  # the row whose walk came by here
    out[:] = -1
    for i in range(n):
        row = i
        last = i
        while 0 <= row < n and out[row] < 0 and walk[row] != i:
            walk[row] = i
            last = row
            row = parent[row]
        if not 0 <= row < n:
            root = last
        elif out[row] >= 0:
            root = out[row]
        else:  # back on this walk: `row` is on a cycle
            root = row
            member = parent[row]
            while member != row:
                root = min(root, member)
                member = parent[member]
        row = i
        while 0 <= row < n and out[row] < 0:
            out[row] = root
            row = parent[row]
