"""Summaries as builds and callers get them: the newest of each conversation in memory, and compactions that begin by
themselves.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Coroutine, Iterable, Sequence
from typing import Any

import structlog

from backscroll_sidecar.domain import ChannelKey, MessageState, StoredMessage
from backscroll_sidecar.errors import BackscrollError
from backscroll_sidecar.ports import Applied
from backscroll_sidecar.summaries.compaction import (
    Compaction,
    CompactionSettings,
    Conversation,
    Missing,
)
from backscroll_sidecar.summaries.compactor import Compactor
from backscroll_sidecar.summaries.cut_points import LINE_TOKENS
from backscroll_sidecar.summaries.progress import NEXT_SHARE
from backscroll_sidecar.summaries.summary import SUMMARY, Summary

log = structlog.get_logger(__name__)

AT_ONCE = 2
"""So many compactions that begin by themselves run at once."""
REMEMBERED = 8_192
"""Conversations whose summaries, or that there are none, are in memory."""


class Summaries:
    """Knows the newest summary of conversations; one of the writer's publishers. Safe from any task of one event loop.

    Nobody who appends or builds waits for a summary: a compaction that begins by itself runs beside them.
    """

    def __init__(self, compactor: Compactor, settings: CompactionSettings) -> None:
        self._compactor = compactor
        self._settings = settings
        self._known: OrderedDict[Conversation, tuple[Summary, ...]] = OrderedDict()
        self._reading: dict[ChannelKey, set[object]] = {}
        """A mark for each read that nothing has outdated yet."""
        self._missing: OrderedDict[Conversation, Missing] = OrderedDict()
        """Of conversations that were written to, before it is looked whether a compaction is due."""
        self._usual = Missing(
            NEXT_SHARE * settings.threshold_tokens, NEXT_SHARE * settings.threshold_messages
        )
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._running: dict[Conversation, int] = {}
        """With the message that began it; 0: none did."""
        self._is_closed = False
        self._tasks: set[asyncio.Task[None]] = set()

    # --- what builds ask ---------------------------------------------------------------------------

    def is_known(self, conversation: Conversation) -> bool:
        """Whether `known` can tell."""
        return conversation in self._known

    def known(self, conversation: Conversation) -> tuple[Summary, ...]:
        """The newest summary of a conversation that `is_known`, and the one before it."""
        self._known.move_to_end(conversation)
        return self._known[conversation]

    async def read(self, conversation: Conversation) -> tuple[Summary, ...]:
        """The same from the store. Raises `StoreUnavailable`."""
        key, mark = conversation.key, object()
        fresh = self._reading.setdefault(key, set())
        fresh.add(mark)
        try:
            summaries = await self._compactor.newest(conversation)
        finally:
            is_fresh = mark in fresh
            fresh.discard(mark)
            if not fresh and self._reading.get(key) is fresh:
                del self._reading[key]
        if is_fresh:  # else it may be older than what was answered meanwhile
            self._known[conversation] = summaries
            if len(self._known) > REMEMBERED:
                self._known.popitem(last=False)
        return summaries

    async def compact(
        self, conversation: Conversation, *, focus: str = "", with_model: bool = True
    ) -> Compaction:
        """See `Compactor.compact`."""
        self._missing.pop(conversation, None)
        return await self._compactor.compact(conversation, focus=focus, with_model=with_model)

    def compact_if_due(self, conversation: Conversation, settings: CompactionSettings) -> None:
        """Compact beside what runs, where so much stands behind the last summary."""
        self._begin(conversation, settings)

    def take_over(self, key: ChannelKey, rows: Sequence[StoredMessage]) -> None:
        """Compact where another server did not."""
        if self._settings.is_automatic:
            for thread_id, stored in _by_thread(rows):
                self._begin(Conversation(key, thread_id), begun_by=stored[-1].seq)

    def is_behind(self, key: ChannelKey, seq: int, message_id: str) -> bool:  # noqa: ARG002
        """Whether a compaction runs that a message began."""
        return any(one.key == key and begun_by == seq for one, begun_by in self._running.items())

    async def compact_within(self, conversation: Conversation, wait_s: float) -> None:
        """Compact, and wait so long for it: it goes on beside. A failure is logged."""
        self._missing.pop(conversation, None)
        await asyncio.wait({self._spawn(self._compact(conversation))}, timeout=wait_s)

    # --- what the writer tells ---------------------------------------------------------------------

    def publish(self, key: ChannelKey, applied: Applied) -> None:
        """Take over a committed change: read anew what it may have deleted, and see whether a compaction is due."""
        counts = self._settings.is_automatic and not self._is_closed
        is_summary = any(change.kind == SUMMARY for change in applied.records)
        is_other = any(one.state is not MessageState.LIVE or one.revision for one in applied.stored)
        if applied.is_erasure or is_other or is_summary:
            self._reading.pop(key, set()).clear()
            for conversation in [one for one in self._known if one.key == key]:
                summaries = self._known.pop(conversation)
                if summaries and counts and not applied.is_foreign:
                    self._look_again(conversation, summaries[0])
        if counts:
            for thread_id, stored in _by_thread(applied.stored):
                self._count(Conversation(key, thread_id), stored, begins=not applied.is_foreign)

    def _look_again(self, conversation: Conversation, summary: Summary) -> None:
        """Where a summary may be gone with a message, what it stood for is behind the one before: that may be due."""
        if conversation not in self._running:
            self._running[conversation] = 0
            self._spawn(self._compact_if_lost(conversation, summary))

    async def _compact_if_lost(self, conversation: Conversation, summary: Summary) -> None:
        try:
            if summary in await self._compactor.newest(conversation):
                return
            self._missing.pop(conversation, None)
            async with self._slots:
                await self._compact(conversation, only_if_due=True)
        except BackscrollError as error:
            log.warning("a conversation is not compacted now", reason=error.message)
        finally:
            self._ended(conversation)

    def _count(
        self, conversation: Conversation, stored: Sequence[StoredMessage], *, begins: bool
    ) -> None:
        """Count what came; what came to another server begins nothing here."""
        counted, missing = self._settings.counted, self._missing.pop(conversation, self._usual)
        tokens = sum(counted(one.analysis.token_count + LINE_TOKENS) for one in stored)
        missing = Missing(missing.tokens - tokens, missing.messages - len(stored))
        if begins and missing.is_due and self._begin(conversation, begun_by=stored[-1].seq):
            return  # what is new from now on counts for the next attempt
        self._await(conversation, missing)

    def _await(self, conversation: Conversation, missing: Missing) -> None:
        self._missing[conversation] = missing
        if len(self._missing) > REMEMBERED:
            self._missing.popitem(last=False)

    def _begin(
        self,
        conversation: Conversation,
        settings: CompactionSettings | None = None,
        *,
        begun_by: int = 0,
    ) -> bool:
        """Compact beside what runs if it is due; False: it runs already."""
        if conversation in self._running or self._is_closed:
            return False
        self._running[conversation] = begun_by
        self._spawn(self._compact_if_due(conversation, settings))
        return True

    async def _compact_if_due(
        self, conversation: Conversation, settings: CompactionSettings | None = None
    ) -> None:
        try:
            async with self._slots:
                await self._compact(conversation, settings, only_if_due=True)
        finally:
            self._ended(conversation)

    def _ended(self, conversation: Conversation) -> None:
        if not self._is_closed:  # else it was broken off: another server is to do it
            del self._running[conversation]

    async def _compact(
        self,
        conversation: Conversation,
        settings: CompactionSettings | None = None,
        *,
        only_if_due: bool = False,
    ) -> None:
        try:
            if only_if_due:
                missing = await self._compactor.missing(conversation, settings)
                if not missing.is_due:
                    if settings is None:
                        self._await(conversation, missing)
                    return
            await self._compactor.compact(conversation, settings=settings, only_if_due=only_if_due)
        except BackscrollError as error:
            log.warning("a conversation is not compacted now", reason=error.message)
        except Exception:
            log.exception("a conversation could not be compacted; it is tried again")

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def close(self) -> None:
        """Stop what runs beside. Idempotent."""
        self._is_closed = True
        tasks = [*self._tasks]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _by_thread(rows: Sequence[StoredMessage]) -> Iterable[tuple[str, Sequence[StoredMessage]]]:
    """Rows of a channel, of the whole channel first; then those of each thread."""
    by_thread: dict[str, list[StoredMessage]] = {"": [*rows]} if rows else {}
    for one in rows:
        if one.message.thread_id:
            by_thread.setdefault(one.message.thread_id, []).append(one)
    return by_thread.items()
