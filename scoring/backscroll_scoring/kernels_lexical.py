"""The compiled inverted index. See `reference_lexical` for what is computed."""

from __future__ import annotations

import math

import numba as nb
import numpy as np

from .arrays import Float32, Int32, Int64, UInt8, UInt64
from .compile import F32, I32, READ_F32, READ_I32, READ_I64, READ_U8, U8, U64, helper, kernel
from .status import BAD_POSTINGS, OK

ROUNDING = 1e-4
"""Of a score: more than sums of 64 single-precision numbers are ever off."""
FIRST_CHUNK = 2
LARGEST_CHUNK = 512
COUNTED = 4_096
HEADER = -2
"""A header holds ``HEADER - place`` of the chunk before it, ``HEADER`` + 1 when there is none: always negative."""


@kernel(nb.intp(I32, I32, I32, I32, I32, READ_I32, READ_I32), nogil=True)
def append_postings(
    pool: Int32, tail: Int32, room: Int32, size: Int32, used: Int32, terms: Int32, entries: Int32
) -> int:
    """See `reference_lexical.append_postings`."""
    for i in range(terms.shape[0]):
        term = terms[i]
        if term < 0 or term >= tail.shape[0]:
            return i
        place = tail[term] + 1
        if room[term] == 0:
            grown = min(LARGEST_CHUNK, max(FIRST_CHUNK, 2 * size[term]))
            if used[0] + grown + 1 > pool.shape[0]:
                return i
            pool[used[0]] = HEADER - tail[term]
            place = used[0] + 1
            used[0] += grown + 1
            room[term] = size[term] = grown
        pool[place] = entries[i]
        room[term] -= 1
        tail[term] = place  # last: a reader that sees it sees the posting
    return terms.shape[0]


@helper
def _before(pool: Int32, place: int) -> int:
    """The place of the posting before `place`, -1 when there is none. Bounded: never outside the pool."""
    place -= 1
    if pool[place] < 0:
        place = HEADER - pool[place]
    return place


@helper
def _row(rows: Int32, entry: int) -> int:
    """The row of an entry, -1 for one that came after these rows were taken."""
    if entry < rows.shape[0]:
        return int(rows[entry])
    return -1


@kernel(nb.intp(READ_I32, READ_I32, READ_I32, READ_I32, READ_U8, U8), nogil=True)
def mark_rows(
    pool: Int32, tail: Int32, rows: Int32, terms: Int32, eligible: UInt8, out: UInt8
) -> int:
    """See `reference_lexical.mark_rows`."""
    n = eligible.shape[0]
    for i in range(terms.shape[0]):
        if terms[i] < 0 or terms[i] >= tail.shape[0]:
            return BAD_POSTINGS
        place: int = tail[terms[i]]
        while 0 < place < pool.shape[0]:
            row = _row(rows, pool[place])
            if 0 <= row < n and eligible[row] != 0:
                out[row] += 1
            place = _before(pool, place)
    return OK


@helper
def _newest(tail: Int32, term: int) -> int:
    """The place of a term's newest posting, -1 without any."""
    return int(tail[term]) if term >= 0 else -1


@helper
def _has(pool: Int32, rows: Int32, newest: int, eligible: UInt8) -> bool:
    """Whether an eligible row has a term, the newest first."""
    place = newest
    while 0 < place < pool.shape[0]:
        row = _row(rows, pool[place])
        if 0 <= row < eligible.shape[0] and eligible[row] != 0:
            return True
        place = _before(pool, place)
    return False


@kernel(nb.intp(READ_I32, READ_I32, READ_I32, READ_I32, READ_U8, U8), nogil=True)
def mark_terms(
    pool: Int32, tail: Int32, rows: Int32, terms: Int32, eligible: UInt8, out: UInt8
) -> int:
    """See `reference_lexical.mark_terms`."""
    for i in range(terms.shape[0]):
        if terms[i] >= tail.shape[0]:
            return BAD_POSTINGS
        out[i] = _has(pool, rows, _newest(tail, terms[i]), eligible)
    return OK


@helper
def _count(eligible: UInt8) -> int:
    """How many rows are eligible. In parts that 16 bits count: four times as fast."""
    total = 0
    for start in range(0, eligible.shape[0], COUNTED):
        part, count = eligible[start : start + COUNTED], np.int16(0)
        for i in range(part.shape[0]):
            count = np.int16(count + (part[i] != 0))
        total += int(count)
    return total


@helper
def _weight(
    pool: Int32,
    rows: Int32,
    newest: int,
    eligible: UInt8,
    total: int,
    boost: float,
    scores: Float32,
) -> np.float32:
    """The idf of a term, 0 when no eligible row has it. The scores of the rows that have it begin at 0."""
    count = 0
    place = newest
    while 0 < place < pool.shape[0]:
        row = _row(rows, pool[place])
        if 0 <= row < eligible.shape[0] and eligible[row] != 0:
            count += 1
            scores[row] = 0.0
        place = _before(pool, place)
    if count == 0:
        return np.float32(0.0)
    return np.float32(math.log(1.0 + (total - count + 0.5) / (count + 0.5))) * boost


