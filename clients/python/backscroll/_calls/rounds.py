"""Rounds: a message is said, whoever is to answer is asked, the bot's tools run, and what broke off goes on."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypedDict, Unpack

from backscroll._calls.context import PromptOptions, context_request
from backscroll._calls.plan import Call, Conversation, Stream
from backscroll._calls.rooms import RoomCore, begun, said
from backscroll._encode import encode
from backscroll._round_events import round_event_of
from backscroll._tools import ToolRun, ToolTable
from backscroll.errors import BackscrollError, Unavailable
from backscroll.room_events import (
    Interrupt,
    RoundEnded,
    RoundEvent,
    RoundStarted,
    StateChanged,
    TargetDelta,
    TargetEnded,
    TargetStarted,
)
from backscroll.rounds import RoundLog
from backscroll.v1 import context_pb2, message_pb2, session_pb2
from backscroll.values import (
    Author,
    Mention,
    Message,
    PayloadFormatName,
    Reply,
    ToolCall,
    ToolResult,
)

ROUND_TIMEOUT_S = 300.0
_MAX_EXCHANGES = 100
"""Most exchanges of tools in a round. The server ends a turn much earlier."""
_MAX_BREAKS = 5

RoundTools: TypeAlias = Mapping[str, Callable[..., Any]] | Sequence[Callable[..., Any]]
Answers: TypeAlias = Mapping[str, Sequence[ToolResult]]
"""The results of tools, by the id of the interrupt that waits for them."""


class ModelOptions(TypedDict, total=False):
    """How the models of a round are called; as for `stream_chat`."""

    temperature: float | None
    max_tool_iterations: int | None
    enable_tools: bool | None
    max_output_tokens: int | None
    extra_body_json: str
    model_api: PayloadFormatName | int | None


class RoundOptions(PromptOptions, ModelOptions, total=False):
    """Settings of a round: those of `build_context` that say what a prompt is like, and those of the model."""


class RoundPlan:
    """A round as the bot sees it: what to send next, given what was said. `log` is what has come of it."""

    def __init__(
        self,
        core: RoomCore,
        request: session_pb2.StartRoundRequest | session_pb2.ResumeRoundRequest,
        table: ToolTable | None,
        timeout_s: float | None,
    ) -> None:
        self._core = core
        self._request = request
        self._context = getattr(request, "context", context_pb2.BuildContextRequest())
        self._table = table
        self._timeout_s = timeout_s
        self._open: list[Interrupt] = []
        self._exchanges, self._breaks = 0, 0
        self._heard = _Heard(getattr(request, "after_sequence", 0))
        self.log = RoundLog(request.request_id, core.ref.session_id)

    def events(self) -> Conversation[RoundEvent]:
        """Stream, run the tools asked for, go on; what broke off is gone on with, nobody is asked twice."""
        try:
            yield from begun(self._core, None)
            if self._table is not None:
                yield self._table
            while True:
                before = self._heard.sequence
                try:
                    yield Stream(self._call(), self._unpacked)
                except Unavailable as error:
                    self._broke_off(error, before)
                    continue
                if not self._open:
                    return
                answers = []
                for one in self._open:
                    results = []
                    for run in self._runs(one.calls):
                        results.append((yield run))
                    answers.append(answers_of(one.interrupt_id, results))
                self._go_on(answers)
        except BackscrollError as error:
            error.request_id = self.log.request_id
            raise

    def _call(self) -> Call:
        rpc = type(self._request).__name__.removesuffix("Request")
        return Call(rpc, self._request, self._timeout_s)

    def _runs(self, calls: Sequence[ToolCall]) -> list[ToolRun]:
        assert self._table is not None
        return [self._table.run_of(call) for call in calls]

    def _broke_off(self, error: Unavailable, before: int) -> None:
        """Ask for the rest of what was heard of; raise where nothing was: gRPC has tried again already."""
        self._breaks += 1
        if error.reason or self._heard.sequence == before or self._breaks > _MAX_BREAKS:
            raise error
        self._open.clear()
        answers = getattr(self._request, "answers", ())
        self._go_on(answers)

    def _go_on(self, answers: Sequence[session_pb2.ToolAnswers]) -> None:
        self._open = []
        self._request = session_pb2.ResumeRoundRequest(
            session=self._core.ref,
            request_id=self.log.request_id,
            after_sequence=self._heard.sequence,
            answers=answers,
        )

    def _unpacked(
        self, raw: session_pb2.StartRoundResponse | session_pb2.ResumeRoundResponse
    ) -> Iterator[RoundEvent]:
        event = round_event_of(raw.event, self._context)
        if event is None or not self._heard.is_news(event):
            return
        if self._table is not None and self._exchanges < _MAX_EXCHANGES and self._is_ours(event):
            return
        self.log.take(event)
        yield event

    def _is_ours(self, event: RoundEvent) -> bool:
        """Whether it only says that our functions are to be called."""
        match event:
            case Interrupt():
                self._open.append(event)
                return True
            case TargetEnded(reason="interrupted"):
                return True
            case RoundEnded(reason="interrupted"):
                self._exchanges += 1
                return bool(self._open)
            case _:
                return False


@dataclass(slots=True)
class _Heard:
    """What of a round was told already: one that goes on tells it again."""

    sequence: int = 0
    started: bool = False
    steps: dict[str, int] = field(default_factory=dict)
    over: set[tuple[str, int]] = field(default_factory=set)
    versions: set[int] = field(default_factory=set)

    def is_news(self, event: RoundEvent) -> bool:
        """Whether an event tells something new. An answer that begins again is new: what was heard of it is void."""
        self.sequence = max(self.sequence, event.sequence)
        match event:
            case RoundStarted():
                was, self.started = self.started, True
                return not was
            case StateChanged():
                is_new = event.state_version not in self.versions
                self.versions.add(event.state_version)
                return is_new
            case TargetStarted():
                self.steps[event.target_id] = event.step
                return (event.target_id, event.step) not in self.over
            case TargetEnded():
                place = (event.target_id, self.steps.get(event.target_id, 0))
                is_new = place not in self.over
                if event.reason != "interrupted":
                    self.over.add(place)
                return is_new
            case TargetDelta():
                return (event.target_id, self.steps.get(event.target_id, 0)) not in self.over
            case _:
                return True


def say(
    core: RoomCore,
    text: str | Message,
    author: str | Author | None = None,
    *,
    id: str = "",
    targets: Sequence[str] = (),
    request_id: str | None = None,
    reply_to: str | Reply | message_pb2.Reply | None = None,
    mentions: Sequence[str | Mention | message_pb2.Mention] = (),
    audience: Sequence[str] = (),
    expected_state_version: int | None = None,
    tools: RoundTools | None = None,
    timeout_s: float | None = ROUND_TIMEOUT_S,
    **settings: Unpack[RoundOptions],
) -> RoundPlan:
    """Say something in the room, and iterate over what is answered to it.

    The message is stored, everybody who is to answer is asked, and their answers are stored. First
    comes a `RoundStarted`, then of each persona a `TargetStarted`, each `TargetDelta` and a
    `TargetEnded`; last a `RoundEnded`. Afterwards `replies`, `responses`, `route`, `state`,
    `errors` and `ended` of what was iterated say what came of it. One persona that fails costs only
    itself and raises nothing. Leaving the loop ends the call and the models' work.

    A call that breaks off goes on by itself with what is still to come. The round has a request id,
    so nobody is asked twice; a `TargetStarted` for a persona already begun says that its answer
    begins again.

    Parameters
    ----------
    text, author
        What is said and by whom: an id or an `Author`. A `Message` may stand for both.
    id
        The platform's id of the message, so that it is stored once. "": made of the request id.
    targets
        Ids or names of personas that shall answer, whatever the text says.
    request_id
        Names the round: the same one again gives what is stored, and goes on with what is not.
        None: made up; it is `request_id` of what this returns.
    reply_to, mentions
        What the message answers, and whom the platform marked in it.
    audience
        The ids of those it is for. None: whom the mode says.
    expected_state_version
        Refuse the round where the session has another one.
    tools
        Functions, or a dict of them by name: they are described to the models, called when one asks
        for it, and what they return is handed back. As for `stream_chat`.
    timeout_s
        Deadline of each call of the server, five minutes; the tools' own time comes on top.
    **settings
        Of the prompts, as for `build_context` (`token_budget`, `profile`, `model`, `time_zone`, …),
        and of the model, as for `stream_chat` (`temperature`, `max_output_tokens`, …).

    Raises
    ------
    NotFound
        With reason SESSION_NOT_FOUND, where the room was made of an id alone.
    Refused
        With reason ACTION_REFUSED where the message is a move that the rules forbid; SESSION_CLOSED.
    Conflict
        If the mode or the state is another one, or the request id that of another message.
    Unavailable
        If the server is not there; `request_id` of the error is what `resume` takes.

    Examples
    --------
    >>> room = client.room("cats", personas=[Persona("tom", "Tom"), Persona("kit", "Kit")])
    >>> for event in room.say("hello", "u1"):
    ...     match event:
    ...         case TargetDelta(text, who):
    ...             print(f"{who}: {text}")
    tom: Tom says: hello
    kit: Kit says: hello
    """
    message = said(
        text, author, id=id, reply_to=reply_to, mentions=mentions, audience=audience
    )  # fmt: skip
    request, table = round_request(core, message, targets, request_id, tools, settings)
    if expected_state_version is not None:
        request.expected_state_version = expected_state_version
    return RoundPlan(core, request, table, timeout_s)


def go_on(
    core: RoomCore,
    *,
    targets: Sequence[str] = (),
    request_id: str | None = None,
    tools: RoundTools | None = None,
    timeout_s: float | None = ROUND_TIMEOUT_S,
    **settings: Unpack[RoundOptions],
) -> RoundPlan:
    """Let those speak whom the mode waits for, without a message; otherwise as `say`.

    Raises
    ------
    InvalidRequest
        With reason QUESTION_MISSING, where the mode waits for nobody.

    Examples
    --------
    >>> room = client.room("cats", personas=["tom"], mode="quiz")
    >>> list(room.go_on())[-1].reason
    'nobody'
    """
    request, table = round_request(core, None, targets, request_id, tools, settings)
    return RoundPlan(core, request, table, timeout_s)


def resume(
    core: RoomCore,
    request_id: str,
    *,
    answers: Answers | None = None,
    after_sequence: int = 0,
    tools: RoundTools | None = None,
    timeout_s: float | None = ROUND_TIMEOUT_S,
) -> RoundPlan:
    """Go on with a round: after a failure, or with the results of tools that it waits for.

    Parameters
    ----------
    request_id
        Of the round.
    answers
        Results by the `interrupt_id` of the `Interrupt` that waits for them.
    after_sequence
        Events up to this one are left out.
    tools
        As for `say`: answers to what is asked for from now on.
    timeout_s
        Deadline of each call.

    Raises
    ------
    NotFound
        With reason ROUND_NOT_FOUND or INTERRUPT_NOT_FOUND.
    Conflict
        If an interrupt was answered otherwise before.

    Examples
    --------
    >>> room = client.room("cats", personas=[Persona("tom", "Tom")])
    >>> first = room.ask("hello", "u1")
    >>> again = room.resume(first.request_id)
    >>> _ = list(again)
    >>> again.replies == first.replies
    True
    """
    request = session_pb2.ResumeRoundRequest(
        session=core.ref,
        request_id=request_id,
        after_sequence=after_sequence,
        answers=[answers_of(key, results) for key, results in (answers or {}).items()],
    )
    return RoundPlan(core, request, table_of(tools, ""), timeout_s)


def round_request(
    core: RoomCore,
    message: message_pb2.Message | None,
    targets: Sequence[str],
    request_id: str | None,
    tools: RoundTools | None,
    settings: RoundOptions,
) -> tuple[session_pb2.StartRoundRequest, ToolTable | None]:
    """The request of a round, and the functions that answer its calls of tools."""
    given: dict[str, Any] = dict(settings)
    model = {name: given.pop(name) for name in ModelOptions.__annotations__ if name in given}
    if unknown := given.keys() - PromptOptions.__annotations__.keys():
        raise TypeError(f"got an unexpected keyword argument {min(unknown)!r}")
    call = encode(context_pb2.ModelCall, **model)
    table = None
    if tools is not None and (call.enable_tools or not call.HasField("enable_tools")):
        table = table_of(tools, given.get("tools_json", ""))
        call.enable_tools = table is not None
        given["tools_json"] = "" if table is None else table.schemas_json
    request = encode(
        session_pb2.StartRoundRequest,
        request_id=request_id or uuid.uuid4().hex,
        session=core.ref,
        message=message,
        targets=targets,
        context=context_request("", "", **given),
        model_call=call,
    )
    return request, table


def table_of(tools: RoundTools | None, tools_json: str) -> ToolTable | None:
    """The functions by name."""
    if tools is None:
        return None
    if isinstance(tools, Sequence):
        tools = {each.__name__: each for each in tools}
    return ToolTable.of(tools, tools_json)


def answers_of(interrupt_id: str, results: Sequence[ToolResult]) -> session_pb2.ToolAnswers:
    """The results of one interrupt."""
    return session_pb2.ToolAnswers(
        interrupt_id=interrupt_id,
        tool_results=[
            encode(
                context_pb2.ToolResult, call_id=one.call_id, text=one.text, is_error=one.is_error
            )
            for one in results
        ],
    )
