"""Single messages, trees, people, search and erasure over a socket, and what there is not."""

import grpc
import pytest

from backscroll.v1 import history_pb2 as hpb
from backscroll.v1 import message_pb2 as pb
from tests.integration.edge.chats import INVALID, NOT_FOUND, ids, lines, pages
from tests.integration.edge.conftest import START_MS, Served, refused, text

OTHER_UNITS = START_MS // 1_000, START_MS * 1_000
"""Seconds and microseconds where milliseconds are wanted."""
TIMES = ("joined_at_ms", "left_at_ms")

pytestmark = pytest.mark.asyncio(loop_scope="module")


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
        ("EditMessage", {"message_id": "m1", "parts": text("x").parts}),
        ("RecallMessage", {"message_id": "m1"}),
        ("AliasMessage", {"message_id": "m1", "alias_id": "m2"}),
        ("PinMessage", {"message_id": "m1"}),
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
        ("AliasMessage", {"alias_id": "m2"}),
        ("PinMessage", {}),
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
    assert found.field == "message_id"
    assert "secret" not in found.text


# --- single messages -------------------------------------------------------------------------------


@pytest.mark.row("P-26")
async def test_a_bot_that_was_down_appends_only_what_is_missing(served: Served, name: str) -> None:
    """P-26: GetChannel gives newest id, time, count and backlog."""
    chat = lines(30)
    await served.append(name, *chat[:12])
    found = await served.history.GetChannel(hpb.GetChannelRequest(channel=name))
    assert (found.newest_message_id, found.newest_sent_at_ms) == ("m12", chat[11].sent_at_ms)
    assert (found.message_count, found.last_sequence, found.unembedded_count) == (12, 12, 0)
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
    assert gone.field == "message_id"
    request = hpb.ListMessagesRequest(channel=name, include_recalled=True)
    (row,) = (await served.history.ListMessages(request)).messages
    assert row.recalled
    assert not row.message.parts


@pytest.mark.parametrize(
    ("fields", "field", "reason"),
    [
        ({"parts": []}, "parts", "MISSING_FIELD"),
        ({"parts": [pb.Part()] * 1_001}, "parts", "INVALID_FIELD"),
        ({"message_id": ""}, "message_id", "MISSING_FIELD"),
        ({"message_id": "m" * 513}, "message_id", "TOO_LARGE"),
        ({"parts": text("x" * 65_537).parts}, "parts", "TOO_LARGE"),
        ({"parts": text("\0").parts}, "parts", "INVALID_FIELD"),
        *(({"edited_at_ms": at}, "edited_at_ms", "INVALID_FIELD") for at in (-1, *OTHER_UNITS)),
    ],
)
async def test_an_edit_that_cannot_be(
    served: Served, name: str, fields: dict[str, object], field: str, reason: str
) -> None:
    await served.append(name, text("x"))
    request = hpb.EditMessageRequest(
        **{"channel": name, "message_id": "m1", "parts": text("x").parts} | fields
    )
    found = await refused(served.history.EditMessage(request))
    assert (found.code, found.field, found.reason) == (INVALID, field, reason)


async def test_search_finds_words_newest_first(served: Served, name: str) -> None:
    await served.append(
        name,
        text("the red bicycle", "a"),
        text("nothing", "b"),
        text("a bicycle, red", "c", sent_at_ms=START_MS - 1),
    )
    request = hpb.SearchMessagesRequest(channel=name, query="red bicycle")
    hits = (await served.history.SearchMessages(request)).hits
    assert [hit.message.message.id for hit in hits] == ["c", "a"]
    assert [hit.score for hit in hits] == [1.0, 1.0]
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
        ("Erase", {"user_id": "u", "message_ids": ["a"]}, "message_ids", "INVALID_FIELD"),
        ("Erase", {"message_ids": ["a", ""]}, "message_ids[1]", "MISSING_FIELD"),
        ("Erase", {"message_ids": ["a" * 513]}, "message_ids[0]", "TOO_LARGE"),
        ("Erase", {"message_ids": ["a"] * 1_001}, "message_ids", "BATCH_TOO_LARGE"),
        ("UpsertMembers", {"members": [hpb.Member(user_id="u")] * 1_001}, "members", "BATCH_TOO_LARGE"),
        ("UpsertMembers", {"members": [hpb.Member()]}, "members[0].user_id", "MISSING_FIELD"),
        *(
            ("UpsertMembers", {"members": [hpb.Member(user_id="v"), hpb.Member(user_id="u", **wrong)]},
             f"members[1].{field}", "INVALID_FIELD")
            for wrong, field in [
                ({"kind": 9}, "kind"),
                ({"aliases": ["a", "b\0"]}, "aliases[1]"),
                ({"left_at_ms": -1}, "left_at_ms"),
                *(({name: at}, name) for name in TIMES for at in OTHER_UNITS),
                *(({"stays": [hpb.Stay(**{name: at})]}, f"stays[0].{name}") for name in TIMES for at in OTHER_UNITS),
            ]
        ),
    ],
)  # fmt: skip
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


@pytest.mark.row("P-27")
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


@pytest.mark.row("N-10")
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