@helper
def _bound(
    pool: Int32,
    tail: Int32,
    rows: Int32,
    offsets: Int64,
    terms: Int32,
    boosts: Float32,
    eligible: UInt8,
    total: int,
    k1: float,
    b: float,
    cut: int,
    counts: Int32,
    entered: int,
    best: Float32,
) -> None:
    """See `reference_lexical.bound_bm25`."""
    n = eligible.shape[0]
    cut = min(max(0, cut), n)
    after = np.zeros(n - cut, np.float64)
    flat = 1.0 + k1 * (1.0 - b)
    steep = k1 * b * n / max(1.0, float(offsets[n]))
    most = 0.0
    for i in range(terms.shape[0]):
        if not _has(pool, rows, _newest(tail, terms[i]), eligible):
            continue
        fewest = min(max(1, counts[i] - (entered - total)), total)
        most += boosts[i] * math.log(1.0 + (total - fewest + 0.5) / (fewest + 0.5))
        often = min(int(counts[i]), total)
        weight = boosts[i] * math.log(1.0 + (total - often + 0.5) / (often + 0.5))
        place: int = tail[terms[i]]
        row = n
        while row >= cut and 0 < place < pool.shape[0]:
            row = _row(rows, pool[place])
            if row < 0:
                row = n  # later than these rows
            if cut <= row < n and eligible[row] != 0:
                words = float(offsets[row + 1] - offsets[row])
                after[row - cut] += weight / (flat + steep * words)
            place = _before(pool, place)
    least = 0.0
    for i in range(after.shape[0]):
        least = max(least, after[i])
    best[0] = (1.0 + ROUNDING) * most / flat
    best[1] = (1.0 - ROUNDING) * least


@kernel(
    nb.intp(
        *(READ_I32, READ_I32, READ_I32, READ_I64, READ_I32, READ_F32, READ_U8),
        *(nb.float64, nb.float64, nb.intp, READ_I32, nb.intp),
        *(nb.float64, nb.float64, nb.float64, F32),
    ),
    nogil=True,
)
def best_bm25(
    pool: Int32,
    tail: Int32,
    rows: Int32,
    offsets: Int64,
    terms: Int32,
    boosts: Float32,
    eligible: UInt8,
    k1: float,
    b: float,
    cut: int,
    counts: Int32,
    entered: int,
    cap: float,
    slope: float,
    least: float,
    best: Float32,
) -> int:
    """See `reference_lexical.best_bm25`."""
    n = eligible.shape[0]
    best[0] = 0.0
    best[1] = 0.0
    if n == 0 or offsets.shape[0] <= n or counts.shape[0] != terms.shape[0]:
        return OK if n == 0 else BAD_POSTINGS
    for i in range(terms.shape[0]):
        if terms[i] >= tail.shape[0]:
            return BAD_POSTINGS
    total = _count(eligible)
    _bound(
        pool, tail, rows, offsets, terms, boosts, eligible, total, k1, b, cut, counts, entered, best
    )  # fmt: skip
    if min(cap, float(best[0])) - slope * best[1] < least:
        return OK
    best[0] = 0.0
    best[1] = 0.0
    # Only what is counted below is ever looked at: nothing here is O(n).
    scores = np.empty(n, np.float32)
    weights = np.empty(terms.shape[0], np.float32)
    for i in range(terms.shape[0]):
        newest = _newest(tail, terms[i])
        weights[i] = _weight(pool, rows, newest, eligible, total, boosts[i], scores)
    flat = np.float32(1.0 + k1 * (1.0 - b))
    steep = np.float32(k1 * b * n / max(1.0, float(offsets[n])))
    one = np.float32(1.0)
    for i in range(terms.shape[0]):
        place: int = _newest(tail, terms[i])
        while 0 < place < pool.shape[0]:
            row = _row(rows, pool[place])
            if 0 <= row < n and eligible[row] != 0:
                words = np.float32(offsets[row + 1] - offsets[row])
                scores[row] += weights[i] * (one / (flat + steep * words))
                side = 0 if row < cut else 1
                best[side] = max(best[side], scores[row])
            place = _before(pool, place)
    return OK


@kernel(
    nb.intp(
        *(READ_I32, READ_I32, READ_I32, READ_I64, READ_I32, READ_F32, READ_U8),
        *(nb.float64, nb.float64, F32, F32, U64),
    ),
    nogil=True,
)
def bm25(
    pool: Int32,
    tail: Int32,
    rows: Int32,
    offsets: Int64,
    terms: Int32,
    boosts: Float32,
    eligible: UInt8,
    k1: float,
    b: float,
    idf: Float32,
    scores: Float32,
    cover: UInt64,
) -> int:
    """See `reference_lexical.bm25`."""
    n = eligible.shape[0]
    for row in range(scores.shape[0]):  # a slice that is set does not become vector instructions
        scores[row] = 0.0
        cover[row] = 0
    if n == 0 or offsets.shape[0] <= n:
        return OK if n == 0 else BAD_POSTINGS
    total = _count(eligible)
    for i in range(terms.shape[0]):
        if terms[i] >= tail.shape[0]:
            return BAD_POSTINGS
        newest = _newest(tail, terms[i])
        idf[i] = _weight(pool, rows, newest, eligible, total, boosts[i], scores)
    flat = np.float32(1.0 + k1 * (1.0 - b))
    steep = np.float32(k1 * b * n / max(1.0, float(offsets[n])))
    one = np.float32(1.0)
    for i in range(terms.shape[0]):
        bit = np.uint64(1) << np.uint64(i)
        place: int = _newest(tail, terms[i])
        while 0 < place < pool.shape[0]:
            row = _row(rows, pool[place])
            if 0 <= row < n and eligible[row] != 0:
                words = np.float32(offsets[row + 1] - offsets[row])
                scores[row] += idf[i] * (one / (flat + steep * words))
                cover[row] |= bit
            place = _before(pool, place)
    return OK
