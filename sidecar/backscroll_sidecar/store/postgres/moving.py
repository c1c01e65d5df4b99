"""A database of PostgreSQL as an end of a move: triggers note what changes, and later refuse whatever changes anything.

What differs from the form in which rows are on their way stands here alone: versions of channels, flags, and names that
may hold U+0000.
"""

# ruff: noqa: S608 -- the only things put into these texts are names of tables and columns

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import msgspec

from backscroll_sidecar.errors import FailedPrecondition, StoreUnavailable
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
from backscroll_sidecar.store.postgres import migrate
from backscroll_sidecar.store.postgres.arrays import columns, spelled, unspelled
from backscroll_sidecar.store.postgres.connections import driver_options, snapshot
from backscroll_sidecar.store.postgres.failures import MOVED, typed
from backscroll_sidecar.store.postgres.moves import found_move

_CONNECT_S = 10.0
_LOCK = int.from_bytes(b"BkMoving", "big", signed=True)
_TYPES = {"seq": "bigint", "number": "bigint", "revision": "integer"}
"""Of columns of keys; the others are texts."""
_SPELLED = {"records": ("owner", "id"), "record_names": ("name",)}
"""Columns that may hold U+0000."""
_READ = {"with_channel": "with_channel::integer"}
"""Flags."""
_ONLY = {"channels": "last_seq IS NOT NULL"}
"""A row of a channel that never got a message has nothing but a version."""
_PUT_MOVE = "INSERT INTO moves (place, id, phase, other, began_at_ms, progress) VALUES (1, $1, $2, $3, $4, $5)"
_OPERATIONS = {"INSERT": ("new",), "UPDATE": ("old", "new"), "DELETE": ("old",)}
_PUT_OFF = """
SELECT pg_get_indexdef(indexrelid), format('DROP INDEX %s', indexrelid::regclass), 0
FROM pg_index WHERE indrelid = ANY($1::text[]::regclass[]) AND NOT indisprimary
UNION ALL
SELECT format('ALTER TABLE %s ADD CONSTRAINT %I %s', conrelid::regclass, conname, pg_get_constraintdef(oid)),
    format('ALTER TABLE %s DROP CONSTRAINT %I', conrelid::regclass, conname), 1
FROM pg_constraint WHERE contype = 'f' AND conrelid = ANY($1::text[]::regclass[])
ORDER BY 3, 1
"""
_MINE = "backscroll.moves_it"
"""Set in the session of the migration, which alone writes the new end; a server would write `channels` first."""
_LOOKS_FOR_OTHERS, _LOOK_S = 20, 0.05
_LOOKS = "backscroll looks"
"""Who asks whether a database is being filled, and nothing else."""
_OTHERS = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name IS DISTINCT FROM $1
    AND (backend_type = 'client backend' OR backend_type IS NULL AND usesysid IS NOT NULL)
"""
"""The last: of other users' sessions one may not see more, and only sessions have users."""
_REFUSE = f"""
CREATE OR REPLACE FUNCTION refuse_moved() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'this history moved' USING ERRCODE = '{MOVED}'; END $$
"""
_NAMES = [one.name for one in TABLES]


async def look(url: str) -> Move | None:
    """What a database says of a move; whoever has it. Raises `StoreUnavailable`."""
    with typed():
        named = {"application_name": _LOOKS}
        connection = await asyncpg.connect(
            **driver_options(url), timeout=_CONNECT_S, server_settings=named
        )
        try:
            if await connection.fetchval("SELECT to_regclass('moves')") is None:
                return None
            return await found_move(connection)
        finally:
            await connection.close(timeout=_CONNECT_S)


