"""A database of PostgreSQL as an end of a move: triggers note what changes, and later refuse whatever changes anything.

What differs from the form in which rows travel is only here and in `move_statements.py`: versions of channels, flags,
and names that may hold U+0000.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import asyncpg

from backscroll_sidecar.errors import FailedPrecondition, StoreUnavailable
from backscroll_sidecar.store.moving.ends import Changed, Move, Progress, whole_keys
from backscroll_sidecar.store.moving.tables import (
    BY_NAME,
    NUMBERED,
    TABLES,
    Key,
    Row,
    Table,
    noted_keys,
)
from backscroll_sidecar.store.postgres import migrate
from backscroll_sidecar.store.postgres import move_statements as sql
from backscroll_sidecar.store.postgres.arrays import columns, spelled, unspelled
from backscroll_sidecar.store.postgres.connections import OWN_SETTINGS, connected, snapshot
from backscroll_sidecar.store.postgres.failures import typed
from backscroll_sidecar.store.postgres.moves import CONNECT_S, LOOKS, found_move

_LOCK = int.from_bytes(b"BkMoving", "big", signed=True)
_SPELLED = {"records": ("owner", "id"), "record_names": ("name",)}
"""Columns that may hold U+0000."""
_LOOKS_FOR_OTHERS, _LOOK_S = 20, 0.05


class _PostgresEnd:
    """What both ends do, on one connection, one call after the other."""

    def __init__(self, address: str, connection: asyncpg.Connection) -> None:
        self.address = address
        self._connection = connection

    async def close(self) -> None:
        await self._connection.close(timeout=CONNECT_S)

    async def move(self) -> Move | None:
        with typed():
            return await found_move(self._connection)

    async def count(self) -> int:
        with typed():
            return int(await self._connection.fetchval(sql.COUNT))

    async def page(self, table: Table, after: Key | None, limit: int) -> list[Row]:
        return await whole_keys(table, limit, lambda most: self._range(table, after, None, most))

    async def between(self, table: Table, after: Key | None, upto: Key | None) -> list[Row]:
        return await self._range(table, after, upto)

    async def rows(self, table: Table, keys: set[Key]) -> list[Row]:
        if not keys:
            return []
        with typed():
            found = await self._connection.fetch(sql.of_keys(table), *columns(sorted(keys)))
        return _read(table, found)

    async def _range(
        self, table: Table, after: Key | None, upto: Key | None, limit: int | None = None
    ) -> list[Row]:
        statement, values = sql.of_range(table, after, upto, limit)
        with typed():
            found = await self._connection.fetch(statement, *values)
        return _read(table, found)


class PostgresOldEnd(_PostgresEnd):
    """A database that the history leaves, whether servers have it or not."""

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
            await connection.close(timeout=CONNECT_S)
            raise
        return cls(address, connection)

    async def begin(self, move: Move) -> None:
        async with self._writing() as run:
            await run(sql.DELETE_MOVE)
            await run(sql.PUT_MOVE, *move.row())
            for table in TABLES:
                await _each(run, sql.note(table))

    async def changed(self, limit: int | None = None) -> Changed:
        with typed():
            async with snapshot(self._connection):
                noted = await self._connection.fetch(sql.NOTED, limit)
                keys = noted_keys(noted)
                rows = {kind: await self.rows(BY_NAME[kind], some) for kind, some in keys.items()}
        return Changed(keys, rows, [number for number, *_ in noted])

    async def forget(self, changed: Changed) -> None:
        """By number: a group with a lower one may be committed later."""
        with typed():
            await self._connection.execute(sql.FORGET, changed.marks)

    async def shut(self) -> None:
        async with self._writing() as run:
            await run(sql.SET_PHASE, "closed")
            await _each(run, sql.REFUSE)

    async def reopen(self) -> None:
        with typed():  # what was broken off may have left its transaction open
            await self._connection.reset(timeout=CONNECT_S)
        async with self._writing() as run:
            await _each(run, sql.REFUSE_NO_MORE)
            await run(sql.SET_PHASE, "leaving")

    async def leave(self) -> None:
        """Each server looks here before it answers: from the commit on none does."""
        async with self._writing() as run:
            await run(sql.SET_PHASE, "left")

    async def tidy(self) -> None:
        async with self._writing() as run:
            await _each(run, sql.note_no_more())
            await run(sql.FORGET_ALL)

    async def abandon(self) -> None:
        async with self._writing() as run:
            await _each(run, sql.note_no_more())
            await _each(run, sql.REFUSE_NO_MORE)
            await run(sql.FORGET_ALL)
            await run(sql.DELETE_MOVE)

    async def numbers(self) -> dict[str, int]:
        found = {}
        with typed():
            for name in NUMBERED:
                sequence = await _sequence(self._connection, name)
                found[name] = await self._connection.fetchval(sql.last_number(sequence))
        return found

    @asynccontextmanager
    async def _writing(self) -> AsyncIterator[Any]:
        """In a transaction during which no group runs."""
        with typed():
            async with self._connection.transaction():
                await self._connection.execute(sql.HOLD_GROUPS)
                yield self._connection.execute


class PostgresNewEnd(_PostgresEnd):
    """A database that the history comes to. No server has it before it is open."""

    @classmethod
    async def open(cls, url: str, address: str) -> PostgresNewEnd:
        """Connect, make the tables if they are not there, keep other migrations out. Raises `StoreUnavailable`."""
        connection = await _connected(url)
        try:
            with typed():
                if not await connection.fetchval(sql.BE_ALONE, _LOCK):
                    raise StoreUnavailable(f"another migration fills {address}: let it end")
            await _bring_up_to_date(connection)
        except BaseException:
            await connection.close(timeout=CONNECT_S)
            raise
        return cls(address, connection)

    async def is_empty(self) -> bool:
        await self._check_free()
        with typed():
            return not await self._connection.fetchval(sql.HOLDS_ANY)

    async def prepare(self, move: Move) -> None:
        await self._check_free()
        with typed():
            async with self._connection.transaction():
                run = self._connection.execute
                # A server connects, then reads this: it is seen here, or waits and reads what is committed.
                await run(sql.HOLD_MOVES)
                await self._check_free()
                await _each(run, sql.REFUSE_OTHERS)
                await run(sql.DELETE_OTHERS)
                for later, now, _ in await self._connection.fetch(sql.PUT_OFF, sql.NAMES):
                    move.progress.later.append(later)
                    await run(now)
                await run(sql.DELETE_MOVE)
                await run(sql.PUT_MOVE, *move.row())

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
                await _each(self._connection.execute, progress.later)
                progress.later, progress.is_whole = [], True
                await self._note(progress)
            await self._connection.execute(sql.ANALYZE)

    async def open_for_servers(self, numbers: Mapping[str, int]) -> None:
        with typed():
            async with self._connection.transaction():
                for name, last in numbers.items():
                    sequence = await _sequence(self._connection, name)
                    await self._connection.execute(sql.SET_LAST_NUMBER, sequence, last)
                await _each(self._connection.execute, sql.REFUSE_NO_MORE)
                await self._connection.execute(sql.ARRIVE)
        await self.close()

    async def clear(self) -> None:
        move = await self.move()
        with typed():
            async with self._connection.transaction():
                run = self._connection.execute
                await run(sql.DELETE_ALL)
                await _each(run, move.progress.later if move else ())
                await _each(run, sql.REFUSE_NO_MORE)
                await run(sql.DELETE_MOVE)

    async def _check_free(self) -> None:
        """A server that has the database would go on answering from an empty history."""
        with typed():
            if others := await _others(self._connection):
                raise FailedPrecondition(
                    f"{self.address} is in use (connections: {others}): stop its servers first"
                )

    async def _delete(self, table: Table, keys: set[Key]) -> None:
        if not keys:
            return
        await self._connection.execute(sql.delete(table), *columns(sorted(keys)))

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
        await self._connection.execute(sql.SET_PROGRESS, progress.encoded())


async def _connected(url: str) -> asyncpg.Connection:
    return await connected(url, CONNECT_S, server_settings={**OWN_SETTINGS, sql.MINE: "yes"})


async def _bring_up_to_date(connection: asyncpg.Connection) -> None:
    with typed():
        async with connection.transaction():
            await migrate.migrate(connection, migrate.known())


async def _others(connection: asyncpg.Connection) -> int:
    """How many other connections there are. Those that only look are gone at once."""
    others = 0
    for _ in range(_LOOKS_FOR_OTHERS):
        await connection.execute(sql.SEE_ANEW)
        others = await connection.fetchval(sql.OTHERS, LOOKS)
        if not others:
            break
        await asyncio.sleep(_LOOK_S)
    return others


async def _each(run: Any, statements: Iterable[str]) -> None:  # noqa: ANN401 - of the driver
    for statement in statements:
        await run(statement)


async def _sequence(connection: asyncpg.Connection, name: str) -> str:
    return str(await connection.fetchval(sql.SEQUENCE, name))


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
