"""The one task that writes. Nothing else calls `HistoryStore.apply`.

Why a task of its own: a request can be cancelled at any await, a transaction must not be (a task cancelled between
INSERT and COMMIT leaves the transaction open, and the next commit makes the abandoned row permanent). So requests
queue their change and wait for a future; the writer commits together what came in while the last group committed, and
what comes right behind it.

    submit → queue → group → store.apply (one transaction) → publish to hot channels → resolve futures
"""

from __future__ import annotations

import asyncio
import copy
import logging
import time
import uuid
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager

from backscroll_sidecar.domain import ChannelKey, Event
from backscroll_sidecar.errors import BackscrollError, DeadlineExceeded, Gone, StoreUnavailable
from backscroll_sidecar.history.erasure_guard import ErasureGuard
from backscroll_sidecar.history.publishing import (
    PUBLISH_SLICE,
    ChannelPublisher,
    joined_by_channel,
    publish_slices,
)
from backscroll_sidecar.history.queue import USUAL_LIMITS, Pending, QueueLimits, WriteQueue, pend
from backscroll_sidecar.ports import (
    Applied,
    Change,
    EventsChange,
    HistoryStore,
    Loss,
    SharedWrites,
    TurnMark,
    UsageChange,
)

logger = logging.getLogger(__name__)

MAX_GROUP_ITEMS = 5_000
MAX_GROUP_BYTES = 32 * 1024 * 1024
RESOLVE_SLICE = 256
LET_AGAIN_S = 1.0
_NOWHERE = ChannelKey("", "")
CROWD_ROUNDS, LONE_ROUNDS = 20, 4
"""A group is taken when nothing came for so many rounds of the loop: 100 or 20 µs of an idle one; of a busy one as long
as somebody who was just answered needs to ask again."""
GATHERED_ITEMS = 32
"""A group of so many rows shares what a commit costs by itself among enough."""

# The event loop holds its tasks weakly: without this a writer that nobody names could be collected.
_running: set[asyncio.Task[None]] = set()

Outcome = Applied | BackscrollError


