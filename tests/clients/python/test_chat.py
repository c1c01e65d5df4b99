"""Chats of both clients against a fake server: events, the loop over tools, deadlines, calls that are dropped."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import threading
import time
from typing import Literal

import grpc
import pytest

from backscroll import (
    AsyncClient,
    BackscrollError,
    Client,
    ContextEvent,
    DeadlineExceeded,
    Delta,
    End,
    ErrorEvent,
    InvalidRequest,
    Notice,
    ToolCall,
    ToolCallEvent,
    ToolResult,
    Unavailable,
)
from backscroll._tools import MAX_RESULT_BYTES, ToolTable, schema_of
from backscroll.v1 import context_pb2 as pb

QUESTION = "when do we meet?"


def lookup(day: str) -> str:
    """Look up when we meet."""
    return f"on {day} at six"


def results_of(fake, at=1, rpc="StreamChat"):
    return [(one.text, one.is_error) for one in fake.requests(rpc)[at].tool_results]


def text(events):
    return "".join(event.text for event in events if isinstance(event, Delta))


# --- events ---------------------------------------------------------------------------------------


def test_the_events_of_an_answer(client, fake):
    events = client.stream_chat("room", QUESTION, asker="ann", self_ids=["bot"])
    assert [type(event) for event in events] == [ContextEvent, Delta, Delta, End]
    assert events[0].context.messages[-1] == {"role": "user", "content": QUESTION}
    assert text(events) == QUESTION
    end = events[-1]
    assert (end.reason, end.turn_id, end.reply_message_id, end.partial) == (
        "complete",
        "t1",
        "r1",
        False,
    )
    assert end.raw.end.turn_id == "t1"


def test_every_keyword_arrives(client, fake):
    client.stream_chat(
        "room", QUESTION, temperature=0.0, max_tool_iterations=3, enable_tools=False,
        max_output_tokens=50, question_message_id="q1", layout="single_user",
        overrides={"max_context": 4}, asked_at=1_795_132_800_000, system="a cat",
    )  # fmt: skip
    (request,) = fake.requests("StreamChat")
    call = request.model_call
    assert (call.temperature, call.max_tool_iterations, call.max_output_tokens) == (0.0, 3, 50)
    assert call.HasField("temperature")
    assert call.HasField("enable_tools")
    assert request.question_message_id == "q1"
    assert request.context.layout == pb.LAYOUT_SINGLE_USER
    assert request.context.overrides.max_context == 4
    assert request.context.asked_at_ms == 1_795_132_800_000
    assert request.context.system.text == "a cat"


def test_what_is_left_out_is_the_servers_to_decide(client, fake):
    """S5-30: the client has no defaults of its own."""
    client.stream_chat("room", QUESTION)
    request = fake.requests("StreamChat")[0]
    assert not request.model_call.ListFields()
    assert {field.name for field, _ in request.context.ListFields()} == {"channel", "question"}


def test_an_error_is_an_event(client, fake):
    fake.chat_events = [
        pb.StreamChatResponse(delta="so"),
        pb.StreamChatResponse(notice=pb.Notice(text="cut", reason=pb.END_REASON_LENGTH)),
        pb.StreamChatResponse(error=pb.ChatError(message="sorry", reason="timeout")),
        pb.StreamChatResponse(),  # a newer server's event
        pb.StreamChatResponse(end=pb.ChatEnd(reason=pb.END_REASON_UPSTREAM_ERROR, partial=True)),
    ]
    _, delta, notice, error, end = client.stream_chat("room", QUESTION)
    assert isinstance(delta, Delta)
    assert isinstance(notice, Notice)
    assert isinstance(error, ErrorEvent)
    assert (notice.text, notice.reason) == ("cut", "length")
    assert (error.message, error.reason) == ("sorry", "timeout")
    assert (end.reason, end.partial) == ("upstream_error", True)


def test_a_whole_answer(client, fake):
    answer = client.chat("room", QUESTION, asker="ann")
    assert (answer.text, answer.end.reason, answer.error) == (QUESTION, "complete", None)
    assert answer.context.messages[-1]["content"] == QUESTION
    assert answer.tool_calls == ()
    assert answer.raw.text == QUESTION


def test_a_whole_answer_has_its_error(client, fake):
    fake.chat_events = [
        pb.StreamChatResponse(delta="so"),
        pb.StreamChatResponse(error=pb.ChatError(message="sorry", reason="timeout")),
        pb.StreamChatResponse(end=pb.ChatEnd(reason=pb.END_REASON_UPSTREAM_ERROR)),
    ]
    answer = client.chat("room", QUESTION)
    assert (answer.text, answer.error.message, answer.error.reason) == ("so", "sorry", "timeout")


@pytest.mark.parametrize("name", ["chat", "stream_chat"])
def test_wrong_keywords_are_refused(client, fake, name):
    with pytest.raises(TypeError, match="'asked_at_ms'"):
        getattr(client, name)("room", QUESTION, asked_at_ms=5)
    with pytest.raises(ValueError, match="no Layout"):
        getattr(client, name)("room", QUESTION, layout="round")
    assert not fake.seen


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_wrong_arguments_come_up_at_the_call(kind):
    with pytest.raises(TypeError, match="question must be text"):
        kind("127.0.0.1:9").stream_chat("room", 5)


# --- deadlines and failures -----------------------------------------------------------------------


@pytest.mark.parametrize(("name", "rpc"), [("chat", "Chat"), ("stream_chat", "StreamChat")])
def test_a_chat_has_two_minutes(client, fake, name, rpc):
    getattr(client, name)("room", QUESTION)
    getattr(client, name)("room", QUESTION, timeout_s=5)
    first, second = (seen.seconds_left for seen in fake.seen if seen.rpc == rpc)
    assert 110 < first < 121
    assert 0 < second < 6


@pytest.mark.parametrize("name", ["chat", "stream_chat"])
def test_a_deadline_is_kept(client, fake, name):
    fake.endless_chat = True
    with pytest.raises(DeadlineExceeded):
        getattr(client, name)("room", QUESTION, timeout_s=0.3)


@pytest.mark.parametrize(("name", "rpc"), [("chat", "Chat"), ("stream_chat", "StreamChat")])
def test_a_chat_is_never_retried(client, fake, fakes, name, rpc):
    fake.fail(rpc, fakes.status_of(grpc.StatusCode.UNAVAILABLE), times=5)
    with pytest.raises(Unavailable):
        getattr(client, name)("room", QUESTION)
    assert len(fake.seen) == 1


def test_a_refusal_is_raised(client, fake, fakes):
    status = fakes.status_of(
        grpc.StatusCode.INVALID_ARGUMENT, "no question", "QUESTION_MISSING",
        metadata={"field": "context.question"},
    )  # fmt: skip
    fake.fail("StreamChat", status)
    with pytest.raises(InvalidRequest) as refused:
        client.stream_chat("room")
    assert (refused.value.reason, refused.value.field) == ("QUESTION_MISSING", "context.question")


def test_leaving_the_loop_ends_the_call(fake):
    fake.endless_chat = True
    with Client(fake.address) as client:
        for event in client.stream_chat("room", QUESTION):
            if isinstance(event, Delta):
                break
        assert fake.ended.wait(5)


async def test_leaving_the_loop_ends_the_call_async(fake):
    fake.endless_chat = True
    async with AsyncClient(fake.address) as client:
        async for event in client.stream_chat("room", QUESTION):
            if isinstance(event, Delta):
                break
        assert await asyncio.to_thread(fake.ended.wait, 5)


async def test_closing_the_iterator_ends_the_call_there_and_then(fake):
    fake.endless_chat = True
    async with AsyncClient(fake.address) as client:
        events = client.stream_chat("room", QUESTION, tools={"lookup": lookup})
        await anext(events)
        await events.aclose()
        assert await asyncio.to_thread(fake.ended.wait, 5)


async def test_cancelling_the_task_ends_the_call(fake):
    fake.endless_chat = True

    async def read(client):
        async for _ in client.stream_chat("room", QUESTION):
            reading.set()

    reading = asyncio.Event()
    async with AsyncClient(fake.address) as client:
        task = asyncio.create_task(read(client))
        await reading.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(fake.ended.wait, 5)


# --- tools ----------------------------------------------------------------------------------------


def test_the_client_runs_the_tools(client, fake):
    events = client.stream_chat("room", QUESTION, tools={"lookup": lookup})
    assert [type(event) for event in events] == [
        ContextEvent, Delta, ToolCallEvent, Delta, Delta, End,
    ]  # fmt: skip
    assert events[2].call == ToolCall("call0-0", "lookup", '{"day": "friday"}')
    assert text(events) == "let me see The tool says: on friday at six"
    first, second = fake.requests("StreamChat")
    assert first.model_call.enable_tools
    (tool,) = json.loads(first.context.tools_json)
    assert tool["function"]["name"] == "lookup"
    assert (second.turn_id, second.HasField("context")) == ("t1", False)
    assert second.tool_results[0].call_id == "call0-0"


def test_three_rounds_of_several_tools(client, fake):
    """S5-30: three rounds, each call answered once."""
    fake.tool_rounds = 3
    asked = []

    def weather(day: str):
        asked.append(day)
        return {"天气": "晴", "day": day}

    answer = client.chat("room", QUESTION, tools={"lookup": lookup, "weather": weather})
    assert answer.text == 'The tool says: on friday at six, {"天气": "晴", "day": "friday"}'
    assert answer.context.messages[-1]["content"] == QUESTION
    assert [call.name for call in answer.tool_calls] == ["lookup", "weather"] * 3
    assert (asked, answer.end.reason) == (["friday"] * 3, "complete")
    requests = fake.requests("Chat")
    assert len(requests) == 4
    assert [one.call_id for one in requests[2].tool_results] == ["call1-0", "call1-1"]


@pytest.mark.parametrize("name", ["chat", "stream_chat"])
def test_asynchronous_tools_are_awaited(fake, name):
    async def slow(day: str) -> str:
        await asyncio.sleep(0.01)
        return f"on {day}"

    async def ask():
        async with AsyncClient(fake.address) as client:
            if name == "chat":
                return (await client.chat("room", QUESTION, tools={"slow": slow})).text
            events = client.stream_chat("room", QUESTION, tools={"slow": slow})
            return text([event async for event in events])

    assert asyncio.run(ask()).endswith("The tool says: on friday")


@pytest.mark.parametrize("name", ["chat", "stream_chat"])
def test_asynchronous_tools_need_the_asynchronous_client(fake, name):
    """It is refused before the question is stored and the model called."""

    async def slow(day: str) -> str:
        return day

    with Client(fake.address) as client, pytest.raises(TypeError, match="'slow' is asynchronous"):
        list(getattr(client, name)("room", QUESTION, tools={"lookup": lookup, "slow": slow}))
    assert not fake.seen


@pytest.mark.parametrize(
    ("tools", "error", "says"),
    [
        ([lookup], TypeError, "a dict of functions by name, not list"),
        ({lookup}, TypeError, "a dict of functions by name, not set"),
        (lookup, TypeError, "a dict of functions by name, not function"),
        ({"lookup": "lookup"}, TypeError, "'lookup' cannot be called"),
        ({lookup: lookup}, TypeError, "is no text"),
        ({"天气": lookup}, ValueError, "takes '天气' as the name"),
        ({"look.up": lookup}, ValueError, "takes 'look.up'"),
        ({"x" * 65: lookup}, ValueError, "64"),
        ({"": lookup}, ValueError, "takes ''"),
    ],
)
@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_what_is_no_table_of_tools_comes_up_at_the_call(tools, error, says, kind):
    with pytest.raises(error, match=re.escape(says)):
        kind("127.0.0.1:9").stream_chat("room", QUESTION, tools=tools)


def test_names_in_schemas_of_ones_own_are_checked_too(client, fake):
    schema = json.dumps([{"type": "function", "function": {"name": "look up"}}])
    with pytest.raises(ValueError, match="look up"):
        client.chat("room", QUESTION, tools={"lookup": lookup}, tools_json=schema)
    assert not fake.seen


def test_a_tool_that_fails_costs_only_itself(client, fake, caplog):
    def fails(day: str) -> str:
        raise OSError("the password is hunter2")

    answer = client.chat("room", QUESTION, tools={"fails": fails, "lookup": lookup})
    assert answer.text == "The tool says: the tool failed, on friday at six"
    assert results_of(fake, rpc="Chat") == [("the tool failed", True), ("on friday at six", False)]
    assert "hunter2" in caplog.text  # the bot's own log, never the model


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ('{"day": ', "the arguments are no JSON object"),
        ("[1]", "the arguments are no JSON object"),
        ("[" * 100_000, "the arguments are no JSON object"),
        ('{"when": 1}', "the arguments do not fit: missing a required argument: 'day'"),
        ("", "the arguments do not fit: missing a required argument: 'day'"),
    ],
)
def test_arguments_that_do_not_fit_are_told_to_the_model(client, fake, arguments, says):
    fake.tool_arguments = arguments
    client.stream_chat("room", QUESTION, tools={"lookup": lookup})
    assert results_of(fake) == [(says, True)]


def test_a_tool_that_is_not_there(client, fake):
    schema = json.dumps([{"type": "function", "function": {"name": "other"}}])
    client.stream_chat("room", QUESTION, tools={"lookup": lookup}, tools_json=schema)
    assert results_of(fake) == [("there is no such tool", True)]


def test_what_is_too_long_for_a_result_is_cut(client, fake):
    client.stream_chat("room", QUESTION, tools={"lookup": lambda day: "猫\ud83d" * 40_000})
    ((said, is_error),) = results_of(fake)
    assert MAX_RESULT_BYTES - 4 <= len(said.encode()) <= MAX_RESULT_BYTES
    assert (said[-7:], is_error) == ("… [cut]", False)


class _Broken(dict):
    """A registry that cannot be read."""

    def __iter__(self):
        raise RuntimeError("registry is down")


class _Unspeakable:
    """A function whose schema cannot be made now."""

    @property
    def __signature__(self):
        raise RuntimeError("registry is down")

    def __call__(self):
        raise AssertionError


class _Away(dict):
    """A registry behind a network."""

    def __getitem__(self, name):
        raise ConnectionError("registry is away")


@pytest.mark.parametrize(
    "tools", [_Broken(lookup=lookup), _Away(lookup=lookup), {"lookup": _Unspeakable()}]
)
def test_without_a_registry_the_reply_goes_on(client, fake, caplog, tools):
    """S5-49: tools off, reply continues."""
    with caplog.at_level(logging.WARNING, "backscroll"):
        answer = client.chat("room", QUESTION, tools=tools, max_tool_iterations=5)
    assert (answer.text, answer.end.reason) == (QUESTION, "complete")
    (request,) = fake.requests("Chat")
    assert (request.model_call.enable_tools, request.context.tools_json) == (False, "")
    assert "tools are off" in caplog.text


class _Awaited:
    """An object that is called and must be awaited."""

    async def __call__(self, day: str) -> str:
        return f"on {day}"


def _promised(day: str):
    """A plain function that returns what must be awaited."""
    return _Awaited()(day)


@pytest.mark.parametrize("name", ["chat", "stream_chat"])
@pytest.mark.parametrize("tool", [_Awaited(), _promised], ids=["call", "hidden"])
def test_what_must_be_awaited_is_never_a_result(fake, name, tool):
    """The synchronous client refuses it; the asynchronous one awaits it."""
    schema = json.dumps([schema_of("slow", _Awaited())])
    options = {"tools": {"slow": tool}, "tools_json": schema}

    async def ask():
        async with AsyncClient(fake.address) as client:
            if name == "chat":
                return (await client.chat("room", QUESTION, **options)).text
            return text([event async for event in client.stream_chat("room", QUESTION, **options)])

    assert asyncio.run(ask()).endswith("The tool says: on friday")
    with Client(fake.address) as client, pytest.raises(TypeError, match="AsyncClient"):
        list(getattr(client, name)("room", QUESTION, **options))


async def test_plain_tools_leave_the_event_loop_alone(fake):
    """A tool that blocks is waited for in a thread: the loop goes on, whatever the tool raises."""
    go, on_loop = threading.Event(), threading.get_ident()

    def blocks(day: str) -> str:
        assert go.wait(10)
        return "elsewhere" if threading.get_ident() != on_loop else "on the loop"

    def stops(day: str) -> str:
        raise StopIteration

    async with AsyncClient(fake.address) as client:
        asking = asyncio.create_task(
            client.chat("room", QUESTION, tools={"blocks": blocks, "stops": stops})
        )
        await asyncio.sleep(0.2)
        go.set()
        answer = await asyncio.wait_for(asking, 10)
    assert answer.text == "The tool says: elsewhere, the tool failed"


def find(day: str, *, limit: int = 5, _db: str = "the bot's") -> str:
    """Find it."""
    return f"{day} {limit} {_db}"


BY_HAND = {"name": "find", "parameters": {"properties": {"day": {"type": "string"}}}}


@pytest.mark.parametrize(
    ("by_hand", "arguments", "says"),
    [
        (None, {"day": "now", "limit": 1}, ("now 1 the bot's", False)),
        (None, {"day": "now", "_db": "mine"}, ("there is no '_db'", True)),
        (BY_HAND, {"day": "now"}, ("now 5 the bot's", False)),
        (BY_HAND, {"day": "now", "limit": 1}, ("there is no 'limit'", True)),
        ({"name": "find"}, {"day": "now", "limit": 1}, ("now 1 the bot's", False)),
        ({"name": "find"}, {"day": "now", "_db": "mine"}, ("there is no '_db'", True)),
    ],
)
def test_a_model_sets_what_its_schema_lists(client, fake, by_hand, arguments, says):
    """What the function takes besides is the bot's own."""
    fake.tool_arguments = json.dumps(arguments)
    schema = json.dumps([{"type": "function", "function": by_hand}]) if by_hand else ""
    client.stream_chat("room", QUESTION, tools={"find": find}, tools_json=schema)
    ((said, is_error),) = results_of(fake)
    assert (said.removeprefix("the arguments do not fit: "), is_error) == says


