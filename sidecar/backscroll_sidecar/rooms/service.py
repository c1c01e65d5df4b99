"""Keeps sessions and spaces: begins, reads, lists, changes and deletes them, and who takes part in them."""

from __future__ import annotations

import asyncio
import hashlib
import secrets
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

import msgspec
from msgspec.structs import replace

from backscroll_sidecar.domain import AuthorKind, ChannelKey, Member
from backscroll_sidecar.errors import (
    Conflict,
    FailedPrecondition,
    InvalidRequest,
    NotAllowed,
    NotFound,
    Reason,
)
from backscroll_sidecar.history.service import HistoryService
from backscroll_sidecar.history.writer import Writer
from backscroll_sidecar.ports import (
    EVERYWHERE,
    SESSION,
    AppendChange,
    Clock,
    HistoryReader,
    RecordChange,
    StoredRecord,
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
    MAX_PARTICIPANTS,
    Participant,
    ParticipantKind,
    Presence,
    name_clash,
)
from backscroll_sidecar.sessions.session import (
    FREE_CHAT,
    MAX_STATE_BYTES,
    ForkOrigin,
    RoomPolicy,
    Session,
    SessionStatus,
    Space,
    with_participants,
)
from backscroll_sidecar.summaries.compaction import Conversation
from backscroll_sidecar.summaries.summary import SUMMARY

MAX_CHANNEL_BYTES = 400
"""Of a channel named after its session; a longer name is replaced by its digest."""


class SessionRef(msgspec.Struct, frozen=True):
    """What a call says of the session it means."""

    session_id: str = ""
    space: str = ""
    project_id: str = ""
    owner_id: str = ""


class SessionDraft(msgspec.Struct, frozen=True):
    """What a session is to begin with; empty and None: the space's, else the usual.

    `is_complete`: its participants are all there are, and none of the space's are added.
    """

    id: str = ""
    space: str = ""
    project_id: str = ""
    owner_id: str = ""
    channel: str = ""
    aliases: tuple[str, ...] = ()
    title: str = ""
    parent_id: str = ""
    mode: str = ""
    role_config_json: str = ""
    policy: RoomPolicy = RoomPolicy()
    participants: tuple[Participant, ...] = ()
    status: SessionStatus = SessionStatus.ACTIVE
    mode_state_json: str = ""
    forked_from: ForkOrigin | None = None
    is_complete: bool = False


