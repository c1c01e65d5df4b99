"""The connection that reads: what becomes of a page, of its caller, and of the connection."""

import asyncio
import os
import sqlite3
import sys
import threading
import weakref
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path

import pytest

from backscroll_sidecar.concurrency.background import SWITCH_S
from backscroll_sidecar.concurrency.threads import CORES, keep_on_core
from backscroll_sidecar.errors import StoreUnavailable
from backscroll_sidecar.ports import ListQuery
from backscroll_sidecar.store.sqlite import SqliteStore
from backscroll_sidecar.store.sqlite.reading import THREAD, PagingConnection, ReadingConnection
from tests.contract.store.builders import ROOM, append, everything, message, put, rows


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    opened = await SqliteStore.open(tmp_path / "history.db")
    await put(opened, *(message(f"m{i}") for i in range(50)))
    yield opened
    await opened.close()


class Hold:
    """Stops the reading thread inside whatever statement it runs, until it is let go."""

    def __init__(self) -> None:
        self.inside, self.go_on = threading.Event(), threading.Event()

    async def take(self, store: SqliteStore) -> None:
        await store._reader.run(lambda c: c.set_progress_handler(self._wait, 1))

    def _wait(self) -> None:
        self.inside.set()
        assert self.go_on.wait(60)

    async def entered(self) -> None:
        assert await asyncio.to_thread(self.inside.wait, 60)


@pytest.mark.parametrize(
    "read",
    [
        lambda store: store.load_channel(ROOM),
        lambda store: store.list_messages(ROOM, ListQuery(limit=20)),
        lambda store: store.channel_infos("default", "", 9),
        lambda store: anext(store.export(ROOM)),
    ],
    ids=["load", "page", "channels", "export"],
)
async def test_a_read_left_in_the_middle_of_a_statement_ends_by_itself(
    store: SqliteStore, read: Callable[[SqliteStore], object]
) -> None:
    """No snapshot stays: the log could not be emptied under one. What waited behind it is right."""
    hold = Hold()
    await hold.take(store)
    left = asyncio.ensure_future(read(store))  # type: ignore[arg-type]
    await hold.entered()
    behind = asyncio.create_task(rows(store))
    left.cancel()
    with pytest.raises(asyncio.CancelledError):
        await left
    assert not behind.done()
    await put(store, message("new"))
    hold.go_on.set()
    assert [*await behind] == [*(f"m{i}" for i in range(50)), "new"]
    await store.empty_log()
    assert not await store._reader.run(lambda c: c.in_transaction)


async def test_reads_that_are_left_in_line_are_not_done(store: SqliteStore) -> None:
    hold, done = Hold(), []
    await hold.take(store)
    first = asyncio.create_task(rows(store))
    await hold.entered()
    line = [asyncio.create_task(store._reader.run(lambda _, i=i: done.append(i))) for i in range(9)]
    await asyncio.sleep(0)
    for waiting in line[1:]:
        waiting.cancel()
    await asyncio.gather(*line[1:], return_exceptions=True)
    hold.go_on.set()
    await line[0]
    assert len(await first) == 50
    assert await store._reader.run(lambda _: done) == [0]


async def test_a_connection_that_may_be_harmed_is_replaced(store: SqliteStore) -> None:
    """After a failure, and after a transaction that nobody ended; also where nobody waits for either."""
    seen: list[sqlite3.Connection] = []

    def fail(connection: sqlite3.Connection) -> None:
        seen.append(connection)
        error = sqlite3.OperationalError("secret path")
        error.sqlite_errorcode, error.sqlite_errorname = sqlite3.SQLITE_IOERR, "SQLITE_IOERR"
        raise error

    def leave_open(connection: sqlite3.Connection) -> None:
        seen.append(connection)
        connection.execute("BEGIN")

    with pytest.raises(StoreUnavailable, match="cannot be read"):
        await store._reader.run(fail)
    assert len(await rows(store)) == 50
    for work in (leave_open, fail):
        alone = asyncio.create_task(store._reader.run(work))
        while len(seen) < 2 + (work is fail):  # noqa: ASYNC110 - it says so in another thread
            await asyncio.sleep(0)
        alone.cancel()
        with suppress(asyncio.CancelledError, StoreUnavailable):
            await alone
        assert len(await rows(store)) == 50
    await store._reader.run(seen.append)
    assert len({id(one) for one in seen}) == len(seen) == 4
    await store.empty_log()
    assert [t.name for t in threading.enumerate()].count(THREAD) == 1


