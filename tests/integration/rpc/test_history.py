"""The rest of HistoryService over a socket: pages, trees, people, imports, exports, erasure."""

from __future__ import annotations

from collections.abc import AsyncIterator
from itertools import chain

import grpc
import pytest
from tests.integration.rpc.conftest import START_MS, Served, refused, text

from backscroll.v1 import history_pb2 as hpb
from backscroll.v1 import message_pb2 as pb
from backscroll_sidecar.rpc.wire import LENGTH, lengthed, tag

pytestmark = pytest.mark.asyncio(loop_scope="module")

NOT_FOUND = grpc.StatusCode.NOT_FOUND
INVALID = grpc.StatusCode.INVALID_ARGUMENT


def lines(count: int, **changes: object) -> list[pb.Message]:
    return [
        text(f"line {i}", f"m{i}", sent_at_ms=START_MS + i * 1_000, **changes)
        for i in range(1, count + 1)
    ]


def ids(page: hpb.ListMessagesResponse | hpb.GetThreadResponse) -> list[str]:
    return [row.message.id for row in page.messages]


def flat(runs: list[list[object]]) -> list[object]:
    return list(chain.from_iterable(runs))


async def pages(served: Served, **fields: object) -> list[list[str]]:
    """All pages of a list."""
    found: list[list[str]] = []
    token = ""
    while True:
        page = await served.history.ListMessages(
            hpb.ListMessagesRequest(page_token=token, **fields)
        )
        found.append(ids(page))
        token = page.next_page_token
        if not token:
            return found


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
        ({"author_id": "u", "thread_id": "t"}, "thread_id", "INVALID_FIELD"),
        ({"author_id": "u", "page_token": "t"}, "page_token", "INVALID_FIELD"),
    ],
)
async def test_a_list_that_cannot_be(
    served: Served, fields: dict[str, object], field: str, reason: str
) -> None:
    found = await refused(served.history.ListMessages(hpb.ListMessagesRequest(**fields)))
    assert (found.code, found.field, found.reason) == (INVALID, field, reason)


# --- what there is not -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rpc", "fields"),
    [
        ("ListMessages", {}),
        ("ListMessages", {"message_ids": ["m1"]}),
        ("GetThread", {"message_id": "m1"}),
        ("GetChannel", {}),
        ("SearchMessages", {"query": "x"}),
        ("ListMembers", {}),
        ("WaitForIndex", {}),
        ("ExportMessages", {}),
    ],
)
async def test_a_channel_never_heard_of_is_not_found(
    served: Served, name: str, rpc: str, fields: dict[str, object]
) -> None:
    kind = getattr(hpb, f"{rpc}Request")
    found = await refused(getattr(served.history, rpc)(kind(channel=name, **fields)))
    assert (found.code, found.reason) == (NOT_FOUND, "CHANNEL_NOT_FOUND")
    assert name not in found.text


@pytest.mark.parametrize(
    ("rpc", "fields"),
    [
        ("GetThread", {}),
        ("EditMessage", {"parts": text("x").parts}),
        ("RecallMessage", {}),
    ],
)
async def test_a_message_never_heard_of_is_not_found(
    served: Served, name: str, rpc: str, fields: dict[str, object]
) -> None:
    await served.append(name, text("x"))
    kind = getattr(hpb, f"{rpc}Request")
    call = getattr(served.history, rpc)
    found = await refused(call(kind(channel=name, message_id="secret id", **fields)))
    assert (found.code, found.reason) == (NOT_FOUND, "MESSAGE_NOT_FOUND")
    assert "secret" not in found.text


# --- single messages -------------------------------------------------------------------------------


async def test_a_bot_that_was_down_appends_only_what_is_missing(served: Served, name: str) -> None:
    """P-26: GetChannel gives newest id, time, count and backlog."""
    chat = lines(30)
    await served.append(name, *chat[:12])
    found = await served.history.GetChannel(hpb.GetChannelRequest(channel=name))
    assert (found.newest_message_id, found.newest_sent_at_ms) == ("m12", chat[11].sent_at_ms)
    assert (found.message_count, found.last_sequence, found.unembedded_count) == (12, 12, 12)
    missing = [one for one in chat if one.sent_at_ms > found.newest_sent_at_ms]
    results = await served.append(name, *missing)
    assert [one.outcome for one in results] == [hpb.APPEND_OUTCOME_STORED] * 18


