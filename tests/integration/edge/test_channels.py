"""ListChannels over a socket: by name, page by page, of one tenant, without what was erased."""

import pytest

from backscroll import Author, Message
from backscroll.v1 import history_pb2 as hpb
from backscroll_sidecar.history import reads
from tests.integration.edge.conftest import Served, refused
from tests.kit.served import served as serving

NOON = 1_795_176_000_000
NAMES = ["Team-ÄRGER", "a/b", "team-x", "组", "组-二"]


@pytest.fixture(params=["memory", "sqlite"])
async def client(request, tmp_path):
    database = ":memory:" if request.param == "memory" else tmp_path / "channels.db"
    async with serving(database) as (client, _):
        for n, name in enumerate(reversed(NAMES)):
            lines = [Message(f"m{i}", Author("u1"), "hi", NOON + n * 10 + i) for i in range(n + 1)]
            await client.append(name, lines)
        yield client


async def listed(client, **fields) -> list[str]:
    return [one.channel async for one in client.list_channels(**fields)]


@pytest.mark.parametrize("page_size", [1, 2, 5, 1_000, None])
async def test_by_name_and_each_once(client, page_size):
    assert await listed(client, page_size=page_size) == NAMES


async def test_a_page_that_is_read_in_pieces(client, monkeypatch):
    monkeypatch.setattr(reads, "CHANNELS_PAGE", 2)
    assert await listed(client) == NAMES
    assert await listed(client, page_size=3) == NAMES
    assert await listed(client, name_contains="组") == NAMES[3:]


async def test_what_is_told_of_each(client):
    found = [one async for one in client.list_channels()]
    told = [await client.get_channel(name) for name in NAMES]
    assert [(one.channel, one.message_count, one.newest_sent_at_ms) for one in found] == [
        (one.channel, one.message_count, one.newest_sent_at_ms) for one in told
    ]
    assert [one.message_count for one in found] == [5, 4, 3, 2, 1]


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        ("TEAM", ["Team-ÄRGER", "team-x"]),
        ("ärger", NAMES[:1]),
        ("组", NAMES[3:]),
        ("%", []),
        ("/", ["a/b"]),
    ],
)
async def test_by_a_part_of_the_name(client, wanted, names):
    assert await listed(client, name_contains=wanted) == names
    assert await listed(client, name_contains=wanted, page_size=1) == names


async def test_what_was_erased_is_not_listed_and_what_was_recalled_is(client):
    await client.recall_message("组-二", "m0")
    await client.erase("team-x", whole_channel=True)
    assert await listed(client) == [name for name in NAMES if name != "team-x"]
    await client.append("team-x", Message("n", Author("u1"), "again", NOON))
    assert await listed(client) == NAMES


async def test_a_channel_that_comes_between_two_pages_moves_none(client):
    pages = client.list_channels(page_size=2)
    first = [(await anext(pages)).channel for _ in range(2)]
    await client.append("Aa", Message("n", Author("u1"), "hi", NOON))
    rest = [one.channel async for one in pages]
    assert first + rest == NAMES


async def test_a_context_says_that_its_channel_is_unknown(client):
    unknown = await client.build_context("tema-x", "what?", asker="u1")
    known = await client.build_context("team-x", "what?", asker="u1", profile="room")
    assert (unknown.channel_known, known.channel_known) == (False, True)
    assert (known.rung, known.profile) == ("ranked", "room")
    assert "unknown channel" in repr(unknown)
    assert "unknown channel" not in repr(known)


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("tema-x", ["team-x"]),
        ("TEAM", ["team-x", "Team-ÄRGER"]),
        ("team-ärgr", ["Team-ÄRGER", "team-x"]),
        ("组二", ["组-二", "组"]),
        ("组-一", ["组-二"]),
        ("a/b", ["a/b"]),
        ("something else", []),
        ("", []),
    ],
)
async def test_near_names_of_one_that_is_unknown(client, name, near):
    assert await client.near_channels(name) == near


async def test_near_names_are_found_on_every_page(client):
    rooms = [Message("m", Author("u1"), "hi", NOON, channel=f"room-{n:04}") for n in range(1_100)]
    await client.import_messages(rooms)
    assert await client.near_channels("zimmer-1") == []
    await client.append("zimmer-2", Message("m", Author("u1"), "hi", NOON))
    await client.append("Zimmer-2", Message("m", Author("u1"), "hi", NOON))
    assert await client.near_channels("zimmer-1") == ["Zimmer-2", "zimmer-2"]
    assert (await client.near_channels("romm-0001"))[0] == "room-0001"


async def test_a_name_that_is_no_text_is_refused(client):
    with pytest.raises(TypeError, match=r"channel must be text, not int: str\(5\)"):
        await client.near_channels(5)


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"limit": 0}, "limit"),
        ({"limit": 1_001}, "limit"),
        ({"page_token": "AAAA"}, "page_token"),
        ({"page_token": "ä"}, "page_token"),
        ({"name_contains": "x" * 513}, "name_contains"),
    ],
)
@pytest.mark.asyncio(loop_scope="module")
async def test_what_is_refused(served: Served, fields, field) -> None:
    found = await refused(served.history.ListChannels(hpb.ListChannelsRequest(**fields)))
    assert found.field == field
