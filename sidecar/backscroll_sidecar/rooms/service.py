"""Keeps sessions: begins, reads, lists, changes and deletes them."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager

import msgspec
from msgspec.structs import replace

from backscroll_sidecar.allowed_channels import AllowedChannels, is_allowed
from backscroll_sidecar.concurrency.locks import Locks
from backscroll_sidecar.domain import AuthorKind, ChannelKey, Member
from backscroll_sidecar.errors import (
    Conflict,
    InvalidRequest,
    NotAllowed,
    NotFound,
    Reason,
)
from backscroll_sidecar.history.service import HistoryService
from backscroll_sidecar.history.writer import Writer
from backscroll_sidecar.ports import (
    SESSION,
    AppendChange,
    CatchUp,
    Clock,
    HistoryReader,
    RecordChange,
    StoredRecord,
    nothing_to_catch_up,
)
from backscroll_sidecar.rooms.checks import check_allowed, check_names, checked_state, stale_state
from backscroll_sidecar.rooms.drafts import (
    SessionDraft,
    SessionEdit,
    SessionRef,
    channel_of,
    session_of,
)
from backscroll_sidecar.rooms.round_record import MOVE, ROUND
from backscroll_sidecar.rooms.tables import seed_of, table_of
from backscroll_sidecar.sessions import records
from backscroll_sidecar.sessions.directory import SessionDirectory
from backscroll_sidecar.sessions.modes.registry import (
    Modes,
    begun,
    checked,
    config_of,
    encoded,
    state_of,
)
from backscroll_sidecar.sessions.participants import (
    MAX_ALIASES,
    Participant,
    ParticipantKind,
)
from backscroll_sidecar.sessions.session import (
    Session,
    SessionStatus,
    Space,
)
from backscroll_sidecar.summaries.compaction import Conversation
from backscroll_sidecar.summaries.summary import SUMMARY


class SessionService:
    """Keeps sessions. Safe from any task of one event loop; raises typed errors only."""

    def __init__(
        self,
        reader: HistoryReader,
        writer: Writer,
        history: HistoryService,
        directory: SessionDirectory,
        modes: Modes,
        clock: Clock,
        locks: Locks,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._history = history
        self._directory = directory
        self.modes = modes
        self._clock = clock
        self._tenants: Callable[[], Iterable[str]] = tuple
        self._catch_up: CatchUp = nothing_to_catch_up
        self._locks = locks

    async def get(self, tenant: str, ref: SessionRef) -> Session:
        """The session that a call means, as it stands.

        Raises
        ------
        NotFound
            There is none.
        NotAllowed
            It is another tenant's, or in another space or project, or another owner's.
        """
        if not ref.session_id:
            raise InvalidRequest(
                "session.session_id is empty",
                field="session.session_id",
                reason=Reason.MISSING_FIELD,
            )
        try:
            session = await self._directory.resolve(tenant, ref.session_id, ref.space, ref.allowed)
        except NotFound:
            if await self._is_of_another(tenant, ref.session_id):
                raise NotAllowed(
                    "the session is another tenant's", field="session.session_id"
                ) from None
            raise
        for name in ("project_id", "owner_id"):
            asked, has = getattr(ref, name), getattr(session, name)
            if asked and has and asked != has:
                raise NotAllowed(f"the session has another {name}", field=f"session.{name}")
        await self._catch_up(tenant, [session.key.channel])
        return session

    async def _is_of_another(self, tenant: str, session_id: str) -> bool:
        for other in self._tenants():
            if other != tenant and await self._directory.of_id(other, session_id):
                return True
        return False

    async def fresh(self, tenant: str, ref: SessionRef) -> Session:
        """The same as the store has it now: also when it got its last message."""
        session = await self.get(tenant, ref)
        found = await self._directory.read(tenant, session.id)
        return next((one for one in found if one.space == session.space), session)

    async def list(
        self,
        tenant: str,
        limit: int,
        *,
        before: tuple[int, int] | None = None,
        space: str | None = None,
        channel: str = "",
        owner_id: str = "",
        include_archived: bool = False,
        allowed: AllowedChannels | None = None,
    ) -> tuple[Sequence[Session], tuple[int, int] | None]:
        """Sessions without participants, the newest first; and where the next page begins, None: nowhere."""
        found: list[Session] = []
        while len(found) < limit:
            page = await self._reader.updated_records(
                tenant,
                SESSION,
                self._clock.now_ms(),
                limit + 1,
                before=before,
                channel=channel or None,
                id=space,
            )
            for place, stored in enumerate(page):
                before = (stored.updated_at_ms, stored.number)
                if not is_allowed(stored.channel, allowed):
                    continue
                session = await self._listed(tenant, stored)
                is_listed = include_archived or session.status is not SessionStatus.ARCHIVED
                if is_listed and owner_id in ("", session.owner_id):
                    found.append(session)
                if len(found) == limit:
                    return found, before if place + 1 < len(page) else None
            if len(page) <= limit:
                return found, None
        return found, before

    async def _listed(self, tenant: str, stored: StoredRecord) -> Session:
        key = ChannelKey(tenant, stored.channel)
        state = await self._reader.record(
            key, records.STATE, stored.owner, "", self._clock.now_ms()
        )
        return records.session_of(tenant, stored, (), state, None)

    async def create(
        self,
        tenant: str,
        draft: SessionDraft,
        deadline_s: float | None = None,
        allowed: AllowedChannels | None = None,
    ) -> tuple[Session, bool]:
        """Begin a session; the one that is there where everything given is the same. Whether it is new.

        Raises
        ------
        NotAllowed
            Its channel is none of those allowed.
        Conflict
            Another session has the id, or one of the aliases.
        InvalidRequest
            The mode, its configuration or the participants are wrong.
        """
        made_of = hashlib.blake2b(msgspec.json.encode(draft), digest_size=12).hexdigest()
        id_ = draft.id or secrets.token_hex(16)
        check_allowed(draft.channel or channel_of(draft.space, id_), allowed, "session.channel")
        async with self._locks.hold(tenant, "session", id_):
            known = await self._directory.of_id(tenant, id_)
            same = await self.own(tenant, id_, draft.space)
            if same is not None:
                if same.made_of != made_of:
                    raise Conflict("another session has this id", field="session.session_id")
                return same, False
            session = await self._draft_of(tenant, id_, draft)
            if any((one.id, one.key) == (id_, session.key) for one in known):
                raise Conflict(
                    "the channel has a session of this id in another space",
                    field="session.session_id",
                )
            at_ms = session.created_at_ms
            changes = [records.session_change(session, made_of, at_ms, 0)]
            changes += [records.alias_change(session, one, at_ms) for one in session.aliases]
            changes += [
                records.participant_change(session, one, at_ms) for one in session.participants
            ]
            states, log_id = records.state_changes(
                replace(session, state_version=0),
                session.mode_state_json,
                event=records.TAKEN_OVER if draft.mode_state_json else records.BEGUN,
                actor_id="",
                at_ms=at_ms,
            )
            async with self._naming(tenant, session.aliases):
                await self._check_aliases(session, session.aliases)
                await self.keep(session.key, (*changes, *states), deadline_s)
            await self.tell_members(session, session.participants)
            return replace(session, log_id=log_id, made_of=made_of), True

    async def _draft_of(self, tenant: str, id_: str, draft: SessionDraft) -> Session:
        space = await self._directory.space(tenant, draft.space) if draft.space else None
        space = space or Space(draft.space)
        session = session_of(tenant, id_, draft, space, self._clock.now_ms())
        check_names(session.participants)
        if draft.project_id and space.project_id and draft.project_id != space.project_id:
            raise NotAllowed("the space has another project_id", field="session.project_id")
        state_json = self.first_state(session, draft.mode_state_json)
        return replace(session, mode_state_json=state_json)

    async def drafted(self, tenant: str, draft: SessionDraft) -> Session:
        """The session that `create` would begin; nothing is kept. Raises what that raises."""
        session = await self._draft_of(tenant, draft.id, draft)
        await self._check_aliases(session, session.aliases)
        return session

    async def own(self, tenant: str, session_id: str, space: str) -> Session | None:
        """The session of this space that has the id as its own; None: there is none."""
        found = await self._directory.of_id(tenant, session_id)
        return next((one for one in found if (one.id, one.space) == (session_id, space)), None)

    def know_tenants(self, tenants: Callable[[], Iterable[str]]) -> None:
        """Who tells all tenants there are: a session of another one is refused by name."""
        self._tenants = tenants

    def follow(self, catch_up: CatchUp) -> None:
        """Bring caches up to what other servers wrote to the channel of each session that is found."""
        self._catch_up = catch_up

    def first_state(self, session: Session, given_json: str = "") -> str:
        """The state that its mode begins with: the one given, else the mode's own. Raises `InvalidRequest`."""
        mode = self.modes.find(session.mode)
        config = config_of(mode, session.role_config_json)
        table = table_of(session)
        if given_json:
            state = checked(mode, config, state_of(mode, given_json), table)
        else:
            state = begun(mode, config, table, seed_of(session))
        return checked_state(encoded(state))

    async def update(
        self, tenant: str, ref: SessionRef, edit: SessionEdit, deadline_s: float | None = None
    ) -> Session:
        """Change what is given.

        Raises
        ------
        Conflict
            The session has another state than expected, or an alias is taken.
        """
        async with self.locked(tenant, ref.session_id, ref.space):
            session = await self.get(tenant, ref)
            expected = edit.expected_state_version
            if expected is not None and expected != session.state_version:
                raise stale_state(session)
            at_ms = self._clock.now_ms()
            fields = {
                name: value
                for name in ("title", "status", "policy")
                if (value := getattr(edit, name)) is not None
            }
            more = tuple(
                one for one in dict.fromkeys(edit.add_aliases) if one not in session.aliases
            )
            after = replace(session, aliases=(*session.aliases, *more), **fields)
            changes: list[RecordChange] = []
            if fields or more:
                changes.append(
                    records.session_change(after, session.made_of, at_ms, session.version)
                )
            changes += [records.alias_change(session, one, at_ms) for one in more]
            changes += self._new_state(after, edit, at_ms)
            async with self._naming(tenant, more):
                await self._check_aliases(after, more)
                await self.keep(session.key, changes, deadline_s)
        return await self.fresh(tenant, ref)

    def _new_state(self, session: Session, edit: SessionEdit, at_ms: int) -> Sequence[RecordChange]:
        """What replaces mode and state, where the edit says so."""
        if edit.mode is not None or edit.role_config_json is not None:
            mode = edit.mode or session.mode
            is_same = mode == session.mode
            usual = session.role_config_json if is_same else "{}"
            config = usual if edit.role_config_json is None else edit.role_config_json
            after = replace(session, mode=mode, role_config_json=config or "{}")
            first = self.first_state(after)
            made, _ = records.state_changes(
                after, first, event=records.MODE_BEGUN, actor_id="", at_ms=at_ms
            )
            return made
        if edit.mode_state_json is None:
            return ()
        given = self.first_state(session, edit.mode_state_json or "{}")
        made, _ = records.state_changes(session, given, event="set", actor_id="", at_ms=at_ms)
        return made

    async def delete(
        self, tenant: str, ref: SessionRef, *, erase_messages: bool
    ) -> tuple[bool, int]:
        """Delete a session; whether it was there, and how many messages were erased."""
        async with self.locked(tenant, ref.session_id, ref.space):
            try:
                session = await self.get(tenant, ref)
            except NotFound:
                return False, 0
            erased = 0
            if erase_messages:
                erased = await self._erase_messages(session)
            at_ms = self._clock.now_ms()
            owned = dict.fromkeys(
                (records.PARTICIPANT, records.STATE, records.STATE_LOG, ROUND, MOVE), session.id
            )
            owned[SUMMARY] = Conversation(session.key, session_id=session.id).owner
            changes = [
                RecordChange(session.key, kind, "", None, at_ms=at_ms, owner=owner)
                for kind, owner in owned.items()
            ]
            gone = RecordChange(
                session.key, SESSION, session.space, None, at_ms=at_ms, owner=session.id
            )
            aliases = [
                RecordChange(
                    session.key, records.ALIAS, session.space, None, at_ms=at_ms, owner=one
                )
                for one in session.aliases
            ]
            # A record without an id names all of its owner: a channel has one session of an id.
            await self.keep(session.key, (gone, *aliases, *changes))
            return True, erased

    async def _erase_messages(self, session: Session) -> int:
        ids = [
            one.message.id
            async for one in self._reader.export(session.key)
            if one.message.session_id == session.id
        ]
        count = 0
        for start in range(0, len(ids), 500):
            receipt = await self._history.erase(session.key, message_ids=ids[start : start + 500])
            count += receipt.counts.get("messages", 0)
        return count

    async def tell_members(self, session: Session, participants: Sequence[Participant]) -> None:
        """Let the history know them, so that a text that names one of them is found to do so."""
        members = [
            Member(
                one.id,
                one.name,
                tuple(name for name in (one.nickname, *one.aliases) if name),
                AuthorKind.HUMAN if one.kind is ParticipantKind.HUMAN else AuthorKind.BOT,
            )
            for one in participants
        ]
        await self._history.upsert_members(session.key, members)

    async def log_of(self, session: Session) -> Sequence[records.LoggedState]:
        """All of the log of states, the newest first."""
        now_ms = self._clock.now_ms()
        stored = await self._reader.newest_records(
            session.key, records.STATE_LOG, session.id, now_ms, records.KEPT_STATES + 1
        )
        return [records.logged_state_of(one) for one in stored]

    async def keep(
        self, key: ChannelKey, changes: Sequence[RecordChange], deadline_s: float | None = None
    ) -> None:
        """Make changes of records, all or none. Raises `Conflict` where one was changed meanwhile."""
        if changes:
            change = AppendChange(key, (), (), (), self._clock.now_ms(), records=tuple(changes))
            await self._writer.submit(change, deadline_s)

    @asynccontextmanager
    async def locked(self, tenant: str, session_id: str, space: str = "") -> AsyncIterator[None]:
        """Only one at a time changes a session, by whichever of its names it is called."""
        try:
            id_ = (await self._directory.resolve(tenant, session_id, space)).id
        except (NotFound, NotAllowed, InvalidRequest):  # `get` says what is wrong
            id_ = session_id
        async with self._locks.hold(tenant, "session", id_):
            yield

    @asynccontextmanager
    async def _naming(self, tenant: str, aliases: Sequence[str]) -> AsyncIterator[None]:
        """Only one at a time gives out aliases: records of two channels do not stand in each other's way."""
        if not aliases:
            yield
            return
        async with self._locks.hold(tenant, "session aliases"):
            yield

    async def _check_aliases(self, session: Session, aliases: Sequence[str]) -> None:
        if len(session.aliases) > MAX_ALIASES:
            raise InvalidRequest(
                f"a session has at most {MAX_ALIASES} aliases",
                field="session.aliases",
                reason=Reason.TOO_LARGE,
            )
        for alias in aliases:
            others = await self._directory.of_id(session.key.tenant, alias)
            if any(
                alias in one.aliases and (one.id, one.space) != (session.id, session.space)
                for one in others
            ):
                raise Conflict("another session has this alias", field="session.aliases")