async def test_a_tree_starts_at_its_root(served: Served, name: str) -> None:
    await served.append(
        name,
        text("root", "a"),
        text("reply", "b", reply=pb.Reply(message_id="a")),
        text("alone", "x"),
        text("deeper", "c", reply=pb.Reply(message_id="b")),
        text("loop", "l1", reply=pb.Reply(message_id="l2")),
        text("loop", "l2", reply=pb.Reply(message_id="l1")),
        text("orphan", "o", reply=pb.Reply(message_id="never seen")),
    )
    for asked, root, expected in [
        ("c", "a", ["a", "b", "c"]),
        ("a", "a", ["a", "b", "c"]),
        ("x", "x", ["x"]),
        ("o", "o", ["o"]),
    ]:
        tree = await served.history.GetThread(hpb.GetThreadRequest(channel=name, message_id=asked))
        assert (tree.root_message_id, ids(tree)) == (root, expected)
    loop = await served.history.GetThread(hpb.GetThreadRequest(channel=name, message_id="l1"))
    assert loop.root_message_id in {"l1", "l2"}


async def test_an_edit_and_a_recall(served: Served, name: str) -> None:
    await served.append(name, text("before", "m1"))
    edit = hpb.EditMessageRequest(channel=name, message_id="m1", parts=text("after").parts)
    edited = (await served.history.EditMessage(edit)).message
    assert (edited.revision, edited.message.parts[0].text.text) == (1, "after")
    assert edited.message.sent_at_ms == START_MS
    recall = hpb.RecallMessageRequest(channel=name, message_id="m1")
    await served.history.RecallMessage(recall)
    await served.history.RecallMessage(recall)
    gone = await refused(served.history.EditMessage(edit))
    assert (gone.code, gone.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "MESSAGE_GONE")
    request = hpb.ListMessagesRequest(channel=name, include_recalled=True)
    (row,) = (await served.history.ListMessages(request)).messages
    assert row.recalled
    assert not row.message.parts


@pytest.mark.parametrize(
    ("fields", "field", "reason"),
    [
        ({"message_id": "m1"}, "parts", "MISSING_FIELD"),
        ({"message_id": "m1", "parts": [pb.Part()]}, "parts", "MISSING_FIELD"),
        ({"parts": text("x").parts}, "message_id", "MISSING_FIELD"),
        ({"message_id": "m" * 513, "parts": text("x").parts}, "message_id", "TOO_LARGE"),
        ({"message_id": "m1", "parts": text("x" * 65_537).parts}, "parts", "TOO_LARGE"),
        ({"message_id": "m1", "parts": text("\0").parts}, "parts", "INVALID_FIELD"),
        (
            {"message_id": "m1", "parts": text("x").parts, "edited_at_ms": -1},
            "edited_at_ms",
            "INVALID_FIELD",
        ),
    ],
)
async def test_an_edit_that_cannot_be(
    served: Served, name: str, fields: dict[str, object], field: str, reason: str
) -> None:
    await served.append(name, text("x"))
    request = hpb.EditMessageRequest(channel=name, **fields)
    found = await refused(served.history.EditMessage(request))
    assert (found.code, found.field, found.reason) == (INVALID, field, reason)


async def test_search_finds_words_newest_first(served: Served, name: str) -> None:
    await served.append(
        name,
        text("the red bicycle", "a"),
        text("nothing", "b"),
        text("a bicycle, red", "c", sent_at_ms=START_MS + 1),
    )
    request = hpb.SearchMessagesRequest(channel=name, query="red bicycle")
    hits = (await served.history.SearchMessages(request)).hits
    assert [hit.message.message.id for hit in hits] == ["c", "a"]
    assert hits[0].score > hits[1].score
    blank = hpb.SearchMessagesRequest(channel=name, query=" ")
    assert not (await served.history.SearchMessages(blank)).hits


