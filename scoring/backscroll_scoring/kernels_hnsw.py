"""The compiled graph over vectors: hierarchical navigable small worlds (Malkov, Yashunin 2018) over int8 rows.

A node is a slot of the rows it is made over. Every 16th slot stands on the layer
above, too, and every 16th of these on the next: arrival says nothing of meaning, so that is as good as by lot, and
needs no table. One writer; any number of readers meanwhile: a row of links that is just written to is at worst an odd
set of neighbours.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from .arrays import Float32, Int8, Int16, Int32, Int64, UInt64
from .compile import (
    F32,
    I32,
    I32_2D,
    READ_F32,
    READ_F32_2D,
    READ_I8_3D,
    READ_I32_2D,
    READ_I64,
    helper,
    kernel,
)
from .intrinsics import BLOCK, dot, fetch

LINKS, LOWEST_LINKS = 16, 32
"""Links of a node on upper layers, and on the lowest."""
FAN = 16
"""One of so many nodes of a layer stands on the next one."""
NONE = -1
ONE = np.uint64(1)
KEPT_SHARE = 4
"""A full node keeps all but a quarter of its links: so few additions find it full again."""
QUERY_STEPS = np.float32(32_767)
FARTHEST = np.float32(-4.0)
"""Less than any cosine: what was taken out is no answer, and no better way than any other node."""


@helper
def _codes_of(query: Float32, blocks: int) -> tuple[Int16, Float32]:
    """int16[b, 64] and float32[b]: a vector in steps of its blocks' own."""
    codes, scales = np.zeros((blocks, BLOCK), np.int16), np.empty(blocks, np.float32)
    for block in range(blocks):
        largest, first = np.float32(0.0), block * BLOCK
        for i in range(first, min(query.shape[0], first + BLOCK)):
            largest = max(largest, abs(query[i]))
        scale = largest / QUERY_STEPS if largest > 0 else np.float32(1.0)
        for i in range(first, min(query.shape[0], first + BLOCK)):
            codes[block, i - first] = np.int16(np.rint(query[i] / scale))
        scales[block] = scale
    return codes, scales


@helper
def _take_row(codes: Int8, scales: Float32, slot: int, of: Int16, of_scales: Float32) -> None:
    """A row as a query."""
    for block in range(of.shape[0]):
        for i in range(BLOCK):
            of[block, i] = np.int16(codes[slot, block, i])
        of_scales[block] = scales[slot, block]


@helper
def _put(near: Int32, values: Float32, found: int, slot: int, value: np.float32) -> int:
    """Put a slot among the best, best first; the place it got, -1 for none. `near` holds ``2 * slot + is_done``."""
    limit = near.shape[0]
    if found == limit and value <= values[limit - 1]:
        return -1
    low, high = 0, found
    while low < high:
        middle = (low + high) // 2
        if values[middle] >= value:
            low = middle + 1
        else:
            high = middle
    for at in range(min(found, limit - 1), low, -1):
        near[at], values[at] = near[at - 1], values[at - 1]
    near[low], values[low] = 2 * slot, value
    return low


@helper
def _is_gone(scales: Float32, slot: int) -> bool:
    """Whether a row was taken out: nothing is left of it."""
    left = np.float32(0.0)
    for block in range(scales.shape[1]):
        left = max(left, scales[slot, block])
    return left == 0.0


@helper
def _walk(
    codes: Int8,
    scales: Float32,
    query: Int16,
    query_scales: Float32,
    links: Int32,
    step: int,
    count: int,
    near: Int32,
    values: Float32,
    found: int,
    seen: UInt64,
) -> int:
    """Go on from the slots found to better ones on one layer, until none of the best has a neighbour that is not seen.

    `links` are the layer's, of every ``step``-th slot; slots from `count` on are not looked at.
    """
    fresh, first = np.empty(links.shape[1], np.int32), 0
    while first < found:
        if near[first] & 1:
            first += 1
            continue
        slot = near[first] >> 1
        near[first] |= 1
        n_fresh, row = 0, slot // step
        for i in range(links.shape[1]):
            other = links[row, i]
            if 0 <= other < count:
                word, bit = other >> 6, ONE << np.uint64(other & 63)
                if seen[word] & bit == 0:
                    seen[word] |= bit
                    fresh[n_fresh] = other
                    n_fresh += 1
                    fetch(codes, other)
        first += 1
        for i in range(n_fresh):
            other = fresh[i]
            value = dot(codes, scales, other, query, query_scales)
            if value == 0.0 and _is_gone(scales, other):
                value = FARTHEST
            at = _put(near, values, found, other, value)
            if at >= 0:
                found = min(found + 1, near.shape[0])
                first = min(first, at)
    return found


@helper
def _descend(
    codes: Int8,
    scales: Float32,
    query: Int16,
    query_scales: Float32,
    upper: Int32,
    bases: Int64,
    count: int,
    lowest: int,
    near: Int32,
    values: Float32,
    seen: UInt64,
) -> int:
    """The best slot of the layers above `lowest`, from the highest that has a second node; 1, how many there are."""
    near[0], values[0] = 0, dot(codes, scales, 0, query, query_scales)
    step, level = 1, 0
    while level + 1 < bases.shape[0] and count > step * FAN:
        level, step = level + 1, step * FAN
    one, its = near[:1], values[:1]
    while level > lowest:
        one[0] &= ~1
        moved = True
        while moved:
            moved = False
            row = bases[level] + (one[0] >> 1) // step
            for i in range(upper.shape[1]):
                other = upper[row, i]
                if 0 <= other < count:
                    value = dot(codes, scales, other, query, query_scales)
                    if value > its[0]:
                        one[0], its[0], moved = 2 * other, value, True
        level, step = level - 1, step // FAN
    seen[(one[0] >> 1) >> 6] |= ONE << np.uint64((one[0] >> 1) & 63)
    return 1