class _PostgresEnd:
    """What both ends do, on one connection, one call after the other."""

    def __init__(self, address: str, connection: asyncpg.Connection) -> None:
        self.address = address
        self._connection = connection

    async def close(self) -> None:
        await self._connection.close(timeout=_CONNECT_S)

    async def move(self) -> Move | None:
        with typed():
            return await found_move(self._connection)

    async def count(self) -> int:
        counts = " + ".join(f"(SELECT count(*) FROM {name})" for name in _NAMES)
        with typed():
            return int(await self._connection.fetchval(f"SELECT {counts}"))

    async def page(self, table: Table, after: Key | None, limit: int) -> list[Row]:
        width, wanted = len(table.key), limit
        while True:
            rows = await self._range(table, after, None, wanted)
            if len(rows) < wanted:
                return rows
            last = rows[-1][:width]  # of it there may be more
            if whole := [row for row in rows if row[:width] != last]:
                return whole
            wanted *= 2

    async def between(self, table: Table, after: Key | None, upto: Key | None) -> list[Row]:
        return await self._range(table, after, upto)

    async def rows(self, table: Table, keys: set[Key]) -> list[Row]:
        if not keys:
            return []
        given = ", ".join(f"${n}::{_type(name)}[]" for n, name in enumerate(table.key, 1))
        names = ", ".join(table.key)
        mine = ", ".join(f"one.{name}" for name in table.columns)
        for name, read in _READ.items():
            mine = mine.replace(f"one.{name}", f"one.{read}")
        only = f"WHERE {_ONLY[table.name]}" if table.name in _ONLY else ""
        with typed():
            found = await self._connection.fetch(
                f"SELECT {mine} FROM unnest({given}) AS given ({names}) "
                f"JOIN {table.name} AS one ON {_matches(table)} {only}",
                *columns(sorted(keys)),
            )
        return _read(table, found)

    async def _range(
        self, table: Table, after: Key | None, upto: Key | None, limit: int | None = None
    ) -> list[Row]:
        key = ", ".join(table.key)
        values: list[Any] = []
        conditions = [_ONLY[table.name]] if table.name in _ONLY else []
        for sign, bound in ((">", after), ("<=", upto)):
            if bound is not None:
                places = ", ".join(f"${len(values) + n}" for n in range(1, len(bound) + 1))
                conditions.append(f"({key}) {sign} ({places})")
                values += bound
        where = f"WHERE {' AND '.join(conditions)}" if conditions else ""
        most = "" if limit is None else f"LIMIT {limit}"
        mine = ", ".join(_READ.get(name, name) for name in table.columns)
        with typed():
            found = await self._connection.fetch(
                f"SELECT {mine} FROM {table.name} {where} ORDER BY {key} {most}", *values
            )
        return _read(table, found)


class PostgresOldEnd(_PostgresEnd):
    """A database that is left, whatever servers have it."""

    @classmethod
    async def open(cls, url: str, address: str) -> PostgresOldEnd:
        """Connect; bring a database that no server has up to date. Raises `StoreUnavailable`."""
        connection = await _connected(url)
        try:
            with typed():
                is_old = await migrate.is_behind(connection, migrate.known())
                if is_old and await _others(connection):
                    raise StoreUnavailable(
                        f"the servers that have {address} are older than this program: start this version of them first"
                    )
            await _bring_up_to_date(connection)
        except BaseException:
            await connection.close(timeout=_CONNECT_S)
            raise
        return cls(address, connection)

    async def begin(self, move: Move) -> None:
        async with self._writing() as run:
            await run("DELETE FROM moves")
            await run(_PUT_MOVE, *_row(move))
            for table in TABLES:
                for operation, sides in _OPERATIONS.items():
                    for statement in _noting(table, operation, sides):
                        await run(statement)

    async def changed(self, limit: int | None = None) -> Changed:
        keys: dict[str, set[Key]] = {}
        with typed():
            async with snapshot(self._connection):
                noted = await self._connection.fetch(
                    "SELECT number, kind, key FROM moved_keys ORDER BY number LIMIT $1", limit
                )
                for _, kind, key in noted:
                    keys.setdefault(kind, set()).add(tuple(json.loads(key)))
                keys = with_names(keys)
                rows = {kind: await self.rows(BY_NAME[kind], some) for kind, some in keys.items()}
        return Changed(keys, rows, [number for number, *_ in noted])

    async def forget(self, changed: Changed) -> None:
        """By number: a group with a lower one may be committed later."""
        with typed():
            await self._connection.execute(
                "DELETE FROM moved_keys WHERE number = ANY($1::bigint[])", changed.marks
            )

    async def shut(self) -> None:
        async with self._writing() as run:
            await run("UPDATE moves SET phase = 'closed'")
            await run(_REFUSE)
            for name in _NAMES:
                await run(
                    f"CREATE TRIGGER closed_{name} BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON {name} "
                    "FOR EACH STATEMENT EXECUTE FUNCTION refuse_moved()"
                )

    async def reopen(self) -> None:
        with typed():  # what was broken off may have left its transaction open
            await self._connection.reset(timeout=_CONNECT_S)
        async with self._writing() as run:
            await _drop_closed(run)
            await run("UPDATE moves SET phase = 'leaving'")

    async def leave(self) -> None:
        """Each server looks here before it answers: from the commit on none does."""
        async with self._writing() as run:
            await run("UPDATE moves SET phase = 'left'")

    async def tidy(self) -> None:
        async with self._writing() as run:
            await _drop_noting(run)
            await run("TRUNCATE moved_keys")

    async def abandon(self) -> None:
        async with self._writing() as run:
            await _drop_noting(run)
            await _drop_closed(run)
            await run("TRUNCATE moved_keys")
            await run("DELETE FROM moves")

    async def numbers(self) -> dict[str, int]:
        found = {}
        with typed():
            for name in NUMBERED:
                sequence = await _sequence(self._connection, name)
                found[name] = await self._connection.fetchval(
                    f"SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM {sequence}"
                )
        return found

    @asynccontextmanager
    async def _writing(self) -> AsyncIterator[Any]:
        """In a transaction that no group runs beside: each one locks its channels before it writes anything else."""
        with typed():
            async with self._connection.transaction():
                await self._connection.execute("LOCK TABLE channels IN SHARE ROW EXCLUSIVE MODE")
                yield self._connection.execute


