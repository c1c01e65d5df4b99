"""The backlog: everything gets its vector, whatever fails, and nobody waits for it (S2-15, S2-22)."""

import asyncio
import itertools

import pytest

from backscroll_sidecar.domain import ChannelKey
from backscroll_sidecar.models.faults import failed
from backscroll_sidecar.ports import ModelFault
from backscroll_sidecar.store.memory import InMemoryStore
from backscroll_sidecar.vectors import backlog as module
from backscroll_sidecar.vectors.backlog import Backlog
from tests.contract.store.builders import ROOM, append, edit, message, recall, vectors_of
from tests.kit.fake_embedder import FakeEmbedder


class Works:
    """A store with a backlog over it."""

    def __init__(self, embedder: FakeEmbedder | None = None) -> None:
        self.store = InMemoryStore()
        self.embedder = embedder or FakeEmbedder()
        self.backlog = Backlog(self.store, self.apply, self.embedder)

    async def apply(self, change):
        (applied,) = await self.store.apply([change])
        self.backlog.publish(change.key, applied)
        return applied

    async def embedded(self, key: ChannelKey = ROOM) -> list[int]:
        return [one.seq for one in await vectors_of(self.store, key, self.embedder.id)]

    @property
    def seen(self) -> list[str]:
        return [text for call in self.embedder.calls for text in call.texts]


@pytest.fixture
async def works(monkeypatch):
    monkeypatch.setattr(module, "FIRST_RETRY_S", 0.01)
    made = Works()
    yield made
    await made.backlog.close()


async def test_what_was_there_and_what_comes(works: Works) -> None:
    """Found by a query of the store, so also after a crash; in batches; who said it is part of the text."""
    await works.apply(append(*(message(f"m{n}", f"text {n}") for n in range(70))))
    other = ChannelKey("tenant b", "elsewhere")
    await works.apply(append(message("x", "theirs"), key=other))
    await works.backlog.start()
    assert await works.backlog.wait(ROOM, 5) == (True, 0)
    assert await works.backlog.wait(other, 5) == (True, 0)
    assert await works.embedded() == list(range(1, 71))
    assert max(len(call.texts) for call in works.embedder.calls) == module.MAX_BATCH
    assert works.seen[0] == "Alice: text 0"
    await works.apply(append(message("late", "one more")))
    assert await works.backlog.wait(ROOM, 5) == (True, 0)
    assert len(works.seen) == 72
    assert works.backlog.embedded == 72


async def test_it_is_not_ready_while_questions_cannot_be_embedded() -> None:
    """S2-22: after a restart the vectors are there before the model that makes those of questions."""

    class Loading(FakeEmbedder):
        loaded = asyncio.Event()

        async def embed(self, texts, *, is_query=False):
            await self.loaded.wait()
            return await super().embed(texts, is_query=is_query)

    works = Works(Loading())
    await works.apply(append(message("m1", "text")))
    works.embedder.loaded.set()
    await works.backlog.start()
    assert await works.backlog.wait(ROOM, 5) == (True, 0)
    works.embedder.loaded.clear()
    assert await works.backlog.wait(ROOM, 0.05) == (False, 0)
    works.embedder.loaded.set()
    assert await works.backlog.wait(ROOM, 5) == (True, 0)
    await works.backlog.close()


async def test_what_needs_none(works: Works) -> None:
    """Recalled and blank rows; an edit needs a new one, an equal edit does not."""
    blank = ["", "  ", "\u3000\u2003\n\t"]
    await works.apply(append(*(message(f"b{n}", text) for n, text in enumerate(blank))))
    await works.apply(append(message("m1", "one"), message("m2", "two")))
    await works.apply(recall("m2"))
    await works.backlog.start()
    assert await works.backlog.wait(ROOM, 5) == (True, 0)
    assert works.seen == ["Alice: one"]
    await works.apply(edit("m1", "one, edited"))
    assert await works.backlog.wait(ROOM, 5) == (True, 0)
    assert works.seen == ["Alice: one", "Alice: one, edited"]
    assert [one.seq for one in await vectors_of(works.store, ROOM, "fake")] == [4]


