"""A file of SQLite as an end of a move: triggers note what changes, and later refuse whatever changes anything.

A file that a server has is written a handful of times by the program that moves it. That one never checkpoints, and a
reader of its own keeps the log from being begun anew meanwhile: else a checkpoint of the server's could miss a commit
(SQLite's WAL-reset bug).
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from backscroll_sidecar.errors import StoreUnavailable
from backscroll_sidecar.store.moving.ends import Changed, Move, Progress, whole_keys
from backscroll_sidecar.store.moving.tables import BY_NAME, TABLES, Key, Row, Table, noted_keys
from backscroll_sidecar.store.sqlite import files, migrate
from backscroll_sidecar.store.sqlite import move_statements as sql
from backscroll_sidecar.store.sqlite.connection import transaction
from backscroll_sidecar.store.sqlite.failures import typed
from backscroll_sidecar.store.sqlite.moves import found_move, run_each, take_back

T = TypeVar("T")

_WAITS_MS = 30_000
"""For a commit of the server."""
_KEYS_A_STATEMENT = 200
_LOOK_S = 0.02


class _SqliteEnd:
    """What both ends do. Its connection is used by one thread at a time."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self._path = path
        self._connection = connection
        self.address = str(path)

    async def close(self) -> None:
        self._connection.close()

    async def move(self) -> Move | None:
        return await self._run(lambda: found_move(self._connection))

    async def count(self) -> int:
        return await self._run(lambda: int(self._ask(sql.COUNT)[0][0]))

    async def page(self, table: Table, after: Key | None, limit: int) -> list[Row]:
        return await whole_keys(table, limit, lambda most: self._range(table, after, None, most))

    async def between(self, table: Table, after: Key | None, upto: Key | None) -> list[Row]:
        return await self._range(table, after, upto)

    async def rows(self, table: Table, keys: set[Key]) -> list[Row]:
        return await self._run(lambda: self._rows(table, keys))

    def _rows(self, table: Table, keys: set[Key]) -> list[Row]:
        found: list[Row] = []
        ordered = sorted(keys)
        for start in range(0, len(ordered), _KEYS_A_STATEMENT):
            some = ordered[start : start + _KEYS_A_STATEMENT]
            found += self._ask(
                sql.of_keys(table, len(some)), [part for key in some for part in key]
            )
        return found

    async def _range(
        self, table: Table, after: Key | None, upto: Key | None, limit: int = -1
    ) -> list[Row]:
        def read() -> list[Row]:
            found: list[Row] = []
            for statement, values in sql.of_range(table, after, upto):
                if len(found) == limit:
                    break
                found += self._ask(statement, [*values, limit - len(found) if limit > 0 else -1])
            return found

        return await self._run(read)

    def _ask(self, statement: str, values: Sequence[object] = ()) -> list[Row]:
        return self._connection.execute(statement, values).fetchall()

    async def _run(self, work: Callable[[], T]) -> T:
        """In a thread. Whoever is cancelled waits for what has begun: its connection may be closed next."""
        running = asyncio.create_task(asyncio.to_thread(work))
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            await asyncio.wait((running,))
            raise
        except sqlite3.Error as error:
            raise typed(error) from error


class SqliteOldEnd(_SqliteEnd):
    """A file that is left, whether a server has it or not."""

    def __init__(
        self, path: Path, connection: sqlite3.Connection, writer: sqlite3.Connection
    ) -> None:
        super().__init__(path, connection)
        self._writer = writer
        self._noted = 0

    @classmethod
    def open(cls, path: Path) -> SqliteOldEnd:
        """Connect. Raises `StoreUnavailable`."""
        path = path.resolve()
        if not path.is_file():
            raise StoreUnavailable(f"there is no database at {path}")
        _bring_up_to_date(path)
        try:
            reader, writer = _connected(path), _connected(path)
        except sqlite3.Error as error:
            raise typed(error) from error
        reader.execute("PRAGMA query_only = ON")
        return cls(path, reader, writer)

    async def close(self) -> None:
        self._writer.close()
        self._connection.close()

    async def begin(self, move: Move) -> None:
        def write() -> None:
            with self._writing() as run:
                run(sql.DELETE_MOVE)
                run(sql.PUT_MOVE, move.row())
                for table in TABLES:
                    for statement in sql.note(table):
                        run(statement)

        await self._run(write)

    async def changed(self, limit: int | None = None) -> Changed:
        def read() -> Changed:
            with transaction(self._connection, "BEGIN"):
                noted = self._ask(sql.NOTED, [self._noted, -1 if limit is None else limit])
                keys = noted_keys(noted)
                rows = {kind: self._rows(BY_NAME[kind], some) for kind, some in keys.items()}
            return Changed(keys, rows, [number for number, *_ in noted])

        return await self._run(read)

    async def forget(self, changed: Changed) -> None:
        """Nothing is deleted: numbers are in the order of commits, and the file is written as little as can be."""
        self._noted = max(changed.marks, default=self._noted)

    async def shut(self) -> None:
        def write() -> None:
            with self._writing() as run:
                run(sql.SET_PHASE, ["closed"])
                for table in TABLES:
                    for statement in sql.refuse(table):
                        run(statement)

        await self._run(write)

    async def reopen(self) -> None:
        def write() -> None:
            with self._writing() as run:
                run_each(self._writer, sql.REFUSE_NO_MORE)
                run(sql.SET_PHASE, ["leaving"])

        await self._run(write)

    async def leave(self) -> None:
        def write() -> None:
            with self._writing() as run:
                run(sql.SET_PHASE, ["left"])

        await self._run(write)
        while not _is_free(self._path):  # noqa: ASYNC110 - another process lets go
            await asyncio.sleep(_LOOK_S)

    async def tidy(self) -> None:
        def write() -> None:
            with self._writing() as run:
                run_each(self._writer, sql.NOTE_NO_MORE)
                run(sql.FORGET)

        await self._run(write)

    async def abandon(self) -> None:
        def write() -> None:
            with self._writing():
                take_back(self._writer)

        await self._run(write)

    async def numbers(self) -> dict[str, int]:
        return await self._run(
            lambda: {name: self._ask(one)[0][0] for name, one in sql.LAST_NUMBERS.items()}
        )

    @contextlib.contextmanager
    def _writing(self) -> Iterator[Callable[..., sqlite3.Cursor]]:
        with transaction(self._connection, "BEGIN"):
            self._ask(sql.HOLD_LOG)
            with transaction(self._writer):
                yield self._writer.execute


