"""One state of a database as a file of its own, taken while a server writes; what such a file holds.

Nothing of what was deleted is in the copy: it is written row by row. Blocking: not for an event loop.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from backscroll_sidecar.errors import StoreUnavailable
from backscroll_sidecar.ports import VECTOR_INDEX
from backscroll_sidecar.store.sqlite import backup_statements as sql
from backscroll_sidecar.store.sqlite import files, migrate, moves
from backscroll_sidecar.store.sqlite.failures import typed

_LOOK_S = 0.1
_FAULTS = 5
"""So many faults of a damaged database are told."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What a database holds: its schema, the rows of each table, the SHA-256 of each index file it vouches for."""

    schema_version: int
    row_counts: dict[str, int]
    index_hashes: frozenset[str]


def take(database: Path, copy: Path, told: Callable[[int, int], object]) -> int:
    """Write a database as it stands into an empty file; when that was, in milliseconds. Writers go on meanwhile.

    Parameters
    ----------
    told : told now and then how many bytes of about how many are written.

    Raises
    ------
    StoreUnavailable, StoreReadOnly
        It is no database of ours, of a newer schema, damaged, or the copy cannot be written.
    """
    with _typed(), closing(_opened(database, "mode=ro")) as connection:
        _check_ours(connection)
        expected = _used_bytes(connection)
        began_ms = time.time_ns() // 1_000_000
        work = _Statement(connection, "VACUUM INTO ?", str(copy))
        try:
            while not work.is_done(_LOOK_S):
                told(min(copy.stat().st_size, expected), expected)
        finally:
            work.stop()
        told(expected, expected)
    with _typed(), closing(_opened(copy, "mode=rw")) as connection:
        connection.execute("PRAGMA journal_mode = OFF").fetchall()
        connection.execute("PRAGMA secure_delete = ON")
        moves.forget_move(connection)
        connection.execute("PRAGMA user_version = 0")  # it has nothing of what was deleted
    return began_ms


def facts(database: Path) -> Facts:
    """What a file holds that nobody writes to. Raises as `take` does."""
    with _typed(), closing(_opened(database, "mode=ro&immutable=1")) as connection:
        _check_ours(connection)
        names = [name for (name,) in connection.execute(sql.TABLES)]
        counted = {name: connection.execute(sql.count_of(name)).fetchone()[0] for name in names}
        bodies = (
            connection.execute(sql.BODIES_OF_KIND, (VECTOR_INDEX,)) if "records" in names else ()
        )
        hashes = frozenset(json.loads(body)[2] for (body,) in bodies)
        return Facts(max(migrate.applied(connection), default=0), counted, hashes)


def damage(database: Path) -> list[str]:
    """What SQLite finds wrong with a file that nobody writes to: pages, indexes, values, references."""
    try:
        with closing(_opened(database, "mode=ro&immutable=1")) as connection:
            found = connection.execute(f"PRAGMA integrity_check({_FAULTS})").fetchall()
            broken = connection.execute("PRAGMA foreign_key_check").fetchmany(_FAULTS)
    except sqlite3.DatabaseError as error:
        return [str(error)]
    faults = [text for (text,) in found if text != "ok"]
    return faults + [
        f"{table} refers to a missing row of {parent}" for table, _, parent, _ in broken
    ]


def settle(database: Path) -> bool:
    """Write the log of a database that no server has into it, and leave no log; False where it is damaged.

    Raises
    ------
    StoreUnavailable, StoreReadOnly
        Another program has it open, or the disk takes nothing.
    """
    try:
        with closing(_opened(database, "mode=rw")) as connection:
            ((is_read, *_),) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in (
            sqlite3.SQLITE_CORRUPT,
            sqlite3.SQLITE_NOTADB,
        ):
            return False
        raise typed(error) from error
    if is_read or database.with_name(database.name + "-wal").exists():
        raise StoreUnavailable(f"another program has {database} open: let it end first")
    return True


class _Statement:
    """A statement in a thread of its own, so that Ctrl-C reaches the thread that waits."""

    def __init__(self, connection: sqlite3.Connection, statement: str, *values: str) -> None:
        self._connection = connection
        self._error: sqlite3.Error | None = None
        self._thread = threading.Thread(target=self._run, args=(statement, values), daemon=True)
        self._thread.start()

    def _run(self, statement: str, values: tuple[str, ...]) -> None:
        try:
            self._connection.execute(statement, values)
        except sqlite3.Error as error:
            self._error = error

    def is_done(self, timeout_s: float) -> bool:
        """Wait so long; whether it is done. Raises what it raised."""
        self._thread.join(timeout_s)
        if self._thread.is_alive():
            return False
        if self._error is not None:
            raise self._error
        return True

    def stop(self) -> None:
        """Break it off if it still runs."""
        while self._thread.is_alive():
            self._connection.interrupt()
            self._thread.join(_LOOK_S)


def _opened(path: Path, how: str) -> sqlite3.Connection:
    """Neither made if it is not there, nor checkpointed while a server has it."""
    connection = sqlite3.connect(
        f"file:{quote(str(path))}?{how}", uri=True, isolation_level=None, check_same_thread=False
    )
    connection.execute("PRAGMA wal_autocheckpoint = 0")
    return connection


def _used_bytes(connection: sqlite3.Connection) -> int:
    """What a copy of the database takes, without its free pages."""
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    (free,) = connection.execute("PRAGMA freelist_count").fetchone()
    (page_bytes,) = connection.execute("PRAGMA page_size").fetchone()
    return int((pages - free) * page_bytes)


def _check_ours(connection: sqlite3.Connection) -> None:
    (application_id,) = connection.execute("PRAGMA application_id").fetchone()
    if application_id != files.APPLICATION_ID:
        raise StoreUnavailable("the file is a database of another program")
    migrate.pending(connection, migrate.known())


@contextlib.contextmanager
def _typed() -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise typed(error) from error
