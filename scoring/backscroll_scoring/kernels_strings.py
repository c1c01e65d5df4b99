"""The compiled table of numbered strings.

The bytes of all strings stand behind each other in `data`; string i is ``data[ends[i] : ends[i + 1]]``. `slots` is a
hash table with open addressing: a slot holds a number or `EMPTY`, its length is a power of two, at most two thirds of
it are used. A writer enters the bytes first, then the end, the slot last; a reader passes over numbers that its view
does not have: no lock.
"""

from __future__ import annotations

import numba as nb

from .arrays import Int32, Int64, UInt8
from .compile import I32, I64, READ_BYTES, READ_I32, READ_U8, U8, helper, kernel
from .layout import EMPTY, UNKNOWN

PRIME = 16_777_619
LOW_BITS = 0xFFFFFFFF


@helper
def _hash(string: UInt8 | bytes, start: int, end: int, seed: int) -> int:
    h = seed
    for k in range(start, end):
        h = ((h ^ int(string[k])) * PRIME) & LOW_BITS
    h ^= h >> 16
    h = (h * 0x7FEB352D) & LOW_BITS
    return h ^ (h >> 15)


@helper
def _is_same(
    data: UInt8, start: int, end: int, other: UInt8 | bytes, other_start: int, size: int
) -> bool:
    if end - start != size:
        return False
    same = 0
    while same < size and data[start + same] == other[other_start + same]:
        same += 1
    return same == size


@helper
def _find(
    data: UInt8,
    ends: Int32,
    slots: Int32,
    count: int,
    seed: int,
    sought: UInt8 | bytes,
    start: int,
    end: int,
) -> int:
    last = slots.shape[0] - 1
    place = _hash(sought, start, end, seed) & last
    for _ in range(slots.shape[0]):
        number = slots[place]
        if number == EMPTY:
            break
        if number < count and _is_same(
            data, ends[number], ends[number + 1], sought, start, end - start
        ):
            return number
        place = (place + 1) & last
    return UNKNOWN


@kernel(nb.intp(READ_U8, READ_I32, READ_I32, nb.intp, nb.intp, READ_BYTES))
def find_string(
    data: UInt8, ends: Int32, slots: Int32, count: int, seed: int, sought: bytes
) -> int:
    """Return the number of a string, `UNKNOWN` where it is none of the first `count`."""
    return _find(data, ends, slots, count, seed, sought, 0, len(sought))


@kernel(
    nb.intp(READ_U8, READ_I32, READ_I32, nb.intp, nb.intp, READ_BYTES, nb.intp, I32, I32),
    nogil=True,
)
def find_strings(
    data: UInt8,
    ends: Int32,
    slots: Int32,
    count: int,
    seed: int,
    sought: bytes,
    between: int,
    out: Int32,
    ascending: Int32,
) -> int:
    """Write the numbers of k sought strings to ``out``, and in ascending order.

    ``between`` is a byte that none of them has: it stands between each two. In ``ascending``, which is as long or
    empty, each unknown string has a negative number of its own, below `UNKNOWN`; it costs the square of k, so it is
    for the few words of a question.
    """
    start = unknown = 0
    for i in range(out.shape[0]):
        end = start
        while end < len(sought) and sought[end] != between:
            end += 1
        number = _find(data, ends, slots, count, seed, sought, start, end)
        out[i] = number
        start = min(end + 1, len(sought))
        if ascending.shape[0] == 0:
            continue
        if number == UNKNOWN:
            unknown += 1
            number = UNKNOWN - unknown
        hole = i
        while hole > 0 and ascending[hole - 1] > number:
            ascending[hole] = ascending[hole - 1]
            hole -= 1
        ascending[hole] = number
    return out.shape[0]


@kernel(
    nb.intp(U8, I32, I32, I64, nb.intp, READ_U8, READ_I32, nb.intp, I32),
    nogil=True,
)
def number_strings(
    data: UInt8,
    ends: Int32,
    slots: Int32,
    used: Int64,
    seed: int,
    given: UInt8,
    given_ends: Int32,
    first: int,
    out: Int32,
) -> int:
    """Number strings from `first` on; one that is not known gets the next number, ``used[0]``, int64[1].

    Returns where it stopped: before the end when `data`, `ends` or `slots` have no room for the next new string.
    """
    last = slots.shape[0] - 1
    for i in range(first, given_ends.shape[0] - 1):
        start, end = given_ends[i], given_ends[i + 1]
        size = end - start
        place = _hash(given, start, end, seed) & last
        number = slots[place]
        while number != EMPTY and not _is_same(
            data, ends[number], ends[number + 1], given, start, size
        ):
            place = (place + 1) & last
            number = slots[place]
        if number == EMPTY:
            count = int(used[0])
            here = ends[count]
            if (
                count + 2 > ends.shape[0]
                or here + size > data.shape[0]
                or 3 * (count + 1) > 2 * slots.shape[0]
            ):
                return i
            for k in range(size):
                data[here + k] = given[start + k]
            ends[count + 1] = here + size
            used[0] = count + 1
            number = count
            slots[place] = number  # last: a reader that sees it sees the string
        out[i] = number
    return given_ends.shape[0] - 1


@kernel(nb.intp(READ_U8, READ_I32, I32, nb.intp, nb.intp), nogil=True)
def enter_slots(data: UInt8, ends: Int32, slots: Int32, count: int, seed: int) -> int:
    """Enter the first `count` strings, all different, into empty `slots`."""
    last = slots.shape[0] - 1
    for number in range(count):
        place = _hash(data, ends[number], ends[number + 1], seed) & last
        while slots[place] != EMPTY:
            place = (place + 1) & last
        slots[place] = number
    return count
