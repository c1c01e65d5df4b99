"""A file of SQLite as an end of a move: triggers note what changes, and later refuse whatever changes anything.

A file that a server has is written a handful of times by the program that moves it. That one never checkpoints, and a
reader of its own keeps the log from being begun anew meanwhile: else a checkpoint of the server's could miss a commit
(SQLite's WAL-reset bug).
"""

# ruff: noqa: S608 -- the only things put into these texts are names of tables and columns

from __future__ import annotations

import asyncio
import contextlib
import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from backscroll_sidecar.errors import StoreUnavailable
from backscroll_sidecar.store.moving.ends import Changed, Move, Progress
from backscroll_sidecar.store.moving.tables import (
    BY_NAME,
    NUMBERED,
    TABLES,
    Key,
    Row,
    Table,
    with_names,
)
from backscroll_sidecar.store.sqlite import files, migrate
from backscroll_sidecar.store.sqlite.connection import transaction
from backscroll_sidecar.store.sqlite.failures import MOVED, typed

T = TypeVar("T")

_WAITS_MS = 30_000
"""For a commit of the server."""
_KEYS_A_STATEMENT = 200
_LOOK_S = 0.02
_OPERATIONS = {"INSERT": ("NEW",), "UPDATE": ("OLD", "NEW"), "DELETE": ("OLD",)}
_PUT_MOVE = (
    "INSERT INTO moves (place, id, phase, other, began_at_ms, progress) VALUES (1, ?, ?, ?, ?, ?)"
)
_GET_MOVE = "SELECT id, phase, other, began_at_ms, progress FROM moves"
_DROPPED = """
SELECT name, sql FROM sqlite_schema
WHERE type = 'index' AND sql IS NOT NULL AND name <> 'aliases_by_id' -- whose rows are found by it
    AND tbl_name IN (SELECT value FROM json_each(?))
"""
_NUMBERED = {name: f"SELECT coalesce(max(number), 0) FROM {name}" for name in NUMBERED} | {
    "events": "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'events'"
}


def found_move(connection: sqlite3.Connection) -> Move | None:
    """What the database says of a move."""
    row = connection.execute(_GET_MOVE).fetchone()
    if row is None:
        return None
    id_, phase, other, began_at_ms, progress = row
    return Move(id_, phase, other, began_at_ms, msgspec.json.decode(progress, type=Progress))


def forget_move(connection: sqlite3.Connection) -> None:
    """Have a copy of a database be in no move; one that was being filled stays so: it is not whole."""
    if not connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'moves'").fetchone():
        return  # of an older schema
    move = found_move(connection)
    if move is None or move.phase == "arriving":
        return
    with transaction(connection):
        _drop_triggers(connection, "noted")
        _drop_triggers(connection, "closed")
        connection.execute("DELETE FROM moved_keys")
        connection.execute("DELETE FROM moves")


