"""What `doctor` learns about a database, without a store and without changing it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import asyncpg

from backscroll_sidecar.errors import StoreUnavailable
from backscroll_sidecar.ports import Finding
from backscroll_sidecar.store.moving import ends as moving
from backscroll_sidecar.store.postgres import migrate, statements
from backscroll_sidecar.store.postgres.connections import driver_options
from backscroll_sidecar.store.postgres.failures import typed
from backscroll_sidecar.store.postgres.moves import found_move

OLDEST_POSTGRES = 16
CONNECT_S = 5.0


def findings(url: str) -> Iterator[Finding]:
    """The server's version, its settings, the schema and how much is stored. Blocks: not for an event loop."""
    try:
        yield from asyncio.run(_found(url))
    except StoreUnavailable as error:
        yield Finding("database", "fail", str(error), "check that PostgreSQL runs, and `database`")


async def _found(url: str) -> list[Finding]:
    async with _connected(url) as connection:
        version = connection.get_server_version()
        settings = dict(map(tuple, await connection.fetch(statements.SETTINGS)))
        had = await migrate.applied(connection)
        waiting = len([one for one in migrate.known() if one.number not in had])
        return [
            _version(f"{version.major}.{version.minor}", version.major),
            _encoding(settings),
            _durability(settings),
            await _schema(connection, had, waiting),
            *(moving.findings(None if waiting else await found_move(connection))),
        ]


@asynccontextmanager
async def _connected(url: str) -> AsyncIterator[asyncpg.Connection]:
    with typed():
        connection = await asyncpg.connect(**driver_options(url), timeout=CONNECT_S)
        try:
            yield connection
        finally:
            await connection.close(timeout=CONNECT_S)


def _version(said: str, major: int) -> Finding:
    if major < OLDEST_POSTGRES:
        return Finding("postgres", "fail", said, f"{OLDEST_POSTGRES} or newer is needed")
    return Finding("postgres", "ok", said)


def _encoding(settings: dict[str, str]) -> Finding:
    encoding = settings["server_encoding"]
    if encoding != "UTF8":
        return Finding("encoding", "fail", encoding, "make the database with ENCODING 'UTF8'")
    return Finding("encoding", "ok", encoding)


def _durability(settings: dict[str, str]) -> Finding:
    off = [name for name in ("fsync", "full_page_writes") if settings[name] == "off"]
    if off:
        advice = "turn it on: what was acknowledged may be lost with the machine"
        return Finding("durability", "warn", f"{' and '.join(off)} off", advice)
    said = f"fsync on, synchronous_commit {settings['synchronous_commit']}"
    return Finding("durability", "ok", said)


async def _schema(connection: asyncpg.Connection, had: list[int], waiting: int) -> Finding:
    newest = migrate.known()[-1].number
    if had and had[-1] > newest:
        said = f"schema {had[-1]}, this program knows schemas up to {newest}"
        return Finding("database", "fail", said, "start a newer version of Backscroll")
    if waiting:
        return Finding("database", "ok", f"{waiting} migrations wait for the next serve")
    ((channels, messages, *_),) = await connection.fetch(statements.COUNT_ROWS)
    return Finding(
        "database", "ok", f"{messages:,} messages in {channels:,} channels, schema {newest}"
    )
