"""Finds sessions, and keeps those in mind that were asked for last. Builds ask for theirs before everything else."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

from backscroll_sidecar.domain import ChannelKey
from backscroll_sidecar.errors import InvalidRequest, NotAllowed, NotFound, Reason
from backscroll_sidecar.ports import SESSION, Applied, Clock, HistoryReader, StoredRecord
from backscroll_sidecar.sessions import records
from backscroll_sidecar.sessions.session import Session, Space

REMEMBERED = 4_096
"""Sessions, and ids that are none: some 2 kB each."""


class SessionDirectory:
    """Sessions by their ids; one of the writer's publishers. Safe from any task of one event loop.

    All methods raise `StoreUnavailable` where the store cannot be read.
    """

    def __init__(self, reader: HistoryReader, clock: Clock) -> None:
        self._reader = reader
        self._clock = clock
        self._known: OrderedDict[tuple[str, str], tuple[Session, ...]] = OrderedDict()
        """By tenant and id or alias: all that have it, those whose own id it is first."""
        self._changes = 0

    async def find(self, tenant: str, session_id: str) -> Session | None:
        """The session of this id or alias, in whatever space; None: there is none, or there are several."""
        found = await self.of_id(tenant, session_id)
        own = [one for one in found if one.id == session_id] or found
        homeless = [one for one in own if not one.space]
        chosen = homeless or own
        return chosen[0] if len(chosen) == 1 else None

    async def resolve(self, tenant: str, session_id: str, space: str = "") -> Session:
        """The session that a call means. An id wins over an alias, the space that is named over none.

        Raises
        ------
        NotFound
            There is none.
        NotAllowed
            There is one, in another space.
        InvalidRequest
            It is in several spaces and none is named.
        """
        found = await self.of_id(tenant, session_id)
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

    async def of_id(self, tenant: str, session_id: str) -> tuple[Session, ...]:
        """All sessions of this id or alias, those whose own id it is first."""
        known = self._known.get((tenant, session_id))
        if known is not None:
            self._known.move_to_end((tenant, session_id))
            return known
        changes = self._changes
        found = await self.read(tenant, session_id)
        if changes == self._changes:  # else what was read may be older than what was answered
            self._known[tenant, session_id] = found
            if len(self._known) > REMEMBERED:
                self._known.popitem(last=False)
        return found

    async def read(self, tenant: str, session_id: str) -> tuple[Session, ...]:
        """The same from the store."""
        now_ms = self._clock.now_ms()
        stored = list(await self._reader.records_of_owner(tenant, SESSION, session_id, now_ms))
        for alias in await self._reader.records_of_owner(tenant, records.ALIAS, session_id, now_ms):
            owner = alias.body.decode()
            if owner == session_id:
                continue
            of_owner = await self._reader.records_of_owner(tenant, SESSION, owner, now_ms)
            stored += [
                one for one in of_owner if (one.channel, one.id) == (alias.channel, alias.id)
            ]
        return tuple([await self.whole(tenant, one) for one in stored])

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
        found = await self._reader.records_of_owner(tenant, records.SPACE, slug, now_ms)
        return records.space_of(found[0]) if found else None

    def publish(self, key: ChannelKey, applied: Applied) -> None:
        """Forget what changed."""
        changed = [one for one in applied.records if one.kind in records.KINDS]
        if not changed and not applied.is_erasure:
            return
        self._changes += 1
        if applied.is_erasure or any(one.kind == records.SPACE for one in changed):
            for name in [name for name in self._known if name[0] == key.tenant]:
                del self._known[name]
            return
        for one in changed:
            self._forget(key.tenant, one.owner)

    def _forget(self, tenant: str, session_id: str) -> None:
        for session in self._known.pop((tenant, session_id), ()):
            for alias in session.aliases:
                self._known.pop((tenant, alias), None)