class SessionEdit(msgspec.Struct, frozen=True):
    """What is to change of a session; None: nothing."""

    title: str | None = None
    mode: str | None = None
    role_config_json: str | None = None
    status: SessionStatus | None = None
    policy: RoomPolicy | None = None
    mode_state_json: str | None = None
    expected_state_version: int | None = None
    add_aliases: tuple[str, ...] = ()


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
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._history = history
        self._directory = directory
        self.modes = modes
        self._clock = clock
        self._tenants: tuple[str, ...] = ()
        self._locks: WeakValueDictionary[tuple[str, ...], asyncio.Lock] = WeakValueDictionary()

    # --- spaces ------------------------------------------------------------------------------------

    async def put_space(self, tenant: str, space: Space, deadline_s: float | None = None) -> Space:
        """Keep a space."""
        if any(one.kind is ParticipantKind.HUMAN for one in space.participants):
            raise InvalidRequest(
                "a space has personas and bots: people take part in its sessions",
                field="space.participants",
            )
        check_names(space.participants)
        mode = self.modes.find(space.mode, "space.mode")
        if space.role_config_json:
            config_of(mode, space.role_config_json)
        change = records.space_change(tenant, space, self._clock.now_ms())
        await self._writer.submit(change, deadline_s)
        return space

    async def get_space(self, tenant: str, slug: str) -> Space:
        """The space of this slug. Raises `NotFound`."""
        found = await self._directory.space(tenant, slug)
        if found is None:
            raise NotFound("no space has this slug", field="slug", reason=Reason.SPACE_NOT_FOUND)
        return found

    async def list_spaces(
        self, tenant: str, after: str, limit: int
    ) -> tuple[Sequence[Space], bool]:
        """The first spaces behind `after`, by slug, and whether there are more."""
        slugs = await self._reader.record_owners(tenant, records.SPACE, after or None, limit + 1)
        found = [await self._directory.space(tenant, slug) for slug in slugs[:limit]]
        return [one for one in found if one is not None], len(slugs) > limit

    async def delete_space(self, tenant: str, slug: str) -> None:
        """Delete a space."""
        key = ChannelKey(tenant, EVERYWHERE)
        at_ms = self._clock.now_ms()
        await self._writer.submit(
            RecordChange(key, records.SPACE, "", None, at_ms=at_ms, owner=slug)
        )

    # --- sessions ----------------------------------------------------------------------------------

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
            session = await self._directory.resolve(tenant, ref.session_id, ref.space)
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
        return session

    async def _is_of_another(self, tenant: str, session_id: str) -> bool:
        for other in self._tenants:
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
                session = await self._listed(tenant, stored)
                before = (stored.updated_at_ms, stored.number)
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
        self, tenant: str, draft: SessionDraft, deadline_s: float | None = None
    ) -> tuple[Session, bool]:
        """Begin a session; the one that is there where everything given is the same. Whether it is new.

        Raises
        ------
        Conflict
            Another session has the id, or one of the aliases.
        InvalidRequest
            The mode, its configuration or the participants are wrong.
        """
        made_of = hashlib.blake2b(msgspec.json.encode(draft), digest_size=12).hexdigest()
        id_ = draft.id or secrets.token_hex(16)
        async with self._lock(tenant, id_):
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
        mode_name = draft.mode or space.mode or FREE_CHAT
        config_json = draft.role_config_json
        if not config_json and mode_name == space.mode:
            config_json = space.role_config_json
        participants = draft.participants
        if not draft.is_complete:
            participants = with_participants(space.participants, participants)
        check_names(participants)
        now_ms = self._clock.now_ms()
        session = Session(
            ChannelKey(tenant, draft.channel or channel_of(draft.space, id_)),
            id_,
            draft.space,
            draft.project_id or space.project_id,
            draft.owner_id,
            tuple(dict.fromkeys(draft.aliases)),
            draft.title,
            draft.parent_id,
            mode_name,
            config_json or "{}",
            status=draft.status,
            policy=draft.policy,
            space_policy=space.policy,
            participants=participants,
            forked_from=draft.forked_from,
            created_at_ms=now_ms,
            updated_at_ms=now_ms,
        )
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

    def know_tenants(self, tenants: Iterable[str]) -> None:
        """All tenants there are: a session of another one is refused by name."""
        self._tenants = tuple(tenants)

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

    # --- participants ------------------------------------------------------------------------------

    async def put_participants(
        self, tenant: str, ref: SessionRef, given: Sequence[Participant]
    ) -> tuple[Participant, ...]:
        """Add participants or replace those of the same id; who is new, or back, takes part from now on."""
        async with self.locked(tenant, ref.session_id, ref.space):
            session = await self.get(tenant, ref)
            info = await self._reader.channel_info(session.key)
            here = Presence(after_seq=info.last_seq if info else 0)
            changed: list[Participant] = []
            for one in given:
                before = session.participant(one.id)
                if one.presences:
                    changed.append(one)
                elif before is None:
                    changed.append(replace(one, presences=(here,)))
                elif before.is_present:
                    changed.append(replace(one, presences=before.presences))
                else:
                    changed.append(replace(one, presences=(*before.presences, here)))
            after = with_participants(session.participants, changed)
            check_names(after)
            at_ms = self._clock.now_ms()
            changes = [records.participant_change(session, one, at_ms) for one in changed]
            if changes:  # whoever changed the session meanwhile may have given one of the names
                made_of, version = session.made_of, session.version
                changes.append(records.session_change(session, made_of, at_ms, version))
            await self.keep(session.key, changes)
            await self.tell_members(session, changed)
            return after

    async def remove_participants(
        self,
        tenant: str,
        ref: SessionRef,
        ids: Sequence[str],
        left_at_ms: int | None = None,
        *,
        forget: bool = False,
    ) -> tuple[Participant, ...]:
        """Let participants leave; those who are none, or have left, are no error."""
        async with self.locked(tenant, ref.session_id, ref.space):
            session = await self.get(tenant, ref)
            info = await self._reader.channel_info(session.key)
            last_seq = info.last_seq if info else 0
            at_ms = self._clock.now_ms()
            leaving = [one for one in session.participants if one.id in ids]
            if forget:
                changes = [records.forgotten_change(session, one.id, at_ms) for one in leaving]
                await self.keep(session.key, changes)
                return tuple(one for one in session.participants if one.id not in ids)
            left = [_left(one, last_seq, left_at_ms) for one in leaving if one.is_present]
            await self.keep(
                session.key, [records.participant_change(session, one, at_ms) for one in left]
            )
            return with_participants(session.participants, left)

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

    # --- what the parts of a room share ------------------------------------------------------------

    async def states(
        self, tenant: str, ref: SessionRef, limit: int, before: int | None
    ) -> tuple[Sequence[records.LoggedState], int | None]:
        """The log of states, the newest first; and where the next page begins, None: nowhere."""
        entries = await self.log_of(await self.get(tenant, ref))
        if before is not None:
            entries = [one for one in entries if one.state_version < before]
        page = entries[:limit]
        return page, page[-1].state_version if len(entries) > limit else None

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
        async with self._lock(tenant, id_):
            yield

    @asynccontextmanager
    async def _naming(self, tenant: str, aliases: Sequence[str]) -> AsyncIterator[None]:
        """Only one at a time gives out aliases: records of two channels do not stand in each other's way."""
        if not aliases:
            yield
            return
        async with self._lock(tenant):
            yield

    def _lock(self, *name: str) -> asyncio.Lock:
        return self._locks.setdefault(name, asyncio.Lock())

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


