"""Rows as bits: what finds candidates in a long history without a look at each of its rows.

Bit i of word w is row 64 w + i. Sums over rows are kept bit by bit, too: bit i of word w of level l is bit l of the
sum of row 64 w + i (a bit-sliced index: O'Neil and Quass, "Improved query performance with variant indexes", 1997).
"""

from __future__ import annotations

import numba as nb
import numpy as np

from .arrays import Float32, Int32, Int64, UInt8, UInt64
from .compile import (
    F32,
    I32,
    READ_F32,
    READ_I32,
    READ_I64,
    READ_U64,
    READ_U64_2D,
    U8,
    U64,
    U64_2D,
    helper,
    kernel,
)
from .intrinsics import bit_count
from .layout import BESIDE
from .status import BAD_POSTINGS, NOT_KEPT, OK

BITS = 64
ONE = np.uint64(1)
HEADER = -2
"""As in `kernels_lexical`: what a header of a chunk of postings holds."""
TOGETHER = 64
"""Words at a time: sums of so many stay in the first cache while a term is added."""
PARTS = 3
"""Bits of what one row gets of one term: 0 to 4."""


@kernel(nb.intp(READ_I32, READ_I32, READ_I32, READ_I32, U64), nogil=True)
def set_postings(pool: Int32, rows: Int32, newest: Int32, known: Int32, bits: UInt64) -> int:
    """Set the bits of the rows of terms, from the newest posting of each back to the one that is known already.

    `NOT_KEPT` where some of them came after `rows` or `bits` were made: these bits are not all there is.
    """
    capacity, status = bits.shape[0] * BITS, OK
    for term in range(newest.shape[0]):
        place = np.intp(newest[term])
        while place != known[term] and place > 0:
            if place >= pool.shape[0]:
                return BAD_POSTINGS
            entry = pool[place]
            if entry >= rows.shape[0] or rows[entry] >= capacity:
                status = NOT_KEPT
            elif rows[entry] >= 0:
                bits[rows[entry] // BITS] |= ONE << np.uint64(rows[entry] % BITS)
            place -= 1
            if pool[place] < 0:
                place = HEADER - pool[place]
    return status


@kernel(nb.void(READ_I32, nb.intp, nb.intp, nb.intp, U64), nogil=True)
def set_equal(values: Int32, wanted: int, first: int, end: int, bits: UInt64) -> None:
    """Set the bits of the rows from `first` to `end` that have this value."""
    for row in range(first, min(end, bits.shape[0] * BITS)):
        bits[row // BITS] |= np.uint64(values[row] == wanted) << np.uint64(row % BITS)


@kernel(nb.void(READ_I64, nb.intp, nb.intp, nb.float64, U64), nogil=True)
def set_short(offsets: Int64, first: int, end: int, most: float, bits: UInt64) -> None:
    """Set the bits of the rows from `first` to `end` with at most so many words."""
    for row in range(first, end):
        few = offsets[row + 1] - offsets[row] <= most
        bits[row // BITS] |= np.uint64(few) << np.uint64(row % BITS)


@kernel(nb.void(nb.intp, nb.intp, U64), nogil=True)
def set_range(first: int, end: int, bits: UInt64) -> None:
    """Set the bits from `first` to `end`."""
    for row in range(max(0, first), min(end, bits.shape[0] * BITS)):
        bits[row // BITS] |= ONE << np.uint64(row % BITS)


@kernel(nb.intp(READ_U64, READ_U64), nogil=True)
def count_both(bits: UInt64, mask: UInt64) -> int:
    """How many bits are set in both."""
    total = np.int64(0)
    for word in range(mask.shape[0]):
        total += np.int64(bit_count(bits[word] & mask[word]))
    return int(total)


@helper
def _smear(own: UInt64, out: UInt64) -> None:
    """Words of bits that are set where one of `BESIDE` rows on either side, or the row itself, has it.

    `own` begins one word before the first, and ends one word behind the last of `out`.
    """
    for i in range(out.shape[0]):
        before, here, after = own[i], own[i + 1], own[i + 2]
        one = np.uint64(1)
        near = here | here << one | before >> np.uint64(63) | here >> one | after << np.uint64(63)
        near |= here << np.uint64(2) | before >> np.uint64(62)
        near |= here >> np.uint64(2) | after << np.uint64(62)
        near |= here << np.uint64(3) | before >> np.uint64(61)
        near |= here >> np.uint64(3) | after << np.uint64(61)
        near |= here << np.uint64(4) | before >> np.uint64(60)
        near |= here >> np.uint64(4) | after << np.uint64(60)
        out[i] = near


@kernel(nb.void(READ_U64_2D, READ_I64, READ_U64, READ_U64, U64_2D), nogil=True)
def add_terms(planes: UInt64, steps: Int64, short: UInt64, middling: UInt64, sums: UInt64) -> None:
    """Add what terms give: 1 for standing near, and 1 to 3 for having it, the shorter the row the more.

    Times ``2 ** step``. The sums have room.
    """
    words, levels = sums.shape[1], sums.shape[0]
    own = np.zeros(TOGETHER + 2, np.uint64)
    near, parts = np.empty(TOGETHER, np.uint64), np.empty((PARTS, TOGETHER), np.uint64)
    carry = np.empty(TOGETHER, np.uint64)
    for first in range(0, words, TOGETHER):
        size, end = min(TOGETHER, words - first), min(words, first + TOGETHER)
        few, some = short[first:end], middling[first:end]
        for term in range(planes.shape[0]):
            bits, step = planes[term], steps[term]
            own[0] = bits[first - 1] if first > 0 else np.uint64(0)
            own[size + 1] = bits[end] if end < words else np.uint64(0)
            used = own[0] | own[size + 1]
            for i in range(size):
                own[i + 1] = bits[first + i]
                used |= own[i + 1]
            if used == 0:
                continue
            _smear(own, near[:size])
            for i in range(size):
                # own + own of a row not long + own of a short one + near: a number of three bits
                a, d = own[i + 1], near[i]
                b, c = a & some[i], a & few[i]
                ab, cd = a ^ b, c ^ d
                twos, more = a & b, c & d
                ones = ab & cd
                parts[0, i] = ab ^ cd
                parts[1, i] = twos ^ more ^ ones
                parts[2, i] = (twos & more) | ((twos ^ more) & ones)
            for i in range(size):
                carry[i] = 0
            for part in range(min(PARTS, levels - step)):
                total, one = sums[step + part, first:end], parts[part]
                for i in range(size):
                    half = total[i] ^ one[i]
                    out = half ^ carry[i]
                    carry[i] = (total[i] & one[i]) | (half & carry[i])
                    total[i] = out
            for upper in range(step + PARTS, levels):
                total = sums[upper, first:end]
                for i in range(size):
                    out = total[i] ^ carry[i]
                    carry[i] &= total[i]
                    total[i] = out


@kernel(nb.void(READ_U64, nb.intp, U64_2D), nogil=True)
def add_weight(bits: UInt64, weight: int, sums: UInt64) -> None:
    """Add a weight to the sums of the rows whose bits are set. The sums have room."""
    words, levels = sums.shape[1], sums.shape[0]
    carry = np.empty(TOGETHER, np.uint64)
    for first in range(0, words, TOGETHER):
        here, used = bits[first : min(words, first + TOGETHER)], np.uint64(0)
        size = here.shape[0]
        for i in range(size):
            used |= here[i]
        for level in range(levels if used else 0):
            if weight >> level & 1:
                for i in range(size):
                    carry[i] = here[i]
                for upper in range(level, levels):
                    total = sums[upper, first : first + size]
                    for i in range(size):
                        out = total[i] ^ carry[i]
                        carry[i] &= total[i]
                        total[i] = out


@helper
def _above(sums: UInt64, asked: UInt64, limit: int) -> tuple[UInt64, UInt64, int]:
    """The asked rows with the highest sums, whole sums while they fit the limit; those with the next sum; how many."""
    words, taken = asked.shape[0], np.int64(0)
    above, equal = np.zeros_like(asked), asked.copy()
    for level in range(sums.shape[0] - 1, -1, -1):
        bit, ones = sums[level], np.int64(0)
        for word in range(words):
            ones += np.int64(bit_count(equal[word] & bit[word]))
        if taken + ones <= limit:
            taken += ones
            for word in range(words):
                above[word] |= equal[word] & bit[word]
                equal[word] &= ~bit[word]
        else:
            for word in range(words):
                equal[word] &= bit[word]
    return above, equal, int(taken)


@kernel(nb.intp(READ_U64_2D, READ_U64, I32, I32), nogil=True)
def highest(sums: UInt64, asked: UInt64, rows: Int32, values: Int32) -> int:
    """Write the asked rows with the highest sums, ascending, of equal sums the later, and the sums; return how many.

    As many as there is room for; rows whose sum is 0 are none of them.
    """
    able = np.zeros_like(asked)
    for level in range(sums.shape[0]):
        one = sums[level]
        for word in range(asked.shape[0]):
            able[word] |= one[word]
    for word in range(asked.shape[0]):
        able[word] &= asked[word]
    above, equal, taken = _above(sums, able, rows.shape[0])
    at = rows.shape[0]
    for word in range(asked.shape[0] - 1, -1, -1):
        left, same = above[word] | equal[word], equal[word]
        while left:
            top = left  # the highest bit: everything below it is set, then all but it is taken away
            for shift in (1, 2, 4, 8, 16, 32):
                top |= top >> np.uint64(shift)
            top ^= top >> ONE
            left ^= top
            if same & top:
                if taken == rows.shape[0]:
                    continue
                taken += 1
            at -= 1
            rows[at] = word * BITS + int(bit_count(top - ONE))
            total = 0
            for level in range(sums.shape[0]):
                total |= int((sums[level, word] & top) != 0) << level
            values[at] = total
    return rows.shape[0] - at


@kernel(nb.void(READ_I32, nb.intp, U64), nogil=True)
def set_rows(rows: Int32, count: int, bits: UInt64) -> None:
    """Set the bits of those of the rows that are from 0 to `count`."""
    for row in rows:
        if 0 <= row < count:
            bits[row // BITS] |= ONE << np.uint64(row % BITS)


@kernel(nb.intp(READ_U64, nb.intp, I32, U8), nogil=True)
def runs(bits: UInt64, count: int, rows: Int32, chosen: UInt8) -> int:
    """Write the rows below `count` that are set or stand beside such a row, ascending; return how many places it took.

    Between rows that are no neighbours are `BESIDE` places of no row, -1: what looks at neighbours finds none there.
    `chosen` says which are set. What has no room is not written.
    """
    at, last = 0, -1
    for word in range(bits.shape[0]):
        left = bits[word]
        while left:
            row = word * BITS + int(bit_count((left & (~left + ONE)) - ONE))
            left &= left - ONE
            if row >= count:
                break
            begin = max(0, row - BESIDE)
            if begin <= last + BESIDE:
                begin = last + 1  # the gap would take as many places as the rows in it
            else:
                for _ in range(BESIDE if at else 0):
                    if at < rows.shape[0]:
                        rows[at], chosen[at] = -1, 0
                    at += 1
            for one in range(begin, min(count, row + BESIDE + 1)):
                if at < rows.shape[0]:
                    rows[at], chosen[at] = one, 0
                at += 1
                last = one
            place = at - 1 - (last - row)
            if place < rows.shape[0]:
                chosen[place] = 1
    return at


@kernel(nb.void(READ_U64_2D, READ_I32, READ_I32, U64), nogil=True)
def cover_rows(planes: UInt64, terms: Int32, rows: Int32, cover: UInt64) -> None:
    """``cover[i]`` gets bit ``terms[j]`` where plane j has the row of place i."""
    for place in range(rows.shape[0]):
        cover[place] = 0
    for plane in range(planes.shape[0]):
        bits, shift = planes[plane], np.uint64(terms[plane])
        for place in range(rows.shape[0]):
            row = rows[place]
            if row >= 0:
                cover[place] |= (bits[row >> 6] >> np.uint64(row & 63) & ONE) << shift


@kernel(
    nb.void(READ_U64, READ_F32, READ_I64, READ_I32, nb.float64, nb.float64, F32, nb.intp),
    nogil=True,
)
def score_rows(
    cover: UInt64,
    idf: Float32,
    offsets: Int64,
    rows: Int32,
    k1: float,
    b: float,
    scores: Float32,
    count: int,
) -> None:
    """BM25 of rows with this cover, of `count` rows: the very numbers of `kernels_lexical.bm25`, added in its order."""
    flat = np.float32(1.0 + k1 * (1.0 - b))
    steep = np.float32(k1 * b * count / max(1.0, float(offsets[count])))
    one = np.float32(1.0)
    for place in range(rows.shape[0]):
        total, left = np.float32(0.0), cover[place]
        if left:
            row = rows[place]
            words = np.float32(offsets[row + 1] - offsets[row])
            while left:
                term = int(bit_count((left & (~left + ONE)) - ONE))
                total += idf[term] * (one / (flat + steep * words))
                left &= left - ONE
        scores[place] = total


@kernel(nb.void(READ_U64, READ_I32, U8), nogil=True)
def marks_of(bits: UInt64, rows: Int32, out: UInt8) -> None:
    """1 where the bit of a place's row is set, else 0."""
    for place in range(rows.shape[0]):
        row = rows[place]
        is_set = row >= 0 and bits[row // BITS] >> np.uint64(row % BITS) & ONE
        out[place] = np.uint8(1) if is_set else np.uint8(0)
