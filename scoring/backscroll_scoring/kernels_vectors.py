"""The compiled search among vectors.

A vector is kept as int8 codes, one float32 scale for every 64 of them, and one sign bit a dimension. The codes give
the dot product to about 1 in 1,000; the signs, taken after a centre was subtracted, only an order (random hyperplanes:
Charikar, "Similarity estimation techniques from rounding algorithms", 2002, with the axes as hyperplanes).

Where everything lies: messages have numbers (`seq`), vectors lie in slots, a caller names messages; the *place* of a
message is where in the array it is named.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from .arrays import Float32, Int8, Int16, Int32, Int64, UInt64
from .compile import (
    F32,
    I32,
    READ_F32,
    READ_F32_2D,
    READ_I8_3D,
    READ_I32,
    READ_I64,
    READ_U64_2D,
    helper,
    kernel,
)
from .intrinsics import (
    BLOCK,
    LOW_LEVELS,
    TOGETHER,
    WORDS,
    add_planes,
    bit_count,
    dot,
    fetch,
    spread,
)

QUERY_STEPS = np.float32(32_767)
AHEAD = 8
"""Rows that are fetched before they are needed."""
ONE, ALL = np.uint64(1), np.uint64(0xFFFF_FFFF_FFFF_FFFF)
NO_DIRECTION, INEXACT, EXACT = -1, 0, 1
NO_SLOT = -1
UNKNOWN = np.float32(np.nan)
"""How similar a message without a vector is."""
CLEAR = 1.0
"""A question's sign counts where it is this much of the mean distance from the centre away: the other signs are as good
as drawn by lot. Rows behind the signs for recall@20 .98 of 10,000, 30,000, 90,000 real ones: 126, 143, 164; with every
sign 167, 219, 281 (with .75: 105, 129, 159, but a third more signs to read; with 1.4: 166, 206, 269)."""
EXACT_TIMES = 2
"""Signs save nothing where this many times the rows behind them are all there are."""


@helper
def _unit(query: Float32, blocks: int) -> Float32:
    """float32[64 b]: the query with length 1 and zeros behind; empty when it has no direction or is too long."""
    largest = 0.0
    if query.shape[0] > blocks * BLOCK:
        return np.empty(0, np.float32)
    for i in range(query.shape[0]):
        largest = max(largest, abs(np.float64(query[i])))
        if not np.isfinite(query[i]):
            return np.empty(0, np.float32)
    if largest == 0.0:
        return np.empty(0, np.float32)
    inverse, square = 1.0 / largest, 0.0  # so that no square over- or underflows
    for i in range(query.shape[0]):
        square += (query[i] * inverse) ** 2
    inverse /= np.sqrt(square)
    unit = np.zeros(blocks * BLOCK, np.float32)
    for i in range(query.shape[0]):
        unit[i] = query[i] * inverse
    return unit


@helper
def _query_codes(unit: Float32) -> tuple[Int16, Float32]:
    """int16[b, 64] and float32[b]: the query in steps of its blocks' own."""
    blocks = unit.shape[0] // BLOCK
    codes, scales = np.empty((blocks, BLOCK), np.int16), np.empty(blocks, np.float32)
    for block in range(blocks):
        largest = np.float32(0.0)
        for i in range(BLOCK):
            largest = max(largest, abs(unit[block * BLOCK + i]))
        scale = largest / QUERY_STEPS if largest > 0 else np.float32(1.0)
        for i in range(BLOCK):
            codes[block, i] = np.int16(np.rint(unit[block * BLOCK + i] / scale))
        scales[block] = scale
    return codes, scales


@helper
def _clear_dims(unit: Float32, centre: Float32, dims: int) -> tuple[Int32, UInt64, int]:
    """int32[k], uint64[k], how many: dimensions in which the question's sign is clear, and that sign in every bit.

    Filled up to a multiple of `TOGETHER` with the plane behind the last dimension, which is empty.
    """
    mean, count = 0.0, 0
    for i in range(unit.shape[0]):
        mean += abs(unit[i] - centre[i])
    which = np.full(unit.shape[0] + TOGETHER, unit.shape[0], np.int32)
    signs = np.zeros(unit.shape[0] + TOGETHER, np.uint64)
    for i in range(unit.shape[0]):
        away = unit[i] - centre[i]
        which[count] = i
        signs[count] = ALL if away > 0 else np.uint64(0)
        count += abs(away) > CLEAR * mean / dims
    filled = (count + TOGETHER - 1) // TOGETHER * TOGETHER
    which[count], signs[count] = unit.shape[0], np.uint64(0)
    return which[:filled], signs[:filled], count


