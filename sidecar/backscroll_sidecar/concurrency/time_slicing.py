"""How long work on the event loop may go on, and who goes on when many could: batches in a lane, calls at a pace.

Predicted microseconds are counted, not measured ones: the same input is cut in the same places on every machine.
"""

from __future__ import annotations

import asyncio
from collections import deque
from types import TracebackType

SLICE_US = 500
TURN_US = 4_000
ROUNDS = 12
"""Rounds of the loop from one call's turn to the next, where there is a line. A round with nothing to do takes 30 µs.

The worst health check while 1,000 streams were opened and read: with 6 rounds .3 and .6 s, with 12 .18 to .23 s.
"""


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

    def turn(self) -> LaneTurn:
        """One batch's use of the lane: a context manager."""
        return LaneTurn(self._lock)


class LaneTurn:
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

    def __enter__(self) -> LaneTurn:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.leave()


class Pacer:
    """Lets one task go on every `ROUNDS` rounds of the event loop; the others wait in line. Belongs to one loop.

    With 1,000 streams hundreds of tasks can go on at once, to build, to call the model or to pass on what it said, .2
    to 2 ms each. In one round of the loop they would hold it for seconds. gRPC accepts one call in some three rounds.

    Whoever finds no line goes on at once: where there is no crowd, nothing waits.
    """

    def __init__(self) -> None:
        self._line: deque[asyncio.Future[None]] = deque()
        self._rest = 0

    async def wait(self) -> float:
        """Return when it is this task's turn; how long that took, in seconds."""
        loop = asyncio.get_running_loop()
        if not self._rest:
            self._begin(loop)
            return 0.0
        came_s = loop.time()
        turn = loop.create_future()
        self._line.append(turn)
        await turn
        return loop.time() - came_s

    def _begin(self, loop: asyncio.AbstractEventLoop) -> None:
        self._rest = ROUNDS
        loop.call_soon(self._next_round, loop)

    def _next_round(self, loop: asyncio.AbstractEventLoop) -> None:
        self._rest -= 1
        if self._rest:
            loop.call_soon(self._next_round, loop)
            return
        while self._line:
            turn = self._line.popleft()
            if not turn.done():  # who was cancelled meanwhile stands in line no more
                turn.set_result(None)
                self._begin(loop)
                return
