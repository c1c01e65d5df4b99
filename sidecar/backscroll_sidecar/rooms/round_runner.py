"""Asks the personas of a round, wave by wave, and keeps how it ended."""

from __future__ import annotations

import asyncio
import dataclasses
import sys
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from typing import Any

import structlog
from msgspec.structs import replace

from backscroll_sidecar.chat.events import (
    ChatEnd,
    ChatError,
    ContextBuilt,
    EndReason,
)
from backscroll_sidecar.chat.service import ChatService
from backscroll_sidecar.chat.turns import ChatRequest
from backscroll_sidecar.errors import BackscrollError, Reason
from backscroll_sidecar.ports import Clock, HistoryReader
from backscroll_sidecar.rooms.drafts import SessionRef
from backscroll_sidecar.rooms.next_steps import NextSteps
from backscroll_sidecar.rooms.preparing import Preparing
from backscroll_sidecar.rooms.prompting import Asking, context_of, is_heard, labels_of, window_of
from backscroll_sidecar.rooms.round_events import (
    Answers,
    Interrupted,
    RoundEnded,
    RoundEnding,
    RoundEvent,
    TargetEnded,
    TargetStarted,
    Told,
)
from backscroll_sidecar.rooms.round_record import OVER, StepStatus
from backscroll_sidecar.rooms.round_telling import RoundTelling, end_of, told_of
from backscroll_sidecar.rooms.running_round import RunningRound, StepCompanion
from backscroll_sidecar.rooms.service import SessionService
from backscroll_sidecar.rooms.tables import play_of
from backscroll_sidecar.sessions.mentions import read_mentions, without_spans
from backscroll_sidecar.sessions.participants import Participant
from backscroll_sidecar.sessions.routing import IgnoredReason, Target
from backscroll_sidecar.sessions.session import Session
from backscroll_sidecar.sessions.speaker_guard import SpeakerGuard
from backscroll_sidecar.summaries.compaction import CompactionSettings, Conversation
from backscroll_sidecar.summaries.service import Summaries

log = structlog.get_logger(__name__)

EVENTS_AHEAD = 64
"""Events of parallel answers that wait for a slow reader; then their models wait, too."""
LEFT = ChatError("the persona takes part no more", Reason.NOT_ALLOWED.value)
GONE = "the message was recalled or erased"
_DONE = object()


