"""Numbers since the start and of the last hour, by minute: added to on the event loop, read from any thread."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from typing import Generic, Protocol, Self, TypeVar

MINUTES = 60
"""What "the last hour" is made of: the running minute and those before it."""
SECONDS = 60.0


class Addable(Protocol):
    """Numbers that add up."""

    def add(self, other: Self) -> None:
        """Take those of `other` on top."""


K = TypeVar("K", bound=Hashable)
T = TypeVar("T", bound=Addable)


class Minutes(Generic[K, T]):
    """Tallies by label. An addition goes to the running minute alone; sums are made when somebody asks.

    Times are seconds on the clock of `Clock.monotonic_s`. What a reader in another thread sees of the running minute
    may lack the event that is being added.

    Parameters
    ----------
    new : makes an empty tally.
    """

    def __init__(self, new: Callable[[], T]) -> None:
        self._new = new
        self._until_s = -math.inf
        self._running: dict[K, T] = {}
        self._known: tuple[dict[K, T], list[tuple[int, dict[K, T]]]] = {}, []
        """Sums of what is older than an hour, and the minutes since then. Replaced as a whole, never changed."""

    def tally(self, label: K, now_s: float) -> T:
        """That of a label in the running minute, to be added to."""
        if now_s >= self._until_s:
            self._turn(now_s)
        found = self._running.get(label)
        if found is None:
            found = self._running[label] = self._new()
        return found

    def since_start(self) -> dict[K, T]:
        """Sums by label."""
        older, minutes = self._known
        return self._sums([older, *(tallies for _, tallies in minutes)])

    def last_hour(self, now_s: float) -> dict[K, T]:
        """Sums by label of the running minute and the 59 before it."""
        first = _minute(now_s) - MINUTES + 1
        return self._sums([tallies for minute, tallies in self._known[1] if minute >= first])

    def by_minute(self, now_s: float, count: int) -> list[tuple[float, dict[K, T]]]:
        """Sums by label of each of the last minutes, the oldest first, with the moment when it began."""
        running = _minute(now_s)
        found = dict(self._known[1])
        every = range(running - min(count, MINUTES) + 1, running + 1)
        return [(one * SECONDS, self._sums([found.get(one, {})])) for one in every]

    def _turn(self, now_s: float) -> None:
        """Another minute begins; what is older than an hour becomes one sum."""
        minute = _minute(now_s)
        self._until_s = (minute + 1) * SECONDS
        older, minutes = self._known
        gone = [tallies for at, tallies in minutes if at <= minute - MINUTES]
        if gone:
            older = self._sums([older, *gone])
        kept = [one for one in minutes if one[0] > minute - MINUTES]
        self._running = {}
        self._known = older, [*kept, (minute, self._running)]

    def _sums(self, of: list[dict[K, T]]) -> dict[K, T]:
        found: dict[K, T] = {}
        for tallies in of:
            for label, tally in list(tallies.items()):  # the loop may add a label meanwhile
                if label not in found:
                    found[label] = self._new()
                found[label].add(tally)
        return found


def _minute(now_s: float) -> int:
    return int(now_s // SECONDS)