def look(path: Path) -> Move | None:
    """What a file says of a move, if it is there; whoever has it. Raises `StoreUnavailable`."""
    if not path.exists():
        return None
    try:
        with contextlib.closing(files.connect_reader(path, sqlite3.Connection)) as connection:
            if max(migrate.applied(connection), default=0) < migrate.known()[-1].number:
                return None
            return found_move(connection)
    except sqlite3.Error as error:
        raise typed(error) from error


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
        counts = " + ".join(f"(SELECT count(*) FROM {one.name})" for one in TABLES)
        return await self._run(lambda: int(self._ask(f"SELECT {counts}")[0][0]))

    async def page(self, table: Table, after: Key | None, limit: int) -> list[Row]:
        def read() -> list[Row]:
            wanted = limit
            while True:
                rows = self._range(table, after, None, wanted)
                if len(rows) < wanted:
                    return rows
                last = rows[-1][: len(table.key)]  # of it there may be more
                whole = [row for row in rows if row[: len(table.key)] != last]
                if whole:
                    return whole
                wanted *= 2

        return await self._run(read)

    async def between(self, table: Table, after: Key | None, upto: Key | None) -> list[Row]:
        return await self._run(lambda: self._range(table, after, upto))

    async def rows(self, table: Table, keys: set[Key]) -> list[Row]:
        return await self._run(lambda: self._rows(table, keys))

    def _rows(self, table: Table, keys: set[Key]) -> list[Row]:
        found: list[Row] = []
        one = f"({', '.join('?' * len(table.key))})"
        names = ", ".join(table.key)
        ordered = sorted(keys)
        for start in range(0, len(ordered), _KEYS_A_STATEMENT):
            some = ordered[start : start + _KEYS_A_STATEMENT]
            values = ", ".join([one] * len(some))
            found += self._ask(  # the keys first: asked for as a set, each lot would read the whole table
                f"WITH given ({names}) AS (VALUES {values}) SELECT {', '.join(table.columns)} "
                f"FROM given CROSS JOIN {table.name} USING ({names})",
                [value for key in some for value in key],
            )
        return found

    def _range(
        self, table: Table, after: Key | None, upto: Key | None, limit: int = -1
    ) -> list[Row]:
        """Rows in the order of keys, by bounds that indexes know: none has a row's number behind other columns."""
        *scope, last = table.key
        key, place = ", ".join(table.key), ", ".join(scope)
        found: list[Row] = []
        for condition, values in _bounds(place, last, after, upto):
            if len(found) == limit:
                break
            found += self._ask(
                f"SELECT {', '.join(table.columns)} FROM {table.name} {condition} ORDER BY {key} LIMIT ?",
                [*values, limit - len(found) if limit > 0 else -1],
            )
        return found

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
                run("DELETE FROM moves")
                run(_PUT_MOVE, _row(move))
                for table in TABLES:
                    for operation, sides in _OPERATIONS.items():
                        run(_noting(table, operation, sides))

        await self._run(write)

    async def changed(self, limit: int | None = None) -> Changed:
        def read() -> Changed:
            keys: dict[str, set[Key]] = {}
            with transaction(self._connection, "BEGIN"):
                noted = self._ask(
                    "SELECT number, kind, key FROM moved_keys WHERE number > ? ORDER BY number LIMIT ?",
                    [self._noted, -1 if limit is None else limit],
                )
                for _, kind, key in noted:
                    keys.setdefault(kind, set()).add(tuple(json.loads(key)))
                keys = with_names(keys)
                rows = {kind: self._rows(BY_NAME[kind], some) for kind, some in keys.items()}
            return Changed(keys, rows, [number for number, *_ in noted])

        return await self._run(read)

    async def forget(self, changed: Changed) -> None:
        """Nothing is deleted: numbers are in the order of commits, and the file is written as little as can be."""
        self._noted = max(changed.marks, default=self._noted)

    async def shut(self) -> None:
        def write() -> None:
            with self._writing() as run:
                run("UPDATE moves SET phase = 'closed'")
                for table in TABLES:
                    for operation in _OPERATIONS:
                        run(
                            f"CREATE TRIGGER closed_{table.name}_{operation} BEFORE {operation} ON {table.name} "
                            f"BEGIN SELECT RAISE(ABORT, '{MOVED}'); END"
                        )

        await self._run(write)

    async def reopen(self) -> None:
        def write() -> None:
            with self._writing() as run:
                _drop_triggers(self._writer, "closed")
                run("UPDATE moves SET phase = 'leaving'")

        await self._run(write)

    async def leave(self) -> None:
        def write() -> None:
            with self._writing() as run:
                run("UPDATE moves SET phase = 'left'")

        await self._run(write)
        while not _is_free(self._path):  # noqa: ASYNC110 - another process lets go
            await asyncio.sleep(_LOOK_S)

    async def tidy(self) -> None:
        def write() -> None:
            with self._writing() as run:
                _drop_triggers(self._writer, "noted")
                run("DELETE FROM moved_keys")

        await self._run(write)

    async def abandon(self) -> None:
        def write() -> None:
            with self._writing() as run:
                _drop_triggers(self._writer, "noted")
                _drop_triggers(self._writer, "closed")
                run("DELETE FROM moved_keys")
                run("DELETE FROM moves")

        await self._run(write)

    async def numbers(self) -> dict[str, int]:
        return await self._run(
            lambda: {name: self._ask(one)[0][0] for name, one in _NUMBERED.items()}
        )

    @contextlib.contextmanager
    def _writing(self) -> Iterator[Callable[..., sqlite3.Cursor]]:
        with transaction(self._connection, "BEGIN"):
            self._ask("SELECT place FROM moves")  # from here on nobody begins the log anew
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
        found = " OR ".join(f"EXISTS (SELECT 1 FROM {one.name})" for one in TABLES)
        return await self._run(lambda: not self._ask(f"SELECT {found}")[0][0])

    async def prepare(self, move: Move) -> None:
        def write() -> None:
            with transaction(self._connection):
                names = json.dumps([one.name for one in TABLES])
                found = self._ask(_DROPPED, [names])
                move.progress.later = [sql for _, sql in found]
                for name, _ in found:
                    self._connection.execute(f"DROP INDEX {name}")
                self._connection.execute("DELETE FROM moves")
                self._connection.execute(_PUT_MOVE, _row(move))

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
                    matches = " AND ".join(f"{column} = ?" for column in BY_NAME[kind].key)
                    self._connection.executemany(
                        f"DELETE FROM {kind} WHERE {matches}", sorted(keys)
                    )
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
                run("DELETE FROM sqlite_sequence WHERE name = 'events'")
                run(
                    "INSERT INTO sqlite_sequence (name, seq) VALUES ('events', ?)",
                    [numbers["events"]],
                )
                run("UPDATE moves SET phase = 'arrived', progress = '{}'")
            files.checkpoint(self._connection)

        await self._run(write)
        await self.close()

    async def clear(self) -> None:
        def write() -> None:
            move = found_move(self._connection)
            with transaction(self._connection):
                for table in reversed(TABLES):
                    self._connection.execute(f"DELETE FROM {table.name}")
                for statement in move.progress.later if move else ():
                    self._connection.execute(statement)
                self._connection.execute("DELETE FROM moves")
            files.checkpoint(self._connection)

        await self._run(write)

    def _insert(self, table: Table, rows: Sequence[Row]) -> None:
        if rows:
            marks = ", ".join("?" * len(table.columns))
            self._connection.executemany(
                f"INSERT INTO {table.name} ({', '.join(table.columns)}) VALUES ({marks})", rows
            )

    def _note(self, progress: Progress) -> None:
        body = msgspec.json.encode(progress).decode()
        self._connection.execute("UPDATE moves SET progress = ?", [body])


