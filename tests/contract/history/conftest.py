"""The history service over each real store, put together as wiring does it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from backscroll_sidecar.analyze.analyzer import Analyzer
from backscroll_sidecar.history.publishing import FanOut
from backscroll_sidecar.history.rosters import Rosters
from backscroll_sidecar.history.service import HistoryService
from backscroll_sidecar.history.writer import Writer
from backscroll_sidecar.ports import Applied, Change
from backscroll_sidecar.store.memory import InMemoryStore
from backscroll_sidecar.store.sqlite import SqliteStore
from tests.kit.history import FakeClock, Recorder


class FaultyStore:
    """A real store with a switch: `failure` is raised by every write, or, with `reads_too`, by everything."""

    def __init__(self, store) -> None:
        self.store = store
        self.failure: Exception | None = None
        self.reads_too = False
        self.calls: Counter[str] = Counter()

    async def apply(self, changes: Sequence[Change]) -> Sequence[Applied]:
        self.calls["apply"] += 1
        if self.failure is not None:
            raise self.failure
        return await self.store.apply(changes)

    def __getattr__(self, name: str):
        self.calls[name] += 1
        if self.failure is not None and self.reads_too:
            raise self.failure
        return getattr(self.store, name)


@dataclass
class History:
    """Everything between a caller and the file."""

    store: FaultyStore
    recorder: Recorder
    rosters: Rosters
    writer: Writer
    service: HistoryService
    clock: FakeClock


async def build(store) -> History:
    faulty = FaultyStore(store)
    recorder, rosters, clock = Recorder(), Rosters(faulty), FakeClock()
    writer = Writer(faulty, FanOut(recorder, rosters))
    await writer.start()
    service = HistoryService(faulty, writer, rosters, Analyzer(), clock)
    return History(faulty, recorder, rosters, writer, service, clock)


@pytest.fixture(params=["memory", "sqlite"])
async def open_history(request, tmp_path):
    """Opens a history over the same data each time; close one before the next (memory keeps its store)."""
    kept = InMemoryStore()
    opened: list[History] = []

    async def open_history() -> History:
        if request.param == "memory":
            store = kept
        else:
            store = await SqliteStore.open(tmp_path / "history.db", durability="normal")
        opened.append(await build(store))
        return opened[-1]

    async def close(history: History) -> None:
        await history.writer.close()
        if request.param == "sqlite":
            await history.store.store.close()

    open_history.close = close
    yield open_history
    for one in opened:
        await close(one)


@pytest.fixture
async def history(open_history):
    return await open_history()


@pytest.fixture
def service(history):
    return history.service
