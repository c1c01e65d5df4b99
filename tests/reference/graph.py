"""The specification of `kernels_graph` in plain Python; see `reference`."""

from __future__ import annotations

from backscroll_scoring.arrays import Float64, Int32


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
    Write those above 0, ascending; return how many (N-02).

    Parameters
    ----------
    starts : int32[s]
        Ascending, unique, in [0, end).
    values : float64[s]
        In (0, 1].
    out_rows, out_values : int32[r], float64[r], written
        r at least min(end, s * (2 * reach + 1)).
    """
    worth = dict(zip(starts.tolist(), values.tolist(), strict=True))
    count = 0
    for row in range(end):
        best, factor, above = 0.0, 1.0, row
        for _ in range(max_down + 1):
            if not 0 <= above < end:
                break
            if abs(above - row) <= reach:
                best = max(best, worth.get(above, 0.0) * factor)
            factor *= down
            above = int(parent[above])
        if best > 0:
            out_rows[count], out_values[count] = row, best
            count += 1
    return count