def _bounds(
    place: str, last: str, after: Key | None, upto: Key | None
) -> Iterator[tuple[str, list[Any]]]:
    """Conditions that one after the other give what is behind a key, up to another one."""

    def marks(key: Key) -> str:
        return f"({', '.join('?' * (len(key) - 1))})"

    if after is not None and upto is not None and after[:-1] == upto[:-1]:
        here = f"({place}) = {marks(after)} AND {last} > ? AND {last} <= ?"
        yield f"WHERE {here}", [*after, upto[-1]]
        return
    between: list[str] = []
    values: list[Any] = []
    if after is not None:
        yield f"WHERE ({place}) = {marks(after)} AND {last} > ?", [*after]
        between.append(f"({place}) > {marks(after)}")
        values += after[:-1]
    if upto is not None:
        between.append(f"({place}) < {marks(upto)}")
        values += upto[:-1]
    yield f"WHERE {' AND '.join(between)}" if between else "", values
    if upto is not None:
        yield f"WHERE ({place}) = {marks(upto)} AND {last} <= ?", [*upto]


def _drop_triggers(connection: sqlite3.Connection, kind: str) -> None:
    found = connection.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'trigger' AND name LIKE ?", [f"{kind}_%"]
    ).fetchall()
    for (name,) in found:
        connection.execute(f"DROP TRIGGER {name}")


def _noting(table: Table, operation: str, sides: Sequence[str]) -> str:
    keys = " UNION ".join(
        f"SELECT '{table.name}', json_array({', '.join(f'{side}.{column}' for column in table.key)})"
        for side in sides
    )
    return (
        f"CREATE TRIGGER noted_{table.name}_{operation} AFTER {operation} ON {table.name} "
        f"BEGIN INSERT INTO moved_keys (kind, key) {keys}; END"
    )


def _row(move: Move) -> Row:
    progress = msgspec.json.encode(move.progress).decode()
    return (move.id, move.phase, move.other, move.began_at_ms, progress)


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