def test_private_parameters_stay_out_of_the_schema(client, fake):
    assert list(schema_of("find", find)["function"]["parameters"]["properties"]) == ["day", "limit"]

    def needs(_db: str):
        pass

    with pytest.raises(ValueError, match="underscore"):
        client.chat("room", QUESTION, tools={"needs": needs})
    assert not fake.seen


def test_a_tool_the_model_was_not_given_is_not_run(client, fake, monkeypatch):
    """The table may hold more than its schemas tell."""
    given = [{"type": "function", "function": {"name": "lookup"}}]
    answer = client.chat(
        "room", QUESTION, tools={"lookup": lookup, "other": find}, tools_json=json.dumps(given)
    )
    assert answer.text == "The tool says: on friday at six"
    table = ToolTable.of({"lookup": lookup, "other": find}, json.dumps(given))
    assert table.run_of(ToolCall("c", "other", '{"day": "x"}')).now().is_error


# --- a round that fails ---------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "rpc"), [("chat", "Chat"), ("stream_chat", "StreamChat")])
def test_results_are_sent_again_once(client, fake, fakes, name, rpc):
    """The tools do not run twice because the server was away for a moment."""
    ran = []

    def count(day: str) -> str:
        ran.append(day)
        fake.fail(rpc, fakes.status_of(grpc.StatusCode.UNAVAILABLE))
        return "at six"

    answer = getattr(client, name)("room", QUESTION, tools={"count": count})
    said = answer.text if name == "chat" else text(answer)
    assert said.endswith("The tool says: at six")
    _, second, third = fake.requests(rpc)
    assert second == third
    assert (third.turn_id, ran) == ("t1", ["friday"])


