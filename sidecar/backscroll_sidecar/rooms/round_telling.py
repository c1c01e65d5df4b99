"""What a round tells: how it starts and ends, what it has stored, what changes."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence

from backscroll_sidecar.chat.events import (
    ChatEnd,
    ChatError,
    ChatEvent,
    Delta,
    Notice,
    TakenBack,
    ToolCalled,
)
from backscroll_sidecar.domain import Message
from backscroll_sidecar.ports import Clock, HistoryReader
from backscroll_sidecar.rooms.preparing import Preparing
from backscroll_sidecar.rooms.round_events import (
    Interrupted,
    LoopSuppressed,
    RoundEnded,
    RoundEnding,
    RoundStarted,
    Routing,
    StateChanged,
    TargetDelta,
    TargetEnded,
    TargetStarted,
    TargetToolCall,
    Told,
)
from backscroll_sidecar.rooms.round_record import Change, StepStatus
from backscroll_sidecar.rooms.running_round import RunningRound
from backscroll_sidecar.sessions.modes.registry import state_of
from backscroll_sidecar.sessions.records import STATE_LOG, log_key, logged_state_of
from backscroll_sidecar.sessions.routing import IgnoredReason, Target


class RoundTelling:
    """Makes the events of a round out of what is stored of it. Safe from any task of one event loop."""

    def __init__(self, preparing: Preparing, reader: HistoryReader, clock: Clock) -> None:
        self._preparing = preparing
        self._reader = reader
        self._clock = clock

    def started(self, run: RunningRound) -> RoundStarted:
        """How it starts: the message, who answers, whom it is not for."""
        body = run.body
        policy = run.session.effective_policy
        first = [one for one in body.steps if not one.depth]
        routing = Routing(
            tuple(Target(one.target_id, one.reason, one.start, one.end) for one in first),
            body.ignored,
            body.clean_text,
            body.user_text,
            policy.unaddressed or run.play.mode.traits.unaddressed,
        )
        return RoundStarted(
            run.session, body.request_id, run.message, routing, body.snapshot_seq, run.is_resumed
        )

    async def changed(
        self, run: RunningRound, change: Change, said: Sequence[Message] = ()
    ) -> StateChanged:
        """The state of its mode has changed; what the mode said of it is read where it is not given.

        A state that is no longer kept is told as empty.
        """
        if not said and change.announcement_ids:
            found = await self._reader.get_messages(run.session.key, change.announcement_ids)
            said = [found[one].message for one in change.announcement_ids if one in found]
        state_json = await self._state_of(run, change.state_version)
        mode = run.play.mode
        is_over = bool(state_json) and mode.is_over(state_of(mode, state_json))
        return StateChanged(change.state_version, change.event, state_json, tuple(said), is_over)

    async def _state_of(self, run: RunningRound, version: int) -> str:
        """The state of this version; empty: it is not kept, or of another mode."""
        session = run.session
        if version == session.state_version:
            return session.mode_state_json
        stored = await self._reader.record(
            session.key, STATE_LOG, session.id, log_key(version), self._clock.now_ms()
        )
        if stored is None:
            return ""
        logged = logged_state_of(stored)
        return logged.mode_state_json if logged.mode == session.mode else ""

    async def suppressed(self, run: RunningRound, since: int = 0) -> Sequence[LoopSuppressed]:
        """Personas that may not answer somebody, for the two have answered each other too often.

        `since` : of the round's `ignored`, those before are told already.
        """
        looped = dict.fromkeys(
            (one.sender_id, one.participant_id)
            for one in run.body.ignored[since:]
            if one.reason is IgnoredReason.LOOP
        )
        now_ms = self._clock.now_ms()
        told: list[LoopSuppressed] = []
        for sender_id, persona_id in looped:
            guard = await self._preparing.guard_of(run.session, sender_id)
            after_ms = guard.retry_after_ms(persona_id, now_ms)
            told.append(LoopSuppressed(sender_id, persona_id, after_ms))
        return told

    async def replayed(
        self, run: RunningRound, places: Sequence[int]
    ) -> AsyncGenerator[tuple[str, Told]]:
        """What is stored of some answers, told again."""
        for place in places:
            step = run.step(place)
            if step.status is StepStatus.PENDING:
                continue
            persona = run.session.participant(step.target_id)
            name = step.target_id if persona is None else persona.name
            target = Target(step.target_id, step.reason, step.start, step.end)
            yield step.target_id, TargetStarted(target, name, place + 1)
            message = await self.reply(run, step.message_id)
            status = step.status
            if message is not None:
                if status is StepStatus.FAILED:
                    status = StepStatus.PARTIAL
                else:
                    run.replies[place] = message
                yield step.target_id, TargetDelta(message.text, is_whole=True)
            error = None
            if step.error_reason:
                error = ChatError(step.error_message, step.error_reason)
            yield (
                step.target_id,
                TargetEnded(status, message, error, foreign_id=step.foreign_id),
            )
            if step.status is StepStatus.INTERRUPTED:
                told = Interrupted(step.interrupt_id, step.calls, step.expires_at_ms)
                yield step.target_id, told
            if step.change is not None:
                yield "", await self.changed(run, step.change)

    async def ended(self, run: RunningRound, ending: RoundEnding) -> RoundEnded:
        """How it ends: its replies, in the order in which they were asked for; what broke off is none."""
        steps = run.body.steps
        ids = [
            one.message_id
            for one in steps
            if one.message_id and one.status is not StepStatus.FAILED
        ]
        found = {one.id: one for one in run.replies.values()}
        if lost := [one for one in ids if one not in found]:
            stored = await self._reader.get_messages(run.session.key, lost)
            found |= {one: stored[one].message for one in lost if one in stored}
        failed = [
            one.target_id
            for one in steps
            if one.status in (StepStatus.FAILED, StepStatus.PARTIAL, StepStatus.PENDING)
        ]
        return RoundEnded(
            ending,
            tuple(found[one] for one in ids if one in found),
            tuple(dict.fromkeys(failed)),
            run.session.state_version,
            run.body.coalesced_into,
        )

    async def reply(self, run: RunningRound, message_id: str) -> Message | None:
        """A stored reply."""
        if not message_id:
            return None
        found = await self._reader.get_messages(run.session.key, [message_id])
        stored = found.get(message_id)
        return None if stored is None else stored.message


def told_of(event: ChatEvent) -> Told | None:
    """What a round tells of an event of its turn."""
    match event:
        case Delta(text):
            return TargetDelta(text)
        case TakenBack():
            return TargetDelta("", is_whole=True)
        case ToolCalled(call):
            return TargetToolCall(call)
        case Notice():
            return event
    return None


def end_of(
    status: StepStatus,
    message: Message | None,
    end: ChatEnd,
    error: ChatError | None,
    foreign_id: str = "",
) -> TargetEnded:
    """How one answer ended, as it is told."""
    return TargetEnded(
        status,
        message,
        error,
        end.reason,
        end.prompt_tokens,
        end.completion_tokens,
        foreign_id,
    )
