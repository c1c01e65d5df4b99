"""Records joined to fields of a message, compiled. See `reference_fields` for what is computed.

Places are unsigned: then a negative one need not be thought of, and bytes are copied many at once.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from .arrays import Float64, Int64, UInt8, UInt32
from .compile import READ_BYTES, READ_F64, READ_I64, U8, helper, kernel

READ_U32 = nb.types.Array(nb.uint32, 1, "C", readonly=True)


@helper
def _put(value: int, out: UInt8, at: np.uint64) -> np.uint64:
    """Write a number as a varint; return where it ends."""
    while value >= 0x80:
        out[at] = value & 0x7F | 0x80
        value >>= 7
        at += np.uint64(1)
    out[at] = value
    return at + np.uint64(1)


@helper
def _varint_size(value: int) -> int:
    size = 1
    while value >= 0x80:
        value >>= 7
        size += 1
    return size


@kernel(
    nb.intp(
        READ_BYTES, READ_BYTES, READ_I64, READ_F64, READ_U32, READ_U32, READ_BYTES, READ_I64, U8
    )
)
def join_records(
    keys: bytes,
    bodies: bytes,
    numbers: Int64,
    scores: Float64,
    kinds: UInt32,
    known: UInt32,
    tails: bytes,
    tail_ends: Int64,
    out: UInt8,
) -> int:
    """See `reference_fields.join_records`. Kinds are few: each is looked for from the first on."""
    score_bytes = scores.view(np.uint8)
    at, start, one = np.uint64(0), np.uint64(0), np.uint64(1)
    for i in range(numbers.shape[0]):
        kind = 0
        while known[kind] != kinds[i]:
            kind += 1
        tail = np.uint64(tail_ends[kind - 1] if kind else 0)
        tail_size = np.uint64(tail_ends[kind]) - tail
        size, shift = int(bodies[start] & 0x7F), 7
        while bodies[start] >= 0x80:
            start += one
            size |= int(bodies[start] & 0x7F) << shift
            shift += 7
        start += one
        out[at] = keys[0]
        at = _put(size + 1 + _varint_size(numbers[i]) + 9 + int(tail_size), out, at + one)
        for k in range(np.uint64(size)):
            out[at + k] = bodies[start + k]
        at += np.uint64(size)
        start += np.uint64(size)
        out[at] = keys[1]
        at = _put(numbers[i], out, at + one)
        out[at] = keys[2]
        at += one
        for k in range(np.uint64(8)):
            out[at + k] = score_bytes[np.uint64(8 * i) + k]
        at += np.uint64(8)
        for k in range(tail_size):
            out[at + k] = tails[tail + k]
        at += tail_size
    return int(at)
