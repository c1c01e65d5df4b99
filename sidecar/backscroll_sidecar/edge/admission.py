"""How many calls of a method run at once. gRPC's own limit would refuse health checks as well."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import contextmanager

from backscroll_sidecar.edge.limits import AdmissionLimits
from backscroll_sidecar.errors import Overloaded


class Admission:
    """Lets in so many calls of one method; the next wait in a line of bounded length, for a bounded time.

    A call brings its request with it, so what runs and what waits is bounded in bytes, too. A stream runs only while
    the server works for it: one that is left open keeps nobody out. Belongs to one event loop.
    """

    def __init__(self, limits: AdmissionLimits) -> None:
        self._limits = limits
        self._free = limits.running
        self._line: deque[asyncio.Future[None]] = deque()
        self._bytes = 0
        self._streams = Counter[str]()

    def enter_at_once(self, request_bytes: int) -> bool:
        """Take a place if there is one and room for the request; False: `enter` waits for it, or says why it cannot."""
        if self._free <= 0 or self._bytes + request_bytes > self._limits.max_bytes:
            return False
        self._free -= 1
        self._bytes += request_bytes
        return True

    async def enter(self, request_bytes: int, deadline_s: float | None) -> None:
        """Take a place; give it back with `leave`. A request larger than the bound comes in when no other is there.

        `deadline_s` is the caller's, on the clock of `time.monotonic`.

        Raises
        ------
        Overloaded
            No room in time, the line itself is too long, or the requests of all of them are too large together.
        """
        if self._bytes and self._bytes + request_bytes > self._limits.max_bytes:
            raise Overloaded("calls of this method hold too many bytes")
        self._bytes += request_bytes
        if self._free > 0:
            self._free -= 1
            return
        try:
            await self._wait_for_place(deadline_s)
        except BaseException:
            self._bytes -= request_bytes
            raise

    def leave(self, request_bytes: int) -> None:
        """Give the place to the next."""
        self._bytes -= request_bytes
        self._pass_on()

    @contextmanager
    def stream(self, tenant: str) -> Iterator[None]:
        """Count one of a tenant's streams while it is open. Raises `Overloaded` where the tenant has too many."""
        if self._streams[tenant] >= self._limits.most_streams:
            raise Overloaded("too many streams of this method are open")
        self._streams[tenant] += 1
        try:
            yield
        finally:
            self._streams[tenant] -= 1
            if not self._streams[tenant]:
                del self._streams[tenant]

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Give the place to others while a stream waits for its caller. It goes on at once, however many run then."""
        self._pass_on()
        try:
            yield
        finally:
            self._free -= 1

    def _pass_on(self) -> None:
        """To the first in line who still waits; with nobody in line the place is free."""
        if self._free < 0:  # streams went on beyond the limit
            self._free += 1
            return
        while self._line:
            place = self._line.popleft()
            if not place.done():
                place.set_result(None)
                return
        self._free += 1

    async def _wait_for_place(self, deadline_s: float | None) -> None:
        if len(self._line) >= self._limits.waiting:
            raise Overloaded("too many calls of this method are waiting")
        wait_s = self._limits.wait_s
        if deadline_s is not None:
            wait_s = min(wait_s, max(deadline_s - time.monotonic(), 0.0))
        place = asyncio.get_running_loop().create_future()
        self._line.append(place)
        try:
            async with asyncio.timeout(wait_s):
                await place
        except BaseException as error:
            if place in self._line:
                self._line.remove(place)
            elif not place.cancelled():  # it came just then
                self._pass_on()
            if isinstance(error, TimeoutError):
                raise Overloaded("too many calls of this method are running") from None
            raise
