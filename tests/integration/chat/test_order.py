"""When things happen in a turn and what the model's server is sent, on the wire, by both RPCs."""

import json
from collections.abc import Sequence
from itertools import pairwise

import pytest
from pytest_httpserver import HTTPServer

from backscroll import Message
from backscroll.v1 import context_pb2 as pb
from backscroll.v1 import message_pb2
from backscroll_sidecar.ports import AppendChange
from backscroll_sidecar.strategies import Empty, StrategyQuery
from tests.contract.models.sse_server import DONE, Reply, chunk, data, said, stopped
from tests.integration.chat.talk import TOOLS, Bot, answers, talk, turn
from tests.integration.chat.upstream import Upstream, upstream

T0 = 1_795_176_000_000
LINES = [
    Message("m1", "ann", "we meet at six", T0),
    Message("m2", "ben", "在哪里？🐟", T0 + 1_000, reply_to="m1"),
]
RPCS = ["StreamChat", "Chat"]


class Recorder:
    """A strategy of the test's own that searches for nothing; it and the store note when they are asked for what."""

    name = "recorded"

    def __init__(self, bot: Bot, model: Upstream) -> None:
        self.log: list[tuple[str, str]] = model.log
        self.limits: list[int] = []
        store, apply = bot.app.store, bot.app.store.apply
        picker = bot.app.builder._picker
        picker._strategies = {**picker._strategies, self.name: self}

        async def applied(changes: Sequence[object]) -> object:
            appends = [change for change in changes if isinstance(change, AppendChange)]
            self.log += [("add", m.text) for change in appends for m in change.messages]
            return await apply(changes)

        store.apply = applied

    def gather(self, query: StrategyQuery) -> Empty:
        self.log.append(("search", query.question))
        self.limits.append(query.semantic_limit)
        return Empty()


async def ask(bot: Bot, rpc: str, request: pb.StreamChatRequest) -> pb.ChatEnd:
    if rpc == "StreamChat":
        return (await bot.ask(request)).end
    return (await bot.stub.Chat(pb.ChatRequest(turn=request))).end


@pytest.mark.row("S2-01", "S2-02", "S2-20", "S2-21", "S4-17")
@pytest.mark.parametrize("rpc", RPCS)
async def test_search_then_model_then_the_answer_is_stored(
    rpc: str, httpserver: HTTPServer
) -> None:
    """S2-01, S2-02, S2-20, S2-21: one search, with the limit of 5, before the model; the answer is added behind both.

    At least two adds and one search a turn: here exactly, and the question's add may come at any time (S4-17).
    """
    reply = Reply([said("at "), said("six"), stopped(), DONE])
    async with upstream(httpserver, [reply]) as model, talk(model_base_url=model.url) as bot:
        await bot.tell(*LINES)
        record = Recorder(bot, model)
        sources = pb.Overrides(sources=["recent", "recorded"])
        await ask(bot, rpc, turn("when, 几点？", context={"overrides": sources}))
    assert sorted(record.log) == [
        ("add", "at six"),
        ("add", "when, 几点？"),
        ("model", "/v1/chat/completions"),
        ("search", "when, 几点？"),
    ]
    in_order = [one for one in record.log if one != ("add", "when, 几点？")]
    assert [kind for kind, _ in in_order] == ["search", "model", "add"]
    assert record.limits == [5]


@pytest.mark.row("S2-19", "S2-21")
@pytest.mark.parametrize("rpc", RPCS)
async def test_nothing_is_added_of_an_answer_that_failed_before_it_began(
    rpc: str, httpserver: HTTPServer
) -> None:
    """S2-19, S2-21: the same order up to the model, then nothing."""
    async with (
        upstream(httpserver, [Reply(status=500)]) as model,
        talk(model_base_url=model.url) as bot,
    ):
        record = Recorder(bot, model)
        sources = pb.Overrides(sources=["recent", "recorded"])
        await ask(bot, rpc, turn("when?", context={"overrides": sources}))
        await bot.idle()
    in_order = [kind for kind, text in record.log if (kind, text) != ("add", "when?")]
    assert in_order == ["search", "model"]
    assert len(record.log) == 3