class PostgresNewEnd(_PostgresEnd):
    """A database that a history comes to. No server has it before it is open."""

    @classmethod
    async def open(cls, url: str, address: str) -> PostgresNewEnd:
        """Connect, make the tables if they are not there, keep other migrations out. Raises `StoreUnavailable`."""
        connection = await _connected(url)
        try:
            with typed():
                if not await connection.fetchval("SELECT pg_try_advisory_lock($1)", _LOCK):
                    raise StoreUnavailable(f"another migration fills {address}: let it end")
            await _bring_up_to_date(connection)
        except BaseException:
            await connection.close(timeout=_CONNECT_S)
            raise
        return cls(address, connection)

    async def is_empty(self) -> bool:
        found = " OR ".join(f"EXISTS (SELECT FROM {name})" for name in _NAMES)
        with typed():
            return not await self._connection.fetchval(f"SELECT {found}")

    async def prepare(self, move: Move) -> None:
        await self._check_free()
        with typed():
            async with self._connection.transaction():
                run = self._connection.execute
                # A server connects, then reads this: it is seen here, or waits and reads what is committed.
                await run("LOCK TABLE moves IN ACCESS EXCLUSIVE MODE")
                await self._check_free()
                await run(_REFUSE)
                await run(
                    "CREATE TRIGGER closed_channels BEFORE INSERT OR UPDATE OR DELETE ON channels FOR EACH STATEMENT "
                    f"WHEN (current_setting('{_MINE}', true) IS DISTINCT FROM 'yes') EXECUTE FUNCTION refuse_moved()"
                )
                for later, now, _ in await self._connection.fetch(_PUT_OFF, _NAMES):
                    move.progress.later.append(later)
                    await run(now)
                await run("DELETE FROM moves")
                await run(_PUT_MOVE, *_row(move))

    async def fill(self, table: Table, rows: Sequence[Row], progress: Progress) -> None:
        with typed():
            async with self._connection.transaction():
                await self._insert(table, rows)
                await self._note(progress)

    async def replace(self, changed: Changed) -> None:
        with typed():
            async with self._connection.transaction():
                for kind, keys in changed.keys.items():
                    await self._delete(BY_NAME[kind], keys)
                for table in TABLES:
                    await self._insert(table, changed.rows.get(table.name, ()))

    async def finish(self, progress: Progress) -> None:
        with typed():
            async with self._connection.transaction():
                for statement in progress.later:
                    await self._connection.execute(statement)
                progress.later, progress.is_whole = [], True
                await self._note(progress)
            await self._connection.execute(f"ANALYZE {', '.join(_NAMES)}")

    async def open_for_servers(self, numbers: Mapping[str, int]) -> None:
        with typed():
            async with self._connection.transaction():
                for name, last in numbers.items():
                    sequence = await _sequence(self._connection, name)
                    await self._connection.execute(
                        "SELECT setval($1::text::regclass, greatest($2::bigint, 1), $2::bigint > 0)",
                        sequence,
                        last,
                    )
                await _drop_closed(self._connection.execute)
                await self._connection.execute(
                    "UPDATE moves SET phase = 'arrived', progress = '{}'"
                )
        await self.close()

    async def clear(self) -> None:
        move = await self.move()
        with typed():
            async with self._connection.transaction():
                run = self._connection.execute
                await run(f"TRUNCATE {', '.join(_NAMES)}")
                for statement in move.progress.later if move else ():
                    await run(statement)
                await _drop_closed(run)
                await run("DELETE FROM moves")

    async def _check_free(self) -> None:
        """Whoever has it would keep what it knows of an empty database."""
        with typed():
            if others := await _others(self._connection):
                raise FailedPrecondition(
                    f"{others} other connections to {self.address}: stop its servers first"
                )

    async def _delete(self, table: Table, keys: set[Key]) -> None:
        if not keys:
            return
        given = ", ".join(f"${n}::{_type(name)}[]" for n, name in enumerate(table.key, 1))
        await self._connection.execute(
            f"DELETE FROM {table.name} AS one USING unnest({given}) AS given ({', '.join(table.key)}) "
            f"WHERE {_matches(table)}",
            *columns(sorted(keys)),
        )

    async def _insert(self, table: Table, rows: Sequence[Row]) -> None:
        if not rows:
            return
        try:
            await self._connection.copy_records_to_table(
                table.name,
                records=_written(table, rows),
                columns=[*table.columns, *(("version",) if table.name == "channels" else ())],
            )
        except (asyncpg.CharacterNotInRepertoireError, asyncpg.UntranslatableCharacterError):
            bad = next(row for row in rows if any(_has_zero(value) for value in row))
            raise StoreUnavailable(
                f"a text of {table.name} {bad[: len(table.key)]} holds U+0000, which PostgreSQL cannot keep: "
                "edit or erase it first"
            ) from None

    async def _note(self, progress: Progress) -> None:
        body = msgspec.json.encode(progress).decode()
        await self._connection.execute("UPDATE moves SET progress = $1", body)


