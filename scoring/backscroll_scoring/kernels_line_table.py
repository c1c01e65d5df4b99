"""Rendered lines looked up, added up and taken into a budget, compiled. See `line_table`."""

from __future__ import annotations

import numba as nb
import numpy as np

from .arrays import Bool, Int32, Int64, UInt8, UInt32
from .compile import (
    I32,
    I64,
    READ_I32,
    READ_I32_2D,
    READ_I64,
    U8,
    helper,
    kernel,
)
from .layout import (
    AT,
    COUNT,
    FIRST_NUMBER,
    GROUP_SUMS,
    IS_REFERENCE,
    IS_SEAMLESS,
    KEPT,
    KIND,
    KNOWN,
    LAST_LINE,
    LEFT,
    LINE_COST,
    LINE_TOKENS,
    LINES_COST,
    LINES_TOKENS,
    MISSING,
    MISSING_SLOT,
    NAME_TOKENS,
    NAMES_TOKENS,
    NOT_SEAMLESS,
    NUMBERS,
    PASSED_OVER,
    PLACE,
    RANK,
    SLOT,
    TAKEN,
    TURN_COST,
    TURN_TOKENS,
    TURNS_COST,
    TURNS_TOKENS,
)

I64_2D = nb.types.Array(nb.int64, 2, "C")
READ_I64_2D = nb.types.Array(nb.int64, 2, "C", readonly=True)
ANY_BOOL = nb.types.Array(nb.boolean, 1, "A", readonly=True)
ANY_U32 = nb.types.Array(nb.uint32, 1, "A", readonly=True)

LOW_BITS, MULTIPLIER = 0xFFFFFFFF, 0x5BD1E995
MARK_BITS, DATED = 20, 2
"""A message is kept under its number and, in these bits, under how it is marked; the mark of a date."""


@helper
def _place(key: int, last: int) -> int:
    """Where the search for a key begins: Knuth's multiplicative hash, in numbers that fit 63 bits."""
    return (((key ^ key >> MARK_BITS - 1) & LOW_BITS) * MULTIPLIER & LOW_BITS) >> 12 & last


@helper
def _slot(key: int, keys: Int64, slots: Int32) -> int:
    """Where a message is kept, -1 where it is not; `keys` has room, so that the search ends."""
    last = keys.shape[0] - 1
    at = _place(key, last)
    while keys[at] >= 0:
        if keys[at] == key:
            return int(slots[at])
        at = (at + 1) & last
    return -1


@kernel(nb.void(nb.int64, nb.int32, I64, I32))
def keep_slot(key: int, slot: int, keys: Int64, slots: Int32) -> None:
    """Enter the slot of a message under its key; a key that is there gets the new slot. `keys` has room."""
    last = keys.shape[0] - 1
    at = _place(key, last)
    while keys[at] >= 0 and keys[at] != key:
        at = (at + 1) & last
    keys[at], slots[at] = key, slot


@helper
def _sort_both(values: Int64, along: Int64) -> None:
    """Sort the first by value, the second along with it, by Shell's method: orders are short and partly in order."""
    k = values.shape[0]
    gap = 1
    while gap < k // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, k):
            value, other = values[i], along[i]
            j = i
            while j >= gap and values[j - gap] > value:
                values[j], along[j] = values[j - gap], along[j - gap]
                j -= gap
            values[j], along[j] = value, other
        gap //= 3


@helper
def _enter(slot: int, i: int, numbers: Int32, columns: Int64) -> None:
    """Write the slot of a line, and what the table knows of it."""
    columns[SLOT, i] = slot if slot >= 0 else MISSING_SLOT
    if slot >= 0:
        for j in range(NUMBERS):
            columns[FIRST_NUMBER + j, i] = numbers[slot, j]


@helper
def _add_up(columns: Int64, sums: Int64) -> None:
    for i in range(sums.shape[0]):
        sums[i] = 0
    sums[LAST_LINE] = sums[LAST_LINE + GROUP_SUMS] = -1
    for i in range(columns.shape[1]):
        if columns[SLOT, i] == MISSING_SLOT:
            sums[MISSING] += 1
            continue
        of = GROUP_SUMS * columns[IS_REFERENCE, i]
        sums[of + COUNT] += 1
        sums[of + LINES_TOKENS] += columns[LINE_TOKENS, i]
        sums[of + LINES_COST] += columns[LINE_COST, i]
        sums[of + TURNS_TOKENS] += columns[TURN_TOKENS, i]
        sums[of + TURNS_COST] += columns[TURN_COST, i]
        sums[of + NAMES_TOKENS] += columns[NAME_TOKENS, i]
        sums[of + NOT_SEAMLESS] += columns[IS_SEAMLESS, i] == 0
        sums[of + LAST_LINE] = i


