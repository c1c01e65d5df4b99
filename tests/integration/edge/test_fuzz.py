"""Anything at all, to every method over a socket: never INTERNAL, never UNKNOWN, and the server goes on."""

import asyncio
import struct
from typing import Any

import grpc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backscroll.v1 import context_pb2, history_pb2
from backscroll.v1 import message_pb2 as pb
from tests.integration.edge.conftest import serving, text
from tests.integration.edge.sending import METHODS, SERVICES, code_of, kind_of
from tests.kit.examples import examples
from tests.unit.edge.builders import full_message

ODD_TEXT = st.sampled_from(
    ["", " ", "\0", "x" * 600, "小" * 200, "a/b", "'\"", "\u202e", "\u200b", "g", "m1", "u1", "UTC", "[]",
     "balanced", "classic", "🎉", "%s%n", "{{question}}", "A", "AQAAAAAAAAAB", "../..", "\n\nSystem: x"]
)  # fmt: skip
KNOWN = {  # so that odd values meet what is stored
    "channel": ["g"],
    "id": ["m1", "u1", "new"],
    "message_id": ["m1", "m2"],
    "trigger_message_id": ["m3"],
    "author_id": ["u1"],
    "user_id": ["u1"],
    "question": ["where is line 3?"],
    "profile": ["balanced", "classic", "naive", "retrieval"],
    "time_zone": ["Asia/Shanghai", "UTC", ""],
    "tools_json": ["", "[]", "[{}]"],
}
VECTORS = [b"", b"abc", b"\0" * 8, struct.pack("<2f", 1, float("nan")), struct.pack("<2f", 1, 2)]
TIMES = [0, 1, -1, 1_700_000_000_000, 253_402_300_799_999, 2**63 - 1, -(2**63)]
ODD_INT = st.sampled_from([0, 1, 2, 3, 7, 99, 1_000, 1_001, 2**31 - 1])


def mutated(kind: Any) -> st.SearchStrategy[bytes]:
    """Valid messages with odd values; then, sometimes, a byte changed or the end cut off."""
    messages = odd_messages(kind)
    spoilt = st.tuples(messages, st.integers(0, 10_000), st.integers(0, 255)).map(spoil)
    return st.one_of(messages.map(lambda one: one.SerializeToString()), spoilt)


def spoil(parts: tuple[Any, int, int]) -> bytes:
    message, place, value = parts
    raw = bytearray(message.SerializeToString())
    if not raw:
        return bytes([value])
    place %= len(raw)
    raw[place] = value
    return bytes(raw[: place + 1] if value % 3 == 0 else raw)


FUZZED_PROFILES = [
    "balanced",
    "classic",
    "chain_recent",
    "retrieval",
    "naive",
    "hybrid",
    "room",
    "steady",
]


@st.composite
def odd_messages(draw: Any, kind: Any, depth: int = 0) -> Any:
    message = kind()
    for field in kind.DESCRIPTOR.fields:
        if draw(st.integers(0, 2)) and field.name != "channel":
            continue
        fill(draw, message, field, depth)
    return message


def fill(draw: Any, message: Any, field: Any, depth: int) -> None:
    current = getattr(message, field.name)
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        current[draw(ODD_TEXT)] = draw(ODD_TEXT)
        return
    repeated = hasattr(current, "append")
    if field.type == field.TYPE_MESSAGE:
        if depth < 4:
            inner = draw(odd_messages(field.message_type._concrete_class, depth + 1))
            (current.append if repeated else current.CopyFrom)(inner)
        return
    value = scalar(draw, field)
    if repeated:
        current.append(value)
    else:
        setattr(message, field.name, value)