class SqliteNewEnd(_SqliteEnd):
    """A file that a history comes to; made if it is not there. No server can have it before it is open."""

    def __init__(self, path: Path, connection: sqlite3.Connection, lock: files.FileLock) -> None:
        super().__init__(path, connection)
        self._lock = lock

    @classmethod
    def open(cls, path: Path) -> SqliteNewEnd:
        """Take the file's lock, and connect. Raises `StoreUnavailable`."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path, lock = files.prepare(path)
        try:
            connection = files.connect_writer(path, "normal", migrate.known(), any_thread=True)
        except BaseException as error:
            lock.release()
            if isinstance(error, sqlite3.Error):
                raise typed(error) from error
            raise
        connection.execute("PRAGMA foreign_keys = OFF")  # of one moment is what is there at the end
        return cls(path, connection, lock)

    async def close(self) -> None:
        self._connection.close()
        self._lock.release()

    async def is_empty(self) -> bool:
        return await self._run(lambda: not self._ask(sql.HOLDS_ANY)[0][0])

    async def prepare(self, move: Move) -> None:
        def write() -> None:
            with transaction(self._connection):
                names = json.dumps([one.name for one in TABLES])
                for later, now in self._ask(sql.PUT_OFF, [names]):
                    move.progress.later.append(later)
                    self._connection.execute(now)
                self._connection.execute(sql.DELETE_MOVE)
                self._connection.execute(sql.PUT_MOVE, move.row())

        await self._run(write)

    async def fill(self, table: Table, rows: Sequence[Row], progress: Progress) -> None:
        def write() -> None:
            with transaction(self._connection):
                self._insert(table, rows)
                self._note(progress)

        await self._run(write)

    async def replace(self, changed: Changed) -> None:
        def write() -> None:
            with transaction(self._connection):
                for kind, keys in changed.keys.items():
                    self._connection.executemany(sql.delete(BY_NAME[kind]), sorted(keys))
                for table in TABLES:
                    self._insert(table, changed.rows.get(table.name, ()))

        await self._run(write)

    async def finish(self, progress: Progress) -> None:
        def write() -> None:
            with transaction(self._connection):
                for statement in progress.later:
                    self._connection.execute(statement)
                progress.later, progress.is_whole = [], True
                self._note(progress)
            files.checkpoint(self._connection)

        await self._run(write)

    async def open_for_servers(self, numbers: Mapping[str, int]) -> None:
        def write() -> None:
            self._connection.execute("PRAGMA synchronous = full")
            with transaction(self._connection):
                run = self._connection.execute
                run(sql.DELETE_LAST_EVENT)
                run(sql.PUT_LAST_EVENT, [numbers["events"]])
                run(sql.ARRIVE)
            files.checkpoint(self._connection)

        await self._run(write)
        await self.close()

    async def clear(self) -> None:
        def write() -> None:
            move = found_move(self._connection)
            with transaction(self._connection):
                for table in reversed(TABLES):
                    self._connection.execute(sql.delete_all(table))
                for statement in move.progress.later if move else ():
                    self._connection.execute(statement)
                self._connection.execute(sql.DELETE_MOVE)
            files.checkpoint(self._connection)

        await self._run(write)

    def _insert(self, table: Table, rows: Sequence[Row]) -> None:
        if rows:
            self._connection.executemany(sql.insert(table), rows)

    def _note(self, progress: Progress) -> None:
        self._connection.execute(sql.SET_PROGRESS, [progress.encoded()])


def _connected(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    connection.execute(f"PRAGMA busy_timeout = {_WAITS_MS}")
    connection.execute("PRAGMA wal_autocheckpoint = 0")
    connection.execute("PRAGMA synchronous = full")
    connection.execute("PRAGMA cache_size = -65536")
    return connection


def _bring_up_to_date(path: Path) -> None:
    """Give a file that no server has the newest schema; refuse one whose server has another."""
    try:
        lock = files.FileLock(path)
    except StoreUnavailable:
        lock = None
    try:
        if lock is not None:
            with contextlib.closing(files.connect_writer(path, "full", migrate.known())):
                return
        with contextlib.closing(_connected(path)) as connection:
            if migrate.pending(connection, migrate.known()):
                raise StoreUnavailable(
                    f"the server that has {path} is older than this program: start this version of it first"
                )
    except sqlite3.Error as error:
        raise typed(error) from error
    finally:
        if lock is not None:
            lock.release()


def _is_free(path: Path) -> bool:
    try:
        files.FileLock(path).release()
    except StoreUnavailable:
        return False
    return True
