"""The compiled scorer. See `reference` for what is computed, `kernels` for who may call.

`score_rows` walks the rows in blocks that fit the first-level cache, one factor after the other, so that the
simple factors become vector instructions and a row's values are still read once.
"""

from __future__ import annotations

import math

import numba as nb  # type: ignore[import-untyped, unused-ignore]
import numpy as np

from .arrays import Float64, Int32, Int64, UInt8
from .compile import F64, F64_2D, I32, I64, READ_F64, READ_I32, READ_I64, U8, kernel
from .status import BAD_OFFSETS, OK, QUERY_NOT_SORTED, ROW_OUT_OF_RANGE
from .weights import Constants, Weights

BLOCK = 256  # rows a pass: 5 factors of 8 bytes are 10 KB
LAST_MARK = 4095  # marks, one byte each, are a filter in front of the search in the query's ids

LOG2_E = 1.4426950408889634
LN2_HIGH = 6.93147180369123816490e-01  # ln 2 in two parts, the first with zeros at the end (fdlibm)
LN2_LOW = 1.90821492927058770002e-10
ROUND_TO_INTEGER = 1.5 * 2.0**52  # adding it leaves no room for a fraction

_N = nb.intp
_REAL = nb.float64


@kernel(_N(READ_I32, _N, I32))
def reply_path(parent: Int32, start: int, out: Int32) -> int:
    """See `reference.reply_path`. A cycle has a step to a later row: rows are compared from the first one on."""
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


@kernel(nb.boolean(READ_I32, U8))
def _mark(query_ids: Int32, marks: UInt8) -> bool:
    """Mark every id that can match; False if the ids are not ascending and unique."""
    for j in range(query_ids.shape[0]):
        if j > 0 and query_ids[j] <= query_ids[j - 1]:
            return False
        if query_ids[j] >= 0:
            marks[query_ids[j] & LAST_MARK] = 1
    return True


