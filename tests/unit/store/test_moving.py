"""A move asks for rows by their keys alone, so an index must find them: a million messages are asked for by pages."""

import sqlite3
from pathlib import Path

import pytest

from backscroll_sidecar.store.moving.tables import TABLES, Key, Table
from backscroll_sidecar.store.sqlite import SqliteStore
from backscroll_sidecar.store.sqlite.moving import SqliteOldEnd

NUMBERS = {"seq", "number", "revision"}


def key_of(table: Table, place: str) -> Key:
    return tuple(1 if name in NUMBERS else place for name in table.key)


@pytest.fixture
async def path(tmp_path: Path) -> Path:
    await (await SqliteStore.open(tmp_path / "old.db")).close()
    return tmp_path / "old.db"


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
async def test_no_table_is_read_as_a_whole_or_sorted(path: Path, table: Table) -> None:
    asked: list[str] = []
    end = SqliteOldEnd.open(path)
    end._connection.set_trace_callback(asked.append)
    here, there = key_of(table, "a"), key_of(table, "b")
    await end.page(table, here, 10)
    await end.between(table, here, there)
    await end.rows(table, {here, there})
    await end.close()
    connection = sqlite3.connect(path)
    plans = [
        said
        for statement in asked
        for *_, said in connection.execute(f"EXPLAIN QUERY PLAN {statement}")
    ]
    connection.close()
    assert len(asked) >= 5
    given = {"SCAN given", "SCAN 2 CONSTANT ROWS", "CO-ROUTINE given"}
    assert [one for one in plans if one not in given and not one.startswith("SEARCH")] == []
