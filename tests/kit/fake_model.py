"""A model that plays a script, for tests: what it says and when, and a record of what it was sent."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import TypeVar

from backscroll_sidecar.domain import ToolCallPart
from backscroll_sidecar.models.faults import failed
from backscroll_sidecar.ports import (
    Finished,
    FinishReason,
    ModelError,
    ModelEvent,
    ModelFault,
    ModelRequest,
    TextDelta,
    ToolCallDelta,
)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Wait:
    """Stay silent: so many seconds, or until the event is set, or for ever. Cancelling ends it."""

    until: float | asyncio.Event | None = None


@dataclass(frozen=True, slots=True)
class Refuse:
    """Fail on entering the block, as a status does. Steps before it are played there, too."""

    error: ModelError


Step = str | ModelEvent | Wait | Refuse | ModelError
"""A text is a `TextDelta`; a `ModelError` is raised between events."""

Script = Sequence[Step]


STOP, LENGTH = Finished(FinishReason.STOP), Finished(FinishReason.LENGTH)
CALLS = Finished(FinishReason.TOOL_CALLS)


def call(id: str, name: str = "weather", arguments: str = "{}") -> ToolCallDelta:
    return ToolCallDelta(ToolCallPart(id, name, arguments))


@dataclass(slots=True)
class FakeCall:
    """One call as it went. Times are those of the loop."""

    request: ModelRequest
    opened_at_s: float
    sent: list[ModelEvent] = field(default_factory=list)
    """What was given out before the call ended."""
    closed_at_s: float | None = None
    """When the block was left, whichever way; None while it is open."""
    whole: bool = False
    """Whether the script was played to its end without an error."""


class FakeModel:
    """`ChatModel` that plays one script a call, in order; a call too many is an AssertionError.

    Given a function instead, asks it for the script of each request. A script without `Finished` or an error at its
    end ends cleanly without a reason, as an HTTP stream does.
    """

    def __init__(
        self, *scripts: Script, answer: Callable[[ModelRequest], Script] | None = None
    ) -> None:
        self._scripts = list(scripts)
        self._answer = answer
        self.calls: list[FakeCall] = []
        self.closed = False

    @property
    def requests(self) -> list[ModelRequest]:
        """What was sent, call by call."""
        return [call.request for call in self.calls]

    @property
    def open_calls(self) -> int:
        """How many blocks have not been left."""
        return sum(call.closed_at_s is None for call in self.calls)

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncIterator[AsyncIterator[ModelEvent]]:
        async with self._call(request) as (call, script, deadline):
            refusals = [at for at, step in enumerate(script) if isinstance(step, Refuse)]
            entered = refusals[0] + 1 if refusals else 0
            async for _ in _play(script[:entered], deadline):
                pass
            events = _recorded(call, _play(script, deadline))
            async with aclosing(events):
                yield events

    async def close(self) -> None:
        self.closed = True

    @asynccontextmanager
    async def _call(
        self, request: ModelRequest
    ) -> AsyncIterator[tuple[FakeCall, Script, float | None]]:
        loop = asyncio.get_running_loop()
        if self.closed:
            raise failed(ModelFault.CONNECTION)
        if request.timeout_s is not None and request.timeout_s <= 0:
            raise failed(ModelFault.TIMEOUT)
        call = FakeCall(request, loop.time())
        self.calls.append(call)
        deadline = None if request.timeout_s is None else loop.time() + request.timeout_s
        try:
            yield call, self._script(request), deadline
        finally:
            call.closed_at_s = loop.time()

    def _script(self, request: ModelRequest) -> Script:
        if self._answer is not None:
            return self._answer(request)
        if len(self.calls) > len(self._scripts):
            raise AssertionError(f"call {len(self.calls)} of {len(self._scripts)} scripted")
        return self._scripts[len(self.calls) - 1]


async def _play(script: Script, deadline: float | None) -> AsyncGenerator[ModelEvent, None]:
    for step in script:
        await _by(deadline, asyncio.sleep(0))
        match step:
            case Wait(until):
                await _by(deadline, _waited(until))
            case Refuse(error):
                raise error
            case ModelError():
                raise step
            case str():
                yield TextDelta(step)
            case Finished():
                yield step
                return
            case _:
                yield step
    yield Finished(FinishReason.NONE)


async def _recorded(
    call: FakeCall, events: AsyncGenerator[ModelEvent, None]
) -> AsyncGenerator[ModelEvent, None]:
    async with aclosing(events):
        async for event in events:
            call.sent.append(event)
            call.whole = isinstance(event, Finished)
            yield event


async def _waited(until: float | asyncio.Event | None) -> None:
    if isinstance(until, asyncio.Event):
        await until.wait()
    elif until is None:
        await asyncio.Event().wait()
    else:
        await asyncio.sleep(until)


async def _by(deadline: float | None, awaited: Awaitable[T]) -> T:
    try:
        async with asyncio.timeout_at(deadline):
            return await awaited
    except TimeoutError:
        raise failed(ModelFault.TIMEOUT) from None


def always(*script: Step) -> FakeModel:
    """A model that plays one script again and again."""
    return FakeModel(answer=lambda _: script)