@pytest.mark.parametrize(
    ("rpc", "fields", "field", "reason"),
    [
        ("SearchMessages", {"query": "x" * 4_097}, "query", "TOO_LARGE"),
        ("SearchMessages", {"query": "\0"}, "query", "INVALID_FIELD"),
        ("SearchMessages", {"query": "x", "limit": 201}, "limit", "INVALID_FIELD"),
        ("GetThread", {"message_id": "m", "limit": 0}, "limit", "INVALID_FIELD"),
        ("GetThread", {}, "message_id", "MISSING_FIELD"),
        ("WaitForIndex", {"timeout_ms": 600_001}, "timeout_ms", "INVALID_FIELD"),
        ("Erase", {}, "message_ids", "MISSING_FIELD"),
        ("Erase", {"user_id": "u", "whole_channel": True}, "message_ids", "INVALID_FIELD"),
        ("Erase", {"message_ids": ["a", ""]}, "message_ids[1]", "MISSING_FIELD"),
        ("Erase", {"message_ids": ["a"] * 1_001}, "message_ids", "BATCH_TOO_LARGE"),
        ("UpsertMembers", {"members": [hpb.Member()]}, "members[0].user_id", "MISSING_FIELD"),
        (
            "UpsertMembers",
            {"members": [hpb.Member(user_id="u"), hpb.Member(user_id="v", kind=9)]},
            "members[1].kind",
            "INVALID_FIELD",
        ),
        (
            "UpsertMembers",
            {"members": [hpb.Member(user_id="u", aliases=["a", "b\0"])]},
            "members[0].aliases[1]",
            "INVALID_FIELD",
        ),
        (
            "UpsertMembers",
            {"members": [hpb.Member(user_id="u", left_at_ms=-1)]},
            "members[0].left_at_ms",
            "INVALID_FIELD",
        ),
        (
            "UpsertMembers",
            {"members": [hpb.Member(user_id="u")] * 1_001},
            "members",
            "BATCH_TOO_LARGE",
        ),
    ],
)
async def test_requests_that_cannot_be(
    served: Served, name: str, rpc: str, fields: dict[str, object], field: str, reason: str
) -> None:
    await served.append(name, text("x"))
    request = getattr(hpb, f"{rpc}Request")(channel=name, **fields)
    found = await refused(getattr(served.history, rpc)(request))
    assert (found.code, found.field, found.reason) == (INVALID, field, reason)
    assert (await refused(getattr(served.history, rpc)(type(request)()))).field == "channel"


async def test_waiting_for_the_index_ends_at_once(served: Served, name: str) -> None:
    await served.append(name, text("x"))
    answer = await served.history.WaitForIndex(hpb.WaitForIndexRequest(channel=name))
    assert (answer.ready, answer.unembedded_count) == (True, 0)


# --- people and erasure ----------------------------------------------------------------------------


async def test_members_are_kept_and_renamed(served: Served, name: str) -> None:
    """P-27."""
    await served.append(name, text("x"))
    first = hpb.Member(user_id="u2", name="Ben", aliases=["benny"], kind=2, joined_at_ms=5)
    for member in (first, hpb.Member(user_id="u2", name="Benjamin", kind=2)):
        request = hpb.UpsertMembersRequest(channel=name, members=[member])
        await served.history.UpsertMembers(request)
    found = (await served.history.ListMembers(hpb.ListMembersRequest(channel=name))).members
    assert [member.user_id for member in found] == ["u1", "u2"]
    ben = found[1]
    assert (ben.name, list(ben.former_names), ben.joined_at_ms) == ("Benjamin", ["Ben"], 5)
    assert not ben.HasField("left_at_ms")


@pytest.mark.parametrize(
    ("fields", "left"),
    [
        ({"message_ids": ["m1", "m2"]}, ["m3", "o1"]),
        ({"user_id": "u1"}, ["o1"]),
        ({"whole_channel": True}, []),
    ],
)
async def test_erasing_answers_with_a_receipt(
    served: Served, name: str, fields: dict[str, object], left: list[str]
) -> None:
    """N-10."""
    await served.append(name, *lines(3), text("other", "o1", author=pb.Author(id="u2")))
    answer = await served.history.Erase(hpb.EraseRequest(channel=name, **fields))
    assert answer.erased_count_by_store["messages"] == 4 - len(left)
    (result,) = await served.append(name, text("line 1", "m1", sent_at_ms=START_MS + 1_000))
    assert result.outcome == hpb.APPEND_OUTCOME_GONE
    if left:
        assert await pages(served, channel=name) == [left]


