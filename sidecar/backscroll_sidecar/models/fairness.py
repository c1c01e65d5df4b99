"""Who goes on when many could: streams take turns, so that every other call gets through between them (law 9).

Two things get long without it. A round of the event loop, when 1,000 streams have something to pass on at once, .2 ms
each. And the line of gRPC's own events: grpc.aio wakes the loop by one byte an event and takes one byte a round, so
where a round makes more than one event on average its pipe fills, and then new calls, health checks among them, wait
behind the sends of all streams (measured: over 30 s, when gRPC gives them up).
"""

from __future__ import annotations

import asyncio
from collections import deque

ROUNDS = 2
"""Rounds of the loop from one turn to the next, where there is a line. A round with nothing to do takes 30 µs."""


class Turns:
    """Lets one task go on every `ROUNDS` rounds of the event loop; the others wait in line. Belongs to one loop.

    Whoever finds no line goes on at once: where there is no crowd, nothing waits.
    """

    def __init__(self) -> None:
        self._line: deque[asyncio.Future[None]] = deque()
        self._rest = 0

    async def take(self) -> None:
        """Return when it is this task's turn."""
        loop = asyncio.get_running_loop()
        if not self._rest:
            self._begin(loop)
            return
        turn = loop.create_future()
        self._line.append(turn)
        await turn

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
