"""A server, a model under the test's control behind it, and a bot in front that keeps what it hears."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import grpc

from backscroll import AsyncClient, Message, NotFound
from backscroll.errors import BackscrollError, error_from
from backscroll.v1 import context_pb2 as pb
from backscroll.v1 import context_pb2_grpc, history_pb2, message_pb2
from backscroll_sidecar.ports import ChatModel, Clock
from backscroll_sidecar.wiring import App
from tests.contract.models.sse_server import Reply, SseServer, sse_server
from tests.kit.served import served

ROOM = "room"
ANN = message_pb2.Author(id="u1", name="Ann")
TOOLS = '[{"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}]'
ENOUGH_S = 300.0
"""A bound for what should take milliseconds: only a hang reaches it."""


@dataclass
class Heard:
    """The events of one stream, and the error that took their place or their end."""

    events: list[pb.StreamChatResponse] = field(default_factory=list)
    refusal: BackscrollError | None = None

    @property
    def kinds(self) -> list[str]:
        return [event.WhichOneof("event") for event in self.events]

    @property
    def text(self) -> str:
        return "".join(event.delta for event in self.events)

    @property
    def end(self) -> pb.ChatEnd:
        assert self.refusal is None, self.refusal
        assert self.kinds.count("end") == 1
        assert self.kinds[-1] == "end"
        return self.events[-1].end

    @property
    def reason(self) -> str:
        return pb.EndReason.Name(self.end.reason).removeprefix("END_REASON_")

    @property
    def context(self) -> pb.BuildContextResponse:
        assert self.kinds[0] == "context"
        assert self.kinds.count("context") == 1
        return self.events[0].context

    @property
    def calls(self) -> list[message_pb2.ToolCallPart]:
        return [event.tool_call for event in self.events if event.HasField("tool_call")]

    @property
    def notices(self) -> list[pb.Notice]:
        return [event.notice for event in self.events if event.HasField("notice")]

    @property
    def errors(self) -> list[pb.ChatError]:
        return [event.error for event in self.events if event.HasField("error")]


@dataclass
class Bot:
    """One bot on one server."""

    client: AsyncClient
    app: App
    stub: context_pb2_grpc.ContextServiceStub

    async def ask(self, request: pb.StreamChatRequest, timeout_s: float | None = ENOUGH_S) -> Heard:
        """One stream, to its end."""
        heard, call = Heard(), self.stub.StreamChat(request, timeout=timeout_s)
        try:
            async for event in call:
                heard.events.append(event)
        except grpc.aio.AioRpcError as failed:
            heard.refusal = error_from(failed)
        return heard

    async def tell(self, *messages: Message) -> None:
        """What was said in the room before."""
        for message in messages:
            await self.client.append(ROOM, message)

    async def stored(self, channel: str = ROOM) -> list[history_pb2.StoredMessage]:
        try:
            return [message async for message in self.client.list_messages(channel)]
        except NotFound:
            return []

    async def open_turn(self, **fields) -> str:
        """Ask with tools; the id of the turn, which waits for their results."""
        return (await self.ask(turn(tools=True, **fields))).end.turn_id

    def hold_commits(self) -> tuple[asyncio.Event, asyncio.Event]:
        """Let no commit go on before the second event is set; the first says that one is asked for."""
        apply, committing, go = self.app.store.apply, asyncio.Event(), asyncio.Event()

        async def slow(changes):
            committing.set()
            await go.wait()
            return await apply(changes)

        self.app.store.apply = slow
        return committing, go

    async def idle(self) -> None:
        """Wait until nothing is left of any turn."""
        async with asyncio.timeout(ENOUGH_S):
            await self.app.chat.drain()


@asynccontextmanager
async def talk(
    model: ChatModel | None = None,
    database: Path | str = ":memory:",
    clock: Clock | None = None,
    **settings: object,
) -> AsyncIterator[Bot]:
    async with (
        served(database, clock=clock, model=model, **settings) as (client, app),
        grpc.aio.insecure_channel(client._target) as channel,
    ):
        yield Bot(client, app, context_pb2_grpc.ContextServiceStub(channel))


@asynccontextmanager
async def talk_to(
    replies: Sequence[Reply], database: Path | str = ":memory:", **settings: object
) -> AsyncIterator[tuple[Bot, SseServer]]:
    """The same with a model behind a socket, which plays these replies."""
    async with sse_server() as server:
        server.replies[:] = replies
        async with talk(database=database, model_base_url=server.url, **settings) as bot:
            yield bot, server


def refused(heard: Heard) -> tuple[str, str, str]:
    """Code, reason and field of a stream that was refused before its first event."""
    assert heard.events == []
    assert heard.refusal is not None
    return heard.refusal.code.name, heard.refusal.reason, heard.refusal.field


def turn(question: str = "hello?", *, tools: bool = False, **fields) -> pb.StreamChatRequest:
    context = {"channel": ROOM, "question": question, "asker": ANN, "self_ids": ["bot"]}
    if tools:
        context["tools_json"] = TOOLS
    context |= fields.pop("context", {})
    call = {"enable_tools": True} if tools else {}
    call |= fields.pop("model_call", {})
    return pb.StreamChatRequest(
        context=pb.BuildContextRequest(**context), model_call=pb.ModelCall(**call), **fields
    )


def answers(turn_id: str, **texts: str) -> pb.StreamChatRequest:
    """The results of a turn's calls, by call id."""
    results = [pb.ToolResult(call_id=id, text=text) for id, text in texts.items()]
    return pb.StreamChatRequest(turn_id=turn_id, tool_results=results)


def text_of(row: history_pb2.StoredMessage) -> str:
    return "".join(part.text.text for part in row.message.parts)
