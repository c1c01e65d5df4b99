"""A server with a model that answers as each persona is told to, and a caller of SessionService in front."""

import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc

from backscroll import AsyncClient
from backscroll.errors import BackscrollError, error_from
from backscroll.v1 import context_pb2, context_pb2_grpc, message_pb2, session_pb2_grpc
from backscroll.v1 import session_pb2 as pb
from backscroll_sidecar.domain import Role, ToolCallPart
from backscroll_sidecar.ports import (
    Clock,
    Finished,
    FinishReason,
    ModelEvent,
    ModelRequest,
    TextDelta,
    ToolCallDelta,
)
from backscroll_sidecar.wiring import App
from tests.kit.postgres import IN_POSTGRES
from tests.kit.served import served

ENOUGH_S = 300.0
ANN = message_pb2.Author(id="u1", name="Ann")
BOB = message_pb2.Author(id="u2", name="Bob")
PERSONA = pb.PARTICIPANT_KIND_PERSONA
CATS = (
    pb.Participant(
        id="black", kind=PERSONA, name="小黑", nickname="黑黑", aliases=["Blacky"],
        persona="你是一只黑猫，负责写代码。", summary="写代码",
    ),
    pb.Participant(
        id="white", kind=PERSONA, name="小白", persona="你是一只白猫，负责评审。", summary="评审代码",
    ),
    pb.Participant(
        id="grey", kind=PERSONA, name="小灰", persona="你是一只灰猫，负责测试。", summary="跑测试",
    ),
)  # fmt: skip

Answer = str | Exception | Sequence[str | ToolCallPart | Exception]


