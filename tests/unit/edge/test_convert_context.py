"""BuildContextRequest to domain: complete, and every refusal names its field."""

import struct
from typing import Any

import pytest

from backscroll.v1 import context_pb2 as pb
from backscroll.v1 import message_pb2
from backscroll_sidecar.context.model import BuildRequest
from backscroll_sidecar.domain import (
    Author,
    AuthorKind,
    ChannelKey,
    Layout,
    Overrides,
    SpeakerStyle,
    TimeStyle,
    TokenizerName,
)
from backscroll_sidecar.edge.convert.context import build_request
from backscroll_sidecar.errors import InvalidRequest, Reason
from tests.unit.edge.builders import set_field

VECTOR = struct.pack("<2f", 1.0, 2.0)
BIG_ID = "小" * 171
REQUEST_FIELDS = list(pb.BuildContextRequest.DESCRIPTOR.fields)
OVERRIDE_FIELDS = list(pb.Overrides.DESCRIPTOR.fields)


def translated(time_left_s: float | None = None, **fields: Any) -> BuildRequest:
    fields.setdefault("question", "where is the key?")
    return build_request(pb.BuildContextRequest(**fields), "acme", time_left_s)


def test_an_unset_field_is_what_the_contract_says() -> None:
    assert translated() == BuildRequest(ChannelKey("acme", ""), "where is the key?")


def test_the_deadline_and_the_tenant_come_from_the_call() -> None:
    """Law 6; N-09: what is left of the caller's time reaches the builder."""
    request = translated(time_left_s=0.25, channel="g")
    assert request.key == ChannelKey("acme", "g")
    assert request.time_left_s == 0.25


@pytest.mark.parametrize("field", REQUEST_FIELDS, ids=lambda field: field.name)
def test_every_field_reaches_the_domain(field: Any) -> None:
    plain = pb.BuildContextRequest(question="q", channel="c")
    changed = pb.BuildContextRequest(question="q", channel="c")
    set_field(changed, field)
    assert build_request(changed, "t", None) != build_request(plain, "t", None)


@pytest.mark.parametrize("field", OVERRIDE_FIELDS, ids=lambda field: field.name)
def test_every_override_reaches_the_domain(field: Any) -> None:
    overrides = pb.Overrides()
    set_field(overrides, field)
    assert translated(overrides=overrides).overrides != Overrides()


def test_words_of_the_contract_are_words_of_the_domain() -> None:
    request = translated(
        layout=pb.LAYOUT_SINGLE_USER,
        speaker_style=pb.SPEAKER_STYLE_ROLE,
        time_style=pb.TIME_STYLE_RELATIVE,
        tokenizer=pb.TOKENIZER_BYTES_4,
        asker=message_pb2.Author(id="b1", kind=message_pb2.AUTHOR_KIND_BOT),
    )
    assert request.layout is Layout.SINGLE_USER
    assert request.speaker_style is SpeakerStyle.ROLE
    assert request.time_style is TimeStyle.RELATIVE
    assert request.tokenizer is TokenizerName.BYTES_4
    assert request.asker == Author("b1", "", AuthorKind.BOT)


@pytest.mark.parametrize(
    ("formats", "expected"),
    [
        ([], None),
        ([3, 4, 5], ("openai_responses", "anthropic_messages", "gemini_contents")),
        ([0], ("openai_chat",)),
        ([1, 1, 0], ("openai_chat",)),
        ([2], ()),
        ([2, 2], ()),
    ],
)
def test_payload_formats(formats: list[int], expected: tuple[str, ...] | None) -> None:
    assert translated(payload_formats=formats).payload_formats == expected


