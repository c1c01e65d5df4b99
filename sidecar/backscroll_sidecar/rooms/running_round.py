"""A round while it runs: its steps, the session as it stands behind each of them, and what each commit keeps."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

from msgspec.structs import replace

from backscroll_sidecar.chat.companion import WithReply
from backscroll_sidecar.domain import Message, Role, TextPart, ToolCallPart
from backscroll_sidecar.ports import Clock, RecordChange
from backscroll_sidecar.rooms.loop_guard import LoopGuard
from backscroll_sidecar.rooms.prompting import mode_author
from backscroll_sidecar.rooms.round_events import RoundRequest
from backscroll_sidecar.rooms.round_record import (
    Change,
    RoundBody,
    Step,
    StepStatus,
    interrupt_id_of,
    round_change,
    turn_id_of,
)
from backscroll_sidecar.rooms.tables import Play
from backscroll_sidecar.sessions import records
from backscroll_sidecar.sessions.modes.base import ActionRefused, Outcome
from backscroll_sidecar.sessions.modes.registry import encoded
from backscroll_sidecar.sessions.routing import RouteReason, Target
from backscroll_sidecar.sessions.session import Session
from backscroll_sidecar.sessions.speaker_guard import SpeakerGuard

INTERRUPT_LIFETIME_MS = 3_600_000
"""As long as a turn is kept that waits for tools."""


class RunningRound:
    """One round. Only the task that runs it changes it, and the companions of its turns."""

    def __init__(
        self,
        session: Session,
        play: Play,
        body: RoundBody,
        request: RoundRequest,
        message: Message | None,
        clock: Clock,
        *,
        is_resumed: bool,
    ) -> None:
        self.session = session
        self.play = play
        self.body = body
        self.request = request
        self.message = message
        self.guards: dict[int, LoopGuard] = {}
        """Of steps that answer a persona: they are counted with the answer."""
        self.is_resumed = is_resumed
        self.seen_until_seq: int | None = None
        """What arrived later is not seen by the answers that are asked for at once now; None: all is."""
        self.is_gone = False
        """Whether the message was recalled or erased meanwhile: nobody is asked any more."""
        self.audiences: dict[int, tuple[str, ...]] = {}
        self.replies: dict[int, Message] = {}
        self.said: dict[int, tuple[Message, ...]] = {}
        """What the mode announced behind each step."""
        self.committing = asyncio.Lock()
        """Held while the state goes on: a commit expects the version that the one before it made."""
        self._clock = clock
        self._kept: RoundBody | None = body if is_resumed else None

    def step(self, place: int) -> Step:
        """One of its steps."""
        return self.body.steps[place]

    def put_step(self, place: int, step: Step) -> None:
        """Replace a step."""
        steps = (*self.body.steps[:place], step, *self.body.steps[place + 1 :])
        self.body = replace(self.body, steps=steps)

    def add_steps(self, steps: Sequence[Step]) -> None:
        """More answers are asked for."""
        self.body = replace(self.body, steps=(*self.body.steps, *steps))

    def new_step(self, place: int, target: Target, wave: int, trigger: str, depth: int = 0) -> Step:
        """The step at this place, which is not one of the round's yet."""
        return Step(
            target.id,
            target.reason,
            wave,
            trigger,
            turn_id_of(self.session, self.body.request_id, place),
            target.start,
            target.end,
            depth=depth,
        )

    @property
    def pending(self) -> list[int]:
        """The places of the steps to be asked next: those of the earliest wave that is not over."""
        open_ = [
            (one.wave, place)
            for place, one in enumerate(self.body.steps)
            if one.status in (StepStatus.PENDING, StepStatus.PARTIAL)
        ]
        first = min(open_)[0] if open_ else 0
        return [place for wave, place in open_ if wave == first]

    @property
    def interrupted(self) -> list[int]:
        """The places of those that wait for the results of tools."""
        return [
            place
            for place, one in enumerate(self.body.steps)
            if one.status is StepStatus.INTERRUPTED
        ]

    def record(self) -> RecordChange:
        """The round as it stands, about to be kept."""
        self._kept = self.body
        return round_change(self.session, self.body, self._clock.now_ms())

    @property
    def is_kept(self) -> bool:
        """Whether nothing changed since it was kept last."""
        return self._kept == self.body

    def begin_step(self, place: int) -> None:
        """A persona is about to be asked: whom it speaks to is decided now."""
        play, step = self.play, self.step(place)
        self.audiences[place] = play.audience_of(step.target_id) or self._hearers_of(step)
        self.put_step(place, replace(step, stage=play.mode.stage(play.state)))

    def _hearers_of(self, step: Step) -> tuple[str, ...]:
        """Who hears an answer to a whisper. What a mode asks for behind a move answers nobody."""
        replies = {one.id: one for one in self.replies.values()}
        asked = replies.get(step.trigger_id)
        if self.message is not None and step.trigger_id in self.body.message_ids:
            asked = self.message
        is_of_mode = step.reason is RouteReason.ROLE_MAP and (
            asked is not self.message or self.body.change is not None
        )
        if asked is None or not asked.audience or is_of_mode:
            return ()
        return tuple(sorted({*asked.audience, asked.author.id, step.target_id}))

    def with_reply(
        self,
        place: int,
        text: str,
        message_id: str,
        at_ms: int,
        *,
        is_whole: bool,
        foreign_id: str,
        is_silent: bool,
    ) -> WithReply:
        """What is kept with an answer: the round, what the mode makes of it, and what that announces."""
        audience = self.audiences.get(place, ())
        if not is_whole:
            return WithReply(audience=audience)
        step = self.step(place)
        status = StepStatus.SILENT if is_silent else StepStatus.COMPLETE
        if foreign_id:
            status = StepStatus.FOREIGN_SPEAKER
        stored_id = "" if is_silent else message_id
        step = replace(step, status=status, message_id=stored_id, foreign_id=foreign_id)
        outcome = None if is_silent else self._outcome(step, text, stored_id)
        states: Sequence[RecordChange] = ()
        said: tuple[Message, ...] = ()
        if outcome is not None:
            said = announcements(self.session, self.play, outcome, step.turn_id, at_ms)
            states = self.take(outcome, step.target_id)
            ids = tuple(one.id for one in said)
            change = Change(self.session.state_version, outcome.event, ids)
            step = replace(step, change=change)
        self.said[place] = said
        self.put_step(place, step)
        guard = self.guards.get(place)
        counters = guard.counted(self.session, [step.target_id], at_ms) if guard else []
        return WithReply(said, (self.record(), *states, *counters), audience, is_silent)

    def _outcome(self, step: Step, text: str, message_id: str) -> Outcome | None:
        """What the mode makes of an answer; None: it is talk, or comes too late to be a move."""
        mode, config, state, table = self.play
        if step.stage != mode.stage(state):
            return None
        waiting = mode.waits_for(config, state, table)
        if waiting is not None and step.target_id not in waiting.ids:
            return None
        action = mode.read_action(config, state, table, step.target_id, text)
        if action is None:
            return None
        try:
            return mode.apply(config, state, table, replace(action, message_id=message_id))
        except ActionRefused:
            return None

    def take(self, outcome: Outcome, actor_id: str) -> Sequence[RecordChange]:
        """Go on from the state behind a move; what is kept of it."""
        state_json = encoded(outcome.state)
        changes, log_id = records.state_changes(
            self.session,
            state_json,
            event=outcome.event,
            actor_id=actor_id,
            at_ms=self._clock.now_ms(),
            request_id=self.body.request_id,
        )
        self.session = replace(
            self.session,
            mode_state_json=state_json,
            state_version=self.session.state_version + 1,
            log_id=log_id,
        )
        self.play = self.play._replace(state=outcome.state)
        return changes

    def with_calls(self, place: int, calls: Sequence[ToolCallPart]) -> Sequence[RecordChange]:
        """What is kept where a persona waits for the results of tools."""
        step = self.step(place)
        open_ = tuple(calls)
        self.put_step(
            place,
            replace(
                step,
                status=StepStatus.INTERRUPTED,
                interrupt_id=interrupt_id_of(step.turn_id, len(step.answered), open_),
                expires_at_ms=self._clock.now_ms() + INTERRUPT_LIFETIME_MS,
                calls=open_,
            ),
        )
        return (self.record(),)


