"""What was erased or recalled is soon in no file (N-10)."""

import asyncio
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest

from backscroll_sidecar.config.settings import Settings
from backscroll_sidecar.domain import Author, ChannelKey, Message, TextPart
from backscroll_sidecar.errors import StoreUnavailable
from backscroll_sidecar.history import secure_delete
from backscroll_sidecar.history.secure_delete import SecureDelete
from backscroll_sidecar.ports import Applied, EraseChange, EraseReceipt
from backscroll_sidecar.store.sqlite import SqliteStore, files, wiping
from backscroll_sidecar.wiring import open_app
from tests.kit.chats import NOON_MS

KEY = ChannelKey("default", "room")
SECRET = Message("m1", "room", Author("u1", "Ann"), (TextPart("secretword"),), NOON_MS)
HELLO = Message("m2", "room", Author("u2", "Ben"), (TextPart("keepthis"),), NOON_MS + 1)
ERASED = Applied(erased_ids=("m1",), receipt=EraseReceipt({"messages": 1}))


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secure_delete, "QUIET_S", 0.01)
    monkeypatch.setattr(secure_delete, "RETRY_S", 0.01)


@asynccontextmanager
async def opened(path: Path):
    async with open_app(Settings(database=path / "b.db", embedder="none")) as app:
        yield app


def has(path: Path, word: bytes) -> bool:
    return any(word in file.read_bytes() for file in path.iterdir() if file.exists())


def is_wiped(path: Path) -> bool:
    with closing(sqlite3.connect(path)) as connection:
        return wiping.is_wiped(connection)


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not is_so():  # noqa: ASYNC110 - nothing tells
            await asyncio.sleep(0.01)


async def test_an_erased_text_is_soon_in_no_file(tmp_path: Path) -> None:
    """N-10: while the server runs, without anybody asking for it; what was not erased stays."""
    async with opened(tmp_path) as app:
        await app.history.append(KEY, [SECRET, HELLO])
        assert has(tmp_path, b"secretword")
        await app.history.erase(KEY, user_id="u1")
        await until(lambda: not has(tmp_path, b"secretword") and is_wiped(tmp_path / "b.db"))
        assert has(tmp_path, b"keepthis")


async def test_recalled_texts_leave_pages_that_were_split(tmp_path: Path) -> None:
    """N-10: a row that grows or goes moves others; what stands where they stood goes, too."""
    texts = [f"number {n} " + "secretword " * (n % 40) for n in range(600)]
    async with opened(tmp_path) as app:
        many = [
            Message(f"m{n}", "room", Author(f"u{n % 9}"), (TextPart(text),), NOON_MS + n)
            for n, text in enumerate(texts)
        ]
        await app.history.append(KEY, many[:500])
        await app.history.append(KEY, many[500:])
        secret = [n for n, text in enumerate(texts) if "secretword" in text]
        edits = [
            app.history.edit(KEY, f"m{n}", (TextPart("x" * (n % 700)),)) for n in secret if n % 3
        ]
        await asyncio.gather(*edits, *(app.history.retract(KEY, f"m{n}") for n in secret))
        await until(lambda: is_wiped(tmp_path / "b.db") and not has(tmp_path, b"secretword"))


async def test_an_erasure_of_nobody_wipes_nothing(tmp_path: Path) -> None:
    """Writes wait for it: whoever names people nobody knows cannot have that."""
    store = await SqliteStore.open(tmp_path / "b.db")
    await store.apply([EraseChange(KEY, (), "nobody", NOON_MS)])
    await store.close()
    assert is_wiped(tmp_path / "b.db")


async def with_erased_row(path: Path) -> SqliteStore:
    """A store in which something was erased, as a crash leaves it."""
    async with opened(path) as app:
        await app.history.append(KEY, [SECRET, HELLO])
    store = await SqliteStore.open(path / "b.db")
    await store.apply([EraseChange(KEY, ("m1",), "", NOON_MS)])
    return store


async def test_what_a_crash_left_is_done_after_the_start(tmp_path: Path) -> None:
    """N-10: a database that was copied right behind the commit, its log with it, says what is left to do."""
    store = await with_erased_row(tmp_path)
    crashed = tmp_path / "crashed"
    crashed.mkdir()
    for name in ("b.db", "b.db-wal"):
        shutil.copy(tmp_path / name, crashed / name)
    await store.close()
    assert not is_wiped(crashed / "b.db")
    async with opened(crashed):
        await until(lambda: is_wiped(crashed / "b.db") and not has(crashed, b"secretword"))


async def test_a_log_that_is_read_is_emptied_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """N-10: who reads it keeps what is in it; meanwhile it does not grow by the database, try after try."""
    monkeypatch.setattr(files, "_BUSY_TIMEOUT_MS", 20)
    store, path = await with_erased_row(tmp_path), tmp_path / "b.db"
    try:
        with closing(sqlite3.connect(path)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM messages").fetchall()
            await store.apply([EraseChange(KEY, ("m2",), "", NOON_MS)])
            before = (tmp_path / "b.db-wal").stat().st_size
            for work in (store.empty_log, store.wipe, store.wipe):
                with pytest.raises(StoreUnavailable):
                    await work()
            assert (tmp_path / "b.db-wal").stat().st_size == before
            assert not is_wiped(path)
        await store.wipe()
        assert is_wiped(path)
        assert not has(tmp_path, b"secretword")
    finally:
        await store.close()


class BrokenFiles:
    """Files that cannot be cleaned."""

    def __init__(self) -> None:
        self.tried = self.interrupted = 0
        self.ends = asyncio.Event()
        self.ends.set()

    async def empty_log(self) -> None:
        pass

    async def wipe(self) -> None:
        self.tried += 1
        await self.ends.wait()
        raise StoreUnavailable("the disk is full")

    def interrupt(self) -> None:
        self.interrupted += 1
        self.ends.set()


async def test_files_that_cannot_be_cleaned_cost_nothing_else() -> None:
    """Law 5: it is tried again, ever more seldom; closing it does not fail."""
    broken = BrokenFiles()
    cleaner = SecureDelete(broken)
    await cleaner.start()
    await until(lambda: broken.tried > 2)
    await cleaner.close()
    await cleaner.close()
    assert not broken.interrupted


async def test_closing_waits_for_some_seconds_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secure_delete, "CLOSE_S", 0.02)
    broken = BrokenFiles()
    cleaner = SecureDelete(broken)
    await cleaner.start()
    broken.ends.clear()
    await until(lambda: broken.tried > 0)
    await cleaner.close()
    assert broken.interrupted


async def test_who_always_deletes_does_not_keep_it_from_being_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(secure_delete, "QUIET_S", 0.2)
    monkeypatch.setattr(secure_delete, "LONGEST_S", 0.3)
    broken = BrokenFiles()
    cleaner = SecureDelete(broken)
    await cleaner.start()
    async with asyncio.timeout(60):
        while not broken.tried:
            cleaner.publish(KEY, ERASED)
            await asyncio.sleep(0.01)
    await cleaner.close()