@helper
def _apart(
    codes: Int8,
    scales: Float32,
    near: Int32,
    values: Float32,
    found: int,
    most: int,
    room: Int16,
    room_scales: Float32,
    out: Int32,
) -> int:
    """Write up to `most` of the best that are nearer to the node than to any better one of them; return how many."""
    kept = 0
    for i in range(found):
        if kept == most:
            break
        slot, is_apart = near[i] >> 1, True
        _take_row(codes, scales, slot, room, room_scales)
        for j in range(kept):
            if dot(codes, scales, out[j], room, room_scales) > values[i]:
                is_apart = False
                break
        if is_apart:
            out[kept] = slot
            kept += 1
    return kept


@helper
def _link_back(
    codes: Int8, scales: Float32, links: Int32, row: int, slot: int, other: int,
    near: Int32, values: Float32, room: Int16, room_scales: Float32, chosen: Int32,
) -> None:  # fmt: skip
    """Link a node to another one; where it has no place left, its best links apart are kept."""
    width, free = links.shape[1], -1
    for i in range(width):
        if links[row, i] == NONE:
            free = i
            break
    if free >= 0:
        links[row, free] = other
        return
    _take_row(codes, scales, slot, room, room_scales)
    found = 0
    for i in range(width):
        value = dot(codes, scales, links[row, i], room, room_scales)
        if _put(near[: width + 1], values, found, links[row, i], value) >= 0:
            found += 1
    if (
        _put(near[: width + 1], values, found, other, dot(codes, scales, other, room, room_scales))
        >= 0
    ):
        found += 1
    kept = _apart(
        codes, scales, near, values, found, width - width // KEPT_SHARE, room, room_scales, chosen
    )
    for i in range(width):
        links[row, i] = chosen[i] if i < kept else NONE


@kernel(
    nb.void(READ_I8_3D, READ_F32_2D, I32_2D, I32_2D, READ_I64, nb.intp, nb.intp, nb.intp),
    nogil=True,
)
def insert(
    codes: Int8,
    scales: Float32,
    lowest: Int32,
    upper: Int32,
    bases: Int64,
    first: int,
    end: int,
    breadth: int,
) -> None:
    """Add the slots from `first` to `end`; those before are in the graph. See `search` for the arrays.

    `breadth`: how many slots are looked at for links (efConstruction).
    """
    blocks = codes.shape[1]
    query, query_scales = np.empty((blocks, BLOCK), np.int16), np.empty(blocks, np.float32)
    room, room_scales = np.empty((blocks, BLOCK), np.int16), np.empty(blocks, np.float32)
    near, values = np.empty(breadth, np.int32), np.empty(breadth, np.float32)
    some, their = np.empty(LOWEST_LINKS + 1, np.int32), np.empty(LOWEST_LINKS + 1, np.float32)
    chosen, mine = np.empty(LOWEST_LINKS + 1, np.int32), np.empty(LINKS, np.int32)
    seen = np.empty((end + 63) // 64, np.uint64)
    for slot in range(max(1, first), end):
        _take_row(codes, scales, slot, query, query_scales)
        top, step = 0, 1
        while top + 1 < bases.shape[0] and slot % (step * FAN) == 0:
            top, step = top + 1, step * FAN
        seen[:] = 0
        found = _descend(
            codes, scales, query, query_scales, upper, bases, slot, top, near, values, seen
        )
        for level in range(top, -1, -1):
            links = lowest if level == 0 else upper[bases[level] :]
            for i in range(found):
                near[i] &= ~1
            if level < top:
                seen[:] = 0
                for i in range(found):
                    seen[near[i] >> 7] |= ONE << np.uint64((near[i] >> 1) & 63)
            found = _walk(
                codes, scales, query, query_scales, links, step, slot, near, values, found, seen
            )
            kept = _apart(codes, scales, near, values, found, LINKS, room, room_scales, mine)
            for i in range(kept):
                links[slot // step, i] = mine[i]
            for i in range(kept):
                _link_back(
                    codes, scales, links, mine[i] // step, mine[i], slot,
                    some, their, room, room_scales, chosen,
                )  # fmt: skip
            step //= FAN


@kernel(
    nb.intp(
        *(READ_I8_3D, READ_F32_2D, READ_I32_2D, READ_I32_2D, READ_I64),
        *(nb.intp, READ_F32, I32, F32),
    ),
    nogil=True,
)
def search(
    codes: Int8,
    scales: Float32,
    lowest: Int32,
    upper: Int32,
    bases: Int64,
    count: int,
    query: Float32,
    slots: Int32,
    values: Float32,
) -> int:
    """Write about the nearest of the first `count` slots to a vector, float32[<= 64 b], best first; return how many.

    As many are looked for as there is room: the more, the surer the first ones.
    """
    if count == 0 or slots.shape[0] == 0:
        return 0
    wanted, wanted_scales = _codes_of(query, codes.shape[1])
    seen = np.zeros((count + 63) // 64, np.uint64)
    found = _descend(
        codes, scales, wanted, wanted_scales, upper, bases, count, 0, slots, values, seen
    )
    slots[0] &= ~1
    found = _walk(
        codes, scales, wanted, wanted_scales, lowest, 1, count, slots, values, found, seen
    )
    for i in range(found):
        slots[i] >>= 1
    return found
