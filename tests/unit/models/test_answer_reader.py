import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll_sidecar.domain import ToolCallPart
from backscroll_sidecar.models.chat_reader import ChatReader
from backscroll_sidecar.models.tool_calls import MAX_TOOL_CHARS, SafeText
from backscroll_sidecar.ports import (
    Finished,
    FinishReason,
    ModelError,
    ModelEvent,
    TextDelta,
    ToolCallDelta,
    UsageDelta,
)


def chunk(finish: str | None = None, **delta) -> dict:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def calling(*pieces: dict, finish: str | None = "tool_calls") -> list[ToolCallPart]:
    events = read(*({**chunk(tool_calls=[piece])} for piece in pieces), chunk(finish))
    return [event.call for event in events if isinstance(event, ToolCallDelta)]


def read(*chunks: object) -> list[ModelEvent]:
    reader = ChatReader()
    deltas = [reader.take(one) for one in chunks]
    return [*(TextDelta(delta) for delta in deltas if delta), *reader.end()]


def piece(
    index: object = None, id: str | None = None, name: str | None = None, arguments: object = None
) -> dict:
    return {"index": index, "id": id, "function": {"name": name, "arguments": arguments}}


def test_calls_mixed_up_come_in_order() -> None:
    assert calling(
        piece(0, "a", "f", ""), piece(1, "b", "g", ""), piece(0, arguments='{"x"'), piece(1, arguments="{}"),
        piece(0, arguments=": 1}"),
    ) == [ToolCallPart("a", "f", '{"x": 1}'), ToolCallPart("b", "g", "{}")]  # fmt: skip


@pytest.mark.parametrize(
    "pieces",
    [
        [piece(0, "a", "f", "{"), piece(0, "a", "f", "}"), piece(1, "b", "g", "{}")],
        [piece(0, "a", "f", "{}"), piece(0, "b", "g", "{}")],
        [piece(None, "a", "f", "{"), piece(None, arguments="}"), piece(None, "b", "g", "{}")],
        [piece(0, "a", "f", {}), piece(1, "b", "g", None)],
        [piece(0, "a", "f"), piece(1, "b", "g", "  ")],
    ],
    ids=[
        "id and name repeated",
        "index always 0",
        "no index",
        "arguments as an object",
        "no arguments",
    ],
)
def test_other_servers_ways(pieces: list[dict]) -> None:
    assert calling(*pieces) == [ToolCallPart("a", "f", "{}"), ToolCallPart("b", "g", "{}")]


def test_calls_without_ids_get_ids_of_their_own() -> None:
    first, second = calling(piece(None, None, "f", "{}"), piece(None, "", "g", "{}"))
    assert (first.name, second.name) == ("f", "g")
    assert first.id != second.id
    assert first.id.startswith("call_")


def test_arguments_are_repaired_once_the_model_has_stopped() -> None:
    assert calling(piece(0, "a", "f", '{"x": 1')) == [ToolCallPart("a", "f", '{"x":1}')]
    with pytest.raises(ModelError):
        calling(piece(0, "a", "f", '{"x":'), finish=None)


