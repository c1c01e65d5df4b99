"""Lets participants join a session and leave it."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from backscroll_sidecar.ports import Clock, HistoryReader
from backscroll_sidecar.rooms.checks import check_names
from backscroll_sidecar.rooms.drafts import SessionRef
from backscroll_sidecar.rooms.service import SessionService
from backscroll_sidecar.sessions import records
from backscroll_sidecar.sessions.participants import Participant, Presence
from backscroll_sidecar.sessions.session import with_participants


class Participation:
    """Changes who takes part. Safe from any task of one event loop; raises typed errors only."""

    def __init__(self, sessions: SessionService, reader: HistoryReader, clock: Clock) -> None:
        self._sessions = sessions
        self._reader = reader
        self._clock = clock

    async def put(
        self, tenant: str, ref: SessionRef, given: Sequence[Participant]
    ) -> tuple[Participant, ...]:
        """Add participants or replace those of the same id; who is new, or back, takes part from now on."""
        async with self._sessions.locked(tenant, ref.session_id, ref.space):
            session = await self._sessions.get(tenant, ref)
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
            await self._sessions.keep(session.key, changes)
            await self._sessions.tell_members(session, changed)
            return after

    async def remove(
        self,
        tenant: str,
        ref: SessionRef,
        ids: Sequence[str],
        left_at_ms: int | None = None,
        *,
        forget: bool = False,
    ) -> tuple[Participant, ...]:
        """Let participants leave; those who are none, or have left, are no error."""
        async with self._sessions.locked(tenant, ref.session_id, ref.space):
            session = await self._sessions.get(tenant, ref)
            info = await self._reader.channel_info(session.key)
            last_seq = info.last_seq if info else 0
            at_ms = self._clock.now_ms()
            leaving = [one for one in session.participants if one.id in ids]
            if forget:
                changes = [records.forgotten_change(session, one.id, at_ms) for one in leaving]
                await self._sessions.keep(session.key, changes)
                return tuple(one for one in session.participants if one.id not in ids)
            left = [_left(one, last_seq, left_at_ms) for one in leaving if one.is_present]
            await self._sessions.keep(
                session.key, [records.participant_change(session, one, at_ms) for one in left]
            )
            return with_participants(session.participants, left)


def _left(one: Participant, last_seq: int, left_at_ms: int | None) -> Participant:
    """The participant, who leaves now or then."""
    last = one.presences[-1] if one.presences else Presence()
    over = (
        replace(last, until_seq=last_seq)
        if left_at_ms is None
        else replace(last, left_at_ms=left_at_ms)
    )
    return replace(one, presences=(*one.presences[:-1], over))
