"""Tuning that nobody asks for: adopted weights are judged by themselves, and all channels are tuned every so often."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Awaitable, Callable
from itertools import groupby

import structlog

from backscroll_sidecar.domain import ChannelKey
from backscroll_sidecar.errors import BackscrollError
from backscroll_sidecar.learning.tuner import Tuner
from backscroll_sidecar.ports import HistoryReader

log = structlog.get_logger(__name__)

HOUR_S = 3_600.0
PAGE = 1_000


class TuningSchedule:
    """Runs behind everything else, one channel at a time. Owned by the event loop.

    Parameters
    ----------
    check_hours, tune_hours : how often adopted weights are judged, and how often all channels are tuned; 0: never.
    """

    def __init__(
        self, tuner: Tuner, reader: HistoryReader, *, check_hours: float, tune_hours: float
    ) -> None:
        self._tuner = tuner
        self._reader = reader
        self._check_s = check_hours * HOUR_S or math.inf
        self._tune_s = tune_hours * HOUR_S or math.inf
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Start, once."""
        for every_s, work in ((self._check_s, self._check), (self._tune_s, self._tune)):
            if math.isfinite(every_s):
                self._tasks.append(asyncio.create_task(_repeated(every_s, work)))

    async def close(self) -> None:
        """Stop; what has begun to be written is written. Idempotent."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        self._tasks.clear()

    async def _check(self) -> None:
        async for tenant in self._tenants():
            for channel in await self._tuner.versions.on_trial(tenant):
                await self._one(ChannelKey(tenant, channel), proposes=False)

    async def _tune(self) -> None:
        async for key in self._channels():
            await self._one(key, proposes=True)

    async def _one(self, key: ChannelKey, *, proposes: bool) -> None:
        """Tune a channel; what fails costs only that."""
        try:
            report = await self._tuner.tune(key, proposes=proposes)
        except BackscrollError as error:
            log.warning("a channel could not be tuned", reason=error.reason.value)
            return
        except Exception:
            log.exception("a channel could not be tuned")
            return
        if (decision := report.outcome.decision).changes:
            log.info("weights changed", reason=decision.reason.value, version=report.version)

    async def _tenants(self) -> AsyncIterator[str]:
        keys = [key async for key in self._channels()]
        for tenant, _ in groupby(keys, key=lambda key: key.tenant):
            yield tenant

    async def _channels(self) -> AsyncIterator[ChannelKey]:
        after: ChannelKey | None = None
        while page := await self._reader.channels(after, PAGE):
            for key in page:
                yield key
            after = page[-1]


async def _repeated(every_s: float, work: Callable[[], Awaitable[None]]) -> None:
    """Do it again and again; a store that cannot be read is asked again the next time."""
    while True:
        await asyncio.sleep(every_s)
        try:
            await work()
        except BackscrollError as error:
            log.warning("tuning waits for the store", reason=error.reason.value)
        except Exception:
            log.exception("tuning failed; it is tried again the next time")
