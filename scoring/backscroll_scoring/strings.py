"""Distinct strings and their numbers, without a Python object a string. Appended to while it is read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np

from . import kernels_strings
from .arrays import Int32, UInt8
from .layout import BETWEEN, EMPTY, UNKNOWN

_MIN_STRINGS, _MIN_BYTES = 16, 128
_MIN_SLOTS = 32
_BETWEEN = bytes([BETWEEN])
_SEEDS = np.random.default_rng()
"""One for all tables: to make a generator takes ten times what a number of it takes. It locks itself."""


@dataclass(frozen=True, slots=True, eq=False)
class Slots:
    """Where strings stand in the hash table of a `StringTable` that holds these alone: to work it out takes a while.

    Attributes
    ----------
    table : int32[2^b]
        Open addressing: a slot holds the number of a string or `EMPTY`; at most two thirds are used.
    seed : int
        What the hash begins with, 0 to 2^32 - 1.
    """

    table: Int32
    seed: int

    def fit(self, count: int) -> bool:
        """Whether they could be those of `count` strings: each has one place, and whoever looks for one stops.

        That each stands where its hash says is not looked at.
        """
        size = len(self.table)
        return (
            size == _slots_for(count)
            and self.table.min() >= EMPTY
            and self.table.max() < count
            and bool((np.bincount(self.table[self.table >= 0], minlength=count) == 1).all())
            and 0 <= self.seed < 1 << 32
        )


@dataclass(frozen=True, slots=True, eq=False)
class Packed:
    """k strings as UTF-8: string i is ``data[ends[i] : ends[i + 1]]``.

    Attributes
    ----------
    data : uint8[]
    ends : int32[k + 1]
        Ascending from 0.
    slots : Slots, optional
        Of these strings, none of which comes twice.
    """

    data: UInt8
    ends: Int32
    slots: Slots | None = None

    @classmethod
    def of(cls, strings: Iterable[str]) -> Packed:
        """Encode strings."""
        encoded = [string.encode("utf-8", "surrogatepass") for string in strings]
        ends = np.array([0, *accumulate(map(len, encoded))], np.int32)
        return cls(np.frombuffer(b"".join(encoded), np.uint8), ends)

    def with_slots(self) -> Packed:
        """The same strings, all different, with their slots."""
        table = StringTable()
        table.reserve([self])
        table.add(self, distinct=True)
        view = table.view()
        return Packed(self.data, self.ends, Slots(view.slots, view.seed))

    def __len__(self) -> int:
        return len(self.ends) - 1

    def __iter__(self) -> Iterator[str]:
        data, ends = self.data.tobytes(), self.ends.tolist()
        return (data[start:end].decode("utf-8", "surrogatepass") for start, end in pairwise(ends))

    def take(self, numbers: Int32) -> Packed:
        """The strings with these numbers, in this order. No Python object a string."""
        starts, lengths = self.ends[numbers], np.diff(self.ends)[numbers]
        ends = np.zeros(len(numbers) + 1, np.int32)
        np.cumsum(lengths, out=ends[1:])
        places = np.arange(ends[-1], dtype=np.int32) + np.repeat(starts - ends[:-1], lengths)
        return Packed(self.data[places], ends)


@dataclass(frozen=True, slots=True, eq=False)
class StringsView:
    """The first `count` strings of a table, whatever comes later."""

    data: UInt8
    ends: Int32
    slots: Int32
    count: int
    seed: int

    def __getitem__(self, number: int) -> str:
        start, end = self.ends.item(number), self.ends.item(number + 1)
        return self.data[start:end].tobytes().decode("utf-8", "surrogatepass")

    def find(self, string: str) -> int:
        """The number of a string, -1 when it has none. A sixth of what `numbers` costs at all."""
        sought = string.encode("utf-8", "surrogatepass")
        number: int = kernels_strings.find_string(
            self.data, self.ends, self.slots, self.count, self.seed, sought
        )
        return number

    def numbers(self, strings: Sequence[str]) -> Int32:
        """int32[k]: the number of each string, -1 for those that have none. One pass for all."""
        return self._find(strings, np.empty(0, np.int32))

    def looked_up(self, strings: Sequence[str]) -> tuple[Int32, Int32]:
        """int32[k] twice: `numbers`, and the same ascending, each string that has none with a negative number, below
        -1, of its own. For few strings: O(k^2).
        """
        ascending = np.empty(len(strings), np.int32)
        return self._find(strings, ascending), ascending

    def _find(self, strings: Sequence[str], ascending: Int32) -> Int32:
        sought, between = _in_a_row(strings)
        out = np.empty(len(strings), np.int32)
        kernels_strings.find_strings(
            *(self.data, self.ends, self.slots, self.count, self.seed),
            *(sought, between, out, ascending),
        )
        return out

    def packed(self) -> Packed:
        """All of them."""
        ends = self.ends[: self.count + 1]
        return Packed(self.data[: ends.item(-1)], ends)


def _in_a_row(strings: Sequence[str]) -> tuple[bytes, int]:
    """Strings as UTF-8 one behind the other, and the byte between them, which none of them has."""
    joined = "\0".join(strings)  # what people write has none; one encoding for all
    if joined.count("\0") == len(strings) - 1:
        try:
            return joined.encode(), 0
        except UnicodeEncodeError:  # lone surrogates
            pass
    return _BETWEEN.join([one.encode("utf-8", "surrogatepass") for one in strings]), BETWEEN


class StringTable:
    """Numbers strings from 0 in the order in which they come. One writer, any number of readers, no lock.

    Growing moves everything to larger arrays; what readers hold stays as it was. The hash begins with a number drawn
    at random, so that nobody can write strings that collide; it decides where a string stands, never its number.
    """

    __slots__ = ("_data", "_ends", "_seed", "_slots", "_used")

    def __init__(self) -> None:
        self._data = np.zeros(_MIN_BYTES, np.uint8)
        self._ends = np.zeros(_MIN_STRINGS + 1, np.int32)
        self._slots = np.full(_MIN_SLOTS, EMPTY, np.int32)
        self._used = np.zeros(1, np.int64)
        self._seed = int(_SEEDS.integers(1 << 32))

    def __len__(self) -> int:
        return self._used.item(0)

    @property
    def nbytes(self) -> int:
        """Bytes held, spare capacity included."""
        return self._data.nbytes + self._ends.nbytes + self._slots.nbytes

    def view(self) -> StringsView:
        """What is there now."""
        return StringsView(self._data, self._ends, self._slots, len(self), self._seed)

    def add(self, given: Packed, *, distinct: bool = False) -> Int32:
        """int32[k]: the numbers of these strings; new ones get the next. Amortised O(bytes).

        An empty table takes `distinct` strings, of which none comes twice, as they are: a quarter of the time, and
        less when their slots are known and as many as its own.

        Raises
        ------
        OverflowError
            More than 2 GiB of strings.
        """
        if distinct and not len(self):
            return self._begin(given)
        out = np.empty(len(given), np.int32)
        done = 0
        while done < len(given):
            done = kernels_strings.number_strings(
                *(self._data, self._ends, self._slots, self._used, self._seed),
                *(given.data, given.ends, done, out),
            )
            if done < len(given):
                self._grow(given.ends.item(done + 1) - given.ends.item(done))
        return out

    def _begin(self, given: Packed) -> Int32:
        count, size = len(given), given.ends.item(-1)
        if count >= len(self._ends) or size > len(self._data) or 3 * count > 2 * len(self._slots):
            self._move(count, size)
        self._data[:size] = given.data[:size]
        self._ends[: count + 1] = given.ends
        if given.slots is not None and len(given.slots.table) == len(self._slots):
            self._slots, self._seed = given.slots.table.copy(), given.slots.seed
        else:
            kernels_strings.enter_slots(self._data, self._ends, self._slots, count, self._seed)
        self._used[0] = count
        return np.arange(count, dtype=np.int32)

    def reserve(self, given: Sequence[Packed]) -> None:
        """Make room for these strings, as if all of them were new, and no more."""
        more, size = sum(map(len, given)), sum(one.ends.item(-1) for one in given)
        self._move(len(self) + more, self._bytes + size)

    def trim(self) -> None:
        """Give spare capacity back."""
        if len(self) + 1 < len(self._ends) or self._bytes < len(self._data):
            self._move(len(self), self._bytes)

    @property
    def _bytes(self) -> int:
        return self._ends.item(len(self))

    def _grow(self, next_bytes: int) -> None:
        """By a half, and at least so that the next string has room."""
        count, used = len(self), self._bytes
        strings = count + max(_MIN_STRINGS, count // 2)
        self._move(strings, used + max(_MIN_BYTES, used // 2, next_bytes))

    def _move(self, strings: int, size: int) -> None:
        """To arrays with room for so many: what readers hold is another set."""
        if size > np.iinfo(np.int32).max:
            raise OverflowError("a table of strings holds 2 GiB at most")
        count = len(self)
        data, ends = np.zeros(size, np.uint8), np.zeros(strings + 1, np.int32)
        data[: self._bytes] = self._data[: self._bytes]
        ends[: count + 1] = self._ends[: count + 1]
        room = _slots_for(strings)
        if room == len(self._slots):
            slots = self._slots.copy()  # the same strings at the same places
        else:
            slots = np.full(room, EMPTY, np.int32)
            kernels_strings.enter_slots(data, ends, slots, count, self._seed)
        self._data, self._ends, self._slots = data, ends, slots


def _slots_for(strings: int) -> int:
    return 1 << (3 * strings // 2).bit_length()


__all__ = ["UNKNOWN", "Packed", "Slots", "StringTable", "StringsView"]
