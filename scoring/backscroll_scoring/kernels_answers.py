"""Answers put together of bytes that are there, compiled. See `answers` and `fields`.

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
    BODY,
    BYTES,
    CHARS,
    COST,
    ESCAPED_LINE,
    FORMS,
    ID_FIELD,
    IS_REFERENCE,
    ITEM,
    KIND,
    KINDS,
    KNOWN,
    LAST_LINE_TOKENS,
    LINE,
    LINE_COST,
    LINE_TOKENS,
    LONGEST,
    MISSING,
    PLACE,
    RANK,
    RECENT,
    REFERENCE_ITEM,
    RENDERED,
    SEAMLESS,
    SEMANTIC,
    SLASHED,
    SLOT,
    TURN_COST,
    TURN_TOKENS,
    TURNS,
)

I64_2D = nb.types.Array(nb.int64, 2, "C")
READ_I64_2D = nb.types.Array(nb.int64, 2, "C", readonly=True)
READ_U32 = nb.types.Array(nb.uint32, 1, "C", readonly=True)
ANY_BOOL = nb.types.Array(nb.boolean, 1, "A", readonly=True)
ANY_U32 = nb.types.Array(nb.uint32, 1, "A", readonly=True)

LOW_BITS, MULTIPLIER = 0xFFFFFFFF, 0x5BD1E995


@helper
def _place(key: int, last: int) -> int:
    """Where the search for a key begins: Knuth's multiplicative hash, in numbers that fit 63 bits."""
    return (((key & LOW_BITS) * MULTIPLIER & LOW_BITS) >> 12) & last


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


