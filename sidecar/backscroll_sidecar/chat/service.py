"""One orchestrator for StreamChat and Chat."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from backscroll_sidecar.chat.answering import Answering
from backscroll_sidecar.chat.endings import NOTICES, Notices, notice_of
from backscroll_sidecar.chat.events import ChatEnd, ChatEvent, ContextBuilt, Delta, EndReason
from backscroll_sidecar.chat.fitting import fitted
from backscroll_sidecar.chat.records import ChatHistory
from backscroll_sidecar.chat.storing import Ends, Storing
from backscroll_sidecar.chat.turns import ChatRequest, Turn
from backscroll_sidecar.context.builder import ContextBuilder
from backscroll_sidecar.context.deadline import reserve_s
from backscroll_sidecar.context.model import BuildRequest, BuiltContext
from backscroll_sidecar.domain import Message, StoredMessage, TextPart
from backscroll_sidecar.errors import (
    BackscrollError,
    Conflict,
    InvalidRequest,
    Reason,
)
from backscroll_sidecar.history.validate import rank_time
from backscroll_sidecar.pacing import Pacer
from backscroll_sidecar.ports import ChatModel, Clock
from backscroll_sidecar.turn_ids import question_id

T = TypeVar("T")

MOST_RESERVE_S = 0.25
"""A long answer may use its caller's time: no more than this is kept for saying DEADLINE and storing what came."""
COMMIT_S = 0.02
"""What most commits take at most, a slow disk's included: short deadlines leave more than half of the reserve to it."""
DEFAULT_SELF_ID = "assistant"
"""The author of replies where the caller names no id of its bot."""


