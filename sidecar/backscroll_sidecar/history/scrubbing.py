"""What was erased or recalled goes from the files, too, a moment later (N-10).

A deleted row leaves copies behind: in the log until it is written into the database, and in pages that were split.

    publish → something went → nothing more went for a moment → the log is emptied, after an erasure the file rewritten
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from typing import Protocol

from backscroll_sidecar.domain import ChannelKey, MessageState
from backscroll_sidecar.errors import BackscrollError
from backscroll_sidecar.ports import Applied

log = logging.getLogger(__name__)

QUIET_S = 2.0
"""Nothing more was deleted for so long: who deletes much does it in many calls."""
LONGEST_S = 60.0
"""Where somebody always deletes something, it is done so long after the first."""
SHARE = 50
"""Of the time: writes wait while a file is rewritten, so that takes one part in so many at most."""
CLOSE_S, RETRY_S = 10.0, 60.0


class Files(Protocol):
    """The files of a store."""

    @property
    def needs_scrub(self) -> bool:
        """Whether rows were erased since the last `scrub`, as the files themselves tell: before a crash, too."""
        ...

    async def empty_log(self) -> None:
        """Write the log into the database and empty it."""

    async def scrub(self) -> None:
        """Leave no byte of what was deleted. Holds up writes for a while."""


class Scrubber:
    """Cleans up behind deletions. Owned by the event loop; one of the writer's publishers."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._due_s = self._latest_s = math.inf
        self._came = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def publish(self, key: ChannelKey, applied: Applied) -> None:
        """Remember that something was deleted. Cheap where nothing was."""
        del key
        recalled = (one.state is MessageState.RECALLED for one in applied.stored)
        if applied.is_erasure or any(recalled):
            self._due_in(QUIET_S)

    async def start(self) -> None:
        """Start the task, once; with what a crash left to do."""
        if self._task is None:
            if self._files.needs_scrub:
                self._due_in(0.0)
            self._task = asyncio.create_task(self._run(), name="backscroll-scrubber")

    async def close(self) -> None:
        """Do what is due, for some seconds at most, and stop; the rest is done after the next start. Idempotent."""
        task, self._task = self._task, None
        if task is None:
            return
        task.cancel()
        await asyncio.wait({task})
        if self._is_due:
            cleaning = asyncio.ensure_future(self._clean())
            await asyncio.wait({cleaning}, timeout=CLOSE_S)

    @property
    def _is_due(self) -> bool:
        return self._due_s < math.inf

    async def _run(self) -> None:
        while True:
            await self._came.wait()
            while self._is_due and (rest_s := self._due_s - time.monotonic()) > 0:  # noqa: ASYNC110 - more may go
                await asyncio.sleep(rest_s)
            self._came.clear()
            began_s = time.monotonic()
            await asyncio.shield(asyncio.ensure_future(self._clean()))
            await asyncio.sleep(SHARE * (time.monotonic() - began_s))

    async def _clean(self) -> None:
        self._due_s = self._latest_s = math.inf
        try:
            if self._files.needs_scrub:
                await self._files.scrub()
            else:
                await self._files.empty_log()
        except BackscrollError as error:
            log.warning("what was deleted may still be in the files: %s", error.message)
            self._due_in(RETRY_S)
        except Exception:
            log.exception("what was deleted may still be in the files")
            self._due_in(RETRY_S)

    def _due_in(self, rest_s: float) -> None:
        now_s = time.monotonic()
        self._latest_s = min(self._latest_s, now_s + max(rest_s, LONGEST_S))
        self._due_s = min(now_s + rest_s, self._latest_s)
        self._came.set()
