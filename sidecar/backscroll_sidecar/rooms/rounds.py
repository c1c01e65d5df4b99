"""Runs rounds: a message comes, every persona that is to answer is asked, what they say is streamed and kept.

The order is: read the session, route, store the message, and for each persona build its context, call the model, store
the reply. A round is written down with its message, before anybody is asked, and again with each reply. So whoever
sends it again gets what is stored, and only what is not stored is asked for.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
import time
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from typing import Any

import msgspec
import structlog
from msgspec.structs import replace

from backscroll_sidecar.chat.service import ChatService
from backscroll_sidecar.concurrency.locks import Locks
from backscroll_sidecar.domain import (
    AppendOutcome,
    AppendResult,
    Message,
)
from backscroll_sidecar.errors import (
    Conflict,
    DeadlineExceeded,
    Gone,
    InvalidRequest,
    NotFound,
    Reason,
)
from backscroll_sidecar.history.service import HistoryService
from backscroll_sidecar.ports import VERSION_FIELD, ChatModel, Clock, HistoryReader
from backscroll_sidecar.rooms.bursts import Burst, Bursts
from backscroll_sidecar.rooms.checks import check_active, stale_state
from backscroll_sidecar.rooms.choosing import Chooser
from backscroll_sidecar.rooms.drafts import SessionRef
from backscroll_sidecar.rooms.preparing import (
    NO_GUARD,
    Prepared,
    Preparing,
    action_of,
    is_parallel,
    joined_text,
)
from backscroll_sidecar.rooms.round_events import (
    Answers,
    RoundEnded,
    RoundEnding,
    RoundEvent,
    RoundRequest,
    RoundStarted,
    Routing,
)
from backscroll_sidecar.rooms.round_record import (
    ROUND,
    Change,
    RoundBody,
    round_id,
    round_of,
)
from backscroll_sidecar.rooms.round_runner import RoundRunner
from backscroll_sidecar.rooms.running_round import RunningRound, announcements
from backscroll_sidecar.rooms.said_messages import SaidMessages
from backscroll_sidecar.rooms.service import SessionService
from backscroll_sidecar.rooms.tables import play_of
from backscroll_sidecar.rooms.tool_answers import answered
from backscroll_sidecar.sessions.modes.base import Unaddressed
from backscroll_sidecar.sessions.routing import RouteReason, Target
from backscroll_sidecar.sessions.session import Session
from backscroll_sidecar.summaries.service import Summaries

log = structlog.get_logger(__name__)

BEGIN_TRIES = 16
"""Of writing a round down, while counters and the state that go with it change."""


class RoundService:
    """Runs rounds. Safe from any task of one event loop; raises typed errors only, before the first event.

    A round is driven by its reader: who leaves closes the models' streams.
    """

    def __init__(
        self,
        sessions: SessionService,
        preparing: Preparing,
        reader: HistoryReader,
        history: HistoryService,
        chat: ChatService,
        model: ChatModel,
        summaries: Summaries,
        clock: Clock,
        locks: Locks,
    ) -> None:
        self._sessions = sessions
        self._preparing = preparing
        self._reader = reader
        self._said = SaidMessages(preparing, reader, history, sessions.modes, clock)
        self._runner = RoundRunner(sessions, preparing, reader, chat, summaries, clock)
        self._chooser = Chooser(model)
        self._clock = clock
        self._locks = locks
        self._bursts = Bursts()

    # --- starting and resuming ---------------------------------------------------------------------

    async def start(self, request: RoundRequest) -> AsyncGenerator[RoundEvent]:
        """The events of a round, or of one that was begun under the same request id."""
        ends_s = _ends_s(request.time_left_s)
        session = await self._session_of(request)
        request_id = request.request_id or secrets.token_hex(16)
        check_active(session)
        burst = await self._burst_of(session, request_id, request)
        if burst is not None and burst.leader_id != request_id:
            with burst:
                joined = await self._joined(session, request, request_id, burst)
            if joined:
                for event in joined:
                    yield event
                return
            burst = None
        try:
            async with self._held(session, request_id, ends_s):
                session = await self._again(session)
                found = await self._find(session, request_id)
                if found is None:
                    run = await self._begun(session, request, request_id, burst)
                else:
                    run = await self._resumed(session, found, request, _digest(session, request))
                async with aclosing(self._runner.events(run, ends_s, {})) as events:
                    async for event in events:
                        yield event
        finally:
            if burst is not None:
                burst.lead(is_stored=False)

    async def resume(
        self,
        request: RoundRequest,
        answers: Sequence[Answers],
        settings_of: Any,  # noqa: ANN401 - reads what `RoundRequest.settings` has
    ) -> AsyncGenerator[RoundEvent]:
        """The events of a round that was begun before; with the results of tools that it waits for."""
        ends_s = _ends_s(request.time_left_s)
        session = await self._sessions.get(request.tenant, request.ref)
        async with self._held(session, request.request_id, ends_s):
            session = await self._again(session)
            found = await self._find(session, request.request_id)
            if found is None:
                raise NotFound(
                    "no round of this request_id is kept",
                    field="request_id",
                    reason=Reason.ROUND_NOT_FOUND,
                )
            template: RoundRequest = settings_of(found.settings)
            request = replace(template, ref=request.ref, time_left_s=request.time_left_s)
            run = await self._resumed(session, found, request, "")
            given = answered(run, answers)
            async with aclosing(self._runner.events(run, ends_s, given)) as events:
                async for event in events:
                    yield event

    async def _session_of(self, request: RoundRequest) -> Session:
        ref, draft, message = request.ref, request.draft, request.message
        if message is not None and not message.text.strip() and (message.parts or not message.id):
            raise InvalidRequest(
                "message has no text", field="message.parts", reason=Reason.QUESTION_MISSING
            )
        if ref.session_id:
            session = await self._sessions.get(request.tenant, ref)
        else:
            id_ = draft.id
            if not id_ and request.request_id:  # the same request again means the same session
                id_ = _digest_of([request.tenant, ref.space, ref.owner_id, request.request_id])
            draft = replace(
                draft,
                id=id_,
                space=ref.space,
                project_id=ref.project_id,
                owner_id=ref.owner_id,
            )
            session, _ = await self._sessions.create(request.tenant, draft, allowed=ref.allowed)
        if draft.mode and draft.mode != session.mode:
            raise Conflict(
                f"the session is in the mode {session.mode}: UpdateSession changes it", field="mode"
            )
        return session

    async def _again(self, session: Session) -> Session:
        ref = SessionRef(session.id, session.space)
        session = await self._sessions.get(session.key.tenant, ref)
        check_active(session)
        return session

    async def _find(self, session: Session, request_id: str) -> RoundBody | None:
        stored = await self._reader.record(
            session.key, ROUND, session.id, request_id, self._clock.now_ms()
        )
        found = None if stored is None else round_of(stored)
        is_of_it = found is None or found.session_began_ms in (0, session.created_at_ms)
        return found if is_of_it else None

    @asynccontextmanager
    async def _held(
        self, session: Session, request_id: str, ends_s: float | None
    ) -> AsyncIterator[None]:
        """One call at a time runs a round, and in modes with turns a session one round."""
        mode = self._sessions.modes.find(session.mode)
        name: tuple[str, ...] = (*session.key, session.space, session.id)
        if not mode.traits.is_serial:
            name += (request_id,)
        held = self._locks.hold(session.key.tenant, "round", *name)
        async with AsyncExitStack() as stack:
            try:
                async with asyncio.timeout(None if ends_s is None else ends_s - time.monotonic()):
                    await stack.enter_async_context(held)
            except TimeoutError:
                raise DeadlineExceeded("another round of the session ran all the while") from None
            yield

    # --- a new round -------------------------------------------------------------------------------

    async def _begun(
        self, session: Session, request: RoundRequest, request_id: str, burst: Burst | None
    ) -> RunningRound:
        """Route the message and write the round down with it; anew where something changed beneath it."""
        for left in reversed(range(BEGIN_TRIES)):
            try:
                return await self._try_to_begin(session, request, request_id, burst)
            except Conflict as changed:
                if changed.field != VERSION_FIELD or not left:
                    raise
                session = await self._again(session)
        raise AssertionError("unreachable")

    async def _try_to_begin(
        self, session: Session, request: RoundRequest, request_id: str, burst: Burst | None
    ) -> RunningRound:
        expected = request.expected_state_version
        if expected is not None and expected != session.state_version:
            raise stale_state(session)
        message, is_stored = await self._said.message_of(session, request, request_id)
        prepared = await self._preparing.prepare(session, message, request.targets)
        if message is not None:
            message = replace(message, audience=prepared.audience)
        body = RoundBody(
            request_id,
            _digest(session, request),
            () if message is None else (message.id,),
            settings=request.settings,
            session_began_ms=session.created_at_ms,
        )
        run = RunningRound(
            session, prepared.before, body, request, message, self._clock, is_resumed=False
        )
        await self._write_down(run, prepared, is_stored=is_stored, burst=burst)
        if burst is not None:
            burst.lead(is_stored=True)
            await self._gathered(run, burst)
        elif not run.body.steps and prepared.routing.candidates:
            await self._choose(run, prepared.routing)
        return run

    async def _write_down(
        self, run: RunningRound, prepared: Prepared, *, is_stored: bool, burst: Burst | None
    ) -> None:
        """The first commit: the round, the message, and what the mode made of it."""
        message, routing = run.message, prepared.routing
        at_ms = self._clock.now_ms()
        said: tuple[Message, ...] = ()
        states: Sequence[Any] = ()
        if prepared.outcome is not None and message is not None:
            id_ = round_id(run.session, run.body.request_id)
            said = announcements(run.session, run.play, prepared.outcome, id_, message.sent_at_ms)
            states = run.take(prepared.outcome, message.author.id)
            change = Change(
                run.session.state_version,
                prepared.outcome.event,
                tuple(one.id for one in said),
            )
            run.body = replace(run.body, change=change)
        self._route(run, routing, is_routed=burst is None)
        counters = (
            prepared.guard.counted(run.session, [one.id for one in routing.targets], at_ms)
            if prepared.guard is not NO_GUARD
            else []
        )
        rows = [] if message is None or is_stored else [message]
        results = await self._said.append(
            run.session, [*rows, *said], records=(run.record(), *states, *counters)
        )
        if message is not None:
            await self._note_message(run, message, results[0] if rows else None)

    async def _note_message(
        self, run: RunningRound, message: Message, result: AppendResult | None
    ) -> None:
        """Take over the message as it is stored; `result`: of storing it now."""
        if result is not None and result.outcome is AppendOutcome.STORED and not result.warnings:
            run.body = replace(run.body, snapshot_seq=result.seq)
            return
        stored = await self._said.stored(run.session, message.id)
        if stored is None:
            raise Gone("the message was recalled or erased", field="message.id")
        run.message = stored.message
        run.body = replace(run.body, snapshot_seq=stored.seq)

    def _route(self, run: RunningRound, routing: Routing, *, is_routed: bool) -> None:
        """Take over who answers."""
        is_at_once = is_parallel(run.play, run.session.effective_policy)
        trigger = run.body.message_ids[-1] if run.body.message_ids else ""
        steps = [
            run.new_step(place, one, 0 if is_at_once else place, trigger)
            for place, one in enumerate(routing.targets)
        ]
        run.body = replace(
            run.body,
            clean_text=routing.clean_text,
            user_text=routing.user_text,
            ignored=routing.ignored,
            steps=tuple(steps) if is_routed else (),
            is_routed=is_routed,
        )

    async def _choose(self, run: RunningRound, routing: Routing) -> None:
        """Let the model choose one of the candidates."""
        personas = [one for one in run.session.participants if one.id in routing.candidates]
        chosen = await self._chooser.choose(
            personas,
            run.body.user_text,
            run.request.context.model,
            run.play.table.language,
            run.request.time_left_s,
        )
        if chosen is None:
            return
        trigger = run.body.message_ids[-1] if run.body.message_ids else ""
        target = Target(chosen, RouteReason.SELECTOR)
        run.add_steps([run.new_step(len(run.body.steps), target, 0, trigger)])

    # --- bursts ------------------------------------------------------------------------------------

    async def _burst_of(
        self, session: Session, request_id: str, request: RoundRequest
    ) -> Burst | None:
        """The burst that a new message belongs to, its own where it is the first; None: there are none.

        A whisper, a move in a game and what a mode lets only some hear are never told with other messages.
        """
        window_ms = session.effective_policy.burst_window_ms or 0
        message = request.message
        if not window_ms or message is None or request.targets or message.audience:
            return None
        play = play_of(session, self._sessions.modes)
        if play.mode.traits.is_serial or play.audience_of(message.author.id):
            return None
        if (
            not message.parts
            and (stored := await self._said.stored(session, message.id)) is not None
        ):
            message = stored.message
        if message.audience or not message.text.strip() or action_of(play, message) is not None:
            return None
        if await self._find(session, request_id) is not None:
            return None
        return self._bursts.of(session, request_id, window_ms)

    async def _joined(
        self, session: Session, request: RoundRequest, request_id: str, burst: Burst
    ) -> Sequence[RoundEvent]:
        """A message of a burst: it is stored, and answered by the round of the first. Empty: there is no such round."""
        if not await burst.is_led():
            return ()
        message, is_stored = await self._said.message_of(session, request, request_id)
        if message is None:
            raise AssertionError("a burst is of messages")
        body = RoundBody(
            request_id,
            _digest(session, request),
            (message.id,),
            ending=RoundEnding.COALESCED,
            coalesced_into=burst.leader_id,
        )
        play = play_of(session, self._sessions.modes)
        run = RunningRound(session, play, body, request, message, self._clock, is_resumed=False)
        rows = [] if is_stored else [message]
        await self._said.append(session, rows, records=(run.record(),))
        burst.message_ids.append(message.id)
        routing = Routing((), (), message.text, message.text, Unaddressed.NOBODY)
        ended = RoundEnded(
            RoundEnding.COALESCED,
            state_version=session.state_version,
            coalesced_into=burst.leader_id,
        )
        started = RoundStarted(session, request_id, message, routing, 0)
        return RoundEvent(1, started), RoundEvent(2, ended)

    async def _gathered(self, run: RunningRound, burst: Burst) -> None:
        """Wait for the rest of a burst, and route all of its messages together."""
        await burst.gathered()
        ids = [*run.body.message_ids, *burst.message_ids]
        await self._route_several(run, ids)

    async def _route_several(self, run: RunningRound, ids: Sequence[str]) -> None:
        """Route several messages as one: who is named in any of them answers all."""
        found = await self._reader.get_messages(run.session.key, list(dict.fromkeys(ids)))
        stored = sorted(
            (found[one] for one in dict.fromkeys(ids) if one in found), key=lambda s: s.seq
        )
        if not stored:
            raise Gone("the messages were recalled or erased", field="message.id")
        targets: dict[str, Target] = {}
        routings: list[Routing] = []
        for one in stored:
            prepared = await self._preparing.prepare(run.session, one.message)
            routings.append(prepared.routing)
        named = [one for one in routings if any(_is_named(t) for t in one.targets)] or routings
        for routing in named:
            for target in routing.targets:
                targets.setdefault(target.id, target)
        run.message = stored[-1].message
        run.body = replace(
            run.body,
            message_ids=tuple(one.message.id for one in stored),
            snapshot_seq=stored[-1].seq,
        )
        text = joined_text(
            [one.message.author for one in stored], [one.user_text for one in routings]
        )
        ignored = tuple(one for routing in routings for one in routing.ignored)
        merged = Routing(tuple(targets.values()), ignored, text, text, routings[-1].policy)
        self._route(run, merged, is_routed=True)

    # --- a round that was begun before -------------------------------------------------------------

    async def _resumed(
        self, session: Session, body: RoundBody, request: RoundRequest, digest: str
    ) -> RunningRound:
        if digest and digest != body.digest:
            raise Conflict("another round has this request_id", field="request_id")
        message = None
        if body.message_ids:
            stored = await self._said.stored(session, body.message_ids[-1])
            if stored is None:
                raise Gone("the message was recalled or erased", field="request_id")
            message = stored.message
            body = await self._preparing.with_texts(session, body)
        play = play_of(session, self._sessions.modes)
        run = RunningRound(session, play, body, request, message, self._clock, is_resumed=True)
        if not body.is_routed:
            joined = await self._reader.records(
                session.key, ROUND, self._clock.now_ms(), owner=session.id
            )
            others = [
                id_
                for one in map(round_of, joined)
                if one.coalesced_into == body.request_id
                for id_ in one.message_ids
            ]
            await self._route_several(run, [*body.message_ids, *others])
        elif not body.ending and not body.steps and message is not None:
            prepared = await self._preparing.prepare(session, message)
            if prepared.routing.candidates and not prepared.routing.targets:
                await self._choose(run, prepared.routing)
        return run


def _digest(session: Session, request: RoundRequest) -> str:
    """What tells a round from another one under its request id."""
    message = request.message
    said: list[Any] = [session.id, list(request.targets)]
    if message is not None:
        said += [message.author.id, message.id, message.text]
    return hashlib.blake2b(msgspec.json.encode(said), digest_size=12).hexdigest()


def _digest_of(words: Sequence[Any]) -> str:
    return hashlib.blake2b(msgspec.json.encode(words), digest_size=16).hexdigest()


def _ends_s(time_left_s: float | None) -> float | None:
    return None if time_left_s is None else time.monotonic() + time_left_s


def _is_named(target: Target) -> bool:
    return target.reason in (
        RouteReason.EXPLICIT,
        RouteReason.MENTION,
        RouteReason.GROUP_MENTION,
        RouteReason.REPLY,
    )
