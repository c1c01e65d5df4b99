"""Messages that are too old, or too many, go: in the background, some at a time.

    round → each channel that has limits → what is overdue → erased by the writer → the next some

Nothing of it is kept: a round looks at what is there, so that one which was cut short is gone on with by the next.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from backscroll_sidecar.concurrency.jobs import ALONE, Job, Jobs
from backscroll_sidecar.domain import MAX_PINNED, ChannelKey, Retention
from backscroll_sidecar.errors import BackscrollError
from backscroll_sidecar.learning.channel_settings import ChannelSettingsService
from backscroll_sidecar.ports import (
    PIN,
    Applied,
    Clock,
    EraseChange,
    HistoryReader,
    OverdueQuery,
)

log = logging.getLogger(__name__)

DAY_MS = 24 * 3_600_000
FIRST_S, ROUND_S = 30.0, 600.0
"""Before the first round, and between two: each erasure lets the channel be read again by who asks next."""
STEP_MESSAGES = 500
"""So many are erased at once: some milliseconds for whoever writes meanwhile."""
STEP_PAUSE_S, BUSY_PAUSE_S = 0.05, 1.0
"""Between two steps; where contexts were built meanwhile."""
CHANNELS_PAGE = 500

Submit = Callable[[EraseChange], Awaitable[Applied]]


def limits_of(channel: Retention, server: Retention) -> Retention:
    """What holds in a channel: its own word, else the server's."""
    return Retention(
        server.days if channel.days is None else channel.days,
        server.messages if channel.messages is None else channel.messages,
    )


def overdue_query(limits: Retention, kept_ids: tuple[str, ...], now_ms: int) -> OverdueQuery:
    """What asks for what goes at this time."""
    before_ms = now_ms - limits.days * DAY_MS if limits.days else 0
    return OverdueQuery(max(before_ms, 0), limits.messages or 0, kept_ids, STEP_MESSAGES)


class RetentionSweep:
    """Erases what is overdue. Owned by the event loop. Pinned messages stay as long as they are pinned.

    Parameters
    ----------
    submit : the one writer's `submit`.
    server : what holds where a channel says nothing.
    request_count : counts the contexts built: while it grows, steps are further apart.
    """

    def __init__(
        self,
        reader: HistoryReader,
        submit: Submit,
        channel_settings: ChannelSettingsService,
        clock: Clock,
        server: Retention,
        request_count: Callable[[], int],
        jobs: Jobs = ALONE,
    ) -> None:
        self._reader = reader
        self._submit = submit
        self._channel_settings = channel_settings
        self._clock = clock
        self._server = server
        self._request_count = request_count
        self._jobs = jobs
        self._task: asyncio.Task[None] | None = None
        self.expired = 0
        """Messages erased since the start."""

    async def start(self) -> None:
        """Start the task, once."""
        if self._task is None:
            self._task = asyncio.create_task(self._run(), name=Job.RETENTION)

    async def close(self) -> None:
        """Stop between two steps; the rest goes after the next start. Before the writer is drained. Idempotent."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait({task})

    async def _run(self) -> None:
        await asyncio.sleep(FIRST_S)
        while True:
            await self._jobs.turn(Job.RETENTION)
            try:
                await self.round()
            except BackscrollError as error:
                log.warning("old messages cannot be erased now: %s", error.message)
            except Exception:
                log.exception("old messages could not be erased")
            await asyncio.sleep(ROUND_S)

    async def round(self) -> None:
        """Look at every channel once. Raises what the store raises."""
        after: ChannelKey | None = None
        while page := await self._reader.channels(after, CHANNELS_PAGE):
            for key in page:
                if after is None or key.tenant != after.tenant:
                    await self._jobs.catch_up(key.tenant, ())
                await self._trim(key)
                after = key

    async def _trim(self, key: ChannelKey) -> None:
        settings = self._channel_settings.known(key) or await self._channel_settings.read(key)
        limits = limits_of(settings.retention, self._server)
        while limits.days or limits.messages:
            requests, now_ms = self._request_count(), self._clock.now_ms()
            pins = await self._reader.records(key, PIN, now_ms, limit=MAX_PINNED)
            query = overdue_query(limits, tuple(one.id for one in pins), now_ms)
            ids = await self._reader.overdue(key, query)
            if not ids:
                return
            applied = await self._submit(EraseChange(key, tuple(ids), "", now_ms, is_expiry=True))
            self.expired += len(applied.erased_ids)
            if len(ids) < STEP_MESSAGES or not applied.erased_ids:
                return
            is_busy = self._request_count() != requests
            await asyncio.sleep(BUSY_PAUSE_S if is_busy else STEP_PAUSE_S)
