"""The inverted index in plain Python: what the kernels of `kernels_lexical` compute, written to be read.

Postings live in one pool of int32. A term's postings stand in chunks; a chunk is a header and then entries. The header
holds ``-2 - place`` of the last posting of the chunk before (``-1`` when there is none), so it is negative and an entry
is not. ``tail[term]`` is the place of the term's newest posting, -1 without any. Reading goes backwards from it. A
writer writes the posting first and the tail last, and a reader passes over rows its view does not have: no lock.

An entry is one text of one row; ``rows[entry]`` says which. So a row that is edited gets another entry, and rows that
move take no posting along: what changes is this one array, which readers keep as it was.
"""

from __future__ import annotations

import math
from itertools import takewhile

import numpy as np

from backscroll_scoring.arrays import Bool, Float32, Int32, Int64, UInt8, UInt64
from backscroll_scoring.layout import BESIDE, CHUNK, FIRST_CHUNK, LARGEST_CHUNK
from backscroll_scoring.status import BAD_POSTINGS, OK

ROUNDING = 1e-4
NO_PLACE = -1


def places_of(pool: Int32, tail: Int32, term: int) -> list[int]:
    """The places of a term's postings in the pool, newest first."""
    out = []
    place = int(tail[term])
    while 0 < place < len(pool):
        out.append(place)
        place -= 1
        if pool[place] < 0:
            place = -2 - int(pool[place])
    return out


def append_postings(
    pool: Int32, tail: Int32, room: Int32, size: Int32, used: Int32, terms: Int32, entries: Int32
) -> int:
    """Add posting ``entries[i]`` to the list of ``terms[i]``, in this order.

    Parameters
    ----------
    room, size : int32[T], written
        Free places in a term's newest chunk; the length of that chunk.
    used : int32[1], written
        Places of the pool in use. A new chunk is twice the last one, `FIRST_CHUNK` to `LARGEST_CHUNK` postings.

    Returns
    -------
    int
        How many were added: fewer than there are where the pool is full, or a term is outside the tables.
    """
    for i, (term, entry) in enumerate(zip(terms.tolist(), entries.tolist(), strict=True)):
        if not 0 <= term < len(tail):
            return i
        if room[term] == 0:
            length = min(LARGEST_CHUNK, max(FIRST_CHUNK, 2 * int(size[term])))
            if used[0] + length + 1 > len(pool):
                return i
            size[term] = room[term] = length
            pool[used[0]] = -2 - int(tail[term])
            tail[term] = used[0]
            used[0] += length + 1
        pool[tail[term] + 1] = entry
        tail[term] += 1
        room[term] -= 1
    return len(terms)


def rows_of(pool: Int32, tail: Int32, rows: Int32, term: int) -> list[int]:
    """The rows of a term, newest entry first; those that came after `rows` was taken are left out. -1 has none."""
    if term < 0:
        return []
    entries = pool[places_of(pool, tail, term)].tolist()
    return [int(rows[entry]) for entry in entries if entry < len(rows)]


def mark_rows(
    pool: Int32, tail: Int32, rows: Int32, terms: Int32, eligible: UInt8, out: UInt8
) -> int:
    """Add 1 (modulo 256) to ``out[row]`` for each of `terms` an eligible row below ``len(eligible)`` has."""
    for term in terms.tolist():
        if not 0 <= term < len(tail):
            return BAD_POSTINGS
        for row in rows_of(pool, tail, rows, term):
            if 0 <= row < len(eligible) and eligible[row]:
                out[row] = (int(out[row]) + 1) % 256
    return OK


def mark_terms(
    pool: Int32, tail: Int32, rows: Int32, terms: Int32, eligible: UInt8, out: UInt8
) -> int:
    """Set ``out[i]``, uint8[k], to 1 where an eligible row below ``len(eligible)`` has ``terms[i]``, else to 0.

    No row has a negative term.
    """
    for i, term in enumerate(terms.tolist()):
        out[i] = 0
        if term >= len(tail):
            return BAD_POSTINGS
        for row in rows_of(pool, tail, rows, term):
            if 0 <= row < len(eligible) and eligible[row]:
                out[i] = 1
    return OK


