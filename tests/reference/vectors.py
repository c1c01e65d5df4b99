"""How vectors are searched, in plain Python: the specification of `kernels_vectors`.

A vector is kept as int8 codes, one float32 scale for every 64 of them, and one sign bit a dimension. The codes give
the dot product to about 1 in 1,000; the signs, taken after a centre was subtracted, only an order (random hyperplanes:
Charikar, "Similarity estimation techniques from rounding algorithms", 2002, with the axes as hyperplanes).

Where everything lies: messages have numbers (`seq`), vectors lie in slots, a caller names messages; the *place* of a
message is where in the array it is named.
"""

from __future__ import annotations

import math

import numpy as np

from backscroll_scoring.arrays import Float32, Int8, Int32, Int64, UInt64
from backscroll_scoring.intrinsics import BLOCK
from backscroll_scoring.kernels_vectors import (
    CLEAR,
    EXACT,
    EXACT_TIMES,
    INEXACT,
    NO_DIRECTION,
    NO_SLOT,
    QUERY_STEPS,
    UNKNOWN,
)


def unit_vector(query: Float32, dims: int) -> list[float] | None:
    """The query with length 1 and zeros up to ``dims``; None when it is zero, not finite or longer."""
    values = [float(value) for value in query]
    largest = max((abs(value) for value in values), default=0.0)
    if not all(map(math.isfinite, values)) or largest == 0 or len(values) > dims:
        return None
    length = math.sqrt(sum((value / largest) ** 2 for value in values))
    return [value / largest / length for value in values] + [0.0] * (dims - len(values))


def dot(codes: Int8, scales: Float32, slot: int, unit: list[float]) -> float:
    """Sum over blocks of (sum of code times code of the query) times both scales; the query's codes have 16 bits."""
    total = 0.0
    for block, scale in enumerate(scales[slot].tolist()):
        part = unit[block * BLOCK : (block + 1) * BLOCK]
        step = max(map(abs, part)) / float(QUERY_STEPS) or 1.0
        pairs = zip(codes[slot, block].tolist(), part, strict=True)
        total += sum(code * round(value / step) for code, value in pairs) * scale * step
    return total


def slots_of(seqs: Int64, slot_of: Int32, n: int) -> dict[int, int]:
    """From place to slot, of the messages that have a vector below slot ``n``; ascending."""
    known = {}
    for place, seq in enumerate(seqs.tolist()):
        slot = int(slot_of[seq]) if 0 <= seq < len(slot_of) else NO_SLOT
        if NO_SLOT < slot < n:
            known[place] = slot
    return known


def sign_distances(
    planes: UInt64, slots: dict[int, int], unit: list[float], centre: Float32, dims: int
) -> dict[int, int]:
    """By place: how many of the slot's sign bits are not the query's, of those in which the query's are clear.

    Bit i: whether value i is above the centre's. Clear: further away from it than `CLEAR` of the mean.
    """
    away = [value - float(middle) for value, middle in zip(unit, centre, strict=True)]
    mean = sum(map(abs, away)) / dims
    clear = [(i, x > 0) for i, x in enumerate(away) if abs(x) > CLEAR * mean]
    return {
        place: sum(_bit(planes[i], slot) != above for i, above in clear)
        for place, slot in slots.items()
    }


def _bit(plane: UInt64, slot: int) -> int:
    return int(plane[slot // BLOCK]) >> slot % BLOCK & 1


def looked_at(distances: dict[int, int], limit: int) -> list[int]:
    """The places whose signs differ least, ascending.

    Whole distances are taken while their rows fit ``limit``, so that no order of rows decides; all rows of the first
    distance that has any, however many.
    """
    near: list[int] = []
    for distance in sorted(set(distances.values())):
        same = [place for place, its in distances.items() if its == distance]
        if near and len(near) + len(same) > limit:
            break
        near += same
    return sorted(near)


def expected(
    distances: dict[int, int], near: list[int], exact: dict[int, float]
) -> dict[int, float]:
    """What is not looked at, estimated: a falling line of the distance, fitted to the rest, and never above that."""
    x_mean = sum(distances[place] for place in near) / len(near)
    y_mean = sum(exact[place] for place in near) / len(near)
    spread = sum((distances[place] - x_mean) ** 2 for place in near)
    together = sum((distances[place] - x_mean) * exact[place] for place in near)
    slope, lowest = min(0.0, together / max(spread, 1.0)), min(exact.values())
    return {
        place: min(max(y_mean + slope * (distance - x_mean), -1.0), lowest)
        for place, distance in distances.items()
    }


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
        they are not more than `EXACT_TIMES` ``least``.
    out : int32[k], values : float32[k], output
        Places of the most similar and their cosines, best first, of equal ones the later place.

    Returns
    -------
    status, found : int
        EXACT when all were looked at, INEXACT, or NO_DIRECTION; and how many of `out` count.
    """
    _, exact, status, _ = _looked(codes, scales, planes, centre, slot_of, query, seqs, least, share)
    order = sorted(exact, key=lambda place: (np.float32(exact[place]), place), reverse=True)
    order = order[: len(out)]
    out[: len(order)] = np.array(order, np.int32)
    values[: len(order)] = np.array([exact[place] for place in order], np.float32)
    return status, len(order)


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

    values : float32[m], output
        Cosines: exact of those looked at, estimated of others, NaN without a vector.

    Returns
    -------
    status, known : int
        As in `nearest`; and how many messages have a vector.
    """
    every, exact, status, distances = _looked(
        codes, scales, planes, centre, slot_of, query, seqs, least, share
    )
    if status == NO_DIRECTION:
        return status, 0
    values[:] = UNKNOWN
    estimated = {} if status == EXACT else expected(distances, list(exact), exact)
    for place in every:
        values[place] = exact.get(place, estimated.get(place, 0.0))
    return status, len(every)


def _looked(
    codes: Int8,
    scales: Float32,
    planes: UInt64,
    centre: Float32,
    slot_of: Int32,
    query: Float32,
    seqs: Int64,
    least: int,
    share: float,
) -> tuple[dict[int, int], dict[int, float], int, dict[int, int]]:
    """Slots by place, the cosines of those looked at, the status, and the distances of all where it is INEXACT."""
    unit = unit_vector(query, codes.shape[1] * BLOCK)
    if unit is None:
        return {}, {}, NO_DIRECTION, {}
    slots, distances = slots_of(seqs, slot_of, len(codes)), {}
    near = list(slots)
    if len(planes) and len(slots) > EXACT_TIMES * least:
        distances = sign_distances(planes, slots, unit, centre, len(query))
        near = looked_at(distances, max(least, int(len(slots) * share)))
    exact = {place: dot(codes, scales, slots[place], unit) for place in near}
    return slots, exact, EXACT if len(near) == len(slots) else INEXACT, distances
