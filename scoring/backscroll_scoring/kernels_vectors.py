"""The compiled comparison of vectors. See `reference_vectors` for what is computed."""

from __future__ import annotations

from typing import Any

import numba as nb
import numpy as np
from numba import config
from numba.extending import intrinsic

from .arrays import Bool, Float32, Int8, Int16, Int32, UInt64
from .compile import (
    F32,
    I16,
    I32,
    READ_BOOL,
    READ_F32_2D,
    READ_I8_3D,
    READ_I32,
    READ_U64,
    READ_U64_2D,
    kernel,
)

BLOCK = 64
"""Dimensions that share one scale; one word of sign bits."""


@intrinsic
def _ctpop(typing_context: Any, word: Any) -> Any:  # noqa: ANN401, ARG001
    """Count the set bits of a word: one machine instruction, which LLVM also has for vectors."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ANN401, ARG001
        return builder.ctpop(arguments[0])

    return word(word), generate


def _plain_bit_count(word: np.uint64) -> int:
    return int(word).bit_count()


_bit_count: Any = _plain_bit_count if config.DISABLE_JIT else _ctpop  # type: ignore[attr-defined]


@kernel(nb.void(READ_I8_3D, READ_F32_2D, READ_F32_2D, F32), nogil=True, any_order=True)
def dots(codes: Int8, scales: Float32, query: Float32, out: Float32) -> None:
    """See `reference_vectors.dots`."""
    for row in range(out.shape[0]):
        total = np.float32(0.0)
        for block in range(codes.shape[1]):
            part = np.float32(0.0)
            for i in range(BLOCK):
                part += np.float32(codes[row, block, i]) * query[block, i]
            total += part * scales[row, block]
        out[row] = total


@kernel(nb.void(READ_I8_3D, READ_F32_2D, READ_F32_2D, READ_I32, F32), nogil=True, any_order=True)
def dots_at(codes: Int8, scales: Float32, query: Float32, rows: Int32, out: Float32) -> None:
    """See `reference_vectors.dots_at`."""
    for place in range(rows.shape[0]):
        row = rows[place]
        total = np.float32(0.0)
        for block in range(codes.shape[1]):
            part = np.float32(0.0)
            for i in range(BLOCK):
                part += np.float32(codes[row, block, i]) * query[block, i]
            total += part * scales[row, block]
        out[place] = total


@kernel(nb.intp(READ_U64_2D, READ_U64, READ_BOOL, nb.intp, I16, I32), nogil=True)
def sign_candidates(
    signs: UInt64, query: UInt64, allowed: Bool, limit: int, distances: Int16, out: Int32
) -> int:
    """See `reference_vectors.sign_candidates`."""
    n, words = signs.shape
    counts = np.zeros(words * BLOCK + 1, np.int32)
    for row in range(n):
        distance = np.int64(0)
        for word in range(words):
            distance += np.int64(_bit_count(signs[row, word] ^ query[word]))
        distances[row] = distance
        if allowed[row]:
            counts[distance] += 1
    farthest, within = -1, 0
    while farthest + 1 < counts.shape[0] and (
        within == 0 or within + counts[farthest + 1] <= limit
    ):
        farthest += 1
        within += counts[farthest]
    found = 0
    for row in range(n):
        if allowed[row] and distances[row] <= farthest:
            out[found] = row
            found += 1
    return found
