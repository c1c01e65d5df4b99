"""The compiled inverted index; see `lexical.PostingsView` for where postings stand."""

from __future__ import annotations

import math
from typing import TypeAlias

import numba as nb
import numpy as np

from .arrays import Bool, Float32, Int32, Int64, UInt8, UInt64
from .compile import (
    BOOL,
    F32,
    I32,
    READ_BOOL,
    READ_F32,
    READ_I32,
    READ_I64,
    READ_U8,
    U8,
    U64,
    helper,
    kernel,
)
from .layout import BESIDE, CHUNK, FIRST_CHUNK, GONE, LARGEST_CHUNK
from .status import BAD_POSTINGS, OK

ROUNDING = 1e-4
"""Of a score: more than sums of 64 single-precision numbers are ever off."""
COUNTED = 4_096
SHIFT = CHUNK.bit_length() - 1
Postings: TypeAlias = tuple[Int32, Int32, Int32]
POSTINGS = nb.types.UniTuple(READ_I32, 3)  # pool, tail, rows
HEADER = -2
"""A header holds ``HEADER - place`` of the chunk before it, ``HEADER`` + 1 when there is none: always negative."""


@kernel(nb.intp(I32, I32, I32, I32, I32, READ_I32, READ_I32), nogil=True)
def append_postings(
    pool: Int32, tail: Int32, room: Int32, size: Int32, used: Int32, terms: Int32, entries: Int32
) -> int:
    """Add posting ``entries[i]`` to the list of ``terms[i]``, in this order; return how many.

    Fewer than there are where the pool is full, or a term is outside the tables.

    Parameters
    ----------
    room, size : int32[T], written
        Free places in a term's newest chunk; the length of that chunk.
    used : int32[1], written
        Places of the pool in use. A new chunk is twice the last one, `FIRST_CHUNK` to `LARGEST_CHUNK` postings.
    """
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


@kernel(nb.intp(READ_I32, READ_I32, READ_I32, I32, I32), nogil=True)
def live_postings(pool: Int32, tail: Int32, numbers: Int32, counts: Int32, block: Int32) -> int:
    """Write the postings of entries that stay, term by term as `Postings.begin` takes them; return the block's length.

    Parameters
    ----------
    numbers : int32[e]
        The new number of each entry, -1 for one that leaves. Entries outside leave, too.
    counts : int32[T], block : int32[], written
        As long as `tail`; with room for all postings and one place more for each term.
    """
    used = 0
    for term in range(tail.shape[0]):
        count, place = 0, int(tail[term])
        while 0 < place < pool.shape[0]:
            count += _row(numbers, pool[place]) >= 0
            place = _before(pool, place)
        counts[term] = count
        if count == 0:
            continue
        block[used] = -1
        used += count + 1
        place = int(tail[term])
        back = used
        while 0 < place < pool.shape[0]:
            number = _row(numbers, pool[place])
            if number >= 0:
                back -= 1
                block[back] = number
            place = _before(pool, place)
    return used


@kernel(nb.intp(READ_I32, READ_I32, READ_I32, READ_I32, READ_U8, U8), nogil=True)
def mark_rows(
    pool: Int32, tail: Int32, rows: Int32, terms: Int32, eligible: UInt8, out: UInt8
) -> int:
    """Add 1 (modulo 256) to ``out[row]`` for each of the terms an eligible row has."""
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


@kernel(nb.intp(POSTINGS, READ_I32, READ_U8, nb.intp, nb.intp, I32), nogil=True)
def count_rows(
    postings: Postings, terms: Int32, eligible: UInt8, most: int, walked: int, out: Int32
) -> int:
    """See `lexical.count_rows`."""
    pool, tail, rows = postings
    for i in range(terms.shape[0]):
        if terms[i] >= tail.shape[0]:
            return BAD_POSTINGS
        place, out[i], steps = _newest(tail, terms[i]), 0, 0
        while 0 < place < pool.shape[0] and out[i] < most:
            row = _row(rows, pool[place])
            steps += row != GONE
            if steps > walked:
                out[i] = most
                break
            out[i] += 0 <= row < eligible.shape[0] and eligible[row] != 0
            place = _before(pool, place)
    return OK


@helper
def _is_among(word: int, words: Int32, first: int, end: int) -> bool:
    """Whether a word is among ``words[first:end]``, ascending."""
    while first < end:
        middle = (first + end) >> 1
        if words[middle] < word:
            first = middle + 1
        elif words[middle] > word:
            end = middle
        else:
            return True
    return False


