"""The tool loop: calls out, results back by turn_id, over restarts and against every wrong way to continue."""

import asyncio
import json
from contextlib import aclosing
from itertools import pairwise
from pathlib import Path

import pytest

from backscroll.v1 import context_pb2 as pb
from backscroll_sidecar.chat.events import ChatEnd
from backscroll_sidecar.domain import Role, ToolCallPart
from backscroll_sidecar.edge.convert.chat import chat_request
from backscroll_sidecar.models.faults import failed
from backscroll_sidecar.ports import Finished, ModelFault, ToolCallDelta
from backscroll_sidecar.wiring import SystemClock
from tests.contract.models.sse_server import DONE, Reply, chunk, data, said, stopped
from tests.integration.chat.talk import (
    TOOLS,
    Bot,
    Heard,
    answers,
    refused,
    talk,
    talk_to,
    text_of,
    turn,
)
from tests.kit.fake_model import CALLS, LENGTH, STOP, FakeModel, Wait


def call(id: str, name: str = "weather", arguments: str = '{"city": "北京"}') -> ToolCallDelta:
    return ToolCallDelta(ToolCallPart(id, name, arguments))


def asked(*ids: str) -> bytes:
    """A chunk that asks for calls, as a server sends it."""
    calls = [
        {"index": i, "id": id, "function": {"name": "weather", "arguments": '{"city": "北京"}'}}
        for i, id in enumerate(ids)
    ]
    return data(chunk({"tool_calls": calls}))


WRONG = ("INVALID_ARGUMENT", "INVALID_FIELD", "tool_results")


@pytest.mark.row("S5-30")
async def test_three_rounds_and_an_answer() -> None:
    """S5-30: each round ends with TOOL_CALLS; the model sees all calls and results before; each round is stored."""
    rounds = [
        Reply([said("看看…"), asked("c1", "c2"), stopped("tool_calls"), DONE]),
        Reply([asked("c3"), stopped("tool_calls"), DONE]),
        Reply([asked("c4"), stopped("stop"), DONE]),  # some servers say so behind calls
        Reply([said("晴 ☀️"), stopped(), DONE]),
    ]
    async with talk_to(rounds) as (bot, server):
        heard = await bot.ask(turn("天气？", tools=True))
        assert heard.kinds == ["context", "delta", "tool_call", "tool_call", "end"]
        turn_id = heard.end.turn_id
        ids = [["c1", "c2"], ["c3"], ["c4"]]
        for given in ids:
            assert (heard.reason, [one.id for one in heard.calls]) == ("TOOL_CALLS", given)
            assert heard.end.reply_message_id == ""
            assert json.loads(heard.calls[0].arguments_json) == {"city": "北京"}
            heard = await bot.ask(answers(turn_id, **{id: f"{id}: 25°" for id in given}))
            assert heard.end.turn_id == turn_id
        rows = await bot.stored()
    assert (heard.kinds, heard.text, heard.reason) == (["delta", "end"], "晴 ☀️", "COMPLETE")
    sent = [exchange.json["messages"] for exchange in server.exchanges]
    for before, after in pairwise(sent):
        assert after[: len(before)] == before
    assert [one["role"] for one in sent[-1]] == ["user", "assistant", "tool", "tool"] + [
        "assistant",
        "tool",
    ] * 2
    assert sent[1][1]["content"] == "看看…"
    assert [one["id"] for one in sent[1][1]["tool_calls"]] == ["c1", "c2"]
    assert [(one["tool_call_id"], one["content"]) for one in sent[1][2:]] == [
        ("c1", "c1: 25°"),
        ("c2", "c2: 25°"),
    ]
    assert all(exchange.json["tools"] == json.loads(TOOLS) for exchange in server.exchanges)
    parts = [[part.WhichOneof("content") for part in row.message.parts] for row in rows]
    assert parts == [
        ["text"],
        ["text", "tool_call", "tool_call"],
        ["tool_result"],
        ["tool_result"],
        *[["tool_call"], ["tool_result"]] * 2,
        ["text"],
    ]
    assert rows[-1].message.id == heard.end.reply_message_id


@pytest.mark.row("S1-19")
async def test_chat_runs_the_same_loop() -> None:
    """S1-19: Chat answers with the calls and continues by turn_id."""
    model = FakeModel([call("c1"), CALLS], ["sunny", STOP])
    async with talk(model) as bot:
        first = await bot.stub.Chat(pb.ChatRequest(turn=turn(tools=True)))
        assert [one.id for one in first.tool_calls] == ["c1"]
        second = await bot.stub.Chat(pb.ChatRequest(turn=answers(first.end.turn_id, c1="25")))
    assert (second.text, second.end.reason) == ("sunny", pb.END_REASON_COMPLETE)
    assert not second.HasField("context")


