"""The compiled scorer. See `reference` for what is computed, `kernels` for who may call.

`score_rows` walks the rows in blocks that fit the first-level cache, one factor after the other:
the simple factors become vector instructions, and a channel's columns are still read once.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numba as nb
import numpy as np

from .arrays import Float64, Int32, Int64, UInt8
from .compile import F64, F64_2D, I32, READ_I32, READ_I64, helper, kernel
from .status import BAD_OFFSETS, OK, QUERY_NOT_SORTED, ROW_OUT_OF_RANGE
from .weights import Constants, Weights

BLOCK = 256  # rows a pass: five factors of 8 bytes are 10 KB
LAST_MARK = 4095  # marks, one byte each, are a filter in front of the search in the query's ids

LOG2_E = 1.4426950408889634
LN2_HIGH = 6.93147180369123816490e-01  # ln 2 in two parts, the first ending in zeros (fdlibm)
LN2_LOW = 1.90821492927058770002e-10
ROUND_TO_INTEGER = 1.5 * 2.0**52  # adding it leaves no room for a fraction


class Asked(NamedTuple):
    """The query, prepared once a call."""

    time_ms: int
    author: int
    parent: int
    keyword_ids: Int32
    keyword_marks: UInt8
    mention_ids: Int32
    mention_marks: UInt8
    chain: Int32  # the parent and its ancestors
    chain_values: Float64


class Block(NamedTuple):
    """Some rows and their columns: slices of the channel's if the rows are consecutive, or copies."""

    rows: Int32
    consecutive: bool
    time_ms: Int64
    author: Int32
    parent: Int32
    keyword_starts: Int64
    keyword_ends: Int64
    mention_starts: Int64
    mention_ends: Int64


@kernel(nb.intp(READ_I32, nb.intp, I32))
def reply_path(parent: Int32, start: int, out: Int32) -> int:
    """See `reference`. A cycle has a step to a later row: rows are compared from the first one on."""
    count = 0
    row = start
    suspicious = False
    while count < out.shape[0] and 0 <= row < parent.shape[0]:
        if suspicious:
            for j in range(count):
                if out[j] == row:
                    return count
        out[count] = row
        count += 1
        suspicious = suspicious or parent[row] >= row
        row = parent[row]
    return count


@helper
def _mark(query_ids: Int32, marks: UInt8) -> bool:
    """Mark every id that can match; False if the ids are not ascending and unique."""
    for j in range(query_ids.shape[0]):
        if j > 0 and query_ids[j] <= query_ids[j - 1]:
            return False
        if query_ids[j] >= 0:
            marks[query_ids[j] & LAST_MARK] = 1
    return True


