"""How many calls of a method run at once. gRPC's own limit would refuse health checks as well (NOTES, gRPC)."""

from __future__ import annotations

import asyncio

from backscroll_sidecar.errors import Overloaded
from backscroll_sidecar.rpc.limits import GateLimits


class Gate:
    """Lets in so many calls of one method; the next wait in a line of bounded length, for a bounded time.

    A call brings its request with it, so what runs and what waits is bounded in bytes, too. Belongs to one event loop.
    """

    def __init__(self, limits: GateLimits) -> None:
        self._limits = limits
        self._room = asyncio.Semaphore(limits.running)
        self._waiting = 0
        self._bytes = 0

    async def enter(self, request_bytes: int, time_left_s: float | None) -> None:
        """Take a place; give it back with `leave`. A request larger than the bound comes in when no other is there.

        Raises
        ------
        Overloaded
            No room in time, the line itself is too long, or the requests of all of them are too large together.
        """
        if self._bytes and self._bytes + request_bytes > self._limits.max_bytes:
            raise Overloaded("calls of this method hold too many bytes")
        self._bytes += request_bytes
        try:
            if self._room.locked():
                await self._wait_for_place(time_left_s)
            else:
                await self._room.acquire()
        except BaseException:
            self._bytes -= request_bytes
            raise

    def leave(self, request_bytes: int) -> None:
        """Give the place to the next."""
        self._bytes -= request_bytes
        self._room.release()

    async def _wait_for_place(self, time_left_s: float | None) -> None:
        if self._waiting >= self._limits.waiting:
            raise Overloaded("too many calls of this method are waiting")
        wait_s = self._limits.wait_s
        self._waiting += 1
        try:
            async with asyncio.timeout(wait_s if time_left_s is None else min(wait_s, time_left_s)):
                await self._room.acquire()
        except TimeoutError:
            raise Overloaded("too many calls of this method are running") from None
        finally:
            self._waiting -= 1
