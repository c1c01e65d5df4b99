"""The load is bounded by count, callers and time; the chats are real, in order, and never the same message twice."""

import asyncio
from itertools import islice

import pytest

from backscroll.v1 import context_pb2, history_pb2
from backscroll_bench.speed import chats, lived_in, vectors
from backscroll_bench.speed.load import MOST_CONCURRENT, closed_loop
from backscroll_bench.speed.questions import answered, is_loaded


class Calls:
    """Counts who is under way."""

    def __init__(self):
        self.seen, self.now, self.most = [], 0, 0

    async def __call__(self, request):
        self.now += 1
        self.most = max(self.most, self.now)
        self.seen.append(request)
        await asyncio.sleep(0)
        self.now -= 1
        return b""


async def test_a_cold_channel_is_asked_until_nothing_was_too_late():
    late = [("gather", "history", "TIMEOUT"), ("rank", "", "DEADLINE")]
    away = ("rank", "semantic", "NOT_CONFIGURED")
    answers = [
        context_pb2.BuildContextResponse(
            degradations=[
                context_pb2.Degradation(stage=stage, source=source, reason=reason)
                for stage, source, reason in lost
            ]
        ).SerializeToString()
        for lost in ([late[0]], [away, late[1]], [away])
    ]
    left = iter(answers)

    async def call(_):
        return next(left)

    assert await answered(call, b"", is_loaded) == answers[-1]


@pytest.mark.parametrize("concurrency", [1, 3])
async def test_requests_are_taken_in_turn_by_so_many_callers(concurrency):
    calls = Calls()
    load = await closed_loop(calls, [b"a", b"b"], 7, concurrency=concurrency)
    assert (calls.seen.count(b"a"), calls.seen.count(b"b")) == (4, 3)
    assert (len(load.latencies_s), calls.most) == (7, concurrency)
    assert load.per_second == 7 / load.elapsed_s


async def test_no_call_begins_when_the_time_is_up():
    calls = Calls()
    await closed_loop(calls, [b"a"], 1_000_000, concurrency=2, longest_s=0.01)
    assert 0 < len(calls.seen) < 1_000_000


@pytest.mark.parametrize("concurrency", [0, MOST_CONCURRENT + 1])
async def test_callers_are_bounded(concurrency):
    with pytest.raises(ValueError, match="callers"):
        await closed_loop(Calls(), [b"a"], 1, concurrency=concurrency)


def test_the_stream_goes_on_behind_the_samples():
    messages = chats.said(20_000)
    assert len({one.id for one in messages}) == 20_000
    assert len({one.line.content for one in messages}) > 5_000
    times = [one.sent_at_ms for one in messages]
    assert times == sorted(times)
    texts = "".join(one.line.content for one in messages[:3_000])
    assert any("一" <= letter <= "鿿" for letter in texts)
    assert chats.said(3, skip=100) == messages[100:103]


def test_a_channel_that_has_lived_has_the_lines_of_the_others():
    """Replies between them, and exchanges with a tool whose result follows its call."""
    lines = list(lived_in.lines(4_000))
    plain = list(chats.messages(4_000))
    own = [one for one in lines if one.author.id != "bot"]
    assert sum(one.HasField("reply") for one in own) > 100
    known = {one.id for one in plain}
    assert {one.reply.message_id for one in own if one.HasField("reply")} <= known
    for one in own:
        one.ClearField("reply")
    assert own == plain
    tools = [one.parts[0] for one in lines if one.author.id == "bot"]
    assert len(tools) == 4
    for call, result in zip(tools[::2], tools[1::2], strict=True):
        assert call.tool_call.id == result.tool_result.call_id


def test_batches_hold_every_message_once():
    messages = list(chats.messages(7))
    requests = [
        history_pb2.AppendMessagesRequest.FromString(one)
        for one in chats.append_requests("room", messages, 3)
    ]
    assert [len(one.messages) for one in requests] == [3, 3, 1]
    assert [one.id for each in requests for one in each.messages] == [one.id for one in messages]
    assert {one.channel for one in requests} == {"room"}


def test_texts_are_different_and_none_holds_a_question():
    """Two messages as one text where messages do not suffice: a question must not find itself in them."""
    messages = list(islice(vectors.texts(), 5_000))
    said = {one.line.content for one in chats.said(7_576)}
    assert set(messages) <= said
    asked = set(messages[::50])
    made = list(islice(vectors.texts(without=asked), 20_000))
    assert len(set(made)) == 20_000
    assert not any(asked & set(text.split("\n")) for text in made)
    assert sum(text not in said for text in made) > 10_000
