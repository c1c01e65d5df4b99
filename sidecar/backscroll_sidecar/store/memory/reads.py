"""The reading half of the store in memory: every answer computed the plain way from what is kept."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from backscroll_sidecar.domain import (
    MAX_PINNED,
    ChannelKey,
    Member,
    MessageState,
    Role,
    StoredMessage,
)
from backscroll_sidecar.errors import StoreUnavailable
from backscroll_sidecar.ports import (
    ANY_EVENT,
    ANY_USAGE,
    EVERYWHERE,
    PIN,
    SESSION,
    ChannelInfo,
    ChannelRows,
    EventQuery,
    LastMessage,
    ListQuery,
    OverdueQuery,
    RecordedEvent,
    Signal,
    StoredRecord,
    StoredUsage,
    StoredVector,
    Unembedded,
    UnembeddedPage,
    UsageQuery,
    VectorsPage,
    about_user,
)
from backscroll_sidecar.store.facts import MessageRow, Person, Place, is_embeddable
from backscroll_sidecar.store.memory.usage import UsageTable
from backscroll_sidecar.turn_ids import answer_marks


@dataclass(frozen=True, slots=True)
class Tombstone:
    """What is kept of an erased message. `with_channel`: it went with its whole channel, and was not recalled."""

    digest: str
    """Of its dedupe key."""
    with_channel: bool


@dataclass(slots=True)
class Channel:
    """Everything of one channel. `by_id` is in order of `seq`, `events` in order of arrival."""

    is_known: bool = False
    last_seq: int = 0
    by_id: dict[str, MessageRow] = field(default_factory=dict)
    erased: dict[str, Tombstone] = field(default_factory=dict)
    people: dict[str, Person] = field(default_factory=dict)
    events: dict[tuple[str, str], RecordedEvent] = field(default_factory=dict)
    """By context and id."""
    vectors: dict[tuple[str, int, str], bytes] = field(default_factory=dict)
    """By message id, revision and embedder."""
    dedupe_keys: dict[str, str] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    """By alias, in the order in which they came: the id of the message."""
    children: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """Parent id, as sent, to the ids that name it."""

    def rows(self) -> list[StoredMessage]:
        """All rows, recalled ones included."""
        return [record.stored for record in self.by_id.values()]

    def told(self, rows: Iterable[StoredMessage]) -> list[StoredMessage]:
        """The same rows with their other ids."""
        ids: dict[str, tuple[str, ...]] = {}
        for alias_id, message_id in self.aliases.items():
            ids[message_id] = (*ids.get(message_id, ()), alias_id)
        return [
            replace(row, alias_ids=ids[row.message.id]) if row.message.id in ids else row
            for row in rows
        ]

    def live(self) -> list[StoredMessage]:
        """Rows that contexts may use: neither recalled nor partial."""
        return [stored for stored in self.rows() if stored.state is MessageState.LIVE]


RecordKey = tuple[str, str, str, str, str]
"""Tenant, channel, kind, owner and id."""


class KeptRecord(NamedTuple):
    """A record and what it is about."""

    stored: StoredRecord
    named_ids: tuple[str, ...]


def _recency(stored: StoredMessage) -> tuple[int, str, int]:
    return (stored.rank_time_ms, stored.message.channel, stored.seq)


def _newest(rows: list[StoredMessage], limit: int) -> list[StoredMessage]:
    return sorted(rows, key=_recency)[-limit:] if limit > 0 else []


class InMemoryReader:
    """`HistoryReader` over dictionaries."""

    def __init__(self) -> None:
        self._channels: dict[Place, Channel] = {}
        self._event_count = 0
        self._record_count = 0
        self._records: dict[RecordKey, KeptRecord] = {}
        self._usage = UsageTable()
        self._closed = False

    def _at(self, here: Place) -> Channel:
        """The channel; an empty one, not kept, if there is none."""
        return self._channels.get(here) or Channel()

    def _open(self, key: ChannelKey) -> Channel:
        self._check_open()
        return self._at(key)

    def _check_open(self) -> None:
        if self._closed:
            raise StoreUnavailable("the store is closed")

    async def load_channel(self, key: ChannelKey, segment_format: str = "") -> ChannelRows:
        del segment_format  # no segments are kept: there is nothing they would save
        rows = self._open(key).rows()
        aliases = tuple(sorted(self._open(key).aliases.items()))
        pinned = tuple(one.id for one in await self.records(key, PIN, 0, limit=MAX_PINNED))
        return ChannelRows([rows] if rows else [], await self.members(key), aliases, pinned)

    async def usage_records(
        self, tenant: str, query: UsageQuery = ANY_USAGE
    ) -> Sequence[StoredUsage]:
        self._check_open()
        return self._usage.records(tenant, query)

    async def signals(
        self, tenant: str, context_ids: Sequence[str]
    ) -> Mapping[str, Sequence[Signal]]:
        self._check_open()
        return self._usage.signals(tenant, context_ids)

    async def ids_by_seq(self, key: ChannelKey, seqs: Sequence[int]) -> Mapping[int, str]:
        asked = set(seqs)
        rows = self._open(key).rows()
        return {row.seq: row.message.id for row in rows if row.seq in asked}

    async def latest(self, key: ChannelKey, limit: int) -> Sequence[StoredMessage]:
        return _newest(self._open(key).live(), limit)

    async def list_messages(self, key: ChannelKey, query: ListQuery) -> Sequence[StoredMessage]:
        channel = self._open(key)
        found = [stored for stored in channel.rows() if _matches(stored, query)]
        if query.newest_first:
            found.reverse()
        return channel.told(found[: max(query.limit, 0)])

    async def latest_of_user(
        self, tenant: str, user_id: str, channels: Sequence[str], limit: int
    ) -> Sequence[StoredMessage]:
        self._check_open()
        places = [(tenant, name) for name in dict.fromkeys(channels)]
        if not channels:
            places = [here for here in self._channels if here[0] == tenant]
        rows = [one for here in places for one in self._at(here).told(self._at(here).live())]
        return _newest([stored for stored in rows if stored.message.author.id == user_id], limit)

    async def get_messages(
        self, key: ChannelKey, message_ids: Sequence[str]
    ) -> Mapping[str, StoredMessage]:
        channel = self._open(key)
        true_ids = {one: channel.aliases.get(one, one) for one in message_ids}
        return {
            one: channel.told([channel.by_id[true_id].stored])[0]
            for one, true_id in true_ids.items()
            if true_id in channel.by_id
        }

    async def reply_tree(
        self, key: ChannelKey, message_id: str, limit: int
    ) -> Sequence[StoredMessage]:
        channel = self._open(key)
        message_id = channel.aliases.get(message_id, message_id)
        if message_id not in channel.by_id:
            return []
        neighbours: dict[str, set[str]] = defaultdict(set)
        for stored in channel.rows():
            reply = stored.message.reply
            if reply is not None and not reply.inferred:
                neighbours[stored.message.id].add(reply.message_id)
                neighbours[reply.message_id].add(stored.message.id)
        tree: set[str] = set()
        ahead = {message_id}
        while ahead:
            tree |= ahead
            ahead = {far for near in ahead for far in neighbours[near]} - tree
        rows = [stored for stored in channel.rows() if stored.message.id in tree]
        return channel.told(rows[: max(limit, 0)])

    async def answer_to(
        self, key: ChannelKey, message_id: str, author_id: str, mark: str
    ) -> StoredMessage | None:
        channel = self._open(key)
        question = channel.aliases.get(message_id, message_id)
        answers = channel.told(row for row in channel.live() if _answers(row, question, author_id))
        marked = (one for one in answers if mark in answer_marks((one.message.id, *one.alias_ids)))
        return next(marked, None)

    async def channel_infos(
        self, tenant: str, after: str, limit: int, name_contains: str = ""
    ) -> Sequence[ChannelInfo]:
        self._check_open()
        wanted = name_contains.casefold()
        names = sorted(
            name
            for (here, name), channel in self._channels.items()
            if here == tenant and channel.by_id and name > after and wanted in name.casefold()
        )
        infos = [await self.channel_info(ChannelKey(tenant, name)) for name in names[:limit]]
        return [info for info in infos if info is not None]

    async def channel_info(self, key: ChannelKey) -> ChannelInfo | None:
        channel = self._open(key)
        if not channel.is_known:
            return None
        live = channel.live()
        newest = _newest(live, 1)
        return ChannelInfo(
            key,
            newest[0].message.id if newest else "",
            newest[0].rank_time_ms if newest else 0,
            len(live),
            channel.last_seq,
        )

    async def members(self, key: ChannelKey) -> Sequence[Member]:
        people = self._open(key).people
        return [people[user_id].member for user_id in sorted(people)]

    async def last_messages(self, key: ChannelKey) -> Mapping[str, LastMessage]:
        live = sorted(self._open(key).live(), key=_recency)
        return {
            one.message.author.id: LastMessage(one.message.id, one.analysis.message_type)
            for one in live
        }

    async def events(
        self, key: ChannelKey, query: EventQuery = ANY_EVENT
    ) -> Sequence[RecordedEvent]:
        found = [one for one in self._open(key).events.values() if _is_sought(one, query)]
        if query.newest_first:
            found.reverse()
        return found[: max(query.limit, 0)]

    async def records(
        self,
        key: ChannelKey,
        kind: str,
        now_ms: int,
        *,
        owner: str | None = None,
        after: int = 0,
        limit: int = 1_000,
    ) -> Sequence[StoredRecord]:
        found = [
            stored
            for stored in self._live_records(key.tenant, kind, owner, now_ms)
            if stored.channel == key.channel and stored.number > after
        ]
        return sorted(found, key=lambda stored: stored.number)[: max(limit, 0)]

    async def newest_records(
        self, key: ChannelKey, kind: str, owner: str, now_ms: int, limit: int
    ) -> Sequence[StoredRecord]:
        found = await self.records(key, kind, now_ms, owner=owner, limit=sys.maxsize)
        return found[::-1][: max(limit, 0)]

    async def record(
        self, key: ChannelKey, kind: str, owner: str, id: str, now_ms: int
    ) -> StoredRecord | None:
        found = await self.records(key, kind, now_ms, owner=owner, limit=sys.maxsize)
        return next((one for one in found if one.id == id), None)

    async def records_of_ids(
        self, key: ChannelKey, kind: str, owner: str, ids: Sequence[str], now_ms: int
    ) -> Sequence[StoredRecord]:
        found = await self.records(key, kind, now_ms, owner=owner, limit=sys.maxsize)
        return [one for one in found if one.id in ids]

    async def records_about(
        self, key: ChannelKey, kind: str, names: Sequence[str], now_ms: int
    ) -> Sequence[StoredRecord]:
        wanted = set(names)
        found = await self.records(key, kind, now_ms, limit=sys.maxsize)
        return [
            one
            for one in found
            if not wanted.isdisjoint(self._records[(*key, kind, one.owner, one.id)].named_ids)
        ]

    async def updated_records(
        self,
        tenant: str,
        kind: str,
        now_ms: int,
        limit: int,
        *,
        before: tuple[int, int] | None = None,
        channel: str | None = None,
        id: str | None = None,
    ) -> Sequence[StoredRecord]:
        found = [
            one
            for one in self._live_records(tenant, kind, None, now_ms)
            if channel in (None, one.channel)
            and id in (None, one.id)
            and (before is None or (one.updated_at_ms, one.number) < before)
        ]
        found.sort(key=lambda one: (one.updated_at_ms, one.number), reverse=True)
        return found[: max(limit, 0)]

    async def records_of_owner(
        self, tenant: str, kind: str, owner: str, now_ms: int
    ) -> Sequence[StoredRecord]:
        found = self._live_records(tenant, kind, owner, now_ms)
        return sorted(found, key=lambda stored: (stored.channel, stored.number))

    async def record_owners(
        self, tenant: str, kind: str, after: str | None, limit: int
    ) -> Sequence[str]:
        self._check_open()
        owners = {
            owner
            for of, _, some, owner, _ in self._records
            if (of, some) == (tenant, kind) and (after is None or owner > after)
        }
        return sorted(owners)[: max(limit, 0)]

    def _live_records(
        self, tenant: str, kind: str, owner: str | None, now_ms: int
    ) -> list[StoredRecord]:
        self._check_open()
        return [
            kept.stored
            for (of, _, some, whose, _), kept in self._records.items()
            if (of, some) == (tenant, kind)
            and owner in (None, whose)
            and (kept.stored.expires_at_ms == 0 or kept.stored.expires_at_ms > now_ms)
        ]

    async def export(self, key: ChannelKey) -> AsyncIterator[StoredMessage]:
        channel = self._open(key)
        for stored in channel.told(channel.rows()):
            yield stored

    async def vectors(
        self, key: ChannelKey, embedder_id: str, after_id: str, limit: int
    ) -> VectorsPage:
        channel = self._open(key)
        found: list[StoredVector] = []
        for stored in sorted(channel.rows(), key=lambda one: one.message.id):
            id_ = stored.message.id
            values = channel.vectors.get((id_, stored.revision, embedder_id))
            if values is not None and id_ > after_id:
                found.append(StoredVector(stored.seq, id_, values))
        page = tuple(found[: max(limit, 0)])
        return VectorsPage(page, page[-1].message_id if len(page) == limit > 0 else None)

    async def overdue(self, key: ChannelKey, query: OverdueQuery) -> Sequence[str]:
        ranked = {(stored.rank_time_ms, stored.seq): stored for stored in self._open(key).rows()}
        live = sorted(r for r, one in ranked.items() if one.state is MessageState.LIVE)
        before = (query.before_ms, 0)
        if query.newest and len(live) >= query.newest:
            before = max(before, live[-query.newest])
        gone = [one.message.id for rank, one in ranked.items() if rank < before]
        return [id_ for id_ in gone if id_ not in query.kept_ids][: max(query.limit, 0)]

    async def unembedded(
        self, key: ChannelKey, embedder_id: str, dims: int, from_seq: int, limit: int
    ) -> UnembeddedPage:
        channel = self._open(key)
        seen = [stored for stored in channel.rows() if stored.seq >= from_seq][: max(limit, 0)]
        rows = tuple(
            Unembedded(
                stored.seq,
                stored.message.id,
                stored.revision,
                stored.message.author.name,
                stored.analysis.text,
            )
            for stored in seen
            if _lacks_vector(channel, stored, embedder_id, dims)
        )
        return UnembeddedPage(rows, seen[-1].seq + 1 if len(seen) == limit > 0 else None)

    async def unembedded_count(
        self, key: ChannelKey, embedder_id: str, dims: int, until_seq: int
    ) -> int:
        channel = self._open(key)
        return sum(
            stored.seq <= until_seq and _lacks_vector(channel, stored, embedder_id, dims)
            for stored in channel.rows()
        )

    async def channels(self, after: ChannelKey | None, limit: int) -> Sequence[ChannelKey]:
        self._check_open()
        first = ("", "") if after is None else after
        found = sorted(
            here for here, one in self._channels.items() if one.is_known and here > first
        )
        return [ChannelKey(*here) for here in found[: max(limit, 0)]]

    async def lately_kept(self, segment_format: str, limit: int) -> Sequence[ChannelKey]:
        del segment_format, limit  # no segments are kept
        self._check_open()
        return []

    async def channels_of_tenant(self, tenant: str, after: str, limit: int) -> Sequence[str]:
        self._check_open()
        found = sorted(
            channel
            for (of, channel), one in self._channels.items()
            if of == tenant and one.is_known and channel > after
        )
        return found[: max(limit, 0)]

    async def channels_of_user(self, tenant: str, user_id: str) -> Sequence[str]:
        self._check_open()
        return sorted(
            channel
            for (of, channel), one in self._channels.items()
            if of == tenant and user_id in one.people
        )

    async def channels_to_erase(self, tenant: str, user_id: str) -> Sequence[str]:
        self._check_open()
        places = {
            *(channel for of, channel in self._channels if of == tenant),
            *(key[1] for key in self._records if key[0] == tenant),
            *self._usage.channels(tenant),
        }
        places.discard(EVERYWHERE)
        return sorted(
            one for one in places if self._holds_anything(ChannelKey(tenant, one), user_id)
        )

    def _holds_anything(self, key: ChannelKey, user_id: str) -> bool:
        kept = self._at(key)
        records = [one for place, one in self._records.items() if place[:2] == key]
        if not user_id:
            anything = kept.by_id or kept.people or kept.events or records
            return bool(anything) or key.channel in self._usage.channels(key.tenant)
        return (
            user_id in kept.people
            or any(row.stored.message.author.id == user_id for row in kept.by_id.values())
            or any(about_user(user_id) in one.named_ids for one in records)
            or any(
                place[2] == SESSION and msgspec.json.encode(user_id) in one.stored.body
                for place, one in self._records.items()
                if place[:2] == key
            )
            or key.channel in self._usage.channels(key.tenant, user_id)
        )


def _answers(stored: StoredMessage, question: str, author_id: str) -> bool:
    message = stored.message
    return (
        message.reply is not None
        and message.reply.message_id == question
        and message.author.id == author_id
        and message.role is Role.ASSISTANT
    )


def _lacks_vector(channel: Channel, stored: StoredMessage, embedder_id: str, dims: int) -> bool:
    values = channel.vectors.get((stored.message.id, stored.revision, embedder_id))
    return is_embeddable(stored) and (values is None or (dims > 0 and len(values) != 4 * dims))


def _is_sought(one: RecordedEvent, query: EventQuery) -> bool:
    return (
        query.context_id in ("", one.context_id)
        and (not query.types or one.event.type in query.types)
        and (query.after is None or one.number > query.after)
        and (query.before is None or one.number < query.before)
    )


def _matches(stored: StoredMessage, query: ListQuery) -> bool:
    message = stored.message
    return (
        (query.include_recalled or stored.state is not MessageState.RECALLED)
        and (query.after_seq is None or stored.seq > query.after_seq)
        and (query.before_seq is None or stored.seq < query.before_seq)
        and (query.since_ms is None or message.sent_at_ms >= query.since_ms)
        and (query.until_ms is None or message.sent_at_ms < query.until_ms)
        and query.author_id in ("", message.author.id)
        and query.thread_id in ("", message.thread_id)
    )
