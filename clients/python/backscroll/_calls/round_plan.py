"""How a round is carried out: streamed, gone on with where it broke off or waits for the bot's tools."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field

from backscroll._calls.plan import Call, Conversation, Stream
from backscroll._calls.rooms import RoomCore, begun
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
from backscroll.v1 import context_pb2, session_pb2
from backscroll.values import ToolResult

_MAX_EXCHANGES = 100
"""Most exchanges of tools in a round. The server ends a turn much earlier."""
_MAX_BREAKS = 5


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
                answers = yield from self._answers()
                self._go_on(answers)
        except BackscrollError as error:
            error.request_id = self.log.request_id
            raise

    def _call(self) -> Call:
        rpc = type(self._request).__name__.removesuffix("Request")
        return Call(rpc, self._request, self._timeout_s)

    def _answers(self) -> Generator[ToolRun, ToolResult, list[session_pb2.ToolAnswers]]:
        """Run what is asked for."""
        assert self._table is not None
        answers = []
        for one in self._open:
            results = []
            for call in one.calls:
                result = yield self._table.run_of(call)
                results.append(result)
            answers.append(answers_of(one.interrupt_id, results))
        return answers

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
