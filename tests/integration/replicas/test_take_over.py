"""What a server that died left half done another one does, once (P-22)."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable

import pytest

from backscroll import AsyncClient, Author, Message
from backscroll_sidecar.history import unfinished
from backscroll_sidecar.ports import ModelRequest
from backscroll_sidecar.wiring import App, SystemClock
from tests.contract.models.sse_server import HANG, Reply, SseServer, sse_server
from tests.kit.fake_embedder import FakeEmbedder
from tests.kit.fake_model import STOP, FakeModel, Script, Wait
from tests.kit.postgres import server
from tests.kit.served import served
from tests.kit.server_process import ServerProcess

pytestmark = pytest.mark.row("P-22")
NOON = 1_795_176_000_000
ROOM = "room"
ANN = Author("u1", "Ann")
READS = {"preference_extraction": "model"}
COMPACTS = {"compaction": "auto", "compaction_messages": 40, "compaction_keep_tokens": 200}
NOTES = "## Goal\nMove the cat on Friday [m3]"
TEA = "我每天下午都要喝茶才有精神"
ENOUGH_S = 120.0
"""A bound for what takes about ten seconds: the machine may be busy."""


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unfinished, "ENDED_S", 0.1)


@pytest.fixture
async def url() -> str:
    return await server().emptied()


@pytest.fixture
async def silent() -> AsyncIterator[SseServer]:
    """A model that never answers."""
    async with sse_server() as running:
        running.replies = [Reply([HANG])]
        yield running


def process(url: str, model: SseServer, **settings: str) -> ServerProcess:
    given = {"model_base_url": model.url, "embedder": "none", "preload_seconds": "0", **settings}
    return ServerProcess(
        url, settings={f"BACKSCROLL_{name.upper()}": str(one) for name, one in given.items()}
    )


def line(number: int, text: str = "") -> Message:
    return Message(
        f"m{number}", ANN, text or f"line {number} about the move " * 5, NOON + number * 1_000
    )


def reading(_request: ModelRequest) -> Script:
    return [json.dumps({"found": [{"message": 1, "topic": "likes", "value": "喝茶"}]}), STOP]


def summing_up(_request: ModelRequest) -> Script:
    return [NOTES, STOP]


async def until(is_so: Callable[[], object]) -> None:
    async with asyncio.timeout(ENOUGH_S):
        while not is_so():  # noqa: ASYNC110 - nothing else tells
            await asyncio.sleep(0.05)


async def liked(client: AsyncClient) -> list[str]:
    return [one.value for one in await client.list_preferences("u1", channel=ROOM)]


async def test_reading_for_preferences(url: str, silent: SseServer) -> None:
    """The model was asked and never answered; the server is killed; one of two others asks its model, once."""
    models = [FakeModel(answer=reading) for _ in range(2)]
    async with (
        served(url, model=models[0], **READS) as (there, app),
        served(url, model=models[1], **READS) as (_, other),
    ):
        with process(url, silent, **READS) as dying:
            async with AsyncClient(dying.address) as here:
                await here.append(ROOM, [line(1, TEA)])
            await until(lambda: silent.exchanges)
            await asyncio.sleep(1.0)
            assert not any(model.calls for model in models)  # as long as it lives it is its own
            dying.kill()
        await until(lambda: any(model.calls for model in models))
        for one in (app, other):
            await until_done(one)
        assert await liked(there) == ["喝茶"]
        assert sum(len(model.calls) for model in models) == 1


async def test_a_compaction(url: str, silent: SseServer) -> None:
    model = FakeModel(answer=summing_up)
    async with served(url, model=model, **COMPACTS) as (there, app):
        with process(url, silent, **COMPACTS) as dying:
            async with AsyncClient(dying.address) as here:
                await here.append(ROOM, [line(n) for n in range(60)])
            await until(lambda: silent.exchanges)
            await there.append(ROOM, [line(100)])  # it counts what the other one got
            assert not model.calls
            dying.kill()
        await until(lambda: model.calls)
        await until_done(app)
        built = await there.build_context(ROOM, "and the cat?", asked_at=NOON + 200_000)
        assert NOTES in built.raw.summary
        assert len(model.calls) == 1


async def test_vectors(url: str) -> None:
    """Stopped in the middle: another one's embedder makes them."""
    stuck = FakeEmbedder()
    stuck.embed = never  # type: ignore[method-assign]
    embedder = FakeEmbedder()
    async with served(url, embedder=embedder) as (there, app):
        async with served(url, embedder=stuck) as (here, _):
            await here.append(ROOM, [line(n) for n in range(5)])
        await until_done(app)
        assert (await there.wait_for_index(ROOM, wait_s=60)).ready
        assert app.embedding.backlog.embedded == 5


async def never(_texts: object) -> object:
    return await asyncio.get_running_loop().create_future()


async def test_of_two_that_live_one_pays(url: str) -> None:
    """However long its model takes, and whoever is called meanwhile."""
    go = asyncio.Event()
    models = [FakeModel(answer=lambda request: [Wait(go), *either(request)]) for _ in range(2)]
    settings = {**READS, **COMPACTS}
    async with (
        served(url, model=models[0], **settings) as (here, one),
        served(url, model=models[1], **settings) as (there, two),
    ):
        await here.append(ROOM, [line(1, TEA), *(line(n) for n in range(2, 60))])
        await until(lambda: len(models[0].calls) == 2)
        for n in range(3):
            await there.append(ROOM, [line(100 + n)])
            await there.build_context(ROOM, "and the cat?")
        await asyncio.sleep(1.0)
        go.set()
        await until_done(one)
        await until_done(two)
        assert await liked(there) == ["喝茶"]
    assert [len(model.calls) for model in models] == [2, 0]
    assert (one.unfinished.taken_over, two.unfinished.taken_over) == (0, 0)


class Ahead(SystemClock):
    """Of a machine whose time is wrong."""

    def now_ms(self) -> int:
        return super().now_ms() + 3_600_000


@pytest.mark.parametrize("clock", [SystemClock(), Ahead()])
@pytest.mark.parametrize("which", [{"all_channels": True}, {"channel": ROOM}])
async def test_what_is_deleted_there_while_a_message_is_read_here(
    url: str, which: dict[str, object], clock: SystemClock
) -> None:
    """What the message said stays away; what is said afterwards is kept."""
    go = asyncio.Event()
    model = FakeModel(answer=lambda request: [Wait(go), *reading(request)])
    async with (
        served(url, clock=clock, model=model, **READS) as (here, app),
        served(url) as (there, _),
    ):
        await here.append(ROOM, [line(1, TEA)])
        await until(lambda: model.calls)
        await there.delete_preference("u1", "", **which)
        go.set()
        await until_done(app)
        assert await liked(there) == []
        await here.append(ROOM, [line(2, TEA)])
        await until_done(app)
        assert await liked(there) == ["喝茶"]


def either(request: ModelRequest) -> Script:
    is_reading = TEA in request.messages[-1].content
    return reading(request) if is_reading else summing_up(request)


async def until_done(app: App) -> None:
    """Nothing that a server of this database began is left."""
    async with asyncio.timeout(ENOUGH_S):
        while app.unfinished.count or await app.store.work.others_at_work():  # noqa: ASYNC110
            await asyncio.sleep(0.1)
