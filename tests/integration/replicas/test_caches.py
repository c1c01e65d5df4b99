"""Servers that share a store: what one acknowledged the next answer of any knows (P-22, law 1)."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack

import pytest

from backscroll import AsyncClient, Member, Message
from backscroll_sidecar.domain import ChannelKey
from backscroll_sidecar.ports import Segment
from backscroll_sidecar.wiring import App
from tests.kit.postgres import server
from tests.kit.served import served

pytestmark = pytest.mark.row("P-22")
Two = tuple[tuple[AsyncClient, App], tuple[AsyncClient, App]]
ROOM = "room"
NOON_MS = 1_700_000_000_000


def line(number: int, text: str, author: str = "ann") -> Message:
    return Message(f"m{number}", author, text, NOON_MS + number * 1_000)


@pytest.fixture
async def url() -> str:
    return await server().emptied()


@pytest.fixture
async def two(url: str) -> AsyncIterator[Two]:
    """Two servers on one database, both with the channel in memory."""
    async with AsyncExitStack() as stack:
        here = await stack.enter_async_context(served(url))
        there = await stack.enter_async_context(served(url))
        await here[0].append(ROOM, [line(1, "who feeds the cat?"), line(2, "I do, at nine", "ben")])
        for client, _ in (here, there):
            assert len(await texts(client)) == 2
        yield here, there


async def texts(client: AsyncClient) -> list[str]:
    """What a context says, without the question."""
    built = await client.build_context(ROOM, "and the cat?", profile="naive")
    return [str(one["content"]) for one in built.messages[:-1]]


async def test_a_message(two: Two) -> None:
    (here, _), (there, app) = two
    await here.append(ROOM, [line(3, "the train is late")])
    assert "the train is late" in (await texts(there))[-1]
    assert app.replicas.taken_over
    assert not app.replicas.dropped  # the channel stayed in memory


async def test_by_turns(two: Two) -> None:
    (here, _), (there, app) = two
    for n in range(20):
        writer, reader = (here, there) if n % 2 else (there, here)
        await writer.append(ROOM, [line(10 + n, f"line {n}")])
        assert f"line {n}" in (await texts(reader))[-1]
    assert not app.replicas.dropped


Act = Callable[[AsyncClient], Awaitable[object]]


@pytest.mark.parametrize(
    "act",
    [
        pytest.param(lambda client: client.edit_message(ROOM, "m2", "not me"), id="edit"),
        pytest.param(lambda client: client.recall_message(ROOM, "m2"), id="recall"),
        pytest.param(lambda client: client.erase(ROOM, message_ids=["m2"]), id="erase"),
        pytest.param(lambda client: client.erase(ROOM, user_id="ben"), id="erase a user"),
        pytest.param(
            lambda client: client.upsert_members(ROOM, [Member("ben", "Benno")]), id="name"
        ),
        pytest.param(lambda client: client.pin_message(ROOM, "m1"), id="pin"),
        pytest.param(lambda client: client.alias_message(ROOM, "m1", "x1"), id="alias"),
        pytest.param(lambda client: client.set_preference("ann", "vegetarian"), id="preference"),
        pytest.param(
            lambda client: client.set_channel_settings(ROOM, overrides={"max_context": 1}),
            id="settings",
        ),
    ],
)
async def test_whatever_another_server_did(two: Two, url: str, act: Act) -> None:
    """It answers as a server does that was started behind it."""
    (here, _), (there, _) = two
    await act(here)
    async with served(url) as (fresh, _):
        expected = await answers(fresh)
    assert await answers(there) == expected
    assert await answers(here) == expected


async def answers(client: AsyncClient) -> list[object]:
    """What a server says of the channel, but for what differs from call to call."""
    built = [
        await client.build_context(ROOM, "and the cat?", asker="ann", profile=profile, explain=True)
        for profile in ("naive", "balanced", "classic")
    ]
    return [
        *([one.payload, one.messages] for one in built),
        [(one.user_id, one.name) for one in await client.list_members(ROOM)],
        [one.message.id for one in await client.list_pinned_messages(ROOM)],
    ]


async def test_a_start_loads_the_channels_used_last(url: str) -> None:
    """From segments, as with a file; and the first call does not drop what was loaded."""
    async with served(url) as (client, _):
        await client.append(ROOM, [line(n, f"line {n}") for n in range(200)])
        await texts(client)  # what is in memory gets segments
    async with served(url) as (client, app):
        built = await client.build_context(ROOM, "and the cat?")
        rows = await app.store.load_channel(
            ChannelKey("default", ROOM), app.channels.segment_format
        )
    assert built.raw.diagnostics.cache_hit
    assert [type(part) for part in rows.parts] == [Segment]
