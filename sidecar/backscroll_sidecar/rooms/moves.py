"""Moves and looks without a round: Act, RouteMessage, PrepareRound."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from backscroll_sidecar.context.builder import ContextBuilder
from backscroll_sidecar.context.model import BuiltContext
from backscroll_sidecar.domain import Message, StoredMessage
from backscroll_sidecar.errors import Conflict
from backscroll_sidecar.history.service import HistoryService
from backscroll_sidecar.ports import Clock, HistoryReader, RecordChange
from backscroll_sidecar.rooms.checks import check_active, stale_state
from backscroll_sidecar.rooms.drafts import SessionRef
from backscroll_sidecar.rooms.preparing import Preparing
from backscroll_sidecar.rooms.prompting import Asking, context_of, window_of
from backscroll_sidecar.rooms.round_events import RoundRequest, Routing, StateChanged
from backscroll_sidecar.rooms.round_record import MOVE, ROUND_LIFETIME_MS, round_id
from backscroll_sidecar.rooms.running_round import announcements
from backscroll_sidecar.rooms.said_messages import KEPT
from backscroll_sidecar.rooms.service import SessionService
from backscroll_sidecar.rooms.tables import Play, play_of
from backscroll_sidecar.sessions import records
from backscroll_sidecar.sessions.modes.base import Action
from backscroll_sidecar.sessions.modes.registry import encoded
from backscroll_sidecar.sessions.modes.workflow import task_prompt
from backscroll_sidecar.sessions.routing import Target
from backscroll_sidecar.sessions.session import Session


class KeptMove(msgspec.Struct, frozen=True):
    """What a move led to, so that a retry gives the same answer."""

    digest: str
    state_version: int
    event: str
    mode_state_json: str
    announcement_ids: tuple[str, ...]


class TargetContext(NamedTuple):
    """What one target would be given, and whose lines it may not write."""

    target: Target
    built: BuiltContext
    stop_names: tuple[str, ...]


class PreparedRound(NamedTuple):
    """All that a round would go by. `task_prompt` is the first target's: each sees of a task what it may see."""

    session: Session
    lookup: Mapping[str, str]
    routing: Routing
    history: Sequence[StoredMessage]
    task_prompt: str
    contexts: Sequence[TargetContext]


