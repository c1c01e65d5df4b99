"""Opening and closing the database file: one server a file, our files only, no thread left behind."""

# ruff: noqa: ASYNC221, ASYNC240 -- nothing else runs on these loops

import asyncio
import os
import random
import sqlite3
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from backscroll_sidecar.domain import ChannelKey
from backscroll_sidecar.errors import StoreUnavailable
from backscroll_sidecar.ports import EraseChange
from backscroll_sidecar.store.sqlite import SqliteStore, files, migrate
from tests.contract.store.builders import NOON_MS, ROOM, append, edit, message, put, recall, rows


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "history.db"


def store_threads() -> list[str]:
    return [t.name for t in threading.enumerate() if t.name.startswith("backscroll-store")]


async def test_what_was_stored_is_there_after_a_restart(path: Path) -> None:
    """Law 2: and the log was copied back into the database."""
    store = await SqliteStore.open(path)
    await put(store, message("m1"), message("m2", embeddings=()))
    before = await rows(store)
    await store.close()
    assert not path.with_name(path.name + "-wal").exists()
    store = await SqliteStore.open(path)
    assert await rows(store) == before
    (result,) = await put(store, message("m3"))
    assert result.seq == 3
    await store.close()


async def test_two_servers_never_share_a_database(path: Path) -> None:
    """Two servers on one port both bind; here the second is told why it cannot start."""
    first = await SqliteStore.open(path)
    link = path.with_name("link.db")
    link.symlink_to(path)
    for name in (path, link):
        with pytest.raises(StoreUnavailable, match="in use by another server"):
            await SqliteStore.open(name)
    await put(first, message("m1"))
    await first.close()
    second = await SqliteStore.open(path)
    assert list(await rows(second)) == ["m1"]
    await second.close()


