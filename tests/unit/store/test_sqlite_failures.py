"""Disks that are full, read-only or broken: appends are refused, reads go on, nothing is half there (law 5)."""

# ruff: noqa: ASYNC221 -- nothing else runs on these loops

import contextlib
import os
import resource
import shutil
import sqlite3
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from backscroll_sidecar.domain import Author
from backscroll_sidecar.errors import StoreReadOnly, StoreUnavailable
from backscroll_sidecar.ports import EraseChange
from backscroll_sidecar.store.sqlite import SqliteStore
from backscroll_sidecar.store.sqlite.failures import is_connection_usable_after, typed
from tests.contract.store.builders import NOON_MS, ROOM, append, message, put, rows

BIG = "x" * 60_000


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    opened = await SqliteStore.open(tmp_path / "history.db")
    await put(opened, message("m1"))
    yield opened
    await opened.close()


async def set_pragma(store: SqliteStore, pragma: str) -> None:
    await store._writer.run(lambda c: c.execute(f"PRAGMA {pragma}").fetchall())


async def test_a_full_disk_refuses_the_whole_group_and_reads_go_on(store: SqliteStore) -> None:
    """The group is rolled back, seq is not used up, and the same connection goes on when there is space."""
    await set_pragma(store, "max_page_count = 40")
    group = [append(message("small")), append(*(message(f"big{i}", BIG) for i in range(20)))]
    for _ in range(3):
        with pytest.raises(StoreReadOnly, match="disk is full") as caught:
            await store.apply(group)
        assert caught.value.metadata == {"sqlite_error": "SQLITE_FULL"}
        assert list(await rows(store)) == ["m1"]
    await set_pragma(store, "max_page_count = 1000000")
    _, second = await store.apply(group)
    assert [r.seq for r in second.append_results] == list(range(3, 23))


async def test_people_of_a_group_that_was_rolled_back_are_not_known(store: SqliteStore) -> None:
    """What the store keeps in mind of its last groups is what they left behind, not what they tried."""
    new = message("new", author=Author("u-new", "Nadia"))
    no_text = EraseChange(ROOM, ("\ud800",), "", NOON_MS)
    with pytest.raises(TypeError, match="surrogates"):
        await store.apply([append(new), no_text])
    (applied,) = await store.apply([append(new)])
    assert [(one.user_id, one.name) for one in applied.members] == [("u-new", "Nadia")]
    assert [one.user_id for one in await store.members(ROOM)] == ["u-alice", "u-new"]


async def test_people_who_were_erased_are_not_known(store: SqliteStore) -> None:
    """Nor is their name, which goes with them (N-10)."""
    await store.apply([EraseChange(ROOM, (), "u-alice", NOON_MS)])
    (applied,) = await store.apply([append(message("m2"))])
    assert [one.name for one in applied.members] == ["Alice"]
    assert applied.append_results[0].seq == 2


async def test_nothing_is_acknowledged_in_a_file_that_is_gone(
    store: SqliteStore, tmp_path: Path
) -> None:
    """SQLite would go on in a file without a name. Put back, it goes on; another file in its place is refused."""
    file, elsewhere = tmp_path / "history.db", tmp_path / "elsewhere.db"
    file.rename(elsewhere)
    for _ in range(2):
        with pytest.raises(StoreUnavailable, match="deleted, moved or replaced"):
            await put(store, message("m2"))
        assert list(await rows(store)) == ["m1"]
        file.write_bytes(elsewhere.read_bytes())
    elsewhere.replace(file)
    (result,) = await put(store, message("m2"))
    assert result.seq == 2


async def test_a_read_only_connection_is_replaced(store: SqliteStore) -> None:
    """Refused once; the next group gets a new connection."""
    await set_pragma(store, "query_only = ON")
    with pytest.raises(StoreReadOnly, match="read-only"):
        await put(store, message("m2"))
    assert list(await rows(store)) == ["m1"]
    await put(store, message("m2"))
    assert list(await rows(store)) == ["m1", "m2"]


