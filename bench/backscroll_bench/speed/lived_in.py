"""The parts about BuildContext on a channel that has lived: recalls, edits, tool exchanges, replies.

The lines and the questions are those of `balanced-10k`, which the other rows ask about plain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from backscroll.v1 import context_pb2, history_pb2, message_pb2, preference_pb2
from backscroll_bench.speed import chats
from backscroll_bench.speed.builds import by_one_caller
from backscroll_bench.speed.fixture import BUILD, Bench, Questions, Served, near_questions
from backscroll_bench.speed.load import Call
from backscroll_bench.speed.reading import Readings
from backscroll_bench.speed.resting import settled
from backscroll_bench.speed.stats import Wrong

Request = context_pb2.BuildContextRequest

KIND, PROFILE, HISTORY = "plain", "balanced", 10_000
TOOL_ROWS = (2_000, 3_000)
"""Behind so many lines the bot calls a tool and hears from it."""
RECALLED_ROW, EDITED_ROW = 4_000, 6_000
CUT_TOKENS = 1_000
RECALL = "/backscroll.v1.HistoryService/RecallMessage"
EDIT = "/backscroll.v1.HistoryService/EditMessage"
PREFER = "/backscroll.v1.PreferenceService/SetPreference"


async def build(bench: Bench) -> Readings:
    """Builds on a channel that has lived, beside R0. Readings: p50, p99, stages."""
    return await _measured(bench, "lived-in")


async def build_cut(bench: Bench) -> Readings:
    """The same cut to `CUT_TOKENS`, with one preference of each asker. Readings: p50, p99, stages."""
    return await _measured(bench, "lived-in-cut", CUT_TOKENS)


async def explain(bench: Bench) -> Readings:
    """Builds of `balanced-10k` that explain themselves, beside R0. Readings: p50, p99, stages."""
    plain = await bench.questions(KIND, PROFILE, HISTORY)
    call = (await bench.served(KIND)).call(BUILD)

    def explained(_number: int, request: Request) -> None:
        request.explain = True

    return await by_one_caller(bench, call, await _changed(call, plain, explained))


async def _measured(bench: Bench, channel: str, token_budget: int | None = None) -> Readings:
    served = await bench.served(KIND)
    call = served.call(BUILD)

    def changed(number: int, request: Request) -> None:
        """Every second question replies to one of the last lines."""
        if number % 2:
            (line,) = chats.said(1, skip=HISTORY - number)
            request.reply.message_id = line.id
        if token_budget:
            request.token_budget = token_budget

    async def lived() -> Questions:
        await bench.fill(served, channel, lines(HISTORY))
        await _live(served, channel)
        plain = await near_questions(call, channel, PROFILE, HISTORY)
        if token_budget:
            await _prefer(served, channel, plain)
        await settled(served.running.pid)
        return await _changed(call, plain, changed)

    return await by_one_caller(bench, call, await bench.once(channel, lived))


async def _changed(
    call: Call, asked: Questions, change: Callable[[int, Request], None]
) -> Questions:
    """The questions with something changed in each; all are answered whole."""
    found = Questions([], [])
    for number, raw in enumerate(asked.requests):
        request = Request.FromString(raw)
        change(number, request)
        answer = await call(request.SerializeToString())
        built = context_pb2.BuildContextResponse.FromString(answer)
        if built.degradations or built.rung != context_pb2.RUNG_RANKED or not built.items:
            raise Wrong(f"question {number} was not answered whole: {built.degradations}")
        found.requests.append(request.SerializeToString())
        found.replies.append(len(answer))
    return found


def lines(count: int) -> Iterator[message_pb2.Message]:
    """The first `count` messages of the stream with the replies of the chats, and the bot's exchanges with tools."""
    for row, said in enumerate(chats.said(count)):
        yield said.message(with_reply=True)
        if row in TOOL_ROWS:
            yield from _exchange(said)


def _exchange(said: chats.Said) -> Iterator[message_pb2.Message]:
    bot = message_pb2.Author(id="bot", name="bot", kind=message_pb2.AUTHOR_KIND_BOT)
    call = message_pb2.ToolCallPart(id=f"call-{said.id}", name="look_up", arguments_json="{}")
    result = message_pb2.ToolResultPart(call_id=call.id, name=call.name, text=said.line.content)
    for name, role, part in (
        ("call", message_pb2.ROLE_ASSISTANT, message_pb2.Part(tool_call=call)),
        ("result", message_pb2.ROLE_TOOL, message_pb2.Part(tool_result=result)),
    ):
        yield message_pb2.Message(
            id=f"{name}-{said.id}", author=bot, role=role, parts=[part], sent_at_ms=said.sent_at_ms
        )


async def _live(served: Served, channel: str) -> None:
    """Recall one message and edit another."""
    said = chats.said(EDITED_ROW + 1)
    recall = history_pb2.RecallMessageRequest(channel=channel, message_id=said[RECALLED_ROW].id)
    await served.call(RECALL)(recall.SerializeToString())
    edited = said[EDITED_ROW]
    part = message_pb2.Part(text=message_pb2.TextPart(text=f"{edited.line.content} (corrected)"))
    edit = history_pb2.EditMessageRequest(channel=channel, message_id=edited.id, parts=[part])
    await served.call(EDIT)(edit.SerializeToString())


async def _prefer(served: Served, channel: str, asked: Questions) -> None:
    """Store one preference of each asker."""
    for user_id in {Request.FromString(raw).asker.id for raw in asked.requests}:
        preference = preference_pb2.Preference(
            id="tone", user_id=user_id, channel=channel, text="Answer in short sentences."
        )
        request = preference_pb2.SetPreferenceRequest(preference=preference)
        await served.call(PREFER)(request.SerializeToString())
