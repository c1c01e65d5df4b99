"""What was erased or recalled goes from the files, too, behind the answer.

A deleted row leaves copies: in the log until it is written into the database, and in pages that were split.

    publish → something went → nothing more went for a moment → the log is emptied, the file wiped
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Awaitable, Callable

from backscroll_sidecar.domain import ChannelKey, MessageState
from backscroll_sidecar.errors import BackscrollError
from backscroll_sidecar.ports import Applied, Maintenance

log = logging.getLogger(__name__)

CLEAN_WITHIN_S = 60.0
"""So long after it was deleted nothing is in a file any more, unless the disk or another program prevents it."""
QUIET_S, LONGEST_S = 2.0, 10.0
"""Nothing more was deleted for so long, for who deletes much does it in many calls; or so long after the first."""
REST_TIMES = 4
"""Times as long as the work took it rests, as long as `CLEAN_WITHIN_S` allows that: it costs others' writes time."""
RETRY_S, LONGEST_RETRY_S = 5.0, 3_600.0
CLOSE_S = 10.0


class SecureDelete:
    """Cleans up behind deletions. Owned by the event loop; one of the writer's publishers."""

    def __init__(self, files: Maintenance) -> None:
        self._files = files
        self._chores = (_Chore(files.empty_log), _Chore(files.wipe))

    @property
    def is_due(self) -> bool:
        """Whether something that was deleted may still be in the files."""
        return any(chore.is_due for chore in self._chores)

    def clean_by_ms(self, at_ms: int) -> int | None:
        """Until when what was deleted at that time is gone from the files; None: nothing of it is there."""
        return at_ms + round(CLEAN_WITHIN_S * 1_000) if self.is_due else None

    def publish(self, key: ChannelKey, applied: Applied) -> None:
        """Remember that something was deleted. Cheap where nothing was."""
        del key
        receipt = applied.receipt
        is_erased = bool(applied.erased_ids) or (receipt and any(receipt.counts.values()))
        if (
            is_erased
            or applied.deleted_records
            or any(one.state is MessageState.RECALLED for one in applied.stored)
        ):
            for chore in self._chores:
                chore.call()

    async def start(self) -> None:
        """Start, once; what a crash left to do comes in a moment."""
        for chore in self._chores:
            chore.start()
            chore.call()

    async def close(self) -> None:
        """Do what is due, for some seconds at most, and stop; the rest is done after the next start. Idempotent."""
        for chore in self._chores:
            await chore.close(CLOSE_S, self._files.interrupt)


def rest_after(took_s: float) -> float:
    """How long to rest after work that took so long.

    What is deleted as the work begins waits for its end, the rest, a moment of quiet, and the same work again.
    """
    return max(0.0, min(REST_TIMES * took_s, CLEAN_WITHIN_S - LONGEST_S - 2 * took_s))


class _Chore:
    """Work that is done once nobody has called for it for a moment, with a rest behind it."""

    def __init__(self, work: Callable[[], Awaitable[None]]) -> None:
        self._work = work
        self._called = asyncio.Event()
        self._quiet_s = self._latest_s = math.inf
        self._retry_s = RETRY_S
        self._task: asyncio.Task[None] | None = None
        self._doing: asyncio.Task[bool] | None = None

    @property
    def is_due(self) -> bool:
        return self._called.is_set() or self._doing is not None

    def call(self) -> None:
        now_s = time.monotonic()
        if not self._called.is_set():
            self._latest_s = now_s + LONGEST_S
        self._quiet_s = now_s + QUIET_S
        self._called.set()

    def start(self) -> None:
        if self._task is None:
            self._task = asyncio.create_task(self._run(), name="backscroll-secure-delete")

    async def close(self, timeout_s: float, interrupt: Callable[[], None]) -> None:
        task, self._task = self._task, None
        if task is None:
            return
        task.cancel()
        await asyncio.wait({task})
        doing = self._doing
        if doing is None and self._called.is_set():
            doing = self._begin()
        if doing is not None:
            await asyncio.wait({doing}, timeout=timeout_s)
            if not doing.done():
                interrupt()
                await asyncio.wait({doing})

    async def _run(self) -> None:
        while True:
            await self._called.wait()
            while (rest_s := min(self._quiet_s, self._latest_s) - time.monotonic()) > 0:  # noqa: ASYNC110 - more may go
                await asyncio.sleep(rest_s)
            began_s = time.monotonic()
            if await asyncio.shield(self._begin()):
                await asyncio.sleep(rest_after(time.monotonic() - began_s))
            else:
                self.call()
                await asyncio.sleep(self._retry_s)
                self._retry_s = min(2 * self._retry_s, LONGEST_RETRY_S)

    def _begin(self) -> asyncio.Task[bool]:
        self._called.clear()
        self._doing = asyncio.create_task(self._done())
        return self._doing

    async def _done(self) -> bool:
        """Do it; whether it could be done."""
        try:
            await self._work()
            self._retry_s = RETRY_S
        except BackscrollError as error:
            log.warning("what was deleted may still be in the files: %s", error.message)
        except Exception:
            log.exception("what was deleted may still be in the files")
        else:
            return True
        finally:
            self._doing = None
        return False