@helper
def _differing(planes: UInt64, words: int, unit: Float32, centre: Float32, dims: int) -> UInt64:
    """uint64[l, words]: how many clear sign bits of each slot are not the query's.

    Bit by bit: bit i of word w of level l is bit l of the number of slot 64 w + i.
    """
    which, signs, count = _clear_dims(unit, centre, dims)
    levels = LOW_LEVELS
    while count >> levels:
        levels += 1
    counts = np.zeros((levels, words), np.uint64)
    for first in range(0, which.shape[0], TOGETHER):
        add_planes(counts, planes, which, signs, first)
    return counts


@helper
def _within(counts: UInt64, asked: UInt64, limit: int) -> UInt64:
    """uint64[words]: the slots asked about that differ least; whole distances while they fit the limit, at least one.

    From the highest bit down, as in a bit-sliced index (O'Neil and Quass, "Improved query performance with variant
    indexes", 1997).
    """
    words, taken = counts.shape[1], np.int64(0)
    below, equal = np.zeros_like(asked), asked.copy()
    for level in range(counts.shape[0] - 1, -1, -1):
        bit, zeros = counts[level], np.int64(0)
        for word in range(words):
            zeros += np.int64(bit_count(equal[word] & ~bit[word]))
        if taken + zeros <= limit:
            taken += zeros
            for word in range(words):
                below[word] |= equal[word] & ~bit[word]
                equal[word] &= bit[word]
        else:
            for word in range(words):
                equal[word] &= ~bit[word]
    return below if taken else equal


