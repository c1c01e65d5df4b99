"""What follows from messages: forgotten once it is done, begun again where a server is gone."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from backscroll_sidecar.concurrency.jobs import Jobs
from backscroll_sidecar.concurrency.locks import Locks
from backscroll_sidecar.domain import ChannelKey
from backscroll_sidecar.errors import StoreUnavailable
from backscroll_sidecar.history import unfinished as module
from backscroll_sidecar.history.unfinished import Unfinished
from backscroll_sidecar.ports import Left
from tests.unit.concurrency.test_locks import FakeLeases

ROOM = ChannelKey("t", "room")
HERE = ("", '["server","here"]')
"""The lease of this server."""


class Store:
    """What is left by holder, and the messages of one channel: number n has the id `m<n>`, but for those erased."""

    def __init__(self, left: Mapping[str, list[int]]) -> None:
        self.holder = "here"
        self.left = defaultdict(list, left)
        self.erased: set[int] = set()
        self.is_down = False

    async def end_work(self, tenant: str, done: Mapping[str, Iterable[int]]) -> None:
        if self.is_down:
            raise StoreUnavailable("down")
        assert tenant == ROOM.tenant
        for seq in done[ROOM.channel]:
            self.left["here"].remove(seq)

    async def others_at_work(self) -> Mapping[str, Sequence[str]]:
        return {one: ["t"] for one, seqs in self.left.items() if one != "here" and seqs}

    async def take_over(self, tenant: str, holder: str) -> Sequence[Left]:
        assert tenant == ROOM.tenant
        seqs = self.left.pop(holder)
        self.left["here"] += seqs
        return [Left(ROOM, seq, seq) for seq in seqs]

    async def ids_by_seq(self, _key: ChannelKey, seqs: Sequence[int]) -> Mapping[int, str]:
        if self.is_down:
            raise StoreUnavailable("down")
        return {seq: f"m{seq}" for seq in seqs if seq not in self.erased}

    async def get_messages(self, _key: ChannelKey, ids: Sequence[str]) -> Mapping[str, Any]:
        return {one: row(int(one[1:])) for one in ids}

    def come(self, *seqs: int) -> Any:
        """As the writer publishes it."""
        self.left["here"] += seqs
        return SimpleNamespace(stored=[row(seq) for seq in seqs])


def row(seq: int) -> Any:
    return SimpleNamespace(seq=seq, message=SimpleNamespace(id=f"m{seq}"))


class Worker:
    def __init__(self) -> None:
        self.behind: set[int] = set()
        self.begun: list[int] = []

    def take_over(self, _key: ChannelKey, rows: Sequence[Any]) -> None:
        self.begun += [one.seq for one in rows]
        self.behind.update(self.begun)

    def is_behind(self, _key: ChannelKey, seq: int, message_id: str) -> bool:
        assert message_id in (f"m{seq}", "")
        return seq in self.behind


class Server:
    def __init__(self, left: Mapping[str, list[int]], held: dict[tuple[str, str], str]) -> None:
        self.store, self.worker = Store(left), Worker()
        self.locks = Locks(FakeLeases(held, "here"))
        self.unfinished = Unfinished(self.store, self.store, Jobs(self.locks))  # type: ignore[arg-type]
        self.unfinished.follow(self.worker)


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ENDED_S", 0.001)


@pytest.fixture
def held() -> dict[tuple[str, str], str]:
    return {}


@pytest.fixture
async def server(held: dict[tuple[str, str], str]) -> AsyncIterator[Server]:
    made = Server({"dead": [4, 5, 9], "alive": [7]}, held)
    held["", '["server","alive"]'] = "another"
    yield made
    await made.unfinished.close()
    await made.locks.close()


async def until(is_so: Callable[[], object]) -> None:
    async with asyncio.timeout(10):
        while not is_so():  # noqa: ASYNC110 - nothing else tells
            await asyncio.sleep(0.001)


async def test_what_is_done_is_forgotten_and_no_more(server: Server) -> None:
    server.store.left.clear()
    server.worker.behind = {2}
    server.unfinished.publish(ROOM, server.store.come(1, 2, 3))
    await server.unfinished.start()
    await until(lambda: server.store.left["here"] == [2])
    await asyncio.sleep(0.02)
    assert server.store.left["here"] == [2]
    server.worker.behind.clear()
    await until(lambda: not server.store.left["here"])
    assert not server.unfinished.count


async def test_the_rows_of_a_dead_server_are_begun(server: Server) -> None:
    """Those of one that lives stay; of one that is erased nothing follows."""
    server.store.erased = {5}
    await server.unfinished.start()
    await until(lambda: server.worker.begun == [4, 9])
    await asyncio.sleep(0.02)
    assert server.store.left == {"here": [4, 9], "alive": [7]}
    server.worker.behind.clear()
    await until(lambda: not server.store.left["here"])
    assert server.unfinished.taken_over == 2
    assert server.worker.begun == [4, 9]


@pytest.mark.injects_fault
async def test_a_store_that_is_away_for_a_while_loses_nothing(server: Server) -> None:
    server.unfinished.publish(ROOM, server.store.come(1, 2))
    server.store.is_down = True
    await server.unfinished.start()
    await asyncio.sleep(0.05)
    assert sorted(server.store.left["here"]) == [1, 2]
    server.store.is_down = False
    await until(lambda: server.worker.begun == [4, 5, 9])
    server.worker.behind.clear()
    await until(lambda: not server.store.left["here"] and not server.unfinished.count)


async def test_who_was_taken_for_dead_takes_nothing_over(
    server: Server, held: dict[tuple[str, str], str]
) -> None:
    """Another server is still at what was this one's."""
    await server.unfinished.start()
    await until(lambda: server.worker.begun)
    held[HERE] = "another"
    server.store.left["later"] = [11]
    await asyncio.sleep(0.05)
    assert server.store.left["later"] == [11]
    del held[HERE]
    await until(lambda: 11 in server.worker.begun)


async def test_the_end_forgets_what_is_done_by_then(server: Server) -> None:
    await server.unfinished.start()
    await until(lambda: server.worker.begun)
    server.worker.behind = {9}
    server.unfinished.publish(ROOM, server.store.come(1))
    await server.unfinished.close()
    assert server.store.left["here"] == [9]


async def test_what_there_is_no_room_for_is_forgotten_too(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Left in the store it would be begun again by whoever takes over."""
    monkeypatch.setattr(module, "MOST_NOTED", 3)
    monkeypatch.setattr(module, "PAGE", 2)
    server.store.left.clear()
    server.worker.behind = {1, 2, 3, 8}
    server.store.erased = {5}
    server.unfinished.publish(ROOM, server.store.come(*range(1, 9), 20, 21))
    await server.unfinished.start()
    await asyncio.sleep(0.02)
    assert server.unfinished.count == 3
    assert len(server.store.left["here"]) == 10
    server.worker.behind = {2, 8}
    await until(lambda: sorted(server.store.left["here"]) == [2, 8])
    assert server.unfinished.count == 2
    assert server.worker.begun == []


async def test_the_end_forgets_what_there_was_no_room_for(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_NOTED", 3)
    monkeypatch.setattr(module, "ENDED_S", 60.0)
    server.store.left.clear()
    await server.unfinished.start()
    server.unfinished.publish(ROOM, server.store.come(*range(1, 9)))
    await server.unfinished.close()
    assert server.store.left["here"] == []
