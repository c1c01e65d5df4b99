"""Finds sessions, and keeps those in mind that were asked for last. Builds ask for theirs before everything else."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import NamedTuple, TypeVar

from backscroll_sidecar.allowed_channels import AllowedChannels, is_allowed
from backscroll_sidecar.domain import ChannelKey
from backscroll_sidecar.errors import InvalidRequest, NotAllowed, NotFound, Reason
from backscroll_sidecar.ports import SESSION, SPACE, Applied, Clock, HistoryReader, StoredRecord
from backscroll_sidecar.sessions import records
from backscroll_sidecar.sessions.kept import Kept
from backscroll_sidecar.sessions.participants import size_of_names
from backscroll_sidecar.sessions.session import RoomPolicy, Session, Space

REMEMBERED, REMEMBERED_SIZE = 4_096, 32_000_000
"""Sessions, and ids that are none: some 2 kB each. As many aliases. And characters of all of them."""
T = TypeVar("T")


class Aliased(NamedTuple):
    """Whose an alias is."""

    session_id: str
    channel: str
    space: str


class SessionDirectory:
    """Sessions by their ids; one of the writer's publishers. Safe from any task of one event loop.

    All methods raise `StoreUnavailable` where the store cannot be read.
    """

    def __init__(self, reader: HistoryReader, clock: Clock) -> None:
        self._reader = reader
        self._clock = clock
        self._known: Kept[tuple[str, str], tuple[Session, ...]] = Kept(
            REMEMBERED, REMEMBERED_SIZE, _size_of_sessions
        )
        """By tenant and id: all that have it as their own."""
        self._aliased: Kept[tuple[str, str], tuple[Aliased, ...]] = Kept(
            REMEMBERED, REMEMBERED_SIZE, lambda found: 200 + 500 * len(found)
        )
        """By tenant and alias: whose it is."""
        self._changes = 0

    async def find(
        self,
        tenant: str,
        session_id: str,
        channel: str = "",
        allowed: AllowedChannels | None = None,
    ) -> Session | None:
        """The session of this id or alias in the channel, else in whatever allowed one; None: there is none.

        Raises
        ------
        InvalidRequest
            Several have it, and neither the channel nor a missing space tells which one is meant.
        """
        found = await self._allowed(tenant, session_id, allowed)
        here = [one for one in found if one.key.channel == channel]
        for some in (here, found):
            own = [one for one in some if one.id == session_id] or some
            chosen = [one for one in own if not one.space] or own
            if len(chosen) == 1:
                return chosen[0]
            if chosen:
                raise InvalidRequest("several spaces have a session of this id", field="session_id")
        return None

    async def resolve(
        self,
        tenant: str,
        session_id: str,
        space: str = "",
        allowed: AllowedChannels | None = None,
    ) -> Session:
        """The session that a call means. An id wins over an alias, the space that is named over none.

        One in a channel that is not allowed is as good as none.

        Raises
        ------
        NotFound
            There is none.
        NotAllowed
            There is one, in another space.
        InvalidRequest
            It is in several spaces and none is named.
        """
        found = await self._allowed(tenant, session_id, allowed)
        own = [one for one in found if one.id == session_id]
        for some in (own, [one for one in found if one.id != session_id]):
            here = [one for one in some if one.space == space] or [
                one for one in some if not space or not one.space
            ]
            if len(here) > 1:
                raise InvalidRequest(
                    "several spaces have a session of this id", field="session.space"
                )
            if here:
                return here[0]
        if found:
            raise NotAllowed("the session is in another space", field="session.space")
        raise NotFound(
            "no session has this id",
            field="session.session_id",
            reason=Reason.SESSION_NOT_FOUND,
        )

    async def _allowed(
        self, tenant: str, session_id: str, allowed: AllowedChannels | None
    ) -> Sequence[Session]:
        found = await self.of_id(tenant, session_id)
        if allowed is None:
            return found
        return [one for one in found if is_allowed(one.key.channel, allowed)]

    async def of_id(self, tenant: str, session_id: str) -> tuple[Session, ...]:
        """All sessions of this id or alias, those whose own id it is first."""
        name = (tenant, session_id)
        own = await self._kept(self._known, name, self.read)
        aliased = await self._kept(self._aliased, name, self._read_aliased)
        if not aliased:
            return own
        return (*own, *await self._of_aliases(tenant, session_id, aliased))

    async def _of_aliases(
        self, tenant: str, alias: str, aliased: Iterable[Aliased]
    ) -> list[Session]:
        found = []
        for one in aliased:
            if one.session_id == alias:
                continue
            of_owner = await self._kept(self._known, (tenant, one.session_id), self.read)
            found += [
                session
                for session in of_owner
                if (session.key.channel, session.space) == (one.channel, one.space)
            ]
        return found

    async def _kept(
        self,
        kept: Kept[tuple[str, str], tuple[T, ...]],
        name: tuple[str, str],
        read: Callable[[str, str], Awaitable[tuple[T, ...]]],
    ) -> tuple[T, ...]:
        """What is kept of a name, else what is read."""
        known = kept.get(name)
        if known is not None:
            return known
        changes = self._changes
        found = await read(*name)
        if changes == self._changes:  # else what was read may be older than what was answered
            kept.put(name, found)
        return found

    async def read(self, tenant: str, session_id: str) -> tuple[Session, ...]:
        """The sessions whose own id it is, from the store."""
        now_ms = self._clock.now_ms()
        stored = await self._reader.records_of_owner(tenant, SESSION, session_id, now_ms)
        return tuple([await self.whole(tenant, one) for one in stored])

    async def _read_aliased(self, tenant: str, alias: str) -> tuple[Aliased, ...]:
        now_ms = self._clock.now_ms()
        stored = await self._reader.records_of_owner(tenant, records.ALIAS, alias, now_ms)
        return tuple([Aliased(one.body.decode(), one.channel, one.id) for one in stored])

    async def whole(self, tenant: str, stored: StoredRecord) -> Session:
        """A session of its record, with its participants and its state."""
        key, now_ms = ChannelKey(tenant, stored.channel), self._clock.now_ms()
        participants = await self._reader.records(
            key, records.PARTICIPANT, now_ms, owner=stored.owner
        )
        states: Sequence[StoredRecord] = await self._reader.records(
            key, records.STATE, now_ms, owner=stored.owner
        )
        space = await self.space(tenant, stored.id) if stored.id else None
        state = states[0] if states else None
        return records.session_of(tenant, stored, participants, state, space)

    async def space(self, tenant: str, slug: str) -> Space | None:
        """The space of this slug; None: there is none."""
        now_ms = self._clock.now_ms()
        found = await self._reader.records_of_owner(tenant, SPACE, slug, now_ms)
        return records.space_of(found[0]) if found else None

    def publish(self, key: ChannelKey, applied: Applied) -> None:
        """Forget what changed."""
        changed = [one for one in applied.records if one.kind in records.KINDS]
        if not changed and not applied.is_erasure:
            return
        self._changes += 1
        if applied.is_erasure or any(one.kind == SPACE for one in changed):
            self._known.drop_where(lambda name: name[0] == key.tenant)
            self._aliased.drop_where(lambda name: name[0] == key.tenant)
            return
        for one in changed:
            self._known.drop((key.tenant, one.owner))
            self._aliased.drop((key.tenant, one.owner))


def _size_of_sessions(sessions: Sequence[Session]) -> int:
    """About as many characters as they hold."""
    return sum(
        1_000
        + len(one.mode_state_json)
        + len(one.role_config_json)
        + sum(map(_size_of_policy, (one.policy, one.space_policy)))
        + sum(100 + len(alias) for alias in one.aliases)
        + size_of_names(one.participants)
        + sum(
            len(each.persona) + len(each.summary) + 100 * len(each.presences)
            for each in one.participants
        )
        for one in sessions
    )


def _size_of_policy(policy: RoomPolicy) -> int:
    return len(policy.prompt) + 100 * len(policy.allowed_author_ids) + len(policy.profile)
