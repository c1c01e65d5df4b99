"""Builds behind the answers: one at a time, only while nobody waits for an answer, and few of them queued."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable

import structlog

from backscroll_sidecar.ports import Clock, ShadowSink

log = structlog.get_logger(__name__)

MOST_QUEUED = 64
QUIET_S = 0.02
"""Nobody began a build for so long before one is made here."""
LATEST_S = 60.0
"""One that waited so long is dropped: so busy a server has no time for it."""
CLOSE_S = 5.0


class Shadows:
    """Makes builds that nobody waits for. Belongs to one event loop.

    Parameters
    ----------
    counts : is told what became of each: built, dropped, failed.
    """

    def __init__(self, clock: Clock, counts: ShadowSink) -> None:
        self._clock = clock
        self._counts = counts
        self._queued: deque[tuple[Callable[[], Awaitable[None]], float]] = deque()
        self._came = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._under_way = 0
        self._last_s = 0.0

    def begins(self) -> None:
        """Somebody waits for an answer."""
        self._under_way += 1

    def ends(self) -> None:
        """One answer fewer is waited for."""
        self._under_way -= 1
        self._last_s = self._clock.monotonic_s()

    def offer(self, build: Callable[[], Awaitable[None]]) -> None:
        """Have this built some time; dropped where too many wait."""
        if len(self._queued) >= MOST_QUEUED:
            self._counts.count_shadow("dropped")
            return
        self._queued.append((build, self._clock.monotonic_s()))
        if self._task is None:
            self._task = asyncio.create_task(self._run(), name="backscroll-shadows")
        self._came.set()

    async def close(self) -> None:
        """Stop; what waits is dropped."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait({task}, timeout=CLOSE_S)

    async def _run(self) -> None:
        while True:
            await self._came.wait()
            self._came.clear()
            while self._queued:
                now_s = self._clock.monotonic_s()
                build, since_s = self._queued[0]
                if now_s - since_s > LATEST_S:
                    self._queued.popleft()
                    self._counts.count_shadow("dropped")
                elif self._under_way or now_s - self._last_s < QUIET_S:
                    await asyncio.sleep(QUIET_S)
                else:
                    self._queued.popleft()
                    await self._make(build)

    async def _make(self, build: Callable[[], Awaitable[None]]) -> None:
        try:
            await build()
            self._counts.count_shadow("built")
        except Exception as error:  # noqa: BLE001 - it costs only itself
            log.warning("a build behind an answer failed", error=repr(error))
            self._counts.count_shadow("failed")