class RoundRunner:
    """Runs rounds that are written down. Safe from any task of one event loop."""

    def __init__(
        self,
        sessions: SessionService,
        preparing: Preparing,
        reader: HistoryReader,
        chat: ChatService,
        summaries: Summaries,
        clock: Clock,
    ) -> None:
        self._sessions = sessions
        self._preparing = preparing
        self._reader = reader
        self._chat = chat
        self._summaries = summaries
        self._clock = clock
        self._next_steps = NextSteps(preparing)
        self._telling = RoundTelling(preparing, reader, clock)

    async def events(
        self, run: RunningRound, ends_s: float | None, given: dict[int, Answers]
    ) -> AsyncGenerator[RoundEvent]:
        """All events of a round, numbered."""
        sequence = 0
        async with aclosing(self._told(run, ends_s, given)) as told:
            async for target_id, one in told:
                sequence += 1
                yield RoundEvent(sequence, one, target_id)

    async def _told(
        self, run: RunningRound, ends_s: float | None, given: dict[int, Answers]
    ) -> AsyncGenerator[tuple[str, Told]]:
        yield "", self._telling.started(run)
        if run.body.change is not None:
            yield "", await self._telling.changed(run, run.body.change)
        for one in await self._telling.suppressed(run):
            yield "", one
        if run.body.ending:
            async for target_id, told in self._telling.replayed(run, range(len(run.body.steps))):
                yield target_id, told
            yield "", await self._telling.ended(run, RoundEnding(run.body.ending))
            return
        self._give_up(run)
        over = [
            place
            for place, step in enumerate(run.body.steps)
            if step.status in OVER or (step.status is StepStatus.INTERRUPTED and place not in given)
        ]
        async for target_id, told in self._telling.replayed(run, over):
            yield target_id, told
        ending: RoundEnding | None = None
        wave = [one for one in given if one in run.interrupted]
        while ending is None:
            wave = wave or run.pending
            if not wave:
                told_before = len(run.body.ignored)
                ending = await self._go_on(run)
                for suppressed in await self._telling.suppressed(run, told_before):
                    yield "", suppressed
                continue
            if run.step(wave[0]).wave:
                await self._look_again(run)
                run.seen_until_seq = (
                    await self._preparing.newest_seq(run.session) if len(wave) > 1 else None
                )
            async with aclosing(self._wave(run, wave, ends_s, given)) as events:
                async for target_id, told in events:
                    yield target_id, told
            wave, given = [], {}
            if (ends_s is not None and time.monotonic() >= ends_s) or _is_late(run):
                ending = RoundEnding.DEADLINE
        yield "", await self._finish(run, ending)

    async def _look_again(self, run: RunningRound) -> None:
        """Go on from the session and the message as they are now."""
        await self._read_again(run)
        if run.message is None:
            return
        stored = await self._telling.reply(run, run.message.id)
        run.is_gone = stored is None or not stored.parts
        if stored is not None and stored.text != run.message.text:
            run.message = stored
            run.body = await self._preparing.with_texts(run.session, run.body)

    def _give_up(self, run: RunningRound) -> None:
        """Results of tools that nobody sent in time are not waited for any more."""
        for place in run.interrupted:
            if run.step(place).expires_at_ms <= self._clock.now_ms():
                late = ChatError(
                    "the results of its tools did not come in time", Reason.DEADLINE.value
                )
                self._failed(run, place, late)

    async def _go_on(self, run: RunningRound) -> RoundEnding | None:
        """Ask for more answers, where the mode or a persona wants some; else how the round ends."""
        if run.interrupted:
            return RoundEnding.INTERRUPTED
        steps = run.body.steps
        if steps and len(steps) >= run.play.mode.traits.most_steps:
            return RoundEnding.STEP_LIMIT if self._next_steps.of_mode(run) else RoundEnding.COMPLETE
        more = self._next_steps.of_mode(run) or await self._next_steps.onward(run)
        if more:
            run.add_steps(more)
            return None
        if steps:
            return RoundEnding.COMPLETE
        is_loop = any(one.reason is IgnoredReason.LOOP for one in run.body.ignored)
        return RoundEnding.LOOP_SUPPRESSED if is_loop else RoundEnding.NOBODY

    async def _wave(
        self,
        run: RunningRound,
        places: Sequence[int],
        ends_s: float | None,
        given: dict[int, Answers],
    ) -> AsyncGenerator[tuple[str, Told]]:
        """The answers of some personas at once, their events as they come."""
        queue: asyncio.Queue[Any] = asyncio.Queue(EVENTS_AHEAD)

        async def ask(place: int) -> None:
            target_id = run.step(place).target_id
            try:
                async with aclosing(self._asked(run, place, ends_s, given.get(place))) as events:
                    async for one in events:
                        await queue.put((target_id, one))
            finally:
                if not is_left:
                    await queue.put(_DONE)

        tasks = [asyncio.create_task(ask(place)) for place in places]
        is_left = False
        try:
            left = len(tasks)
            while left:
                one = await queue.get()
                if one is _DONE:
                    left -= 1
                else:
                    yield one
        finally:
            is_left = True
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)

    async def _asked(
        self, run: RunningRound, place: int, ends_s: float | None, given: Answers | None
    ) -> AsyncGenerator[Told]:
        """One persona's answer. What fails costs only itself."""
        step = run.step(place)
        persona = run.session.participant(step.target_id)
        target = Target(step.target_id, step.reason, step.start, step.end)
        name = step.target_id if persona is None else persona.name
        started = TargetStarted(target, name, place + 1)
        if persona is None or not persona.is_present or run.is_gone:
            yield started
            gone = ChatError(GONE, Reason.MESSAGE_GONE.value) if run.is_gone else LEFT
            yield self._failed(run, place, gone)
            return
        error: ChatError | None = None
        is_started = False
        try:
            run.begin_step(place)
            request = await self._chat_request(run, place, persona, ends_s, given)
            async with aclosing(self._chat.run(request)) as events:
                async for event in events:
                    if not is_started:
                        is_started = True
                        built = event.built if isinstance(event, ContextBuilt) else None
                        yield dataclasses.replace(started, built=built)
                    if isinstance(event, ChatError):
                        error = event
                    elif isinstance(event, ChatEnd):
                        for told in await self._answer_ended(run, place, event, error):
                            yield told
                    elif (one := told_of(event)) is not None:
                        yield one
        except Exception as failed:  # noqa: BLE001 - a mode of somebody's own may raise anything
            if not is_started:
                yield started
            yield self._failed(run, place, _error_of(failed))
        except (GeneratorExit, asyncio.CancelledError):
            await self._chat.settled(run.session.key, step.turn_id, step.target_id)
            raise

    async def _companion(
        self, run: RunningRound, place: int, persona: Participant
    ) -> StepCompanion:
        own = [*persona.names(), persona.id]
        others = await self._preparing.recent_authors(run.session)
        others |= {
            name: one.id
            for one in run.session.participants
            if one.id != persona.id
            for name in (*one.names(), one.id)
        }
        guard = SpeakerGuard(own, others, labels_of(run.session, run.request.context))
        return StepCompanion(run, place, guard, self._nothing_said(run.session), self._read_again)

    async def _chat_request(
        self,
        run: RunningRound,
        place: int,
        persona: Participant,
        ends_s: float | None,
        given: Answers | None,
    ) -> ChatRequest:
        step, companion = run.step(place), await self._companion(run, place, persona)
        left_s = None if ends_s is None else max(0.0, ends_s - time.monotonic())
        if given is not None:
            return _with(
                run.request.call,
                turn_id=step.turn_id,
                tool_results=given.results,
                companion=companion,
                time_left_s=left_s,
            )
        asking = Asking("", None, (), run.request.context, run.request.layout)
        if run.message is not None and is_heard(run.message, persona.id):
            asking = replace(
                asking,
                user_text=run.body.user_text,
                message=run.message,
                told_ids=run.body.message_ids[:-1],
            )
        context = context_of(
            run.session,
            run.play,
            persona,
            asking,
            in_snapshot=step.wave == 0,
            task_messages=await self._preparing.task_messages(
                run.session, run.play, persona, run.request.context, asking.asker
            ),
        )
        return _with(
            run.request.call,
            context=replace(context, time_left_s=left_s, seen_until_seq=run.seen_until_seq),
            new_turn_id=step.turn_id,
            self_name=persona.name,
            companion=companion,
            time_left_s=left_s,
        )

    async def _answer_ended(
        self, run: RunningRound, place: int, end: ChatEnd, error: ChatError | None
    ) -> Sequence[Told]:
        """What is told of an answer that has ended."""
        step = run.step(place)
        is_kept = bool(end.reply_message_id) or step.status is StepStatus.SILENT
        if end.reason is EndReason.TOOL_CALLS and step.status is StepStatus.INTERRUPTED:
            ended = end_of(StepStatus.INTERRUPTED, None, end, error)
            return ended, Interrupted(step.interrupt_id, step.calls, step.expires_at_ms)
        if step.status in OVER and (is_kept or not step.message_id):
            message = await self._telling.reply(run, end.reply_message_id)
            if message is not None:
                run.replies[place] = message
            ended = end_of(step.status, message, end, error, step.foreign_id)
            if step.change is None:
                return (ended,)
            return ended, await self._telling.changed(run, step.change, run.said.get(place, ()))
        if step.status in OVER:  # the commit failed: nothing of it is there
            await self._read_again(run)
            error = error or ChatError("the reply could not be stored", Reason.INTERNAL.value)
        elif end.reason is EndReason.DEADLINE:
            run.put_step(place, replace(step, status=StepStatus.PARTIAL))
            message = await self._telling.reply(run, end.reply_message_id)
            return (end_of(StepStatus.PARTIAL, message, end, error),)
        error = error or ChatError("the model gave no whole answer", end.reason.value)
        message = await self._telling.reply(run, end.reply_message_id)
        self._failed(run, place, error, end.reply_message_id)
        status = StepStatus.FAILED if message is None else StepStatus.PARTIAL
        return (end_of(status, message, end, error),)

    def _failed(
        self, run: RunningRound, place: int, error: ChatError, message_id: str = ""
    ) -> TargetEnded:
        """An answer is not asked for again; `message_id` : what there is of it."""
        step = run.step(place)
        run.put_step(
            place,
            replace(
                step,
                status=StepStatus.FAILED,
                message_id=message_id,
                change=None,
                error_message=error.message,
                error_reason=error.reason,
            ),
        )
        return TargetEnded(StepStatus.FAILED, error=error)

    async def _read_again(self, run: RunningRound) -> None:
        """Go on from what the store has: somebody else changed it, or a commit that failed took the state along."""
        ref = SessionRef(run.session.id, run.session.space)
        run.session = await self._sessions.get(run.session.key.tenant, ref)
        run.play = play_of(run.session, self._sessions.modes)
        for place, guard in run.guards.items():
            run.guards[place] = await self._preparing.guard_of(run.session, guard.sender_id)

    def _nothing_said(self, session: Session) -> Callable[[str], bool]:
        names = self._preparing.lookup_of(session).names

        def says_nothing(text: str) -> bool:
            if not text.strip():
                return True
            if "@" not in text and "＠" not in text:
                return False
            found = [one for one in read_mentions(text, names) if one.is_known]
            return not without_spans(text, [(one.start, one.end) for one in found])

        return says_nothing

    async def _finish(self, run: RunningRound, ending: RoundEnding) -> RoundEnded:
        """The last commit: how the round ended. One that may go on stays open."""
        is_open = ending in (RoundEnding.DEADLINE, RoundEnding.INTERRUPTED)
        run.body = replace(run.body, ending="" if is_open else ending)
        try:
            if not run.is_kept:
                await self._sessions.keep(run.session.key, (run.record(),))
        except BackscrollError as error:
            log.warning("the end of a round was not stored", error=error.reason.value)
        self._summarise(run)
        return await self._telling.ended(run, ending)

    def _summarise(self, run: RunningRound) -> None:
        """Have the session summarised, where its settings or its mode say when."""
        policy, traits = run.session.effective_policy, run.play.mode.traits
        messages, tokens = policy.summarise_after_messages, policy.summarise_after_tokens
        messages = traits.summarise_after_messages if messages is None else messages
        tokens = traits.summarise_after_tokens if tokens is None else tokens
        if messages or tokens:
            conversation = Conversation(run.session.key, session_id=run.session.id)
            window = window_of(policy, run.play)
            kept = min(window, messages // 2) if messages else window
            settings = CompactionSettings(
                threshold_tokens=tokens or sys.maxsize,
                threshold_messages=messages or sys.maxsize,
                keep_tokens=0,
                keep_messages=kept,
                must_gain=False,
            )
            self._summaries.compact_if_due(conversation, settings)


def _with(request: ChatRequest, **fields: Any) -> ChatRequest:  # noqa: ANN401
    """The request with other fields."""
    return dataclasses.replace(request, **fields)


def _error_of(failed: Exception) -> ChatError:
    if isinstance(failed, BackscrollError):
        return ChatError(failed.message, failed.reason.value)
    log.error("a persona could not be asked", error=type(failed).__name__, exc_info=failed)
    return ChatError("the persona could not be asked", Reason.INTERNAL.value)


def _is_late(run: RunningRound) -> bool:
    return any(one.status is StepStatus.PARTIAL for one in run.body.steps)
