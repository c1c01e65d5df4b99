"""A workflow of three personas, killed at any point of its round, goes on: what is stored is not asked for again."""

import asyncio
import json
import os
import sys
from collections import Counter
from contextlib import suppress
from pathlib import Path

import grpc
import pytest

from backscroll.v1 import context_pb2, message_pb2, session_pb2_grpc
from backscroll.v1 import session_pb2 as pb
from tests.contract.models.sse_server import (
    DONE,
    Exchange,
    Reply,
    SseServer,
    chunk,
    data,
    said,
    sse_server,
    stopped,
)
from tests.integration.rooms.room import ANN, CATS, Room, Round, room, text_of
from tests.integration.rooms.test_guards import TOOLS, answer_of

NAMES = ("小黑", "小白", "小灰")
POINTS = {
    # where it is killed: how often each persona is asked in all, before and after
    "before:1": (2, 1, 1),  # neither round nor message is there
    "after:1": (2, 1, 1),  # round row and user message
    "event:TargetDelta:1": (3, 1, 1),  # first delta
    "before:2": (3, 1, 1),  # the tool call is not stored
    "after:2": (2, 1, 1),  # the tool call is stored
    "event:Interrupted:1": (2, 1, 1),  # the interrupt is told
    "resume:before:1": (3, 1, 1),  # the first reply is said and not stored
    "resume:after:1": (2, 1, 1),  # one target's end, the state's compare-and-set with it
    "resume:event:TargetDelta:3": (2, 2, 1),  # half of the second reply
    "resume:before:2": (2, 2, 1),  # the second of three commits
    "resume:after:2": (2, 1, 1),
    "resume:after:3": (2, 1, 1),  # the last reply
    "resume:before:4": (2, 1, 1),  # everything but the round's end
    "resume:after:4": (2, 1, 1),
}
SHORT = ("after:1", "resume:after:1", "resume:event:TargetDelta:3")
"""Points of the ordinary suite; the proof takes all others."""


def name_of(exchange: Exchange) -> str:
    first = exchange.json["messages"][0]["content"].split("\n", 1)[0]
    return next(name for name in NAMES if name in first)


def choose(exchange: Exchange, _: int) -> Reply:
    """小黑 asks for a tool first; everybody else says two pieces."""
    name = name_of(exchange)
    has_results = any(one["role"] == "tool" for one in exchange.json["messages"])
    if name == "小黑" and not has_results:
        call = {"index": 0, "id": "c1", "type": "function",
                "function": {"name": "weather", "arguments": "{}"}}  # fmt: skip
        steps = [
            said("查一下"),
            0.2,
            data(chunk({"tool_calls": [call]})),
            stopped("tool_calls"),
            DONE,
        ]
    else:
        steps = [said(f"{name}开始"), 0.2, said("，完成"), stopped(), DONE]
    return Reply(steps)


def request(**fields: object) -> pb.StartRoundRequest:
    return pb.StartRoundRequest(
        request_id="r1",
        session=pb.SessionRef(session_id="s1"),
        message=message_pb2.Message(author=ANN, parts=[{"text": {"text": "写一个函数"}}]),
        context=context_pb2.BuildContextRequest(tools_json=TOOLS),
        model_call=context_pb2.ModelCall(enable_tools=True),
        **fields,
    )


async def killed(database: Path, model: SseServer, point: str, *, resumes: bool) -> None:
    """Run a round on a server of its own until that kills itself."""
    environment = {**os.environ, "PYTHONPATH": str(Path.cwd())}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.kit.killed_room", str(database), model.url, point,
        stdout=asyncio.subprocess.PIPE, env=environment,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        address = ""
        async for line in process.stdout:  # the log stands before it
            if line.startswith(b"LISTENS "):
                address = line.split()[1].decode()
                break
        assert address
        async with grpc.aio.insecure_channel(address) as channel:
            stub = session_pb2_grpc.SessionServiceStub(channel)
            with suppress(grpc.aio.AioRpcError):
                if resumes:
                    ref = pb.SessionRef(session_id="s1")
                    waiting = await events(
                        stub.ResumeRound(pb.ResumeRoundRequest(session=ref, request_id="r1"))
                    )
                    answers = [answer_of(one) for one in waiting.of("interrupt")]
                    await events(
                        stub.ResumeRound(
                            pb.ResumeRoundRequest(session=ref, request_id="r1", answers=answers)
                        )
                    )
                else:
                    await events(stub.StartRound(request()))
        assert await asyncio.wait_for(process.wait(), 30) == -9
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def events(call) -> Round:
    heard = Round()
    async for one in call:
        heard.events.append(one.event)
    return heard


async def to_the_end(chat: Room) -> Round:
    """Go on with the round, answering its tools, until it is over."""
    chat.session_id = "s1"
    heard = await chat.run(chat.stub.StartRound(request()))
    for _ in range(3):
        if heard.reason != "INTERRUPTED":
            return heard
        answers = [answer_of(one) for one in heard.of("interrupt")]
        heard = await chat.resume("r1", answers=answers)
    raise AssertionError("it never ends")


@pytest.mark.row("S4-01", "S4-23", "S4-24")
@pytest.mark.parametrize(
    "point",
    [pytest.param(one, marks=() if one in SHORT else pytest.mark.proof) for one in POINTS],
)
async def test_a_workflow_goes_on_behind_a_kill(point: str, tmp_path: Path) -> None:
    database = tmp_path / "history.db"
    async with sse_server() as model:
        model.choose = choose
        async with room(database=database, model_base_url=model.url) as chat:
            roles = {"coder": "black", "reviewer": "white", "tester": "grey"}
            await chat.open(
                session_id="s1", mode="workflow", role_config_json=json.dumps({"role_map": roles})
            )
            if point.startswith("resume:"):
                first = await chat.run(chat.stub.StartRound(request()))
                assert first.reason == "INTERRUPTED"
        await killed(
            database, model, point.removeprefix("resume:"), resumes=point.startswith("resume:")
        )
        async with room(database=database, model_base_url=model.url) as chat:
            heard = await to_the_end(chat)
            assert heard.reason == "COMPLETE"
            assert heard.replies == [f"{name}开始，完成" for name in NAMES]
            asked = Counter(map(name_of, model.exchanges))
            assert tuple(asked[name] for name in NAMES) == POINTS[point]
            again = await chat.run(chat.stub.StartRound(request()))
            assert again.replies == heard.replies
            assert Counter(map(name_of, model.exchanges)) == asked
            stored = [one for one in await chat.history() if not one.partial]
            texts = [text_of(one) for one in stored if text_of(one)]
            assert texts.count("写一个函数") == 1
            assert all(texts.count(f"{name}开始，完成") == 1 for name in NAMES)
            state = await chat.state()
            assert (state["status"], state["task"]) == ("done", 1)
            log = (await chat.stub.ListStates(pb.ListStatesRequest(session=chat.ref))).states
            assert [one.event for one in reversed(log)] == [
                "begun", "task", "approved", "approved", "done",
            ]  # fmt: skip
            assert CATS
