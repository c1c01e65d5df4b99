"""How long work on the event loop may go on, and which of several batches goes first.

Predicted microseconds are counted, not measured ones: the same input is cut in the same places on every machine.
"""

from __future__ import annotations

import asyncio
from types import TracebackType

SLICE_US = 500
TURN_US = 4_000


class LoopSlices:
    """Gives the event loop back after each half millisecond of predicted work."""

    def __init__(self) -> None:
        self._spent_us = 0.0

    def takes(self, cost_us: float) -> bool:
        """Account for work about to be done; False: it begins the next slice, and the caller yields first."""
        self._spent_us += cost_us
        if self._spent_us <= SLICE_US:
            return True
        self._spent_us = cost_us
        return False

    async def spend(self, cost_us: float) -> None:
        """Account for work about to be done; yield first when it would make the slice too long."""
        if not self.takes(cost_us):
            await asyncio.sleep(0)


class Lane:
    """Lets one batch work at a time. Belongs to one event loop.

    Slices alone do not do: sixteen batches that each work half a millisecond make everybody else wait for eight, and
    they all end at the same time, so that the store idles first and they all wait for it afterwards. In a lane a batch
    works in slices for up to `TURN_US`, then the next one does. What fits one slice does not stand in line at all.
    """

    def __init__(self) -> None:
        self._lock = asyncio.Lock()

    def turn(self) -> Turn:
        """One batch's use of the lane: a context manager."""
        return Turn(self._lock)


class Turn:
    """See `Lane`. `spend` before each piece of work."""

    def __init__(self, lock: asyncio.Lock) -> None:
        self._lock = lock
        self._held = False
        self._slice_us = 0.0
        self._turn_us = 0.0

    def takes(self, cost_us: float) -> bool:
        """Account for work about to be done; False: not before `pause`."""
        self._slice_us += cost_us
        self._turn_us += cost_us
        return self._slice_us <= SLICE_US

    async def spend(self, cost_us: float) -> None:
        """Account for work about to be done; pause when it is time."""
        if not self.takes(cost_us):
            await self.pause(cost_us)

    async def pause(self, cost_us: float) -> None:
        """Yield, or let another batch go first; what is done then costs so much."""
        if not self._held or self._turn_us > TURN_US:
            self.leave()
        await asyncio.sleep(0)  # also when the lane is free: acquiring it would not yield
        if not self._held:
            await self._lock.acquire()
            self._held = True
            self._turn_us = cost_us
        self._slice_us = cost_us

    def leave(self) -> None:
        """Let the next batch work; the next `spend` that needs it stands in line again."""
        if self._held:
            self._held = False
            self._lock.release()

    def __enter__(self) -> Turn:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.leave()
