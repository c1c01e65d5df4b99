"""Numbered SQL files bring a database up to date; a change and its record share one transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from importlib import resources
from importlib.resources.abc import Traversable

from backscroll_sidecar.errors import StoreUnavailable
from backscroll_sidecar.store.migration_files import Migration, migrations_in
from backscroll_sidecar.store.sqlite.connection import transaction

__all__ = ["Migration", "applied", "known", "migrate", "pending"]

_TABLE = """
CREATE TABLE IF NOT EXISTS schema_migrations (
    number INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP
) STRICT
"""


def known(folder: Traversable | None = None) -> tuple[Migration, ...]:
    """The migrations this program has, by number."""
    return migrations_in(folder or resources.files("backscroll_sidecar.store") / "migrations")


def applied(connection: sqlite3.Connection) -> tuple[int, ...]:
    """The numbers of the migrations the database has had. Only reads."""
    has_table = connection.execute(
        "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'schema_migrations'"
    ).fetchone()
    if not has_table:
        return ()
    rows = connection.execute("SELECT number FROM schema_migrations ORDER BY number").fetchall()
    return tuple(number for (number,) in rows)


def pending(
    connection: sqlite3.Connection, migrations: Sequence[Migration]
) -> tuple[Migration, ...]:
    """The migrations the database has yet to get. Only reads; refuses a database newer than this program."""
    had = applied(connection)
    newest = migrations[-1].number if migrations else 0
    if had and had[-1] > newest:
        raise StoreUnavailable(
            f"the database has schema {had[-1]}, this program knows schemas up to {newest}: "
            "start a newer version of Backscroll, or restore a backup made before the update"
        )
    return tuple(migration for migration in migrations if migration.number not in had)


def migrate(connection: sqlite3.Connection, migrations: Sequence[Migration]) -> None:
    """Apply what is pending, each in a transaction of its own."""
    for migration in pending(connection, migrations):
        with transaction(connection):
            connection.execute(_TABLE)
            for statement in _statements(migration.sql):
                connection.execute(statement)
            connection.execute(
                "INSERT INTO schema_migrations (number, name) VALUES (?, ?)",
                (migration.number, migration.name),
            )


def _statements(sql: str) -> Iterator[str]:
    """Split a script: `executescript` would commit before it begins."""
    collected = ""
    for line in sql.splitlines(keepends=True):
        collected += line
        if sqlite3.complete_statement(collected):
            yield collected
            collected = ""
    assert not collected.strip() or collected.strip().startswith("--"), "a statement has no end"