def check_names(participants: Sequence[Participant]) -> None:
    """Raise `InvalidRequest` where there are too many, or two have one name."""
    if len(participants) > MAX_PARTICIPANTS:
        raise InvalidRequest(
            f"at most {MAX_PARTICIPANTS} take part",
            field="participants",
            reason=Reason.TOO_LARGE,
        )
    clash = name_clash(participants)
    if clash is not None:
        name, first, second = clash
        raise InvalidRequest(
            f"{first} and {second} are both called {name}",
            field="participants",
            reason=Reason.NAME_TAKEN,
            metadata={"name": name, "participant_id": first, "other_id": second},
        )


def checked_state(mode_state_json: str) -> str:
    """The state, if it is not too large. Raises `InvalidRequest`."""
    if len(mode_state_json.encode()) > MAX_STATE_BYTES:
        raise InvalidRequest(
            f"mode_state is larger than {MAX_STATE_BYTES} bytes",
            field="mode_state_json",
            reason=Reason.TOO_LARGE,
        )
    return mode_state_json


def stale_state(session: Session) -> Conflict:
    """The error for a call that expects another state."""
    return Conflict(
        f"state_version is {session.state_version}: read the session again",
        field="expected_state_version",
    )


def check_active(session: Session) -> None:
    """Raise `FailedPrecondition` for a session that takes no rounds and moves."""
    if not session.is_active:
        raise FailedPrecondition(
            "the session is sealed or archived",
            field="session.session_id",
            reason=Reason.SESSION_CLOSED,
        )


def channel_of(space: str, session_id: str) -> str:
    """The channel of a session that has none: named after it."""
    parts = [one.replace("%", "%25").replace("/", "%2F") for one in (space, session_id) if one]
    name = "/".join(("session", *parts))
    if len(name.encode()) > MAX_CHANNEL_BYTES:
        name = f"session/{hashlib.blake2b(name.encode(), digest_size=20).hexdigest()}"
    return name


def _left(one: Participant, last_seq: int, left_at_ms: int | None) -> Participant:
    """The participant, who leaves now or then."""
    last = one.presences[-1] if one.presences else Presence()
    over = (
        replace(last, until_seq=last_seq)
        if left_at_ms is None
        else replace(last, left_at_ms=left_at_ms)
    )
    return replace(one, presences=(*one.presences[:-1], over))