async def _connected(url: str) -> asyncpg.Connection:
    with typed():
        connection: asyncpg.Connection = await asyncpg.connect(
            **driver_options(url),
            timeout=_CONNECT_S,
            server_settings={"statement_timeout": "0", _MINE: "yes"},
        )
    return connection


async def _bring_up_to_date(connection: asyncpg.Connection) -> None:
    with typed():
        async with connection.transaction():
            await migrate.migrate(connection, migrate.known())


async def _others(connection: asyncpg.Connection) -> int:
    """How many other connections there are. Some only look, and are gone at once."""
    others = 0
    for _ in range(_LOOKS_FOR_OTHERS):
        await connection.execute("SELECT pg_stat_clear_snapshot()")
        others = await connection.fetchval(_OTHERS, _LOOKS)
        if not others:
            break
        await asyncio.sleep(_LOOK_S)
    return others


# --- rows as they are here -----------------------------------------------------------------------


def _read(table: Table, found: Sequence[asyncpg.Record]) -> list[Row]:
    rows = [tuple(row) for row in found]
    return _mapped(table, rows, unspelled)


def _written(table: Table, rows: Sequence[Row]) -> Sequence[Row]:
    if table.name == "channels":  # servers that had versions of it are no more
        return [(*row, 1) for row in rows]
    if table.name == "tombstones":
        return [(*row[:-1], bool(row[-1])) for row in rows]
    return _mapped(table, rows, spelled)


def _mapped(table: Table, rows: Sequence[Row], change: Any) -> list[Row]:  # noqa: ANN401 - of a text
    if table.name not in _SPELLED:
        return list(rows)
    places = {table.columns.index(name) for name in _SPELLED[table.name]}
    return [
        tuple(change(value) if place in places else value for place, value in enumerate(row))
        for row in rows
    ]


def _has_zero(value: object) -> bool:
    return isinstance(value, str) and "\0" in value


def _type(name: str) -> str:
    return _TYPES.get(name, "text")


def _matches(table: Table) -> str:
    """Rows by keys that a statement is given; texts compare as in the key's index."""
    collated = {name: "" if name in _TYPES else ' COLLATE "C"' for name in table.key}
    return " AND ".join(f"one.{name} = given.{name}{collated[name]}" for name in table.key)


# --- triggers ------------------------------------------------------------------------------------


def _noting(table: Table, operation: str, sides: Sequence[str]) -> list[str]:
    name = f"noted_{table.name}_{operation.lower()}"
    key = f"json_build_array({', '.join(table.key)})::text"
    keys = " UNION ".join(f"SELECT '{table.name}', {key} FROM {side}_rows" for side in sides)
    seen = " ".join(f"{side.upper()} TABLE AS {side}_rows" for side in sides)
    function = f"""
CREATE OR REPLACE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN INSERT INTO moved_keys (kind, key) {keys}; RETURN NULL; END $$
"""
    trigger = f"""
CREATE TRIGGER {name} AFTER {operation} ON {table.name} REFERENCING {seen} FOR EACH STATEMENT EXECUTE FUNCTION {name}()
"""
    return [function, trigger]


async def _drop_noting(run: Any) -> None:  # noqa: ANN401 - of the driver
    for name in _NAMES:
        for operation in _OPERATIONS:
            trigger = f"noted_{name}_{operation.lower()}"
            await run(f"DROP TRIGGER IF EXISTS {trigger} ON {name}")
            await run(f"DROP FUNCTION IF EXISTS {trigger}()")


async def _drop_closed(run: Any) -> None:  # noqa: ANN401 - of the driver
    for name in _NAMES:
        await run(f"DROP TRIGGER IF EXISTS closed_{name} ON {name}")
    await run("DROP FUNCTION IF EXISTS refuse_moved()")


async def _sequence(connection: asyncpg.Connection, name: str) -> str:
    return str(await connection.fetchval("SELECT pg_get_serial_sequence($1, 'number')", name))


def _row(move: Move) -> Row:
    progress = msgspec.json.encode(move.progress).decode()
    return (move.id, move.phase, move.other, move.began_at_ms, progress)
