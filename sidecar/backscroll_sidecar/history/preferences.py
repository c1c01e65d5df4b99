"""Preferences: what is known of how people like to be talked to, stored by user, everywhere or of one channel.

Builds ask for those of their asker before everything else, so they are kept in memory: who has any, by tenant, and the
lines of those who asked last. Who has none costs a look into a set.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from backscroll_sidecar.allowed_channels import AllowedChannels, is_allowed
from backscroll_sidecar.domain import ChannelKey
from backscroll_sidecar.history.writer import Writer
from backscroll_sidecar.ports import (
    EVERYWHERE,
    Applied,
    Clock,
    HistoryReader,
    RecordChange,
    StoredRecord,
    about_user,
)

KIND = "preference"
MAX_PREFERENCES = 100
"""Of one user in one channel, or everywhere."""
REMEMBERED_USERS = 4_096
"""Users whose lines are in memory; most have a handful of short ones."""
OWNERS_PAGE = 10_000

Lines = Mapping[str, tuple[str, ...]]
"""By channel."""


@dataclass(frozen=True, slots=True)
class Preference:
    """One line about a person. `channel` is empty where it holds everywhere."""

    id: str
    user_id: str
    channel: str
    text: str
    updated_at_ms: int


class PreferenceService:
    """Keeps preferences and remembers them; one of the writer's publishers. Safe from any task of one event loop.

    `deadline_s` is everywhere a time on the clock of `time.monotonic`, as `Writer.submit` takes it.
    """

    def __init__(self, reader: HistoryReader, writer: Writer, clock: Clock) -> None:
        self._reader = reader
        self._writer = writer
        self._clock = clock
        self._owners: dict[str, set[str]] = {}
        """By tenant: all who have any, and some who had."""
        self._being_read: dict[str, set[str]] = {}
        self._lines: OrderedDict[tuple[str, str], Lines] = OrderedDict()
        """By tenant and user."""
        self._changes = 0

    # --- what builds ask ---------------------------------------------------------------------------

    def known(self, key: ChannelKey, user_id: str) -> tuple[str, ...] | None:
        """The lines about a user that hold in a channel, those that hold everywhere first; None: `read` them."""
        owners = self._owners.get(key.tenant)
        if owners is None:
            return None
        if user_id not in owners:
            return ()
        lines = self._lines.get((key.tenant, user_id))
        if lines is None:
            return None
        self._lines.move_to_end((key.tenant, user_id))
        return _holding(lines, key.channel)

    async def read(self, key: ChannelKey, user_id: str) -> tuple[str, ...]:
        """The same from the store. Raises `StoreUnavailable`."""
        tenant = key.tenant
        await self.prepare(tenant)
        if user_id not in self._owners[tenant]:
            return ()
        changes = self._changes
        lines = _lines_of(await self._stored(tenant, user_id))
        if changes == self._changes:  # else what was read may be older than what was answered
            self._lines[tenant, user_id] = lines
            if len(self._lines) > REMEMBERED_USERS:
                self._lines.popitem(last=False)
        return _holding(lines, key.channel)

    async def prepare(self, tenant: str) -> None:
        """Read who has any, if that is not known yet. Raises `StoreUnavailable`."""
        if tenant in self._owners:
            return
        owners = self._being_read.setdefault(tenant, set())  # who comes meanwhile is told
        after = ""
        while page := await self._reader.record_owners(tenant, KIND, after, OWNERS_PAGE):
            owners.update(page)
            after = page[-1]
        self._owners[tenant] = owners
        self._being_read.pop(tenant, None)

    def publish(self, key: ChannelKey, applied: Applied) -> None:
        """Forget what changed."""
        for change in applied.records:
            if change.kind != KIND:
                continue
            self._changes += 1
            self._lines.pop((key.tenant, change.owner), None)
            if change.body is not None:
                for owners in (self._owners, self._being_read):
                    if key.tenant in owners:
                        owners[key.tenant].add(change.owner)
        if applied.is_erasure:
            self._changes += 1
            self._lines.clear()

    # --- what callers ask --------------------------------------------------------------------------

    async def set(
        self,
        tenant: str,
        user_id: str,
        channel: str,
        text: str,
        id: str = "",
        *,
        deadline_s: float | None = None,
    ) -> Preference:
        """Store a preference, or replace the one of the same id; without one it is made from the text.

        Raises
        ------
        Conflict
            `MAX_PREFERENCES` others are there.
        """
        id = id or hashlib.blake2b(text.encode(), digest_size=12).hexdigest()
        at_ms = self._clock.now_ms()
        about = (about_user(user_id),)
        change = RecordChange(
            ChannelKey(tenant, channel),
            KIND,
            id,
            text.encode(),
            about,
            at_ms,
            owner=user_id,
            limit=MAX_PREFERENCES,
        )
        await self._writer.submit(change, deadline_s)
        return Preference(id, user_id, channel, text, at_ms)

    async def list(
        self,
        tenant: str,
        user_id: str,
        channel: str = "",
        allowed: AllowedChannels | None = None,
    ) -> Sequence[Preference]:
        """Those of a user that hold in a channel, or in any allowed one; those that hold everywhere first."""
        found = await self._stored(tenant, user_id)
        wanted = [
            one
            for one in found
            if one.channel == EVERYWHERE
            or (one.channel == channel if channel else is_allowed(one.channel, allowed))
        ]
        return [
            Preference(one.id, user_id, one.channel, one.body.decode(), one.updated_at_ms)
            for one in wanted
        ]

    async def delete(
        self,
        tenant: str,
        user_id: str,
        channel: str = "",
        id: str = "",
        *,
        deadline_s: float | None = None,
    ) -> int:
        """Delete one of a user and channel, or all of them; how many there were."""
        key = ChannelKey(tenant, channel)
        change = RecordChange(key, KIND, id, None, at_ms=self._clock.now_ms(), owner=user_id)
        return (await self._writer.submit(change, deadline_s)).deleted_records

    async def _stored(self, tenant: str, user_id: str) -> Sequence[StoredRecord]:
        return await self._reader.records_of_owner(tenant, KIND, user_id, self._clock.now_ms())


def _lines_of(records: Sequence[StoredRecord]) -> Lines:
    lines: dict[str, list[str]] = {}
    for one in records:
        lines.setdefault(one.channel, []).append(one.body.decode())
    return {channel: tuple(texts) for channel, texts in lines.items()}


def _holding(lines: Lines, channel: str) -> tuple[str, ...]:
    own = lines.get(channel, ()) if channel != EVERYWHERE else ()
    return (*lines.get(EVERYWHERE, ()), *own)
