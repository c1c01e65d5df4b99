"""Numbered strings in plain Python: what the kernels of `kernels_strings` compute, written to be read.

The bytes of all strings stand behind each other in `data`; string i is ``data[ends[i] : ends[i + 1]]``. `slots` is a
hash table with open addressing: a slot holds a number or `EMPTY`, its length is a power of two, at most two thirds of
it are used. A writer enters the bytes first, then the end, the slot last; a reader passes over numbers that its view
does not have: no lock.
"""

from __future__ import annotations

from backscroll_scoring.arrays import Int32, Int64, UInt8
from backscroll_scoring.layout import EMPTY, UNKNOWN

PRIME = 16_777_619
LOW_BITS = 0xFFFFFFFF


def hash_of(string: bytes, seed: int) -> int:
    """FNV-1a of 32 bits that begins with `seed`, its bits mixed once more at the end."""
    h = seed
    for byte in string:
        h = ((h ^ byte) * PRIME) & LOW_BITS
    h ^= h >> 16
    h = (h * 0x7FEB352D) & LOW_BITS
    return h ^ (h >> 15)


def string_at(data: UInt8, ends: Int32, number: int) -> bytes:
    """The bytes of one string."""
    return data[ends[number] : ends[number + 1]].tobytes()


def find_string(
    data: UInt8, ends: Int32, slots: Int32, count: int, seed: int, sought: bytes
) -> int:
    """Return the number of a string, `UNKNOWN` where it is none of the first `count`."""
    place = hash_of(sought, seed)
    for step in range(len(slots)):
        number = int(slots[(place + step) % len(slots)])
        if number == EMPTY:
            break
        if number < count and string_at(data, ends, number) == sought:
            return number
    return UNKNOWN


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
    """Write the numbers of k sought strings to ``out``, as `find_string` gives them, and in ascending order.

    ``between`` is a byte that none of them has: it stands between each two. In ``ascending``, which is as long or
    empty, each unknown string has a negative number of its own, below `UNKNOWN`; it costs the square of k, so it is
    for the few words of a question.
    """
    for i, string in zip(range(len(out)), sought.split(bytes([between])), strict=False):
        out[i] = find_string(data, ends, slots, count, seed, string)
    known = sorted(number for number in out.tolist() if number != UNKNOWN)
    unknown = len(out) - len(known)
    if len(ascending):
        ascending[:] = [*range(UNKNOWN - unknown, UNKNOWN), *known]
    return len(out)


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
    """The same from string `first` on for a writer: a string that is not known gets the next number.

    Parameters
    ----------
    used : int64[1], written
        How many strings there are.

    Returns
    -------
    int
        Where it stopped: before the end when `data`, `ends` or `slots` have no room for the next new string.
    """
    for i in range(first, len(given_ends) - 1):
        string = string_at(given, given_ends, i)
        place = hash_of(string, seed) % len(slots)
        count = int(used[0])
        while (number := int(slots[place])) != EMPTY and string_at(data, ends, number) != string:
            place = (place + 1) % len(slots)
        if number == EMPTY:
            end = int(ends[count]) + len(string)
            if count + 2 > len(ends) or end > len(data) or 3 * (count + 1) > 2 * len(slots):
                return i
            data[ends[count] : end] = list(string)
            ends[count + 1] = end
            used[0] = count + 1
            slots[place] = number = count
        out[i] = number
    return len(given_ends) - 1


def enter_slots(data: UInt8, ends: Int32, slots: Int32, count: int, seed: int) -> int:
    """Enter the first `count` strings, all different, into empty `slots`."""
    for number in range(count):
        place = hash_of(string_at(data, ends, number), seed) % len(slots)
        while slots[place] != EMPTY:
            place = (place + 1) % len(slots)
        slots[place] = number
    return count
