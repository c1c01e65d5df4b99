"""ListMessages over a socket: pages, their tokens and bounds, messages by id and by author."""

import pytest

from backscroll.v1 import history_pb2 as hpb
from backscroll.v1 import message_pb2 as pb
from tests.integration.edge.chats import INVALID, flat, ids, lines, pages
from tests.integration.edge.conftest import START_MS, Served, refused, text

pytestmark = pytest.mark.asyncio(loop_scope="module")


# --- lists -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("count", "limit", "sizes"),
    [(5, 2, [2, 2, 1]), (4, 2, [2, 2]), (1, 2, [1]), (450, 1_000, [450]), (401, 200, [200, 200, 1]),
     (400, 200, [200, 200])],
)  # fmt: skip
@pytest.mark.parametrize("newest_first", [False, True])
async def test_pages_hold_everything_once(
    served: Served, name: str, count: int, limit: int, sizes: list[int], newest_first: bool
) -> None:
    """The last page, and only that, has no token."""
    await served.append(name, *lines(count))
    found = await pages(served, channel=name, limit=limit, newest_first=newest_first)
    assert [len(page) for page in found] == sizes
    expected = [f"m{i}" for i in range(1, count + 1)]
    assert flat(found) == (expected[::-1] if newest_first else expected)


async def test_a_page_may_be_as_large_as_the_contract_says(served: Served, name: str) -> None:
    await served.append(name, *lines(1_000))
    assert [len(page) for page in await pages(served, channel=name, limit=1_000)] == [1_000]


async def test_conditions_hold_on_every_page(served: Served, name: str) -> None:
    await served.append(name, *lines(10), *[
        text("of another", f"o{i}", author=pb.Author(id="u2"), sent_at_ms=START_MS) for i in range(9)
    ])  # fmt: skip
    found = await pages(
        served,
        channel=name,
        limit=2,
        author_id="u1",
        since_ms=START_MS + 3_000,
        until_ms=START_MS + 8_000,
    )
    assert found == [["m3", "m4"], ["m5", "m6"], ["m7"]]


async def test_a_page_ends_before_a_client_would_refuse_it(served: Served, name: str) -> None:
    """Default limits of clients are 4 MiB; 100 texts of 60,000 bytes are more."""
    await served.append(name, *[text("x" * 60_000, f"m{i}") for i in range(50)])
    await served.append(name, *[text("x" * 60_000, f"m{i}") for i in range(50, 100)])
    found = await pages(served, channel=name, limit=100)
    assert len(found) == 2
    assert flat(found) == [f"m{i}" for i in range(100)]
    named = await pages(served, channel=name, message_ids=[f"m{i}" for i in range(100)])
    assert len(named) == 2
    assert flat(named) == flat(found)


@pytest.mark.parametrize("change", ["cut", "other", "filter", "channel", "garbage", "long", "nul"])
async def test_a_token_of_another_question_is_refused(
    served: Served, name: str, change: str
) -> None:
    await served.append(name, *lines(3))
    await served.append(f"{name}-2", *lines(3))
    first = await served.history.ListMessages(hpb.ListMessagesRequest(channel=name, limit=1))
    request = hpb.ListMessagesRequest(channel=name, limit=1, page_token=first.next_page_token)
    match change:
        case "cut":
            request.page_token = request.page_token[:-2]
        case "other":
            request.page_token = "B" + request.page_token[1:]
        case "filter":
            request.author_id = "u1"
        case "channel":
            request.channel = f"{name}-2"
        case "garbage":
            request.page_token = "!! 小"
        case "long":
            request.page_token = "A" * 100_000
        case "nul":
            request.page_token = "\0"
    found = await refused(served.history.ListMessages(request))
    assert (found.code, found.reason, found.field) == (INVALID, "INVALID_FIELD", "page_token")


async def test_a_token_allows_another_limit(served: Served, name: str) -> None:
    await served.append(name, *lines(5))
    first = await served.history.ListMessages(hpb.ListMessagesRequest(channel=name, limit=1))
    token = first.next_page_token
    rest = await served.history.ListMessages(
        hpb.ListMessagesRequest(channel=name, page_token=token)
    )
    assert ids(rest) == ["m2", "m3", "m4", "m5"]


async def test_messages_by_id(served: Served, name: str) -> None:
    await served.append(name, *lines(3))
    request = hpb.ListMessagesRequest(channel=name, message_ids=["m3", "no", "m1", "m3"])
    assert ids(await served.history.ListMessages(request)) == ["m3", "m1"]


@pytest.mark.row("S1-03")
async def test_messages_of_an_author_across_channels(served: Served, name: str) -> None:
    """S1-03: the newest N of one user over a set of channels."""
    who = pb.Author(id=f"user-of-{name}")
    for i in range(4):
        await served.append(f"{name}-{i}", text("x", f"m{i}", author=who, sent_at_ms=START_MS + i))
    call = served.history.ListMessages
    every = await call(hpb.ListMessagesRequest(author_id=who.id, limit=3))
    assert ids(every) == ["m1", "m2", "m3"]
    newest = await call(hpb.ListMessagesRequest(author_id=who.id, limit=3, newest_first=True))
    assert ids(newest) == ["m3", "m2", "m1"]
    some = await call(
        hpb.ListMessagesRequest(author_id=who.id, channels=[f"{name}-0", f"{name}-2"])
    )
    assert ids(some) == ["m0", "m2"]


@pytest.mark.parametrize(
    ("fields", "field", "reason"),
    [
        ({}, "channel", "MISSING_FIELD"),
        ({"message_ids": ["m"], "author_id": "u"}, "channel", "MISSING_FIELD"),
        ({"channel": "g", "limit": 0}, "limit", "INVALID_FIELD"),
        ({"channel": "g", "limit": 1_001}, "limit", "INVALID_FIELD"),
        ({"channel": "g" * 513}, "channel", "TOO_LARGE"),
        ({"channel": "a\0"}, "channel", "INVALID_FIELD"),
        ({"channel": "g", "message_ids": [""]}, "message_ids[0]", "MISSING_FIELD"),
        ({"channel": "g", "message_ids": ["m"] * 1_001}, "message_ids", "INVALID_FIELD"),
        ({"author_id": "u", "since_ms": 1}, "since_ms", "INVALID_FIELD"),
        ({"channel": "g", "since_ms": START_MS // 1_000}, "since_ms", "INVALID_FIELD"),
        ({"channel": "g", "until_ms": START_MS * 1_000}, "until_ms", "INVALID_FIELD"),
        ({"author_id": "u", "thread_id": "t"}, "thread_id", "INVALID_FIELD"),
        ({"author_id": "u", "page_token": "t"}, "page_token", "INVALID_FIELD"),
    ],
)
async def test_a_list_that_cannot_be(
    served: Served, fields: dict[str, object], field: str, reason: str
) -> None:
    found = await refused(served.history.ListMessages(hpb.ListMessagesRequest(**fields)))
    assert (found.code, found.field, found.reason) == (INVALID, field, reason)
