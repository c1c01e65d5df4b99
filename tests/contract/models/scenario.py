"""What a model is told to say, in no model's own terms, and how a test listens."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from backscroll_sidecar.domain import NeutralMessage, Role, ToolCallPart
from backscroll_sidecar.ports import (
    ChatModel,
    FinishReason,
    ModelError,
    ModelEvent,
    ModelRequest,
    TextDelta,
)

MESSAGES = (
    NeutralMessage(Role.SYSTEM, "你是一只猫。"),
    NeutralMessage(Role.USER, "狗吃什么"),
    NeutralMessage(Role.ASSISTANT, "狗粮。"),
    NeutralMessage(Role.USER, "那猫呢？🐈"),
)


def ask(**fields) -> ModelRequest:
    fields.setdefault("messages", MESSAGES)
    fields.setdefault("model", "gpt-4o-mini")
    return ModelRequest(**fields)


@dataclass(frozen=True)
class Scenario:
    """One answer: its pieces, then one of: an ending, silence for ever, an error. `finish` None: no reason is given."""

    pieces: Sequence[str] = ()
    calls: Sequence[ToolCallPart] = ()
    usage: tuple[int, int] | None = None
    finish: FinishReason | None = FinishReason.STOP
    silent: bool = False
    cut: bool = False
    status: int = 200


Making = Callable[..., ChatModel]
"""Makes a model that plays the scenarios it is given, one a call."""


async def events_of(model: ChatModel, request: ModelRequest | None = None) -> list[ModelEvent]:
    async with model.stream(request or ask()) as events:
        return joined([event async for event in events])


async def listen(
    model: ChatModel, request: ModelRequest | None = None
) -> tuple[list[ModelEvent], ModelError | None]:
    """All events and the error that ended them, if one did. Any other exception is a failure of the test."""
    heard: list[ModelEvent] = []
    try:
        async with model.stream(request or ask()) as events:
            async for event in events:
                heard.append(event)  # noqa: PERF401 - what was heard before an error counts
    except ModelError as error:
        return joined(heard), error
    return joined(heard), None


def joined(events: Sequence[ModelEvent]) -> list[ModelEvent]:
    """The events with texts in a row made one: a model may do so with what came together (`ChatModel.stream`)."""
    out: list[ModelEvent] = []
    for event in events:
        if out and isinstance(event, TextDelta) and isinstance(out[-1], TextDelta):
            out[-1] = TextDelta(out[-1].text + event.text)
        else:
            out.append(event)
    return out


def text_of(events: Sequence[ModelEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))