async def test_a_disk_that_takes_no_more_writes(store: SqliteStore) -> None:
    """The kernel refuses a write in the middle of a commit; afterwards the store goes on by itself."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (64 * 1024, hard))
        with pytest.raises(StoreReadOnly, match="takes no more writes"):
            await store.apply([append(*(message(f"big{i}", BIG) for i in range(20)))])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert list(await rows(store)) == ["m1"]
    (result,) = await put(store, message("m2"))
    assert result.seq == 2


@pytest.mark.skipif(os.geteuid() != 0, reason="needs to mount a file system")
@pytest.mark.skipif(not shutil.which("mount"), reason="needs mount")
async def test_a_really_full_disk(tmp_path: Path) -> None:
    """A file system of 2 MiB: refused when full, goes on when somebody makes room."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", disk], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("must not mount here")
    try:
        (disk / "ballast").write_bytes(bytes(1_000_000))
        store = await SqliteStore.open(disk / "history.db")
        number = 0
        with contextlib.suppress(StoreReadOnly):
            while number < 100:
                await put(store, message(f"m{number}", BIG))
                number += 1
        assert 0 < number < 100
        assert len(await rows(store)) == number
        with pytest.raises(StoreReadOnly):
            await put(store, message(f"m{number}", BIG))
        (disk / "ballast").unlink()
        (result,) = await put(store, message(f"m{number}", BIG))
        assert result.seq == number + 1
        await store.close()
        store = await SqliteStore.open(disk / "history.db")
        assert len(await rows(store)) == number + 1
        await store.close()
    finally:
        subprocess.run(["umount", disk], check=True)


@contextlib.contextmanager
def made_read_only(path: Path) -> Iterator[None]:
    """For root, whom no mode stops, the file is made immutable."""
    if os.geteuid() != 0:
        path.chmod(0o444)
        yield
        path.chmod(0o600)
        return
    if subprocess.run(["chattr", "+i", path], capture_output=True, check=False).returncode:
        pytest.skip("this file system knows no immutable files")
    yield
    subprocess.run(["chattr", "-i", path], check=True)


@pytest.mark.skipif(os.geteuid() == 0 and not shutil.which("chattr"), reason="needs chattr")
async def test_a_read_only_file_can_be_read(tmp_path: Path) -> None:
    """Started on a file it must not write: appends are refused, reads answer; later it goes on."""
    path = tmp_path / "history.db"
    store = await SqliteStore.open(path)
    await put(store, message("m1"))
    await store.close()
    with made_read_only(path):
        store = await SqliteStore.open(path)
        for _ in range(2):
            with pytest.raises(StoreReadOnly, match="read-only"):
                await put(store, message("m2"))
            assert list(await rows(store)) == ["m1"]
    await put(store, message("m2"))
    await store.close()


async def test_a_mistake_of_ours_leaves_nothing_and_is_not_hidden(store: SqliteStore) -> None:
    """A text SQLite cannot take fails the group, and the next group finds the connection as it should be."""
    with pytest.raises(UnicodeEncodeError):
        await store.apply(
            [append(message("m2")), append(message("m3", author=Author("u", "\ud800")))]
        )
    assert list(await rows(store)) == ["m1"]
    (result,) = await put(store, message("m2"))
    assert result.seq == 2


async def read_all(path: Path) -> None:
    store = await SqliteStore.open(path)
    try:
        await rows(store)
    finally:
        await store.close()


async def test_a_damaged_file_is_unavailable_not_a_crash(tmp_path: Path) -> None:
    """Reads of a file overwritten by nonsense are refused with a reason."""
    path = tmp_path / "history.db"
    store = await SqliteStore.open(path)
    await put(store, *(message(f"m{i}", "text " * 200) for i in range(300)))
    await store.close()
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    path.write_bytes(content)
    with pytest.raises(StoreUnavailable, match="damaged"):
        await read_all(path)


@pytest.mark.parametrize(
    ("name", "kind", "stays"),
    [
        ("SQLITE_FULL", StoreReadOnly, True),
        ("SQLITE_READONLY_DBMOVED", StoreReadOnly, False),
        ("SQLITE_IOERR_WRITE", StoreReadOnly, False),
        ("SQLITE_IOERR_FSYNC", StoreReadOnly, False),
        ("SQLITE_IOERR_READ", StoreUnavailable, False),
        ("SQLITE_BUSY", StoreUnavailable, True),
        ("SQLITE_CANTOPEN", StoreUnavailable, False),
        ("SQLITE_CORRUPT", StoreUnavailable, False),
        ("SQLITE_NOTADB", StoreUnavailable, False),
        ("SQLITE_ERROR", StoreUnavailable, False),
    ],
)
def test_no_text_of_the_driver_gets_out(name: str, kind: type, stays: bool) -> None:
    """EXAMPLES 6: a short reason of ours, the code's name as metadata."""
    error = sqlite3.OperationalError("secret path /home/x and table messages")
    error.sqlite_errorcode, error.sqlite_errorname = getattr(sqlite3, name), name
    answer = typed(error)
    assert type(answer) is kind
    assert "secret" not in str(answer)
    assert answer.metadata == {"sqlite_error": name}  # type: ignore[attr-defined]
    assert is_connection_usable_after(error) is stays


def test_our_own_mistakes_keep_their_face() -> None:
    """A broken constraint is a bug, not a disk."""
    error = sqlite3.IntegrityError("UNIQUE")
    assert typed(error) is error
