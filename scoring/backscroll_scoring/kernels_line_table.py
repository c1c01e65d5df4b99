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
    CHARS,
    CLOSE_FIELD,
    CONTENT,
    CONTENT_KEY,
    COPY_LINES,
    COPY_PIECE,
    COST_KEY,
    COUNT,
    EVERY_LINE,
    FIRST_NUMBER,
    GROUP_SUMS,
    ID_FIELD,
    IS_REFERENCE,
    IS_SEAMLESS,
    ITEM,
    ITEM_KEY,
    KIND,
    KNOWN,
    LAST_LINE,
    LINE_COST,
    LINE_TOKENS,
    LINES_COST,
    LINES_TOKENS,
    MESSAGE_KEY,
    NAME_TOKENS,
    NOT_SEAMLESS,
    NUMBERS,
    OPEN_FIELD,
    PLACE,
    RANK,
    RANK_KEY,
    REFERENCE_KEY,
    REFERENCES,
    ROLE,
    ROLE_KEY,
    SCORE_KEY,
    SLOT,
    SUM_LONGEST,
    SUM_MISSING,
    SUM_NAME_TOKENS,
    SUM_TURN_TOKENS,
    TALK_KEY,
    TURN_COST,
    TURN_TOKENS,
    WRITE_ITEMS,
)

I64_2D = nb.types.Array(nb.int64, 2, "C")
READ_I64_2D = nb.types.Array(nb.int64, 2, "C", readonly=True)
READ_U32 = nb.types.Array(nb.uint32, 1, "C", readonly=True)
ANY_BOOL = nb.types.Array(nb.boolean, 1, "A", readonly=True)
ANY_U32 = nb.types.Array(nb.uint32, 1, "A", readonly=True)

LOW_BITS, MULTIPLIER = 0xFFFFFFFF, 0x5BD1E995
MARK_BITS, DATED = 20, 2
"""A message is kept under its number and, in these bits, under how it is marked; the mark of a date."""
VARINT_BYTES, MOST_OPEN = 5, 8


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
def _sort_by_place(places: Int64, ranks: Int64) -> None:
    """By Shell's method: orders are short and partly in order."""
    k = places.shape[0]
    gap = 1
    while gap < k // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, k):
            place, rank = places[i], ranks[i]
            j = i
            while j >= gap and places[j - gap] > place:
                places[j], ranks[j] = places[j - gap], ranks[j - gap]
                j -= gap
            places[j], ranks[j] = place, rank
        gap //= 3


@helper
def _enter(slot: int, i: int, numbers: Int32, columns: Int64) -> None:
    """Write the slot of a line, and what the table knows of it."""
    columns[SLOT, i] = slot
    if slot >= 0:
        for j in range(NUMBERS):
            columns[FIRST_NUMBER + j, i] = numbers[slot, j]


