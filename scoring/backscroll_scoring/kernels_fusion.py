"""The compiled unions of rankings and of candidates."""

from __future__ import annotations

import numba as nb
import numpy as np

from .arrays import Bool, Float64, Int32, Int64, UInt32
from .compile import BOOL, F64, I32, I64, READ_BOOL, READ_F64, READ_I32, READ_I64, helper, kernel
from .layout import BY_MEANING, BY_NEITHER, BY_WORDS, OTHERS, OWN

READ_U32 = nb.types.Array(nb.uint32, 1, "C", readonly=True)
U32 = nb.types.Array(nb.uint32, 1, "C")


@helper
def _is_new(row: int, slots: Int32, rows: Int32, count: int) -> bool:
    """Whether a row is not among the first `count` of `rows`; then it is noted as the next one."""
    last = slots.shape[0] - 1
    at = row & last
    while slots[at] >= 0 and rows[slots[at]] != row:
        at = (at + 1) & last
    if slots[at] >= 0:
        return False
    slots[at] = count
    return True


@kernel(nb.intp(READ_I32, READ_I32, READ_BOOL, I32, BOOL, I32))
def take_turns(
    first: Int32, second: Int32, pattern: Bool, rows: Int32, by_first: Bool, places: Int32
) -> int:
    """See `fusion.interleave`; returns how many rows there are. Those that are in are found again in a table."""
    room = 1
    while room < 2 * (first.shape[0] + second.shape[0]) + 1:
        room *= 2
    slots = np.full(room, -1, np.int32)
    at_first = at_second = count = 0
    while count < rows.shape[0]:
        mine = pattern[count % pattern.shape[0]]
        if at_first == first.shape[0] or at_second == second.shape[0]:
            mine = at_second == second.shape[0]
            if mine and at_first == first.shape[0]:
                break
        if mine:
            row = first[at_first]
            at_first += 1
        else:
            row = second[at_second]
            at_second += 1
        if _is_new(row, slots, rows, count):
            rows[count], by_first[count] = row, mine
            places[count] = (at_first if mine else at_second) - 1
            count += 1
    return count


@kernel(
    nb.intp(
        *(READ_I32, READ_U32, READ_BOOL, READ_I32, READ_U32, nb.boolean),
        *(I32, U32, BOOL),
    )
)
def add_marked(
    rows: Int32,
    marks: UInt32,
    flags: Bool,
    more: Int32,
    more_marks: UInt32,
    flag: bool,
    out: Int32,
    out_marks: UInt32,
    out_flags: Bool,
) -> int:
    """See `fusion.with_marked`; returns how many rows there are. One walk along both."""
    a = b = count = 0
    while a < rows.shape[0] or b < more.shape[0]:
        has_row = b == more.shape[0] or (a < rows.shape[0] and rows[a] <= more[b])
        has_more = a == rows.shape[0] or (b < more.shape[0] and more[b] <= rows[a])
        out[count] = rows[a] if has_row else more[b]
        out_marks[count] = marks[a] if has_row else np.uint32(0)
        if has_more:
            out_marks[count] |= more_marks[b]
        out_flags[count] = flags[a] if has_row else flag
        a += has_row
        b += has_more
        count += 1
    return count


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
def _sources_of(by_words: Bool, by_meaning: Bool) -> int:
    """Which sources the rows of the history have: `BY_WORDS` + `BY_MEANING` + `BY_NEITHER`."""
    sources = 0
    for i in range(by_words.shape[0]):
        sources |= BY_WORDS if by_words[i] else 0
        sources |= BY_MEANING if by_meaning[i] else 0
        sources |= 0 if by_words[i] or by_meaning[i] else BY_NEITHER
    return sources


