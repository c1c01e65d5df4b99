"""One model call of a turn, as chat events and an ending."""

import asyncio
import math
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, aclosing
from typing import Any

import structlog
from msgspec.structs import replace

from backscroll_sidecar.chat.companion import ALONE, Companion
from backscroll_sidecar.chat.events import (
    ChatError,
    ChatEvent,
    Delta,
    EndReason,
    TakenBack,
    ToolCalled,
)
from backscroll_sidecar.chat.finish_reasons import Ending, ending_of, error_text
from backscroll_sidecar.chat.model_span import told
from backscroll_sidecar.chat.turn_writer import TimeLimits, TurnWriter
from backscroll_sidecar.chat.turns import ModelReply, Turn
from backscroll_sidecar.chat.usage import Usage
from backscroll_sidecar.domain import ToolCallPart
from backscroll_sidecar.ports import (
    AnswerParts,
    ChatModel,
    Finished,
    FinishReason,
    ModelError,
    ModelEvent,
    ModelFault,
    ModelRequest,
    Relay,
    Relayed,
    TextDelta,
    TextTakenBack,
    ToolCallDelta,
    UsageDelta,
    VendorAnswer,
)
from backscroll_sidecar.telemetry.spans import Spans
from backscroll_sidecar.texts import FAULTS, Texts, Wordings

log = structlog.get_logger(__name__)


Smaller = Callable[[Turn], Awaitable[Turn | None]]
"""Makes a turn that is larger than its model's window smaller; None where that cannot be."""


class ModelStream:
    """Calls the model, passes on its events, stores the reply, and always ends with a reason."""

    def __init__(
        self,
        model: ChatModel,
        turn_writer: TurnWriter,
        wordings: Wordings,
        usage: Usage,
        spans: Spans | None,
        *,
        missing_is_complete: bool,
    ) -> None:
        self._model = model
        self._turn_writer = turn_writer
        self._wordings = wordings
        self._usage = usage
        self._spans = spans
        self._missing_is_complete = missing_is_complete

    async def answer(
        self,
        turn: Turn,
        limits: TimeLimits | None,
        saving: Sequence[asyncio.Task[Any]],
        release: Callable[[], None] = lambda: None,
        smaller: Smaller | None = None,
        companion: Companion = ALONE,
        relay: Relay | None = None,
        replaced: str = "",
    ) -> AsyncGenerator[ChatEvent]:
        """The events of the turn's next model call. `ChatEnd` comes after every commit that ends in time.

        Parameters
        ----------
        turn : the turn before this call.
        limits : of the caller's time; None: it has none.
        saving : commits that were begun before, which the end waits for as well.
        release : called once everything is stored, also where the caller has left.
        smaller : makes the turn smaller where it is larger than the model's window; then it is asked once more.
        companion : hears the answer, and says what is kept with it.
        relay : the client's own request that the model gets; None: ours.
        replaced : the id of a stored reply that goes where another is stored; empty: none does.
        """
        turn = replace(turn, iteration=turn.iteration + 1)
        texts = self._wordings.by_language(turn.language)
        reply = ModelReply()
        ending: Ending | None = None
        error: ChatError | None = None
        try:
            steps = self._asked(turn, limits and limits.model_s, reply, smaller, companion, relay)
            async with aclosing(steps):
                async for event in steps:
                    if isinstance(event, Ending):
                        ending = event
                    elif isinstance(event, Turn):
                        turn = event
                    else:
                        yield event
        except ModelError as failed:
            ending, error = _failed(failed, texts)
            log.warning("model failed", fault=failed.fault.value, turn_id=turn.id, **failed.told)
        except TimeoutError:
            ending = Ending(EndReason.DEADLINE, is_whole=False)
        except Exception:  # whatever failed, the stream ends with a reason
            log.exception("turn failed", turn_id=turn.id)
            broken = ModelError(ModelFault.BAD_RESPONSE, FAULTS["internal"][0])
            ending, error = _failed(broken, texts)
        finally:
            # Also where the caller has left: nothing of the reply is lost.
            cancelled = Ending(EndReason.CANCELLED, is_whole=False)
            finishing = self._turn_writer.finish(
                turn, reply, ending or cancelled, saving, companion, replaced
            )
            finishing.add_done_callback(lambda _: release())
        if ending is None:  # for the type checker: the last event is one
            raise AssertionError
        if ending.notice is not None:
            yield ending.notice
        if error is not None:
            yield error
        end, not_stored = await self._turn_writer.settle(turn, reply, ending, finishing, limits)
        if not_stored is not None:
            yield not_stored
        yield end

    async def _asked(
        self,
        turn: Turn,
        end_s: float | None,
        reply: ModelReply,
        smaller: Smaller | None,
        companion: Companion,
        relay: Relay | None,
    ) -> AsyncGenerator[ChatEvent | Ending | Turn]:
        """The model's events, then the ending; before them a smaller turn if the model refused this as too large."""
        try:
            async with aclosing(self._called(turn, end_s, reply, companion, relay)) as steps:
                async for event in steps:
                    yield event
            return
        except ModelError as failed:
            if smaller is None or not failed.is_overflow or reply.whole:
                raise
            refused = failed
        log.warning("the context is larger than the model's window", turn_id=turn.id)
        async with asyncio.timeout_at(end_s):
            less = await smaller(turn)
        if less is None:
            raise refused
        yield less
        async with aclosing(self._called(less, end_s, reply, companion, relay)) as steps:
            async for event in steps:
                yield event

    def _called(
        self,
        turn: Turn,
        end_s: float | None,
        reply: ModelReply,
        companion: Companion,
        relay: Relay | None,
    ) -> AsyncGenerator[ChatEvent | Ending]:
        events = self._model_events(turn, end_s, reply, companion, relay)
        return events if self._spans is None else told(events, turn, reply, self._spans)

    async def _model_events(
        self,
        turn: Turn,
        end_s: float | None,
        reply: ModelReply,
        companion: Companion,
        relay: Relay | None,
    ) -> AsyncGenerator[ChatEvent | Ending]:
        """The model's events as chat events, then the ending. Leaving early closes the upstream."""
        # The caller's time is watched here alone: two watchers could disagree about the ending.
        async with AsyncExitStack() as stack:
            async with asyncio.timeout_at(end_s):
                events = await stack.enter_async_context(self._model.stream(_request(turn, relay)))
            finish = FinishReason.NONE
            while True:
                match await _next(events, end_s):
                    case (VendorAnswer() | Relayed()) as event:
                        yield event
                    case TextDelta(text):
                        if shown := _heard(reply, companion.take(text)):
                            yield Delta(shown)
                        if companion.is_cut:
                            finish = FinishReason.STOP
                            break
                    case TextTakenBack():
                        reply.texts.clear()
                        companion.start_anew()
                        yield TakenBack()
                    case ToolCallDelta(call):
                        reply.calls.append(_permitted(turn, call, relay))
                        yield ToolCalled(call)
                    case (AnswerParts() | UsageDelta()) as told_of:
                        self._note(turn, reply, told_of)
                    case Finished(reason, word):
                        finish, reply.finish_reason = reason, word
                    case None:
                        break
        if held := _heard(reply, companion.rest()):
            yield Delta(held)
        texts = self._wordings.by_language(turn.language)
        yield ending_of(_meant(finish, reply), texts, missing_is_complete=self._missing_is_complete)

    def _note(self, turn: Turn, reply: ModelReply, told_of: AnswerParts | UsageDelta) -> None:
        if isinstance(told_of, AnswerParts):
            reply.parts = told_of.parts
            return
        prompt, completion = told_of.prompt_tokens, told_of.completion_tokens
        reply.prompt_tokens, reply.completion_tokens = prompt, completion
        self._usage.told(turn, prompt, completion)