@kernel(nb.void(READ_I64_2D, I64))
def add_up(columns: Int64, sums: Int64) -> None:
    """See `line_table.add_up`."""
    _add_up(columns, sums)


@kernel(
    nb.int64(
        READ_I64, READ_I32, ANY_BOOL, ANY_U32, READ_I64, READ_I64, nb.int64, READ_I64, READ_I32, READ_I32_2D, I64_2D,
        I64,
    )
)  # fmt: skip
def lay_out(
    order: Int64,
    rows: Int32,
    semantic: Bool,
    kinds: UInt32,
    seq: Int64,
    time_ms: Int64,
    dated_before_ms: int,
    keys: Int64,
    slots: Int32,
    numbers: Int32,
    columns: Int64,
    sums: Int64,
) -> int:
    """See `line_table.LineTable.lay_out`. Returns how many kinds there are."""
    k, known, n_known = order.shape[0], columns[KNOWN], 0
    for i in range(k):
        columns[PLACE, i], columns[RANK, i] = order[i], i + 1
    _sort_both(columns[PLACE], columns[RANK])
    for i in range(k):
        place = columns[PLACE, i]
        row, kind, slot, at = rows[place], np.int64(kinds[place]), -1, 0
        while at < n_known and known[at] != kind:
            at += 1
        if at == n_known:
            known[at] = kind
            n_known += 1
        columns[IS_REFERENCE, i], columns[KIND, i] = semantic[place], at
        if row < seq.shape[0]:
            mark = DATED if time_ms[row] < dated_before_ms else 0
            slot = _slot(seq[row] << MARK_BITS | mark, keys, slots)
        _enter(slot, i, numbers, columns)
    _add_up(columns, sums)
    return n_known


@kernel(nb.void(READ_I64, READ_I64, READ_I32, READ_I32_2D, I64_2D))
def look_up(wanted: Int64, keys: Int64, slots: Int32, numbers: Int32, columns: Int64) -> None:
    """See `line_table.LineTable.look_up`."""
    for i in range(columns.shape[1]):
        slot = _slot(wanted[i], keys, slots) if wanted[i] >= 0 else -1
        _enter(slot, i, numbers, columns)


@helper
def _block_cost(columns: Int64, talk_cost: int, blocks: Int64, i: int, grouped: bool) -> int:
    """What the lines of a line's block cost."""
    cost, first, last = 0, i, i + 1
    if grouped:
        first, last = 0, columns.shape[1]
    for j in range(first, last):
        if blocks[j] == blocks[i]:
            cost += columns[LINE_COST if columns[IS_REFERENCE, j] else talk_cost, j]
    return cost


@kernel(nb.int64(READ_I64_2D, nb.int64, READ_I64, nb.int64, nb.int64, nb.int64, I64, U8))
def take_fitting(
    columns: Int64,
    talk_cost: int,
    blocks: Int64,
    newest: int,
    answered: int,
    least: int,
    state: Int64,
    fates: UInt8,
) -> int:
    """See `line_table.take_fitting`."""
    k = columns.shape[1]
    order, ranks = np.empty(k, np.int64), columns[RANK].copy()
    grouped = False
    for i in range(k):
        order[i] = i
        grouped |= blocks[i] != columns[PLACE, i]
    _sort_both(ranks, order)
    if state[AT] == 0:
        state[KEPT] = 0
        if newest >= 0:
            state[KEPT] = min(least, _block_cost(columns, talk_cost, blocks, newest, grouped))
    while state[AT] <= k:
        i = order[state[AT] - 1] if state[AT] else answered
        if i < 0 or fates[i]:
            state[AT] += 1
            continue
        is_newest = newest >= 0 and blocks[i] == blocks[newest]
        if is_newest:
            state[KEPT] = 0
        cost, fate = _block_cost(columns, talk_cost, blocks, i, grouped), PASSED_OVER
        if cost <= state[LEFT] - state[KEPT]:
            fate = TAKEN
            state[LEFT] -= cost
        elif is_newest or (answered >= 0 and blocks[i] == blocks[answered]):
            state[AT] += 1
            return int(i)
        for j in range(0 if grouped else i, k if grouped else i + 1):
            if blocks[j] == blocks[i]:
                fates[j] = fate
        state[AT] += 1
    return -1