@helper
def _is_in(query_ids: Int32, wanted: int) -> bool:
    """Search. Called for marked ids only, that is seldom."""
    low = 0
    high = query_ids.shape[0]
    while low < high:
        middle = (low + high) // 2
        if query_ids[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return wanted >= 0 and low < query_ids.shape[0] and query_ids[low] == wanted


@helper
def _spans_are_good(starts: Int64, ends: Int64, n_ids: int) -> bool:
    bad = 0
    for j in range(starts.shape[0]):
        bad |= starts[j] | ends[j] | (ends[j] - starts[j]) | (n_ids - ends[j])
    return bad >= 0  # no term had its sign bit set


@helper
def _reply_chain(block: Block, asked: Asked, sibling_score: float, out: Float64) -> None:
    if asked.parent == -1:
        out[:] = 0.0
        return
    low = block.rows[0]
    high = block.rows[0]
    for j in range(block.rows.shape[0]):
        out[j] = sibling_score if block.parent[j] == asked.parent else 0.0
        low = min(low, block.rows[j])
        high = max(high, block.rows[j])
    for step in range(asked.chain.shape[0]):
        if low <= asked.chain[step] <= high:
            for j in range(block.rows.shape[0]):
                if block.rows[j] == asked.chain[step]:
                    out[j] = max(out[j], asked.chain_values[step])


@helper
def _user_continuity(block: Block, asked: Asked, window_ms: float, out: Float64) -> None:
    for j in range(block.rows.shape[0]):
        value = 1.0 - abs(float(asked.time_ms) - float(block.time_ms[j])) / window_ms
        counts = (block.author[j] == asked.author) & (asked.author >= 0) & (value > 0.0)
        out[j] = value if counts else 0.0


@helper
def _time_decay(
    block: Block, asked: Asked, decay_per_hour: float, scratch: Float64, out: Float64
) -> None:
    """exp(x) for x <= 0 as 2**k * exp(r), |r| <= ln(2) / 2, exp(r) by its Taylor series to r**13.

    The series leaves out less than 1e-17, rounding adds a few units of the last place: as good as
    libm's exp, and several times as fast because the loop becomes vector instructions. Below
    x = -708 the result is 0.
    """
    bits = scratch.view(np.int64)
    for j in range(block.rows.shape[0]):
        ago_ms = float(asked.time_ms) - float(block.time_ms[j])
        exponent = -decay_per_hour * ((ago_ms if ago_ms > 0.0 else 0.0) / 3_600_000.0)
        x = exponent if exponent > -708.0 else -708.0
        shifted = x * LOG2_E + ROUND_TO_INTEGER  # its low bits are the integer k
        scratch[j] = shifted
        k = shifted - ROUND_TO_INTEGER
        r = (x - k * LN2_HIGH) - k * LN2_LOW
        r2 = r * r
        odd = 1 / 6227020800.0
        odd = odd * r2 + 1 / 39916800.0
        odd = odd * r2 + 1 / 362880.0
        odd = odd * r2 + 1 / 5040.0
        odd = odd * r2 + 1 / 120.0
        odd = odd * r2 + 1 / 6.0
        even = 1 / 479001600.0
        even = even * r2 + 1 / 3628800.0
        even = even * r2 + 1 / 40320.0
        even = even * r2 + 1 / 720.0
        even = even * r2 + 1 / 24.0
        even = even * r2 + 0.5
        out[j] = 1.0 + (r + r2 * (even + r * odd)) if exponent >= -708.0 else 0.0
    for j in range(block.rows.shape[0]):
        bits[j] = (bits[j] + 1023) << 52  # the bits of the number 2**k
    for j in range(block.rows.shape[0]):
        out[j] *= scratch[j]


@helper
def _mention_relation(block: Block, asked: Asked, ids: Int32, out: Float64) -> None:
    out[:] = 0.0
    if asked.mention_ids.shape[0] > 0:
        for j in range(block.rows.shape[0]):
            user = block.author[j]
            if asked.mention_marks[user & LAST_MARK] != 0 and _is_in(asked.mention_ids, user):
                out[j] = 0.5
    for j in range(block.rows.shape[0]):
        if block.mention_starts[j] == block.mention_ends[j]:
            continue
        common = 0
        for k in range(block.mention_starts[j], block.mention_ends[j]):
            user = ids[k]
            if user == asked.author and asked.author >= 0:
                out[j] += 0.5
            if asked.mention_marks[user & LAST_MARK] != 0 and _is_in(asked.mention_ids, user):
                common += 1
        out[j] = min(1.0, out[j] + 0.3 * common)


@helper
def _keyword_overlap(block: Block, asked: Asked, ids: Int32, out: Float64) -> None:
    out[:] = 0.0
    if asked.keyword_ids.shape[0] == 0:
        return
    if block.consecutive:
        _count_in_span(block, asked, ids, out)
    else:
        for j in range(block.rows.shape[0]):
            for k in range(block.keyword_starts[j], block.keyword_ends[j]):
                word = ids[k]
                if asked.keyword_marks[word & LAST_MARK] != 0 and _is_in(asked.keyword_ids, word):
                    out[j] += 1.0
    for j in range(block.rows.shape[0]):
        if out[j] > 0.0:
            words = block.keyword_ends[j] - block.keyword_starts[j]
            out[j] /= float(words + asked.keyword_ids.shape[0]) - out[j]


@helper
def _count_in_span(block: Block, asked: Asked, ids: Int32, out: Float64) -> None:
    """Count shared words eight at a time, whosever they are: a loop of a few words mispredicts."""
    start = block.keyword_starts[0]
    span = ids[start : block.keyword_ends[-1]]
    eights = span[: span.shape[0] // 8 * 8].reshape(-1, 8)
    j = 0
    for e in range(eights.shape[0] + 1):
        first = 8 * e
        last = span.shape[0]
        if e < eights.shape[0]:
            last = first + 8
            marked = 0
            for i in range(8):
                marked |= asked.keyword_marks[eights[e, i] & LAST_MARK]
            if marked == 0:
                continue
        for k in range(first, last):
            word = span[k]
            if asked.keyword_marks[word & LAST_MARK] != 0 and _is_in(asked.keyword_ids, word):
                while start + k >= block.keyword_ends[j]:
                    j += 1
                out[j] += 1.0


@helper
def _logistic(total: float) -> float:
    if total >= 0.0:
        return 1.0 / (1.0 + math.exp(-total))
    grown = math.exp(total)
    return grown / (1.0 + grown)