@pytest.mark.parametrize(
    "given",
    [{}, {"c1": "a"}, {"c1": "a", "c2": "b", "c3": "c"}, {"c1": "a", "other": "b"}],
    ids=["none", "missing", "extra", "wrong"],
)
async def test_results_that_do_not_fit_the_calls(given: dict[str, str]) -> None:
    """Refused by field, nothing is stored, and the turn goes on with the right ones."""
    model = FakeModel([call("c1"), call("c2"), CALLS], ["sunny", STOP])
    async with talk(model) as bot:
        turn_id = await bot.open_turn()
        before = len(await bot.stored())
        assert refused(await bot.ask(answers(turn_id, **given))) == WRONG
        assert len(await bot.stored()) == before
        assert (await bot.ask(answers(turn_id, c2="b", c1="a"))).text == "sunny"
    roles = [one.role for one in model.requests[1].messages[-3:]]
    assert roles == [Role.ASSISTANT, Role.TOOL, Role.TOOL]
    assert [one.content for one in model.requests[1].messages[-2:]] == ["a", "b"]


async def test_one_result_twice() -> None:
    model = FakeModel([call("c1"), CALLS])
    async with talk(model) as bot:
        turn_id = await bot.open_turn()
        twice = [pb.ToolResult(call_id="c1", text="a")] * 2
        again = pb.StreamChatRequest(turn_id=turn_id, tool_results=twice)
        assert refused(await bot.ask(again)) == WRONG


async def test_a_turn_nobody_keeps() -> None:
    """Unknown, or of a stream that failed, or expired: NOT_FOUND, TURN_NOT_FOUND."""
    unknown = ("NOT_FOUND", "TURN_NOT_FOUND", "turn_id")
    model = FakeModel([failed(ModelFault.CONNECTION)], [call("c1"), CALLS])
    clock = Later()
    async with talk(model, clock=clock) as bot:
        assert refused(await bot.ask(answers("nobody's", c1="a"))) == unknown
        broken = await bot.ask(turn(tools=True))
        assert refused(await bot.ask(answers(broken.end.turn_id))) == unknown
        kept = await bot.ask(turn(tools=True))
        clock.ahead_ms = 2 * 3_600_000
        assert refused(await bot.ask(answers(kept.end.turn_id, c1="a"))) == unknown


class Later(SystemClock):
    """The machine's time, some way ahead."""

    ahead_ms = 0

    def now_ms(self) -> int:
        return super().now_ms() + self.ahead_ms


@pytest.mark.parametrize(("finish", "reason"), [(STOP, "COMPLETE"), (LENGTH, "LENGTH")])
async def test_a_turn_that_has_ended_says_its_reply_again(finish: Finished, reason: str) -> None:
    """The same turn_id after the end gives the stored reply, notice included; no model, nothing stored twice."""
    model = FakeModel([call("c1"), CALLS], ["sunny, ", "晴", finish])
    async with talk(model) as bot:
        turn_id = await bot.open_turn()
        first = await bot.ask(answers(turn_id, c1="25"))
        rows = await bot.stored()
        for again in (answers(turn_id, c1="25"), answers(turn_id)):
            heard = await bot.ask(again)
            assert (heard.text, heard.reason) == ("sunny, 晴", reason)
            assert heard.end.reply_message_id == first.end.reply_message_id
            assert heard.notices == first.notices
        assert await bot.stored() == rows
    assert len(model.calls) == 2


async def test_two_calls_at_once_on_one_turn() -> None:
    """One runs, the other is ABORTED; what the model is asked, it is asked once."""
    go = asyncio.Event()
    model = FakeModel([call("c1"), CALLS], [Wait(go), "sunny", STOP])
    async with talk(model) as bot:
        turn_id = await bot.open_turn()
        both = [asyncio.create_task(bot.ask(answers(turn_id, c1="25"))) for _ in range(2)]
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        go.set()
        heard = await asyncio.gather(*both)
    lost, won = sorted(heard, key=lambda one: len(one.events))
    assert refused(lost) == ("ABORTED", "CONFLICT", "turn_id")
    assert (won.text, won.reason) == ("sunny", "COMPLETE")
    assert len(model.calls) == 2


async def test_another_round_may_begin_as_soon_as_the_end_is_heard() -> None:
    """No ABORTED for a bot that is quick: 30 rounds without a pause."""
    model = FakeModel(answer=lambda request: [call(f"c{len(request.messages)}"), CALLS])
    async with talk(model) as bot:
        heard = await bot.ask(turn(tools=True, model_call={"max_tool_iterations": 100}))
        for _ in range(30):
            heard = await bot.ask(answers(heard.end.turn_id, **{heard.calls[0].id: "a"}))
            assert heard.reason == "TOOL_CALLS"


