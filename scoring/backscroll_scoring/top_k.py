"""Put scores in order, and look whether rows are."""

from __future__ import annotations

import numpy as np

from .arrays import Bool, Float64, Int32, require
from .kernels_top import survey, top
from .status import NOT_ASCENDING, REFUSED, check


def top_order(
    scores: Float64,
    rows: Int32 | None = None,
    *,
    limit: int | None = None,
) -> Int32:
    """Return positions in ``scores``, the highest score first; of equal scores the later row first.

    The order is total: the same scores and rows give the same order, and a smaller limit gives a
    prefix.

    Parameters
    ----------
    scores : float64[m]
        Anything but NaN.
    rows : int32[m], optional
        The row each score belongs to, for ties (the later position if rows repeat). Left out:
        scores are taken to be in row order.
    limit : int, optional
        How many positions at most. A small one is far cheaper than all m.

    Returns
    -------
    int32[min(m, limit)]

    Raises
    ------
    ValueError
        A NaN among the scores, a negative limit, or rows of another length.
    """
    m = len(require("scores", scores, np.float64))
    if rows is None:
        rows = np.zeros(m, np.int32)
    elif len(require("rows", rows, np.int32)) != m:
        raise ValueError(f"rows must have one entry a score: {m}")
    if limit is not None and limit < 0:
        raise ValueError(f"limit must not be negative: {limit}")
    out = np.empty(m if limit is None else min(m, limit), np.int32)
    check(top(scores, rows, out))
    return out


def look_at_rows(rows: Int32, eligible: Bool) -> tuple[bool, bool]:
    """Return whether all rows are eligible rows, and whether they ascend without repeats.

    Parameters
    ----------
    rows : int32[m]
        Any numbers.
    eligible : bool[n]
        Of the rows 0 to n - 1; others are not eligible.
    """
    require("rows", rows, np.int32)
    found = survey(rows, require("eligible", eligible, np.bool_))
    return not found & REFUSED, not found & NOT_ASCENDING