@pytest.mark.parametrize(("name", "rpc"), [("chat", "Chat"), ("stream_chat", "StreamChat")])
@pytest.mark.parametrize(("code", "tries"), [("UNAVAILABLE", 2), ("RESOURCE_EXHAUSTED", 1)])
def test_an_error_behind_the_tools_has_what_continues_the_turn(
    client, fake, fakes, name, rpc, code, tries
):
    def fails(day: str) -> str:
        fake.fail(rpc, fakes.status_of(grpc.StatusCode[code]), times=tries)
        return "at six"

    with pytest.raises(BackscrollError) as failed:
        getattr(client, name)("room", QUESTION, tools={"fails": fails})
    assert len(fake.requests(rpc)) == 1 + tries
    error = failed.value
    assert error.turn_id == "t1"
    assert [one.text for one in error.tool_results] == ["at six"]
    answer = client.chat(turn_id=error.turn_id, tool_results=error.tool_results)
    assert answer.text == "The tool says: at six"


def test_a_round_that_was_heard_is_not_sent_again(client, fake, fakes):
    """Deltas passed on would come twice."""

    def breaks(day: str) -> str:
        fake.breaks_after = 1
        return "at six"

    with pytest.raises(Unavailable) as failed:
        client.stream_chat("room", QUESTION, tools={"breaks": breaks})
    assert len(fake.requests("StreamChat")) == 2
    assert failed.value.turn_id == "t1"


