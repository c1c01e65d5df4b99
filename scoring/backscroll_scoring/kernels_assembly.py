"""An answer put together of rendered lines as a program says, compiled. See `line_table`.

Places in bytes are unsigned: then a negative one need not be thought of, and bytes are copied many at once.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from .arrays import Float64, Int32, Int64, UInt8
from .compile import (
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
    CATEGORIES,
    CATEGORY_KEY,
    CLOSE_FIELD,
    CONTENT,
    CONTENT_KEY,
    COPY_LINES,
    COPY_PIECE,
    COST_KEY,
    FORMS,
    ID_FIELD,
    IS_REFERENCE,
    ITEM,
    ITEM_KEY,
    KIND,
    LINE_COST,
    MESSAGE_KEY,
    OPEN_FIELD,
    PLACE,
    RANK,
    RANK_KEY,
    ROLE,
    ROLE_KEY,
    ROLES,
    SCORE_KEY,
    SLOT,
    WRITE_ITEMS,
    WRITE_MESSAGES,
)

READ_I64_2D = nb.types.Array(nb.int64, 2, "C", readonly=True)

MOST_OPEN = 8


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
    """Copy a form of the lines of a group, with a piece before and behind each."""
    form, before, after = step[1], step[3], step[4]
    for i in range(columns.shape[1]):
        if columns[IS_REFERENCE, i] == step[2]:
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
    more = 0
    for piece in (step[3], step[4]):
        if piece >= 0:
            more += _size(ends, piece)
    return forms[step[2], step[1]] + forms[step[2], FORMS] * more


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