@kernel(
    nb.void(
        READ_I64, READ_I32, ANY_BOOL, ANY_U32, READ_I64, READ_I64, nb.int64, READ_I64, READ_I32,
        READ_I32_2D, READ_I32_2D, I64_2D, I64,
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
    bounds: Int32,
    laid: Int64,
    totals: Int64,
) -> None:
    """See `answers.Page.lay_out`. Sorted by Shell's method: orders are short and partly in order."""
    k = order.shape[0]
    places, ranks, found, references = laid[PLACE], laid[RANK], laid[SLOT], laid[IS_REFERENCE]
    known, n_known = laid[KNOWN], 0
    for i in range(k):
        places[i], ranks[i] = order[i], i + 1
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
    for i in range(totals.shape[0]):
        totals[i] = 0
    last = -1
    for i in range(k):
        row, is_reference, kind = rows[places[i]], semantic[places[i]], np.int64(kinds[places[i]])
        references[i], laid[KIND, i] = is_reference, kind
        at = 0
        while at < n_known and known[at] != kind:
            at += 1
        if at == n_known:
            known[at] = kind
            n_known += 1
        slot = _slot(2 * seq[row] + (time_ms[row] < dated_before_ms), keys, slots)
        found[i] = slot
        if slot < 0:
            totals[MISSING] += 1
            continue
        if is_reference:
            totals[SEMANTIC] += numbers[slot, LINE_TOKENS]
            totals[COST] += numbers[slot, LINE_COST]
            totals[SLASHED] += numbers[slot, SEAMLESS] == 0
            last = slot
        else:
            totals[TURNS] += 1
            totals[RECENT] += numbers[slot, TURN_TOKENS]
            totals[COST] += numbers[slot, TURN_COST]
        totals[LONGEST] = max(totals[LONGEST], numbers[slot, CHARS])
        totals[BYTES] += bounds[slot, FORMS] - bounds[slot, 0]
    totals[KINDS] = n_known
    if last >= 0:
        totals[SEMANTIC] += numbers[last, LAST_LINE_TOKENS] - numbers[last, LINE_TOKENS]


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


@kernel(
    nb.intp(
        READ_U8, READ_I32_2D, READ_I64_2D, READ_F64, READ_I32, READ_U32, READ_BYTES, READ_I64,
        READ_BYTES, READ_BYTES, READ_I64, READ_BYTES, READ_BYTES, U8,
    )
)  # fmt: skip
def join_answer(
    stored: UInt8,
    bounds: Int32,
    laid: Int64,
    scores: Float64,
    scored: Int32,
    known: UInt32,
    tails: bytes,
    tail_ends: Int64,
    keys: bytes,
    pieces: bytes,
    ends: Int64,
    question: bytes,
    asked: bytes,
    out: UInt8,
) -> int:
    """See `answers.Page.join`."""
    slots, ranks, references, kinds = laid[SLOT], laid[RANK], laid[IS_REFERENCE], laid[KIND]
    k = slots.shape[0]
    one = np.uint64(1)
    turns, body, text, ids, escaped, lines = 0, 0, 0, 0, 0, 0
    for i in range(k):
        of = bounds[slots[i]]
        line = of[LINE + 1] - of[LINE] + 1
        text += line
        if references[i]:
            lines += line
            ids += of[ID_FIELD + 1] - of[ID_FIELD]
            escaped += of[ESCAPED_LINE + 1] - of[ESCAPED_LINE] + 2
        else:
            turns += 1
            body += of[BODY + 1] - of[BODY] + 1
    has_references = turns < k
    recent_title, semantic_title = ends[5] - ends[4], ends[6] - ends[5]
    at = np.uint64(0)
    if keys[0]:
        body += ends[1] - ends[0] + len(question) + ends[4] - ends[3]
        if has_references:
            body += ends[3] - ends[1] + escaped + 1
        out[at] = keys[0]
        at = _put(ends[0] + _varint_size(body) + body, out, at + one)
        at = _copy(pieces, 0, ends[0], out, at)
        at = _put(body, out, at)
        at = _copy(pieces, ends[0], ends[1], out, at)
        for i in range(k):
            if not references[i]:
                of = bounds[slots[i]]
                at = _copy(stored, of[BODY], of[BODY + 1], out, at)
                out[at] = 44  # a comma
                at += one
        if has_references:
            at = _copy(pieces, ends[1], ends[2], out, at)
            for i in range(k):
                if references[i]:
                    of = bounds[slots[i]]
                    out[at], out[at + one] = 92, 110  # a line break, as JSON writes it
                    at = _copy(stored, of[ESCAPED_LINE], of[ESCAPED_LINE + 1], out, at + one + one)
            at = _copy(pieces, ends[2], ends[3], out, at)
            out[at] = 44
            at += one
        at = _copy(question, 0, len(question), out, at)
        at = _copy(pieces, ends[3], ends[4], out, at)
    if turns:
        text += recent_title
    if has_references:
        text += semantic_title + 2 * (turns > 0)
    out[at] = keys[1]
    at = _put(text, out, at + one)
    if turns:
        at = _copy(pieces, ends[4], ends[5], out, at)
        for i in range(k):
            if not references[i]:
                of = bounds[slots[i]]
                out[at] = 10
                at = _copy(stored, of[LINE], of[LINE + 1], out, at + one)
    lines_at = at
    if has_references:
        if turns:
            out[at], out[at + one] = 10, 10
            at += one + one
        lines_at = at
        at = _copy(pieces, ends[5], ends[6], out, at)
        for i in range(k):
            if references[i]:
                of = bounds[slots[i]]
                out[at] = 10
                at = _copy(stored, of[LINE], of[LINE + 1], out, at + one)
    score_bytes, scored_at = scores.view(np.uint8), 0
    for i in range(k):
        score = laid[PLACE, i]
        while scored_at < scored.shape[0] and scored[scored_at] < score:  # both ascend
            scored_at += 1
        if scored.shape[0] != 0:
            score = scored_at
        kind = 0
        while known[kind] != kinds[i]:
            kind += 1
        tail = tail_ends[kind - 1] if kind else 0
        of = bounds[slots[i]]
        form = REFERENCE_ITEM if references[i] else ITEM
        first, last = of[form], of[form + 1]
        out[at] = keys[2]
        size = last - first + 1 + _varint_size(ranks[i]) + 9 + tail_ends[kind] - tail
        at = _put(size, out, at + one)
        at = _copy(stored, first, last, out, at)
        out[at] = keys[3]
        at = _put(ranks[i], out, at + one)
        out[at] = keys[4]
        at = _copy(score_bytes, 8 * score, 8 * score + 8, out, at + one)
        at = _copy(tails, tail, tail_ends[kind], out, at)
    for i in range(k):
        if not references[i]:
            of = bounds[slots[i]]
            at = _copy(stored, of[RENDERED], of[RENDERED + 1], out, at)
    if has_references:
        content = semantic_title + lines
        out[at] = keys[5]
        size = ends[7] - ends[6] + _varint_size(content) + content + ids
        at = _put(size, out, at + one)
        at = _copy(pieces, ends[6], ends[7], out, at)
        at = _put(content, out, at)
        for i in range(np.uint64(content)):  # as they stand in the text
            out[at + i] = out[lines_at + i]
        at += np.uint64(content)
        for i in range(k):
            if references[i]:
                of = bounds[slots[i]]
                at = _copy(stored, of[ID_FIELD], of[ID_FIELD + 1], out, at)
    at = _copy(asked, 0, len(asked), out, at)
    return int(at)


@kernel(
    nb.intp(
        READ_BYTES, READ_BYTES, READ_I64, READ_F64, READ_U32, READ_U32, READ_BYTES, READ_I64, U8
    )
)
def join_records(
    keys: bytes,
    bodies: bytes,
    numbers: Int64,
    scores: Float64,
    kinds: UInt32,
    known: UInt32,
    tails: bytes,
    tail_ends: Int64,
    out: UInt8,
) -> int:
    """See `fields.join_records`. Kinds are few: each is looked for from the first on."""
    score_bytes = scores.view(np.uint8)
    at, start, one = np.uint64(0), np.uint64(0), np.uint64(1)
    for i in range(numbers.shape[0]):
        kind = 0
        while known[kind] != kinds[i]:
            kind += 1
        tail = np.uint64(tail_ends[kind - 1] if kind else 0)
        tail_size = np.uint64(tail_ends[kind]) - tail
        size, shift = int(bodies[start] & 0x7F), 7
        while bodies[start] >= 0x80:
            start += one
            size |= int(bodies[start] & 0x7F) << shift
            shift += 7
        start += one
        out[at] = keys[0]
        at = _put(size + 1 + _varint_size(numbers[i]) + 9 + int(tail_size), out, at + one)
        for k in range(np.uint64(size)):
            out[at + k] = bodies[start + k]
        at += np.uint64(size)
        start += np.uint64(size)
        out[at] = keys[1]
        at = _put(numbers[i], out, at + one)
        out[at] = keys[2]
        at += one
        for k in range(np.uint64(8)):
            out[at + k] = score_bytes[np.uint64(8 * i) + k]
        at += np.uint64(8)
        for k in range(tail_size):
            out[at + k] = tails[tail + k]
        at += tail_size
    return int(at)