async def test_a_failing_embedder_is_tried_again(works: Works) -> None:
    """Nothing is lost, nothing is embedded twice; its fault is known meanwhile."""
    works.embedder.broken = failed(ModelFault.CONNECTION)
    await works.apply(append(*(message(f"m{n}", f"text {n}") for n in range(5))))
    await works.backlog.start()
    assert await works.backlog.wait(ROOM, 0.1) == (False, 5)
    assert works.backlog.fault is ModelFault.CONNECTION
    assert len(works.embedder.calls) > 1
    works.embedder.broken = None
    assert await works.backlog.wait(ROOM, 5) == (True, 0)
    assert await works.embedded() == [1, 2, 3, 4, 5]


async def test_a_text_that_can_never_be_embedded_stands_alone(works: Works) -> None:
    works.embedder.refuses = "poison"
    texts = [f"text {n}" for n in range(9)]
    texts[4] = "poison"
    await works.apply(append(*(message(f"m{n}", text) for n, text in enumerate(texts))))
    await works.backlog.start()
    assert await works.backlog.wait(ROOM, 5) == (True, 0)
    assert await works.embedded() == [1, 2, 3, 4, 6, 7, 8, 9]
    calls = len(works.embedder.calls)
    await works.apply(append(message("m9", "another")))
    assert await works.backlog.wait(ROOM, 5) == (True, 0)
    assert len(works.embedder.calls) == calls + 1


async def test_what_is_remembered_of_refusals_is_bounded(works: Works, monkeypatch) -> None:
    """Law 9: the oldest is forgotten, and only asked for once more; the others get their vectors all the same."""
    monkeypatch.setattr(module, "MAX_REFUSED", 3)
    works.embedder.refuses = "poison"
    texts = ["poison" if n % 2 else f"text {n}" for n in range(10)]
    await works.apply(append(*(message(f"m{n}", text) for n, text in enumerate(texts))))
    await works.backlog.start()
    await works.backlog.wait(ROOM, 0.5)
    assert await works.embedded() == [1, 3, 5, 7, 9]
    assert [name for _, name, _ in works.backlog.refused] == ["m5", "m7", "m9"]


async def test_waiting_is_bounded_and_an_empty_channel_is_ready(works: Works) -> None:
    assert await works.backlog.wait(ChannelKey("default", "never heard of"), 5) == (True, 0)
    await works.apply(append(message("m1")))
    async with asyncio.timeout(60):
        assert await works.backlog.wait(ROOM, 0.05) == (False, 1)


async def test_what_comes_later_is_not_waited_for(works: Works) -> None:
    """WaitForIndex: everything stored before the call."""
    works.embedder.delay_s = 0.02
    await works.apply(append(message("m1", "first")))
    await works.backlog.start()

    async def flood() -> None:
        for n in range(10_000):
            await works.apply(append(message(f"f{n}", f"flood {n}")))
            await asyncio.sleep(0.002)

    flooding = asyncio.create_task(flood())
    assert await works.backlog.wait(ROOM, 5) == (True, 0)
    flooding.cancel()


@pytest.mark.parametrize("busy", [False, True])
async def test_it_gives_way_to_requests(works: Works, busy: bool) -> None:
    """While there are requests it rests as long as it works."""
    requests = itertools.count() if busy else itertools.repeat(7)
    works.backlog.give_way_to(lambda: next(requests))
    naps: list[float] = []
    sleep = asyncio.sleep

    async def watched(seconds: float) -> None:
        naps.append(seconds)
        await sleep(0)

    await works.apply(append(*(message(f"m{n}", "x" * 900) for n in range(60))))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module.asyncio, "sleep", watched)
        await works.backlog.start()
        assert await works.backlog.wait(ROOM, 5) == (True, 0)
    assert [nap > 0 for nap in naps] == [busy] * 4
    assert len(works.embedder.calls) == 4


async def test_batches_are_bounded_in_length() -> None:
    rows = [
        module.Unembedded(n, f"m{n}", 0, "", "y" * length)
        for n, length in enumerate([10, 9_000, 9_000, 9_000, 9_000, 9_000, 5] + [1] * 40)
    ]
    batches = module._batches(rows)
    assert [row for batch in batches for row in batch] == rows
    assert max(map(len, batches)) == module.MAX_BATCH
    assert len(module.embedded_text(rows[1])) == module.MAX_TEXT_CHARS
    assert module._batches([]) == []