async def test_several_who_find_it_harmed_get_one_new_connection(store: SqliteStore) -> None:
    await store._reader.run(lambda c: setattr(c, "is_harmed", True))
    found = await asyncio.gather(*(store._reader.run(id) for _ in range(20)))
    assert len(set(found)) == 1


async def test_a_mistake_of_ours_arrives_as_it_is_and_harms_nothing(store: SqliteStore) -> None:
    before = await store._reader.run(id)
    for wrong in ("SELECT ?", "SELECT ?, ?"):
        with pytest.raises(sqlite3.ProgrammingError):
            await store._reader.run(lambda c, sql=wrong: c.execute(sql))
    with pytest.raises(ZeroDivisionError):
        await store._reader.run(lambda _: 1 / 0)
    assert await store._reader.run(id) == before


async def test_a_database_that_cannot_be_opened_is_tried_again(tmp_path: Path) -> None:
    """Each try leaves no thread behind, which might answer a loop that is closed by then."""
    reader, before = ReadingConnection(tmp_path / "later" / "history.db"), threading.active_count()
    for _ in range(2):
        with pytest.raises(StoreUnavailable, match="cannot be opened"):
            await reader.run(lambda _: None)
        assert threading.active_count() == before
    (tmp_path / "later").mkdir()
    assert await reader.run(lambda c: c.execute("SELECT 1").fetchone()) == (1,)
    await reader.close()
    with pytest.raises(StoreUnavailable, match="closed"):
        await reader.run(lambda _: None)
    unused = ReadingConnection(tmp_path / "history.db")
    await unused.close()
    with pytest.raises(StoreUnavailable, match="closed"):
        await unused.run(lambda _: None)


async def test_who_leaves_while_it_opens_takes_it_from_nobody(tmp_path: Path) -> None:
    reader = ReadingConnection(tmp_path / "history.db")
    left, stays = (asyncio.create_task(reader.run(lambda _, i=i: i)) for i in range(2))
    await asyncio.sleep(0)
    left.cancel()
    assert await stays == 1
    assert left.cancelled()
    await reader.close()


async def test_closing_answers_what_is_in_line(tmp_path: Path) -> None:
    reader = ReadingConnection(tmp_path / "history.db")
    await reader.run(lambda _: None)
    line = [asyncio.create_task(reader.run(lambda _, i=i: i)) for i in range(5)]
    await asyncio.sleep(0)
    await reader.close()
    assert await asyncio.gather(*line) == [0, 1, 2, 3, 4]


async def test_nothing_holds_an_answer_but_who_asked(store: SqliteStore) -> None:
    """A loaded channel is megabytes, and the next read may come tomorrow."""

    class Answer:
        pass

    def answer(_: sqlite3.Connection) -> Answer:
        return Answer()

    found = await store._reader.run(answer)
    kept = weakref.ref(found)
    del found
    assert kept() is None


async def test_a_page_gives_the_interpreter_up_soon(store: SqliteStore) -> None:
    """Law 9."""
    usual_s = sys.getswitchinterval()
    assert await store._reader.run(lambda _: sys.getswitchinterval()) <= SWITCH_S < usual_s
    assert sys.getswitchinterval() == usual_s


@pytest.mark.skipif(len(CORES) < 2, reason="there is no core to choose")
async def test_its_thread_runs_on_any_core(tmp_path: Path) -> None:
    keep_on_core(max(CORES))
    try:
        reader = ReadingConnection(tmp_path / "history.db")
        assert await reader.run(lambda _: os.sched_getaffinity(0)) == CORES
        await reader.close()
    finally:
        os.sched_setaffinity(0, CORES)


async def test_it_is_a_connection_of_sqlite_all_the_same(store: SqliteStore) -> None:
    """What is not a page is a statement, and none writes."""
    opened = await store._reader._connected()
    assert [*await opened.execute_fetchall("SELECT ?", (7,))] == [(7,)]
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        await opened.execute("DELETE FROM messages")
    assert await store._reader.run(type) is PagingConnection


async def test_reads_and_writes_side_by_side(store: SqliteStore) -> None:
    """A read sees whole commits, whatever is left meanwhile."""
    for number in range(20):
        group = [append(*(message(f"{number}-{i}") for i in range(10)))]
        writing = asyncio.create_task(store.apply(group))
        left = asyncio.create_task(everything(store, [ROOM], ["m1"]))
        found = [*await rows(store)]
        left.cancel()
        assert (len(found) - 50) % 10 == 0
        await writing
        await asyncio.gather(left, return_exceptions=True)
    assert len(await rows(store)) == 250
