"""The loop over tools: rounds, rounds that fail, turns the bot continues by itself."""

import json
import time

import grpc
import pytest

from backscroll import (
    BackscrollError,
    ContextEvent,
    Delta,
    End,
    ToolCall,
    ToolCallEvent,
    ToolResult,
    Unavailable,
)
from backscroll._tools import schema_of
from backscroll.v1 import context_pb2 as pb
from tests.clients.python.chat_kit import QUESTION, lookup, results_of, text

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


@pytest.mark.row("S5-30")
def test_three_rounds_of_several_tools(client, fake):
    """S5-30: three rounds, each call answered once."""
    fake.tool_exchanges = 3
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
    fake.tool_exchanges = 1_000
    answer = client.chat("room", QUESTION, tools={"lookup": lookup}, max_tool_iterations=4)
    assert answer.end.reason == "tool_calls"
    assert len(fake.requests("Chat")) == 1 + 4


def test_the_tools_own_time_is_not_the_calls(client, fake):
    def slow(day: str) -> str:
        time.sleep(1.2)
        return day

    fake.tool_exchanges = 2
    answer = client.chat("room", QUESTION, tools={"slow": slow}, timeout_s=2.0)
    assert answer.end.reason == "complete"