_ALSO_BEHIND_CALLS = {FinishReason.STOP, FinishReason.UNKNOWN, FinishReason.NONE}


def _permitted(turn: Turn, call: ToolCallPart, relay: Relay | None) -> ToolCallPart:
    """A call that the model may make; a client's own request has its own tools. Raises `ModelError`."""
    if relay is None and not turn.may_call_tools:
        raise ModelError(ModelFault.BAD_RESPONSE, FAULTS["unknown_tools"][0])
    return call


def _heard(reply: ModelReply, text: str) -> str:
    """A piece of the answer, which the reply now has."""
    if text:
        reply.texts.append(text)
    return text


def _meant(finish: FinishReason, reply: ModelReply) -> FinishReason:
    """How the answer ended, by what is in it."""
    if reply.calls and finish in _ALSO_BEHIND_CALLS:
        return FinishReason.TOOL_CALLS  # some servers say "stop" after calls
    if finish is FinishReason.TOOL_CALLS and not reply.calls:
        return FinishReason.STOP  # no call to answer: the text is the reply
    return finish


async def _next(events: AsyncIterator[ModelEvent], end_s: float | None) -> ModelEvent | None:
    """The next event; None at the end. The limit covers waiting for the model, not the reader's pace."""
    async with asyncio.timeout_at(end_s):
        event = await anext(events, None)
    if end_s is not None and asyncio.get_running_loop().time() >= end_s:
        raise TimeoutError  # also where no event had to be waited for
    return event


def _request(turn: Turn, relay: Relay | None) -> ModelRequest:
    return ModelRequest(
        messages=turn.messages,
        model=turn.model,
        temperature=turn.temperature,
        tools_json=turn.tools_json if turn.may_call_tools else "",
        max_output_tokens=turn.max_output_tokens,
        extra_body_json=turn.extra_body_json,
        with_names=turn.with_names,
        api=turn.model_api,
        relay=relay,
    )


def _failed(error: ModelError, texts: Texts) -> tuple[Ending, ChatError]:
    ending = Ending(EndReason.UPSTREAM_ERROR, is_whole=False)
    wait_s = error.retry_after_s
    wait_ms = None if wait_s is None else math.ceil(wait_s * 1_000)
    return ending, ChatError(error_text(error, texts), error.fault.value, wait_ms, error.answer)
