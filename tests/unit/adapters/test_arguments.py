"""Arguments of tool calls: whatever was written, one JSON object comes out."""

import json

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll_sidecar.adapters import OpenAIChat, PayloadOptions
from backscroll_sidecar.adapters.arguments import MAX_REPAIRED_CHARS, object_json, objects_in
from backscroll_sidecar.domain import ToolCallPart, assistant_message

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
        ("{a: [" + "1 ," * MAX_REPAIRED_CHARS, {"arguments": "{a: [" + "1 ," * MAX_REPAIRED_CHARS}),
        ("{a: " * 40 + "1", {"arguments": "{a: " * 40 + "1"}),
        ("{city: New York, n: 3, zip: 007}", {"city": "New York", "n": 3, "zip": "007"}),
        ("{at: 10:30, url: http://x.org/?a=1}", {"at": "10:30", "url": "http://x.org/?a=1"}),
        ('{"say": "he said "hi" to me", "n": 2}', {"say": 'he said "hi" to me', "n": 2}),
        ("{'a': 'it's ok'}", {"a": "it's ok"}),
        ("{“城市”：“巴黎”，“天”：[1，2]}", {"城市": "巴黎", "天": [1, 2]}),
        ("{城市：巴黎，国家：法国}", {"城市": "巴黎", "国家": "法国"}),
        ('{"a": [1, {"b": 2]}', {"a": [1, {"b": 2}]}),
        ('{"a": {"b": [1, 2}, "c": 3}', {"a": {"b": [1, 2]}, "c": 3}),
        ('{"a": "x"\n "b": "y"}', {"a": "x", "b": "y"}),
        ('{"code": "say "x"\n", "n": 1}', {"code": 'say "x"\n', "n": 1}),
        ('{"a": 1,, "b": [1,,2,],}', {"a": 1, "b": [1, 2]}),
        ('{"a": 1, "b', {"a": 1}),
        ('{"a": 1, "b":', {"a": 1}),
        ('{"a": "x\\', {"a": "x\\"}),
        ('{"a": "C:\\dir\\q", "b": "\\u12"}', {"a": "C:\\dir\\q", "b": "\\u12"}),
        ('{"a": "\\ud83d\\ude00', {"a": "😀"}),
        ("{a: NaN, b: -3.5, c: 1e999}", {"a": None, "b": -3.5, "c": "1e999"}),
        ('<tool_call>{"a": 1,}</tool_call>', {"a": 1}),
        ("{city}", {"arguments": "{city}"}),
        ("{city: Paris country: France}", {"arguments": "{city: Paris country: France}"}),
        ('{"a": 1] "b"', {"arguments": '{"a": 1] "b"'}),
        ('["x", {a: 1}]', {"arguments": '["x", {a: 1}]'}),
        ("{a: 1} or {b: 2}", {"arguments": "{a: 1} or {b: 2}"}),
        ('{"a": , "b": 1}', {"arguments": '{"a": , "b": 1}'}),
    ],
)
def test_objects(text: str, value: dict) -> None:
    assert orjson.loads(object_json(text)) == value


def test_a_payload_holds_no_broken_json() -> None:
    """Whoever made the call: vendors refuse a request for it."""
    called = assistant_message((ToolCallPart("c", "f", "{city: Paris"),))
    body = orjson.loads(OpenAIChat().payload([called], PayloadOptions("m")))
    (sent,) = body["messages"][0]["tool_calls"]
    assert orjson.loads(sent["function"]["arguments"]) == PARIS


@given(st.dictionaries(st.text(), st.none() | st.integers(-9, 9) | st.text() | st.lists(st.text())))
def test_what_is_an_object_stays_as_it_was_written(value: dict) -> None:
    for written in (json.dumps(value, indent=1), json.dumps(value, ensure_ascii=False)):
        assert object_json(written) == written
        assert objects_in(written) == [written]


PIECES = (
    *(
        "{",
        "}",
        "[",
        "]",
        '"',
        "'",
        "“",
        "”",
        ":",
        "：",
        ",",
        "，",
        "\\",
        "\n",
        " ",
        "a",
        "巴",
        "0",
        "-1.5",
        "True",
    ),
    *("{a:", '{"a":', '"x"', "\\u00e9", "\\ud83d", "```", "1e999", "null"),
)


@given(st.text(st.characters(codec=None)) | st.lists(st.sampled_from(PIECES)).map("".join))
def test_anything_becomes_an_object(text: str) -> None:
    assert isinstance(orjson.loads(object_json(text)), dict)


TEXTS = st.text(st.characters(categories=["L", "N", "P"]))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | TEXTS,
    lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner),
    max_leaves=9,
)


@given(st.dictionaries(TEXTS, VALUES, min_size=1))
def test_what_python_writes_is_read(value: dict) -> None:
    assert orjson.loads(object_json(repr(value))) == value


@given(st.dictionaries(TEXTS, VALUES), st.integers(1))
def test_of_an_object_that_was_cut_nothing_is_made_up(value: dict, end: int) -> None:
    """All fields but the last one are as they were."""
    text = json.dumps(value, ensure_ascii=False)
    cut = text[: end % len(text)].strip()
    read = orjson.loads(object_json(cut))
    whole = list(value.items())
    assert read in ({}, {"arguments": cut}) or (
        list(read.items())[:-1] == whole[: len(read) - 1] and [*read] == [*value][: len(read)]
    )


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
        ("{}" * 99_999, ["{}" * 99_999]),
    ],
)
def test_several_objects(text: str, texts: list[str]) -> None:
    assert objects_in(text) == texts