@kernel(
    nb.types.UniTuple(nb.intp, 2)(
        *(READ_I32, READ_U32, READ_BOOL, READ_I32, READ_BOOL, READ_BOOL, nb.intp),
        *(I32, U32, BOOL, I32),
    )
)
def add_recalled(
    rows: Int32,
    marks: UInt32,
    flags: Bool,
    more: Int32,
    by_words: Bool,
    by_meaning: Bool,
    first: int,
    out: Int32,
    out_marks: UInt32,
    out_flags: Bool,
    places: Int32,
) -> tuple[int, int]:
    """See `fusion.with_recalled`; returns how many rows there are, and the ranking's sources. One walk along both."""
    order, sources = _ascending(more), _sources_of(by_words, by_meaning)
    words = np.uint32(1) << np.uint32(first)
    meaning = words << np.uint32(sources & BY_WORDS != 0)
    neither = meaning << np.uint32(sources & BY_MEANING != 0)
    a = b = count = 0
    while a < rows.shape[0] or b < more.shape[0]:
        k = order[b] if b < more.shape[0] else 0
        has_row = b == more.shape[0] or (a < rows.shape[0] and rows[a] <= more[k])
        has_more = a == rows.shape[0] or (b < more.shape[0] and more[k] <= rows[a])
        out[count] = rows[a] if has_row else more[k]
        out_marks[count] = marks[a] if has_row else np.uint32(0)
        out_flags[count] = flags[a] if has_row else True
        if has_more:
            places[k] = count
            out_marks[count] |= words if by_words[k] else np.uint32(0)
            out_marks[count] |= meaning if by_meaning[k] else np.uint32(0)
            out_marks[count] |= np.uint32(0) if by_words[k] or by_meaning[k] else neither
        a += has_row
        b += has_more
        count += 1
    return count, sources


@kernel(
    nb.types.UniTuple(nb.intp, 4)(
        READ_I32, READ_I64, READ_F64, READ_I32, nb.intp, nb.intp, nb.intp, nb.intp, nb.float64, nb.intp, nb.intp,
        READ_I32, READ_F64, READ_BOOL, READ_BOOL, nb.float64, nb.float64, READ_BOOL,
        I32, U32, BOOL, F64, I64,
    )
)  # fmt: skip
def choose_far(
    near: Int32, order: Int64, scores: Float64, author: Int32, n_older: int, asker: int, recent: int, first: int,
    least_score: float, least: int, floor: int,
    far: Int32, linear: Float64, by_words: Bool, by_meaning: Bool, slope: float, offset: float, pattern: Bool,
    rows: Int32, bits: UInt32, references: Bool, all_scores: Float64, chosen: Int64,
) -> tuple[int, int, int, int]:  # fmt: skip
    """See `reference_united.choose_far`."""
    m, k = near.shape[0], far.shape[0]
    whose, sources = 0, _sources_of(by_words, by_meaning)
    for j in range(n_older):
        whose |= OWN if author[near[j]] == asker else OTHERS
    one = np.uint32(1)
    own = one << np.uint32(first)
    other = own << np.uint32(whose & OWN != 0)
    words = other << np.uint32(whose & OTHERS != 0)
    meaning = words << np.uint32(sources & BY_WORDS != 0)
    neither = meaning << np.uint32(sources & BY_MEANING != 0)
    # -- both lists' rows, ascending, and where each one's are
    ascending = _ascending(far)
    near_at, far_at = np.empty(m, np.int32), np.empty(k, np.int32)
    a = b = n = 0
    while a < m or b < k:
        i = ascending[b] if b < k else 0
        is_near = b == k or (a < m and near[a] <= far[i])
        is_far = a == m or (b < k and far[i] <= near[a])
        rows[n] = near[a] if is_near else far[i]
        bits[n], references[n], all_scores[n] = 0, not is_near, 0.0
        if is_near:
            near_at[a], all_scores[n] = n, scores[a]
            bits[n] = one << np.uint32(recent)
            if a < n_older:
                bits[n] = own if author[near[a]] == asker else other
        if is_far:
            far_at[i] = n
            bits[n] |= words if by_words[i] else np.uint32(0)
            bits[n] |= meaning if by_meaning[i] else np.uint32(0)
            bits[n] |= np.uint32(0) if by_words[i] or by_meaning[i] else neither
        a += is_near
        b += is_far
        n += 1
    # -- the lists take turns, and what is good enough stays
    there = np.zeros(n, np.bool_)
    a = b = taken = count = 0
    while a < m or b < k:
        mine = pattern[taken % pattern.shape[0]]
        if a == m or b == k:
            mine = b == k
        place = near_at[order[a]] if mine else far_at[b]
        a += mine
        b += not mine
        if there[place]:
            continue
        there[place] = True
        if not mine:
            all_scores[place] = 1.0 / (1.0 + np.exp(-slope * linear[b - 1] - offset))
        if not mine or taken < least or place >= n - floor or not all_scores[place] < least_score:
            chosen[count] = place
            count += 1
        taken += 1
    return n, count, whose, sources
