"""How many calls of a method run at once. gRPC's own limit would refuse health checks as well (NOTES, gRPC)."""

from __future__ import annotations

import asyncio

from backscroll_sidecar.errors import Overloaded
from backscroll_sidecar.rpc.limits import GateLimits


class Gate:
    """Lets in so many calls of one method; the next wait in a line of bounded length, for a bounded time.

    Belongs to one event loop.
    """

    def __init__(self, limits: GateLimits) -> None:
        self._limits = limits
        self._room = asyncio.Semaphore(limits.running)
        self._waiting = 0

    async def enter(self, time_left_s: float | None) -> None:
        """Take a place; give it back with `leave`.

        Raises
        ------
        Overloaded
            No room in time, or the line itself is too long.
        """
        if not self._room.locked():
            await self._room.acquire()
            return
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

    def leave(self) -> None:
        """Give the place to the next."""
        self._room.release()
