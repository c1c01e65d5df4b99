"""The connection that reads: aiosqlite's, one hop to its thread and back for a page, whatever that takes.

Why, and how a page gets there by public names only: docs/decisions/0025-pages-read-by-aiosqlite.md.
"""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import aiosqlite

from backscroll_sidecar.concurrency.background import in_background
from backscroll_sidecar.concurrency.threads import run_anywhere
from backscroll_sidecar.errors import StoreUnavailable
from backscroll_sidecar.store.sqlite import files
from backscroll_sidecar.store.sqlite.failures import is_connection_usable_after, typed

T = TypeVar("T")
THREAD = "backscroll-store-reader"
_PAGE = "-- a page"
_ROWS_A_FETCH = 64
"""What aiosqlite's own cursors would fetch at a time; nobody iterates one here."""


class _Page(Generic[T]):
    """A read on its way: what to do, and what it found, which the loop takes out of it.

    aiosqlite's thread holds what it did last until it does something else, so that must not be megabytes.
    """

    __slots__ = ("found", "is_wanted", "read")

    found: T

    def __init__(self, read: Callable[[sqlite3.Connection], T]) -> None:
        self.read = read
        self.is_wanted = True

    def take(self) -> T:
        """The answer, once."""
        found = self.found
        del self.found
        return found


class PagingConnection(sqlite3.Connection):
    """SQLite's own connection, which aiosqlite's thread calls; it executes a `_Page` like a statement.

    Such a statement gives no rows. `is_harmed`: a new connection is safer from here on.
    """

    is_harmed = False

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:  # noqa: ANN401
        if sql != _PAGE:
            return super().execute(sql, parameters)
        (page,) = parameters
        if page.is_wanted:
            self._answer(page)
        return self.cursor()

    def _answer(self, page: _Page[Any]) -> None:
        try:
            with in_background():
                found = page.read(self)
            if page.is_wanted:
                page.found = found
        except sqlite3.Error as error:
            self.is_harmed |= not is_connection_usable_after(error)
            raise typed(error) from error
        finally:
            self.is_harmed |= self.in_transaction


class _Opened(NamedTuple):
    connection: aiosqlite.Connection
    pages: PagingConnection
    thread: threading.Thread


class ReadingConnection:
    """Reads pages, one after the other, as they are asked for. Awaited from any task of one event loop.

    A page runs in one piece, so that a task which is cancelled leaves nothing half-read: a page that has begun ends by
    itself, one that waits is left out. After an error that may have harmed the connection the next page gets a new one.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._opening: asyncio.Task[_Opened] | None = None
        self._is_closed = False

    async def run(self, read: Callable[[sqlite3.Connection], T]) -> T:
        """Do the work, which must begin and end its own transaction, and return its result.

        Raises `StoreUnavailable` for errors of SQLite; the work's own errors arrive as they are.
        """
        connection = await self._connected()
        page = _Page(read)
        try:
            await connection.execute_fetchall(_PAGE, (page,))
        except asyncio.CancelledError:
            page.is_wanted = False
            raise
        return page.take()

    async def close(self) -> None:
        """Finish what is queued, close the connection, end its thread. Call it once."""
        self._is_closed = True
        if self._opening is not None:
            await asyncio.wait([self._opening])
            await _shut(self._opening)

    async def _connected(self) -> aiosqlite.Connection:
        opening = self._opening
        if not self._is_closed and (opening is None or _is_spent(opening)):
            self._opening = opening = asyncio.create_task(self._open(opening))
        opened = None if opening is None else await asyncio.shield(opening)
        if opened is None or self._is_closed:
            raise StoreUnavailable("the store is closed")
        return opened.connection

    async def _open(self, before: asyncio.Task[_Opened] | None) -> _Opened:
        if before is not None:
            await _shut(before)
        path = self._path
        pages: list[PagingConnection] = []
        threads: list[threading.Thread] = []

        def connect() -> PagingConnection:
            run_anywhere()
            thread = threading.current_thread()
            thread.name = THREAD
            threads.append(thread)
            pages.append(files.connect_reader(path, PagingConnection))
            return pages[0]

        try:
            connection = await _with_daemon(connect)
        except sqlite3.Error as error:
            threads[
                0
            ].join()  # told to stop, which it answers to this loop: later there may be none
            raise typed(error) from error
        return _Opened(connection, pages[0], threads[0])


def _with_daemon(connect: Callable[[], sqlite3.Connection]) -> aiosqlite.Connection:
    """Aiosqlite's connection, not yet open, with a thread that does not outlive the main one.

    aiosqlite gives it no name and no kind, and waits in it for ever where nobody closes the connection; a thread is a
    daemon where the one that makes it is.
    """
    made: list[aiosqlite.Connection] = []
    maker = threading.Thread(
        target=lambda: made.append(aiosqlite.Connection(connect, _ROWS_A_FETCH)), daemon=True
    )
    maker.start()
    maker.join()
    return made[0]


def _is_spent(opening: asyncio.Task[_Opened]) -> bool:
    return opening.done() and (opening.exception() is not None or opening.result().pages.is_harmed)


async def _shut(opening: asyncio.Task[_Opened]) -> None:
    if opening.exception() is None:
        opened = opening.result()
        with contextlib.suppress(sqlite3.Error):
            await opened.connection.close()
        opened.thread.join()  # it has nothing left to do