@kernel(
    nb.intp(POSTINGS, READ_I32, READ_I64, READ_I32, READ_U8, nb.intp, I32, I32, I32), nogil=True
)
def rows_of_pairs(
    postings: Postings, terms: Int32, offsets: Int64, ids: Int32, eligible: UInt8, walked: int, counts: Int32,
    found: Int32, n_found: Int32,
) -> int:  # fmt: skip
    """See `lexical.rows_of_pairs`; OK or BAD_POSTINGS. ``found`` has as many rows for each pair as fit."""
    pool, tail, rows = postings
    n = eligible.shape[0]
    for i in range(terms.shape[0]):
        if terms[i] >= tail.shape[0]:
            return BAD_POSTINGS
        place, steps, counts[i] = _newest(tail, terms[i]), 0, 0
        while 0 < place < pool.shape[0] and steps <= walked:
            row = _row(rows, pool[place])
            steps += row != GONE
            counts[i] += 0 <= row < n and eligible[row] != 0
            place = _before(pool, place)
        if steps > walked:
            counts[i] = -1
    most = found.shape[0] // max(1, n_found.shape[0])
    for i in range(n_found.shape[0]):
        n_found[i] = 0
        rare, other = i, i + 1
        if counts[rare] < 0 or 0 <= counts[other] < counts[rare]:
            rare, other = other, rare
        if counts[rare] <= 0 or counts[other] == 0:
            continue
        place = _newest(tail, terms[rare])
        while 0 < place < pool.shape[0]:
            row = _row(rows, pool[place])
            if (
                0 <= row < n
                and eligible[row] != 0
                and _is_among(terms[other], ids, offsets[row], offsets[row + 1])
            ):
                if n_found[i] == most:
                    n_found[i] = 0
                    break
                found[i * most + n_found[i]] = row
                n_found[i] += 1
            place = _before(pool, place)
    return OK


@kernel(
    nb.intp(POSTINGS, READ_I32, READ_F32, READ_U8, *(nb.intp,) * 5, I32),
    nogil=True,
)
def rows_alike(
    postings: Postings, terms: Int32, boosts: Float32, eligible: UInt8, cut: int, common: int, newest: int,
    walked: int, among: int, out: Int32,
) -> int:  # fmt: skip
    """See `lexical.rows_alike`; how many rows were found, -1 for a term that is outside the postings."""
    pool, tail, rows = postings
    n, count = eligible.shape[0], 0
    least = math.log(max(n, among) + 1.0)
    found = np.empty(terms.shape[0] * newest, np.int64)
    worth = np.empty(terms.shape[0] * newest, np.float64)
    for i in range(terms.shape[0]):
        if terms[i] >= tail.shape[0]:
            return -1
        place = _newest(tail, terms[i])
        often, end, steps = 0, count, 0
        while 0 < place < pool.shape[0] and often < common and steps <= walked:
            row = _row(rows, pool[place])
            steps += row != GONE
            if 0 <= row < n and eligible[row] != 0:
                often += 1
                if row < cut and end < count + newest:
                    found[end] = row
                    end += 1
                elif row < cut:  # an edited row's posting comes before those of newer rows
                    oldest = count + np.argmin(found[count:end])
                    found[oldest] = max(found[oldest], row)
            place = _before(pool, place)
        if often < common and steps <= walked:  # who has a common word is like nobody by it
            for k in range(count, end):
                worth[k] = boosts[i] * math.log((n + 1.0) / often)
            count = end
    order = np.argsort(found[:count])
    last, n_rows = -1, 0
    for k in range(count):  # what a row has several of stands together
        if found[order[k]] != last:
            last = found[order[k]]
            n_rows += 1
            order[n_rows - 1] = order[k]
        else:
            worth[order[n_rows - 1]] += worth[order[k]]
    taken = 0
    while taken < out.shape[0]:
        best = -1
        for k in range(n_rows):  # of equal ones the newest
            if worth[order[k]] >= least and (best < 0 or worth[order[k]] >= worth[order[best]]):
                best = k
        if best < 0:
            break
        hole = taken
        while hole > 0 and out[hole - 1] > found[order[best]]:
            out[hole] = out[hole - 1]
            hole -= 1
        out[hole] = found[order[best]]
        worth[order[best]] = least - 1.0
        taken += 1
    return taken


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
    """Set ``out[i]``, uint8[k], to 1 where an eligible row has ``terms[i]``, else to 0. No row has a negative term."""
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
def _activate(chunk: int, active: Bool, scores: Float32, cover: UInt64) -> None:
    """Make a chunk one that counts: nothing is known of its rows yet."""
    if not active[chunk]:
        active[chunk] = True
        first = chunk * CHUNK
        here, terms = scores[first : first + CHUNK], cover[first : first + CHUNK]
        for i in range(here.shape[0]):  # a slice that is set does not become vector instructions
            here[i] = 0.0
            terms[i] = 0


