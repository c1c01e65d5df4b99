"""Keeps the values that were asked for last, as many as fit. Local to one process; nothing waits for it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Kept(Generic[K, V]):
    """At most `most` values, of at most `most_size` together as `size_of` tells; what is larger is not kept."""

    def __init__(self, most: int, most_size: int, size_of: Callable[[V], int]) -> None:
        self._most = most
        self._most_size = most_size
        self._size_of = size_of
        self._values: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self.size = 0

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: K) -> V | None:
        """The value, which is the newest from now on."""
        found = self._values.get(key)
        if found is None:
            return None
        self._values.move_to_end(key)
        return found[0]

    def put(self, key: K, value: V) -> None:
        """Keep a value; those go that were not asked for longest."""
        self.drop(key)
        size = self._size_of(value)
        if size > self._most_size:
            return
        self._values[key] = value, size
        self.size += size
        while len(self._values) > self._most or self.size > self._most_size:
            self.drop(next(iter(self._values)))

    def drop(self, key: K) -> None:
        """Keep it no more."""
        found = self._values.pop(key, None)
        if found is not None:
            self.size -= found[1]

    def drop_where(self, is_meant: Callable[[K], bool]) -> None:
        """Keep none of these any more."""
        for key in [key for key in self._values if is_meant(key)]:
            self.drop(key)
