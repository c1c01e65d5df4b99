"""AppendMessages over a socket: what is refused, what is taken with a warning, what neither of them harms."""

import struct
from typing import Any

import grpc
import pytest

from backscroll.v1 import history_pb2 as hpb
from backscroll.v1 import message_pb2 as pb
from backscroll_sidecar.edge.convert.wire import LENGTH, lengthed, tag
from tests.integration.edge.conftest import Served, refused, text

pytestmark = pytest.mark.asyncio(loop_scope="module")

R = hpb.AppendRefusal
W = hpb.AppendWarning
NAN = struct.pack("<2f", 1.0, float("nan"))


def vector(values: bytes) -> pb.Message:
    return text("x", embeddings=[pb.Embedding(embedder_id="e", values=values)])


def tool_text(words: str) -> list[pb.Part]:
    return [pb.Part(tool_result=pb.ToolResultPart(call_id="c", name="f", text=words))]


def state(**fields: object) -> list[pb.Part]:
    known = {"provider": "host/v1", "api": "openai_chat", "model": "m", "kind": "k", "data": b"1"}
    return [pb.Part(provider_state=pb.ProviderStatePart(**known | fields))]


REFUSED: list[tuple[str, pb.Message, str, str]] = [
    ("no id", text("x", id=""), "MISSING_ID", "id"),
    ("no author", text("x", author=None), "MISSING_AUTHOR", "author.id"),
    ("NUL in text", text("a\0b"), "NUL_CHARACTER", "parts"),
    ("NUL in id", text("x", id="a\0"), "NUL_CHARACTER", "id"),
    ("NUL in a mention", text("x", mentions=[pb.Mention(user_id="u\0")]), "NUL_CHARACTER", "mentions[0].user_id"),
    ("64 KiB and one", text("x" * 65_537), "TEXT_TOO_LARGE", "parts"),
    ("64 KiB in two parts", text("", parts=[*text("x" * 40_000).parts, *tool_text("小" * 10_000)]),
     "TEXT_TOO_LARGE", "parts"),
    ("too many parts", text("", parts=[pb.Part()] * 1_001), "TEXT_TOO_LARGE", "parts"),
    ("too many mentions", text("x", mentions=[pb.Mention(user_id="u")] * 1_001), "TEXT_TOO_LARGE", "mentions"),
    ("long id", text("x", id="小" * 171), "ID_TOO_LONG", "id"),
    ("long author", text("x", author=pb.Author(id="u" * 513)), "ID_TOO_LONG", "author.id"),
    ("long parent", text("x", reply=pb.Reply(message_id="m" * 513)), "ID_TOO_LONG", "reply.message_id"),
    ("negative time", text("x", sent_at_ms=-1), "NEGATIVE_TIME", "sent_at_ms"),
    ("other channel", text("x", channel="else"), "WRONG_CHANNEL", "channel"),
    ("state of nobody", text("", parts=state(provider="")), "BAD_STATE", "parts[0].provider_state.provider"),
    ("huge state", text("", parts=state(data=b"x" * 262_145)), "BAD_STATE", "parts"),
    ("odd vector", vector(b"abc"), "BAD_EMBEDDING", "embeddings[0]"),
    ("empty vector", vector(b""), "BAD_EMBEDDING", "embeddings[0]"),
    ("zero vector", vector(b"\0" * 8), "BAD_EMBEDDING", "embeddings[0]"),
    ("NaN vector", vector(NAN), "BAD_EMBEDDING", "embeddings[0]"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("item", "code", "field"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED]
)
async def test_an_item_is_refused_alone(
    served: Served, name: str, item: pb.Message, code: str, field: str
) -> None:
    """The refused ones: the items before and after are stored, the answer says what and where."""
    before, result, after = await served.append(
        name, text("before", "first"), item, text("after", "last")
    )
    assert (before.outcome, before.sequence) == (hpb.APPEND_OUTCOME_STORED, 1)
    assert (after.outcome, after.sequence) == (hpb.APPEND_OUTCOME_STORED, 2)
    assert result.outcome == hpb.APPEND_OUTCOME_REFUSED
    assert (R.Name(result.refusal), result.field) == (f"APPEND_REFUSAL_{code}", field)
    assert result.sequence == 0
    assert (await served.history.GetChannel(hpb.GetChannelRequest(channel=name))).message_count == 2


async def test_bad_utf8_is_refused_alone(served: Served, name: str) -> None:
    """A string that is not UTF-8 costs its item, not the batch; protobuf would refuse all of it."""
    messages = tag(hpb.AppendMessagesRequest, "messages", LENGTH)
    bad = lengthed(tag(pb.Message, "id", LENGTH), b"m\xff")
    raw = (
        hpb.AppendMessagesRequest(channel=name, messages=[text("one", "a")]).SerializeToString()
        + lengthed(messages, bad)
        + lengthed(messages, text("two", "b").SerializeToString())
    )
    call = served.channel.unary_unary("/backscroll.v1.HistoryService/AppendMessages")
    results = hpb.AppendMessagesResponse.FromString(await call(raw)).results
    assert [one.outcome for one in results] == [1, hpb.APPEND_OUTCOME_REFUSED, 1]
    assert results[1].refusal == R.APPEND_REFUSAL_BAD_UTF8
    assert (results[1].message_id, results[1].field) == ("m\ufffd", "id")


async def test_a_lone_surrogate_in_utf8_is_bad_utf8(served: Served, name: str) -> None:
    part = lengthed(tag(pb.TextPart, "text", LENGTH), b"\xed\xa0\x80")
    item = text("", "m9", parts=[]).SerializeToString() + lengthed(
        tag(pb.Message, "parts", LENGTH), lengthed(tag(pb.Part, "text", LENGTH), part)
    )
    raw = lengthed(tag(hpb.AppendMessagesRequest, "channel", LENGTH), name.encode())
    raw += lengthed(tag(hpb.AppendMessagesRequest, "messages", LENGTH), item)
    call = served.channel.unary_unary("/backscroll.v1.HistoryService/AppendMessages")
    (result,) = hpb.AppendMessagesResponse.FromString(await call(raw)).results
    assert (result.refusal, result.field) == (R.APPEND_REFUSAL_BAD_UTF8, "parts[0].text.text")


def answering(id: str, parent: str) -> pb.Message:
    return text("x", id, reply=pb.Reply(message_id=parent))


WARNED: list[tuple[str, list[pb.Message], str]] = [
    ("a reply to itself", [answering("m1", "m1")], "REPLY_TO_SELF"),
    ("a circle", [answering("m1", "m2"), answering("m2", "m1")], "REPLY_CYCLE"),
    ("an unknown parent", [answering("m1", "gone")], "REPLY_PARENT_UNKNOWN"),
    ("time zero", [text("x", sent_at_ms=0)], "TIME_ZERO"),
    ("the future", [text("x", sent_at_ms=4_102_444_800_000)], "TIME_IN_FUTURE"),
    ("seconds", [text("x", sent_at_ms=1_795_176_000)], "TIME_LOOKS_LIKE_SECONDS"),
    ("microseconds", [text("x", sent_at_ms=1_795_176_000_000_000)], "TIME_LOOKS_LIKE_SECONDS"),
    ("other metadata", [text("x", "m1"), text("x", "m1", role=pb.ROLE_SYSTEM)], "METADATA_DIFFERS"),
    ("a known dedupe key", [text("x", id, dedupe_key="k") for id in ("m1", "m2")], "DEDUPE_KEY_SEEN"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("items", "warning"), [case[1:] for case in WARNED], ids=[case[0] for case in WARNED]
)
async def test_an_item_is_taken_with_a_warning(
    served: Served, name: str, items: list[pb.Message], warning: str
) -> None:
    """The accepted ones: kept as sent, and the answer says in what it was not taken as sent."""
    results = await served.append(name, *items)
    assert list(map(W.Name, results[-1].warnings)) == [f"APPEND_WARNING_{warning}"]
    assert results[0].outcome == hpb.APPEND_OUTCOME_STORED
    listed = await served.history.ListMessages(hpb.ListMessagesRequest(channel=name))
    first = listed.messages[0].message
    assert (first.sent_at_ms, first.reply.message_id) == (
        items[0].sent_at_ms,
        items[0].reply.message_id,
    )


async def test_a_parent_in_another_channel_is_a_warning(served: Served, name: str) -> None:
    """The message is stored all the same."""
    await served.append(f"{name}-other", text("x", "parent"))
    (result,) = await served.append(name, text("y", reply=pb.Reply(message_id="parent")))
    assert result.outcome == hpb.APPEND_OUTCOME_STORED
    assert list(result.warnings) == [W.APPEND_WARNING_REPLY_PARENT_IN_OTHER_CHANNEL]


@pytest.mark.row("N-08")
async def test_sending_again_is_a_duplicate_and_other_content_a_conflict(
    served: Served, name: str
) -> None:
    """N-08, law 1."""
    await served.append(name, text("x", "m1"))
    again, other = await served.append(name, text("x", "m1"), text("y", "m1"))
    assert (again.outcome, again.sequence) == (hpb.APPEND_OUTCOME_DUPLICATE, 1)
    assert other.outcome == hpb.APPEND_OUTCOME_CONFLICT


@pytest.mark.parametrize(
    "id",
    ["a/b", "a//../b", "it's", 'say "hi"', "a;b--", "小黑", "\u202eabc\u2066", "%2F", "a b", "\\", "'); DROP"],
)  # fmt: skip
async def test_ids_are_opaque(served: Served, id: str) -> None:
    """Slashes, quotes, marks of direction: an id comes back as it was sent, in every place."""
    message = text("hello", id, author=pb.Author(id=id, name=id))
    (result,) = await served.append(id, message)
    assert (result.message_id, result.outcome) == (id, hpb.APPEND_OUTCOME_STORED)
    found = await served.history.GetChannel(hpb.GetChannelRequest(channel=id))
    assert (found.channel, found.newest_message_id) == (id, id)
    tree = await served.history.GetThread(hpb.GetThreadRequest(channel=id, message_id=id))
    assert tree.root_message_id == id
    assert tree.messages[0].message.author == pb.Author(id=id, name=id, kind=1)


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"role": 99}, "role"),
        ({"author": pb.Author(id="u", kind=99)}, "author.kind"),
        ({"reply": pb.Reply(message_id="a", kind=99)}, "reply.kind"),
    ],
    ids=["role", "author", "reply"],
)
async def test_an_unknown_enum_refuses_its_item_alone(
    served: Served, name: str, fields: dict[str, Any], field: str
) -> None:
    """A bot newer than the server sends a word the server does not know: its other messages are stored."""
    before, odd, after = await served.append(
        name, text("x", "a"), text("y", "b", **fields), text("z", "c")
    )
    assert before.outcome == after.outcome == hpb.APPEND_OUTCOME_STORED
    assert odd == hpb.AppendResult(
        message_id="b",
        outcome=hpb.APPEND_OUTCOME_REFUSED,
        refusal=hpb.APPEND_REFUSAL_UNKNOWN_ENUM,
        field=field,
    )


