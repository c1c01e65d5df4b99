"""Stretches of channels are kept in PostgreSQL, too, and a start loads the channels used last (S5-33, P-22)."""

import pytest

from backscroll import AsyncClient, Author, Message
from backscroll_sidecar.domain import ChannelKey
from backscroll_sidecar.ports import Segment
from backscroll_sidecar.store.postgres import PostgresStore
from backscroll_sidecar.wiring import App
from tests.kit.postgres import server
from tests.kit.served import served

pytestmark = pytest.mark.row("P-22", "S5-33")
NOON_MS = 1_795_176_000_000
ROOM = "room"
KEY = ChannelKey("default", ROOM)


def lines(count: int = 100, start: int = 0) -> list[Message]:
    return [
        Message(f"m{n}", Author(f"u{n % 3}"), f"line {n} about cats", NOON_MS + n)
        for n in range(start, start + count)
    ]


async def ask(client: AsyncClient, app: App) -> tuple[object, bool]:
    """What is answered, and whether the channel was in memory."""
    was_there = app.channels.hot(KEY) is not None
    built = await client.build_context(
        ROOM, "what now?", asker="u1", asked_at=NOON_MS + 1_000, profile="naive"
    )
    return built.payload, was_there


async def kept(url: str, app: App) -> list[tuple[int, int]]:
    """First and last number of each segment there is."""
    store = await PostgresStore.open(url)
    rows = await store.load_channel(KEY, app.channels.segment_format)
    await store.close()
    return [(one.first_seq, one.last_seq) for one in rows.parts if isinstance(one, Segment)]


async def test_a_start_loads_them_and_keeps_what_it_loaded() -> None:
    url = await server().emptied()
    async with served(url) as (client, app):
        await client.append(ROOM, lines())
        told, _ = await ask(client, app)
    async with served(url) as (client, app):
        assert await kept(url, app) == [(1, 100)]
        channel = app.channels.hot(KEY)
        assert await ask(client, app) == (told, True)
        assert app.channels.hot(KEY) is channel  # the first call did not load it again


async def test_what_another_server_changed_takes_them_away() -> None:
    """A server that was started from a segment follows the others like any."""
    url = await server().emptied()
    async with served(url) as (client, app):
        await client.append(ROOM, lines())
        await ask(client, app)
    async with served(url) as (here, _), served(url) as (there, app):
        await here.erase(ROOM, message_ids=["m99"])
        assert await kept(url, app) == []
        told, _ = await ask(there, app)
        assert "line 99" not in str(told)
        await here.append(ROOM, lines(1, start=100))
        told, _ = await ask(there, app)
        assert "line 100" in str(told)
        assert "line 98" in str(told)