@kernel(
    nb.int64(
        READ_I64, READ_I32, ANY_BOOL, ANY_U32, READ_I64, READ_I64, nb.int64, READ_I64, READ_I32, READ_I32_2D, I64_2D,
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
) -> int:
    """See `line_table.LineTable.lay_out`. Returns how many kinds there are."""
    k, known, n_known = order.shape[0], columns[KNOWN], 0
    for i in range(k):
        columns[PLACE, i], columns[RANK, i] = order[i], i + 1
    _sort_by_place(columns[PLACE], columns[RANK])
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
    return n_known


@kernel(nb.void(READ_I64, READ_I64, READ_I32, READ_I32_2D, I64_2D))
def look_up(wanted: Int64, keys: Int64, slots: Int32, numbers: Int32, columns: Int64) -> None:
    """See `line_table.LineTable.look_up`."""
    for i in range(columns.shape[1]):
        slot = _slot(wanted[i], keys, slots) if wanted[i] >= 0 else -1
        _enter(slot, i, numbers, columns)


@kernel(nb.void(READ_I64_2D, nb.boolean, I64))
def add_up(columns: Int64, has_turns: bool, sums: Int64) -> None:
    """See `line_table.add_up`."""
    for i in range(sums.shape[0]):
        sums[i] = 0
    sums[LAST_LINE] = sums[LAST_LINE + GROUP_SUMS] = -1
    for i in range(columns.shape[1]):
        group = columns[IS_REFERENCE, i]
        of = GROUP_SUMS * group
        sums[of + COUNT] += 1
        sums[of + LINES_TOKENS] += columns[LINE_TOKENS, i]
        sums[of + NOT_SEAMLESS] += columns[IS_SEAMLESS, i] == 0
        sums[of + LAST_LINE] = i
        if group == REFERENCES or not has_turns:
            sums[of + LINES_COST] += columns[LINE_COST, i]
        else:
            sums[of + LINES_COST] += columns[TURN_COST, i]
        if group != REFERENCES:
            sums[SUM_TURN_TOKENS] += columns[TURN_TOKENS, i]
            sums[SUM_NAME_TOKENS] += columns[NAME_TOKENS, i]
        sums[SUM_MISSING] += columns[SLOT, i] < 0
        sums[SUM_LONGEST] = max(sums[SUM_LONGEST], columns[CHARS, i])


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
def _close(start: np.uint64, out: UInt8, at: np.uint64) -> np.uint64:
    """Write the size of what stands behind the room for it, and move that up."""
    body = start + np.uint64(VARINT_BYTES)
    size = at - body
    begin = _put(int(size), out, start)
    for i in range(size):
        out[begin + i] = out[body + i]
    return begin + size


@helper
def _is_of(columns: Int64, i: int, group: int) -> bool:
    return group == EVERY_LINE or columns[IS_REFERENCE, i] == group


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
def _write_items(
    stored: UInt8,
    bounds: Int32,
    columns: Int64,
    talk_cost: int,
    scores: Float64,
    scored: Int32,
    tails: bytes,
    tail_ends: Int64,
    pieces: bytes,
    ends: Int64,
    out: UInt8,
    at: np.uint64,
) -> np.uint64:
    """Write each line as an item: what the table has of it, category, cost, rank, score, sources."""
    score_bytes = scores.view(np.uint8)
    for i in range(columns.shape[1]):
        slot, is_reference, rank = columns[SLOT, i], columns[IS_REFERENCE, i], columns[RANK, i]
        category = REFERENCE_KEY if is_reference else TALK_KEY
        cost, kind = columns[LINE_COST if is_reference else talk_cost, i], columns[KIND, i]
        size = bounds[slot, ITEM + 1] - bounds[slot, ITEM] + _size(ends, category) + 8
        size += _size(ends, COST_KEY) + _varint_size(cost) + _size(ends, RANK_KEY)
        size += _varint_size(rank) + _size(ends, SCORE_KEY) + _size(tail_ends, kind)
        at = _put(size, out, _piece(pieces, ends, ITEM_KEY, out, at))
        at = _copy(stored, bounds[slot, ITEM], bounds[slot, ITEM + 1], out, at)
        at = _piece(pieces, ends, category, out, at)
        at = _put(cost, out, _piece(pieces, ends, COST_KEY, out, at))
        at = _put(rank, out, _piece(pieces, ends, RANK_KEY, out, at))
        at = _piece(pieces, ends, SCORE_KEY, out, at)
        score = 8 * _find(scored, columns[PLACE, i])
        at = _copy(score_bytes, score, score + 8, out, at)
        at = _piece(tails, tail_ends, kind, out, at)
    return at


@helper
def _write_messages(
    stored: UInt8,
    bounds: Int32,
    columns: Int64,
    pieces: bytes,
    ends: Int64,
    out: UInt8,
    at: np.uint64,
) -> np.uint64:
    """Write each line of the talk as a message of its own."""
    for i in range(columns.shape[1]):
        if columns[IS_REFERENCE, i]:
            continue
        of, role = bounds[columns[SLOT, i]], ROLE_KEY + columns[ROLE, i]
        content, id_field = of[CONTENT + 1] - of[CONTENT], of[ID_FIELD + 1] - of[ID_FIELD]
        size = _size(ends, role) + _size(ends, CONTENT_KEY) + _varint_size(content)
        at = _put(size + content + id_field, out, _piece(pieces, ends, MESSAGE_KEY, out, at))
        at = _piece(pieces, ends, role, out, at)
        at = _put(content, out, _piece(pieces, ends, CONTENT_KEY, out, at))
        at = _copy(stored, of[CONTENT], of[CONTENT + 1], out, at)
        at = _copy(stored, of[ID_FIELD], of[ID_FIELD + 1], out, at)
    return at


@helper
def _most_bytes(
    bounds: Int32, columns: Int64, tail_ends: Int64, ends: Int64, program: Int64
) -> int:
    """So many bytes a program writes at most."""
    most, k = 0, columns.shape[1]
    longest = 0
    for i in range(tail_ends.shape[0]):
        longest = max(longest, _size(tail_ends, i))
    fields = ends[ROLE_KEY + 1]
    for row in range(program.shape[0]):
        step = program[row]
        if step[0] == COPY_PIECE or step[0] == OPEN_FIELD:
            most += _size(ends, step[1]) + VARINT_BYTES
        elif step[0] != CLOSE_FIELD:
            first, last, more = step[1], step[1] + 1, 0
            if step[0] == COPY_LINES:
                for piece in (step[3], step[4]):
                    more += _size(ends, piece) if piece >= 0 else 0
            elif step[0] == WRITE_ITEMS:
                first, last, more = ITEM, ITEM + 1, fields + 3 * VARINT_BYTES + 8 + longest
            else:
                first, last, more = CONTENT, ID_FIELD + 1, fields + 2 * VARINT_BYTES
            for i in range(k):
                slot = columns[SLOT, i]
                most += bounds[slot, last] - bounds[slot, first] + more
    return most


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
    out = np.empty(_most_bytes(bounds, columns, tail_ends, ends, program), np.uint8)
    at, depth = np.uint64(0), 0
    starts = np.zeros(MOST_OPEN, np.uint64)
    for row in range(program.shape[0]):
        step = program[row]
        if step[0] == COPY_PIECE:
            at = _piece(pieces, ends, step[1], out, at)
        elif step[0] == OPEN_FIELD:
            at = _piece(pieces, ends, step[1], out, at)
            starts[depth] = at
            depth += 1
            at += np.uint64(VARINT_BYTES)
        elif step[0] == CLOSE_FIELD:
            depth -= 1
            at = _close(starts[depth], out, at)
        elif step[0] == COPY_LINES:
            at = _copy_lines(stored, bounds, columns, step, pieces, ends, out, at)
        elif step[0] == WRITE_ITEMS:
            at = _write_items(
                stored, bounds, columns, step[1], scores, scored, tails, tail_ends, pieces, ends, out, at,
            )  # fmt: skip
        else:
            at = _write_messages(stored, bounds, columns, pieces, ends, out, at)
    return out[: np.int64(at)]