@pytest.mark.parametrize("parts", [[], [pb.Part()], text("").parts], ids=["none", "empty", "blank"])
async def test_a_blank_message_is_a_message(
    served: Served, name: str, parts: list[pb.Part]
) -> None:
    (result,) = await served.append(name, text("", parts=parts))
    assert result.outcome == hpb.APPEND_OUTCOME_STORED


async def test_no_items_is_an_empty_answer(served: Served, name: str) -> None:
    assert await served.append(name) == []


async def test_no_channel_is_refused(served: Served) -> None:
    found = await refused(served.append("", text("x")))
    assert (found.code, found.reason, found.field) == (
        grpc.StatusCode.INVALID_ARGUMENT,
        "MISSING_FIELD",
        "channel",
    )


@pytest.mark.row("P-23", "S1-01")
async def test_a_message_comes_back_whole(served: Served, name: str) -> None:
    """S1-01, P-23: every part, multi-line and emoji, the edge, the marks, the thread."""
    sent = text(
        "",
        parts=[
            *text("line one\nline two 👩‍👩‍👧 🎉").parts,
            pb.Part(media=pb.MediaPart(kind="image", uri="x://1", alt_text="a red bicycle")),
            pb.Part(tool_call=pb.ToolCallPart(id="c1", name="f", arguments_json='{"a":1}')),
            *tool_text("four"),
        ],
        thread_id="t1",
        session_id="s1",
        role=pb.ROLE_ASSISTANT,
        reply=pb.Reply(message_id="m0", kind=pb.REPLY_KIND_THREAD, inferred=True),
        mentions=[pb.Mention(user_id="u2", name="Ben", start=0, end=4)],
        dedupe_key="k",
        partial=True,
    )
    sent.author.kind = pb.AUTHOR_KIND_BOT
    await served.append(name, sent)
    listed = await served.history.ListMessages(hpb.ListMessagesRequest(channel=name))
    sent.channel = name
    assert listed.messages[0].message == sent
    assert (listed.messages[0].partial, listed.messages[0].recalled) == (True, False)