@helper
def _weight(
    pool: Int32,
    rows: Int32,
    newest: int,
    eligible: UInt8,
    total: int,
    boost: float,
    scores: Float32,
    cover: UInt64,
    active: Bool,
) -> np.float32:
    """The idf of a term, 0 when no eligible row has it. Chunks of rows that have it, or beside them, become active."""
    count, last = 0, eligible.shape[0] - 1
    place = newest
    while 0 < place < pool.shape[0]:
        row = _row(rows, pool[place])
        if 0 <= row < eligible.shape[0] and eligible[row] != 0:
            count += 1
            first, end = max(0, row - BESIDE) >> SHIFT, min(last, row + BESIDE) >> SHIFT
            if not (active[first] and active[end]):  # most are, by an earlier posting
                _activate(first, active, scores, cover)
                _activate(end, active, scores, cover)
        place = _before(pool, place)
    if count == 0:
        return np.float32(0.0)
    return np.float32(math.log(1.0 + (total - count + 0.5) / (count + 0.5))) * boost


@kernel(
    nb.intp(
        *(POSTINGS, READ_I64, READ_I32, READ_F32, READ_U8),
        *(nb.float64, nb.float64, nb.intp, READ_I32, nb.intp, F32),
    ),
    nogil=True,
)
def bound_bm25(
    postings: Postings,
    offsets: Int64,
    terms: Int32,
    boosts: Float32,
    eligible: UInt8,
    k1: float,
    b: float,
    cut: int,
    counts: Int32,
    entered: int,
    bounds: Float32,
) -> int:
    """See `lexical.bound_bm25`; OK or BAD_POSTINGS.

    Parameters
    ----------
    counts : int32[k]
        Postings of each term, wherever they lead: not fewer than eligible rows have it.
    entered
        Rows ever appended. Those beyond the eligible ones lead to none: so many of a term's postings may be theirs.
    bounds : float32[2], written
    """
    pool, tail, rows = postings
    n = eligible.shape[0]
    bounds[0] = 0.0
    bounds[1] = 0.0
    if n == 0 or offsets.shape[0] <= n or counts.shape[0] != terms.shape[0]:
        return OK if n == 0 else BAD_POSTINGS
    for i in range(terms.shape[0]):
        if terms[i] >= tail.shape[0]:
            return BAD_POSTINGS
    total = _count(eligible)
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
    bounds[0] = (1.0 + ROUNDING) * most / flat
    bounds[1] = (1.0 - ROUNDING) * least
    return OK


@kernel(
    nb.intp(
        *(POSTINGS, READ_I64, READ_I32, READ_F32, READ_U8),
        *(nb.float64, nb.float64, F32, F32, U64, BOOL),
    ),
    nogil=True,
)
def bm25(
    postings: Postings,
    offsets: Int64,
    terms: Int32,
    boosts: Float32,
    eligible: UInt8,
    k1: float,
    b: float,
    idf: Float32,
    scores: Float32,
    cover: UInt64,
    active: Bool,
) -> int:
    """See `lexical.bm25` and `lexical.Matches`; OK or BAD_POSTINGS.

    Nothing is O(n) but the count of the rows that count.
    """
    pool, tail, rows = postings
    n = eligible.shape[0]
    for chunk in range(active.shape[0]):
        active[chunk] = False
    if n == 0 or offsets.shape[0] <= n or active.shape[0] * CHUNK < n:
        return OK if n == 0 else BAD_POSTINGS
    total = _count(eligible)
    for i in range(terms.shape[0]):
        if terms[i] >= tail.shape[0]:
            return BAD_POSTINGS
        newest = _newest(tail, terms[i])
        idf[i] = _weight(pool, rows, newest, eligible, total, boosts[i], scores, cover, active)
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


@kernel(nb.void(READ_F32, READ_BOOL, nb.intp, F32), nogil=True)
def best_scores(scores: Float32, active: Bool, cut: int, best: Float32) -> None:
    """``best``, float32[2]: the highest score below `cut`, and of the others; 0 of none.

    No score is negative, so their bits are ordered as they are.
    """
    bits, most, before, after = scores.view(np.int32), best.view(np.int32), np.int32(0), np.int32(0)
    for chunk in range(active.shape[0]):
        if active[chunk]:
            here = bits[chunk * CHUNK : (chunk + 1) * CHUNK]
            end = min(here.shape[0], max(0, cut - chunk * CHUNK))
            older, newer = here[:end], here[end:]
            for i in range(older.shape[0]):
                before = max(before, older[i])
            for i in range(newer.shape[0]):
                after = max(after, newer[i])
    most[0], most[1] = before, after