LARGE, INVALID, MISSING = Reason.TOO_LARGE, Reason.INVALID_FIELD, Reason.MISSING_FIELD
REFUSED: list[tuple[dict[str, Any], str, Reason]] = [
    ({"question": "x" * 65_537}, "question", LARGE),
    ({"question": "小" * 21_846}, "question", LARGE),
    ({"question": "a\0b"}, "question", INVALID),
    ({"channel": BIG_ID}, "channel", LARGE),
    ({"channel": "a\0"}, "channel", INVALID),
    ({"trigger_message_id": "x" * 513}, "trigger_message_id", LARGE),
    ({"thread_id": BIG_ID}, "thread_id", LARGE),
    ({"session_id": BIG_ID}, "session_id", LARGE),
    ({"profile": BIG_ID}, "profile", LARGE),
    ({"model": "m\0"}, "model", INVALID),
    ({"self_ids": ["b1", ""]}, "self_ids[1]", MISSING),
    ({"self_ids": ["b"] * 101}, "self_ids", INVALID),
    ({"asker": message_pb2.Author(name="Ann")}, "asker.id", MISSING),
    ({"asker": message_pb2.Author(id=BIG_ID)}, "asker.id", LARGE),
    ({"asker": message_pb2.Author(id="u", name=BIG_ID)}, "asker.name", LARGE),
    ({"asker": message_pb2.Author(id="u", kind=9)}, "asker.kind", INVALID),
    ({"reply": message_pb2.Reply()}, "reply.message_id", MISSING),
    ({"reply": message_pb2.Reply(message_id="m", kind=9)}, "reply.kind", INVALID),
    ({"mentions": [message_pb2.Mention()]}, "mentions[0].user_id", MISSING),
    ({"mentions": [message_pb2.Mention(user_id="u", start=2, end=1)]}, "mentions[0].end", INVALID),
    ({"asked_at_ms": -1}, "asked_at_ms", INVALID),
    ({"asked_at_ms": 2**63 - 1}, "asked_at_ms", INVALID),
    ({"layout": 99}, "layout", INVALID),
    ({"speaker_style": 99}, "speaker_style", INVALID),
    ({"time_style": -1}, "time_style", INVALID),
    ({"tokenizer": 99}, "tokenizer", INVALID),
    ({"payload_formats": [1, 99]}, "payload_formats[1]", INVALID),
    ({"payload_formats": [1, 2]}, "payload_formats", INVALID),
    ({"token_budget": 0}, "token_budget", INVALID),
    ({"time_zone": "Mars/Olympus"}, "time_zone", INVALID),
    ({"time_zone": "../../etc/passwd"}, "time_zone", INVALID),
    ({"time_zone": "America"}, "time_zone", INVALID),
    ({"time_zone": "x" * 129}, "time_zone", LARGE),
    ({"language": "de"}, "language", INVALID),
    ({"language": "x" * 65}, "language", LARGE),
    ({"tools_json": "{}"}, "tools_json", INVALID),
    ({"tools_json": "[1]"}, "tools_json", INVALID),
    ({"tools_json": "[NaN]"}, "tools_json", INVALID),
    ({"tools_json": "["}, "tools_json", INVALID),
    ({"tools_json": '[{}, {"function": {"name": "天气"}}]'}, "tools_json", INVALID),
    ({"tools_json": '[{"function": {"name": ""}}]'}, "tools_json", INVALID),
    ({"tools_json": '[{"function": {"name": "a b"}}]'}, "tools_json", INVALID),
    ({"tools_json": f'[{{"function": {{"name": "{"x" * 65}"}}}}]'}, "tools_json", INVALID),
    ({"tools_json": "[" * 100_000}, "tools_json", INVALID),
    ({"tools_json": '[{"a": "\\ud800"}]'}, "tools_json", INVALID),
    ({"tools_json": f'[{{"a": "{"x" * 262_144}"}}]'}, "tools_json", LARGE),
    ({"system": pb.SystemPrompt(text="\0")}, "system.text", INVALID),
    ({"system": pb.SystemPrompt(text="x" * 65_537)}, "system.text", LARGE),
    ({"system": pb.SystemPrompt(parameters={"": "x"})}, "system.parameters", MISSING),
    ({"system": pb.SystemPrompt(parameters={"a": "\0"})}, "system.parameters", INVALID),
    ({"preferences": ["a", "b\0"]}, "preferences[1]", INVALID),
    ({"preferences": ["x" * 60_000] * 5}, "preferences", LARGE),
    ({"question_label": "x" * 1_025}, "question_label", LARGE),
    ({"query_embedding": message_pb2.Embedding(values=VECTOR)}, "query_embedding.embedder_id", MISSING),
    ({"query_embedding": message_pb2.Embedding(embedder_id="e", values=b"abc")}, "query_embedding.values", INVALID),
    ({"overrides": pb.Overrides(max_context=0)}, "overrides.max_context", INVALID),
    ({"overrides": pb.Overrides(max_context=501)}, "overrides.max_context", INVALID),
    ({"overrides": pb.Overrides(time_window_hours=87_601)}, "overrides.time_window_hours", INVALID),
    ({"overrides": pb.Overrides(relevance_threshold=float("nan"))}, "overrides.relevance_threshold", INVALID),
    ({"overrides": pb.Overrides(relevance_threshold=float("-inf"))}, "overrides.relevance_threshold", INVALID),
    ({"overrides": pb.Overrides(relevance_threshold=1.01)}, "overrides.relevance_threshold", INVALID),
    ({"overrides": pb.Overrides(max_chars_per_message=15)}, "overrides.max_chars_per_message", INVALID),
    ({"overrides": pb.Overrides(recent_limit=501)}, "overrides.recent_limit", INVALID),
    ({"overrides": pb.Overrides(decay_per_hour=-0.1)}, "overrides.decay_per_hour", INVALID),
    ({"overrides": pb.Overrides(recent_floor=101)}, "overrides.recent_floor", INVALID),
    ({"overrides": pb.Overrides(sources=[""])}, "overrides.sources[0]", MISSING),
]  # fmt: skip


@pytest.mark.parametrize(("fields", "field", "reason"), REFUSED, ids=lambda value: str(value)[:40])
def test_what_is_wrong_is_named(fields: dict[str, Any], field: str, reason: Reason) -> None:
    with pytest.raises(InvalidRequest) as caught:
        translated(**fields)
    assert (caught.value.field, caught.value.reason) == (field, reason)
    assert field in caught.value.message or reason is Reason.QUESTION_MISSING
    if reason is Reason.TOO_LARGE:
        assert int(caught.value.metadata["limit_bytes"]) > 0


@pytest.mark.parametrize(
    "fields",
    [
        {"question": "x" * 65_536},
        {"channel": "小" * 170},
        {"overrides": pb.Overrides(max_context=1, relevance_threshold=0, recent_limit=0)},
        {"overrides": pb.Overrides(max_context=500, relevance_threshold=1, recent_floor=100)},
        {"tools_json": "[]"},
        {"time_zone": "UTC"},
        {"asked_at_ms": 0},
        {"token_budget": 1},
    ],
    ids=lambda fields: next(iter(fields)),
)
def test_the_bounds_themselves_are_allowed(fields: dict[str, Any]) -> None:
    translated(**fields)


@pytest.mark.parametrize("tools_json", ["[]", " [ ] "])
def test_no_tools_are_no_tools_field(tools_json: str) -> None:
    """S1-18: vendors refuse an empty list, so the body that is posted unchanged has none."""
    assert translated(tools_json=tools_json).tools_json == ""