async def test_a_partial_reply_is_listed_once_and_never_completed(
    served: Served, name: str
) -> None:
    """Laws 1 and 8: a retry is a duplicate, the whole text under its id a conflict; an edit leaves the mark."""
    whole = text("The train goes at six.", "r1", role=pb.ROLE_ASSISTANT)
    partial = text("The train", "r1", role=pb.ROLE_ASSISTANT, partial=True)
    results = await served.append(name, text("when?", "m1"), partial, partial, whole)
    assert [one.outcome for one in results[1:]] == [
        hpb.APPEND_OUTCOME_STORED, hpb.APPEND_OUTCOME_DUPLICATE, hpb.APPEND_OUTCOME_CONFLICT,
    ]  # fmt: skip
    edited = await served.history.EditMessage(
        hpb.EditMessageRequest(channel=name, message_id="r1", parts=whole.parts)
    )
    assert (edited.message.partial, edited.message.message.partial) == (True, True)
    listed = await served.history.ListMessages(hpb.ListMessagesRequest(channel=name))
    assert [(one.message.id, one.partial) for one in listed.messages] == [
        ("m1", False), ("r1", True),
    ]  # fmt: skip
    found = await served.history.SearchMessages(
        hpb.SearchMessagesRequest(channel=name, query="train")
    )
    assert [hit.message.partial for hit in found.hits] == [True]
    info = await served.history.GetChannel(hpb.GetChannelRequest(channel=name))
    assert (info.message_count, info.last_sequence, info.newest_message_id) == (1, 2, "m1")
    await served.history.RecallMessage(hpb.RecallMessageRequest(channel=name, message_id="r1"))
    listed = await served.history.ListMessages(
        hpb.ListMessagesRequest(channel=name, include_recalled=True)
    )
    assert [(one.recalled, one.partial) for one in listed.messages] == [
        (False, False),
        (True, False),
    ]


async def test_results_are_in_the_order_sent(served: Served, name: str) -> None:
    items: list[Any] = [text(f"line {i}", f"m{i}" if i % 3 else "") for i in range(1_000)]
    results = await served.append(name, *items)
    assert [one.message_id for one in results] == [one.id for one in items]
    assert [one.sequence > 0 for one in results] == [bool(one.id) for one in items]
