"""Runs the turns of StreamChat and Chat."""

import asyncio
import math
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing, suppress
from functools import partial
from typing import Any, Protocol

from msgspec.structs import replace

from backscroll_sidecar.chat.events import ChatEnd, ChatEvent, ContextBuilt, Delta, EndReason
from backscroll_sidecar.chat.finish_reasons import notice_of
from backscroll_sidecar.chat.model_stream import ModelStream
from backscroll_sidecar.chat.new_turn import (
    asked_id,
    asked_text,
    checked_context,
    counted_tokens,
    question_to_store,
    self_id_of,
    turn_begun,
)
from backscroll_sidecar.chat.result_budget import shrunk, within_budget
from backscroll_sidecar.chat.turn_events import TurnEvents
from backscroll_sidecar.chat.turn_store import TurnStore
from backscroll_sidecar.chat.turn_writer import TimeLimits, TurnWriter
from backscroll_sidecar.chat.turns import ChatRequest, ChatSettings, Turn
from backscroll_sidecar.chat.usage import Usage
from backscroll_sidecar.concurrency.deadline import reserve_s
from backscroll_sidecar.concurrency.locks import Locks
from backscroll_sidecar.concurrency.time_slicing import Pacer
from backscroll_sidecar.context.builder import ContextBuilder
from backscroll_sidecar.context.model import BuildRequest, BuiltContext
from backscroll_sidecar.domain import ChannelKey, Message, StoredMessage
from backscroll_sidecar.errors import (
    BackscrollError,
    BudgetTooSmall,
    Conflict,
    DeadlineExceeded,
)
from backscroll_sidecar.ports import ChatModel, Clock, EventSink
from backscroll_sidecar.summaries.compaction import Conversation
from backscroll_sidecar.telemetry.spans import Spans
from backscroll_sidecar.telemetry.usage_numbers import UsageNumbers
from backscroll_sidecar.texts import Texts
from backscroll_sidecar.turn_ids import is_reply, new_turn_id, turn_of

MOST_RESERVE_S = 0.25
"""Most of a caller's time that is kept for saying DEADLINE and storing the reply."""
SMALLER_SHARE = 0.6
"""Of the tokens that were too many for a model, so many are sent behind its refusal."""
COMMIT_S = 0.02
"""What most commits take, also on a slow disk. Of short deadlines it gets more than half the reserve."""
SETTLE_S = 10.0
"""What is waited for the commits of a turn whose caller has left."""
LETS_GO_S = 1.0
"""What is waited for another server to let go of a turn."""


COMPACTION_S = 20.0
"""The most that a turn larger than a model's window waits for a compaction; it goes on beside."""
COMPACTION_SHARE = 0.3
"""Of the caller's time that is left it may take so much."""


class Compacting(Protocol):
    """What summarises a conversation; `summaries.service.Summaries` does."""

    async def compact_within(self, conversation: Conversation, wait_s: float) -> None:
        """Once it is done or has failed, or after so long."""


