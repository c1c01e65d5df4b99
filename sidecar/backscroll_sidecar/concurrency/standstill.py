"""Whether this process stood still just now: stopped by a signal, its machine paused, its container frozen."""

from __future__ import annotations

import asyncio

EVERY_S = 0.5
LONG_S = 2.0
"""A loop that was merely busy is back sooner."""
BEHIND_S = 2.0
"""So long behind it what came meanwhile is taken in."""


class Standstill:
    """Belongs to one event loop, in which it must be started."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._seen_s = self._loop.time()
        self._ended_s = -BEHIND_S
        self._next: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Look at the clock from now on."""
        self._look()

    def stop(self) -> None:
        """Idempotent."""
        if self._next is not None:
            self._next.cancel()

    @property
    def left_s(self) -> float:
        """How long what came meanwhile may still take; 0: this process did not stand still."""
        now_s = self._loop.time()
        if (
            now_s - self._seen_s > LONG_S
        ):  # before the next look, which comes behind what is there to be read
            return BEHIND_S
        return max(0.0, self._ended_s + BEHIND_S - now_s)

    def _look(self) -> None:
        now_s = self._loop.time()
        if now_s - self._seen_s > LONG_S:
            self._ended_s = now_s
        self._seen_s = now_s
        self._next = self._loop.call_later(EVERY_S, self._look)