# --- imports and exports ---------------------------------------------------------------------------


async def test_an_export_can_be_imported(served: Served, name: str) -> None:
    """S1-01: everything comes back, in runs that any client takes."""
    chat = lines(1_203)
    for start in range(0, len(chat), 500):
        await served.append(name, *chat[start : start + 500])
    call = served.history.ExportMessages(hpb.ExportMessagesRequest(channel=name))
    runs = [[row.message for row in run.messages] async for run in call]
    assert [len(run) for run in runs] == [500, 500, 203]
    rows = flat(runs)
    assert [row.id for row in rows] == [one.id for one in chat]
    copy = f"{name}-copy"
    for row in rows:
        row.channel = copy

    async def requests() -> AsyncIterator[hpb.ImportMessagesRequest]:
        for run in runs:
            yield hpb.ImportMessagesRequest(messages=run)

    report = await served.history.ImportMessages(requests())
    assert (report.stored_count, report.refused_count, len(report.problems)) == (1_203, 0, 0)
    again = await served.history.ImportMessages(requests())
    assert (again.stored_count, again.duplicate_count) == (0, 1_203)


async def test_large_texts_are_exported_in_small_runs(served: Served, name: str) -> None:
    await served.append(name, *[text("x" * 60_000, f"m{i}") for i in range(60)])
    call = served.history.ExportMessages(hpb.ExportMessagesRequest(channel=name))
    sizes = [run.ByteSize() async for run in call]
    assert len(sizes) == 2
    assert max(sizes) < 4 * 1024 * 1024


async def test_an_import_takes_what_it_can_and_tells_the_rest_in_order(
    served: Served, name: str
) -> None:
    """DESIGN 6 holds for imports too: bad items cost themselves."""
    kind = hpb.ImportMessagesRequest
    messages = tag(kind, "messages", LENGTH)
    bad = lengthed(messages, lengthed(tag(pb.Message, "id", LENGTH), b"bad\xff"))
    batches = [
        kind(channel=name, messages=[text("one", "a"), text("\0", "nul")]).SerializeToString()
        + bad
        + kind(messages=[text("two", "b", sent_at_ms=0)]).SerializeToString(),
        kind(
            messages=[text("lost", "no channel"), text("x", "c", channel=f"{name}-2")]
        ).SerializeToString(),
        kind(channel="c" * 513, messages=[text("lost", "long")]).SerializeToString(),
        kind(channel=name, messages=[text("three", "a")]).SerializeToString() + bad,
    ]
    call = served.channel.stream_unary("/backscroll.v1.HistoryService/ImportMessages")

    async def requests() -> AsyncIterator[bytes]:
        for batch in batches:
            yield batch

    report = hpb.ImportMessagesResponse.FromString(await call(requests()))
    assert (report.stored_count, report.conflict_count, report.refused_count) == (3, 1, 5)
    assert report.warning_count == 1
    assert [(one.message_id, one.field) for one in report.problems] == [
        ("nul", "parts"),
        ("bad\ufffd", "id"),
        ("no channel", "channel"),
        ("long", "channel"),
        ("a", ""),
        ("bad\ufffd", "id"),
    ]
    assert [len(page) for page in await pages(served, channel=name)] == [2]


async def test_an_import_reports_a_hundred_problems_and_counts_all(
    served: Served, name: str
) -> None:
    request = hpb.ImportMessagesRequest(channel=name, messages=[text("x", id="")] * 150)

    async def requests() -> AsyncIterator[hpb.ImportMessagesRequest]:
        yield request

    report = await served.history.ImportMessages(requests())
    assert (report.refused_count, len(report.problems)) == (150, 100)


async def test_an_empty_import_is_no_error(served: Served) -> None:
    async def requests() -> AsyncIterator[hpb.ImportMessagesRequest]:
        return
        yield

    report = await served.history.ImportMessages(requests())
    assert report == hpb.ImportMessagesResponse()
