"""What was erased or recalled is soon in no file (N-10)."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest

from backscroll_sidecar.domain import Author, ChannelKey, Message, TextPart
from backscroll_sidecar.errors import StoreUnavailable
from backscroll_sidecar.history import scrubbing
from backscroll_sidecar.history.scrubbing import Scrubber
from backscroll_sidecar.ports import Applied, EraseChange, EraseReceipt
from backscroll_sidecar.settings import Settings
from backscroll_sidecar.store.sqlite import SqliteStore, files
from backscroll_sidecar.wiring import open_app
from tests.kit.chats import NOON_MS

KEY = ChannelKey("default", "room")
SECRET = Message("m1", "room", Author("u1", "Ann"), (TextPart("secretword"),), NOON_MS)
HELLO = Message("m2", "room", Author("u2", "Ben"), (TextPart("keepthis"),), NOON_MS + 1)


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scrubbing, "QUIET_S", 0.01)


@asynccontextmanager
async def opened(path: Path):
    async with open_app(Settings(database=path / "b.db", embedder="none")) as app:
        yield app


def has(path: Path, word: bytes) -> bool:
    return any(word in file.read_bytes() for file in path.iterdir() if file.exists())


async def until_gone(path: Path, word: bytes) -> None:
    async with asyncio.timeout(60):
        while has(path, word):  # noqa: ASYNC110 - nothing tells
            await asyncio.sleep(0.01)


async def test_an_erased_text_is_soon_in_no_file(tmp_path: Path) -> None:
    """N-10: while the server runs, without anybody asking for it; what was not erased stays."""
    async with opened(tmp_path) as app:
        await app.history.append(KEY, [SECRET, HELLO])
        assert has(tmp_path, b"secretword")
        await app.history.erase(KEY, user_id="u1")
        await until_gone(tmp_path, b"secretword")
        assert has(tmp_path, b"keepthis")
        async with asyncio.timeout(60):
            while app.store.needs_scrub:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
    assert not (tmp_path / "b.db-erased").exists()


async def test_a_recalled_text_leaves_the_log(tmp_path: Path) -> None:
    """N-10: its text is deleted, also where it waited to be written into the database."""
    async with opened(tmp_path) as app:
        await app.history.append(KEY, [SECRET, HELLO])
        await app.history.recall(KEY, "m1")
        await until_gone(tmp_path, b"secretword")
        assert not app.store.needs_scrub


async def test_what_a_crash_left_is_done_after_the_start(tmp_path: Path) -> None:
    """N-10: the mark beside the database outlives the process."""
    store = await SqliteStore.open(tmp_path / "b.db")
    await store.apply([EraseChange(KEY, ("m1",), "", NOON_MS)])
    assert store.needs_scrub
    await store.close()
    async with opened(tmp_path) as app:
        async with asyncio.timeout(60):
            while app.store.needs_scrub:  # noqa: ASYNC110
                await asyncio.sleep(0.01)


class BrokenFiles:
    """Files that cannot be cleaned."""

    needs_scrub = True

    def __init__(self) -> None:
        self.tried = 0

    async def empty_log(self) -> None:
        raise AssertionError("there is more to do")

    async def scrub(self) -> None:
        self.tried += 1
        raise StoreUnavailable("the disk is full")


async def test_files_that_cannot_be_cleaned_cost_nothing_else() -> None:
    """Law 5: it is tried again, at the end at the latest; closing it does not fail."""
    broken = BrokenFiles()
    scrubber = Scrubber(broken)
    await scrubber.start()
    async with asyncio.timeout(60):
        while not broken.tried:  # noqa: ASYNC110
            await asyncio.sleep(0.005)
    await scrubber.close()
    await scrubber.close()
    assert broken.tried == 2


async def test_a_log_that_is_read_is_emptied_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """N-10: a reader that held on to it may hide what is still there; the mark stays until nothing is."""
    monkeypatch.setattr(files, "_BUSY_TIMEOUT_MS", 20)
    path = tmp_path / "b.db"
    store = await SqliteStore.open(path)
    try:
        await store.apply([EraseChange(KEY, ("m1",), "", NOON_MS)])
        with closing(sqlite3.connect(path)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM messages").fetchall()
            await store.apply([EraseChange(KEY, ("m2",), "", NOON_MS)])
            with pytest.raises(StoreUnavailable):
                await store.scrub()
            assert store.needs_scrub
        await store.scrub()
        assert not store.needs_scrub
    finally:
        await store.close()


async def test_who_always_deletes_does_not_keep_it_from_being_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(scrubbing, "QUIET_S", 0.2)
    monkeypatch.setattr(scrubbing, "LONGEST_S", 0.3)
    broken = BrokenFiles()
    broken.needs_scrub = False
    scrubber = Scrubber(broken)
    await scrubber.start()
    broken.needs_scrub = True
    async with asyncio.timeout(60):
        while not broken.tried:
            scrubber.publish(KEY, Applied(erased_ids=("m1",), receipt=EraseReceipt({})))
            await asyncio.sleep(0.01)
    await scrubber.close()
