"""Builds on their way to the record: bounded, behind the answers, and before whatever refers to them."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple

import structlog

from backscroll_sidecar.concurrency.time_slicing import LoopSlices
from backscroll_sidecar.domain import ChannelKey
from backscroll_sidecar.errors import BackscrollError
from backscroll_sidecar.learning.consent import Refusals, UsageConsent
from backscroll_sidecar.ports import ChangeWriter, TurnMark, UsageChange, UsageRecord

log = structlog.get_logger(__name__)

MAX_QUEUED = 1_024
"""Builds that wait; each holds the generation of its channel that it read."""
GATHER_S = 0.05
"""So long builds are gathered: who answers many of them shares what a commit costs."""
RECORD_US = 40


class _Noted(NamedTuple):
    key: ChannelKey
    make: Callable[[], UsageRecord]
    since: int


class UsageRecorder:
    """A `UsageSink`. Belongs to one event loop. Records older than `keep_ms` go as others come; 0: they stay.

    Builds that somebody without consent asked for are not recorded.

    Attributes
    ----------
    noted_count, dropped_count : builds that came, and those of them that were not recorded: too many waited, or
        something failed.
    """

    def __init__(self, writer: ChangeWriter, consent: UsageConsent, keep_ms: int = 0) -> None:
        self._writer = writer
        self._consent = consent
        self._keep_ms = keep_ms
        self._queued: OrderedDict[str, _Noted] = OrderedDict()
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self.noted_count = 0
        self.dropped_count = 0

    @property
    def erasures_seen(self) -> int:
        return self._writer.erasures_seen

    @property
    def queued_count(self) -> int:
        """Builds that wait."""
        return len(self._queued)

    def note(
        self, key: ChannelKey, context_id: str, make: Callable[[], UsageRecord], since: int
    ) -> None:
        self.noted_count += 1
        if not key.channel or len(self._queued) >= MAX_QUEUED or self._task is None:
            self.dropped_count += bool(key.channel)
            return
        if not self._queued:
            self._wake.set()
        self._queued[context_id] = _Noted(key, make, since)

    async def push(self, context_id: str) -> None:
        if (noted := self._queued.get(context_id)) is None:
            return
        try:
            refusals = await self._consent.refusals(noted.key.tenant)
        except BackscrollError:  # who refuses is not known
            refusals = None
        if self._queued.pop(context_id, None) is not None:  # nobody else took it meanwhile
            self._offer(noted, refusals)

    async def start(self) -> None:
        """Start the task, once."""
        if self._task is None:
            self._task = asyncio.create_task(self._run(), name="backscroll-usage")

    async def close(self) -> None:
        """Hand over what waits, and stop. Before the writer is closed."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})
            self._task = None
            await self._hand_over()

    async def flush(self) -> None:
        """Return once all that waits by now is recorded, or cannot be. Raises `StoreUnavailable`."""
        await self._hand_over()
        await self._writer.settled()

    async def _hand_over(self) -> None:
        slices = LoopSlices()
        for context_id in list(self._queued):
            await self.push(context_id)
            await slices.spend(RECORD_US)

    async def _run(self) -> None:
        while True:
            await self._wake.wait()
            await asyncio.sleep(GATHER_S)
            self._wake.clear()
            await self._hand_over()

    def _offer(self, noted: _Noted, refusals: Refusals | None) -> None:
        if refusals is None:
            self.dropped_count += 1
            return
        try:
            record, keep_ms = noted.make(), self._keep_ms
            if record.user_id in refusals:
                return
            over_ms = record.created_at_ms - keep_ms if keep_ms else 0
            change = UsageChange(noted.key, record, TurnMark(noted.since), over_ms)
            is_taken = self._writer.offer(change)
        except Exception:
            log.exception("a build could not be recorded")
            is_taken = False
        self.dropped_count += not is_taken


class NoUsage:
    """A `UsageSink` that keeps nothing, and counts what it did not keep."""

    erasures_seen = queued_count = 0

    def __init__(self) -> None:
        self.noted_count = self.dropped_count = 0

    async def start(self) -> None:
        """Nothing to start."""

    async def close(self) -> None:
        """Nothing to hand over."""

    async def flush(self) -> None:
        """Nothing waits."""

    def note(
        self,
        key: ChannelKey,
        context_id: str,  # noqa: ARG002
        make: Callable[[], UsageRecord],  # noqa: ARG002
        since: int,  # noqa: ARG002
    ) -> None:
        self.noted_count += 1
        self.dropped_count += bool(key.channel)

    async def push(self, context_id: str) -> None:
        pass
