"""The compiled comparison of words and users. See `reference` for what is computed."""

from __future__ import annotations

import numba as nb
import numpy as np

from .arrays import Float64, Int32, Int64, UInt8
from .compile import F64, READ_I32, READ_I64, helper, kernel
from .status import BAD_OFFSETS, OK, QUERY_NOT_SORTED, ROW_OUT_OF_RANGE

LAST_MARK = 4095  # marks, one byte each, are a filter in front of the search in the query's ids


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
def _offsets_are_good(offsets: Int64, n_ids: int, rows: Int32, consecutive: bool) -> bool:
    """Is every span within the ids? Sign bits are gathered: no branch a row."""
    bad = 0
    if consecutive:
        starts = offsets[rows[0] : rows[0] + rows.shape[0]]
        ends = offsets[rows[0] + 1 : rows[0] + rows.shape[0] + 1]
        for j in range(rows.shape[0]):
            bad |= starts[j] | ends[j] | (ends[j] - starts[j]) | (n_ids - ends[j])
    else:
        for j in range(rows.shape[0]):
            start, end = offsets[rows[j]], offsets[rows[j] + 1]
            bad |= start | end | (end - start) | (n_ids - end)
    return bad >= 0


@helper
def _mention_relation(
    author: Int32,
    offsets: Int64,
    ids: Int32,
    rows: Int32,
    query_author: int,
    query_ids: Int32,
    marks: UInt8,
    out: Float64,
) -> None:
    out[:] = 0.0
    if query_ids.shape[0] > 0:
        for j in range(rows.shape[0]):
            user = author[rows[j]]
            if marks[user & LAST_MARK] != 0 and _is_in(query_ids, user):
                out[j] = 0.5
    for j in range(rows.shape[0]):
        start, end = offsets[rows[j]], offsets[rows[j] + 1]
        if start == end:
            continue
        common = 0
        for k in range(start, end):
            if ids[k] == query_author and query_author >= 0:
                out[j] += 0.5
            if marks[ids[k] & LAST_MARK] != 0 and _is_in(query_ids, ids[k]):
                common += 1
        out[j] = min(1.0, out[j] + 0.3 * common)


@helper
def _count_row_by_row(
    offsets: Int64, ids: Int32, rows: Int32, query_ids: Int32, marks: UInt8, out: Float64
) -> None:
    for j in range(rows.shape[0]):
        for k in range(offsets[rows[j]], offsets[rows[j] + 1]):
            if marks[ids[k] & LAST_MARK] != 0 and _is_in(query_ids, ids[k]):
                out[j] += 1.0


@helper
def _count_in_eights(
    offsets: Int64, ids: Int32, rows: Int32, query_ids: Int32, marks: UInt8, out: Float64
) -> None:
    """For consecutive rows: eight words a step, whosever they are. Short loops mispredict."""
    ends = offsets[rows[0] + 1 : rows[0] + rows.shape[0] + 1]
    first = offsets[rows[0]]
    span = ids[first : ends[-1]]
    eights = span[: span.shape[0] // 8 * 8].reshape(-1, 8)
    j = 0
    for e in range(eights.shape[0] + 1):
        stop = span.shape[0]
        if e < eights.shape[0]:
            stop = 8 * e + 8
            marked = 0
            for i in range(8):
                marked |= marks[eights[e, i] & LAST_MARK]
            if marked == 0:
                continue
        for k in range(8 * e, stop):
            if marks[span[k] & LAST_MARK] != 0 and _is_in(query_ids, span[k]):
                while first + k >= ends[j]:
                    j += 1
                out[j] += 1.0


@helper
def _keyword_overlap(
    offsets: Int64,
    ids: Int32,
    rows: Int32,
    consecutive: bool,
    query_ids: Int32,
    marks: UInt8,
    out: Float64,
) -> None:
    out[:] = 0.0
    if query_ids.shape[0] == 0:
        return
    if consecutive:
        _count_in_eights(offsets, ids, rows, query_ids, marks, out)
    else:
        _count_row_by_row(offsets, ids, rows, query_ids, marks, out)
    for j in range(rows.shape[0]):
        if out[j] > 0.0:
            words = offsets[rows[j] + 1] - offsets[rows[j]]
            out[j] /= float(words + query_ids.shape[0]) - out[j]


@kernel(
    nb.intp(
        *(READ_I32, READ_I64, READ_I32, READ_I64, READ_I32, READ_I32),
        *(nb.intp, READ_I32, READ_I32),
        *(F64, F64),
    ),
    nogil=True,
)
def compare_sets(
    author: Int32,
    keyword_offsets: Int64,
    keyword_ids: Int32,
    mention_offsets: Int64,
    mention_ids: Int32,
    rows: Int32,
    query_author: int,
    query_keywords: Int32,
    query_mentions: Int32,
    mentions: Float64,
    overlap: Float64,
) -> int:
    """See `reference.compare_sets`."""
    m = rows.shape[0]
    outside = 0
    for j in range(m):
        row = np.int64(rows[j])
        outside |= row | (author.shape[0] - 1 - row)  # negative if either is
    if outside < 0:
        return ROW_OUT_OF_RANGE
    marks = np.zeros((2, LAST_MARK + 1), np.uint8)
    words, users = marks[0], marks[1]
    if not (_mark(query_keywords, words) and _mark(query_mentions, users)):
        return QUERY_NOT_SORTED
    if m == 0:
        return OK
    consecutive = rows[-1] - rows[0] == m - 1
    if consecutive:
        gaps = 0
        for j in range(m):
            gaps |= rows[j] - rows[0] - j
        consecutive = gaps == 0
    keywords_good = _offsets_are_good(keyword_offsets, keyword_ids.shape[0], rows, consecutive)
    mentions_good = _offsets_are_good(mention_offsets, mention_ids.shape[0], rows, consecutive)
    if not (keywords_good and mentions_good):
        return BAD_OFFSETS
    _mention_relation(
        *(author, mention_offsets, mention_ids, rows),
        *(query_author, query_mentions, users, mentions),
    )
    _keyword_overlap(
        *(keyword_offsets, keyword_ids, rows, consecutive),
        *(query_keywords, words, overlap),
    )
    return OK
