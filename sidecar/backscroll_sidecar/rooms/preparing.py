"""What a round goes by: its session, the move in the message, who answers. It stores nothing."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from backscroll_sidecar.context.builder import ContextBuilder
from backscroll_sidecar.context.model import BuildRequest
from backscroll_sidecar.context.viewers import viewer_of
from backscroll_sidecar.context.visibility import withheld
from backscroll_sidecar.domain import Author, AuthorKind, Message
from backscroll_sidecar.ports import Clock, HistoryReader
from backscroll_sidecar.rooms.loop_guard import LoopGuard
from backscroll_sidecar.rooms.round_events import Routing
from backscroll_sidecar.rooms.round_record import LOOP, ROUND, RoundBody, StepStatus, round_of
from backscroll_sidecar.rooms.tables import Play, play_of
from backscroll_sidecar.sessions.kept import Kept
from backscroll_sidecar.sessions.modes.base import (
    Action,
    Outcome,
    Traits,
    Unaddressed,
    Waiting,
)
from backscroll_sidecar.sessions.modes.registry import Modes
from backscroll_sidecar.sessions.participants import Participant, as_named, size_of_names
from backscroll_sidecar.sessions.routing import (
    Ignored,
    IgnoredReason,
    Lookup,
    Routed,
    RouteReason,
    Rules,
    Said,
    route,
)
from backscroll_sidecar.sessions.session import DEFAULT_MAX_TARGETS, RoomPolicy, Session

LOOKUPS, LOOKUPS_SIZE = 1_024, 8_000_000
"""Sets of participants whose names are kept ready, and characters of those names."""
RECENT_MESSAGES = 50
"""Whose authors a persona might write for, besides those who take part."""
HEALTH_ROUNDS = 20
"""So many of the last rounds tell which personas answered last, and which failed."""
NO_GUARD = LoopGuard("", {}, 1, 0)


class Prepared(msgspec.Struct, frozen=True):
    """A message in its session.

    Attributes
    ----------
    before, after : the play before the message's move, and behind it; the same where it makes none.
    outcome : what the move led to; None: it is talk.
    audience : whom the message is for.
    """

    session: Session
    before: Play
    after: Play
    routing: Routing
    audience: tuple[str, ...]
    guard: LoopGuard
    action: Action | None = None
    outcome: Outcome | None = None


class Preparing:
    """Works out what messages lead to. Safe from any task of one event loop."""

    def __init__(
        self, reader: HistoryReader, builder: ContextBuilder, modes: Modes, clock: Clock
    ) -> None:
        self._reader = reader
        self._builder = builder
        self._modes = modes
        self._clock = clock
        self._lookups: Kept[tuple[Participant, ...], Lookup] = Kept(
            LOOKUPS, LOOKUPS_SIZE, lambda lookup: size_of_names(lookup.participants)
        )

    def lookup_of(self, session: Session) -> Lookup:
        """Everything that the participants of a session are called by; made once for each set of them."""
        participants = as_named(session.participants)
        lookup = self._lookups.get(participants)
        if lookup is None:
            lookup = Lookup(participants)
            self._lookups.put(participants, lookup)
        return lookup

    async def prepare(
        self, session: Session, message: Message | None, targets: Sequence[str] = ()
    ) -> Prepared:
        """What a message leads to.

        Raises
        ------
        FailedPrecondition
            It is a move that the rules forbid.
        """
        before = play_of(session, self._modes)
        sender_id = "" if message is None else message.author.id
        action: Action | None = None
        outcome: Outcome | None = None
        after = before
        audience: tuple[str, ...] = ()
        if message is not None:
            audience = message.audience or before.audience_of(sender_id)
            action = action_of(before, message)
        if action is not None:
            outcome = before.applied(action)
            after = before._replace(state=outcome.state)
        guard = await self._guard_of(session, message)
        rules = await self._rules_of(session, after, guard, has_message=message is not None)
        routing = self._route(session, message, tuple(targets), rules)
        if audience:
            routing = _heard_by(routing, audience)
        return Prepared(session, before, after, routing, audience, guard, action, outcome)

    def _route(
        self, session: Session, message: Message | None, targets: tuple[str, ...], rules: Rules
    ) -> Routing:
        text = "" if message is None else message.text
        said = Said(
            text,
            "" if message is None else message.author.id,
            () if message is None else message.mentions,
            "" if message is None or message.reply is None else message.reply.user_id,
            targets,
            AuthorKind.HUMAN if message is None else message.author.kind,
        )
        return routing_of(text, route(said, self.lookup_of(session), rules))

    async def routed_onward(
        self, session: Session, play: Play, reply: Message, taken: Sequence[str]
    ) -> Routing:
        """To whom an answer of a persona hands on; those who are `taken` are asked already."""
        guard = await self._guard_of(session, reply)
        rules = replace(
            await self._rules_of(session, play, guard, has_message=True),
            unaddressed=Unaddressed.NOBODY,
            role_ids=None,
            heeds_mentions=True,
        )
        routing = self._route(session, reply, (), rules)
        if reply.audience:
            routing = _heard_by(routing, reply.audience)
        left = tuple(one for one in routing.targets if one.id not in taken)
        return dataclasses.replace(routing, targets=left)

    async def with_texts(self, session: Session, body: RoundBody) -> RoundBody:
        """The round of a record with the texts of its messages, as they are now."""
        ids = body.message_ids
        found = await self._reader.get_messages(session.key, ids)
        said = [found[one].message for one in ids if one in found]
        traits = play_of(session, self._modes).mode.traits
        first = [one for one in body.steps if not one.depth]
        is_role = any(one.reason is RouteReason.ROLE_MAP for one in first)
        rules = Rules(
            Unaddressed.NOBODY,
            traits.heeds_mentions,
            () if is_role else None,
            max_targets=max(1, len(session.participants)),
            looped_ids=frozenset(
                one.participant_id for one in body.ignored if one.reason is IgnoredReason.LOOP
            ),
        )
        explicit = tuple(one.target_id for one in first if one.reason is RouteReason.EXPLICIT)
        routings = [self._route(session, one, explicit, rules) for one in said]
        if len(routings) == 1:
            clean, shown = routings[0].clean_text, routings[0].user_text
        else:
            clean = shown = joined_text(
                [one.author for one in said], [one.user_text for one in routings]
            )
        return replace(body, clean_text=clean, user_text=shown)

    async def recent_authors(self, session: Session) -> dict[str, str]:
        """Whoever wrote one of the newest messages, the modes aside: ids by names and ids."""
        view = await self._builder.opening.views.view(session.key)
        if view is None:
            return {}
        first = max(0, view.count - RECENT_MESSAGES)
        numbers = {
            view.columns.author.item(row)
            for row in range(first, view.count)
            if view.kind.item(row) != AuthorKind.SYSTEM
        }
        people = view.people
        return {
            name: people.ids[number]
            for number in sorted(numbers)
            if number >= 0
            for name in (people.names[number], people.ids[number])
            if name
        }

    async def newest_seq(self, session: Session) -> int | None:
        """The highest sequence of the session's channel; None: it holds nothing."""
        view = await self._builder.opening.views.view(session.key)
        return int(view.seq.max()) if view is not None and view.count else None

    async def answered_author(self, session: Session, message: Message) -> Message:
        """The message, saying who wrote what it replies to."""
        reply = message.reply
        if reply is None or reply.user_id:
            return message
        found = await self._reader.get_messages(session.key, [reply.message_id])
        parent = found.get(reply.message_id)
        if parent is None:
            return message
        return replace(message, reply=replace(reply, user_id=parent.message.author.id))

    async def task_messages(
        self,
        session: Session,
        play: Play,
        persona: Participant,
        template: BuildRequest,
        asker: Author | None,
    ) -> Sequence[Message] | None:
        """What people said of the task since it began, as far as a persona may see it, in order.

        None: the mode has no task. Nothing, where the message is gone that began it.

        Parameters
        ----------
        template : what the request says of the prompts.
        asker : who says something now; None: nobody.
        """
        begins = play.mode.task_begins_with(play.state)
        if begins is None:
            return None
        view = await self._builder.opening.views.view(session.key)
        if view is None:
            return ()
        first = view.row_of(begins) if begins else 0
        if first < 0:
            return ()
        eyes = replace(template, viewer_id=persona.id, self_ids=(persona.id,), asker=asker)
        view = withheld(view, viewer_of(eyes, session))
        of_session = [
            session_id == session.id and not audience for session_id, audience in view.scopes
        ]
        rows = [
            row
            for row in range(first, view.count)
            if view.kind.item(row) == AuthorKind.HUMAN
            and view.state.item(row) == 0
            and of_session[view.scope.item(row)]
        ]
        found = await self._reader.get_messages(
            session.key, [view.message_ids[row] for row in rows]
        )
        return [
            found[view.message_ids[row]].message for row in rows if view.message_ids[row] in found
        ]

    async def guard_of(self, session: Session, sender_id: str) -> LoopGuard:
        """How often each persona answered this sender of late."""
        now_ms = self._clock.now_ms()
        stored = await self._reader.records(session.key, LOOP, now_ms, owner=sender_id)
        return LoopGuard.of(sender_id, stored, session.effective_policy, now_ms)

    async def _guard_of(self, session: Session, message: Message | None) -> LoopGuard:
        """People are never held up."""
        if message is None or message.author.kind is AuthorKind.SYSTEM:
            return NO_GUARD
        author = message.author
        is_person = self.lookup_of(session).is_person(author.id, author.kind)
        return NO_GUARD if is_person else await self.guard_of(session, author.id)

    async def _rules_of(
        self, session: Session, play: Play, guard: LoopGuard, *, has_message: bool
    ) -> Rules:
        policy, traits = session.effective_policy, play.mode.traits
        waiting = play.waiting()
        unaddressed = policy.unaddressed or traits.unaddressed
        last_answered: tuple[str, ...] = ()
        failing: frozenset[str] = frozenset()
        if unaddressed is Unaddressed.LAST_HEALTHY:
            last_answered, failing = await self._health_of(session)
        return Rules(
            unaddressed if has_message else Unaddressed.NOBODY,
            traits.heeds_mentions,
            _role_ids(play, waiting, traits, has_message=has_message),
            policy.default_id,
            policy.preferred_ids,
            last_answered,
            failing,
            policy.max_targets or DEFAULT_MAX_TARGETS,
            guard.looped_ids,
        )

    async def _health_of(self, session: Session) -> tuple[tuple[str, ...], frozenset[str]]:
        """The personas that answered last, the latest first, and those whose last answer failed."""
        stored = await self._reader.newest_records(
            session.key, ROUND, session.id, self._clock.now_ms(), HEALTH_ROUNDS
        )
        last: dict[str, bool] = {}
        for record in stored:
            for step in reversed(round_of(record).steps):
                if step.status is not StepStatus.PENDING:
                    last.setdefault(step.target_id, step.status is not StepStatus.FAILED)
        return (
            tuple(id_ for id_, is_well in last.items() if is_well),
            frozenset(id_ for id_, is_well in last.items() if not is_well),
        )


