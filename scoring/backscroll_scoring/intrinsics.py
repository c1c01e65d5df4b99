"""Machine code that kernels are made of, and its plain twins for when nothing is compiled.

It is written for LLVM's vectors of numbers, which fit any processor: it cuts them into the widest ones there are. Sums
of floats are taken in a fixed order, so that every processor gets the same. Whoever changes this file deletes the cache
of compiled kernels (see `compile`).
"""

from __future__ import annotations

from typing import Any

import numba as nb
import numpy as np
from numba import config
from numba.core import cgutils
from numba.extending import intrinsic

from .arrays import Float32, Int8, Int16, Int32, UInt64

ir: Any = cgutils.ir  # type: ignore[attr-defined] # of llvmlite, which numba is made on

BLOCK = 64
"""Dimensions that share one scale; sign bits in a word."""
LANES = 32
"""Products that are made at once."""
WORDS, TOGETHER, LOW_LEVELS = 8, 16, 4
"""Words in a vector of sign bits; planes that are added at once, and the bits of their number."""
PLANES_AHEAD = 4 * WORDS
"""Words of each plane that are fetched before they are needed: no processor follows `TOGETHER` streams by itself. In a
loop with 1.6 MB of other data between, `similarities` of 100,000 rows took 268 us with 4 vectors, 300 with 2, 308 with
8, 293 with 16, 337 with none; of 10,000 always 30."""


@intrinsic
def _ctpop(typing_context: Any, word: Any) -> Any:  # noqa: ANN401, ARG001
    """Count the set bits of a word: one machine instruction, which LLVM also has for vectors."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ANN401, ARG001
        return builder.ctpop(arguments[0])

    return word(word), generate


def _plain_bit_count(word: np.uint64) -> int:
    return int(word).bit_count()


def _splat(builder: Any, value: Any, count: int) -> Any:  # noqa: ANN401
    """A vector of one value."""
    number = ir.IntType(32)
    vector = ir.Constant(ir.VectorType(value.type, count), ir.Undefined)
    one = builder.insert_element(vector, value, ir.Constant(number, 0))
    return builder.shuffle_vector(one, one, ir.Constant(ir.VectorType(number, count), [0] * count))


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
            scaled = builder.fmul(builder.sitofp(whole, floats), _splat(builder, scale, half))
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


def _fetch(builder: Any, at: Any) -> None:  # noqa: ANN401
    """Let the processor begin to read what lies at a pointer, if anything does."""
    byte, number = ir.IntType(8), ir.IntType(32)
    kind = ir.FunctionType(ir.VoidType(), [byte.as_pointer(), number, number, number])
    fetch = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
    to_read, keep, data = number(0), number(3), number(1)
    builder.call(fetch, [builder.bitcast(at, byte.as_pointer()), to_read, keep, data])


@intrinsic
def _fetch_row(typing_context: Any, codes: Any, row: Any) -> Any:  # noqa: ANN401, ARG001
    """Let the processor begin to read a row: rows lie far apart, and it would wait for each."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ANN401
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        blocks, zero = builder.extract_value(array.shape, 1), context.get_constant(nb.intp, 0)
        with cgutils.for_range(builder, blocks) as loop:
            at = cgutils.get_item_pointer(
                context, builder, signature.args[0], array, (arguments[1], loop.index, zero)
            )
            _fetch(builder, at)
        return context.get_dummy_value()

    return nb.void(codes, nb.intp), generate


def _plain_fetch(codes: Int8, row: int) -> None:
    """Nothing to do."""


