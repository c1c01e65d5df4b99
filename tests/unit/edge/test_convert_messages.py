"""Messages keep every field on their way through the domain (S1-01, P-23)."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from backscroll.v1 import history_pb2
from backscroll.v1 import message_pb2 as pb
from backscroll_sidecar.domain import (
    Analysis,
    Author,
    AuthorKind,
    MediaPart,
    Mention,
    Message,
    MessageState,
    MessageType,
    Reply,
    ReplyKind,
    Role,
    StoredMessage,
    TextPart,
    ToolCallPart,
)
from backscroll_sidecar.edge.convert.codec import WireCodec, encode_stored
from backscroll_sidecar.edge.convert.messages import (
    checked_embedding,
    message_from_proto,
    message_to_proto,
)
from backscroll_sidecar.errors import InvalidRequest, Reason
from tests.unit.edge.builders import chat_message, full_message, set_field

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
PARTS = st.one_of(
    st.builds(pb.Part, text=st.builds(pb.TextPart, text=TEXT)),
    st.builds(
        pb.Part,
        media=st.builds(pb.MediaPart, kind=TEXT.filter(bool), uri=TEXT, alt_text=TEXT, mime=TEXT),
    ),
    st.builds(
        pb.Part,
        tool_call=st.builds(pb.ToolCallPart, id=TEXT, name=TEXT, arguments_json=TEXT.filter(bool)),
    ),
    st.builds(
        pb.Part,
        tool_result=st.builds(
            pb.ToolResultPart, call_id=TEXT, name=TEXT, text=TEXT, is_error=st.booleans()
        ),
    ),
)
FLOATS = st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), max_size=4)
MESSAGES = st.builds(
    pb.Message,
    id=TEXT,
    channel=TEXT.filter(bool),
    thread_id=st.none() | TEXT.filter(bool),
    session_id=st.none() | TEXT.filter(bool),
    author=st.builds(pb.Author, id=TEXT, name=TEXT, kind=st.integers(1, 3)),
    role=st.integers(1, 4),
    parts=st.lists(PARTS, max_size=3),
    sent_at_ms=st.integers(-(2**63), 2**63 - 1),
    reply=st.none()
    | st.builds(pb.Reply, message_id=TEXT, kind=st.integers(1, 3), inferred=st.booleans()),
    mentions=st.lists(
        st.builds(
            pb.Mention,
            user_id=TEXT,
            name=TEXT,
            start=st.integers(0, 2**32 - 1),
            end=st.integers(0, 2**32 - 1),
        ),
        max_size=2,
    ),
    embeddings=st.lists(
        st.builds(
            pb.Embedding,
            embedder_id=TEXT,
            values=FLOATS.map(lambda values: struct.pack(f"<{len(values)}f", *values)),
        ),
        max_size=2,
    ),
    dedupe_key=st.none() | TEXT.filter(bool),
    partial=st.booleans(),
)


@given(MESSAGES)
def test_a_message_comes_back_as_it_was_sent(sent: pb.Message) -> None:
    """S1-01, P-23: no field is lost or changed on the way to the domain and back."""
    assert message_to_proto(message_from_proto(sent, "other")) == sent


OF_IMPORTS = {"rank_time_ms", "alias_ids", "recalled"}
"""What an import takes beside the message."""


@pytest.mark.parametrize(
    "field",
    [field for field in pb.Message.DESCRIPTOR.fields if field.name not in OF_IMPORTS],
    ids=lambda field: field.name,
)
def test_every_field_of_a_message_reaches_the_domain(field: object) -> None:
    plain = pb.Message()
    changed = pb.Message()
    set_field(changed, field)
    assert message_from_proto(changed, "") != message_from_proto(plain, "")


def test_defaults_are_those_of_the_contract() -> None:
    sent = chat_message(
        parts=[
            pb.Part(media=pb.MediaPart(uri="x")),
            pb.Part(tool_call=pb.ToolCallPart(id="c", name="f")),
            pb.Part(),
        ],
        reply=pb.Reply(message_id="m0"),
    )
    message = message_from_proto(sent, "general")
    assert message.channel == "general"
    assert message.role is Role.USER
    assert message.author.kind is AuthorKind.HUMAN
    assert message.reply is not None
    assert message.reply.kind is ReplyKind.QUOTE
    assert message.parts == (MediaPart("media", uri="x"), ToolCallPart("c", "f", "{}"))


def test_an_unset_role_is_tool_only_for_tool_results() -> None:
    result = pb.Part(tool_result=pb.ToolResultPart(call_id="c", name="f", text="4"))
    assert message_from_proto(chat_message(parts=[result]), "g").role is Role.TOOL
    kept = message_from_proto(chat_message(parts=[result], role=pb.ROLE_USER), "g")
    assert kept.role is Role.USER


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"role": 99}, "role"),
        ({"role": -1}, "role"),
        ({"author": pb.Author(id="u", kind=4)}, "author.kind"),
        ({"reply": pb.Reply(message_id="m", kind=99)}, "reply.kind"),
    ],
)
def test_an_unknown_enum_is_named(changes: dict[str, object], field: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        message_from_proto(chat_message(**changes), "g")
    assert caught.value.field == field
    assert field in str(caught.value)
    assert caught.value.reason is Reason.INVALID_FIELD


@pytest.mark.parametrize(
    "values",
    [
        b"",
        b"\0" * 4,
        b"\0\0\0\x80" * 3,
        b"\0\0\x80\x3f\0",
        struct.pack("<2f", 1.0, float("nan")),
        struct.pack("<2f", 1.0, float("inf")),
        struct.pack("<2f", float("-inf"), float("inf")),
        b"\0\0\x80\x3f" * 8_193,
    ],
    ids=["empty", "zero", "minus zero", "odd", "nan", "inf", "both inf", "too long"],
)
def test_a_query_vector_that_cannot_be_compared_is_refused(values: bytes) -> None:
    with pytest.raises(InvalidRequest) as caught:
        checked_embedding(pb.Embedding(embedder_id="e", values=values), "query_embedding")
    assert caught.value.field == "query_embedding.values"


def test_vectors_are_little_endian_floats() -> None:
    sent = pb.Embedding(embedder_id="e", values=b"\0\0\x80\x3f\0\0\0\xc0")
    assert tuple(checked_embedding(sent, "query_embedding").values) == (1.0, -2.0)


def test_a_vector_of_odd_length_in_a_batch_is_left_to_its_item() -> None:
    sent = chat_message(embeddings=[pb.Embedding(embedder_id="e", values=b"\0\0\x80")])
    assert message_from_proto(sent, "g").embeddings[0].values == ()


# --- the codec -------------------------------------------------------------------------------------


def stored(message: Message, **changes: object) -> StoredMessage:
    analysis = Analysis("hello", MessageType.CASUAL, ("u2",), ("hello",), 3)
    return replace(StoredMessage(message, analysis, 9, 5), **changes)


def test_a_fragment_is_the_message_as_sent_but_for_its_vectors() -> None:
    """The port `FragmentCodec`: what an item of a context carries."""
    sent = full_message(pb.Message())
    fragment = WireCodec().encode(stored(message_from_proto(sent, "g")))
    sent.ClearField("embeddings")
    for field in OF_IMPORTS:
        sent.ClearField(field)
    assert pb.Message.FromString(fragment) == sent


@given(
    st.text(st.characters(codec="utf-8"), max_size=200),
    st.text(st.characters(codec="utf-8"), min_size=1, max_size=3),
    st.integers(0, 2**50),
    st.sets(st.sampled_from(
        ["reply", "empty_reply", "thread", "session", "mentions", "dedupe_key", "partial", "parts", "nobody"]
    )),
    st.sampled_from(Role),
    st.sampled_from(AuthorKind),
)  # fmt: skip
def test_a_fragment_is_what_protobuf_writes(
    text: str, name: str, sent_at_ms: int, more: set[str], role: Role, kind: AuthorKind
) -> None:
    """Byte by byte, whatever fields are set: a fragment made today and one in an old segment are the same."""
    message = Message(
        name, "g", Author("" if "nobody" in more else name, name, kind),
        (TextPart(text),) * (2 if "parts" in more else 1), sent_at_ms, role,
        "t" if "thread" in more else "", "s" if "session" in more else "",
        Reply("" if "empty_reply" in more else name, ReplyKind.THREAD, "parts" in more) if "reply" in more else None,
        (Mention("u", "n", 0, 1),) if "mentions" in more else (), (),
        "d" if "dedupe_key" in more else "", "partial" in more,
    )  # fmt: skip
    assert WireCodec().encode(stored(message)) == message_to_proto(message).SerializeToString()


def test_a_row_tells_all_that_is_known_of_a_message() -> None:
    sent = full_message(pb.Message())
    message = message_from_proto(sent, "g")
    row = stored(message, revision=2)
    row = replace(row, analysis=replace(row.analysis, reply=message.reply))
    found = history_pb2.StoredMessage.FromString(encode_stored(row))
    for field in OF_IMPORTS:
        sent.ClearField(field)
    assert found.message == sent
    assert (found.sequence, found.revision, found.recalled, found.token_count) == (9, 2, False, 3)
    assert found.message_type == pb.MESSAGE_TYPE_CASUAL
    assert list(found.keywords) == ["hello"]
    assert list(found.mentioned_user_ids) == ["u2"]
    assert found.reply == sent.reply


def test_a_recalled_message_has_no_content() -> None:
    row = stored(message_from_proto(full_message(pb.Message()), "g"), state=MessageState.RECALLED)
    found = history_pb2.StoredMessage.FromString(encode_stored(row))
    assert found.recalled
    assert not found.message.parts
    assert not found.message.mentions
    assert not found.message.embeddings
    assert found.message.id