@helper
def _slots(seqs: Int64, slot_of: Int32, n: int) -> tuple[Int32, Int32]:
    """int32[c] and int32[o, 64]: where places have their vectors, by chunks of 64 places.

    A full chunk whose slots lie in a row below ``n``, as they usually do, is the first one of them: a tenth of the
    work. Any other one is -1 - its row of the second array, which has each slot, -1 without one.
    """
    m, numbers, odd = seqs.shape[0], slot_of.shape[0], 0
    chunks = np.empty((m + BLOCK - 1) // BLOCK, np.int32)
    for chunk in range(chunks.shape[0]):
        start, row = chunk * BLOCK, np.int32(NO_SLOT)
        first = seqs[start]
        if start + BLOCK <= m and 0 <= first <= numbers - BLOCK:
            row, strays = slot_of[first], np.int64(0)
            for i in range(BLOCK):
                strays |= seqs[start + i] ^ (first + i)
            for i in range(BLOCK):
                strays |= slot_of[first + i] ^ np.int32(row + np.int32(i))
            if strays != 0 or row + BLOCK > n:
                row = np.int32(NO_SLOT)
        if row < 0:
            odd += 1
            row = np.int32(-odd)
        chunks[chunk] = row
    slots = np.full((odd, BLOCK), NO_SLOT, np.int32)
    for chunk in range(chunks.shape[0]):
        for place in range(chunk * BLOCK, min(m, (chunk + 1) * BLOCK) if chunks[chunk] < 0 else 0):
            seq = seqs[place]
            slot = slot_of[seq] if 0 <= seq < numbers else np.int32(NO_SLOT)
            slots[-1 - chunks[chunk], place % BLOCK] = slot if slot < n else np.int32(NO_SLOT)
    return chunks, slots


@helper
def _bits(chunks: Int32, slots: Int32, words: int) -> tuple[UInt64, int]:
    """uint64[words + 1]: the slots of all places, a bit each; and how many."""
    bits, known = np.zeros(words + 1, np.uint64), 0
    for row in chunks:
        if row >= 0:
            word, shift = row // BLOCK, np.uint64(row % BLOCK)
            bits[word] |= ALL << shift
            bits[word + 1] |= (ALL >> ONE) >> (np.uint64(BLOCK - 1) - shift)
            known += BLOCK
        else:
            for slot in slots[-1 - row]:
                if slot >= 0:
                    bits[slot // BLOCK] |= ONE << np.uint64(slot % BLOCK)
                    known += 1
    return bits, known


@helper
def _places(bits: UInt64, chunks: Int32, slots: Int32) -> tuple[Int32, Int32]:
    """int32[k] twice: the places whose slots' bits are set, ascending, and these slots."""
    count, found = np.int64(0), 0
    for word in bits:
        count += np.int64(bit_count(word))
    near, of_near = np.empty(count, np.int32), np.empty(count, np.int32)
    for chunk in range(chunks.shape[0]):
        start, row = chunk * BLOCK, chunks[chunk]
        if row >= 0:
            word, shift = row // BLOCK, np.uint64(row % BLOCK)
            left = bits[word] >> shift | (bits[word + 1] << ONE) << (np.uint64(BLOCK - 1) - shift)
            while left:
                bit = np.int32(bit_count((left & (~left + ONE)) - ONE))
                near[found], of_near[found] = start + bit, row + bit
                found += 1
                left &= left - ONE
        else:
            for i in range(BLOCK):
                slot = slots[-1 - row, i]
                if slot >= 0 and bits[slot // BLOCK] >> np.uint64(slot % BLOCK) & ONE:
                    near[found], of_near[found] = start + i, slot
                    found += 1
    return near, of_near


@helper
def _looked_at(
    planes: UInt64,
    centre: Float32,
    n: int,
    chunks: Int32,
    slots: Int32,
    unit: Float32,
    dims: int,
    least: int,
    share: float,
) -> tuple[Int32, Int32, int, UInt64]:
    """Places that are looked at exactly, ascending, and their slots; how many have one; the distances, if needed."""
    words = (n + BLOCK * WORDS - 1) // (BLOCK * WORDS) * WORDS
    bits, known = _bits(chunks, slots, words)
    counts = np.empty((0, 0), np.uint64)
    if planes.shape[0] > 0 and known > EXACT_TIMES * least:
        counts = _differing(planes, words, unit, centre, dims)
        bits = _within(counts, bits, max(least, int(known * share)))
    near, of_near = _places(bits, chunks, slots)
    return near, of_near, known, counts


@helper
def _distances(counts: UInt64, n: int) -> Int16:
    """int16[>= n]: how far the signs of each slot are from the query's."""
    words = (n + BLOCK - 1) // BLOCK
    out = np.empty(words * BLOCK, np.int16)
    for word in range(words):
        spread(counts, word, out)
    return out


@helper
def _exact(codes: Int8, scales: Float32, slots: Int32, unit: Float32) -> Float32:
    """float32[k]: the dot product of each slot with the query."""
    query, query_scales = _query_codes(unit)
    values, last = np.empty(slots.shape[0], np.float32), slots.shape[0] - 1
    for i in range(slots.shape[0]):
        fetch(codes, slots[min(i + AHEAD, last)])
        values[i] = dot(codes, scales, slots[i], query, query_scales)
    return values


@helper
def _falling_line(distances: Int16, near: Int32, exact: Float32) -> tuple[float, float, float]:
    """The similarity expected at distance 0, what each further one adds, and the most there is.

    A falling line through what is known exactly. Distances are whole numbers, so their sums are exact in one go.
    """
    count, x_sum, x_squares = exact.shape[0], np.int64(0), np.int64(0)
    y_sum, products, lowest = 0.0, 0.0, exact[0]
    for i in range(count):
        x, y = np.int64(distances[near[i]]), exact[i]
        x_sum += x
        x_squares += x * x
        y_sum += y
        products += x * np.float64(y)
        lowest = y if y < lowest else lowest  # noqa: FURB136
    x_mean = x_sum / count
    spread = (count * x_squares - x_sum * x_sum) / count
    slope = min(0.0, (products - x_mean * y_sum) / max(spread, 1.0))
    return y_sum / count - slope * x_mean, slope, np.float64(lowest)


@helper
def _expected(
    distance: np.int16, first: np.float32, slope: np.float32, most: np.float32
) -> np.float32:
    """What a distance lets expect: -1 at the least."""
    value, least = first + slope * np.float32(distance), np.float32(-1.0)
    value = value if value < most else most  # noqa: FURB136
    return value if value > least else least  # noqa: FURB136


@helper
def _estimate(
    distances: Int16,
    line: tuple[float, float, float],
    chunks: Int32,
    slots: Int32,
    values: Float32,
) -> None:
    """Fill in what the distance of every place's slot lets expect, NaN without a slot."""
    first, slope, most = np.float32(line[0]), np.float32(line[1]), np.float32(line[2])
    for chunk in range(chunks.shape[0]):
        start, row = chunk * BLOCK, chunks[chunk]
        if row >= 0:
            out, far = values[start : start + BLOCK], distances[row : row + BLOCK]
            for i in range(BLOCK):
                out[i] = _expected(far[i], first, slope, most)
        for i in range(min(BLOCK, values.shape[0] - start) if row < 0 else 0):
            slot = slots[-1 - row, i]
            values[start + i] = (
                _expected(distances[slot], first, slope, most) if slot >= 0 else UNKNOWN
            )


@kernel(
    nb.types.UniTuple(nb.intp, 2)(
        *(READ_I8_3D, READ_F32_2D, READ_U64_2D, READ_F32, READ_I32),
        *(READ_F32, READ_I64, nb.intp, nb.float64, I32, F32),
    ),
    nogil=True,
)
def nearest(
    codes: Int8,
    scales: Float32,
    planes: UInt64,
    centre: Float32,
    slot_of: Int32,
    query: Float32,
    seqs: Int64,
    least: int,
    share: float,
    out: Int32,
    values: Float32,
) -> tuple[int, int]:
    """Find the messages that are most similar to a question.

    The best so far are kept in order: few rows are better than the last.

    Parameters
    ----------
    codes : int8[n, b, 64]
    scales : float32[n, b]
    planes : uint64[64 b + 1, w]
        The signs of row 64 i + j of dimension d are bit j of ``planes[d, i]``; w is a multiple of 8 and the last plane
        is empty. No planes: every row is looked at exactly.
    centre : float32[64 b]
    slot_of : int32[]
        The slot of each message, -1 without a vector. A slot from n on is none.
    query : float32[<= 64 b]
        Of any length but zero.
    seqs : int64[m]
        Messages, each once.
    least, share
        How many are looked at exactly where there are signs: this many, and of all at least this share. All are where
        they are not more than `EXACT_TIMES` ``least``. Whole distances are taken while their rows fit.
    out : int32[k], values : float32[k], written
        Places of the most similar and their cosines, best first, of equal ones the later place.

    Returns
    -------
    status, found : int
        EXACT when all were looked at, INEXACT, or NO_DIRECTION; and how many of `out` count.
    """
    n = codes.shape[0]
    unit = _unit(query, codes.shape[1])
    if unit.shape[0] == 0:
        return NO_DIRECTION, 0
    chunks, slots = _slots(seqs, slot_of, n)
    near, of_near, known, _ = _looked_at(
        planes, centre, n, chunks, slots, unit, query.shape[0], least, share
    )
    exact, limit, found = _exact(codes, scales, of_near, unit), out.shape[0], 0
    for i in range(near.shape[0] if limit else 0):
        value = exact[i]
        if found == limit and value < values[limit - 1]:
            continue
        at = min(found, limit - 1)
        while at > 0 and values[at - 1] <= value:
            values[at], out[at] = values[at - 1], out[at - 1]
            at -= 1
        values[at], out[at] = value, near[i]
        found = min(found + 1, limit)
    return EXACT if near.shape[0] == known else INEXACT, found


@kernel(
    nb.types.UniTuple(nb.intp, 2)(
        *(READ_I8_3D, READ_F32_2D, READ_U64_2D, READ_F32, READ_I32),
        *(READ_F32, READ_I64, nb.intp, nb.float64, F32),
    ),
    nogil=True,
)
def similarities(
    codes: Int8,
    scales: Float32,
    planes: UInt64,
    centre: Float32,
    slot_of: Int32,
    query: Float32,
    seqs: Int64,
    least: int,
    share: float,
    values: Float32,
) -> tuple[int, int]:
    """Say how similar each message is; parameters and status as in `nearest`.

    ``values``, float32[m], get cosines: exact of those looked at, of others what a falling line of the distance makes
    likely, NaN without a vector. Returns how many messages have one, too.
    """
    n = codes.shape[0]
    unit = _unit(query, codes.shape[1])
    if unit.shape[0] == 0:
        return NO_DIRECTION, 0
    chunks, slots = _slots(seqs, slot_of, n)
    near, of_near, known, counts = _looked_at(
        planes, centre, n, chunks, slots, unit, query.shape[0], least, share
    )
    exact = _exact(codes, scales, of_near, unit)
    if near.shape[0] < known:
        distances = _distances(counts, n)
        _estimate(distances, _falling_line(distances, of_near, exact), chunks, slots, values)
    else:
        for i in range(values.shape[0]):
            values[i] = UNKNOWN
    for i in range(near.shape[0]):
        values[near[i]] = exact[i]
    return EXACT if near.shape[0] == known else INEXACT, known
