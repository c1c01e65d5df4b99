"""Who goes on when many could: heavy steps take turns, so that every other call gets through between them.

With 1,000 streams hundreds of tasks can go on at once: to build, to call the model, to pass on what it said, .2 to 2 ms
each. All in one round of the event loop they hold it for seconds; and gRPC accepts one call in some three rounds, so
that a health check waits for as many rounds as there are new calls before it.
"""

from __future__ import annotations

import asyncio
from collections import deque

ROUNDS = 12
"""Rounds of the loop from one turn to the next, where there is a line. A round with nothing to do takes 30 µs.

The worst health check while 1,000 streams were opened and read, one run each on a machine shared with other work: with
6 rounds .3 and .6 s, with 12 rounds .18 to .23 s. Runs with fewer rounds were slower, but the host disturbed them.
"""


class Pacer:
    """Lets one task go on every `ROUNDS` rounds of the event loop; the others wait in line. Belongs to one loop.

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
