"""What a group reads of PostgreSQL does not grow with the history, whatever the planner knows of it (law 6)."""

import asyncio
from collections.abc import Sequence

import asyncpg
import pytest

from backscroll_sidecar.domain import Reply
from backscroll_sidecar.ports import AliasChange, Change
from backscroll_sidecar.store.postgres import PostgresStore
from tests.contract.store.builders import ROOM, append, edit, message, recall, record
from tests.kit.postgres import server

HISTORY, AT_ONCE = 6_000, 500
MOST_READ = 1_500
"""Rows and entries of indexes that a group of some fifty may read, its own included; the history is four times that."""
PATIENCE_S = 30.0
READ = """
SELECT (SELECT sum(seq_tup_read + idx_tup_fetch) FROM pg_stat_user_tables)
    + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes)
"""
OTHERS = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"


async def read(url: str) -> int:
    """So much was read so far, once all others have left: then they have said so."""
    connection = await asyncpg.connect(url)
    async with asyncio.timeout(PATIENCE_S):
        while await connection.fetchval(OTHERS):  # noqa: ASYNC110 - nothing else tells
            await asyncio.sleep(0.02)
    found = await connection.fetchval(READ)
    await connection.close()
    return int(found or 0)


async def applied(url: str, *groups: Sequence[Change]) -> None:
    store = await PostgresStore.open(url)
    for group in groups:
        assert [one.error for one in await store.apply(group)] == [None] * len(group)
    await store.close()


# Few records: there are no others, and a table of one page is read as a whole for each.
GROUPS: dict[str, Sequence[Change]] = {
    "append": [append(*(message(f"new{n}", f"new {n}", at=n) for n in range(50)))],
    "again": [append(*(message(f"m{n}", f"text {n}", at=n) for n in range(50)))],
    "replies": [
        append(*(message(f"r{n}", "so?", at=n, reply=Reply(f"m{n * 9}")) for n in range(50)))
    ],
    "keys": [append(*(message(f"k{n}", "so?", at=n, dedupe_key=f"key{n}") for n in range(50)))],
    "edits": [edit(f"m{n * 5}", "other words") for n in range(50)],
    "recalls": [recall(f"m{n * 7}") for n in range(50)],
    "aliases": [AliasChange(ROOM, f"m{3_000 + n}", f"other{n}") for n in range(50)],
    "records": [record(f"r{n}", b"body", names=(f"m:m{4_000 + n}",)) for n in range(10)],
}


@pytest.mark.parametrize("is_analysed", [False, True], ids=["new", "analysed"])
async def test_what_a_group_reads(is_analysed: bool) -> None:
    url = server().new_database()
    messages = [message(f"m{n}", f"text {n}", at=n) for n in range(HISTORY)]
    parts = [messages[at : at + AT_ONCE] for at in range(0, HISTORY, AT_ONCE)]
    await applied(url, *([append(*part)] for part in parts))
    if is_analysed:
        server().psql(url, "ANALYZE")
    read_by: dict[str, int] = {}
    for name, group in GROUPS.items():
        before = await read(url)
        await applied(url)
        opened = await read(url)
        await applied(url, group)
        read_by[name] = await read(url) - opened - (opened - before)
    assert {name: count for name, count in read_by.items() if count > MOST_READ} == {}
