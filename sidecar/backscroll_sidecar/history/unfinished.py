"""What follows from messages is done by the server that got them, and by another where that one is gone.

The store notes rows as they come, in their transaction. Once no worker of this server is behind with a row, that is
forgotten. A server that finds rows of one whose lease has ended makes them its own, and its workers begin with them.

    publish → noted → no worker is behind → forgotten          rows of a gone server → taken over → workers begin
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from typing import Protocol

import structlog

from backscroll_sidecar.concurrency.jobs import OF_ALL_TENANTS, Jobs
from backscroll_sidecar.concurrency.time_slicing import LoopSlices
from backscroll_sidecar.domain import ChannelKey, StoredMessage
from backscroll_sidecar.errors import BackscrollError
from backscroll_sidecar.ports import Applied, HistoryReader, Left, SharedWork

log = structlog.get_logger(__name__)

ENDED_S = 1.0
"""So often what is done is forgotten."""
LOOKED_EVERY = 3
"""So many of these times it is looked for what others left."""
PAGE = 200
MOST_NOTED = 100_000
"""Rows followed one by one. What is beyond that is known by its numbers, and followed once there is room."""
ROW_US = 2
CLOSE_S = 2.0


class Worker(Protocol):
    """What begins something when messages come."""

    def take_over(self, key: ChannelKey, rows: Sequence[StoredMessage]) -> None:
        """Begin with what another server did not do."""

    def is_behind(self, key: ChannelKey, seq: int, message_id: str) -> bool:
        """Whether what follows from a row is not done yet."""


class Unfinished:
    """Follows what this server's workers do; one of the writer's publishers. Owned by one event loop.

    Attributes
    ----------
    count : rows that are followed now.
    taken_over : rows of servers that were gone.
    """

    def __init__(self, work: SharedWork, reader: HistoryReader, jobs: Jobs) -> None:
        self._work = work
        self._reader = reader
        self._jobs = jobs
        self._workers: tuple[Worker, ...] = ()
        self._noted: dict[ChannelKey, dict[int, str]] = {}
        self.count = 0
        self._beyond: dict[ChannelKey, deque[list[int]]] = {}
        """Stretches of numbers, both ends included, that there was no room for."""
        self._left: deque[Left] = deque()
        """Taken over, and not begun yet."""
        self._task: asyncio.Task[None] | None = None
        self.taken_over = 0

    def follow(self, *workers: Worker) -> None:
        """These begin something when messages come."""
        self._workers += workers

    def publish(self, key: ChannelKey, applied: Applied) -> None:
        """Note what came."""
        for row in applied.stored:
            self._note(key, row.seq, row.message.id)

    def _note(self, key: ChannelKey, seq: int, message_id: str) -> None:
        noted = self._noted.setdefault(key, {})
        if seq in noted or self.count < MOST_NOTED:
            self.count += seq not in noted
            noted[seq] = message_id
            return
        stretches = self._beyond.setdefault(key, deque())
        if stretches and stretches[-1][1] == seq - 1:
            stretches[-1][1] = seq
        else:
            stretches.append([seq, seq])

    # --- life --------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Start, once: from now on this server's rows are its own as long as it lives."""
        if self._task is None:
            await self._live()
            self._task = asyncio.create_task(self._run(), name="backscroll-unfinished")

    async def close(self) -> None:
        """Forget what is done by now; the rest is for others. Behind the workers."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})
            self._task = None
            try:
                async with asyncio.timeout(CLOSE_S):
                    await self._end()
            except (BackscrollError, TimeoutError):
                log.warning("what is done is not forgotten; another server does it again")

    async def _live(self) -> bool:
        """Hold this server's lease; False: others took over what was its own, and are still at it."""
        return await self._jobs.locks.try_to_take(OF_ALL_TENANTS, "server", self._work.holder)

    async def _run(self) -> None:
        while True:
            for time in range(LOOKED_EVERY):
                await asyncio.sleep(ENDED_S)
                try:
                    await self._end()
                    if not time and await self._live():
                        await self._look()
                except BackscrollError as error:
                    log.warning("unfinished work is not looked at now", reason=error.message)
                except Exception:
                    log.exception("unfinished work could not be looked at; it is tried again")

    # --- what is done ------------------------------------------------------------------------------

    async def _end(self) -> None:
        """Forget what is done, also of what there was no room for."""
        await self._forget_done()
        while self._beyond and self.count < MOST_NOTED:
            await self._follow_more()
            await self._forget_done()

    async def _follow_more(self) -> None:
        """Read the ids of rows that were known by their numbers, as many as there is room for."""
        while self._beyond and (room := MOST_NOTED - self.count) > 0:
            key, stretches = next(iter(self._beyond.items()))
            first, last = stretches[0]
            seqs = range(first, min(last, first + min(PAGE, room) - 1) + 1)
            ids = await self._reader.ids_by_seq(key, seqs)
            stretches[0][0] = seqs.stop
            if seqs.stop > stretches[0][1]:  # it may have grown meanwhile
                stretches.popleft()
            if not stretches:
                del self._beyond[key]
            for seq in seqs:
                self._note(key, seq, ids.get(seq, ""))

    async def _forget_done(self) -> None:
        slices = LoopSlices()
        done: dict[str, dict[str, dict[int, str]]] = {}
        try:
            for key in [*self._noted]:
                await slices.spend(ROW_US * len(self._noted[key]))
                if rows := self._forget(key):
                    done.setdefault(key.tenant, {})[key.channel] = rows
            for tenant in [*done]:
                await self._work.end_work(tenant, done[tenant])
                del done[tenant]
        finally:  # the store was not told of these
            for tenant, by_channel in done.items():
                for channel, rows in by_channel.items():
                    for seq, message_id in rows.items():
                        self._note(ChannelKey(tenant, channel), seq, message_id)

    def _forget(self, key: ChannelKey) -> dict[int, str]:
        """Forget what is done, before the store is told: what comes again meanwhile is noted again."""
        noted = self._noted[key]
        done = {seq: id_ for seq, id_ in noted.items() if not self._is_behind(key, seq, id_)}
        for seq in done:
            del noted[seq]
        self.count -= len(done)
        if not noted:
            del self._noted[key]
        return done

    def _is_behind(self, key: ChannelKey, seq: int, message_id: str) -> bool:
        return any(one.is_behind(key, seq, message_id) for one in self._workers)

    # --- what others left --------------------------------------------------------------------------

    async def _look(self) -> None:
        locks = self._jobs.locks
        for holder, tenants in (await self._work.others_at_work()).items():
            if not await locks.try_to_take(OF_ALL_TENANTS, "server", holder):
                continue  # it lives
            try:
                for tenant in tenants:
                    self._left += await self._work.take_over(tenant, holder)
            finally:
                locks.give_back(OF_ALL_TENANTS, "server", holder)
        while self._left:
            await self._begin(self._left[0])
            self._left.popleft()

    async def _begin(self, left: Left) -> None:
        """Have the workers begin with these rows; they are this server's by now, whatever happens."""
        key, first, last = left
        await self._jobs.catch_up(key.tenant, [key.channel])
        for start in range(first, last + 1, PAGE):
            seqs = range(start, min(start + PAGE, last + 1))
            ids = await self._reader.ids_by_seq(key, seqs)
            rows = await self._reader.get_messages(key, [*ids.values()])
            for seq in seqs:
                self._note(key, seq, ids.get(seq, ""))
            stored = sorted(rows.values(), key=lambda row: row.seq)
            for worker in self._workers:
                worker.take_over(key, stored)
            self.taken_over += len(stored)
