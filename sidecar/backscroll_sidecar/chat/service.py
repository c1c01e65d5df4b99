"""One orchestrator for StreamChat and Chat."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncGenerator, Coroutine
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import structlog

from backscroll_sidecar.chat.endings import (
    NOTICES,
    Ending,
    Notices,
    ending_of,
    error_text,
    notice_of,
)
from backscroll_sidecar.chat.events import (
    ChatEnd,
    ChatError,
    ChatEvent,
    ContextBuilt,
    Delta,
    EndReason,
    ToolCalled,
)
from backscroll_sidecar.chat.records import ChatHistory
from backscroll_sidecar.chat.turns import ChatRequest, Reply, Turn
from backscroll_sidecar.context.builder import ContextBuilder
from backscroll_sidecar.context.deadline import reserve_s
from backscroll_sidecar.context.model import BuildRequest, BuiltContext
from backscroll_sidecar.errors import (
    BackscrollError,
    Conflict,
    InvalidRequest,
    NotFound,
    Reason,
)
from backscroll_sidecar.ports import (
    ChatModel,
    Clock,
    Finished,
    FinishReason,
    ModelError,
    ModelFault,
    ModelRequest,
    TextDelta,
    ToolCallDelta,
    UsageDelta,
)

log = structlog.get_logger(__name__)

T = TypeVar("T")

MOST_RESERVE_S = 0.25
"""A long answer may use its caller's time: no more than this is kept for saying DEADLINE and storing what came."""
DEFAULT_SELF_ID = "assistant"
"""The author of replies where the caller names no id of its bot."""


@dataclass(frozen=True, slots=True)
class ChatSettings:
    """Defaults of S5-30, the notices of S5-31, the policy for a stream that ends without a reason."""

    temperature: float = 0.7
    max_tool_iterations: int = 10
    notices: Notices = NOTICES
    missing_finish_is_complete: bool = False
    turn_lifetime_ms: int = 3_600_000


@dataclass(frozen=True, slots=True)
class Finish:
    """What became of a reply: its id, empty where none is stored, and what could not be stored."""

    message_id: str = ""
    failure: BackscrollError | None = None


