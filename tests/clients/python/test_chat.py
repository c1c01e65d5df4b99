"""Chats of both clients against a fake server: events, deadlines, calls that are dropped."""

import asyncio

import grpc
import pytest

from backscroll import (
    AsyncClient,
    Client,
    ContextEvent,
    DeadlineExceeded,
    Delta,
    End,
    ErrorEvent,
    InvalidRequest,
    Notice,
    Unavailable,
)
from backscroll.v1 import context_pb2 as pb
from tests.clients.python.chat_kit import QUESTION, lookup, text

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


@pytest.mark.row("S5-30")
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
        assert fake.ended.wait(60)


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


# --- a round that fails ---------------------------------------------------------------------------


@pytest.mark.parametrize("wait_ms", [None, 0, 20_000])
def test_how_long_to_wait_is_told(client, fake, wait_ms):
    """The vendor's Retry-After, in both calls."""
    error = pb.ChatError(message="sorry", reason="rate_limited", retry_after_ms=wait_ms)
    end = pb.ChatEnd(reason=pb.END_REASON_UPSTREAM_ERROR)
    fake.chat_events = [pb.StreamChatResponse(error=error), pb.StreamChatResponse(end=end)]
    _, heard, _ = client.stream_chat("room", QUESTION)
    assert heard.retry_after_ms == wait_ms
    assert client.chat("room", QUESTION).error.retry_after_ms == wait_ms
