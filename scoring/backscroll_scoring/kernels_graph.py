"""The compiled reply graph."""

from __future__ import annotations

import numba as nb
import numpy as np

from .arrays import Float64, Int32
from .compile import F64, I32, READ_F64, READ_I32, kernel


@kernel(
    nb.intp(
        *(READ_I32, nb.intp, READ_I32, READ_F64),
        *(nb.float64, nb.intp, nb.intp, I32, F64),
    ),
    nogil=True,
)
def tree_values(
    parent: Int32,
    end: int,
    starts: Int32,
    values: Float64,
    down: float,
    max_down: int,
    reach: int,
    out_rows: Int32,
    out_values: Float64,
) -> int:
    """Give every row below ``end`` the best of ``values[s] * down ** d`` over the starts s that are the row
    itself or stand above it in at most ``max_down`` steps from parent to parent and at most ``reach`` rows away.
    Write those above 0, ascending; return how many. Only rows within reach of a start are looked at.
    """
    count = 0
    s = 0
    while s < starts.shape[0]:
        # The starts whose surroundings touch: one table of what they are worth, one pass.
        first = max(0, starts[s] - reach)
        stop = min(end, starts[s] + reach + 1)
        last = s + 1
        while last < starts.shape[0] and starts[last] - reach <= stop:
            stop = min(end, starts[last] + reach + 1)
            last += 1
        worth = np.zeros(stop - first)
        for i in range(s, last):
            worth[starts[i] - first] = values[i]
        s = last
        for row in range(first, stop):
            best = worth[row - first]
            factor = down
            above = parent[row]
            for _ in range(max_down):
                if not 0 <= above < end or factor == 0.0:
                    break
                if first <= above < stop and abs(above - row) <= reach:
                    best = max(best, worth[above - first] * factor)
                factor *= down
                above = parent[above]
            if best > 0.0:
                out_rows[count] = row
                out_values[count] = best
                count += 1
    return count