class ChatService:
    """Runs turns. Safe to call from any task of the event loop.

    A turn is driven by its reader: nothing is taken from the model before the last event was taken from us, so a slow
    reader slows the model's stream and nothing piles up.
    """

    def __init__(
        self,
        builder: ContextBuilder,
        history: ChatHistory,
        model: ChatModel,
        settings: ChatSettings,
        clock: Clock,
    ) -> None:
        self._builder = builder
        self._history = history
        self._model = model
        self._settings = settings
        self._clock = clock
        self._open_turns: set[tuple[str, str]] = set()
        self._background: set[asyncio.Task[Any]] = set()

    async def run(self, request: ChatRequest) -> AsyncGenerator[ChatEvent]:
        """The events of one turn, or of the next round of one.

        Raises
        ------
        BackscrollError
            Before the first event, for requests that can never succeed. After it nothing is raised but cancellation:
            what fails is an event, and the last event is `ChatEnd`.
        """
        steps = self._continue(request) if request.turn_id else self._begin(request)
        async with aclosing(steps):
            async for event in steps:
                yield event

    async def _begin(self, request: ChatRequest) -> AsyncGenerator[ChatEvent]:
        """A new turn: the question's commit runs beside the build and the model."""
        end_s = self._end_s(request)
        context = _checked_context(request)
        turn_id = uuid.uuid4().hex
        asked_at_ms = context.asked_at_ms
        question_id = context.trigger_message_id
        saving: list[asyncio.Task[Any]] = []
        if not question_id and context.key.channel and context.asker and context.question.strip():
            question_id = request.question_message_id or f"{turn_id}:question"
            asked_at_ms = self._clock.now_ms() if asked_at_ms is None else asked_at_ms
            saving.append(
                self._spawn(
                    self._history.save_question(
                        context.key, question_id, context.asker, context.question, asked_at_ms
                    )
                )
            )
        tools_json = context.tools_json if request.enable_tools else ""
        asked = replace(
            context,
            trigger_message_id=question_id,
            asked_at_ms=asked_at_ms,
            tools_json=tools_json,
            time_left_s=request.time_left_s,
        )
        try:
            built = await self._builder.build(asked)
        except BackscrollError as error:
            for task in saving:
                task.cancel()  # what has not been queued by now is not stored for a refused request
            error.field = error.field and f"context.{error.field}"
            raise
        if saving:
            built = _without_lost_trigger(built)
        yield ContextBuilt(built)
        settings = self._settings
        turn = Turn(
            id=turn_id,
            key=context.key,
            self_id=context.self_ids[0] if context.self_ids else DEFAULT_SELF_ID,
            model=built.model,
            messages=built.payload_messages,
            question_message_id=question_id,
            max_iterations=_or(request.max_tool_iterations, settings.max_tool_iterations),
            temperature=_or(request.temperature, settings.temperature),
            tools_json=tools_json,
            max_output_tokens=request.max_output_tokens,
        )
        steps = self._answer(turn, end_s, saving)
        async with aclosing(steps):
            async for event in steps:
                yield event

    async def _continue(self, request: ChatRequest) -> AsyncGenerator[ChatEvent]:
        """The next round of a kept turn; of one that has ended, its reply again."""
        mark = (request.tenant, request.turn_id)
        if mark in self._open_turns:
            raise Conflict("another call continues this turn now", field="turn_id")
        self._open_turns.add(mark)
        try:
            steps = self._next_round(request, self._end_s(request))
            async with aclosing(steps):
                async for event in steps:
                    if isinstance(event, ChatEnd):
                        # Whoever hears the end may ask for the next round at once.
                        self._open_turns.discard(mark)
                    yield event
        finally:
            self._open_turns.discard(mark)

    async def _next_round(
        self, request: ChatRequest, end_s: float | None
    ) -> AsyncGenerator[ChatEvent]:
        turn = await self._history.find(request.tenant, request.turn_id)
        if turn is None:
            raise NotFound(
                "turn_id names no turn that is kept", field="turn_id", reason=Reason.TURN_NOT_FOUND
            )
        if turn.ended is not None:
            if turn.reply_text:
                yield Delta(turn.reply_text)
            if notice := notice_of(turn.ended, self._settings.notices):
                yield notice
            yield ChatEnd(turn.ended, turn.id, turn.reply_message_id)
            return
        following = turn.continued(request.tool_results)
        saving = []
        if turn.key.channel:
            saving.append(self._spawn(self._history.save_round(turn, request.tool_results)))
        steps = self._answer(following, end_s, saving)
        async with aclosing(steps):
            async for event in steps:
                yield event

    async def _answer(
        self, turn: Turn, end_s: float | None, saving: list[asyncio.Task[Any]]
    ) -> AsyncGenerator[ChatEvent]:
        """Call the model, pass on what it says, store what came of it, end with a reason."""
        turn = replace(turn, iteration=turn.iteration + 1)
        reply = Reply()
        ending: Ending | None = None
        error: ChatError | None = None
        try:
            steps = self._model_events(turn, end_s, reply)
            async with aclosing(steps):
                async for event in steps:
                    if isinstance(event, Ending):
                        ending = event
                    else:
                        yield event
        except ModelError as failed:
            ending, error = _failed(failed)
            log.warning("model failed", fault=failed.fault.value, turn_id=turn.id)
        except TimeoutError:
            ending = Ending(EndReason.DEADLINE, is_whole=False)
        except (
            Exception
        ):  # a fault of ours or of a model: the stream still ends with a reason (law 8)
            log.exception("turn failed", turn_id=turn.id)
            ending, error = _failed(ModelError(ModelFault.BAD_RESPONSE, "the server failed"))
        finally:
            # Now, whatever becomes of the caller: one who went away holds up nothing and loses nothing.
            cancelled = Ending(EndReason.CANCELLED, is_whole=False)
            finishing = self._spawn(self._finish(turn, reply, ending or cancelled))
        if ending is None:  # the model's events always end with one; for the type checker
            raise AssertionError
        if ending.notice is not None:
            yield ending.notice
        if error is not None:
            yield error
        end, not_stored = await self._settle(turn, reply, ending, finishing, saving)
        if not_stored is not None:
            yield not_stored
        yield end

    async def _model_events(
        self, turn: Turn, end_s: float | None, reply: Reply
    ) -> AsyncGenerator[ChatEvent | Ending]:
        """The model's events as ours; the last is the ending. Leaving early closes the upstream."""
        request = ModelRequest(
            messages=turn.messages,
            model=turn.model,
            temperature=turn.temperature,
            tools_json=turn.tools_json if turn.may_call_tools else "",
            max_output_tokens=turn.max_output_tokens,
        )
        # The caller's time is watched here and not by the model too: only one of them can name the end.
        async with AsyncExitStack() as stack:
            async with asyncio.timeout_at(end_s):
                events = await stack.enter_async_context(self._model.stream(request))
            finish = FinishReason.NONE
            while True:
                # The time limit covers the waiting only, never the reader's own pace.
                async with asyncio.timeout_at(end_s):
                    event = await anext(events, None)
                if end_s is not None and asyncio.get_running_loop().time() >= end_s:
                    raise TimeoutError  # also where every event was there at once
                match event:
                    case TextDelta(text):
                        reply.texts.append(text)
                        yield Delta(text)
                    case ToolCallDelta(call):
                        if not turn.may_call_tools:
                            raise ModelError(
                                ModelFault.BAD_RESPONSE,
                                "the model asked for tools it was not given",
                            )
                        reply.calls.append(call)
                        yield ToolCalled(call)
                    case UsageDelta(prompt, completion):
                        reply.prompt_tokens, reply.completion_tokens = prompt, completion
                    case Finished(reason):
                        finish = reason
                    case None:
                        break
        if reply.calls and finish in {FinishReason.STOP, FinishReason.NONE}:
            finish = FinishReason.TOOL_CALLS  # some servers say "stop" behind their calls
        if finish is FinishReason.TOOL_CALLS and not reply.calls:
            finish = FinishReason.NONE  # nothing that the bot could answer
        settings = self._settings
        yield ending_of(
            finish, settings.notices, missing_is_complete=settings.missing_finish_is_complete
        )

    async def _settle(
        self,
        turn: Turn,
        reply: Reply,
        ending: Ending,
        finishing: asyncio.Task[Finish],
        saving: list[asyncio.Task[Any]],
    ) -> tuple[ChatEnd, ChatError | None]:
        """Wait for every commit of the turn; the end, and what could not be stored."""
        tasks = [*saving, finishing]
        await asyncio.wait(tasks)  # unlike gather, a caller who goes away now cancels none of them
        failures = [task.exception() for task in tasks]
        finish = Finish() if finishing.exception() else finishing.result()
        end = ChatEnd(
            ending.reason,
            turn.id,
            finish.message_id,
            bool(finish.message_id) and not ending.is_whole,
            reply.prompt_tokens,
            reply.completion_tokens,
        )
        failed = next(filter(None, [*failures, finish.failure]), None)
        if failed is None:
            return end, None
        log.warning("turn not stored", turn_id=turn.id, error=type(failed).__name__)
        word = failed.reason.value if isinstance(failed, BackscrollError) else Reason.INTERNAL.value
        return end, ChatError("the turn could not be stored", word)

    async def _finish(self, turn: Turn, reply: Reply, ending: Ending) -> Finish:
        """Store the reply, once, and keep the turn."""
        if ending.reason is EndReason.TOOL_CALLS:
            asked = replace(turn, calls=tuple(reply.calls), reply_text=reply.text)
            await self._history.keep(replace(asked, expires_at_ms=self._expires_at_ms()))
            return Finish()
        finish = Finish()
        if reply.text and turn.key.channel:
            try:
                message_id = await self._history.save_reply(
                    turn, reply.text, is_partial=not ending.is_whole
                )
                finish = Finish(message_id)
            except BackscrollError as failed:
                finish = Finish(failure=failed)
        if ending.is_whole:
            ended = replace(
                turn,
                ended=ending.reason,
                reply_text=reply.text,
                reply_message_id=finish.message_id,
                messages=(),
                expires_at_ms=self._expires_at_ms(),
            )
            try:
                await self._history.keep(ended)
            except BackscrollError as failed:
                finish = replace(finish, failure=finish.failure or failed)
        return finish

    def _expires_at_ms(self) -> int:
        return self._clock.now_ms() + self._settings.turn_lifetime_ms

    def _end_s(self, request: ChatRequest) -> float | None:
        """When DEADLINE must be said so that it arrives before the caller's own, on the loop's clock."""
        if request.time_left_s is None:
            return None
        usable_s = request.time_left_s - min(reserve_s(request.time_left_s), MOST_RESERVE_S)
        return asyncio.get_running_loop().time() + max(0.0, usable_s)

    def _spawn(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Run to the end whatever becomes of the caller; the task is held until it is done (S5-56)."""
        task = asyncio.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)
        task.add_done_callback(_look_at)
        return task

    async def drain(self) -> None:
        """Wait for what turns still have to store."""
        while self._background:
            await asyncio.wait(set(self._background))


def _checked_context(request: ChatRequest) -> BuildRequest:
    context = request.context
    if context is None:
        raise InvalidRequest(
            "context and turn_id are both unset", field="context", reason=Reason.MISSING_FIELD
        )
    if context.key.channel and not context.trigger_message_id and context.asker is None:
        raise InvalidRequest(
            "context.asker is needed to store a question without a trigger",
            field="context.asker",
            reason=Reason.MISSING_FIELD,
        )
    return context


def _without_lost_trigger(built: BuiltContext) -> BuiltContext:
    """A question that we store beside the build is not stored yet: nothing is lost by that."""
    kept = tuple(one for one in built.degradations if one.stage != "question")
    return replace(built, degradations=kept)


def _failed(error: ModelError) -> tuple[Ending, ChatError]:
    ending = Ending(EndReason.UPSTREAM_ERROR, is_whole=False)
    return ending, ChatError(error_text(error), error.fault.value)


def _or(value: T | None, default: T) -> T:
    return default if value is None else value


def _look_at(task: asyncio.Task[Any]) -> None:
    """Whoever waits for the task hears of its error; nobody must be there to wait."""
    if not task.cancelled() and task.exception() is not None:
        log.debug("background work failed", error=type(task.exception()).__name__)
