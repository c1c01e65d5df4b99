"""A SQLite connection and the one thread that may touch it (docs/decisions/0003)."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from typing import TypeVar

from backscroll_sidecar.concurrency.background import in_background
from backscroll_sidecar.concurrency.threads import pool
from backscroll_sidecar.errors import StoreUnavailable
from backscroll_sidecar.store.sqlite.failures import is_connection_usable_after, typed

T = TypeVar("T")


class OwnedConnection:
    """Runs work on a connection, in the thread that owns it, one piece after the other.

    Awaited from any task. A task that is cancelled while it waits does not stop work that has begun: a transaction ends
    in the thread that began it. After an error that may have harmed the connection the next piece of work gets a new
    one.

    Parameters
    ----------
    name : str
        Of the thread.
    connect : callable
        Opens a connection; called in the thread.
    """

    def __init__(self, name: str, connect: Callable[[], sqlite3.Connection]) -> None:
        self._connect = connect
        self._thread = pool(name, 1)
        self._connection: sqlite3.Connection | None = None
        self._closed = False

    async def run(self, work: Callable[[sqlite3.Connection], T], *, is_short: bool = False) -> T:
        """Do the work and return its result; errors of SQLite arrive as the port's.

        Work that is not short gives the interpreter up every half millisecond.
        """
        if self._closed:
            raise StoreUnavailable("the store is closed")
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._run, work, is_short)

    def interrupt(self) -> None:
        """Break off the statement that runs, from any thread: it fails."""
        connection = self._connection
        if connection is not None:
            connection.interrupt()

    async def close(self, last: Callable[[sqlite3.Connection], None] | None = None) -> None:
        """Finish what is queued, do the last work, close the connection, end the thread. Call it once."""
        self._closed = True
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._thread, self._close, last)
        self._thread.shutdown(wait=True)

    def _run(self, work: Callable[[sqlite3.Connection], T], is_short: bool) -> T:
        try:
            if self._connection is None:
                self._connection = self._connect()
            with contextlib.nullcontext() if is_short else in_background():
                return work(self._connection)
        except sqlite3.Error as error:
            if not is_connection_usable_after(error):
                self._discard()
            raise typed(error) from error
        finally:
            if self._connection is not None and self._connection.in_transaction:
                self._discard()

    def _close(self, last: Callable[[sqlite3.Connection], None] | None) -> None:
        if self._connection is not None and last is not None:
            # What the last work does (a checkpoint) is done again by the next start if it fails now.
            with contextlib.suppress(sqlite3.Error):
                last(self._connection)
        self._discard()

    def _discard(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(sqlite3.Error):
                connection.close()


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection, begin: str = "BEGIN IMMEDIATE") -> Iterator[None]:
    """All of the block or nothing of it."""
    connection.execute(begin)
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        # SQLite rolls some failures back by itself; a roll-back that fails leaves the connection to be discarded.
        if connection.in_transaction:
            with contextlib.suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
        raise
