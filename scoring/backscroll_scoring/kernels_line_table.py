"""Rendered lines looked up, added up and copied into an answer, compiled. See `line_table`.

Places in bytes are unsigned: then a negative one need not be thought of, and bytes are copied many at once.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from .arrays import Bool, Float64, Int32, Int64, UInt8, UInt32
from .compile import (
    I32,
    I64,
    READ_BYTES,
    READ_F64,
    READ_I32,
    READ_I32_2D,
    READ_I64,
    READ_U8,
    U8,
    helper,
    kernel,
)
from .layout import (
    AT,
    CATEGORIES,
    CATEGORY_KEY,
    CLOSE_FIELD,
    CONTENT,
    CONTENT_KEY,
    COPY_LINES,
    COPY_PIECE,
    COST_KEY,
    COUNT,
    EVERY_LINE,
    FIRST_NUMBER,
    FORMS,
    GROUP_SUMS,
    ID_FIELD,
    IS_REFERENCE,
    IS_SEAMLESS,
    ITEM,
    ITEM_KEY,
    KEPT,
    KIND,
    KNOWN,
    LAST_LINE,
    LEFT,
    LINE_COST,
    LINE_TOKENS,
    LINES_COST,
    LINES_TOKENS,
    MESSAGE_KEY,
    MISSING,
    MISSING_SLOT,
    NAME_TOKENS,
    NAMES_TOKENS,
    NOT_SEAMLESS,
    NUMBERS,
    OPEN_FIELD,
    PASSED_OVER,
    PLACE,
    RANK,
    RANK_KEY,
    ROLE,
    ROLE_KEY,
    ROLES,
    SCORE_KEY,
    SLOT,
    TAKEN,
    TURN_COST,
    TURN_TOKENS,
    TURNS_COST,
    TURNS_TOKENS,
    WRITE_ITEMS,
    WRITE_MESSAGES,
)

I64_2D = nb.types.Array(nb.int64, 2, "C")
READ_I64_2D = nb.types.Array(nb.int64, 2, "C", readonly=True)
READ_U32 = nb.types.Array(nb.uint32, 1, "C", readonly=True)
ANY_BOOL = nb.types.Array(nb.boolean, 1, "A", readonly=True)
ANY_U32 = nb.types.Array(nb.uint32, 1, "A", readonly=True)

LOW_BITS, MULTIPLIER = 0xFFFFFFFF, 0x5BD1E995
MARK_BITS, DATED = 20, 2
"""A message is kept under its number and, in these bits, under how it is marked; the mark of a date."""
MOST_OPEN = 8


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


@helper
def _put(value: int, out: UInt8, at: np.uint64) -> np.uint64:
    """Write a number as a varint; return where it ends."""
    while value >= 0x80:
        out[at] = value & 0x7F | 0x80
        value >>= 7
        at += np.uint64(1)
    out[at] = value
    return at + np.uint64(1)


@helper
def _varint_size(value: int) -> int:
    size = 1
    while value >= 0x80:
        value >>= 7
        size += 1
    return size


@helper
def _copy(source: UInt8 | bytes, first: int, last: int, out: UInt8, at: np.uint64) -> np.uint64:
    """Copy bytes; return where they end."""
    begin, size = np.uint64(first), np.uint64(last - first)
    for i in range(size):
        out[at + i] = source[begin + i]
    return at + size


@helper
def _size(ends: Int64, i: int) -> int:
    """Bytes of a piece, or of a tail."""
    return ends[i] - (ends[i - 1] if i else 0)


@helper
def _piece(pieces: bytes, ends: Int64, i: int, out: UInt8, at: np.uint64) -> np.uint64:
    """Copy a piece, or a tail."""
    return _copy(pieces, ends[i - 1] if i else 0, ends[i], out, at)


@helper
def _copy_lines(
    stored: UInt8,
    bounds: Int32,
    columns: Int64,
    step: Int64,
    pieces: bytes,
    ends: Int64,
    out: UInt8,
    at: np.uint64,
) -> np.uint64:
    """Copy a form of the lines of a group, the talk first, with a piece before and behind each."""
    form, before, after = step[1], step[3], step[4]
    for group in range(2):
        if step[2] not in (EVERY_LINE, group):
            continue
        for i in range(columns.shape[1]):
            if columns[IS_REFERENCE, i] == group:
                slot = columns[SLOT, i]
                if before >= 0:
                    at = _piece(pieces, ends, before, out, at)
                at = _copy(stored, bounds[slot, form], bounds[slot, form + 1], out, at)
                if after >= 0:
                    at = _piece(pieces, ends, after, out, at)
    return at


@helper
def _find(places: Int32, place: int) -> int:
    """Where a place stands among ascending ones; itself where there are none."""
    low, high = 0, places.shape[0]
    if not high:
        return place
    while low < high:
        middle = (low + high) // 2
        if places[middle] < place:
            low = middle + 1
        else:
            high = middle
    return low


@helper
def _item_size(bounds: Int32, columns: Int64, i: int, talk_cost: int, tail_ends: Int64) -> int:
    """Bytes of an item behind its key and its size."""
    slot, kind = columns[SLOT, i], columns[KIND, i]
    cost = columns[LINE_COST if columns[IS_REFERENCE, i] else talk_cost, i]
    size = bounds[slot, ITEM + 1] - bounds[slot, ITEM] + _size(tail_ends, kind)
    return size + 2 + 1 + _varint_size(cost) + 1 + _varint_size(columns[RANK, i]) + 1 + 8


@helper
def _message_size(bounds: Int32, columns: Int64, i: int) -> int:
    """Bytes of a message behind its key and its size."""
    of = bounds[columns[SLOT, i]]
    content, id_field = of[CONTENT + 1] - of[CONTENT], of[ID_FIELD + 1] - of[ID_FIELD]
    return 2 + 1 + _varint_size(content) + content + id_field


@helper
def _keyed(key: int, value: int, out: UInt8, at: np.uint64) -> np.uint64:
    """Write a key and a number behind it."""
    out[at] = key
    return _put(value, out, at + np.uint64(1))


@helper
def _write_items(
    stored: UInt8,
    bounds: Int32,
    columns: Int64,
    talk_cost: int,
    scores: Float64,
    scored: Int32,
    tails: bytes,
    tail_ends: Int64,
    keys: bytes,
    out: UInt8,
    at: np.uint64,
) -> np.uint64:
    """Write each line as an item: what the table has of it, category, cost, rank, score, sources."""
    score_bytes = scores.view(np.uint8)
    for i in range(columns.shape[1]):
        slot, is_reference = columns[SLOT, i], columns[IS_REFERENCE, i]
        size = _item_size(bounds, columns, i, talk_cost, tail_ends)
        at = _keyed(keys[ITEM_KEY], size, out, at)
        at = _copy(stored, bounds[slot, ITEM], bounds[slot, ITEM + 1], out, at)
        at = _keyed(keys[CATEGORY_KEY], keys[CATEGORIES + is_reference], out, at)
        cost = columns[LINE_COST if is_reference else talk_cost, i]
        at = _keyed(keys[COST_KEY], cost, out, at)
        at = _keyed(keys[RANK_KEY], columns[RANK, i], out, at)
        out[at] = keys[SCORE_KEY]
        score = 8 * _find(scored, columns[PLACE, i])
        at = _copy(score_bytes, score, score + 8, out, at + np.uint64(1))
        at = _piece(tails, tail_ends, columns[KIND, i], out, at)
    return at


@helper
def _write_messages(
    stored: UInt8, bounds: Int32, columns: Int64, keys: bytes, out: UInt8, at: np.uint64
) -> np.uint64:
    """Write each line of the talk as a message of its own."""
    for i in range(columns.shape[1]):
        if columns[IS_REFERENCE, i]:
            continue
        of = bounds[columns[SLOT, i]]
        at = _keyed(keys[MESSAGE_KEY], _message_size(bounds, columns, i), out, at)
        at = _keyed(keys[ROLE_KEY], keys[ROLES + columns[ROLE, i]], out, at)
        at = _keyed(keys[CONTENT_KEY], of[CONTENT + 1] - of[CONTENT], out, at)
        at = _copy(stored, of[CONTENT], of[CONTENT + 1], out, at)
        at = _copy(stored, of[ID_FIELD], of[ID_FIELD + 1], out, at)
    return at


@helper
def _form_sizes(bounds: Int32, columns: Int64) -> Int64:
    """int64[2, FORMS + 1]: bytes of each form of the lines of both groups; how many lines."""
    sizes = np.zeros((2, FORMS + 1), np.int64)
    for i in range(columns.shape[1]):
        group, of = columns[IS_REFERENCE, i], bounds[columns[SLOT, i]]
        for form in range(FORMS):
            sizes[group, form] += of[form + 1] - of[form]
        sizes[group, FORMS] += 1
    return sizes


@helper
def _lines_size(forms: Int64, step: Int64, ends: Int64) -> int:
    """Bytes of a form of the lines of a group, with the pieces around each."""
    size, more = 0, 0
    for piece in (step[3], step[4]):
        if piece >= 0:
            more += _size(ends, piece)
    for group in range(2):
        if step[2] in (EVERY_LINE, group):
            size += forms[group, step[1]] + forms[group, FORMS] * more
    return size


@helper
def _measure(
    bounds: Int32, columns: Int64, tail_ends: Int64, ends: Int64, program: Int64, sizes: Int64
) -> int:
    """The size of the field that each step opens; of all together."""
    at, depth = 0, 0
    opened, starts = np.zeros(MOST_OPEN, np.int64), np.zeros(MOST_OPEN, np.int64)
    forms = _form_sizes(bounds, columns)
    for row in range(program.shape[0]):
        step = program[row]
        if step[0] == COPY_PIECE:
            at += _size(ends, step[1])
        elif step[0] == OPEN_FIELD:
            at += _size(ends, step[1])
            opened[depth], starts[depth] = row, at
            depth += 1
        elif step[0] == CLOSE_FIELD:
            depth -= 1
            size = at - starts[depth]
            sizes[opened[depth]] = size
            at += _varint_size(size)
        elif step[0] == COPY_LINES:
            at += _lines_size(forms, step, ends)
        else:
            for i in range(columns.shape[1]):
                if step[0] == WRITE_ITEMS:
                    size = _item_size(bounds, columns, i, step[1], tail_ends)
                elif columns[IS_REFERENCE, i]:
                    continue
                else:
                    size = _message_size(bounds, columns, i)
                at += 1 + _varint_size(size) + size
    return at


@kernel(
    U8(
        READ_U8, READ_I32_2D, READ_I64_2D, READ_F64, READ_I32, READ_BYTES, READ_I64, READ_BYTES, READ_I64, READ_I64_2D,
    )
)  # fmt: skip
def assemble(
    stored: UInt8,
    bounds: Int32,
    columns: Int64,
    scores: Float64,
    scored: Int32,
    tails: bytes,
    tail_ends: Int64,
    pieces: bytes,
    ends: Int64,
    program: Int64,
) -> UInt8:
    """See `line_table.LineTable.assemble`."""
    sizes = np.zeros(program.shape[0], np.int64)
    out = np.empty(_measure(bounds, columns, tail_ends, ends, program, sizes), np.uint8)
    at = np.uint64(0)
    for row in range(program.shape[0]):
        step = program[row]
        if step[0] == COPY_PIECE:
            at = _piece(pieces, ends, step[1], out, at)
        elif step[0] == OPEN_FIELD:
            at = _put(sizes[row], out, _piece(pieces, ends, step[1], out, at))
        elif step[0] == COPY_LINES:
            at = _copy_lines(stored, bounds, columns, step, pieces, ends, out, at)
        elif step[0] == WRITE_ITEMS:
            at = _write_items(
                stored, bounds, columns, step[1], scores, scored, tails, tail_ends, pieces, out, at,
            )  # fmt: skip
        elif step[0] == WRITE_MESSAGES:
            at = _write_messages(stored, bounds, columns, pieces, out, at)
    return out
