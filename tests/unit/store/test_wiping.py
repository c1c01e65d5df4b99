"""Bytes that belong to nothing leave the database's file, and nothing else does (N-10)."""

import asyncio
import random
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backscroll_sidecar.domain import ChannelKey
from backscroll_sidecar.errors import StoreUnavailable
from backscroll_sidecar.ports import EraseChange
from backscroll_sidecar.store.sqlite import SqliteStore, rollback_journal, wiping
from backscroll_sidecar.store.sqlite.pages import Layout, stale_parts
from tests.contract.store.builders import NOON_MS, edit, message, put, recall, rows
from tests.kit.canaries import found_in

ROOMS = [ChannelKey("default", f"room-{n}") for n in range(3)]


async def churn(store: SqliteStore, seed: int, count: int = 250) -> None:
    """Rows of many lengths come to several channels in turn, grow, shrink and go."""
    luck = random.Random(seed)
    for start in range(0, count, 10):
        for room in ROOMS:
            sent = [
                message(
                    f"m{n}",
                    ("secret " if n % 3 else "keepthis ") * luck.choice((1, 5, 60, 900)),
                    author="u-secret" if n % 3 else "u-keep",
                )
                for n in range(start, start + 10)
            ]
            await put(store, *sent, key=room)
            some = [one for one in sent if "secret" in one.text]
            await store.apply([
                edit(some[0].id, "secret " * luck.choice((1, 300)), key=room),
                recall(some[1].id, key=room),
            ])  # fmt: skip


def content(path: Path) -> tuple[list[tuple], list[tuple]]:
    """Whether SQLite finds the file whole, and everything in it."""
    with closing(sqlite3.connect(path)) as connection:
        (whole,) = connection.execute("PRAGMA integrity_check").fetchall()
        tables = connection.execute(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
        ).fetchall()
        held = [row for (name,) in tables for row in connection.execute(f"SELECT * FROM {name}")]
    return [whole], held


async def erased(path: Path, seed: int = 1) -> SqliteStore:
    """A store from which the person of the secrets was erased; the log is empty."""
    store = await SqliteStore.open(path, durability="normal")
    await churn(store, seed)
    await store.apply([EraseChange(room, (), "u-secret", NOON_MS) for room in ROOMS])
    await store.empty_log()
    return store


async def test_secure_delete_alone_is_not_enough_and_wiping_is(tmp_path: Path) -> None:
    """N-10: pages that were split keep copies of rows; what SQLite has in memory brings none back."""
    store = await erased(tmp_path / "b.db")
    try:
        assert found_in(tmp_path, "secret"), "nothing is proved: no page kept a copy"
        assert not (await store.stats()).is_wiped
        before = await rows(store, ROOMS[0])
        await store.wipe()
        assert found_in(tmp_path, "secret") == []
        assert (await store.stats()).is_wiped
        await put(store, message("new", "keepthis"), key=ROOMS[0])  # what SQLite had in memory
        await store.empty_log()
        assert found_in(tmp_path, "secret") == []
        assert list(await rows(store, ROOMS[0])) == [*before, "new"]
    finally:
        await store.close()
    assert content(tmp_path / "b.db")[0] == [("ok",)]


