"""What `doctor` learns about a database, without a store and without changing it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import asyncpg

from backscroll_sidecar.errors import StoreUnavailable
from backscroll_sidecar.ports import Finding
from backscroll_sidecar.store.moving import ends as moving
from backscroll_sidecar.store.postgres import migrate, statements
from backscroll_sidecar.store.postgres.connections import (
    ENCODING,
    OLDEST_POSTGRES,
    connected,
    is_pooled,
)
from backscroll_sidecar.store.postgres.failures import typed
from backscroll_sidecar.store.postgres.moves import found_move

CONNECT_S = 5.0


def findings(url: str) -> Iterator[Finding]:
    """The server's version, its settings, the schema and how much is stored. Blocks: not for an event loop."""
    found: list[Finding] = []
    try:
        asyncio.run(_find(url, found))
    except StoreUnavailable as error:
        advice = "" if found else "look at the setting `database`"
        found.append(Finding("database", "fail", str(error), advice))
    yield from found


async def _find(url: str, found: list[Finding]) -> None:
    connection = await connected(url, CONNECT_S)
    with typed():
        try:
            settings = dict(map(tuple, await connection.fetch(statements.SETTINGS)))
            version = connection.get_server_version()
            found += [
                _version(f"{version.major}.{version.minor}", version.major),
                _encoding(settings),
                _durability(settings, is_pooled=await is_pooled(connection)),
            ]
            had = await migrate.applied(connection)
            waiting = len([one for one in migrate.known() if one.number not in had])
            is_read_only = settings["transaction_read_only"] == "on"
            found.append(await _schema(connection, had, waiting, is_read_only=is_read_only))
            if not waiting:
                found += moving.findings(await found_move(connection))
        finally:
            await connection.close(timeout=CONNECT_S)


def _version(said: str, major: int) -> Finding:
    if major < OLDEST_POSTGRES:
        return Finding("postgres", "fail", said, f"{OLDEST_POSTGRES} or newer is needed")
    return Finding("postgres", "ok", said)


def _encoding(settings: dict[str, str]) -> Finding:
    encoding = settings["server_encoding"]
    if encoding != ENCODING:
        return Finding(
            "encoding", "fail", encoding, f"make the database with ENCODING '{ENCODING}'"
        )
    return Finding("encoding", "ok", encoding)


def _durability(settings: dict[str, str], *, is_pooled: bool) -> Finding:
    """Servers set `synchronous_commit` in sessions of their own."""
    names = ("fsync", "full_page_writes", *(("synchronous_commit",) if is_pooled else ()))
    off = [name for name in names if settings[name] == "off"]
    if off:
        advice = "turn it on: what was acknowledged may be lost with the machine"
        return Finding("durability", "warn", f"{' and '.join(off)} off", advice)
    said = f"fsync on, synchronous_commit {settings['synchronous_commit']}"
    return Finding("durability", "ok", said)


async def _schema(
    connection: asyncpg.Connection, had: list[int], waiting: int, *, is_read_only: bool
) -> Finding:
    newest = migrate.known()[-1].number
    if had and had[-1] > newest:
        said = f"schema {had[-1]}, this program knows schemas up to {newest}"
        return Finding("database", "fail", said, "start a newer version of Backscroll")
    if is_read_only:
        advice = "name the one that takes writes, or add target_session_attrs=read-write to the URL"
        return Finding("database", "fail", "read-only: it may be a standby", advice)
    if waiting:
        if refused := await migrate.refusal(connection, had):
            return Finding("database", "fail", refused)
        if not had:
            return Finding("database", "ok", "empty: the first serve or migrate makes its tables")
        return Finding("database", "ok", f"migrations that wait for the next serve: {waiting}")
    ((channels, messages, *_),) = await connection.fetch(statements.COUNT_ROWS)
    return Finding(
        "database", "ok", f"{messages:,} messages in {channels:,} channels, schema {newest}"
    )
