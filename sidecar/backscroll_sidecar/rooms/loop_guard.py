"""Counts how often a persona answered a bot or another persona, so that two of them never talk for ever."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from backscroll_sidecar.ports import RecordChange, StoredRecord, about_user
from backscroll_sidecar.rooms.round_record import LOOP
from backscroll_sidecar.sessions.session import (
    DEFAULT_LOOP_LIMIT,
    DEFAULT_LOOP_WINDOW_S,
    RoomPolicy,
    Session,
)

_TIMES = msgspec.json.Decoder(tuple[int, ...])


class LoopGuard(msgspec.Struct, frozen=True):
    """When each persona answered one sender, in the window.

    Attributes
    ----------
    times_ms : by persona, ascending.
    limit, window_ms : so often in so long and no more.
    versions : of the counters, by persona.
    """

    sender_id: str
    times_ms: Mapping[str, tuple[int, ...]]
    limit: int
    window_ms: int
    versions: Mapping[str, int] = {}

    @classmethod
    def of(
        cls, sender_id: str, stored: Sequence[StoredRecord], policy: RoomPolicy, now_ms: int
    ) -> LoopGuard:
        """From the records of a sender."""
        window_ms = 1_000 * (policy.loop_window_s or DEFAULT_LOOP_WINDOW_S)
        times = {one.id: _TIMES.decode(one.body) for one in stored}
        lately = {
            id_: tuple(at_ms for at_ms in some if at_ms > now_ms - window_ms)
            for id_, some in times.items()
        }
        limit = policy.loop_limit or DEFAULT_LOOP_LIMIT
        return cls(sender_id, lately, limit, window_ms, {one.id: one.version for one in stored})

    @property
    def looped_ids(self) -> frozenset[str]:
        """Personas that may not answer now."""
        return frozenset(id_ for id_, some in self.times_ms.items() if len(some) >= self.limit)

    def retry_after_ms(self, target_id: str, now_ms: int) -> int:
        """When one of them may again."""
        times = self.times_ms.get(target_id, ())
        if len(times) < self.limit:
            return 0
        return max(0, times[-self.limit] + self.window_ms - now_ms)

    def counted(
        self, session: Session, target_ids: Sequence[str], now_ms: int
    ) -> list[RecordChange]:
        """The counters behind one more answer of each of these; refused where one was counted meanwhile."""
        return [
            RecordChange(
                session.key,
                LOOP,
                target_id,
                msgspec.json.encode((*self.times_ms.get(target_id, ()), now_ms)),
                (about_user(self.sender_id), about_user(target_id)),
                now_ms,
                now_ms + self.window_ms,
                owner=self.sender_id,
                if_version=self.versions.get(target_id, 0),
            )
            for target_id in target_ids
        ]
