"""Opening the database file: one server a file, known format, pragmas; and what `doctor` reads back."""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from backscroll_sidecar.errors import StoreUnavailable
from backscroll_sidecar.store.durability import Durability
from backscroll_sidecar.store.sqlite import migrate, statements, wiping
from backscroll_sidecar.store.sqlite.connection import transaction

log = logging.getLogger(__name__)

APPLICATION_ID = int.from_bytes(b"BkSc", "big")
OLDEST_SQLITE = (3, 37, 0)
"""STRICT tables."""

C = TypeVar("C", bound=sqlite3.Connection)

_BUSY_TIMEOUT_MS = 5_000
_CACHE_KIB = 32 * 1024
_CHECKPOINT_PAGES = 4_000
"""16 MiB of log between checkpoints: a page changed by many groups is copied back once."""
_LOG_KEPT_BYTES = 64 * 1024 * 1024
_PREPARED_STATEMENTS = 512
"""Those that insert rows come in one for each number of rows."""
_SYNCHRONOUS = ("off", "normal", "full", "extra")


@dataclass(frozen=True, slots=True)
class StoreStats:
    """What `doctor` says of the database. `synchronous` and `journal_mode` are read back from the writer.

    `is_wiped`: nothing was deleted since the file was wiped last, so no copy of it is left.
    """

    path: str
    sqlite_version: str
    schema_version: int
    journal_mode: str
    synchronous: str
    file_bytes: int
    log_bytes: int
    is_wiped: bool
    row_counts: dict[str, int]


class FileLock:
    """Holds `<database>.lock`, so that two servers never share a database. Released when the process ends."""

    def __init__(self, database: Path) -> None:
        path = database.with_name(database.name + ".lock")
        try:
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StoreUnavailable(
                f"the lock file {path} cannot be opened ({error.strerror}): "
                "check that its folder exists and may be written"
            ) from error
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._descriptor)
            raise StoreUnavailable(
                f"the database {database} is in use by another server: stop that one, or give this one another file"
            ) from error

    def release(self) -> None:
        """Let go. The file stays: removing it would race with the next server."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


class Place:
    """Where a database is: what is written to a file that was deleted, moved or replaced is gone with the process."""

    def __init__(self, database: Path) -> None:
        self._database = database
        self._mark = self._found()

    def check(self) -> None:
        """Refuse to go on in another place. Raises `StoreUnavailable`."""
        if self._found() != self._mark:
            raise StoreUnavailable(
                "the database's file was deleted, moved or replaced: put it back, or start the server again"
            )

    def _found(self) -> tuple[int, int] | None:
        try:
            found = self._database.stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino


def restoring(database: Path) -> tuple[Path, Path]:
    """Where a restore makes the database anew: the copy of the backup, and that without what was erased since."""
    return (
        database.with_name(database.name + ".restoring"),
        database.with_name(database.name + ".restoring-clean"),
    )


def companions(database: Path) -> list[Path]:
    """What SQLite keeps beside a database."""
    return [database.with_name(database.name + end) for end in ("-wal", "-shm", "-journal")]


def remove_unfinished(database: Path) -> None:
    """Delete what a restore left that was killed. Only for who holds the database's lock: restores hold it, too."""
    for path in restoring(database):
        for one in (path, *companions(path)):
            one.unlink(missing_ok=True)


def prepare(path: str | Path) -> tuple[Path, FileLock]:
    """Take the lock of a database file; make the file if it is new, readable for its owner alone.

    SQLite gives the log the same rights as the database.
    """
    path = Path(path).resolve()
    lock = FileLock(path)
    try:
        remove_unfinished(path)
        os.close(os.open(path, os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
    except OSError as error:
        lock.release()
        raise StoreUnavailable(
            f"the database {path} cannot be opened ({error.strerror})"
        ) from error
    return path, lock


def connect_writer(
    path: Path,
    durability: Durability,
    migrations: Sequence[migrate.Migration],
    *,
    any_thread: bool = False,
) -> sqlite3.Connection:
    """The connection that writes, migrates and checkpoints: the only one that does (SQLite's WAL-reset bug).

    `any_thread`: not only the one that opens it uses it, one after the other.
    """
    if sqlite3.sqlite_version_info < OLDEST_SQLITE:
        raise StoreUnavailable(
            f"SQLite {sqlite3.sqlite_version} is too old: 3.37 or newer is needed"
        )
    connection = _connect(path, sqlite3.Connection, any_thread=any_thread)
    try:
        _check_format(connection, migrations)
        (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
        if mode != "wal":
            raise StoreUnavailable(
                "the database cannot use a write-ahead log: is it on a network file system?"
            )
        connection.execute(f"PRAGMA synchronous = {durability}")
        connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        connection.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")
        connection.execute(f"PRAGMA journal_size_limit = {_LOG_KEPT_BYTES}")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA secure_delete = ON")
        migrate.migrate(connection, migrations)
    except BaseException:
        connection.close()
        raise
    return connection


def connect_reader(path: Path, factory: type[C]) -> C:
    """A connection that cannot write, and never checkpoints."""
    connection = _connect(path, factory)
    try:
        connection.execute("PRAGMA query_only = ON")
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
    except BaseException:
        connection.close()
        raise
    return connection


def checkpoint(connection: sqlite3.Connection) -> None:
    """Copy the log into the database and empty it."""
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def read_stats(connection: sqlite3.Connection, path: Path) -> StoreStats:
    """Read back what the writer's connection really does."""
    tables = (
        "channels", "messages", "revisions", "vectors", "tombstones", "members", "events", "turns", "records",
    )  # fmt: skip
    counts = connection.execute(statements.COUNT_ROWS).fetchone()
    (mode,) = connection.execute("PRAGMA journal_mode").fetchone()
    (synchronous,) = connection.execute("PRAGMA synchronous").fetchone()
    return StoreStats(
        path=str(path),
        sqlite_version=sqlite3.sqlite_version,
        schema_version=max(migrate.applied(connection), default=0),
        journal_mode=mode,
        synchronous=_SYNCHRONOUS[synchronous],
        file_bytes=_size(path),
        log_bytes=_size(path.with_name(path.name + "-wal")),
        is_wiped=wiping.is_wiped(connection),
        row_counts=dict(zip(tables, counts, strict=True)),
    )


def _connect(path: Path, factory: type[C], *, any_thread: bool = False) -> C:
    connection = sqlite3.connect(
        path,
        isolation_level=None,
        check_same_thread=not any_thread,
        factory=factory,
        timeout=_BUSY_TIMEOUT_MS / 1000,
        cached_statements=_PREPARED_STATEMENTS,
    )
    connection.execute(f"PRAGMA busy_timeout = {_BUSY_TIMEOUT_MS}")
    return connection


def _check_format(connection: sqlite3.Connection, migrations: Sequence[migrate.Migration]) -> None:
    """Refuse what is not ours or too new before anything is changed; mark an empty file as ours."""
    (application_id,) = connection.execute("PRAGMA application_id").fetchone()
    if application_id == APPLICATION_ID:
        migrate.pending(connection, migrations)
        return
    (objects,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    if application_id or objects:
        raise StoreUnavailable(
            "the file is a database of another program: give Backscroll a file of its own"
        )
    with transaction(connection):
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")


def _size(path: Path) -> int:
    with contextlib.suppress(OSError):
        return path.stat().st_size
    return 0