def test_calls_of_a_turn_that_is_not_kept_are_not_run(client, fake):
    """Without a turn_id nobody takes the results."""
    call = pb.StreamChatResponse(tool_call={"id": "c1", "name": "lookup", "arguments_json": "{}"})
    end = pb.StreamChatResponse(end=pb.ChatEnd(reason=pb.END_REASON_TOOL_CALLS))
    fake.chat_events = [call, end]
    events = client.stream_chat("room", QUESTION, tools={"lookup": lookup})
    assert isinstance(events[-1], End)
    assert len(fake.requests("StreamChat")) == 1


@pytest.mark.parametrize("wait_ms", [None, 0, 20_000])
def test_how_long_to_wait_is_told(client, fake, wait_ms):
    """The vendor's Retry-After, in both calls."""
    error = pb.ChatError(message="sorry", reason="rate_limited", retry_after_ms=wait_ms)
    end = pb.ChatEnd(reason=pb.END_REASON_UPSTREAM_ERROR)
    fake.chat_events = [pb.StreamChatResponse(error=error), pb.StreamChatResponse(end=end)]
    _, heard, _ = client.stream_chat("room", QUESTION)
    assert heard.retry_after_ms == wait_ms
    assert client.chat("room", QUESTION).error.retry_after_ms == wait_ms