def test_calls_have_a_size() -> None:
    reader, half = ChatReader(), "x" * (MAX_TOOL_CHARS // 2)
    reader.take(chunk(tool_calls=[piece(0, "a", "f", half)]))
    with pytest.raises(ModelError):
        reader.take(chunk(tool_calls=[piece(0, arguments=half)]))


def test_calls_without_end_have_one() -> None:
    reader = ChatReader()
    endless = [piece(index) for index in range(MAX_TOOL_CHARS // 100)]
    with pytest.raises(ModelError):
        reader.take(chunk(tool_calls=endless))


@pytest.mark.parametrize("reason", ["length", "content_filter"])
def test_calls_of_an_answer_cut_off_are_dropped(reason: str) -> None:
    assert calling(piece(0, "a", "f", "{}"), finish=reason) == []


@pytest.mark.parametrize(
    ("usage", "event"),
    [
        ({"prompt_tokens": 3, "completion_tokens": 2}, UsageDelta(3, 2)),
        ({"prompt_tokens": 3}, UsageDelta(3, 0)),
        ({"prompt_tokens": -3, "completion_tokens": "2"}, UsageDelta(0, 0)),
        ({}, None),
        ([], None),
        (None, None),
    ],
)
def test_usage(usage: object, event: UsageDelta | None) -> None:
    expected = [event, Finished(FinishReason.STOP)] if event else [Finished(FinishReason.STOP)]
    assert read(chunk("stop"), {"usage": usage}) == expected


def test_the_first_reason_counts() -> None:
    assert read(chunk("length"), chunk("stop"))[-1] == Finished(FinishReason.LENGTH)
    assert read(chunk("odd"), chunk("stop"))[-1] == Finished(FinishReason.STOP)


@given(st.lists(st.text(st.characters(codec=None), max_size=6), max_size=8))
def test_text_is_the_same_however_it_is_cut(pieces: list[str]) -> None:
    """Lone halves included: as if the text had come in one piece."""

    def fed(*parts: str) -> str:
        safe = SafeText()
        return "".join([*map(safe.feed, parts), safe.end()])

    text = fed(*pieces)
    assert text == fed("".join(pieces))
    assert "\0" not in text
    text.encode()


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.floats(allow_nan=False)
    | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)
shaped = st.fixed_dictionaries(
    {},
    optional={
        "choices": json_values
        | st.lists(
            json_values
            | st.fixed_dictionaries(
                {},
                optional={
                    "index": json_values,
                    "finish_reason": json_values
                    | st.sampled_from(["stop", "tool_calls", "length"]),
                    "delta": json_values
                    | st.fixed_dictionaries(
                        {},
                        optional={
                            "content": json_values,
                            "tool_calls": json_values
                            | st.lists(
                                st.fixed_dictionaries(
                                    {},
                                    optional={
                                        "index": json_values,
                                        "id": json_values,
                                        "function": json_values
                                        | st.fixed_dictionaries(
                                            {},
                                            optional={
                                                "name": json_values,
                                                "arguments": json_values,
                                            },
                                        ),
                                    },
                                ),
                                max_size=2,
                            ),
                        },
                    ),
                },
            ),
            max_size=2,
        ),
        "usage": json_values,
        "error": json_values,
    },
)


@given(st.lists(json_values | shaped, max_size=4))
def test_whatever_a_server_sends_is_events_or_a_model_error(chunks: list[object]) -> None:
    try:
        events = read(*(json.loads(json.dumps(one)) for one in chunks))
    except ModelError:
        return
    assert [type(event) for event in events].count(Finished) == 1
    assert isinstance(events[-1], Finished)
    assert all(event.text for event in events if isinstance(event, TextDelta))


def test_an_id_too_long_to_send_back_is_replaced() -> None:
    """Gateways keep signatures in ids; the bot may send back 512 bytes."""
    long, exact = calling(piece(0, "x" * 513, "f", "{}"), piece(1, "猫" * 170, "g", "{}"))
    assert long.id.startswith("call_")
    assert len(long.id) < 40
    assert exact.id == "猫" * 170


def test_an_id_used_twice_is_replaced_once() -> None:
    """Each call is answered by its own result."""
    first, second = calling(piece(0, "a", "f", "{}"), piece(1, "a", "f", '{"x": 1}'))
    assert first.id == "a"
    assert second.id != "a"
    assert (first.arguments_json, second.arguments_json) == ("{}", '{"x": 1}')


@pytest.mark.parametrize("count", [1, 513])
def test_calls_nobody_could_answer_are_no_answer(count: int) -> None:
    """A name longer than 512 bytes; more calls than results fit a request."""
    name = "f" if count > 1 else "猫" * 171
    with pytest.raises(ModelError, match="too large"):
        calling(*(piece(n, f"c{n}", name, "{}") for n in range(count)))