class ChatService:
    """Runs turns. Safe to call from any task of the event loop.

    A turn is driven by its reader. A slow reader slows the model's stream, so nothing piles up.
    """

    def __init__(
        self,
        builder: ContextBuilder,
        turn_store: TurnStore,
        model: ChatModel,
        settings: ChatSettings,
        clock: Clock,
        pacer: Pacer,
        events: EventSink,
        summaries: Compacting,
        usage: UsageNumbers,
        spans: Spans | None = None,
        locks: Locks | None = None,
    ) -> None:
        self._locks = locks or Locks()
        self._pacer = pacer
        self._builder = builder
        self._summaries = summaries
        self._turn_store = turn_store
        self._settings = settings
        self._clock = clock
        self._held: dict[tuple[str, ...], asyncio.Event] = {}
        """Turns being continued, and questions being answered."""
        self._turn_events = TurnEvents(events, clock)
        self._turn_writer = TurnWriter(
            turn_store, self._turn_events, clock, settings.turn_lifetime_ms
        )
        self._model_stream = ModelStream(
            model,
            self._turn_writer,
            settings.wordings,
            Usage(usage, clock),
            spans,
            missing_is_complete=settings.missing_finish_is_complete,
        )

    def run(self, request: ChatRequest) -> AsyncGenerator[ChatEvent]:
        """The events of one turn, or of the next round of one.

        Raises
        ------
        BackscrollError
            Before the first event, for requests that cannot succeed. Later failures are events; `ChatEnd` is the last.
        """
        return self._continue(request) if request.turn_id else self._begin(request)

    async def _begin(self, request: ChatRequest) -> AsyncGenerator[ChatEvent]:
        """A new turn. The question's commit runs beside the build and the model.

        A question that is asked twice waits for its first turn, and gets that turn's reply.
        """
        limits = self._limits(request)
        began_ms = self._clock.now_ms()
        context = checked_context(request, self._settings)
        turn_id = request.new_turn_id or new_turn_id(context.question)
        if not request.new_turn_id:
            context = await self._with_trigger(request, context, turn_id)
        release = await self._hold_question(request, context, limits)
        try:
            replaced = ""
            if request.relay is not None:
                replaced = await self._answered_before(request, context)
                own = (*context.own_message_ids, replaced) if replaced else context.own_message_ids
                context = replace(context, own_message_ids=own)
            since = self._turn_store.erasures_seen  # before anything of the channel is read
            question = question_to_store(request, context, turn_id)
            saving: list[asyncio.Task[Any]] = []
            if question is not None:
                saving.append(self._turn_writer.spawn(self._save_question(context, question)))
            self_name = request.self_name or await self._builder.opening.name_of_bot(context)
            context = replace(
                context,
                own_question_id=question.id if question else context.own_question_id,
                tools_json=context.tools_json if request.enable_tools else "",
            )
            finding = asyncio.create_task(self._find(request, context))
            built = await self._build(request, context, (*saving, finding))
            yield ContextBuilt(built)
            trigger, asked, first = await finding
            if trigger is not None and not request.new_turn_id:  # nothing has the turn's id yet
                turn_id = new_turn_id(asked)
            if first is not None and request.relay is None and await self._is_asked_again(saving):
                release()
                for event in await self._said_first(request.tenant, first):
                    yield event
                return
            turn = turn_begun(
                request, context, built, self._settings, turn_id=turn_id, trigger=trigger,
                question=question, now_ms=self._clock.now_ms(), since=since, self_name=self_name,
            )  # fmt: skip
        except BaseException:
            release()
            raise
        self._turn_events.begun(turn, built, began_ms)
        smaller = partial(self._with_smaller_context, context, built, limits)
        steps = self._model_stream.answer(
            turn, limits, saving, release, smaller, request.companion, request.relay, replaced
        )
        async with aclosing(steps):
            async for event in steps:
                yield event

    async def _with_trigger(
        self, request: ChatRequest, context: BuildRequest, turn_id: str
    ) -> BuildRequest:
        """The context, triggered by the stored message that is its question, if the request names none."""
        question = question_to_store(request, context, turn_id)
        if question is None or request.question_message_id:
            return context
        asked = replace(context, own_question_id=question.id, time_left_s=request.time_left_s)
        found = await self._builder.opening.stored_question(asked)
        if found is None:
            return context
        message_id, asked_at_ms = found
        return replace(context, trigger_message_id=message_id, asked_at_ms=asked_at_ms)

    async def _answered_before(self, request: ChatRequest, context: BuildRequest) -> str:
        """The id of the answer that the question has; empty: it has none.

        Who asks again is given another one in its place. It is no part of the context, and goes once there is another.
        """
        question_id = asked_id(request, context)
        if not question_id:
            return ""
        first = await self._turn_store.find_answer(
            context.key, question_id, self_id_of(context), context.question
        )
        return "" if first is None else first.message.id

    async def _build(
        self, request: ChatRequest, context: BuildRequest, beside: Sequence[asyncio.Task[Any]]
    ) -> BuiltContext:
        """The context. Where it cannot be built, the tasks beside it are cancelled."""
        try:
            waited_s = await self._pacer.wait()
            left_s = request.time_left_s and request.time_left_s - waited_s
            return await self._builder.build(replace(context, time_left_s=left_s), as_values=True)
        except BaseException as error:
            for task in beside:
                task.cancel()  # a refused request stores nothing that is not queued yet
            if isinstance(error, BackscrollError):
                error.field = error.field and f"context.{error.field}"
            raise

    async def _save_question(self, context: BuildRequest, question: Message) -> None:
        at_ms = context.asked_at_ms
        if at_ms is None:
            at_ms = await self._builder.opening.asked_now_ms(context.key)
        await self._turn_store.save_question(context.key, replace(question, sent_at_ms=at_ms))

    async def _find(
        self, request: ChatRequest, context: BuildRequest
    ) -> tuple[StoredMessage | None, str, StoredMessage | None]:
        """The stored question, the text that is asked, and this bot's earlier reply to it."""
        question_id = asked_id(request, context)
        if request.new_turn_id:
            asked_of = context.trigger_message_id or context.own_question_id
            stored = (
                await self._turn_store.find_question(context.key, asked_of) if asked_of else None
            )
            return stored, context.question, None
        if not question_id:
            return None, context.question, None
        trigger = None
        if context.trigger_message_id:
            trigger = await self._turn_store.find_question(context.key, question_id)
        asked = asked_text(context, trigger)
        first = await self._turn_store.find_answer(
            context.key, question_id, self_id_of(context), asked
        )
        return trigger, asked, first

    async def _is_asked_again(self, saving: Sequence[asyncio.Task[Any]]) -> bool:
        """Whether the question is the stored one: another under its id fails to be saved."""
        if saving:
            await asyncio.wait(saving)
        return all(task.exception() is None for task in saving)

    async def _said_first(self, tenant: str, reply: StoredMessage) -> Iterable[ChatEvent]:
        """The events of the turn that stored this reply, as far as it is kept."""
        turn_id = turn_of(next(filter(is_reply, (reply.message.id, *reply.alias_ids))))
        try:
            turn = await self._turn_store.find(tenant, turn_id)
        except BackscrollError:
            turn = None
        if turn is not None and turn.ended is not None:
            return _said_before(turn, turn.ended, self._texts(turn))
        end = ChatEnd(EndReason.COMPLETE, turn_id, reply.message.id)
        return [Delta(reply.message.text), end]

    def _texts(self, turn: Turn) -> Texts:
        return self._settings.wordings.by_language(turn.language)

    async def _continue(self, request: ChatRequest) -> AsyncGenerator[ChatEvent]:
        """The next round of a kept turn, or the reply of one that has ended."""
        name = ("turn", request.tenant, request.turn_id)
        if name in self._held:
            if request.allowed is not None:  # that it is held is no news to who may not see it
                await self._turn_store.find(request.tenant, request.turn_id, request.allowed)
            raise _continued_elsewhere()
        release = self._hold(name)
        limits = self._limits(request)
        try:
            await self._take_turn(request.tenant, name)
            turn = await self._turn_store.find(request.tenant, request.turn_id, request.allowed)
            if turn.ended is not None:
                release()
                for event in _said_before(turn, turn.ended, self._texts(turn)):
                    yield event
                return
            turn = replace(turn, after_ms=self._turn_store.next_ms(turn))
            given = turn.in_order(request.tool_results)
            results, is_stored = await self._turn_store.results_of(turn, given)
            # Counting tokens takes milliseconds where results are long.
            following = await asyncio.to_thread(
                within_budget, turn.continued(results), self._texts(turn).shortened_mark
            )
        except BaseException:
            release()
            raise
        saving = []
        if turn.key.channel and not is_stored:
            saving.append(self._turn_writer.spawn(self._turn_store.save_round(turn, results)))
        self._turn_events.continued(following)
        steps = self._model_stream.answer(
            following, limits, saving, release, self._with_smaller_results, request.companion
        )
        async with aclosing(steps):
            async for event in steps:
                yield event

    async def _take_turn(self, tenant: str, name: tuple[str, ...]) -> None:
        """Hold a turn of all servers. One that has told its caller how far it came lets go of it right behind that."""
        try:
            async with asyncio.timeout(LETS_GO_S):
                await self._locks.take(tenant, *name)
        except TimeoutError:
            raise _continued_elsewhere() from None

    async def _with_smaller_context(
        self, context: BuildRequest, built: BuiltContext, limits: TimeLimits | None, turn: Turn
    ) -> Turn | None:
        """The turn with less context than was `built`, behind a compaction; None: nothing smaller will do.

        A compaction that fails, gets nowhere or takes too long costs only itself.
        """
        if context.key.channel:
            left_s = limits.model_s - asyncio.get_running_loop().time() if limits else math.inf
            await self._summaries.compact_within(
                Conversation(
                    context.key,
                    built.narrow_thread_id,
                    "" if built.narrow_thread_id else built.session_id,
                ),
                min(COMPACTION_S, left_s * COMPACTION_SHARE),
            )
        budget = int(SMALLER_SHARE * built.tokens.total)
        try:
            less = await self._builder.build(
                replace(context, token_budget=budget, time_left_s=None), as_values=True
            )
        except BackscrollError:
            return None
        return replace(
            turn,
            messages=less.payload_messages,
            counted_tokens=counted_tokens(less),
            budget=budget,
            has_summary=less.summary is not None,
        )

    async def _with_smaller_results(self, turn: Turn) -> Turn | None:
        """The turn with shorter results of its tools; None: there is nothing to shorten."""
        mark = self._texts(turn).shortened_mark
        try:
            return await asyncio.to_thread(shrunk, turn, SMALLER_SHARE, mark)
        except BudgetTooSmall:
            return None

    async def _hold_question(
        self, request: ChatRequest, context: BuildRequest, limits: TimeLimits | None
    ) -> Callable[[], None]:
        """Wait until nobody answers this question in this name, and hold it.

        Raises
        ------
        DeadlineExceeded
            Others took all of the caller's time.
        """
        asked = request.new_turn_id or asked_id(request, context)
        if not asked:
            return lambda: None
        name = _question_name(context.key, asked, self_id_of(context))
        try:
            async with asyncio.timeout_at(limits and limits.model_s):
                while name in self._held:
                    await self._held[name].wait()
                release = self._hold(name)
                try:
                    await self._locks.take(context.key.tenant, *name)
                except BaseException:
                    release()
                    raise
        except TimeoutError:
            raise DeadlineExceeded("another call answered this question all the while") from None
        return release

    async def settled(self, key: ChannelKey, new_turn_id: str, self_id: str) -> None:
        """Wait until what a turn stores is stored, for at most `SETTLE_S`; its caller has left."""
        for name in (
            _question_name(key, new_turn_id, self_id),
            ("turn", key.tenant, new_turn_id),
        ):
            held = self._held.get(name)
            if held is not None:
                with suppress(TimeoutError):
                    await asyncio.wait_for(held.wait(), SETTLE_S)

    def _hold(self, name: tuple[str, ...]) -> Callable[[], None]:
        """Hold `name`, whose second part is the tenant, in this server. The result lets go of this hold, once."""
        mine = self._held[name] = asyncio.Event()

        def release() -> None:
            if self._held.get(name) is mine:
                del self._held[name]
                mine.set()
                self._locks.give_back(name[1], *name)

        return release

    def _limits(self, request: ChatRequest) -> TimeLimits | None:
        """Limits that let DEADLINE and the end arrive within the caller's time."""
        left_s = request.time_left_s
        if left_s is None:
            return None
        kept_s = min(reserve_s(left_s), MOST_RESERVE_S)
        model_s = asyncio.get_running_loop().time() + max(0.0, left_s - kept_s)
        return TimeLimits(model_s, model_s + max(kept_s / 2, min(COMMIT_S, 0.9 * kept_s)))

    @property
    def unstored_turns(self) -> Mapping[str, int]:
        """Turns of which something was not stored, by the reason's word."""
        return self._turn_writer.failures

    @property
    def is_idle(self) -> bool:
        """Whether nothing is held and everything is stored."""
        return not self._held and self._turn_writer.is_idle

    async def drain(self) -> None:
        """Wait for what turns still have to store."""
        await self._turn_writer.drain()


def _continued_elsewhere() -> Conflict:
    return Conflict("another call continues this turn now", field="turn_id")


def _question_name(key: ChannelKey, asked: str, self_id: str) -> tuple[str, ...]:
    return ("question", *key, asked, self_id)


def _said_before(turn: Turn, ended: EndReason, texts: Texts) -> Iterator[ChatEvent]:
    if turn.reply_text:
        yield Delta(turn.reply_text)
    if notice := notice_of(ended, texts):
        yield notice
    yield ChatEnd(ended, turn.id, turn.reply_message_id, finish_reason=turn.finish_reason)