async def test_the_turn_is_free_before_its_end_is_heard() -> None:
    """The bot may be back before the server has closed the stream it heard the end on."""
    model = FakeModel([call("c1"), CALLS], [call("c2"), CALLS], ["sunny", STOP])
    async with talk(model) as bot:
        turn_id = await bot.open_turn()
        async with aclosing(
            bot.app.chat.run(chat_request(answers(turn_id, c1="a"), "default", None))
        ) as events:
            async for event in events:
                if isinstance(event, ChatEnd):
                    assert (await bot.ask(answers(turn_id, c2="b"))).text == "sunny"


@pytest.mark.row("S5-30")
@pytest.mark.parametrize(("most", "expected"), [(1, 1), (3, 3), (None, 10)])
async def test_the_loop_is_bounded(most: int | None, expected: int) -> None:
    """S5-30: after max_tool_iterations calls with tools the model must answer without; 10 unless told otherwise."""
    model = FakeModel(
        answer=lambda one: [call("c1"), CALLS] if one.tools_json else ["enough", STOP]
    )
    async with talk(model) as bot:
        call_fields = {} if most is None else {"max_tool_iterations": most}
        heard = await bot.ask(turn(tools=True, model_call=call_fields))
        rounds = 0
        while heard.reason == "TOOL_CALLS":
            rounds += 1
            heard = await bot.ask(answers(heard.end.turn_id, c1="a"))
    assert (rounds, heard.text, heard.reason) == (expected, "enough", "COMPLETE")
    assert [bool(one.tools_json) for one in model.requests] == [True] * expected + [False]


async def test_a_turn_survives_a_restart(tmp_path: Path) -> None:
    """A turn is a row: calls, results, reply go on in another process; so does the reply of one that has ended."""
    path = tmp_path / "b.db"
    async with talk(FakeModel(["look", call("c1"), CALLS]), database=path) as bot:
        turn_id = (await bot.ask(turn("天气？", tools=True))).end.turn_id
    model = FakeModel(["sunny", STOP])
    async with talk(model, database=path) as bot:
        heard = await bot.ask(answers(turn_id, c1="25°"))
        assert (heard.text, heard.reason) == ("sunny", "COMPLETE")
    (request,) = model.requests
    assert [one.content for one in request.messages] == ["天气？", "look", "25°"]
    assert (request.model, request.temperature, request.tools_json) == ("gpt-4o-mini", 0.7, TOOLS)
    async with talk(FakeModel(), database=path) as bot:
        assert (await bot.ask(answers(turn_id, c1="25°"))).text == "sunny"


async def test_a_round_that_failed_can_be_tried_again() -> None:
    """The model breaks off after the results: a partial reply is kept; the same results then bring the whole one."""
    model = FakeModel([call("c1"), CALLS], ["sun", failed(ModelFault.CONNECTION)], ["sunny", STOP])
    async with talk(model) as bot:
        turn_id = await bot.open_turn()
        broken = await bot.ask(answers(turn_id, c1="25"))
        assert (broken.reason, broken.end.partial) == ("UPSTREAM_ERROR", True)
        heard = await bot.ask(answers(turn_id, c1="25"))
        assert (heard.text, heard.reason, heard.errors) == ("sunny", "COMPLETE", [])
        rows = await bot.stored()
    assert model.requests[1].messages == model.requests[2].messages
    replies = [(text_of(row), row.partial) for row in rows if text_of(row).startswith("sun")]
    assert replies == [("sun", True), ("sunny", False)]
    assert len(rows) == 5


async def rounds(bot: Bot, heard: Heard) -> Heard:
    while heard.reason == "TOOL_CALLS":
        results = {one.id: "a" for one in heard.calls}
        heard = await bot.ask(answers(heard.end.turn_id, **results))
    return heard


async def test_many_turns_at_once_keep_apart() -> None:
    """30 loops at once: each gets its own results and reply."""

    def play(request):
        first = request.messages[0].content
        if request.messages[-1].role is Role.TOOL:
            return [f"re {first}", STOP]
        return [call("c1"), CALLS]

    async with talk(FakeModel(answer=play)) as bot:
        starts = [turn(f"q{n}", tools=True, context={"channel": f"r{n}"}) for n in range(30)]
        heard = await asyncio.gather(*map(bot.ask, starts))
        ended = await asyncio.gather(*(rounds(bot, one) for one in heard))
    assert [one.text for one in ended] == [f"re q{n}" for n in range(30)]