@pytest.mark.parametrize(
    "options", [{"tools": {}}, {"tools": {"a": lookup}, "enable_tools": False}]
)
def test_no_tools_no_loop(client, fake, options):
    assert client.chat("room", QUESTION, **options).text == QUESTION
    assert not fake.requests("Chat")[0].model_call.enable_tools


def test_without_a_table_the_bot_continues_by_itself(client, fake):
    schema = json.dumps([schema_of("lookup", lookup)])
    answer = client.chat("room", QUESTION, tools_json=schema, enable_tools=True)
    assert (answer.end.reason, answer.end.turn_id) == ("tool_calls", "t1")
    (call,) = answer.tool_calls
    events = client.stream_chat(
        turn_id="t1", tool_results=[ToolResult(call.id, "at six", is_error=True)]
    )
    assert text(events) == "The tool says: at six"
    (request,) = fake.requests("StreamChat")
    assert request.turn_id == "t1"
    assert not request.HasField("context")
    assert results_of(fake, 0) == [("at six", True)]


def test_a_server_that_never_stops_asking_is_left(client, fake):
    fake.tool_rounds = 1_000
    answer = client.chat("room", QUESTION, tools={"lookup": lookup}, max_tool_iterations=4)
    assert answer.end.reason == "tool_calls"
    assert len(fake.requests("Chat")) == 1 + 4