@dataclass
class CatModel:
    """Answers each persona with what `answers` says: a text, pieces, or an error. `calls` are what was asked."""

    answers: Callable[[str, ModelRequest], Answer] = lambda name, _: f"{name}说喵"
    names: Sequence[str] = ("小黑", "小白", "小灰")
    calls: list[tuple[str, ModelRequest]] = field(default_factory=list)

    def stream(
        self, request: ModelRequest
    ) -> AbstractAsyncContextManager[AsyncIterator[ModelEvent]]:
        name = self.whom(request)
        self.calls.append((name, request))
        return self._stream(name, request)

    def whom(self, request: ModelRequest) -> str:
        """Whose answer it is, by the beginning of the system text."""
        system = next((one.content for one in request.messages if one.role is Role.SYSTEM), "")
        first = system.split("\n", 1)[0]
        return next((name for name in self.names if name in first), "?")

    @asynccontextmanager
    async def _stream(
        self, name: str, request: ModelRequest
    ) -> AsyncIterator[AsyncIterator[ModelEvent]]:
        yield self._events(name, request)

    async def _events(self, name: str, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        answer = self.answers(name, request)
        if hasattr(answer, "__await__"):
            answer = await answer
        if isinstance(answer, Exception):
            raise answer
        finish = FinishReason.STOP
        for piece in [answer] if isinstance(answer, str) else answer:
            if isinstance(piece, Exception):
                raise piece
            if isinstance(piece, ToolCallPart):
                finish = FinishReason.TOOL_CALLS
                yield ToolCallDelta(piece)
            elif piece:
                yield TextDelta(piece)
        yield Finished(finish, "stop")

    async def close(self) -> None:
        pass

    @property
    def asked(self) -> list[str]:
        """Who was asked, in order."""
        return [name for name, _ in self.calls]

    def prompt(self, place: int = -1) -> str:
        """Everything that was in a prompt."""
        return "\n".join(one.content for one in self.calls[place][1].messages)


@dataclass
class Round:
    """The events of one round, and the error that took their place or their end."""

    events: list[pb.RoundEvent] = field(default_factory=list)
    refusal: BackscrollError | None = None

    @property
    def kinds(self) -> list[str]:
        return [event.WhichOneof("event") for event in self.events]

    def of(self, kind: str) -> list[Any]:
        return [getattr(event, kind) for event in self.events if event.HasField(kind)]

    @property
    def started(self) -> pb.RoundStarted:
        assert self.refusal is None, self.refusal
        assert self.kinds[0] == "round_started"
        return self.events[0].round_started

    @property
    def session_id(self) -> str:
        return self.started.session.session_id

    @property
    def end(self) -> pb.RoundEnded:
        assert self.refusal is None, self.refusal
        assert self.kinds[-1] == "round_ended"
        assert self.kinds.count("round_ended") == 1
        return self.events[-1].round_ended

    @property
    def reason(self) -> str:
        return pb.RoundEndReason.Name(self.end.reason).removeprefix("ROUND_END_REASON_")

    @property
    def targets(self) -> list[tuple[str, str]]:
        """Who was asked, and why, in the order of the events.

        With PostgreSQL those of one wave start as their contexts are ready: then by step.
        """
        started = self.of("target_started")
        if IN_POSTGRES:
            started = sorted(started, key=lambda one: one.step)
        return [
            (
                one.target.participant_id,
                pb.RouteReason.Name(one.target.reason).removeprefix("ROUTE_REASON_"),
            )
            for one in started
        ]

    @property
    def said(self) -> dict[str, str]:
        """What each said, as it was streamed."""
        texts: dict[str, str] = {}
        for event in self.events:
            if event.HasField("delta"):
                before = "" if event.delta.whole else texts.get(event.target_id, "")
                texts[event.target_id] = before + event.delta.text
        return texts

    @property
    def ended(self) -> dict[str, str]:
        """How each answer ended."""
        return {
            event.target_id: pb.TargetEndReason.Name(event.target_ended.reason).removeprefix(
                "TARGET_END_REASON_"
            )
            for event in self.events
            if event.HasField("target_ended")
        }

    @property
    def replies(self) -> list[str]:
        return [text_of(one) for one in self.end.responses]


def text_of(message: message_pb2.Message) -> str:
    return "".join(part.text.text for part in message.parts)


@dataclass
class Room:
    """One caller on one server."""

    client: AsyncClient
    app: App
    stub: session_pb2_grpc.SessionServiceStub
    contexts: context_pb2_grpc.ContextServiceStub
    model: CatModel
    session_id: str = ""

    async def open(self, **fields: Any) -> pb.Session:
        """Begin a session; further calls are about it."""
        fields = {"participants": CATS} | fields
        made = await self.stub.CreateSession(
            pb.CreateSessionRequest(session=pb.Session(**fields)), timeout=ENOUGH_S
        )
        self.session_id = made.session.session_id
        return made.session

    @property
    def ref(self) -> pb.SessionRef:
        return pb.SessionRef(session_id=self.session_id)

    async def say(
        self,
        text: str | None = None,
        author: message_pb2.Author = ANN,
        *,
        timeout_s: float = ENOUGH_S,
        message: dict[str, Any] | None = None,
        **fields: Any,
    ) -> Round:
        """One round, to its end."""
        if text is not None or message is not None:
            parts = [] if text is None else [said(text)]
            fields["message"] = message_pb2.Message(
                **({"author": author, "parts": parts} | (message or {}))
            )
        fields.setdefault("session", self.ref)
        return await self.run(
            self.stub.StartRound(pb.StartRoundRequest(**fields), timeout=timeout_s)
        )

    async def resume(self, request_id: str, timeout_s: float = ENOUGH_S, **fields: Any) -> Round:
        """Go on with a round, to its end."""
        request = pb.ResumeRoundRequest(session=self.ref, request_id=request_id, **fields)
        return await self.run(self.stub.ResumeRound(request, timeout=timeout_s))

    async def run(self, call: Any) -> Round:
        heard = Round()
        try:
            async for answer in call:
                heard.events.append(answer.event)
        except grpc.aio.AioRpcError as failed:
            heard.refusal = error_from(failed)
        return heard

    async def session(self) -> pb.Session:
        request = pb.GetSessionRequest(session=self.ref)
        return (await self.stub.GetSession(request)).session

    async def state(self) -> dict[str, Any]:
        return json.loads((await self.session()).mode_state_json)

    async def act(self, name: str, actor_id: str = "", argument: str = "", **fields: Any) -> Any:
        request = pb.ActRequest(
            session=self.ref, name=name, actor_id=actor_id, argument=argument, **fields
        )
        return await self.stub.Act(request)

    async def refused(self, call: Any) -> tuple[str, str, str]:
        """Code, reason and field of a call that fails."""
        try:
            await call
        except grpc.aio.AioRpcError as failed:
            error = error_from(failed)
            return error.code.name, error.reason, error.field
        raise AssertionError("the call succeeded")

    async def history(self, channel: str = "") -> list[message_pb2.Message]:
        channel = channel or (await self.session()).channel
        return [one.message async for one in self.client.list_messages(channel)]

    async def built(self, **fields: Any) -> context_pb2.BuildContextResponse:
        fields = {"session_id": self.session_id, "question": "so?", "profile": "room"} | fields
        return await self.contexts.BuildContext(context_pb2.BuildContextRequest(**fields))


def said(text: str) -> message_pb2.Part:
    return message_pb2.Part(text=message_pb2.TextPart(text=text))


def human(id_: str, name: str, **fields: Any) -> pb.Participant:
    return pb.Participant(id=id_, name=name, kind=pb.PARTICIPANT_KIND_HUMAN, **fields)


@asynccontextmanager
async def room(
    model: CatModel | None = None,
    database: Path | str = ":memory:",
    clock: Clock | None = None,
    **settings: object,
) -> AsyncIterator[Room]:
    used = None if "model_base_url" in settings else model or CatModel()
    async with (
        served(database, clock=clock, model=used, **settings) as (client, app),
        grpc.aio.insecure_channel(client._target) as channel,
    ):
        yield Room(
            client,
            app,
            session_pb2_grpc.SessionServiceStub(channel),
            context_pb2_grpc.ContextServiceStub(channel),
            used or CatModel(),
        )
