"""Numbered SQL files bring the database up to date, one server at a time; a change and its record go together."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources

import asyncpg

from backscroll_sidecar.errors import StoreUnavailable
from backscroll_sidecar.store.migration_files import Migration, migrations_in
from backscroll_sidecar.store.postgres import statements
from backscroll_sidecar.store.postgres.connections import Connection, check_server
from backscroll_sidecar.store.postgres.move_statements import NAMES

_LOCK = int.from_bytes(b"BkScroll", "big", signed=True)
_TABLE = """
CREATE TABLE IF NOT EXISTS schema_migrations (
    number integer PRIMARY KEY, name text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now()
)
"""


_PUT = "INSERT INTO schema_migrations (number, name) VALUES ($1, $2)"
_OTHERS_TABLES = "give Backscroll a database of its own: this one has tables of another program"
_MAY_MAKE_NONE = "the database's user may make no tables: make it the owner of the database, or GRANT CREATE ON SCHEMA"


def known() -> tuple[Migration, ...]:
    """The migrations this program has, by number."""
    return migrations_in(resources.files("backscroll_sidecar.store.postgres") / "migrations")


async def applied(connection: Connection) -> list[int]:
    """The numbers of the migrations the database has had. Only reads. Raises `StoreUnavailable`."""
    if await connection.fetchval("SELECT to_regclass('schema_migrations')") is None:
        return []
    try:
        rows = await connection.fetch("SELECT number FROM schema_migrations ORDER BY number")
    except (asyncpg.UndefinedColumnError, asyncpg.WrongObjectTypeError) as error:
        raise StoreUnavailable(_OTHERS_TABLES) from error
    return [number for (number,) in rows]


async def refusal(connection: Connection, had: Sequence[int]) -> str:
    """Why no migration can be applied, as far as that can be told; empty: it can. Only reads."""
    if not await connection.fetchval(statements.MAY_MAKE_TABLES):
        return _MAY_MAKE_NONE
    taken = [] if had else await connection.fetch(statements.TABLES_AMONG, NAMES)
    return f"{_OTHERS_TABLES}: {', '.join(name for (name,) in taken)}" if taken else ""


async def is_behind(connection: Connection, migrations: Sequence[Migration]) -> bool:
    """Whether a database has some of the migrations, but not all. Only reads."""
    had = await applied(connection)
    return bool(had) and had[-1] < migrations[-1].number


async def migrate(connection: Connection, migrations: Sequence[Migration]) -> None:
    """Apply what is pending, in the transaction of the connection.

    Raises
    ------
    StoreUnavailable
        The database is newer than this program, or PostgreSQL too old; its user may make no tables; others' are there.
    """
    check_server(connection)
    had = await applied(connection)
    if not (pending := [one for one in migrations if one.number not in had]) and had:
        _check(had, migrations)
        return
    await connection.execute(statements.LOCK_SCHEMA, _LOCK)
    had = await applied(connection)
    _check(had, migrations)
    try:
        await connection.execute(_TABLE)
        for one in pending:
            if one.number not in had:
                await connection.execute(one.sql)
                await connection.execute(_PUT, one.number, one.name)
    except (asyncpg.DuplicateTableError, asyncpg.DuplicateObjectError) as error:
        raise StoreUnavailable(_OTHERS_TABLES) from error
    except asyncpg.InsufficientPrivilegeError as error:
        raise StoreUnavailable(_MAY_MAKE_NONE) from error


def _check(had: Sequence[int], migrations: Sequence[Migration]) -> None:
    newest = migrations[-1].number
    if had and had[-1] > newest:
        raise StoreUnavailable(
            f"the database has schema {had[-1]}, this program knows schemas up to {newest}: "
            "start a newer version of Backscroll"
        )