async def test_the_lock_of_a_dead_server_is_free(path: Path) -> None:
    """The lock belongs to the process, not to the file: kill -9 leaves nothing to clean up."""
    script = (
        "import asyncio, os, sys\n"
        "from backscroll_sidecar.store.sqlite import SqliteStore\n"
        "asyncio.run(SqliteStore.open(sys.argv[1]))\n"
        "print('open', flush=True)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, path], capture_output=True, check=False)
    assert done.stdout == b"open\n", done.stderr
    assert done.returncode == -9
    await (await SqliteStore.open(path)).close()


@pytest.mark.parametrize("content", [b"not a database, but long enough to look like one" * 100])
async def test_a_file_that_is_no_database_is_refused(path: Path, content: bytes) -> None:
    """A typed error, the file untouched, the lock free again, no thread left."""
    path.write_bytes(content)
    for _ in range(2):
        with pytest.raises(StoreUnavailable, match="no database"):
            await SqliteStore.open(path)
    assert path.read_bytes() == content
    assert store_threads() == []


async def test_a_database_of_another_program_is_refused(path: Path) -> None:
    """A path typed wrong must not turn somebody's file into ours."""
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE cookies (a)")
    other.close()
    before = path.read_bytes()
    with pytest.raises(StoreUnavailable, match="another program"):
        await SqliteStore.open(path)
    assert path.read_bytes() == before


async def test_a_folder_that_does_not_exist_is_named(tmp_path: Path) -> None:
    """What to check stands in the message."""
    with pytest.raises(StoreUnavailable, match="check that its folder exists"):
        await SqliteStore.open(tmp_path / "nowhere" / "history.db")


async def test_only_the_owner_can_read_a_new_database(path: Path) -> None:
    """Chats are private: database, log and lock are 0600 whatever the umask; rights given later stay."""
    umask = os.umask(0)
    try:
        store = await SqliteStore.open(path)
        await put(store, message("m1"))
        for suffix in ("", "-wal", "-shm", ".lock"):
            mode = path.with_name(path.name + suffix).stat().st_mode
            assert stat.S_IMODE(mode) == 0o600, suffix
        await store.close()
        path.chmod(0o640)
        await (await SqliteStore.open(path)).close()
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
    finally:
        os.umask(umask)


@pytest.mark.parametrize("durability", ["full", "normal"])
async def test_durability_is_what_was_chosen(path: Path, durability: str) -> None:
    """Read back from the connection that writes."""
    store = await SqliteStore.open(path, durability=durability)  # type: ignore[arg-type]
    await put(store, message("m1"))
    stats = await store.stats()
    assert (stats.journal_mode, stats.synchronous) == ("wal", durability)
    assert (stats.sqlite_version, stats.schema_version) == (
        sqlite3.sqlite_version,
        len(migrate.known()),
    )
    assert stats.file_bytes > 0
    assert stats.log_bytes > 0
    assert stats.row_counts == {
        "channels": 1, "messages": 1, "revisions": 0, "vectors": 0, "tombstones": 0,
        "members": 1, "events": 0, "turns": 0, "records": 0,
    }  # fmt: skip
    await store.close()


async def test_a_long_log_on_a_full_disk_can_be_read(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Law 5: what a crash left in the log needs room in the database; without it the server starts all the same."""

    def full(_: sqlite3.Connection) -> None:
        error = sqlite3.OperationalError("database or disk is full")
        error.sqlite_errorcode = sqlite3.SQLITE_FULL
        raise error

    store = await SqliteStore.open(path)
    await put(store, message("m1"))
    await store.close()
    monkeypatch.setattr(files, "checkpoint", full)
    store = await SqliteStore.open(path)
    assert list(await rows(store)) == ["m1"]
    await store.close()


async def test_full_is_the_default(path: Path) -> None:
    """Acknowledged means on the disk, unless somebody chose otherwise."""
    store = await SqliteStore.open(path)
    assert (await store.stats()).synchronous == "full"
    await store.close()


async def test_readers_cannot_write_nor_checkpoint(path: Path) -> None:
    """SQLite before 3.51.3 has the WAL-reset bug; only the writer's connection checkpoints."""
    store = await SqliteStore.open(path)
    with pytest.raises(StoreUnavailable):
        await store._reader.run(lambda c: c.execute("DELETE FROM messages"))
    pragmas = await store._reader.run(
        lambda c: [
            c.execute(f"PRAGMA {p}").fetchone()[0] for p in ("query_only", "wal_autocheckpoint")
        ]
    )
    assert pragmas == [1, 0]
    await store.close()


async def test_a_writer_that_is_cancelled_leaves_a_whole_group(path: Path) -> None:
    """The thread that began a transaction ends it, whatever becomes of the task that waits."""
    store = await SqliteStore.open(path)
    for number in range(30):
        group = [append(*(message(f"{number}-{i}") for i in range(20)))]
        task = asyncio.create_task(store.apply(group))
        await asyncio.sleep(number / 10_000)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    (result,) = await put(store, message("last"))
    stored = await rows(store)
    assert result.seq == len(stored)
    counts = [sum(id_.startswith(f"{number}-") for id_ in stored) for number in range(30)]
    assert set(counts) <= {0, 20}
    assert 20 in counts
    await store.close()


async def test_reads_do_not_wait_for_writes(path: Path) -> None:
    """A reader sees the last commit while a transaction is under way."""
    store = await SqliteStore.open(path)
    await put(store, message("m1"))
    inside, go_on = threading.Event(), threading.Event()

    def hold(connection: sqlite3.Connection) -> None:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("DELETE FROM messages")
        inside.set()
        go_on.wait(60)
        connection.execute("ROLLBACK")

    held = asyncio.create_task(store._writer.run(hold))
    await asyncio.to_thread(inside.wait, 5)
    assert list(await rows(store)) == ["m1"]
    go_on.set()
    await held
    await store.close()


async def test_closing_finishes_what_is_queued_and_ends_both_threads(path: Path) -> None:
    """No thread left, however often and from wherever it is closed."""
    store = await SqliteStore.open(path)
    assert len(store_threads()) == 2
    queued = [asyncio.create_task(put(store, message(f"m{i}"))) for i in range(5)]
    await asyncio.sleep(0)
    await asyncio.gather(store.close(), store.close())
    assert [r.outcome.value for results in await asyncio.gather(*queued) for r in results] == [
        "stored"
    ] * 5
    assert store_threads() == []


@pytest.mark.parametrize("kept", ["", "store = "])
def test_a_store_never_closed_does_not_keep_the_process_alive(path: Path, kept: str) -> None:
    """aiosqlite's thread does, for ever, where it is no daemon; whether or not somebody holds the store."""
    script = (
        "import asyncio, sys\n"
        "from backscroll_sidecar.store.sqlite import SqliteStore\n"
        f"{kept}asyncio.run(SqliteStore.open(sys.argv[1]))\n"
    )
    subprocess.run([sys.executable, "-c", script, path], timeout=300, check=True)


async def churn(store: SqliteStore, luck: random.Random) -> None:
    """Texts of all sizes come and go, so that pages are split and joined while they hold what will be erased."""
    rooms = [ChannelKey("default", f"room {i}") for i in range(5)]
    secrets: list[str] = []
    for _ in range(30):
        sent = []
        for _ in range(luck.randrange(1, 80)):
            word = "secret " if luck.random() < 0.4 else "keepthis "
            words = luck.randrange(1, luck.choice([3, 60, 900]))
            sent.append(message(f"m{luck.random()}", word * words, at=luck.randrange(1_000)))
            if word == "secret ":
                secrets.append(sent[-1].id)
        await put(store, *sent, key=luck.choice(rooms))
        some = luck.sample(secrets, min(40, len(secrets)))
        await store.apply([recall(id_, key=room) for id_ in some[:20] for room in rooms])
        erased = tuple(some[20:]) or ("nobody",)
        await store.apply([EraseChange(room, erased, "", NOON_MS) for room in rooms])
    await store.apply([EraseChange(room, tuple(secrets), "", NOON_MS) for room in rooms])


async def test_wiping_leaves_no_byte_of_what_is_gone(path: Path) -> None:
    """N-10: erased and recalled text, its revisions, keys and mentions, in no file beside the lock.

    SQLite's secure_delete alone is not enough: pages that were split keep copies.
    """
    store = await SqliteStore.open(path, durability="normal")
    await churn(store, random.Random(5))
    await put(store, message("e1", "secretone", dedupe_key="secretkey"))
    await put(store, message("r1", "secrettwo"))
    await store.apply([edit("e1", "secretthree"), edit("r1", "secretfour")])
    await store.apply([EraseChange(ROOM, ("e1",), "", NOON_MS), recall("r1")])
    await store.apply([append(message("r2", "secretfive")), edit("r2", "secretsix"), recall("r2")])
    await store.wipe()
    content = b"".join(file.read_bytes() for file in path.parent.iterdir())
    assert b"secret" not in content
    assert b"keepthis" in content
    assert list(await rows(store)) == ["r1", "r2"]
    await store.close()