class Moves:
    """Moves in a session's mode, and what messages would lead to. Safe from any task of one event loop."""

    def __init__(
        self,
        sessions: SessionService,
        preparing: Preparing,
        reader: HistoryReader,
        history: HistoryService,
        builder: ContextBuilder,
        clock: Clock,
    ) -> None:
        self._sessions = sessions
        self._preparing = preparing
        self._reader = reader
        self._history = history
        self._builder = builder
        self._clock = clock

    async def route(
        self, tenant: str, ref: SessionRef, message: Message | None, targets: Sequence[str]
    ) -> tuple[Session, Routing]:
        """Who would answer a message."""
        session = await self._sessions.get(tenant, ref)
        if message is not None:
            message = await self._preparing.answered_author(session, message)
        prepared = await self._preparing.prepare(session, message, targets)
        return session, prepared.routing

    async def prepare(self, request: RoundRequest) -> PreparedRound:
        """All that a round would go by: the contexts of its targets, and what of the session all of them show."""
        session = await self._sessions.get(request.tenant, request.ref)
        message = request.message
        if message is not None:
            stored = None
            if message.id:
                found = await self._reader.get_messages(session.key, [message.id])
                stored = found.get(message.id)
            message = stored.message if stored is not None and not message.parts else message
            message = await self._preparing.answered_author(session, message)
            message = replace(message, channel=session.key.channel, session_id=session.id)
        prepared = await self._preparing.prepare(session, message, request.targets)
        play, routing = prepared.after, prepared.routing
        asking = Asking(routing.user_text, message, (), request.context, request.layout)
        told = [await self._task_messages(session, play, one, asking) for one in routing.targets]
        contexts = [
            await self._context(session, play, one, asking, tasks)
            for one, tasks in zip(routing.targets, told, strict=True)
        ]
        prompt = ""
        if told and (tasks := told[0]) is not None:
            prompt = task_prompt([one.text for one in tasks], play.table.language)
        return PreparedRound(
            session,
            self._lookup(session),
            routing,
            await self._history_of(session, play, asking),
            prompt,
            contexts,
        )

    async def _task_messages(
        self, session: Session, play: Play, target: Target, asking: Asking
    ) -> Sequence[Message] | None:
        """What a target may see that was said of the task, and what is said now."""
        begins = play.mode.task_begins_with(play.state)
        if begins is None:
            return None
        message, persona = asking.message, session.participant(target.id)
        assert persona is not None
        before: Sequence[Message] = ()
        if message is None or begins != message.id:
            found = await self._preparing.task_messages(
                session, play, persona, asking.template, asking.asker
            )
            before = found or ()
        now = () if message is None or message.id in {one.id for one in before} else (message,)
        return (*before, *now)

    async def _context(
        self,
        session: Session,
        play: Play,
        target: Target,
        asking: Asking,
        tasks: Sequence[Message] | None,
    ) -> TargetContext:
        persona = session.participant(target.id)
        assert persona is not None
        request = context_of(session, play, persona, asking, in_snapshot=False, task_messages=tasks)
        built = await self._builder.build(request)
        stop = tuple(
            dict.fromkeys(
                f"{name}:"
                for one in session.participants
                if one.id != persona.id
                for name in one.names()
            )
        )
        return TargetContext(target, built, stop)

    async def _history_of(
        self, session: Session, play: Play, asking: Asking
    ) -> Sequence[StoredMessage]:
        """What of the session everybody is shown, oldest first: the builder alone cuts the window."""
        count = asking.template.overrides.max_context or window_of(session.effective_policy, play)
        view = await self._builder.opening.views.view(session.key)
        if view is None:
            return ()
        for_all = [
            session_id in ("", session.id) and not audience for session_id, audience in view.scopes
        ]
        own = asking.message.id if asking.message is not None else ""
        rows = [
            row
            for row in range(view.count - 1, -1, -1)
            if view.state.item(row) == 0
            and for_all[view.scope.item(row)]
            and view.message_ids[row] != own
        ][:count]
        ids = [view.message_ids[row] for row in reversed(rows)]
        found = await self._reader.get_messages(session.key, ids)
        return [found[one] for one in ids if one in found]

    def _lookup(self, session: Session) -> Mapping[str, str]:
        return {name: one.id for one in session.participants for name in (*one.names(), one.id)}

    async def act(
        self,
        tenant: str,
        ref: SessionRef,
        action: Action,
        *,
        request_id: str = "",
        expected_state_version: int | None = None,
    ) -> tuple[StateChanged, tuple[str, ...]]:
        """Make a move; what it led to, and whom the mode waits for then."""
        async with self._sessions.locked(tenant, ref.session_id):
            session = await self._sessions.get(tenant, ref)
            check_active(session)
            digest = _digest(action)
            if request_id and (kept := await self._kept(session, request_id)) is not None:
                if kept.digest != digest:
                    raise Conflict("another move has this request_id", field="request_id")
                return await self._again(session, kept)
            if expected_state_version not in (None, session.state_version):
                raise stale_state(session)
            play = play_of(session, self._sessions.modes)
            outcome = play.applied(action)
            state_json = encoded(outcome.state)
            at_ms = self._clock.now_ms()
            changes, log_id = records.state_changes(
                session,
                state_json,
                event=outcome.event,
                actor_id=action.actor_id,
                at_ms=at_ms,
                request_id=request_id,
            )
            said = announcements(session, play, outcome, round_id(session, log_id), at_ms)
            version = session.state_version + 1
            ids = tuple(one.id for one in said)
            kept_move = KeptMove(digest, version, outcome.event, state_json, ids)
            moves = (
                (_move_change(session, request_id, kept_move, action.actor_id, at_ms),)
                if request_id
                else ()
            )
            results = await self._history.append(session.key, said, records=(*changes, *moves))
            if any(one.outcome not in KEPT for one in results):
                raise Conflict("an announcement's id is taken: the move is not made")
            after = play._replace(state=outcome.state)
            told = StateChanged(
                version, outcome.event, state_json, said, play.mode.is_over(outcome.state)
            )
            return told, waited_for(after)

    async def states(
        self, tenant: str, ref: SessionRef, limit: int, before: int | None
    ) -> tuple[Sequence[records.LoggedState], int | None]:
        """The log of states, the newest first; and where the next page begins, None: nowhere."""
        entries = await self._sessions.log_of(await self._sessions.get(tenant, ref))
        if before is not None:
            entries = [one for one in entries if one.state_version < before]
        page = entries[:limit]
        return page, page[-1].state_version if len(entries) > limit else None

    async def _kept(self, session: Session, request_id: str) -> KeptMove | None:
        stored = await self._reader.record(
            session.key, MOVE, session.id, request_id, self._clock.now_ms()
        )
        return None if stored is None else msgspec.json.decode(stored.body, type=KeptMove)

    async def _again(
        self, session: Session, kept: KeptMove
    ) -> tuple[StateChanged, tuple[str, ...]]:
        found = await self._reader.get_messages(session.key, kept.announcement_ids)
        said = tuple(found[one].message for one in kept.announcement_ids if one in found)
        play = play_of(session, self._sessions.modes)
        then = play_of(replace(session, mode_state_json=kept.mode_state_json), self._sessions.modes)
        told = StateChanged(
            kept.state_version,
            kept.event,
            kept.mode_state_json,
            said,
            play.mode.is_over(then.state),
        )
        return told, waited_for(play)


def waited_for(play: Play) -> tuple[str, ...]:
    """Whom a mode waits for; nobody where it leaves that to the text."""
    waiting = play.waiting()
    return () if waiting is None else waiting.ids


def _digest(action: Action) -> str:
    """What tells a move from another one under its request id."""
    said = msgspec.json.encode([action.name, action.actor_id, action.argument])
    return hashlib.blake2b(said, digest_size=12).hexdigest()


def _move_change(
    session: Session, request_id: str, move: KeptMove, actor_id: str, at_ms: int
) -> RecordChange:
    return RecordChange(
        session.key,
        MOVE,
        request_id,
        msgspec.json.encode(move),
        records.people_of(move.mode_state_json, session.participants, actor_id),
        at_ms,
        at_ms + ROUND_LIFETIME_MS,
        owner=session.id,
    )
