"""Tuning that nobody asks for: adopted weights are judged by themselves, and all channels are tuned every so often."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from itertools import groupby

import structlog

from backscroll_sidecar.concurrency.jobs import ALONE, Job, Jobs
from backscroll_sidecar.domain import ChannelKey
from backscroll_sidecar.errors import BackscrollError
from backscroll_sidecar.learning.tuner import Tuner
from backscroll_sidecar.ports import (
    EVERYWHERE,
    ChangeWriter,
    Clock,
    HistoryReader,
    RecordChange,
)

log = structlog.get_logger(__name__)

TUNED = "channels_tuned"
"""The kind of what says when a tenant's channels were tuned last: the time of its record."""
HOUR_S = 3_600.0
PAGE = 1_000


class TuningSchedule:
    """Runs behind everything else, one channel at a time. Owned by the event loop.

    When a tenant's channels were tuned last is kept: a server that is started anew each day still tunes them in time.

    Parameters
    ----------
    check_hours, tune_hours : how often adopted weights are judged, and how often all channels are tuned; 0: never.
    """

    def __init__(
        self,
        tuner: Tuner,
        reader: HistoryReader,
        writer: ChangeWriter,
        clock: Clock,
        *,
        check_hours: float,
        tune_hours: float,
        jobs: Jobs = ALONE,
    ) -> None:
        self._tuner = tuner
        self._reader = reader
        self._writer = writer
        self._clock = clock
        self._jobs = jobs
        self._check_s = check_hours * HOUR_S or math.inf
        self._tune_s = tune_hours * HOUR_S or math.inf
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Start, once."""
        for job, every_s, work in (
            (Job.TRIALS, self._check_s, self._check),
            (Job.TUNING, self._tune_s, self._tune),
        ):
            if math.isfinite(every_s):
                self._tasks.append(asyncio.create_task(self._run(job, every_s, work), name=job))

    async def close(self) -> None:
        """Stop; what has begun to be written is written. Idempotent."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        self._tasks.clear()

    async def _check(self) -> float:
        """Judge what is on trial; when to do it again, in seconds."""
        for tenant, _ in await self._tenants():
            for channel in await self._tuner.versions.on_trial(tenant):
                await self._one(ChannelKey(tenant, channel), proposes=False)
        return self._check_s

    async def _tune(self) -> float:
        """Tune the tenants whose time has come; when that is the next time, in seconds."""
        next_s = self._tune_s
        for tenant, keys in await self._tenants():
            here, now_ms = ChannelKey(tenant, EVERYWHERE), self._clock.now_ms()
            last = await self._reader.record(here, TUNED, "", "", now_ms)
            left_s = 0.0 if last is None else self._tune_s - (now_ms - last.updated_at_ms) / 1_000
            if left_s > 0:
                next_s = min(next_s, left_s)
                continue
            for key in keys:
                await self._one(key, proposes=True)
            await self._writer.submit(RecordChange(here, TUNED, "", b"", at_ms=now_ms))
        return next_s

    async def _one(self, key: ChannelKey, *, proposes: bool) -> None:
        """Tune a channel; what fails costs only that."""
        try:
            await self._jobs.catch_up(key.tenant, [key.channel])
            report = await self._tuner.tune(key, proposes=proposes)
        except BackscrollError as error:
            log.warning("a channel could not be tuned", reason=error.reason.value)
            return
        except Exception:
            log.exception("a channel could not be tuned")
            return
        if (decision := report.outcome.decision).changes:
            log.info("weights changed", reason=decision.reason.value, version=report.version)

    async def _tenants(self) -> Sequence[tuple[str, Sequence[ChannelKey]]]:
        """With their channels."""
        keys = [key async for key in self._channels()]
        return [(tenant, [*some]) for tenant, some in groupby(keys, key=lambda key: key.tenant)]

    async def _channels(self) -> AsyncIterator[ChannelKey]:
        after: ChannelKey | None = None
        while page := await self._reader.channels(after, PAGE):
            for key in page:
                yield key
            after = page[-1]

    async def _run(self, job: Job, every_s: float, work: Callable[[], Awaitable[float]]) -> None:
        """Do it again and again; a store that cannot be read is asked again in an hour at the latest."""
        while True:
            await self._jobs.turn(job)
            wait_s = min(every_s, HOUR_S)
            try:
                wait_s = await work()
            except BackscrollError as error:
                log.warning("tuning waits for the store", reason=error.reason.value)
            except Exception:
                log.exception("tuning failed; it is tried again")
            await asyncio.sleep(wait_s)