class Writer:
    """Owns the writing side of the store. Safe to call from any task of its event loop, from no other thread.

    Parameters
    ----------
    store
        Only this writer calls its `apply`.
    publisher
        Told of every change after its commit and before its caller.
    """

    def __init__(
        self,
        store: HistoryStore,
        publisher: ChannelPublisher,
        limits: QueueLimits = USUAL_LIMITS,
    ) -> None:
        self._store = store
        self._publisher = publisher
        self._queue = WriteQueue(limits)
        self._task: asyncio.Task[None] | None = None
        self._stopping = False
        self._guard = ErasureGuard()
        self.dropped_events = 0
        self.dropped_records = 0
        self.publish_failures = 0

    @property
    def queued_items(self) -> int:
        """Messages, members and events that wait for their commit."""
        return self._queue.items

    @property
    def queued_bytes(self) -> int:
        """About the memory that they hold."""
        return self._queue.bytes

    @property
    def erasures_seen(self) -> int:
        """How many erasures and retractions no reader can miss any more; see `TurnMark`."""
        return self._guard.published

    # --- asking ------------------------------------------------------------------------------------

    async def submit(self, change: Change, deadline_s: float | None = None) -> Applied:
        """Make one change durable and return what it did. Cancelling the caller never cancels the commit.

        Parameters
        ----------
        deadline_s
            On the clock of `time.monotonic`; None: wait as long as the commit takes.

        Raises
        ------
        Overloaded
            The queue stayed full; nothing of the change was or will be stored.
        DeadlineExceeded
            The commit did not end in time. It still may; asking again is safe.
        StoreUnavailable, StoreReadOnly
            Nothing of the change was stored, unless the server was stopped in the middle of its commit.
        Gone
            An erasure or a retraction came before it that it would undo (`TurnMark`); nothing of it was stored.
        BackscrollError
            The store refused this change (`Applied.error`), or could not take it (INTERNAL).
        """
        if self._task is None or self._stopping:
            raise StoreUnavailable("the server is not accepting writes")
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Applied] = loop.create_future()
        pending = pend(change, future)
        if not self._queue.put_at_once(pending):
            await self._queue.put(pending, deadline_s)
        if deadline_s is None:
            return await future
        # A timer and a future of its own: a fifth of what waiting under a timeout costs.
        timer = loop.call_later(deadline_s - time.monotonic(), _expire, future)
        try:
            return await future
        finally:
            timer.cancel()

    def emit(
        self,
        key: ChannelKey,
        context_id: str,
        events: Sequence[Event],
        turn: TurnMark | None = None,
    ) -> None:
        """Queue events to be recorded, or drop and count them: the writer is an `EventSink`.

        Events fill at most half of the queue: the other half belongs to those who wait for an answer.
        """
        if not self.offer(EventsChange(key, context_id, tuple(events), turn)):
            self.dropped_events += len(events)

    def offer(self, change: Change) -> bool:
        """Queue a change that nobody waits for; False: there is no room in the half of the queue that is for those."""
        accepting = self._task is not None and not self._stopping
        return accepting and self._queue.put_nowait(pend(change))

    async def settled(self) -> None:
        """Return once everything that is queued by now is committed, or has failed. Raises as `submit`."""
        await self.submit(EventsChange(_NOWHERE, "", ()))

    def note_losses(self, losses: Iterable[Loss]) -> None:
        """Refuse what turns write that would bring back what other servers took away. The caches know it by now."""
        self._guard.note(losses)

    @asynccontextmanager
    async def holding_turns(self, tenant: str) -> AsyncIterator[None]:
        """Refuse what turns of a tenant write, at any server, until the block ends; see `ErasureGuard.holding`.

        What they were writing is committed by then. Raises `StoreUnavailable`.
        """
        with self._guard.holding(tenant):
            await self.settled()
            if (shared := self._store.shared) is None:
                yield
                return
            name = uuid.uuid4().hex
            try:
                await shared.hold_turns(tenant, name)
                yield
            finally:
                letting = _let_turns(shared, tenant, name)
                task = asyncio.create_task(letting, name="backscroll-let-turns")
                _running.add(task)
                task.add_done_callback(_running.discard)
                await asyncio.wait({task}, timeout=LET_AGAIN_S)

    # --- life --------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Start the task, once."""
        if self._task is None:
            self._task = asyncio.create_task(self._run(), name="backscroll-writer")
            _running.add(self._task)
            self._task.add_done_callback(_running.discard)

    async def drain(self, timeout_s: float) -> bool:
        """Refuse new changes and commit the queued ones; False when `timeout_s` was too short for that."""
        self._stopping = True
        self._queue.wake()
        return self._task is None or bool((await asyncio.wait({self._task}, timeout=timeout_s))[0])

    async def close(self, timeout_s: float = 5.0) -> None:
        """Fail what is queued, let the running commit end within `timeout_s`, stop. Idempotent.

        Close the writer before the store.
        """
        self._stopping = True
        left = self._queue.clear()
        self._resolve(left, [StoreUnavailable("the server stopped before the commit")] * len(left))
        if not await self.drain(timeout_s) and self._task is not None:
            logger.error("a commit did not end within %.1f s and was given up", timeout_s)
            self._task.cancel()
            await asyncio.wait({self._task}, timeout=timeout_s)

    # --- the task ----------------------------------------------------------------------------------

    async def _run(self) -> None:
        rounds = LONE_ROUNDS
        while True:
            if not self._queue:
                if self._stopping:
                    return
                await self._queue.wait()
            await self._queue.gather(rounds, GATHERED_ITEMS)
            group = self._queue.take(MAX_GROUP_ITEMS, MAX_GROUP_BYTES)
            if not group:
                continue
            try:
                await self._commit(group)
            except Exception:
                logger.exception("the writer met an unexpected error and goes on")
            finally:
                for pending in group:  # whatever happened, nobody is left waiting
                    if pending.future is not None and not pending.future.done():
                        _fail(pending, StoreUnavailable("the outcome of the commit is unknown"))
            # Who commits together asks again together; a lone caller shall not wait long for nobody.
            rounds = CROWD_ROUNDS if len(group) > 1 or self._queue else LONE_ROUNDS

    async def _commit(self, group: list[Pending]) -> None:
        group = self._admitted(group)
        if not group:
            return
        outcomes = await self._apply(group)
        await self._publish(group, outcomes)
        self._guard.publish()
        for start in range(0, len(group), RESOLVE_SLICE):
            if start:
                await asyncio.sleep(0)
            end = start + RESOLVE_SLICE
            self._resolve(group[start:end], outcomes[start:end])

    def _admitted(self, group: list[Pending]) -> list[Pending]:
        """The group without what a turn would bring back of what its channel has lost."""
        admitted = []
        for pending in group:
            if self._guard.admits(pending.change):
                admitted.append(pending)
            else:
                _fail(pending, Gone("what the turn was about was erased or recalled"))
        return admitted

    async def _apply(self, group: list[Pending]) -> list[Outcome]:
        """Commit a group; one outcome for each change.

        The store says it cannot write: the whole group fails so. Anything unexpected (a poison change): the halves
        are tried one after the other, down to the change that cannot be stored, which fails alone.
        """
        try:
            applied = await self._store.apply([pending.change for pending in group])
            if len(applied) != len(group):
                raise RuntimeError(f"the store answered {len(applied)} of {len(group)} changes")
        except StoreUnavailable as failure:
            return [failure] * len(group)
        except Exception as failure:
            if len(group) == 1:
                logger.exception("a %s cannot be stored", type(group[0].change).__name__)
                if isinstance(failure, BackscrollError):
                    return [failure]
                return [BackscrollError("the change could not be stored")]
            middle = len(group) // 2
            first = await self._apply(group[:middle])
            if isinstance(first[-1], StoreUnavailable):
                return first + [first[-1]] * (len(group) - middle)
            return first + await self._apply(group[middle:])
        return [one.error or one for one in applied]

    async def _publish(self, group: list[Pending], outcomes: Sequence[Outcome]) -> None:
        rows = 0
        done = [
            (pending.change, outcome)
            for pending, outcome in zip(group, outcomes, strict=True)
            if isinstance(outcome, Applied)
        ]
        for key, applied in joined_by_channel(done):
            for piece in publish_slices(applied):
                if rows >= PUBLISH_SLICE:
                    await asyncio.sleep(0)
                    rows = 0
                rows += max(len(piece.stored), len(piece.members), len(piece.vectors), 1)
                try:
                    self._publisher.publish(key, piece)
                except Exception:
                    self.publish_failures += 1
                    logger.exception("a publisher failed; the commit stands")

    def _resolve(self, group: Sequence[Pending], outcomes: Sequence[Outcome]) -> None:
        for pending, outcome in zip(group, outcomes, strict=True):
            if isinstance(outcome, BackscrollError):
                if isinstance(pending.change, EventsChange):
                    self.dropped_events += pending.items
                elif isinstance(pending.change, UsageChange):
                    self.dropped_records += 1
                _fail(pending, outcome)
            elif pending.future is not None and not pending.future.done():
                pending.future.set_result(outcome)


async def _let_turns(shared: SharedWrites, tenant: str, name: str) -> None:
    """As long as that takes: without it no turn of the tenant would be stored any more while this server lives."""
    while True:
        try:
            await shared.let_turns(tenant, name)
        except StoreUnavailable as error:
            logger.warning("turns are not let yet after an erasure: %s", error.message)
            await asyncio.sleep(LET_AGAIN_S)
        except Exception:
            logger.exception("turns could not be let after an erasure; it is tried again")
            await asyncio.sleep(LET_AGAIN_S)
        else:
            return


def _expire(future: asyncio.Future[Applied]) -> None:
    if not future.done():
        future.set_exception(DeadlineExceeded("the deadline passed before the commit"))


def _fail(pending: Pending, error: BackscrollError) -> None:
    future = pending.future
    if future is not None and not future.done():
        # A copy each: an exception raised in several tasks would collect all their tracebacks.
        future.set_exception(copy.copy(error))
        future.exception()  # counts as seen, even if its caller is gone