@kernel(nb.boolean(READ_I32, nb.int32))
def _is_in(query_ids: Int32, wanted: int) -> bool:
    """Called for marked ids only, that is seldom."""
    low = 0
    high = query_ids.shape[0]
    while low < high:
        middle = (low + high) // 2
        if query_ids[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return wanted >= 0 and low < query_ids.shape[0] and query_ids[low] == wanted


@kernel(nb.void(READ_I64, READ_I32, nb.boolean, I64))
def _gather_i64(column: Int64, rows: Int32, consecutive: bool, out: Int64) -> None:
    if consecutive:
        out[:] = column[rows[0] : rows[0] + rows.shape[0]]
    else:
        for j in range(rows.shape[0]):
            out[j] = column[rows[j]]


@kernel(nb.void(READ_I32, READ_I32, nb.boolean, I32))
def _gather_i32(column: Int32, rows: Int32, consecutive: bool, out: Int32) -> None:
    if consecutive:
        out[:] = column[rows[0] : rows[0] + rows.shape[0]]
    else:
        for j in range(rows.shape[0]):
            out[j] = column[rows[j]]


@kernel(nb.boolean(READ_I64, READ_I64, _N))
def _spans_are_good(starts: Int64, ends: Int64, n_ids: int) -> bool:
    bad = 0
    for j in range(starts.shape[0]):
        bad |= (starts[j] < 0) | (ends[j] < starts[j]) | (ends[j] > n_ids)
    return bad == 0


@kernel(nb.void(READ_I32, READ_I32, _N, READ_I32, READ_F64, _REAL, F64))
def _reply_chain(
    parent: Int32,
    rows: Int32,
    query_parent: int,
    chain: Int32,
    chain_values: Float64,
    sibling_score: float,
    out: Float64,
) -> None:
    if query_parent == -1:
        out[:] = 0.0
        return
    low = rows[0]
    high = rows[0]
    for j in range(rows.shape[0]):
        out[j] = sibling_score if parent[j] == query_parent else 0.0
        low = min(low, rows[j])
        high = max(high, rows[j])
    for step in range(chain.shape[0]):
        if low <= chain[step] <= high:
            for j in range(rows.shape[0]):
                if rows[j] == chain[step]:
                    out[j] = max(out[j], chain_values[step])


@kernel(nb.void(READ_F64, READ_I32, _N, _REAL, F64))
def _user_continuity(
    ago_ms: Float64, author: Int32, query_author: int, window_ms: float, out: Float64
) -> None:
    for j in range(author.shape[0]):
        value = max(0.0, 1.0 - abs(ago_ms[j]) / window_ms)
        out[j] = value if (author[j] == query_author) & (query_author >= 0) else 0.0


@kernel(nb.void(READ_F64, _REAL, F64, F64))
def _time_decay(ago_ms: Float64, decay_per_hour: float, scratch: Float64, out: Float64) -> None:
    """exp(x) for x <= 0 as 2**k * exp(r), |r| <= ln(2) / 2, exp(r) by its Taylor series to r**13.

    The remainder is below 1e-17 and the rounding below 2 units of the last place: libm's exp, ten
    times as fast because the loop becomes vector instructions. Below -708 the result is 0.
    """
    bits = scratch.view(np.int64)
    for j in range(ago_ms.shape[0]):
        exponent = -decay_per_hour * (max(0.0, ago_ms[j]) / 3_600_000.0)
        x = max(exponent, -708.0)
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
        p = 1.0 + (r + r2 * (even + r * odd))
        out[j] = p if exponent >= -708.0 else 0.0
    for j in range(ago_ms.shape[0]):
        bits[j] = (bits[j] + 1023) << 52  # the number 2**k
    for j in range(ago_ms.shape[0]):
        out[j] *= scratch[j]


@kernel(nb.void(READ_I32, READ_I64, READ_I64, READ_I32, _N, READ_I32, U8, F64))
def _mention_relation(
    author: Int32,
    starts: Int64,
    ends: Int64,
    ids: Int32,
    query_author: int,
    query_ids: Int32,
    marks: UInt8,
    out: Float64,
) -> None:
    for j in range(author.shape[0]):
        value = 0.0
        if marks[author[j] & LAST_MARK] != 0 and _is_in(query_ids, author[j]):
            value = 0.5
        common = 0
        for k in range(starts[j], ends[j]):
            if query_author >= 0 and ids[k] == query_author:
                value += 0.5
            if marks[ids[k] & LAST_MARK] != 0 and _is_in(query_ids, ids[k]):
                common += 1
        out[j] = min(1.0, value + 0.3 * common)


@kernel(nb.void(READ_I64, READ_I64, READ_I32, nb.boolean, READ_I32, U8, F64))
def _keyword_overlap(
    starts: Int64,
    ends: Int64,
    ids: Int32,
    consecutive: bool,
    query_ids: Int32,
    marks: UInt8,
    out: Float64,
) -> None:
    out[:] = 0.0
    if query_ids.shape[0] == 0:
        return
    if consecutive:  # one long loop: no loop of unforeseeable length a row
        span = ids[starts[0] : ends[-1]]
        j = 0
        k = 0
        while k < span.shape[0]:
            if k + 8 <= span.shape[0]:
                if not (
                    marks[span[k] & LAST_MARK]
                    | marks[span[k + 1] & LAST_MARK]
                    | marks[span[k + 2] & LAST_MARK]
                    | marks[span[k + 3] & LAST_MARK]
                    | marks[span[k + 4] & LAST_MARK]
                    | marks[span[k + 5] & LAST_MARK]
                    | marks[span[k + 6] & LAST_MARK]
                    | marks[span[k + 7] & LAST_MARK]
                ):
                    k += 8
                    continue
            for _ in range(min(8, span.shape[0] - k)):
                if marks[span[k] & LAST_MARK] != 0 and _is_in(query_ids, span[k]):
                    while starts[0] + k >= ends[j]:
                        j += 1
                    out[j] += 1.0
                k += 1
    else:
        for j in range(starts.shape[0]):
            for k in range(starts[j], ends[j]):
                if marks[ids[k] & LAST_MARK] != 0 and _is_in(query_ids, ids[k]):
                    out[j] += 1.0
    for j in range(starts.shape[0]):
        if out[j] > 0.0:
            out[j] /= float(query_ids.shape[0] + ends[j] - starts[j]) - out[j]


@kernel(_REAL(_REAL))
def _logistic(total: float) -> float:
    if total >= 0.0:
        return 1.0 / (1.0 + math.exp(-total))
    grown = math.exp(total)
    return grown / (1.0 + grown)


@kernel(
    _N(
        *(READ_I64, READ_I32, READ_I32, READ_I64, READ_I32, READ_I64, READ_I32, READ_I32),
        *(nb.int64, _N, _N, READ_I32, READ_I32),
        *(nb.types.UniTuple(_REAL, 5), nb.types.UniTuple(_REAL, 4), _N, nb.boolean),
        *(F64_2D, F64_2D, F64, F64),
    ),
    nogil=True,
)
def score_rows(
    time_ms: Int64,
    author: Int32,
    parent: Int32,
    keyword_offsets: Int64,
    keyword_ids: Int32,
    mention_offsets: Int64,
    mention_ids: Int32,
    rows: Int32,
    query_time: int,
    query_author: int,
    query_parent: int,
    query_keywords: Int32,
    query_mentions: Int32,
    weights: Weights,
    constants: Constants,
    max_chain_depth: int,
    logistic: bool,
    factors: Float64,
    shares: Float64,
    linear: Float64,
    scores: Float64,
) -> int:
    """See `reference.score_rows`."""
    decay_per_hour, window_ms, chain_decay, sibling_score = constants
    n = time_ms.shape[0]
    outside = 0
    for i in range(rows.shape[0]):
        outside |= (rows[i] < 0) | (rows[i] >= n)
    if outside:
        return ROW_OUT_OF_RANGE

    word_marks = np.zeros(LAST_MARK + 1, np.uint8)
    user_marks = np.zeros(LAST_MARK + 1, np.uint8)
    if not (_mark(query_keywords, word_marks) and _mark(query_mentions, user_marks)):
        return QUERY_NOT_SORTED
    chain_buffer = np.empty(min(max_chain_depth, n), np.int32)
    chain = chain_buffer[: reply_path(parent, query_parent, chain_buffer)]
    chain_values = np.empty(chain.shape[0], np.float64)
    value = 1.0
    for step in range(chain.shape[0]):
        chain_values[step] = value
        value *= chain_decay

    factor = np.empty((5, BLOCK), np.float64)
    ago_ms, total, scratch = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
    ints = np.empty((5, BLOCK), np.int64)
    shorts = np.empty((2, BLOCK), np.int32)
    explain = factors.shape[0] > 0
    for base in range(0, rows.shape[0], BLOCK):
        part = rows[base : base + BLOCK]
        m = part.shape[0]
        gaps = 0
        for j in range(1, m):
            gaps |= part[j] - part[j - 1] - 1
        consecutive = gaps == 0
        sent, starts, ends = ints[0, :m], ints[1, :m], ints[2, :m]
        m_starts, m_ends = ints[3, :m], ints[4, :m]
        its_author, its_parent = shorts[0, :m], shorts[1, :m]
        _gather_i64(time_ms, part, consecutive, sent)
        _gather_i64(keyword_offsets, part, consecutive, starts)
        _gather_i64(keyword_offsets[1:], part, consecutive, ends)
        _gather_i64(mention_offsets, part, consecutive, m_starts)
        _gather_i64(mention_offsets[1:], part, consecutive, m_ends)
        _gather_i32(author, part, consecutive, its_author)
        _gather_i32(parent, part, consecutive, its_parent)
        if not (
            _spans_are_good(starts, ends, keyword_ids.shape[0])
            and _spans_are_good(m_starts, m_ends, mention_ids.shape[0])
        ):
            return BAD_OFFSETS
        for j in range(m):
            ago_ms[j] = float(query_time) - float(sent[j])
        _reply_chain(
            *(its_parent, part, query_parent, chain, chain_values, sibling_score),
            factor[0, :m],
        )
        _user_continuity(ago_ms[:m], its_author, query_author, window_ms, factor[1, :m])
        _time_decay(ago_ms[:m], decay_per_hour, scratch, factor[2, :m])
        _mention_relation(
            *(its_author, m_starts, m_ends, mention_ids, query_author, query_mentions),
            *(user_marks, factor[3, :m]),
        )
        _keyword_overlap(
            *(starts, ends, keyword_ids, consecutive, query_keywords, word_marks),
            factor[4, :m],
        )
        total[:] = 0.0
        for f in range(5):
            weight = weights[f]
            for j in range(m):
                total[j] += factor[f, j] * weight
        if explain:
            for j in range(m):
                for f in range(5):
                    factors[base + j, f] = factor[f, j]
                    shares[base + j, f] = factor[f, j] * weights[f]
                linear[base + j] = total[j]
        if logistic:
            for j in range(m):
                scores[base + j] = _logistic(total[j])
        else:
            for j in range(m):
                scores[base + j] = min(max(total[j], 0.0), 1.0)
    return OK
