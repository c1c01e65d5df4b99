"""Bytes that are no message: named where possible, and never at the cost of a neighbour."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.v1 import context_pb2, history_pb2
from backscroll.v1 import message_pb2 as pb
from backscroll_sidecar.domain import AppendOutcome, AppendResult, RefusalCode
from backscroll_sidecar.edge.convert.parsing import Batch, parse, parse_batch
from backscroll_sidecar.edge.convert.wire import LENGTH, lengthed, tag
from backscroll_sidecar.errors import InvalidRequest, Reason
from tests.unit.edge.builders import chat_message, full_message

APPEND = history_pb2.AppendMessagesRequest
CHANNEL, MESSAGES = tag(APPEND, "channel", LENGTH), tag(APPEND, "messages", LENGTH)
BAD_ID = tag(pb.Message, "id", LENGTH) + b"\x03m\xff2"


def request(*items: bytes, channel: bytes = b"general") -> bytes:
    return lengthed(CHANNEL, channel) + b"".join(lengthed(MESSAGES, item) for item in items)


def test_a_good_batch_is_parsed_as_it_is() -> None:
    good = full_message(pb.Message())
    batch = parse_batch(APPEND, request(good.SerializeToString()))
    assert (batch.channel, list(batch.items)) == ("general", [good])


def test_only_the_item_that_is_not_utf8_is_refused() -> None:
    """Bad UTF-8 is refused per item."""
    good = full_message(pb.Message())
    batch = parse_batch(APPEND, request(good.SerializeToString(), BAD_ID, BAD_ID))
    refusal = AppendResult(
        "m\ufffd2", AppendOutcome.REFUSED, refusal=RefusalCode.BAD_UTF8, field="id"
    )
    assert list(batch.items) == [good, refusal, refusal]


def nested(kind: type, field: str, body: bytes) -> bytes:
    return lengthed(tag(kind, field, LENGTH), body)


@pytest.mark.parametrize(
    ("item", "field"),
    [
        (nested(pb.Message, "channel", b"\xff"), "channel"),
        (nested(pb.Message, "author", nested(pb.Author, "name", b"\xed\xa0\x80")), "author.name"),
        (nested(pb.Message, "reply", nested(pb.Reply, "message_id", b"\x80")), "reply.message_id"),
        (
            nested(pb.Message, "parts", b"")
            + nested(
                pb.Message, "parts", nested(pb.Part, "text", nested(pb.TextPart, "text", b"\xc3"))
            ),
            "parts[1].text.text",
        ),
        (
            nested(pb.Message, "embeddings", nested(pb.Embedding, "embedder_id", b"\xff")),
            "embeddings[0].embedder_id",
        ),
        (nested(pb.Message, "dedupe_key", b"\xc0\x80"), "dedupe_key"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_field_that_is_not_utf8_is_named(item: bytes, field: str) -> None:
    (result,) = parse_batch(APPEND, request(item)).items
    assert isinstance(result, AppendResult)
    assert result.field == field


def test_vectors_may_hold_any_bytes() -> None:
    """Bytes are bytes in the contract too: only what was a string there is looked at."""
    embedding = pb.Embedding(embedder_id="e", values=b"\xff\xfe\xff\xfe")
    good = chat_message(embeddings=[embedding]).SerializeToString()
    batch = parse_batch(APPEND, request(good, BAD_ID))
    assert isinstance(batch.items[0], pb.Message)


@pytest.mark.parametrize(
    ("raw", "field"),
    [
        (request(channel=b"\xff"), "channel"),
        (b"\x0a\x05ab", ""),
        (b"\xff", ""),
        (b"\x12\x01\x0a", ""),
    ],
    ids=["channel", "cut", "no tag", "cut item"],
)
def test_a_batch_that_cannot_be_read_is_malformed(raw: bytes, field: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        parse_batch(APPEND, raw)
    assert caught.value.reason is Reason.MALFORMED_REQUEST
    assert caught.value.field == field


@pytest.mark.parametrize("bad", [b"", BAD_ID], ids=["good", "bad UTF-8"])
def test_a_batch_may_hold_a_thousand_items(bad: bytes) -> None:
    good = chat_message().SerializeToString()
    assert len(parse_batch(APPEND, request(*[good] * 999, bad)).items) == 1_000
    with pytest.raises(InvalidRequest) as caught:
        parse_batch(APPEND, request(*[good] * 1_000, bad))
    assert caught.value.reason is Reason.BATCH_TOO_LARGE


def test_a_batch_may_hold_four_mebibytes() -> None:
    with pytest.raises(InvalidRequest) as caught:
        parse_batch(APPEND, request(b"\0" * (4 * 1024 * 1024)))
    assert caught.value.reason is Reason.BATCH_TOO_LARGE


@pytest.mark.parametrize(
    ("raw", "field"),
    [
        (nested(context_pb2.BuildContextRequest, "question", b"\xff"), "question"),
        (
            nested(
                context_pb2.BuildContextRequest,
                "system",
                nested(context_pb2.SystemPrompt, "parameters", b"\x0a\x01a\x12\x01\xff"),
            ),
            "system.parameters[0].value",
        ),
        (nested(context_pb2.BuildContextRequest, "self_ids", b"\xff"), "self_ids[0]"),
        (b"\x07", ""),
    ],
    ids=["question", "map", "list", "no tag"],
)
def test_a_malformed_request_names_its_field(raw: bytes, field: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        parse(context_pb2.BuildContextRequest, raw)
    assert caught.value.reason is Reason.MALFORMED_REQUEST
    assert caught.value.field == field


def malformed(raw: bytes) -> Batch | None:
    """The batch, or None where it is malformed as a whole; anything else it raises fails the test."""
    try:
        return parse_batch(APPEND, raw)
    except InvalidRequest as error:
        if error.reason is not Reason.MALFORMED_REQUEST:
            raise
        return None


@given(st.binary(max_size=100))
def test_any_bytes_are_a_batch_or_malformed(raw: bytes) -> None:
    batch = malformed(raw)
    assert batch is None or isinstance(batch.channel, str)


@given(st.binary(max_size=60), st.binary(max_size=60))
def test_any_item_leaves_its_neighbours_alone(before: bytes, after: bytes) -> None:
    good = full_message(pb.Message())
    batch = malformed(request(before, good.SerializeToString(), after))
    # What is no message at all leaves no border between items to trust.
    assert batch is None or batch.items[1] == good
