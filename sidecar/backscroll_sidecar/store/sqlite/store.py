"""History in one SQLite file: a thread that writes, a thread that reads, a lock that keeps other servers out.

Safe to call from any task of one event loop; `apply` is called by one task only, the writer. Why a thread of our own
writes, and aiosqlite's reads: docs/decisions/0003-sqlite3-in-own-threads.md, 0025-pages-read-by-aiosqlite.md.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from backscroll_sidecar.background import make_room
from backscroll_sidecar.domain import ChannelKey, Member, StoredMessage
from backscroll_sidecar.errors import StoreReadOnly, StoreUnavailable
from backscroll_sidecar.ports import (
    ANY_EVENT,
    AppendChange,
    Applied,
    Change,
    ChannelInfo,
    ChannelRows,
    EventQuery,
    LastMessage,
    ListQuery,
    Maintenance,
    RecordedEvent,
    StoredRecord,
    StoredVector,
    UnembeddedPage,
)
from backscroll_sidecar.store.sqlite import files, group, migrate, places, reads, records, vacuum
from backscroll_sidecar.store.sqlite.connection import OwnedConnection
from backscroll_sidecar.store.sqlite.files import Durability, FileLock, StoreStats
from backscroll_sidecar.store.sqlite.reading import ReadingConnection

SHORT_GROUP = 32
"""So many single messages are written in a millisecond or two: to take turns every half of one meanwhile bounds little
and cost them a seventh of their rate (16 callers, one message each)."""


class SqliteStore:
    """`HistoryStore` on a SQLite file. Open it with `SqliteStore.open`, always close it."""

    def __init__(
        self, path: Path, lock: FileLock, writer: OwnedConnection, reader: ReadingConnection
    ) -> None:
        self._path = path
        self._lock = lock
        self._writer = writer
        self._reader = reader
        self._known = group.Known()
        self._closing: asyncio.Task[None] | None = None
        self._is_rewriting = False

    @classmethod
    async def open(
        cls,
        path: str | Path,
        *,
        durability: Durability = "full",
        migrations: Sequence[migrate.Migration] | None = None,
    ) -> SqliteStore:
        """Take the database's lock, open it, bring its schema up to date.

        Parameters
        ----------
        path : str or Path
            The database file; made if it does not exist, its folder must. Beside it lie its log and a `.lock` file.
        durability : {"full", "normal"}
            ``full``: every commit reaches the disk before `apply` returns. ``normal``: a power cut may lose the last
            commits, a crash of the program loses nothing.
        migrations : sequence of Migration, optional
            Other than the ones this program has; for tests.

        Raises
        ------
        StoreUnavailable
            In use by another server, written by a newer version, not a database of ours, or not to be opened.
        """
        path, lock = files.prepare(path)
        connect_writer = partial(
            files.connect_writer, path, durability, migrations or migrate.known()
        )
        writer = OwnedConnection("backscroll-store-writer", connect_writer)
        store = cls(path, lock, writer, ReadingConnection(path))
        try:
            await writer.run(lambda _: None)  # opens it
            with contextlib.suppress(StoreUnavailable, StoreReadOnly):  # a full disk may be read
                await writer.run(files.checkpoint)  # a crash may have left a long log
            await store._reader.run(lambda _: make_room())
        except BaseException:
            await store.close()
            raise
        return store

    async def close(self) -> None:
        """Finish what is queued, checkpoint, close, end both threads, release the lock. Idempotent."""
        if self._closing is None:
            self._closing = asyncio.create_task(self._close())
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        try:
            await self._reader.close()
        finally:
            try:
                await self._writer.close(files.checkpoint)
            finally:
                self._lock.release()

    # --- writing -----------------------------------------------------------------------------

    async def apply(self, changes: Sequence[Change]) -> Sequence[Applied]:
        if not changes:
            return []
        few = all(isinstance(c, AppendChange) and len(c.messages) == 1 for c in changes)
        return await self._writer.run(
            lambda c: group.apply_group(c, changes, self._known),
            is_short=few and len(changes) <= SHORT_GROUP,
        )

    @property
    def maintenance(self) -> Maintenance:
        return self

    async def empty_log(self) -> None:
        """Write the log into the database and empty it. Raises `StoreUnavailable` where another program reads it."""
        await self._writer.run(vacuum.empty_log)

    async def rewrite(self) -> None:
        """Leave no byte of what was deleted since the last time (N-10); see `vacuum.rewrite`. Writes wait meanwhile."""
        self._is_rewriting = True
        try:
            await self._writer.run(lambda c: vacuum.rewrite(c, self._path))
        finally:
            self._is_rewriting = False

    def interrupt(self) -> None:
        """Break off `rewrite`, which fails; it leaves everything as it was."""
        if self._is_rewriting:
            self._writer.interrupt()

    async def stats(self) -> StoreStats:
        """What `doctor` shows: versions, modes as read back, sizes, counts."""
        return await self._writer.run(lambda c: files.read_stats(c, self._path))

    # --- reading -----------------------------------------------------------------------------

    async def load_channel(self, key: ChannelKey, segment_format: str = "") -> ChannelRows:
        return await self._reader.run(lambda c: reads.load_channel(c, key, segment_format))

    async def latest(self, key: ChannelKey, limit: int) -> Sequence[StoredMessage]:
        return await self._reader.run(lambda c: reads.latest(c, key, limit))

    async def list_messages(self, key: ChannelKey, query: ListQuery) -> Sequence[StoredMessage]:
        return await self._reader.run(lambda c: reads.list_messages(c, key, query))

    async def latest_of_user(
        self, tenant: str, user_id: str, channels: Sequence[str], limit: int
    ) -> Sequence[StoredMessage]:
        return await self._reader.run(
            lambda c: reads.latest_of_user(c, tenant, user_id, channels, limit)
        )

    async def get_messages(
        self, key: ChannelKey, message_ids: Sequence[str]
    ) -> Mapping[str, StoredMessage]:
        return await self._reader.run(lambda c: reads.get_messages(c, key, message_ids))

    async def reply_tree(
        self, key: ChannelKey, message_id: str, limit: int
    ) -> Sequence[StoredMessage]:
        return await self._reader.run(lambda c: reads.reply_tree(c, key, message_id, limit))

    async def answer_to(
        self, key: ChannelKey, message_id: str, author_id: str, mark: str
    ) -> StoredMessage | None:
        return await self._reader.run(
            lambda c: places.answer_to(c, key, message_id, author_id, mark)
        )

    async def channel_infos(
        self, tenant: str, after: str, limit: int, name_contains: str = ""
    ) -> Sequence[ChannelInfo]:
        return await self._reader.run(
            lambda c: reads.channel_infos(c, tenant, after, limit, name_contains)
        )

    async def channel_info(self, key: ChannelKey) -> ChannelInfo | None:
        return await self._reader.run(lambda c: reads.channel_info(c, key))

    async def members(self, key: ChannelKey) -> Sequence[Member]:
        return await self._reader.run(lambda c: reads.members(c, key))

    async def last_messages(self, key: ChannelKey) -> Mapping[str, LastMessage]:
        return await self._reader.run(lambda c: reads.last_messages(c, key))

    async def events(
        self, key: ChannelKey, query: EventQuery = ANY_EVENT
    ) -> Sequence[RecordedEvent]:
        return await self._reader.run(lambda c: reads.events(c, key, query))

    async def records(
        self,
        key: ChannelKey,
        kind: str,
        now_ms: int,
        *,
        owner: str | None = None,
        after: int = 0,
        limit: int = 1_000,
    ) -> Sequence[StoredRecord]:
        return await self._reader.run(
            lambda c: records.records(c, key, kind, now_ms, owner, after, limit)
        )

    async def records_of_owner(
        self, tenant: str, kind: str, owner: str, now_ms: int
    ) -> Sequence[StoredRecord]:
        return await self._reader.run(
            lambda c: records.records_of_owner(c, tenant, kind, owner, now_ms)
        )

    async def record_owners(
        self, tenant: str, kind: str, after: str | None, limit: int
    ) -> Sequence[str]:
        return await self._reader.run(
            lambda c: records.record_owners(c, tenant, kind, after, limit)
        )

    async def export(self, key: ChannelKey) -> AsyncIterator[StoredMessage]:
        after_seq = 0
        while page := await self._reader.run(
            partial(reads.export_page, key=key, after_seq=after_seq)
        ):
            for stored in page:
                yield stored
            after_seq = page[-1].seq

    async def vectors(self, key: ChannelKey, embedder_id: str) -> Sequence[StoredVector]:
        return await self._reader.run(lambda c: reads.vectors(c, key, embedder_id))

    async def unembedded(
        self, key: ChannelKey, embedder_id: str, dims: int, from_seq: int, limit: int
    ) -> UnembeddedPage:
        return await self._reader.run(
            lambda c: reads.unembedded(c, key, embedder_id, dims, from_seq, limit)
        )

    async def unembedded_count(
        self, key: ChannelKey, embedder_id: str, dims: int, until_seq: int
    ) -> int:
        return await self._reader.run(
            lambda c: reads.unembedded_count(c, key, embedder_id, dims, until_seq)
        )

    async def channels(self, after: ChannelKey | None, limit: int) -> Sequence[ChannelKey]:
        return await self._reader.run(lambda c: reads.channels(c, after, limit))

    async def lately_kept(self, segment_format: str, limit: int) -> Sequence[ChannelKey]:
        return await self._reader.run(lambda c: reads.lately_kept(c, segment_format, limit))

    async def channels_of_user(self, tenant: str, user_id: str) -> Sequence[str]:
        return await self._reader.run(lambda c: reads.channels_of_user(c, tenant, user_id))