class StepCompanion:
    """Goes along with the turn of one step (`chat.companion.Companion`)."""

    def __init__(
        self,
        run: RunningRound,
        place: int,
        guard: SpeakerGuard,
        says_nothing: Callable[[str], bool],
        read_again: Callable[[RunningRound], Awaitable[None]],
    ) -> None:
        self._read_again = read_again
        self._run = run
        self._place = place
        self._guard = guard
        self._says_nothing = says_nothing

    @property
    def is_cut(self) -> bool:
        return self._guard.is_cut

    def take(self, text: str) -> str:
        return self._guard.take(text)

    def rest(self) -> str:
        return self._guard.rest()

    def start_anew(self) -> None:
        self._guard.start_anew()

    def with_reply(self, text: str, message_id: str, at_ms: int, *, is_whole: bool) -> WithReply:
        return self._run.with_reply(
            self._place,
            text,
            message_id,
            at_ms,
            is_whole=is_whole,
            foreign_id=self._guard.foreign_id,
            is_silent=self._says_nothing(text),
        )

    def committing(self) -> AbstractAsyncContextManager[Any]:
        return self._run.committing

    async def renew(self) -> bool:
        await self._read_again(self._run)
        return True

    def with_calls(self, calls: Sequence[ToolCallPart]) -> Sequence[RecordChange]:
        return self._run.with_calls(self._place, calls)


def announcements(
    session: Session, play: Play, outcome: Outcome, id_: str, at_ms: int
) -> tuple[Message, ...]:
    """What the mode announces, as messages: behind what led to it."""
    return tuple(
        Message(
            f"{id_}:said:{place}",
            session.key.channel,
            mode_author(play),
            (TextPart(one.text),),
            at_ms + 1 + place,
            Role.SYSTEM,
            session_id=session.id,
            audience=one.audience,
        )
        for place, one in enumerate(outcome.announcements)
    )