def test_the_tools_own_time_is_not_the_calls(client, fake):
    def slow(day: str) -> str:
        time.sleep(0.4)
        return day

    fake.tool_rounds = 2
    answer = client.chat("room", QUESTION, tools={"slow": slow}, timeout_s=0.7)
    assert answer.end.reason == "complete"


# --- schemas --------------------------------------------------------------------------------------


def test_a_schema_of_annotations():
    def book(
        room: str,
        hours: int = 1,
        *,
        price: float | None = None,
        kind: Literal["big", "small"] = "big",
        guests: list[str] = (),
        anything=None,
        **rest: str,
    ) -> str:
        """Book a room
        for some hours.

        More.
        """

    assert schema_of("book", book) == {
        "type": "function",
        "function": {
            "name": "book",
            "description": "Book a room for some hours.",
            "parameters": {
                "type": "object",
                "properties": {
                    "room": {"type": "string"},
                    "hours": {"type": "integer"},
                    "price": {"type": "number"},
                    "kind": {"enum": ["big", "small"]},
                    "guests": {"type": "array", "items": {"type": "string"}},
                    "anything": {},
                },
                "required": ["room"],
            },
        },
    }


def test_a_function_that_tells_too_little_needs_a_schema(client, fake):
    def odd(a: NotThere):  # noqa: F821
        pass

    for function in (odd, len, lambda a, /: a):
        with pytest.raises(ValueError, match="give tools_json"):
            client.stream_chat("room", QUESTION, tools={"odd": function})
    assert not fake.seen
