"""The compiled search among vectors. See `reference_vectors` for what is computed.

`_row_dot` is written for LLVM's vectors of numbers, which fit any processor: it cuts them into the widest ones there
are. What it adds first are whole numbers, what then is left is added in a fixed order: every processor gets the same.
"""

from __future__ import annotations

from typing import Any

import numba as nb
import numpy as np
from numba import config
from numba.core import cgutils
from numba.extending import intrinsic

from .arrays import Bool, Float32, Int8, Int16, Int32, Int64, UInt64
from .compile import (
    BOOL,
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

ir: Any = cgutils.ir  # type: ignore[attr-defined] # of llvmlite, which numba is made on

BLOCK = 64
"""Dimensions that share one scale; one word of sign bits."""
LANES = 32
"""Products that are made at once."""
QUERY_STEPS = np.float32(32_767)
NO_DIRECTION, INEXACT, EXACT = -1, 0, 1
NO_SLOT = -1
CLEAR = 0.6
"""A question's sign counts where it is this much of the mean distance from the centre away: the other signs are as good
as drawn by lot, and without them half as many rows behind find as much (recall@20 .99 for .99 with 300 for 600)."""
EXACT_TIMES = 2
"""Signs save nothing where this many times the rows behind them are all there are."""


@intrinsic
def _ctpop(typing_context: Any, word: Any) -> Any:  # noqa: ANN401, ARG001
    """Count the set bits of a word: one machine instruction, which LLVM also has for vectors."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ANN401, ARG001
        return builder.ctpop(arguments[0])

    return word(word), generate


def _plain_bit_count(word: np.uint64) -> int:
    return int(word).bit_count()


@intrinsic
def _vector_dot(
    typing_context: Any,  # noqa: ANN401, ARG001
    codes: Any,  # noqa: ANN401
    scales: Any,  # noqa: ANN401
    row: Any,  # noqa: ANN401, ARG001
    query: Any,  # noqa: ANN401
    query_scales: Any,  # noqa: ANN401
) -> Any:  # noqa: ANN401
    """See `_plain_dot`. Products of 8 and 16 bits are added in pairs: one instruction on every x86-64."""
    i32, f32 = ir.IntType(32), ir.FloatType()
    wide = ir.VectorType(i32, LANES)

    def part(builder: Any, of: Any, first: int, count: int, step: int = 1) -> Any:  # noqa: ANN401
        places = list(range(first, first + count * step, step))
        return builder.shuffle_vector(of, of, ir.Constant(ir.VectorType(i32, count), places))

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ANN401
        zero, half = context.get_constant(nb.intp, 0), LANES // 2

        def pointer(which: int, *places: Any) -> Any:  # noqa: ANN401
            array_type = signature.args[which]
            array = context.make_array(array_type)(context, builder, arguments[which])
            return cgutils.get_item_pointer(context, builder, array_type, array, places)

        def loaded(first: Any, start: int, bits: int) -> Any:  # noqa: ANN401
            at = builder.gep(first, [context.get_constant(nb.intp, start)])
            narrow = ir.VectorType(ir.IntType(bits), LANES).as_pointer()
            return builder.sext(builder.load(builder.bitcast(at, narrow), align=bits // 8), wide)

        row_at = arguments[2]
        floats = ir.VectorType(f32, half)
        total = cgutils.alloca_once_value(builder, ir.Constant(floats, [0.0] * half))
        shape = context.make_array(signature.args[4])(context, builder, arguments[4]).shape
        with cgutils.for_range(builder, builder.extract_value(shape, 0)) as loop:
            block = loop.index
            ours, theirs = pointer(0, row_at, block, zero), pointer(3, block, zero)
            whole = ir.Constant(ir.VectorType(i32, half), [0] * half)
            for start in range(0, BLOCK, LANES):
                products = builder.mul(loaded(ours, start, 8), loaded(theirs, start, 16))
                pairs = [part(builder, products, first, half, 2) for first in (0, 1)]
                whole = builder.add(whole, builder.add(*pairs))
            scale = builder.fmul(
                builder.load(pointer(1, row_at, block)), builder.load(pointer(4, block))
            )
            one = builder.insert_element(
                ir.Constant(floats, ir.Undefined), scale, ir.Constant(i32, 0)
            )
            places = ir.Constant(ir.VectorType(i32, half), [0] * half)
            scaled = builder.fmul(
                builder.sitofp(whole, floats), builder.shuffle_vector(one, one, places)
            )
            builder.store(builder.fadd(builder.load(total), scaled), total)
        rest = builder.load(total)
        while half > 1:
            half //= 2
            rest = builder.fadd(part(builder, rest, 0, half), part(builder, rest, half, half))
        return builder.extract_element(rest, ir.Constant(i32, 0))

    return nb.float32(codes, scales, nb.intp, query, query_scales), generate


def _plain_dot(
    codes: Int8, scales: Float32, row: int, query: Int16, query_scales: Float32
) -> np.float32:
    """Dot product of a row with the query: of each block a whole number, times both scales."""
    whole = (codes[row].astype(np.int32) * query).sum(axis=1)
    return np.float32((whole * (scales[row] * query_scales)).sum())


_bit_count: Any = _plain_bit_count if config.DISABLE_JIT else _ctpop  # type: ignore[attr-defined]
_dot: Any = _plain_dot if config.DISABLE_JIT else _vector_dot  # type: ignore[attr-defined]


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
def _sign_words(unit: Float32, centre: Float32, dims: int) -> tuple[UInt64, UInt64]:
    """uint64[w] twice: the question's signs, as `index.sign_words`, and the dimensions in which they are clear."""
    mean = 0.0
    for i in range(unit.shape[0]):
        mean += abs(unit[i] - centre[i]) / dims
    signs = np.zeros(unit.shape[0] // BLOCK, np.uint64)
    clear = np.zeros(unit.shape[0] // BLOCK, np.uint64)
    for i in range(unit.shape[0]):
        away, word, bit = unit[i] - centre[i], i // BLOCK, np.uint64(i % BLOCK)
        signs[word] |= np.uint64(away > 0) << bit
        clear[word] |= np.uint64(abs(away) > CLEAR * mean) << bit
    return signs, clear


@helper
def _differing(signs: UInt64, query: UInt64, clear: UInt64, n: int) -> Int16:
    """int16[n]: how many clear sign bits of each slot are not the query's. Words by fours: half the time."""
    out, words, first = np.zeros(n, np.int16), signs.shape[0], 0
    while words - first >= 4:
        a, b, c, d = signs[first], signs[first + 1], signs[first + 2], signs[first + 3]
        qa, qb, qc, qd = query[first], query[first + 1], query[first + 2], query[first + 3]
        ca, cb, cc, cd = clear[first], clear[first + 1], clear[first + 2], clear[first + 3]
        for slot in range(n):
            low = _bit_count((a[slot] ^ qa) & ca) + _bit_count((b[slot] ^ qb) & cb)
            high = _bit_count((c[slot] ^ qc) & cc) + _bit_count((d[slot] ^ qd) & cd)
            out[slot] += np.int16(low + high)
        first += 4
    for word in range(first, words):
        a, qa, ca = signs[word], query[word], clear[word]
        for slot in range(n):
            out[slot] += np.int16(_bit_count((a[slot] ^ qa) & ca))
    return out


@helper
def _slots(seqs: Int64, slot_of: Int32, n: int) -> tuple[Int32, int]:
    """int32[m]: the slot of each message, -1 without one below ``n``; and how many have one."""
    m, numbers, known = seqs.shape[0], slot_of.shape[0], np.intp(0)
    slots = np.empty(m, np.int32)
    first = seqs[0] if m else np.int64(0)
    in_a_row = 0 <= first <= numbers - m
    for place in range(m):
        in_a_row &= seqs[place] == first + place
    if in_a_row:  # the usual case, in a third of the time
        slots[:] = slot_of[first : first + m]
    else:
        for place in range(m):
            seq = seqs[place]
            slots[place] = slot_of[seq] if 0 <= seq < numbers else np.int32(NO_SLOT)
    for place in range(m):
        slot = slots[place] if slots[place] < n else np.int32(NO_SLOT)
        slots[place] = slot
        known += slot >= 0
    return slots, int(known)


@helper
def _distances(
    slots: Int32, n: int, signs: UInt64, unit: Float32, centre: Float32, dims: int, counts: Int32
) -> Int16:
    """int16[m]: how far each place's signs are from the query's, -1 without a slot; ``counts[d]`` of those d away."""
    query, clear = _sign_words(unit, centre, dims)
    of_slots = _differing(signs, query, clear, n)
    distances = np.empty(slots.shape[0], np.int16)
    for place in range(slots.shape[0]):
        slot = slots[place]
        if slot >= 0:
            distance = of_slots[slot]
            counts[distance] += 1
            distances[place] = distance
        else:
            distances[place] = -1
    return distances


@helper
def _looked_at(
    slots: Int32, known: int, distances: Int16, counts: Int32, limit: int
) -> tuple[Int32, int]:
    """int32[>= k]: the places that are looked at exactly, ascending, and k. Without distances: all that have a slot."""
    farthest, within = -1, 0
    while farthest + 1 < counts.shape[0] and (
        within == 0 or within + counts[farthest + 1] <= limit
    ):
        farthest += 1
        within += counts[farthest]
    by_signs = distances.shape[0] > 0
    near, found = np.empty(within if by_signs else known, np.int32), 0
    for place in range(slots.shape[0]):
        if slots[place] >= 0 and (not by_signs or distances[place] <= farthest):
            near[found] = place
            found += 1
    return near, found


@helper
def _falling_line(distances: Int16, near: Int32, exact: Float32, words: int) -> Float32:
    """float32[64 w + 1]: the similarity expected at each distance: a falling line through what is known exactly."""
    count = exact.shape[0]
    x_mean, y_mean, lowest = 0.0, 0.0, exact[0]
    for i in range(count):
        x_mean += distances[near[i]] / count
        y_mean += exact[i] / count
        lowest = min(lowest, exact[i])
    spread, together = 0.0, 0.0
    for i in range(count):
        x = distances[near[i]] - x_mean
        spread += x * x
        together += x * exact[i]
    slope = min(0.0, together / max(spread, 1.0))
    line = np.empty(words * BLOCK + 1, np.float32)
    for distance in range(line.shape[0]):
        value = y_mean + slope * (distance - x_mean)
        line[distance] = min(max(value, -1.0), np.float64(lowest))
    return line


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
    signs: UInt64,
    centre: Float32,
    slot_of: Int32,
    query: Float32,
    seqs: Int64,
    least: int,
    share: float,
    out: Int32,
    values: Float32,
) -> tuple[int, int]:
    """See `reference_vectors.nearest`. The best so far are kept in order: few rows are better than the last."""
    n = codes.shape[0]
    unit = _unit(query, codes.shape[1])
    if unit.shape[0] == 0:
        return NO_DIRECTION, 0
    slots, known = _slots(seqs, slot_of, n)
    distances, counts = np.empty(0, np.int16), np.zeros(signs.shape[0] * BLOCK + 1, np.int32)
    if signs.shape[0] > 0 and known > EXACT_TIMES * least:
        distances = _distances(slots, n, signs, unit, centre, query.shape[0], counts)
    near, count = _looked_at(slots, known, distances, counts, max(least, int(known * share)))
    query_codes, query_scales = _query_codes(unit)
    limit, found = out.shape[0], 0
    for i in range(count if limit else 0):
        value = _dot(codes, scales, slots[near[i]], query_codes, query_scales)
        if found == limit and value < values[limit - 1]:
            continue
        at = min(found, limit - 1)
        while at > 0 and values[at - 1] <= value:
            values[at], out[at] = values[at - 1], out[at - 1]
            at -= 1
        values[at], out[at] = value, near[i]
        found = min(found + 1, limit)
    return EXACT if count == known else INEXACT, found


@kernel(
    nb.intp(
        *(READ_I8_3D, READ_F32_2D, READ_U64_2D, READ_F32, READ_I32),
        *(READ_F32, READ_I64, nb.intp, nb.float64, F32, BOOL),
    ),
    nogil=True,
)
def similarities(
    codes: Int8,
    scales: Float32,
    signs: UInt64,
    centre: Float32,
    slot_of: Int32,
    query: Float32,
    seqs: Int64,
    least: int,
    share: float,
    values: Float32,
    has_one: Bool,
) -> int:
    """See `reference_vectors.similarities`."""
    n = codes.shape[0]
    unit = _unit(query, codes.shape[1])
    if unit.shape[0] == 0:
        return NO_DIRECTION
    slots, known = _slots(seqs, slot_of, n)
    distances, counts = np.empty(0, np.int16), np.zeros(signs.shape[0] * BLOCK + 1, np.int32)
    if signs.shape[0] > 0 and known > EXACT_TIMES * least:
        distances = _distances(slots, n, signs, unit, centre, query.shape[0], counts)
    near, count = _looked_at(slots, known, distances, counts, max(least, int(known * share)))
    query_codes, query_scales = _query_codes(unit)
    exact = np.empty(count, np.float32)
    for i in range(count):
        exact[i] = _dot(codes, scales, slots[near[i]], query_codes, query_scales)
    for place in range(slots.shape[0]):
        has_one[place] = slots[place] >= 0
        values[place] = 0.0
    if count < known:
        line = _falling_line(distances, near, exact, signs.shape[0])
        for place in range(slots.shape[0]):
            if has_one[place]:
                values[place] = line[distances[place]]
    for i in range(count):
        values[near[i]] = exact[i]
    return EXACT if count == known else INEXACT