def bound_bm25(
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
    bounds: Float32,
) -> int:
    """``bounds``, float32[2]: not less than ``best_scores``' first, not more than its second, by a part in 10,000.

    Parameters
    ----------
    counts : int32[k]
        Postings of each term, wherever they lead: not fewer than eligible rows have it.
    entered : int
        Rows ever appended. Those beyond the eligible ones lead to none: so many of a term's postings may be theirs.

    The first is that of a row without words that has all terms that any has, each as rare as it can be. The second is
    that of the newest postings, from the newest of a term to the first that leads before `cut`, each term as common as
    it can be.
    """
    n = len(eligible)
    bounds[:] = 0
    if n == 0:
        return OK
    if len(offsets) <= n or len(counts) != len(terms):
        return BAD_POSTINGS
    cut = min(max(0, cut), n)
    mean, total = max(1.0, float(offsets[n])) / n, int(np.count_nonzero(eligible))
    most, after = 0.0, np.zeros(n - cut)
    for term, boost, count in zip(terms.tolist(), boosts.tolist(), counts.tolist(), strict=True):
        if term >= len(tail):
            return BAD_POSTINGS
        if not any(0 <= row < n and eligible[row] for row in rows_of(pool, tail, rows, term)):
            continue
        fewest, often = min(max(1, count - (entered - total)), total), min(count, total)
        most += boost * math.log(1 + (total - fewest + 0.5) / (fewest + 0.5))
        weight = boost * math.log(1 + (total - often + 0.5) / (often + 0.5))
        for row in takewhile(lambda row: row >= cut, rows_of(pool, tail, rows, term)):
            if row < n and eligible[row]:
                words = float(offsets[row + 1] - offsets[row])
                after[row - cut] += weight / (1 + k1 * (1 - b + b * words / mean))
    bounds[0] = (1 + ROUNDING) * most / (1 + k1 * (1 - b))
    bounds[1] = (1 - ROUNDING) * after.max(initial=0)
    return OK


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
    active: Bool,
) -> int:
    """BM25 of n rows, a term counted once a row (Robertson and Zaragoza 2009; the idf is Lucene's).

    Parameters
    ----------
    offsets : int64[>= n + 1]
        Prefix sums of the rows' lengths in words.
    terms : int32[k], boosts : float32[k]
        At most 64 different terms, and a factor for each one's idf. No row has a negative term.
    eligible : uint8[n]
        Other rows count nowhere and get 0.
    k1, b : float
        Saturation and length normalisation; the mean length is that of all n rows.
    idf : float32[k], scores : float32[n], cover : uint64[n], written
        ``boost * log(1 + (all eligible - df + .5) / (df + .5))``, 0 when none has it; the sum over a row's terms of
        ``idf / (1 + k1 * (1 - b + b * length / mean length))``; bit i: the row has ``terms[i]``. In chunks that are
        not active scores and cover may be anything.
    active : bool[c], written
        In which chunks of `CHUNK` rows one has a term, or stands up to `BESIDE` rows from one that has.

    Returns
    -------
    int
        OK; BAD_POSTINGS when a term or the offsets are out of range.
    """
    n = len(eligible)
    scores[:], cover[:], active[:] = 0, 0, False
    if n == 0:
        return OK
    if len(offsets) <= n:
        return BAD_POSTINGS
    mean, total = max(1.0, float(offsets[n])) / n, int(np.count_nonzero(eligible))
    for i, (term, boost) in enumerate(zip(terms.tolist(), boosts.tolist(), strict=True)):
        if term >= len(tail):
            return BAD_POSTINGS
        having = [row for row in rows_of(pool, tail, rows, term) if 0 <= row < n and eligible[row]]
        df = len(having)
        idf[i] = boost * math.log(1 + (total - df + 0.5) / (df + 0.5)) if having else 0
        for row in having:
            words = float(offsets[row + 1] - offsets[row])
            scores[row] += idf[i] / np.float32(1 + k1 * (1 - b + b * words / mean))
            cover[row] |= np.uint64(1 << i)
            active[max(0, row - BESIDE) // CHUNK : min(n - 1, row + BESIDE) // CHUNK + 1] = True
    return OK


def best_scores(scores: Float32, active: Bool, cut: int, best: Float32) -> None:
    """``best``, float32[2]: the highest of what `bm25` gives the rows below `cut`, and the others; 0 of none."""
    known = np.where(np.repeat(active, CHUNK)[: len(scores)], scores, np.float32(0))
    best[0], best[1] = known[:cut].max(initial=0), known[cut:].max(initial=0)