@intrinsic
def _add_vectors(
    typing_context: Any,  # noqa: ANN401, ARG001
    counts: Any,  # noqa: ANN401
    planes: Any,  # noqa: ANN401
    which: Any,  # noqa: ANN401
    signs: Any,  # noqa: ANN401
    first: Any,  # noqa: ANN401, ARG001
) -> Any:  # noqa: ANN401
    """See `_plain_add`. Full adders make one bit of three (Harley and Seal's popcount): 512 slots at once."""
    word, wide = ir.IntType(64), ir.VectorType(ir.IntType(64), WORDS)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ANN401
        arrays = [
            context.make_array(t)(context, builder, a)
            for t, a in zip(signature.args[:4], arguments[:4], strict=True)
        ]

        def pointer(which: int, *places: Any) -> Any:  # noqa: ANN401
            return cgutils.get_item_pointer(
                context, builder, signature.args[which], arrays[which], places
            )

        def vector_at(which: int, *places: Any) -> Any:  # noqa: ANN401
            return builder.bitcast(pointer(which, *places), wide.as_pointer())

        def number(n: int) -> Any:  # noqa: ANN401
            return context.get_constant(nb.intp, n)

        dims, flips = [], []
        for n in range(TOGETHER):
            at = builder.add(arguments[4], number(n))
            dims.append(builder.sext(builder.load(pointer(2, at)), word))
            flips.append(_splat(builder, builder.load(pointer(3, at)), WORDS))
        carried = cgutils.alloca_once(builder, wide)
        levels, words = cgutils.unpack_tuple(builder, arrays[0].shape)
        with cgutils.for_range_slice(builder, number(0), words, number(WORDS)) as (at, _):
            ahead = builder.add(at, number(PLANES_AHEAD))
            for dim in dims:
                _fetch(builder, pointer(1, dim, ahead))
            added = [
                builder.xor(builder.load(vector_at(1, dim, at), align=8), flip)
                for dim, flip in zip(dims, flips, strict=True)
            ]
            for level in range(LOW_LEVELS):
                kept = vector_at(0, number(level), at)
                bit, carries = builder.load(kept, align=8), []
                for a, b in zip(added[::2], added[1::2], strict=True):
                    half = builder.xor(bit, a)
                    same = builder.and_(bit, builder.not_(half))
                    carries.append(builder.or_(builder.and_(half, b), same))
                    bit = builder.xor(half, b)
                builder.store(bit, kept, align=8)
                added = carries
            builder.store(added[0], carried)
            with cgutils.for_range_slice(builder, number(LOW_LEVELS), levels, number(1)) as (
                level,
                _,
            ):
                kept = vector_at(0, level, at)
                bit, carry = builder.load(kept, align=8), builder.load(carried)
                builder.store(builder.xor(bit, carry), kept, align=8)
                builder.store(builder.and_(bit, carry), carried)
        return context.get_dummy_value()

    return nb.void(counts, planes, which, signs, nb.intp), generate


def _plain_add(counts: UInt64, planes: UInt64, which: Int32, signs: UInt64, first: int) -> None:
    """Add `TOGETHER` planes, each exclusive-or its sign, to the counts."""
    for n in range(first, first + TOGETHER):
        carry = planes[which[n], : counts.shape[1]] ^ signs[n]
        for bit in counts:
            bit[:], carry = bit ^ carry, bit & carry


@intrinsic
def _spread_word(
    typing_context: Any,  # noqa: ANN401, ARG001
    counts: Any,  # noqa: ANN401
    word: Any,  # noqa: ANN401, ARG001
    out: Any,  # noqa: ANN401
) -> Any:  # noqa: ANN401
    """See `_plain_spread`."""
    narrow, flags = ir.IntType(16), ir.VectorType(ir.IntType(1), BLOCK)
    wide = ir.VectorType(narrow, BLOCK)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ANN401
        word = arguments[1]
        kept = context.make_array(signature.args[0])(context, builder, arguments[0])
        total = cgutils.alloca_once_value(builder, ir.Constant(wide, [0] * BLOCK))
        with cgutils.for_range(builder, builder.extract_value(kept.shape, 0)) as loop:
            at = cgutils.get_item_pointer(
                context, builder, signature.args[0], kept, (loop.index, word)
            )
            bits = builder.bitcast(builder.load(at), flags)
            worth = builder.shl(ir.Constant(narrow, 1), builder.trunc(loop.index, narrow))
            each = _splat(builder, worth, BLOCK)
            some = builder.select(bits, each, ir.Constant(wide, [0] * BLOCK))
            builder.store(builder.or_(builder.load(total), some), total)
        into = context.make_array(signature.args[2])(context, builder, arguments[2])
        first = builder.mul(word, context.get_constant(nb.intp, BLOCK))
        at = cgutils.get_item_pointer(context, builder, signature.args[2], into, (first,))
        builder.store(builder.load(total), builder.bitcast(at, wide.as_pointer()), align=2)
        return context.get_dummy_value()

    return nb.void(counts, nb.intp, out), generate


def _plain_spread(counts: UInt64, word: int, out: Int16) -> None:
    """Write the numbers whose bits are one word of each level."""
    for i in range(BLOCK):
        bits = [int(level[word]) >> i & 1 for level in counts]
        out[word * BLOCK + i] = sum(bit << level for level, bit in enumerate(bits))


bit_count: Any = _plain_bit_count if config.DISABLE_JIT else _ctpop  # type: ignore[attr-defined]
dot: Any = _plain_dot if config.DISABLE_JIT else _vector_dot  # type: ignore[attr-defined]
fetch: Any = _plain_fetch if config.DISABLE_JIT else _fetch_row  # type: ignore[attr-defined]
add_planes: Any = _plain_add if config.DISABLE_JIT else _add_vectors  # type: ignore[attr-defined]
spread: Any = _plain_spread if config.DISABLE_JIT else _spread_word  # type: ignore[attr-defined]