def awaited_personas(play: Play, waiting: Waiting) -> tuple[str, ...]:
    """The personas among those whom the mode waits for: the first one only, unless all are asked at once."""
    personas = {one.id for one in play.table.seats if one.is_persona}
    ids = waiting.ids if waiting.in_parallel else waiting.ids[:1]
    return tuple(one for one in ids if one in personas)


def is_parallel(play: Play, policy: RoomPolicy) -> bool:
    """Whether those who answer one message do so at once."""
    if policy.sequential is not None:
        return not policy.sequential
    waiting = play.waiting()
    return play.mode.traits.in_parallel if waiting is None else waiting.in_parallel


def routing_of(text: str, routed: Routed) -> Routing:
    """What routing came to, with the text that prompts have."""
    return Routing(
        routed.targets,
        routed.ignored,
        routed.clean_text,
        routed.clean_text or text.strip(),
        routed.policy,
        routed.candidates,
    )


def joined_text(authors: Sequence[Author], texts: Sequence[str]) -> str:
    """What several messages say together; with names where more than one person wrote them."""
    if len({author.id for author in authors}) > 1:
        texts = [
            f"{author.name or author.id}: {text}"
            for author, text in zip(authors, texts, strict=True)
        ]
    return "\n".join(texts)


def _role_ids(
    play: Play, waiting: Waiting | None, traits: Traits, *, has_message: bool
) -> tuple[str, ...] | None:
    if waiting is None:
        return None if has_message else ()
    ids = awaited_personas(play, waiting)
    return None if not ids and traits.heeds_mentions and has_message else ids


def action_of(play: Play, message: Message) -> Action | None:
    """The move that a message makes; None: it is talk."""
    sender_id = message.author.id
    if not sender_id:
        return None
    action = play.mode.read_action(play.config, play.state, play.table, sender_id, message.text)
    return action if action is None else replace(action, message_id=message.id)


def _heard_by(routing: Routing, audience: Sequence[str]) -> Routing:
    """Without those who are not meant to hear it."""
    deaf = [one for one in routing.targets if one.id not in audience]
    ignored = tuple(
        Ignored("", IgnoredReason.UNAVAILABLE, one.id, one.start, one.end) for one in deaf
    )
    targets = tuple(one for one in routing.targets if one.id in audience)
    candidates = tuple(one for one in routing.candidates if one in audience)
    return Routing(
        targets,
        (*routing.ignored, *ignored),
        routing.clean_text,
        routing.user_text,
        routing.policy,
        candidates,
    )
