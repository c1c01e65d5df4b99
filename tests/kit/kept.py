"""What a test's server keeps, looked at past the server: files, rows of SQLite, rows of PostgreSQL."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from backscroll_sidecar.store.postgres import PostgresStore
from backscroll_sidecar.store.sqlite import SqliteStore
from tests.kit.postgres import IN_POSTGRES, database_url, databases_below, server

STORE = PostgresStore if IN_POSTGRES else SqliteStore
"""What keeps a test's history."""
_SQLITE_STEP = re.compile(r"SEARCH .*? USING (?:COVERING )?(?:INDEX )?(.+?) \((.*)\)")
_POSTGRES_STEP = re.compile(
    r"Index (?:Only )?Scan (?:Backward )?using (\w+) on .*\n *Index Cond: (.*)"
)
_COLUMN = re.compile(r"(\w+) ?[=<>]")


def rows(database: Path, statement: str, *values: object) -> list[tuple[Any, ...]]:
    """What a statement of both kinds of SQL gives, with values for $1, $2 …; it is committed."""
    if IN_POSTGRES:
        return server().rows(database_url(database), statement, *values)
    with closing(sqlite3.connect(database)) as connection, connection:
        return connection.execute(statement.replace("$", "?"), values).fetchall()


def tables(database: Path) -> list[str]:
    """Their names."""
    if IN_POSTGRES:
        return server().tables(database_url(database))
    names = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
    return [name for (name,) in rows(database, names)]


def columns(database: Path, table: str) -> dict[str, tuple[bool, str | None]]:
    """Of a table or view: whether each column may be without a value, and what it has where none is given."""
    told = rows(
        database,
        "SELECT column_name::text, is_nullable = 'YES', column_default FROM information_schema.columns"
        " WHERE table_name = $1"
        if IN_POSTGRES
        else 'SELECT name, NOT "notnull", dflt_value FROM pragma_table_info($1)',
        table,
    )
    return {name: (bool(is_optional), default) for name, is_optional, default in told}


def plan(database: Path, question: str) -> list[tuple[str, list[str]]]:
    """Each index that a question is answered by, and the columns that are looked up in it."""
    if IN_POSTGRES:
        # As if there were millions of rows: of few the planner looks up whatever it likes.
        asked = (
            "UPDATE pg_class SET reltuples = 1e7, relpages = 1"
            " WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace;"
            f"SET enable_seqscan = off; SET enable_bitmapscan = off; EXPLAIN {question};"
        )
        told, step = server().psql(database_url(database), asked), _POSTGRES_STEP
    else:
        steps = rows(database, f"EXPLAIN QUERY PLAN {question}")
        told, step = "\n".join(detail for *_, detail in steps), _SQLITE_STEP
    return [(name, _COLUMN.findall(conditions)) for name, conditions in step.findall(told)]


def kept_in(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Each file below a folder, and each table of the databases in PostgreSQL that stand for files there."""
    for path in sorted(folder.rglob("*")):
        try:
            if path.is_file():
                yield str(path.relative_to(folder)), path.read_bytes()
        except FileNotFoundError:  # it went meanwhile
            continue
    for url in databases_below(folder):
        for name in server().tables(url):
            found = server().rows(url, f"SELECT * FROM {name}")
            yield name, b"\n".join(_as_bytes(value) for row in found for value in row)


def kept_bytes(folder: Path) -> bytes:
    """All of it."""
    return b"\n".join(content for _, content in kept_in(folder))


def _as_bytes(value: object) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()
