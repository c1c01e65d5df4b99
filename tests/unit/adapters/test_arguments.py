"""Arguments of tool calls: whatever was written, one JSON object comes out."""

from __future__ import annotations

import json

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll_sidecar.adapters import OpenAIChat
from backscroll_sidecar.adapters.arguments import MAX_REPAIRED_CHARS, object_json, objects_in
from backscroll_sidecar.domain import NeutralMessage, Role, ToolCallPart

PARIS = {"city": "Paris"}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", {}),
        ("  ", {}),
        ("null", {}),
        ("{}", {}),
        ('{"city":"Paris"}', PARIS),
        ("{city: Paris}", PARIS),
        ('{"city":"Paris"', PARIS),
        ('{"city":"Paris"}}', PARIS),
        ("{'city': 'Paris',}", PARIS),
        ('```json\n{"city": "Paris"}\n```', PARIS),
        ('"{\\"city\\": \\"Paris\\"}"', PARIS),
        ('{"on": True, "off": None}', {"on": True, "off": None}),
        ('{"text": "one\ntwo"}', {"text": "one\ntwo"}),
        ('{"city": "巴黎"', {"city": "巴黎"}),
        ("Paris", {"arguments": "Paris"}),
        ('"Paris"', {"arguments": "Paris"}),
        ("[1, 2]", {"arguments": "[1, 2]"}),
        ("5", {"arguments": "5"}),
        ("{", {"arguments": "{"}),
        ('{"a": "\\ud800"}', {"arguments": '{"a": "\\ud800"}'}),
        ("{" * 900, {"arguments": "{" * 900}),
        ('{"' * MAX_REPAIRED_CHARS, {"arguments": '{"' * MAX_REPAIRED_CHARS}),
    ],
)
def test_objects(text: str, value: dict) -> None:
    assert orjson.loads(object_json(text)) == value


def test_a_payload_holds_no_broken_json() -> None:
    """Whoever made the call: vendors refuse a request for it."""
    called = NeutralMessage(
        Role.ASSISTANT, "", tool_calls=(ToolCallPart("c", "f", "{city: Paris"),)
    )
    body = orjson.loads(OpenAIChat().payload([called], model="m"))
    (sent,) = body["messages"][0]["tool_calls"]
    assert orjson.loads(sent["function"]["arguments"]) == PARIS


@given(st.dictionaries(st.text(), st.none() | st.integers(-9, 9) | st.text() | st.lists(st.text())))
def test_what_is_an_object_stays_as_it_was_written(value: dict) -> None:
    for written in (json.dumps(value, indent=1), json.dumps(value, ensure_ascii=False)):
        assert object_json(written) == written
        assert objects_in(written) == [written]


@given(st.text(st.characters(codec=None)) | st.text("{}[]\":, \\'nulltruefase0123", max_size=200))
def test_anything_becomes_an_object(text: str) -> None:
    assert isinstance(orjson.loads(object_json(text)), dict)


@pytest.mark.parametrize(
    ("text", "texts"),
    [
        ('{"a":1}{"a":2}', ['{"a":1}', '{"a":2}']),
        ('{"a":1}\n {"a": {"b": 2}} {}', ['{"a":1}', '{"a": {"b": 2}}', "{}"]),
        ('{"a":1}{"a": 1}', ['{"a":1}']),
        ('{"a":1}}', ['{"a":1}}']),
        ('{"a":1}{"a"', ['{"a":1}{"a"']),
        ("1 2", ["1 2"]),
        ("{" * 99_999, ["{" * 99_999]),
    ],
)
def test_several_objects(text: str, texts: list[str]) -> None:
    assert objects_in(text) == texts