@given(
    page_bytes=st.sampled_from([512, 1024, 4096, 65536]),
    seed=st.integers(0, 1_000),
    without_rowid=st.booleans(),
)
@settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_what_is_found_belongs_to_nothing(
    tmp_path: Path, page_bytes: int, seed: int, *, without_rowid: bool
) -> None:
    """Whatever the pages hold: with all that is found zeroed, the file is whole and says the same."""
    path, luck = tmp_path / f"{page_bytes}-{seed}-{without_rowid}.db", random.Random(seed)
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA page_size = {page_bytes}")
        connection.execute("PRAGMA secure_delete = OFF")
        connection.execute(
            "CREATE TABLE t (a INTEGER, b TEXT, PRIMARY KEY (b, a))"
            + (" WITHOUT ROWID" if without_rowid else "")
        )
        connection.execute("CREATE INDEX i ON t (a, b)")
        for n in range(600):
            size = luck.choice((0, 3, 40, 400, 5_000 if n % 50 == 0 else 9))
            row = (luck.randrange(10_000), f"{luck.random()}" + "x" * size)
            connection.execute("INSERT OR IGNORE INTO t VALUES (?, ?)", row)
            if n % 3 == 0:
                connection.execute("DELETE FROM t WHERE a < ?", (luck.randrange(300),))
        connection.commit()
    before = content(path)
    raw = bytearray(path.read_bytes())
    layout = Layout(page_bytes, page_bytes, len(raw) // page_bytes)
    found = list(stale_parts(bytes(raw), 1, layout))
    assert found
    for number, parts in found:
        for part in parts:
            start = (number - 1) * page_bytes
            raw[start + part.start : start + part.end] = bytes(part.end - part.start)
    path.write_bytes(raw)
    assert content(path) == before
    assert before[0] == [("ok",)]
    assert list(stale_parts(bytes(raw), 1, layout)) == []


@given(st.binary(min_size=0, max_size=64), st.integers(0, 4_000))
def test_a_page_of_anything_is_no_error(noise: bytes, at: int) -> None:
    page = bytearray(4_096)
    page[at : at + len(noise)] = noise
    for kind in (0, 2, 5, 10, 13):
        page[0] = kind
        for _, parts in stale_parts(bytes(page[:4_096]), 7, Layout(4_096, 4_096, 9)):
            assert all(8 <= part.start < part.end <= 4_096 for part in parts)


def test_sqlite_puts_back_what_a_journal_holds(tmp_path: Path) -> None:
    """Who dies while pages are written leaves a journal: whoever opens the file next has them as they were."""
    path = tmp_path / "b.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE t (a)")
        connection.executemany("INSERT INTO t VALUES (?)", [(f"row {n}" * 40,) for n in range(400)])
        connection.commit()
    before, raw = content(path), path.read_bytes()
    layout = Layout(4_096, 4_096, len(raw) // 4_096)
    pages = [(number, raw[(number - 1) * 4_096 : number * 4_096]) for number in (2, 3, 7)]
    journal = path.with_name("b.db-journal")
    journal.write_bytes(rollback_journal.encode(pages, layout, 0xFFFFFFF0))
    torn = bytearray(raw)
    for number, _ in pages:
        torn[(number - 1) * 4_096 + 512 : number * 4_096] = b"\xff" * (4_096 - 512)
    path.write_bytes(torn)
    assert content(path) == before
    assert not journal.exists()
    assert path.read_bytes()[: len(raw)] == raw


_DIES = """
import asyncio, os, sys
from backscroll_sidecar.store.sqlite import SqliteStore
writes = os.pwrite
left = int(sys.argv[2])
def dies(*given):
    global left
    left -= 1
    if left < 0:
        os.kill(os.getpid(), 9)
    return writes(*given)
os.pwrite = dies
async def main():
    store = await SqliteStore.open(sys.argv[1])
    await store.wipe()
asyncio.run(main())
"""


@pytest.mark.parametrize("writes", [0, 1, 20])
async def test_a_kill_while_pages_are_written_costs_nothing(tmp_path: Path, writes: int) -> None:
    path = tmp_path / "b.db"
    store = await erased(path)
    before = await rows(store, ROOMS[1])
    await store.close()
    command = [sys.executable, "-c", _DIES, str(path), str(writes)]
    assert await (await asyncio.create_subprocess_exec(*command)).wait() == -9
    assert path.with_name("b.db-journal").exists()
    store = await SqliteStore.open(path)
    try:
        assert not (await store.stats()).is_wiped
        await store.wipe()
        assert found_in(tmp_path, "secret") == []
        assert await rows(store, ROOMS[1]) == before
    finally:
        await store.close()
    assert content(path)[0] == [("ok",)]


_READS = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
print(connection.execute("SELECT count(*) FROM messages").fetchone()[0])
connection.close()
"""


async def test_another_program_may_come_and_go_behind_it(tmp_path: Path) -> None:
    """The locks of SQLite stay: a program that closes the file must not take the log away that we go on to write."""
    path = tmp_path / "b.db"
    store = await erased(path)

    def counted() -> int:
        command = [sys.executable, "-c", _READS, str(path)]
        return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)

    try:
        await store.wipe()
        count = counted()
        await put(store, message("one"), key=ROOMS[0])
        assert counted() == count + 1
        await put(store, message("two"), key=ROOMS[0])
        assert counted() == count + 2
    finally:
        await store.close()


async def test_deletions_while_it_is_wiped_are_left_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wiping, "PAGES_AT_ONCE", 8)
    path = tmp_path / "b.db"
    store = await erased(path)
    try:
        begun = await store._writer.run(wiping.begin)
        assert begun > 8
        await store.apply([EraseChange(ROOMS[0], ("m0",), "", NOON_MS)])
        await store._writer.run(wiping.end)
        assert not (await store.stats()).is_wiped
        await store.wipe()
        assert (await store.stats()).is_wiped
    finally:
        await store.close()


async def test_a_file_set_to_auto_vacuum_is_left_alone(tmp_path: Path) -> None:
    """Some of its pages look like a b-tree's."""
    path = tmp_path / "b.db"
    await (await erased(path)).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA auto_vacuum = FULL")
        connection.execute("VACUUM")
        connection.execute(f"PRAGMA user_version = {1}")
    store = await SqliteStore.open(path)
    try:
        with pytest.raises(StoreUnavailable, match="auto_vacuum"):
            await store.wipe()
    finally:
        await store.close()
