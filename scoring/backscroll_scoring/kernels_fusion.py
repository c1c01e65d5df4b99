"""The compiled unions of rankings and of candidates. See `fusion` for what is computed."""

from __future__ import annotations

import numba as nb
import numpy as np

from .arrays import Bool, Float64, Int32, Int64, UInt8, UInt32
from .compile import (
    BOOL,
    F64,
    I32,
    READ_BOOL,
    READ_F64,
    READ_I32,
    READ_I64,
    READ_U8,
    U8,
    helper,
    kernel,
)
from .layout import ADDED, BY_MEANING, BY_MEMORY, BY_NEITHER, BY_WORDS, OTHERS, OWN

READ_U32 = nb.types.Array(nb.uint32, 1, "C", readonly=True)
U32 = nb.types.Array(nb.uint32, 1, "C")
I64_2D = nb.types.Array(nb.int64, 2, "C")
ANY_BOOL_2D = nb.types.Array(nb.boolean, 2, "A", readonly=True)


@helper
def _ascending(rows: Int32) -> Int32:
    """int32[k]: the places of a few rows in their ascending order."""
    order = np.empty(rows.shape[0], np.int32)
    for i in range(rows.shape[0]):
        at = i
        while at > 0 and rows[order[at - 1]] > rows[i]:
            order[at] = order[at - 1]
            at -= 1
        order[at] = i
    return order


@helper
def _presence(
    rows: Int32,
    author: Int32,
    asker: int,
    older: Int32,
    alike: Int32,
    found_by: Bool,
    is_asked: bool,
) -> int:
    """Which of the added sources have rows, as bits of `ADDED`."""
    present = a = b = 0
    for i in range(older.shape[0]):
        while a < rows.shape[0] and rows[a] < older[i]:
            a += 1
        if is_asked or a == rows.shape[0] or rows[a] != older[i]:
            while b < alike.shape[0] and alike[b] < older[i]:
                b += 1
            if b < alike.shape[0] and alike[b] == older[i]:
                present |= 1 << BY_WORDS
            else:
                present |= 1 << OWN if author[older[i]] == asker else 1 << OTHERS
    for i in range(found_by.shape[1]):
        present |= 1 << BY_WORDS if found_by[0, i] else 0
        present |= 1 << BY_MEANING if found_by[1, i] else 0
        present |= 0 if found_by[0, i] or found_by[1, i] else 1 << BY_NEITHER
    return present


@kernel(
    nb.types.UniTuple(nb.intp, 2)(
        READ_I32, READ_U32, READ_BOOL, READ_I32, READ_I32, READ_I32, READ_I32, ANY_BOOL_2D, READ_I64,
        I32, U32, BOOL,
    )
)  # fmt: skip
def unite(
    rows: Int32,
    marks: UInt32,
    references: Bool,
    author: Int32,
    older: Int32,
    alike: Int32,
    far: Int32,
    found_by: Bool,
    how: Int64,
    out: Int32,
    out_marks: UInt32,
    out_references: Bool,
) -> tuple[int, int]:
    """See `fusion.unite`. One walk along all of them."""
    asker = how[ADDED]
    is_asked = how[OWN] >= 0 or how[OTHERS] >= 0
    present = _presence(rows, author, asker, older, alike, found_by, is_asked)
    bits, bit = np.zeros(ADDED, np.uint32), how[ADDED + 1]
    for i in range(ADDED):
        if how[i] >= 0:
            bits[i] = np.uint32(1) << np.uint32(how[i])
        elif present >> i & 1:
            bits[i] = np.uint32(1) << np.uint32(bit)
            bit += 1
    order = _ascending(far)
    a = b = c = d = count = 0
    last = np.iinfo(np.int32).max
    while a < rows.shape[0] or b < older.shape[0] or c < far.shape[0]:
        row = rows[a] if a < rows.shape[0] else last
        row = min(row, older[b]) if b < older.shape[0] else row
        row = min(row, far[order[c]]) if c < far.shape[0] else row
        has_row = a < rows.shape[0] and rows[a] == row
        has_older = b < older.shape[0] and older[b] == row
        has_far = c < far.shape[0] and far[order[c]] == row
        out[count] = row
        out_marks[count] = marks[a] if has_row else np.uint32(0)
        out_references[count] = references[a] if has_row else has_far
        while d < alike.shape[0] and alike[d] < row:
            d += 1
        if has_older and (is_asked or not has_row):
            if d < alike.shape[0] and alike[d] == row:
                out_marks[count] |= bits[BY_WORDS]
            else:
                out_marks[count] |= bits[OWN] if author[row] == asker else bits[OTHERS]
        if has_far:
            k = order[c]
            out_marks[count] |= bits[BY_WORDS] if found_by[0, k] else np.uint32(0)
            out_marks[count] |= bits[BY_MEANING] if found_by[1, k] else np.uint32(0)
            if not (found_by[0, k] or found_by[1, k]):
                out_marks[count] |= bits[BY_NEITHER]
        a += has_row
        b += has_older
        c += has_far
        count += 1
    return count, present


@helper
def _place_ranked(
    rows: Int32, near: Int32, scores: Float64, stages: UInt8, out: Float64, out_stages: UInt8
) -> Int32:
    """Write what is known of ranked rows where they stand among all; return where that is, -1 nowhere."""
    places = np.full(near.shape[0], -1, np.int32)
    i = 0
    for place in range(rows.shape[0]):
        out[place], out_stages[place] = 0.0, 0
        while i < near.shape[0] and near[i] < rows[place]:
            i += 1
        if i < near.shape[0] and near[i] == rows[place]:
            out[place], out_stages[place] = scores[i], stages[i]
            places[i] = place
    return places


@kernel(
    nb.intp(
        READ_I32, READ_I32, READ_I64, READ_F64, READ_U8, READ_I32, READ_F64, READ_BOOL, READ_F64,
        I64_2D, F64, U8,
    )
)  # fmt: skip
def take_turns(
    rows: Int32,
    near: Int32,
    order: Int64,
    scores: Float64,
    stages: UInt8,
    far: Int32,
    linear: Float64,
    pattern: Bool,
    link: Float64,
    taken: Int64,
    out: Float64,
    out_stages: UInt8,
) -> int:
    """See `fusion.take_turns`."""
    places = _place_ranked(rows, near, scores, stages, out, out_stages)
    for i in range(places.shape[0]):
        if places[i] < 0:
            return -1
    there = np.zeros(rows.shape[0], np.bool_)
    m, k = order.shape[0], far.shape[0]
    a = b = count = 0
    while a < m or b < k:
        mine = pattern[count % pattern.shape[0]]
        if a == m or b == k:
            mine = b == k
        place = places[order[a]] if mine else far[b]
        a += mine
        b += not mine
        if there[place]:
            continue
        there[place] = True
        taken[0, count], taken[1, count] = place, -1 if mine else b - 1
        if not mine:
            out[place] = 1.0 / (1.0 + np.exp(-link[0] * linear[b - 1] - link[1]))
            out_stages[place] = BY_MEMORY
        count += 1
    return count
