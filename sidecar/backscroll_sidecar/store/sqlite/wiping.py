"""What was deleted goes from the files, too: out of the log, and out of pages that were split.

That rows went stands in the database's header, in the transaction in which they went, until the file was wiped.
Why we write into SQLite's file, and how that is safe: docs/decisions/0038-wiping-pages.md.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import sqlite3
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path

from backscroll_sidecar.errors import StoreUnavailable
from backscroll_sidecar.store.sqlite import rollback_journal
from backscroll_sidecar.store.sqlite.connection import transaction
from backscroll_sidecar.store.sqlite.pages import MAX_PAGES, Layout, Stale, stale_parts

PAGES_AT_ONCE = 512
"""Writes wait for so many: some milliseconds, and the disk."""
READERS_MS = 200
"""Who reads the log, such as a backup, is waited for so long: writes wait meanwhile."""
_WIPED, _TO_WIPE, _BEING_WIPED = range(3)
_RESERVED_BYTE = 0x40000001
"""Who holds a lock on it writes the file: nobody else takes that one's journal for one to be rolled back."""
_LAYOUT = struct.Struct(">16xH2xB")


# --- what is left to do --------------------------------------------------------------------------


def note_deletion(connection: sqlite3.Connection) -> None:
    """Have the file wiped. In the transaction that deletes."""
    if _state(connection) != _TO_WIPE:
        connection.execute(f"PRAGMA user_version = {_TO_WIPE}")


def is_wiped(connection: sqlite3.Connection) -> bool:
    """Whether the file was wiped since rows were deleted."""
    return _state(connection) == _WIPED


def begin(connection: sqlite3.Connection) -> int:
    """Begin to wipe; how many pages there are to look at. None where nothing was deleted since the last time."""
    if is_wiped(connection):
        return 0
    empty_log(connection)  # one that is read would grow, try after try
    connection.execute(f"PRAGMA user_version = {_BEING_WIPED}")
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    return int(pages)


def end(connection: sqlite3.Connection) -> None:
    """Every page was looked at. What was deleted meanwhile is left to do."""
    with transaction(connection):
        if _state(connection) == _BEING_WIPED:
            connection.execute(f"PRAGMA user_version = {_WIPED}")


def empty_log(connection: sqlite3.Connection) -> None:
    """Write the log into the database and empty it. What was deleted is overwritten with zeros there.

    Raises
    ------
    StoreUnavailable
        Somebody reads what stands in the log.
    """
    (usual_ms,) = connection.execute("PRAGMA busy_timeout").fetchone()
    connection.execute(f"PRAGMA busy_timeout = {READERS_MS}")
    try:
        ((is_read, *_),) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    finally:
        connection.execute(f"PRAGMA busy_timeout = {usual_ms}")
    if is_read:
        raise StoreUnavailable("the database's log is being read by another program")


def _state(connection: sqlite3.Connection) -> int:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return int(version)


# --- the file ------------------------------------------------------------------------------------


class PageFile:
    """The database's file beside SQLite's connections. Opened when it is first wiped, closed behind them.

    To close it drops every lock of the process on the file, SQLite's too: that is how POSIX locks are.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor = -1

    def close(self) -> None:
        """Idempotent."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def wipe(self, connection: sqlite3.Connection, *, first: int) -> None:
        """Zero what belongs to nothing in the next `PAGES_AT_ONCE` pages from number `first` on.

        Raises
        ------
        StoreUnavailable
            The log is read or written by another program, or the file is no longer as we make it.
        """
        empty_log(connection)
        try:
            if self._descriptor < 0:
                self._descriptor = os.open(self._path, os.O_RDWR | os.O_CLOEXEC)
            with transaction(connection):  # nobody writes the file or a log while it lasts
                self._check_log()
                is_changed = self._wipe(first, self._layout())
        except OSError as error:
            raise StoreUnavailable(
                f"the database's file cannot be wiped ({error.strerror})"
            ) from error
        if is_changed:  # what SQLite has of the pages in memory would be written as it was
            connection.execute("PRAGMA shrink_memory")

    def _wipe(self, first: int, layout: Layout) -> bool:
        size = layout.page_bytes
        pages = os.pread(self._descriptor, PAGES_AT_ONCE * size, (first - 1) * size)
        stale = [*stale_parts(pages, first, layout)]
        if stale:
            places = [(number, (number - first) * size) for number, _ in stale]
            before = [(number, pages[at : at + size]) for number, at in places]
            with self._journalled(before, layout):
                self._overwrite(stale, size)
        return bool(stale)

    def _check_log(self) -> None:
        log = self._path.with_name(self._path.name + "-wal")
        if log.exists() and log.stat().st_size:
            raise StoreUnavailable("another program writes to the database")

    def _layout(self) -> Layout:
        header = os.pread(self._descriptor, 100, 0)
        page_bytes, reserved = _LAYOUT.unpack_from(header)
        page_bytes = 65_536 if page_bytes == 1 else page_bytes
        page_count = os.fstat(self._descriptor).st_size // page_bytes
        (largest_root,) = struct.unpack_from(">I", header, 52)
        if largest_root:
            raise StoreUnavailable(
                "the database is set to auto_vacuum: set that to 0 and VACUUM it"
            )
        if page_count >= MAX_PAGES:
            raise StoreUnavailable("the database has too many pages to be wiped: VACUUM it")
        return Layout(page_bytes, page_bytes - reserved, page_count)

    def _overwrite(self, stale: Sequence[tuple[int, Sequence[Stale]]], page_bytes: int) -> None:
        for number, parts in stale:
            for part in parts:
                zeros = bytes(part.end - part.start)
                os.pwrite(self._descriptor, zeros, (number - 1) * page_bytes + part.start)

    @contextlib.contextmanager
    def _journalled(self, pages: Sequence[tuple[int, bytes]], layout: Layout) -> Iterator[None]:
        """The pages stand in a journal while the block writes them. Whoever dies meanwhile leaves it to SQLite."""
        path = self._path.with_name(self._path.name + "-journal")
        fcntl.lockf(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _RESERVED_BYTE)
        try:
            try:
                _write_durably(path, rollback_journal.encode(pages, layout, secrets.randbits(32)))
                yield
                os.fsync(self._descriptor)
            finally:
                path.unlink(missing_ok=True)
                _sync_folder(path)
        finally:
            fcntl.lockf(self._descriptor, fcntl.LOCK_UN, 1, _RESERVED_BYTE)


def _write_durably(path: Path, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(descriptor)
    _sync_folder(path)


def _sync_folder(path: Path) -> None:
    folder = os.open(path.parent, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
