"""What people and bots do with preferences: set, list, delete; and what is read from messages is kept."""

from __future__ import annotations

import contextlib
from collections import OrderedDict, defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from backscroll_sidecar.allowed_channels import AllowedChannels, is_allowed
from backscroll_sidecar.concurrency.jobs import ALONE, Jobs
from backscroll_sidecar.domain import ChannelKey
from backscroll_sidecar.errors import Gone, NotFound
from backscroll_sidecar.ports import (
    EVERYWHERE,
    Applied,
    ChangeWriter,
    Clock,
    HistoryReader,
    RecordChange,
    about_message,
    about_text,
    about_user,
)
from backscroll_sidecar.preferences.preference import (
    KINDS,
    READ,
    SET,
    Kept,
    Preference,
    encode,
    id_of,
    preferences_of,
)
from backscroll_sidecar.preferences.topics import KNOWN, Topic, Topics
from backscroll_sidecar.preferences.validity import (
    Judged,
    Status,
    Timeline,
    contradicts,
)

MAX_PREFERENCES = 100
"""Of one user in one channel, or everywhere, that were set."""
MAX_READ = 200
"""Of one user in one channel that were read; the oldest give way."""
REFUSED = "refused_preference"
"""The kind of the records of what must not be read again. Their id is the message, their body the topics."""
MOST_CLEARED = 4_096
ALL = "\0"
"""Stands for all channels: no channel has this name."""
CLEARED = "cleared_preferences"
"""The kind of what tells other servers that all was deleted, of a channel or, with an id, of all."""
CLEARED_MS = 24 * 3_600_000
"""No server reads messages that have waited for so long."""
_topics_of = msgspec.json.Decoder(list[str]).decode


class Source(NamedTuple):
    """A message that preferences are read from. `moment`: `PreferenceService.moment` when it came."""

    key: ChannelKey
    message_id: str
    user_id: str
    moment: int