def scalar(draw: Any, field: Any) -> Any:
    match field.type:
        case field.TYPE_STRING if field.name in KNOWN:
            return draw(st.sampled_from(KNOWN[field.name]) | ODD_TEXT)
        case field.TYPE_STRING:
            return draw(ODD_TEXT)
        case field.TYPE_BYTES:
            return draw(st.sampled_from(VECTORS))
        case field.TYPE_BOOL:
            return draw(st.booleans())
        case field.TYPE_DOUBLE:
            return draw(st.sampled_from([0.0, 0.5, 1.0, -1.0, 1e308, float("nan"), float("inf")]))
        case field.TYPE_INT64:
            return draw(st.sampled_from(TIMES))
        case field.TYPE_UINT32:
            return draw(st.sampled_from([0, 1, 5, 16, 500, 501, 4_096, 2**32 - 1]))
        case _:
            return draw(ODD_INT)


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A server over SQLite, in a loop of its own, since hypothesis calls a test many times without one."""
    runner = asyncio.Runner()
    context = serving(database=tmp_path_factory.mktemp("fuzz") / "fuzz.db")
    served = runner.run(context.__aenter__())
    runner.run(served.append("g", *[text(f"line {i}", f"m{i}") for i in range(20)]))
    yield lambda *arguments: runner.run(code_of(served, *arguments))
    runner.run(context.__aexit__(None, None, None))
    runner.close()


EXAMPLES = examples(60)
FUZZ = settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
@given(data=st.data())
@FUZZ
def test_any_bytes_get_a_typed_answer(fuzzed: Any, method: Any, data: Any) -> None:
    """No INTERNAL or UNKNOWN from any input; every error of ours has a reason."""
    raw = data.draw(st.lists(st.binary(max_size=80), min_size=1, max_size=3))
    fuzzed(method, *raw)


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
@given(data=st.data())
@FUZZ
def test_any_message_gets_a_typed_answer(fuzzed: Any, method: Any, data: Any) -> None:
    """The same for messages that are nearly right."""
    kind = kind_of(method)
    raw = data.draw(st.lists(mutated(kind), min_size=1, max_size=3))
    fuzzed(method, *raw)


def test_the_server_still_answers_after_all_that(fuzzed: Any) -> None:
    request = context_pb2.BuildContextRequest(channel="g", question="still there?")
    build = SERVICES[0].methods_by_name["BuildContext"]
    assert fuzzed(build, request.SerializeToString()) is grpc.StatusCode.OK


def test_a_full_message_of_every_kind_gets_a_typed_answer(fuzzed: Any) -> None:
    for method in METHODS:
        kind = kind_of(method)
        fuzzed(method, full_message(kind()).SerializeToString())


# --- requests that are right, with values that are odd ---------------------------------------------

WORDS = st.sampled_from(
    ["hello", "line 3", "那猫呢？", "@Ann what?", "🎉" * 3, "x" * 2_000, "a\nb\r\u2028c", "{{question}}", "\u202eabc",
     "<|endoftext|>", "Assistant: yes", "u1", " ", "'\"", "%s{}", "的" * 500, "\ufeff", "e\u0301" * 50, "https://a.b/c?d=e#f"]
)  # fmt: skip
SOME_IDS = st.sampled_from(["u1", "u2", "小黑", "a/b", "\u202ex", "m1", "m2", "new", "x" * 512])
GOOD_TIMES = st.sampled_from([0, 1, 1_700_000_000_000, 1_700_000_300_000, 253_402_214_399_999])


@st.composite
def good_messages(draw: Any) -> pb.Message:
    """A message that is stored, some with a warning."""
    parts = draw(
        st.lists(
            st.builds(pb.Part, text=st.builds(pb.TextPart, text=WORDS))
            | st.builds(pb.Part, media=st.builds(pb.MediaPart, kind=WORDS, alt_text=WORDS))
            | st.builds(pb.Part, tool_call=st.builds(pb.ToolCallPart, id=WORDS, name=WORDS))
            | st.builds(pb.Part, tool_result=st.builds(pb.ToolResultPart, name=WORDS, text=WORDS)),
            min_size=1,
            max_size=3,
        )
    )
    return pb.Message(
        id=draw(SOME_IDS | st.uuids().map(str)),
        author=pb.Author(id=draw(SOME_IDS), name=draw(WORDS)[:100], kind=draw(st.integers(0, 3))),
        role=draw(st.integers(0, 4)),
        parts=parts,
        sent_at_ms=draw(st.sampled_from([0, 1, 1_700_000_000_000, 2**53, 2**63 - 1])),
        reply=draw(st.none() | st.builds(pb.Reply, message_id=SOME_IDS, kind=st.integers(0, 3))),
        thread_id=draw(st.none() | SOME_IDS),
    )


@st.composite
def good_questions(draw: Any) -> context_pb2.BuildContextRequest:
    """A question within all bounds the contract names."""

    def some(strategy: st.SearchStrategy[Any]) -> Any:
        return draw(st.none() | strategy)

    overrides = st.builds(
        context_pb2.Overrides,
        use_intelligent_context=st.none() | st.booleans(),
        max_context=st.none() | st.sampled_from([1, 2, 500]),
        time_window_hours=st.none() | st.sampled_from([1, 87_600]),
        relevance_threshold=st.none() | st.sampled_from([0.0, 0.3, 1.0]),
        sources=st.lists(st.sampled_from(["recent", "window", "thread", "semantic"]), max_size=3),
        max_chars_per_message=st.none() | st.sampled_from([16, 17, 65_536]),
        recent_limit=st.none() | st.sampled_from([0, 1, 500]),
        recent_floor=st.none() | st.sampled_from([0, 100]),
    )
    system = st.builds(
        context_pb2.SystemPrompt,
        text=WORDS,
        is_template=st.booleans(),
        parameters=st.dictionaries(st.sampled_from(["a", "question", "}}"]), WORDS, max_size=2),
    )
    return context_pb2.BuildContextRequest(
        channel=draw(st.sampled_from(["odd", "odd", "never heard of", ""])),
        asker=some(st.builds(pb.Author, id=SOME_IDS, name=WORDS.map(lambda name: name[:100]))),
        question=draw(WORDS.filter(lambda words: words.strip(" \ufeff"))),
        trigger_message_id=some(SOME_IDS),
        asked_at_ms=some(GOOD_TIMES.filter(lambda at_ms: at_ms < 10**14)),
        reply=some(st.builds(pb.Reply, message_id=SOME_IDS, inferred=st.booleans())),
        mentions=draw(st.lists(st.builds(pb.Mention, user_id=SOME_IDS, name=st.just("Ann")), max_size=2)),
        thread_id=some(SOME_IDS | st.just("")),
        session_id=some(SOME_IDS),
        self_ids=draw(st.lists(SOME_IDS, max_size=2)),
        profile=some(st.sampled_from(FUZZED_PROFILES)),
        overrides=some(overrides),
        layout=draw(st.integers(0, 4)),
        speaker_style=draw(st.integers(0, 2)),
        time_style=draw(st.integers(0, 3)),
        time_zone=draw(st.sampled_from(["", "Asia/Shanghai", "Pacific/Kiritimati", "Etc/GMT+12"])),
        system=some(system),
        include_system=draw(st.booleans()),
        tools_json=draw(st.sampled_from(["", "[]", '[{"type":"function"}]'])),
        reserve_tokens=some(st.sampled_from([0, 100, 2**32 - 1])),
        preferences=draw(st.lists(WORDS, max_size=2)),
        query_embedding=some(st.just(pb.Embedding(embedder_id="e", values=VECTORS[-1]))),
        token_budget=some(st.sampled_from([1, 200, 4_096, 2**32 - 1])),
        tokenizer=draw(st.integers(0, 3)),
        payload_formats=draw(st.sampled_from([[], [0], [1], [2]])),
        model=draw(WORDS.map(lambda name: name[:50])),
        explain=draw(st.booleans()),
        question_label=some(WORDS.map(lambda label: label[:50])),
        include_names=draw(st.booleans()),
        visible_since_membership=draw(st.booleans()),
    )  # fmt: skip


@given(st.lists(good_messages(), max_size=4), good_questions())
@settings(FUZZ, max_examples=EXAMPLES * 5)
def test_any_good_question_is_answered(
    fuzzed: Any, messages: list[pb.Message], question: context_pb2.BuildContextRequest
) -> None:
    """What keeps to the bounds is answered, or refused for a reason that its values have."""
    append = SERVICES[1].methods_by_name["AppendMessages"]
    batch = history_pb2.AppendMessagesRequest(channel="odd", messages=messages)
    assert fuzzed(append, batch.SerializeToString()) is grpc.StatusCode.OK
    build = SERVICES[0].methods_by_name["BuildContext"]
    code = fuzzed(build, question.SerializeToString())
    if question.token_budget > 1_000_000 and question.reserve_tokens <= 100:
        assert code is grpc.StatusCode.OK
    assert code in {grpc.StatusCode.OK, grpc.StatusCode.INVALID_ARGUMENT}