def asking(*ids: str, text: str = "") -> Reply:
    """An answer that asks for calls, each in pieces cut where it hurts, as vendors stream them."""
    pieces = [said(text)] if text else []
    for index, id in enumerate(ids):
        function = {"name": "weather", "arguments": ""}
        pieces.append(
            data(chunk({"tool_calls": [{"index": index, "id": id, "function": function}]}))
        )
        for piece in ('{"city": "', f"北京 {id}", ' 🌧"}'):
            call = {"index": index, "function": {"arguments": piece}}
            pieces.append(data(chunk({"tool_calls": [call]})))
    return Reply([*pieces, stopped("tool_calls"), DONE])


@pytest.mark.row("S1-19", "S5-30")
async def test_both_rpcs_send_the_same_in_every_round_of_tools(httpserver: HTTPServer) -> None:
    """S1-19, S5-30: three tool rounds by each RPC, byte by byte the same; the defaults in every body."""
    rounds = [
        asking("c1", "c2", text="看看…"), asking("c3"), asking("c4"),
        Reply([said("都是晴天 ☀️"), stopped(), DONE]),
    ]  # fmt: skip
    bodies = {}
    for rpc in RPCS:
        httpserver.clear()
        async with upstream(httpserver, rounds) as model, talk(model_base_url=model.url) as bot:
            end, calls = await one_round(bot, rpc, turn("天气？", tools=True))
            while calls:
                assert end.reason == pb.END_REASON_TOOL_CALLS
                assert {json.loads(one.arguments_json)["city"] for one in calls} == {
                    f"北京 {one.id} 🌧" for one in calls
                }
                results = {one.id: f"{one.id}: 25°" for one in calls}
                end, calls = await one_round(bot, rpc, answers(end.turn_id, **results))
            assert end.reason == pb.END_REASON_COMPLETE
        bodies[rpc] = model.bodies
    assert bodies["StreamChat"] == bodies["Chat"]
    sent = [json.loads(body) for body in bodies["Chat"]]
    assert len(sent) == 4
    for body in sent:
        assert (body["model"], body["temperature"]) == ("gpt-4o-mini", 0.7)
        assert body["tools"] == json.loads(TOOLS)
    for before, after in pairwise(sent):
        assert after["messages"][: len(before["messages"])] == before["messages"]
    _, *told = sent[-1]["messages"]
    said_beside_calls = [one["content"] for one in told if one["role"] == "assistant"]
    assert said_beside_calls == ["看看…", None, None]  # Bedrock refuses an empty text
    assert [one.get("tool_call_id") or [call["id"] for call in one["tool_calls"]] for one in told] == [
        ["c1", "c2"], "c1", "c2", ["c3"], "c3", ["c4"], "c4",
    ]  # fmt: skip


async def one_round(
    bot: Bot, rpc: str, request: pb.StreamChatRequest
) -> tuple[pb.ChatEnd, Sequence[message_pb2.ToolCallPart]]:
    if rpc == "StreamChat":
        heard = await bot.ask(request)
        return heard.end, heard.calls
    answer = await bot.stub.Chat(pb.ChatRequest(turn=request))
    return answer.end, answer.tool_calls


@pytest.mark.row("S5-30", "S5-49")
@pytest.mark.parametrize("tools_json", ["", "[]", TOOLS])
async def test_tools_that_are_not_there_or_not_wanted_are_not_sent(
    tools_json: str, httpserver: HTTPServer
) -> None:
    """S5-30, S5-49: tools off by default, and off where they are wanted but there are none; the reply goes on."""
    wanted = {} if tools_json == TOOLS else {"enable_tools": True}
    reply = Reply([said("晴"), stopped(), DONE])
    async with upstream(httpserver, [reply]) as model, talk(model_base_url=model.url) as bot:
        asked = turn(context={"tools_json": tools_json}, model_call=wanted)
        ends = [await ask(bot, rpc, asked) for rpc in RPCS]
    assert [end.reason for end in ends] == [pb.END_REASON_COMPLETE] * 2
    assert len(model.sent) == 2
    for body in model.sent:
        assert not {"tools", "tool_choice"} & set(body)
