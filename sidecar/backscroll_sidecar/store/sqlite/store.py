"""History in one SQLite file: a thread that writes, a thread that reads, a lock that keeps other servers out.

Safe to call from any task of one event loop; `apply` is called by one task only, the writer. Why a thread of our own
writes, and aiosqlite's reads: docs/decisions/0003-sqlite3-in-own-threads.md, 0025-pages-read-by-aiosqlite.md.
"""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from backscroll_sidecar.concurrency.background import make_room
from backscroll_sidecar.domain import ChannelKey, StoredMessage
from backscroll_sidecar.errors import StoreReadOnly, StoreUnavailable
from backscroll_sidecar.ports import AppendChange, Applied, Change, Maintenance
from backscroll_sidecar.store.durability import Durability
from backscroll_sidecar.store.moving.ends import check_here
from backscroll_sidecar.store.sqlite import (
    files,
    group,
    lookups,
    migrate,
    moves,
    reads,
    records,
    usage,
    wiping,
)
from backscroll_sidecar.store.sqlite.connection import OwnedConnection
from backscroll_sidecar.store.sqlite.files import FileLock, StoreStats
from backscroll_sidecar.store.sqlite.reading import ReadingConnection

SHORT_GROUP = 32
"""So many single messages are written in a millisecond or two: to take turns every half of one meanwhile bounds little
and cost them a seventh of their rate (16 callers, one message each)."""


P = ParamSpec("P")
T = TypeVar("T")


def _page(
    read: Callable[Concatenate[sqlite3.Connection, P], T],
) -> Callable[Concatenate[SqliteStore, P], Coroutine[Any, Any, T]]:
    """The method of the store that does this read as one page of its reading connection."""

    async def ask(self: SqliteStore, /, *args: P.args, **named: P.kwargs) -> T:
        return await self._reader.run(lambda connection: read(connection, *args, **named))

    return ask


class SqliteStore:
    """`HistoryStore` on a SQLite file. Open it with `SqliteStore.open`, always close it."""

    keeps_segments = True
    shared = None
    leases = None
    work = None

    def __init__(
        self, path: Path, lock: FileLock, writer: OwnedConnection, reader: ReadingConnection
    ) -> None:
        self._path = path
        self._lock = lock
        self._writer = writer
        self._reader = reader
        self._known = group.Known()
        self._closing: asyncio.Task[None] | None = None
        self._file = wiping.PageFile(path)
        self._place = files.Place(path)
        self._is_interrupted = False

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
            In use by another server, written by a newer version, moved to another database, not a database of ours, or
            not to be opened.
        """
        path, lock = files.prepare(path)
        connect_writer = partial(
            files.connect_writer, path, durability, migrations or migrate.known()
        )
        writer = OwnedConnection("backscroll-store-writer", connect_writer)
        store = cls(path, lock, writer, ReadingConnection(path))
        try:
            await writer.run(lambda _: None)  # opens it
            if migrations is None:  # an older schema knows of no moves
                await writer.run(lambda connection: check_here(moves.found_move(connection)))
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
                self._file.close()
                self._lock.release()

    # --- writing -----------------------------------------------------------------------------

    async def apply(self, changes: Sequence[Change]) -> Sequence[Applied]:
        if not changes:
            return []
        few = all(isinstance(c, AppendChange) and len(c.messages) == 1 for c in changes)
        return await self._writer.run(
            lambda connection: self._apply(connection, changes),
            is_short=few and len(changes) <= SHORT_GROUP,
        )

    def _apply(
        self, connection: sqlite3.Connection, changes: Sequence[Change]
    ) -> Sequence[Applied]:
        self._place.check()
        return group.apply_group(connection, changes, self._known)

    @property
    def maintenance(self) -> Maintenance:
        return self

    async def empty_log(self) -> None:
        """Write the log into the database and empty it. Raises `StoreUnavailable` where another program reads it."""
        await self._writer.run(wiping.empty_log)

    async def wipe(self) -> None:
        """Leave no byte of what was deleted since the last time; see `wiping`. Writes get in between."""
        self._is_interrupted = False
        pages = await self._writer.run(wiping.begin)
        for first in range(1, pages + 1, wiping.PAGES_AT_ONCE):
            if self._is_interrupted:
                raise StoreUnavailable("the store is about to close")
            await self._writer.run(partial(self._file.wipe, first=first))
        if pages:
            await self._writer.run(wiping.end)

    def interrupt(self) -> None:
        """Break off `wipe`, which fails; it is begun again the next time."""
        self._is_interrupted = True

    async def stats(self) -> StoreStats:
        """What `doctor` shows: versions, modes as read back, sizes, counts."""
        return await self._writer.run(lambda c: files.read_stats(c, self._path))

    # --- moving ------------------------------------------------------------------------------

    async def moved_to(self) -> str:
        move = await self._reader.run(moves.found_move)
        return move.other if move is not None and move.phase == "left" else ""

    def let_go(self) -> None:
        self._lock.release()

    # --- reading -----------------------------------------------------------------------------

    load_channel = _page(reads.load_channel)
    latest = _page(reads.latest)
    list_messages = _page(reads.list_messages)
    latest_of_user = _page(reads.latest_of_user)
    get_messages = _page(reads.get_messages)
    reply_tree = _page(reads.reply_tree)
    answer_to = _page(lookups.answer_to)
    overdue = _page(reads.overdue)
    channel_infos = _page(reads.channel_infos)
    channel_info = _page(reads.channel_info)
    members = _page(reads.members)
    last_messages = _page(reads.last_messages)
    events = _page(reads.events)
    usage_records = _page(usage.usage_records)
    signals = _page(usage.signals)
    ids_by_seq = _page(usage.ids_by_seq)
    newest_records = _page(records.newest_records)
    record = _page(records.record)
    updated_records = _page(records.updated_records)
    records_of_ids = _page(records.records_of_ids)
    records_about = _page(records.records_about)
    records_of_owner = _page(records.records_of_owner)
    record_owners = _page(records.record_owners)
    records = _page(records.records)
    vectors = _page(reads.vectors)
    unembedded = _page(reads.unembedded)
    unembedded_count = _page(reads.unembedded_count)
    channels = _page(reads.channels)
    lately_kept = _page(reads.lately_kept)
    channels_of_tenant = _page(reads.channels_of_tenant)
    channels_of_user = _page(reads.channels_of_user)
    channels_to_erase = _page(reads.channels_to_erase)
    _export_page = _page(reads.export_page)

    async def export(self, key: ChannelKey) -> AsyncIterator[StoredMessage]:
        after_seq = 0
        while page := await self._export_page(key, after_seq):
            for stored in page:
                yield stored
            after_seq = page[-1].seq
