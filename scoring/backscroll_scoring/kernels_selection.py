"""Steps of a selection, compiled. See `reference_selection` for what is computed."""

from __future__ import annotations

import numba as nb
import numpy as np

from .arrays import Bool, Float64, Int32, Int64, UInt8, UInt32
from .compile import (
    BOOL,
    F64,
    I64,
    READ_BOOL,
    READ_F64,
    READ_I32,
    READ_I64,
    READ_U8,
    U8,
    helper,
    kernel,
)
from .layout import OTHERS, OWN

READ_U32 = nb.types.Array(nb.uint32, 1, "C", readonly=True)
U32 = nb.types.Array(nb.uint32, 1, "C")


@helper
def _mark_older(author: Int32, asker: int, older: Int32, first: int, bits: UInt32) -> int:
    """Write the bits of older rows; return whose they are, `OWN` + `OTHERS`."""
    whose = 0
    for i in range(older.shape[0]):
        whose |= OWN if author[older[i]] == asker else OTHERS
    own = np.uint32(1) << np.uint32(first)
    other = own << np.uint32(1) if whose & OWN else own
    for i in range(older.shape[0]):
        bits[i] = own if author[older[i]] == asker else other
    return whose


@kernel(nb.intp(READ_I32, nb.int32, READ_I32, nb.intp, READ_U32, READ_BOOL, U32, BOOL))
def add_older(
    author: Int32,
    asker: int,
    older: Int32,
    first: int,
    bits: UInt32,
    flags: Bool,
    out_bits: UInt32,
    out_flags: Bool,
) -> int:
    """See `reference_selection.add_older`."""
    j = older.shape[0]
    whose = _mark_older(author, asker, older, first, out_bits)
    for i in range(j):
        out_flags[i] = False
    for i in range(bits.shape[0]):
        out_bits[j + i] = bits[i]
        out_flags[j + i] = flags[i]
    return whose


@kernel(
    nb.intp(
        READ_F64, READ_I64, READ_U8, nb.intp, nb.float64, nb.intp, nb.intp, I64, BOOL, BOOL
    )
)  # fmt: skip
def choose(
    scores: Float64,
    order: Int64,
    stages: UInt8,
    kept_stage: int,
    least_score: float,
    least: int,
    floor: int,
    chosen: Int64,
    below: Bool,
    weak: Bool,
) -> int:
    """See `reference_selection.choose`."""
    m = scores.shape[0]
    for j in range(m):
        below[j] = scores[j] < least_score and stages[j] != kept_stage
    for k in range(min(least, order.shape[0])):
        below[order[k]] = False
    for j in range(m):
        weak[j] = below[j] and j < m - floor
    count = 0
    for k in range(order.shape[0]):
        if not weak[order[k]]:
            chosen[count] = order[k]
            count += 1
    if order.shape[0] == m:
        return count
    there = np.zeros(m, np.bool_)
    for k in range(order.shape[0]):
        there[order[k]] = True
    for i in range(m):
        j = m - 1 - i
        if not there[j] and not weak[j]:
            chosen[count] = j
            count += 1
    return count


@kernel(
    nb.types.UniTuple(nb.intp, 2)(
        READ_F64, READ_I64, READ_I32, READ_I32, nb.intp, nb.intp, nb.intp, nb.intp, nb.float64, nb.intp, nb.intp,
        I64, U32,
    )
)  # fmt: skip
def choose_near(
    scores: Float64, order: Int64, rows: Int32, author: Int32, n_older: int, asker: int, recent: int, first: int,
    least_score: float, least: int, floor: int, chosen: Int64, bits: UInt32,
) -> tuple[int, int]:  # fmt: skip
    """See `reference_selection.choose_near`."""
    m = order.shape[0]
    whose = _mark_older(author, asker, rows[:n_older], first, bits)
    for j in range(n_older, m):
        bits[j] = np.uint32(1) << np.uint32(recent)
    count = 0
    for k in range(m):
        place = order[k]
        if k < least or place >= m - floor or not scores[place] < least_score:
            chosen[count] = place
            count += 1
    return count, whose


@kernel(
    nb.void(READ_I32, READ_BOOL, READ_I32, READ_F64, F64, U8, nb.intp, nb.float64, nb.float64, I64)
)
def give_places(
    taken: Int32,
    by_first: Bool,
    places: Int32,
    linear: Float64,
    scores: Float64,
    stages: UInt8,
    stage: int,
    slope: float,
    offset: float,
    order: Int64,
) -> None:
    """See `reference_selection.give_places`."""
    for i in range(taken.shape[0]):
        order[i] = taken[i]
        if not by_first[i]:
            scores[taken[i]] = 1.0 / (1.0 + np.exp(-slope * linear[places[i]] - offset))
            stages[taken[i]] = stage


@kernel(nb.intp(READ_I32, READ_I32, READ_I64, READ_F64, READ_U8, I64, F64, U8))
def spread(
    rows: Int32,
    some: Int32,
    order: Int64,
    some_scores: Float64,
    some_stages: UInt8,
    places: Int64,
    scores: Float64,
    stages: UInt8,
) -> int:
    """See `reference_selection.spread`. One walk along both."""
    there = np.full(some.shape[0], -1, np.int64)
    i = count = 0
    for place in range(rows.shape[0]):
        scores[place], stages[place] = 0.0, 0
        while i < some.shape[0] and some[i] < rows[place]:
            i += 1
        if i < some.shape[0] and some[i] == rows[place]:
            scores[place], stages[place] = some_scores[i], some_stages[i]
            there[i] = place
            count += 1
    for k in range(order.shape[0]):
        places[k] = there[order[k]]
    return count
