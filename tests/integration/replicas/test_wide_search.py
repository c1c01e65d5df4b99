"""A search across channels at one server knows what others stored, embedded and took away (P-22, laws 1 and 6)."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

import pytest

from backscroll import AsyncClient, Author, Message
from backscroll_sidecar.config.settings import Settings
from backscroll_sidecar.server import start_server
from backscroll_sidecar.wiring import App, open_app
from tests.kit.fake_embedder import FakeEmbedder
from tests.kit.postgres import server

pytestmark = pytest.mark.row("P-22")
NOON_MS = 1_795_176_000_000
TOKENS: dict[str, object] = {
    "full": "acme",
    "limited": {"tenant": "acme", "channels": ["guild/*"]},
    "stranger": "umbrella",
}
ROOMS = ("guild/a", "guild/b", "other")


@dataclass(frozen=True)
class House:
    """One of the servers, with a client for each key."""

    app: App
    full: AsyncClient
    limited: AsyncClient
    stranger: AsyncClient


@asynccontextmanager
async def house(url: str, **settings: object) -> AsyncIterator[House]:
    scopes = {"acme": "tenant", "umbrella": "tenant"}
    configured = Settings(database=url, embedder="none", search_scopes=scopes, **settings)
    async with AsyncExitStack() as stack:
        app = await stack.enter_async_context(
            open_app(configured, embedder=FakeEmbedder(synonyms={"feline": "cat"}))
        )
        await app.embedding.backlog.start()
        running = await start_server(app, listen=["127.0.0.1:0"], tokens=TOKENS)
        stack.push_async_callback(running.stop)
        clients = [
            await stack.enter_async_context(AsyncClient(running.addresses[0], token=token))
            for token in TOKENS
        ]
        yield House(app, *clients)


@pytest.fixture
async def two() -> AsyncIterator[tuple[House, House]]:
    """Two servers on one database, both with the vectors of all channels in memory."""
    url = await server().emptied()
    async with house(url) as here, house(url) as there:
        for n, room in enumerate(ROOMS):
            await put(here, room, line(n, f"the cat of {room}"), line(10 + n, "something else"))
        for one in (here, there):
            assert await found(one.full) == {f"the cat of {room}" for room in ROOMS}
        yield here, there


def line(number: int, text: str, author: str = "ann") -> Message:
    return Message(f"m{number}", Author(author), text, NOON_MS + number)


async def put(at: House, room: str, *lines: Message) -> None:
    """Stored and embedded."""
    await at.full.append(room, list(lines))
    assert (await at.full.wait_for_index(room, wait_s=20)).ready


async def found(client: AsyncClient, scope: str = "tenant", **more: str) -> set[str]:
    answer = await client.search("", "feline", scope=scope, limit=10, **more)
    return {hit.message.message.parts[0].text.text for hit in answer if hit.score > 0.3}


async def test_what_another_server_stored_and_embedded(two: tuple[House, House]) -> None:
    """In channels that are in memory and in one that it never heard of; whoever writes and whoever asks."""
    here, there = two
    await put(here, "other", line(20, "a cat at the door"))
    assert "a cat at the door" in await found(there.full)
    await put(there, "new", line(21, "a cat in a new room"))
    assert "a cat in a new room" in await found(here.full)
    assert await found(here.full) == await found(there.full)
    assert not there.app.replicas.dropped


Act = Callable[[AsyncClient], Awaitable[object]]


@pytest.mark.parametrize(
    "act",
    [
        pytest.param(lambda client: client.erase("other", message_ids=["m2"]), id="message"),
        pytest.param(lambda client: client.erase("other", user_id="ann"), id="user"),
        pytest.param(lambda client: client.erase("other", whole_channel=True), id="channel"),
        pytest.param(lambda client: client.recall_message("other", "m2"), id="recall"),
        pytest.param(lambda client: client.edit_message("other", "m2", "a dog"), id="edit"),
    ],
)
async def test_never_what_another_server_took_away(two: tuple[House, House], act: Act) -> None:
    here, there = two
    await act(here.full)
    for one in (here, there):
        assert await found(one.full) == {"the cat of guild/a", "the cat of guild/b"}


async def test_never_what_the_key_does_not_permit(two: tuple[House, House]) -> None:
    here, there = two
    await put(here, "other", line(20, "a secret cat"))
    await put(here, "guild/b", line(21, "a cat of theirs"))
    seen = {"the cat of guild/a", "the cat of guild/b", "a cat of theirs"}
    assert await found(there.limited) == seen
    assert await found(there.stranger) == set()


async def test_the_channels_of_a_user(two: tuple[House, House]) -> None:
    here, there = two
    await put(here, "other", line(20, "a cat of Ben", "ben"))
    await put(here, "new", line(21, "another cat of Ben", "ben"))
    of_ben = await found(there.full, "user", user_id="ben")
    assert of_ben == {"the cat of other", "a cat of Ben", "another cat of Ben"}