@dataclass(frozen=True, slots=True)
class ChatSettings:
    """Defaults of S5-30, the notices of S5-31, the policy for a stream that ends without a reason.

    `temperature` None: a call that names none is sent none.
    """

    temperature: float | None = 0.7
    max_tool_iterations: int = 10
    notices: Notices = NOTICES
    missing_finish_is_complete: bool = False
    turn_lifetime_ms: int = 3_600_000


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
        pacer: Pacer,
    ) -> None:
        self._pacer = pacer
        self._builder = builder
        self._history = history
        self._settings = settings
        self._clock = clock
        self._open_turns: dict[tuple[str, str], object] = {}
        self._storing = Storing(history, clock, settings.turn_lifetime_ms)
        self._answering = Answering(
            model,
            self._storing,
            settings.notices,
            missing_is_complete=settings.missing_finish_is_complete,
        )

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
        ends = self._ends(request)
        context = _checked_context(request)
        since = self._history.losses_seen  # before anything of the channel is read
        turn_id = uuid.uuid4().hex
        question = self._question_to_store(request, turn_id)
        saving: list[asyncio.Task[Any]] = []
        if question is not None:
            saving.append(self._storing.spawn(self._save_question(context, question)))
        finding = asyncio.create_task(self._find_trigger(context))
        tools_json = context.tools_json if request.enable_tools else ""
        own_id = question.id if question else ""
        asked = replace(context, own_question_id=own_id, tools_json=tools_json)
        try:
            waited_s = await self._pacer.wait()
            left_s = request.time_left_s and request.time_left_s - waited_s
            built = await self._builder.build(replace(asked, time_left_s=left_s))
        except BaseException as error:
            for task in (*saving, finding):
                task.cancel()  # what has not been queued by now is not stored for a refused request
            if isinstance(error, BackscrollError):
                error.field = error.field and f"context.{error.field}"
            raise
        yield ContextBuilt(built)
        turn = self._turn(request, asked, built, turn_id, await finding, question)
        steps = self._answering.answer(replace(turn, since=since), ends, saving)
        async with aclosing(steps):
            async for event in steps:
                yield event

    def _question_to_store(self, request: ChatRequest, turn_id: str) -> Message | None:
        """The question as a message, its time aside; None where a stored message is the question, or nobody asks."""
        context = request.context
        if context is None or context.trigger_message_id or context.asker is None:
            return None
        if not context.key.channel or not context.question.strip():
            return None
        return Message(
            request.question_message_id or question_id(turn_id),
            context.key.channel,
            context.asker,
            (TextPart(context.question),),
            0,
            thread_id=context.thread_id or "",
            session_id=context.session_id,
            reply=context.reply,
            mentions=context.mentions,
        )

    async def _save_question(self, context: BuildRequest, question: Message) -> None:
        at_ms = context.asked_at_ms
        if at_ms is None:
            at_ms = await self._builder.asked_now_ms(context.key)
        await self._history.save_question(context.key, replace(question, sent_at_ms=at_ms))

    async def _find_trigger(self, context: BuildRequest) -> StoredMessage | None:
        if not context.trigger_message_id or not context.key.channel:
            return None
        return await self._history.find_question(context.key, context.trigger_message_id)

    def _turn(
        self,
        request: ChatRequest,
        context: BuildRequest,
        built: BuiltContext,
        turn_id: str,
        trigger: StoredMessage | None,
        question: Message | None,
    ) -> Turn:
        """The turn that begins with this context: in the request's thread, else in that of what it answers."""
        settings = self._settings
        asked = trigger.message if trigger else question
        after_ms = trigger.rank_time_ms if trigger else 0
        if question is not None:
            after_ms, _ = rank_time(built.asked_at_ms, self._clock.now_ms())
        return Turn(
            id=turn_id,
            key=context.key,
            self_id=context.self_ids[0] if context.self_ids else DEFAULT_SELF_ID,
            model=built.model,
            messages=tuple(built.payload_messages),
            question_message_id=asked.id if asked else context.trigger_message_id,
            max_iterations=_or(request.max_tool_iterations, settings.max_tool_iterations),
            temperature=_or(request.temperature, settings.temperature),
            tools_json=context.tools_json,
            max_output_tokens=request.max_output_tokens,
            extra_body_json=request.extra_body_json,
            with_names=context.include_names,
            budget=built.tokens.budget,
            reserve=built.tokens.reserve,
            tokenizer=built.tokens.tokenizer,
            thread_id=context.thread_id or (asked.thread_id if asked else ""),
            session_id=context.session_id or (asked.session_id if asked else ""),
            after_ms=after_ms,
        )

    async def _continue(self, request: ChatRequest) -> AsyncGenerator[ChatEvent]:
        """The next round of a kept turn; of one that has ended, its reply again."""
        release = self._hold((request.tenant, request.turn_id))
        ends = self._ends(request)
        try:
            turn = await self._history.find(request.tenant, request.turn_id)
            if turn.ended is not None:
                release()
                for event in _said_before(turn, turn.ended, self._settings.notices):
                    yield event
                return
            turn = replace(turn, after_ms=self._history.next_ms(turn))
            given = turn.in_order(request.tool_results)
            results, is_stored = await self._history.results_of(turn, given)
            # Counting tokens takes milliseconds where results are long (law 9).
            following = await asyncio.to_thread(fitted, turn.continued(results))
        except BaseException:
            release()
            raise
        saving = []
        if turn.key.channel and not is_stored:
            saving.append(self._storing.spawn(self._history.save_round(turn, results)))
        steps = self._answering.answer(following, ends, saving, release)
        async with aclosing(steps):
            async for event in steps:
                yield event

    def _hold(self, name: tuple[str, str]) -> Callable[[], None]:
        """Let no other call continue the turn; what comes back lets go of it, and only of this hold."""
        if name in self._open_turns:
            raise Conflict("another call continues this turn now", field="turn_id")
        mine = self._open_turns[name] = object()

        def release() -> None:
            if self._open_turns.get(name) is mine:
                del self._open_turns[name]

        return release

    def _ends(self, request: ChatRequest) -> Ends | None:
        """What arrives before the caller's own time ends: DEADLINE, and the end, half of what is kept for it later."""
        left_s = request.time_left_s
        if left_s is None:
            return None
        kept_s = min(reserve_s(left_s), MOST_RESERVE_S)
        model_s = asyncio.get_running_loop().time() + max(0.0, left_s - kept_s)
        return Ends(model_s, model_s + max(kept_s / 2, min(COMMIT_S, 0.9 * kept_s)))

    @property
    def is_idle(self) -> bool:
        """Whether no turn is being continued and nothing has still to be stored."""
        return not self._open_turns and self._storing.is_idle

    async def drain(self) -> None:
        """Wait for what turns still have to store."""
        await self._storing.drain()


def _said_before(turn: Turn, ended: EndReason, notices: Notices) -> Iterator[ChatEvent]:
    if turn.reply_text:
        yield Delta(turn.reply_text)
    if notice := notice_of(ended, notices):
        yield notice
    yield ChatEnd(ended, turn.id, turn.reply_message_id, finish_reason=turn.finish_reason)


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


def _or(value: T | None, default: T) -> T:
    return default if value is None else value