class PreferenceService:
    """Keeps preferences; one of the writer's publishers. Safe from any task of one event loop.

    `deadline_s` is everywhere a time on the clock of `time.monotonic`, as `ChangeWriter.submit` takes it.
    """

    def __init__(
        self,
        reader: HistoryReader,
        writer: ChangeWriter,
        clock: Clock,
        topics: Topics = KNOWN,
        jobs: Jobs = ALONE,
    ) -> None:
        self.topics = topics
        self._reader = reader
        self._writer = writer
        self._clock = clock
        self._jobs = jobs
        self._locks = jobs.locks
        self._moments = 0
        self._cleared: OrderedDict[tuple[str, str, str], int] = OrderedDict()
        """By tenant, user and channel: the moment when all was deleted. What came before is not read any more."""

    # --- what callers ask --------------------------------------------------------------------------

    async def set(
        self,
        tenant: str,
        user_id: str,
        channel: str,
        kept: Kept,
        id: str = "",
        *,
        deadline_s: float | None = None,
    ) -> Judged:
        """Store a preference, or replace the one of the same id; without one it is made from what it says.

        Raises
        ------
        Conflict
            `MAX_PREFERENCES` others are there.
        """
        key, at_ms = ChannelKey(tenant, channel), self._clock.now_ms()
        async with self._locks.hold(tenant, "preferences", user_id):
            if kept.topic:
                others = await self._stored(tenant, user_id)
                id, kept = self._placed(others, channel, kept, id, at_ms)
                await self._make_room(key, user_id, others, id, deadline_s)
            id = id or id_of(kept.text)
            about = (about_user(user_id),)
            change = RecordChange(
                key, SET, id, encode(kept), about, at_ms, owner=user_id, limit=MAX_PREFERENCES
            )
            await self._writer.submit(change, deadline_s)
            if channel:
                await self._refuse_read(key, user_id, id, deadline_s)
        if not kept.topic:
            stored = Preference(id, user_id, channel, kept, at_ms)
            (judged,) = Timeline([stored], self.topics).judged(at_ms)
            return judged
        found = await self.list(tenant, user_id, channel, include_past=True)
        return next(
            one for one in found if one.preference.id == id and one.preference.channel == channel
        )

    async def list(
        self,
        tenant: str,
        user_id: str,
        channel: str = "",
        *,
        include_past: bool = False,
        topic: str = "",
        at_ms: int | None = None,
        allowed: AllowedChannels | None = None,
    ) -> Sequence[Judged]:
        """Those of a user that hold in a channel, or in any allowed one; those that hold everywhere first."""
        by_channel: dict[str, list[Preference]] = defaultdict(list)
        for one in await self._stored(tenant, user_id):
            by_channel[one.channel].append(one)
        everywhere = by_channel.pop(EVERYWHERE, [])
        at_ms = self._clock.now_ms() if at_ms is None else at_ms
        own = by_channel.get(channel, []) if channel else []
        found = Timeline([*everywhere, *own], self.topics).judged(at_ms)
        if not channel:
            for name in sorted(one for one in by_channel if is_allowed(one, allowed)):
                judged = Timeline([*everywhere, *by_channel[name]], self.topics).judged(at_ms)
                found += judged[len(everywhere) :]
        return [
            one
            for one in found
            if (include_past or one.status is not Status.PAST)
            and topic in ("", one.preference.kept.topic)
        ]

    async def delete(
        self,
        tenant: str,
        user_id: str,
        channel: str = "",
        id: str = "",
        *,
        all_channels: bool = False,
        deadline_s: float | None = None,
    ) -> int:
        """Delete one of a user and channel, all of them, or all of the user; how many there were.

        What was read from messages is not read from them again.
        """
        async with self._locks.hold(tenant, "preferences", user_id):
            if not id:
                await self._clear(tenant, user_id, ALL if all_channels else channel, deadline_s)
            reads = channel or all_channels  # what was read from messages is of a channel
            stored = await self._stored(tenant, user_id) if reads else ()
            channels = dict.fromkeys(one.channel for one in stored) if all_channels else (channel,)
            count = 0
            for name in channels:
                key = ChannelKey(tenant, name)
                read = [one for one in stored if one.channel == name and not one.is_set]
                for one in read:
                    if id in ("", one.id):
                        await self._refuse(key, one, deadline_s)
                for kind in KINDS:
                    count += await self._delete(key, kind, user_id, id, deadline_s)
        return count

    # --- what is read from messages ----------------------------------------------------------------

    def moment(self) -> int:
        """The time in microseconds; what is asked for later has a larger one."""
        self._moments = max(self._moments + 1, 1_000 * self._clock.now_ms())
        return self._moments

    async def keep_read(self, source: Source, found: Sequence[Kept]) -> None:
        """Keep what a message says of who wrote it, in the place of what was read from it before.

        Nothing is kept of what was deleted, of a message that is gone, and where all was deleted since it came.
        Raises `BackscrollError` where it cannot be stored now.
        """
        key, user_id = source.key, source.user_id
        async with self._locks.hold(key.tenant, "preferences", user_id):
            if await self._is_cleared(source):
                return
            now_ms = self._clock.now_ms()
            records = await self._reader.records_of_owner(key.tenant, READ, user_id, now_ms)
            here = [one for one in preferences_of(user_id, records) if one.channel == key.channel]
            before = [one for one in here if source.message_id in one.kept.source_ids]
            if not found and not before:
                return
            refused = await self._refused(key, user_id, source.message_id)
            wanted = {
                id_of(source.message_id, one.topic, one.value or one.text): one
                for one in found
                if one.topic not in refused
            }
            for one in before:
                if one.id not in wanted:
                    await self._delete(key, READ, user_id, one.id)
            others = [one for one in here if one not in before]
            for one in others[: max(0, len(others) + len(wanted) - MAX_READ)]:
                await self._delete(key, READ, user_id, one.id)
            about = (about_text(source.message_id), about_user(user_id))
            with contextlib.suppress(NotFound, Gone):  # the message is gone meanwhile
                for id_, kept in wanted.items():
                    change = RecordChange(
                        key, READ, id_, encode(kept), about, now_ms, owner=user_id
                    )
                    await self._writer.submit(change)

    # --- within ------------------------------------------------------------------------------------

    async def _stored(self, tenant: str, user_id: str) -> Sequence[Preference]:
        """By channel, those that hold everywhere first; in each those that were set before those that were read."""
        now_ms = self._clock.now_ms()
        found: list[Preference] = []
        for kind in KINDS:
            records = await self._reader.records_of_owner(tenant, kind, user_id, now_ms)
            found += preferences_of(user_id, records)
        return found

    def _placed(
        self, others: Sequence[Preference], channel: str, kept: Kept, id: str, at_ms: int
    ) -> tuple[str, Kept]:
        """The id of a preference with a topic, and it with the time from which it holds.

        One that takes the place of another value holds from now on, under an id of its own: what held before stays
        known. Set again it is the same one.
        """
        topic = self.topics.of(kept.topic)
        here = [one for one in others if one.is_set and one.channel == channel]
        if not id:
            id = _new_id(here, kept, topic, at_ms)
        replaced = next((one for one in here if one.id == id), None)
        if kept.valid_from_ms is not None:
            return id, kept
        if replaced is not None:
            return id, replace(kept, valid_from_ms=replaced.kept.valid_from_ms)
        reached = (one for one in others if not channel or one.channel in (EVERYWHERE, channel))
        rivals = (one for one in reached if one.id != id and contradicts(kept, one.kept, topic))
        return id, replace(kept, valid_from_ms=at_ms if any(rivals) else None)

    async def _make_room(
        self,
        key: ChannelKey,
        user_id: str,
        others: Sequence[Preference],
        id: str,
        deadline_s: float | None,
    ) -> None:
        """Where there are as many as may be, the oldest that is over gives way."""
        own = [one for one in others if one.is_set and one.channel == key.channel]
        if len(own) < MAX_PREFERENCES or id in {one.id for one in own}:
            return
        judged = Timeline(own, self.topics).judged(self._clock.now_ms())
        oldest = next((one for one in judged if one.status is Status.PAST), None)
        if oldest is not None:
            await self._delete(key, SET, user_id, oldest.preference.id, deadline_s)

    async def _delete(
        self, key: ChannelKey, kind: str, user_id: str, id: str, deadline_s: float | None = None
    ) -> int:
        change = RecordChange(key, kind, id, None, at_ms=self._clock.now_ms(), owner=user_id)
        return (await self._writer.submit(change, deadline_s)).deleted_records

    # --- what must not be read again ---------------------------------------------------------------

    async def _refuse_read(
        self, key: ChannelKey, user_id: str, id: str, deadline_s: float | None
    ) -> None:
        """What was read and is set now is not read again."""
        record = await self._reader.record(key, READ, user_id, id, self._clock.now_ms())
        if record is not None:
            (one,) = preferences_of(user_id, [record])
            await self._refuse(key, one, deadline_s)
            await self._delete(key, READ, user_id, id, deadline_s)

    async def _refuse(self, key: ChannelKey, one: Preference, deadline_s: float | None) -> None:
        for message_id in one.kept.source_ids:
            refused = await self._refused(key, one.user_id, message_id)
            change = RecordChange(
                key,
                REFUSED,
                message_id,
                msgspec.json.encode(sorted({*refused, one.kept.topic})),
                (about_message(message_id), about_user(one.user_id)),
                self._clock.now_ms(),
                owner=one.user_id,
            )
            with contextlib.suppress(
                NotFound, Gone
            ):  # the message is gone, and with it what was read
                await self._writer.submit(change, deadline_s)

    async def _refused(self, key: ChannelKey, user_id: str, message_id: str) -> frozenset[str]:
        """Topics that are not read from a message any more."""
        now_ms = self._clock.now_ms()
        record = await self._reader.record(key, REFUSED, user_id, message_id, now_ms)
        return frozenset() if record is None else frozenset(_topics_of(record.body))

    async def _clear(
        self, tenant: str, user_id: str, channel: str, deadline_s: float | None
    ) -> None:
        moment = self._note_cleared(tenant, user_id, channel)
        if not self._jobs.is_alone:
            at_ms = self._clock.now_ms()
            key = ChannelKey(tenant, EVERYWHERE if channel == ALL else channel)
            change = RecordChange(
                key, CLEARED, "all" if channel == ALL else "", str(moment).encode(), (about_user(user_id),),
                at_ms, at_ms + CLEARED_MS, user_id,
            )  # fmt: skip
            await self._writer.submit(change, deadline_s)

    def publish(self, key: ChannelKey, applied: Applied) -> None:
        """Take note that all was deleted at another server, by this one's clock.

        Calls bring this up to date before they store a message: so it comes behind what was said before, and before
        what is said afterwards, however far the servers' clocks are apart.
        """
        if applied.is_foreign:
            for one in applied.records:
                if one.kind == CLEARED and one.body is not None:
                    self._note_cleared(key.tenant, one.owner, ALL if one.id else key.channel)

    def _note_cleared(self, tenant: str, user_id: str, channel: str) -> int:
        moment = self._cleared[tenant, user_id, channel] = self.moment()
        self._cleared.move_to_end((tenant, user_id, channel))
        if len(self._cleared) > MOST_CLEARED:
            self._cleared.popitem(last=False)
        return moment

    async def _is_cleared(self, source: Source) -> bool:
        """Whether all was deleted behind what a message said, here or at another server.

        What this server did not hear of, since it started later or was too far behind, goes by the other's clock.
        """
        (tenant, channel), user_id = source.key, source.user_id
        await self._jobs.catch_up(tenant, [channel])
        moments = [self._cleared.get((tenant, user_id, one), 0) for one in (ALL, channel)]
        if not self._jobs.is_alone:
            now_ms = self._clock.now_ms()
            found = await self._reader.records_of_owner(tenant, CLEARED, user_id, now_ms)
            moments += [int(one.body) for one in found if one.id or one.channel == channel]
        return max(moments) > source.moment


def _new_id(here: Sequence[Preference], kept: Kept, topic: Topic, at_ms: int) -> str:
    """The id of what says this now: that of the newest one about it, if that says the same and still holds."""
    if kept.valid_from_ms is not None:
        return id_of(kept.topic, kept.value, str(kept.valid_from_ms))
    rivals = [one for one in here if contradicts(kept, one.kept, topic)]
    if not rivals:
        return id_of(kept.topic, kept.value)
    newest = max(rivals, key=lambda one: (one.kept.valid_from_ms or 0, one.number))
    is_over = newest.kept.valid_until_ms is not None and newest.kept.valid_until_ms <= at_ms
    says_it = (newest.kept.topic, newest.kept.value) == (kept.topic, kept.value)
    return newest.id if says_it and not is_over else id_of(kept.topic, kept.value, newest.id)
