"""What readers ask: pages on a connection of their own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import asyncpg
import msgspec

from backscroll_sidecar.domain import MAX_PINNED, ChannelKey, Member, MessageType, StoredMessage
from backscroll_sidecar.ports import (
    ANY_EVENT,
    PIN,
    ChannelInfo,
    ChannelRows,
    EventQuery,
    LastMessage,
    ListQuery,
    OverdueQuery,
    RecordedEvent,
    Segment,
    StoredVector,
    Unembedded,
    UnembeddedPage,
    VectorsPage,
    about_user,
)
from backscroll_sidecar.store.codec import decode_placed, decode_rows
from backscroll_sidecar.store.encoding import decode_event, decode_member
from backscroll_sidecar.store.postgres import erase_statements as erase_sql
from backscroll_sidecar.store.postgres import event_statements as event_sql
from backscroll_sidecar.store.postgres import lookups, records
from backscroll_sidecar.store.postgres import statements as sql
from backscroll_sidecar.store.postgres.arrays import spelled
from backscroll_sidecar.store.postgres.connections import Connection, snapshot

EXPORT_PAGE_ROWS = 1_000
_LAST_SEQ = 2**63 - 1
_BLANKS = "".join(map(chr, filter(lambda code: chr(code).isspace(), range(0x3001))))
"""The characters that `str.strip` removes."""


async def load_channel(
    connection: Connection, key: ChannelKey, segment_format: str = ""
) -> ChannelRows:
    """Segments, the rows between and behind them, members, aliases and pins, as of one moment."""
    found: list[Segment | Sequence[asyncpg.Record]] = []
    next_seq = 0
    async with snapshot(connection):
        for values in await connection.fetch(sql.LOAD_SEGMENTS, *key, segment_format):
            segment = Segment(*values)
            if segment.first_seq > next_seq:
                between = (*key, next_seq, segment.first_seq - 1)
                found.append(await connection.fetch(sql.LOAD_ROWS, *between))
            found.append(segment)
            next_seq = segment.last_seq + 1
        found.append(await connection.fetch(sql.LOAD_ROWS, *key, next_seq, _LAST_SEQ))
        people = await members(connection, key)
        aliases = await lookups.load_aliases(connection, key)
        pinned = await records.records(connection, key, PIN, 0, limit=MAX_PINNED)
    parts = [
        one if isinstance(one, Segment) else decode_rows(one, key.channel) for one in found if one
    ]
    return ChannelRows(parts, people, aliases, tuple(record.id for record in pinned))


async def latest(connection: Connection, key: ChannelKey, limit: int) -> list[StoredMessage]:
    """The newest messages, oldest first."""
    rows = await connection.fetch(sql.LATEST, *key, max(limit, 0))
    rows.reverse()
    return decode_rows(rows, key.channel)


async def list_messages(
    connection: Connection, key: ChannelKey, query: ListQuery
) -> list[StoredMessage]:
    """A page in order of arrival."""
    rows = await connection.fetch(
        sql.LIST_NEWEST_FIRST if query.newest_first else sql.LIST_OLDEST_FIRST,
        *key,
        0 if query.after_seq is None else query.after_seq,
        _LAST_SEQ if query.before_seq is None else query.before_seq,
        query.since_ms,
        query.until_ms,
        query.author_id,
        query.thread_id,
        query.include_recalled,
        max(query.limit, 0),
    )
    return await lookups.with_aliases(connection, key, decode_rows(rows, key.channel))


async def overdue(connection: Connection, key: ChannelKey, query: OverdueQuery) -> list[str]:
    """Messages ranked before a time, or before the last of the newest that stay."""
    rank = (query.before_ms, 0)
    if query.newest:
        oldest_kept = await connection.fetchrow(sql.RANK_OF_NTH_NEWEST, *key, query.newest - 1)
        rank = max(rank, tuple(oldest_kept) if oldest_kept else rank)
    rows = await connection.fetch(
        sql.RANKED_BEFORE, *key, *rank, list(query.kept_ids), max(query.limit, 0)
    )
    return [id_ for (id_,) in rows]


async def latest_of_user(
    connection: Connection, tenant: str, user_id: str, channels: Sequence[str], limit: int
) -> list[StoredMessage]:
    """The newest of each channel first, then the newest of those."""
    values: tuple[object, ...] = (tenant, user_id, max(limit, 0))
    statement = sql.LATEST_OF_USER
    if channels:
        statement, values = sql.LATEST_OF_USER_IN, (*values, list(channels))
    rows = await connection.fetch(statement, *values)
    found = decode_placed(tuple(row) for row in reversed(rows))
    by_channel: dict[str, list[StoredMessage]] = {}
    for one in found:
        by_channel.setdefault(one.message.channel, []).append(one)
    told: dict[tuple[str, int], StoredMessage] = {}
    for channel, some in by_channel.items():
        for row in await lookups.with_aliases(connection, ChannelKey(tenant, channel), some):
            told[channel, row.seq] = row
    return [told[one.message.channel, one.seq] for one in found]


async def get_messages(
    connection: Connection, key: ChannelKey, message_ids: Sequence[str]
) -> dict[str, StoredMessage]:
    """In the order of the ids."""
    found = await _by_id(connection, key, message_ids)
    missing = [message_id for message_id in message_ids if message_id not in found]
    if missing:
        true_ids = await lookups.true_ids(connection, key, missing)
        aliased = {id_: true_id for id_, true_id in true_ids.items() if id_ != true_id}
        if aliased:
            rows = await _by_id(connection, key, aliased.values())
            found |= {id_: rows[true_id] for id_, true_id in aliased.items() if true_id in rows}
    return {id_: found[id_] for id_ in dict.fromkeys(message_ids) if id_ in found}


async def _by_id(
    connection: Connection, key: ChannelKey, message_ids: Iterable[str]
) -> dict[str, StoredMessage]:
    rows = await connection.fetch(sql.GET_MESSAGES, *key, list(dict.fromkeys(message_ids)))
    told = await lookups.with_aliases(connection, key, decode_rows(rows, key.channel))
    return {row.message.id: row for row in told}


async def reply_tree(
    connection: Connection, key: ChannelKey, message_id: str, limit: int
) -> list[StoredMessage]:
    """Up and down the edges as sent. A parent that never arrived still joins its replies."""
    true_id = (await lookups.true_ids(connection, key, [message_id]))[message_id]
    rows = await connection.fetch(sql.REPLY_TREE, *key, true_id, max(limit, 0))
    return await lookups.with_aliases(connection, key, decode_rows(rows, key.channel))


async def channel_info(connection: Connection, key: ChannelKey) -> ChannelInfo | None:
    """Where the channel stands."""
    row = await connection.fetchrow(sql.CHANNEL_INFO, *key)
    if row is None:
        return None
    last_seq, live_count, newest_id, newest_sent_at_ms = row
    return ChannelInfo(key, newest_id or "", newest_sent_at_ms or 0, live_count, last_seq)


async def channel_infos(
    connection: Connection, tenant: str, after: str, limit: int, name_contains: str = ""
) -> list[ChannelInfo]:
    """Channels that hold rows. Names are compared here, since the database does not fold case as Unicode does."""
    wanted = name_contains.casefold()
    found: list[ChannelInfo] = []
    async with snapshot(connection):
        async for (name,) in connection.cursor(sql.CHANNEL_NAMES, tenant, after):
            if len(found) >= limit:
                break
            if wanted in name.casefold():
                info = await channel_info(connection, ChannelKey(tenant, name))
                if info is not None:
                    found.append(info)
    return found


async def members(connection: Connection, key: ChannelKey) -> list[Member]:
    """By user id."""
    return [decode_member(tuple(row)) for row in await connection.fetch(sql.MEMBERS, *key)]


async def last_messages(connection: Connection, key: ChannelKey) -> Mapping[str, LastMessage]:
    """The newest live row of each author."""
    rows = await connection.fetch(sql.LAST_MESSAGES, *key)
    return {author_id: LastMessage(id_, MessageType(kind)) for author_id, id_, kind in rows}


async def events(
    connection: Connection, key: ChannelKey, query: EventQuery = ANY_EVENT
) -> list[RecordedEvent]:
    """In order of arrival."""
    rows = await connection.fetch(
        event_sql.EVENTS_NEWEST_FIRST if query.newest_first else event_sql.EVENTS_OLDEST_FIRST,
        *key,
        query.context_id,
        0 if query.after is None else query.after,
        _LAST_SEQ if query.before is None else query.before,
        list(query.types),
        max(query.limit, 0),
    )
    return [
        RecordedEvent(number, context_id, decode_event(tuple(row)))
        for number, context_id, *row in rows
    ]


async def export_page(
    connection: Connection, key: ChannelKey, after_seq: int
) -> list[StoredMessage]:
    """The next rows after this seq."""
    rows = await connection.fetch(sql.EXPORT_PAGE, *key, after_seq, EXPORT_PAGE_ROWS)
    return await lookups.with_aliases(connection, key, decode_rows(rows, key.channel))


async def vectors(
    connection: Connection, key: ChannelKey, embedder_id: str, after_id: str, limit: int
) -> VectorsPage:
    """Some of a channel's vectors by one embedder."""
    found = await connection.fetch(sql.VECTORS, *key, embedder_id, after_id, max(limit, 0))
    rows = tuple(StoredVector(*row) for row in found)
    return VectorsPage(rows, rows[-1].message_id if len(rows) == limit > 0 else None)


async def unembedded(
    connection: Connection,
    key: ChannelKey,
    embedder_id: str,
    dims: int,
    from_seq: int,
    limit: int,
) -> UnembeddedPage:
    """The rows of a stretch of a channel that lack a vector."""
    values = (*key, embedder_id, dims, _BLANKS, from_seq, max(limit, 0))
    seen = await connection.fetch(sql.UNEMBEDDED, *values)
    rows = tuple(Unembedded(*row) for row in seen if row[-1] is not None)
    return UnembeddedPage(rows, seen[-1][0] + 1 if len(seen) == limit > 0 else None)


async def unembedded_count(
    connection: Connection, key: ChannelKey, embedder_id: str, dims: int, until_seq: int
) -> int:
    """The backlog of a channel."""
    values = (*key, embedder_id, dims, _BLANKS, until_seq)
    return int(await connection.fetchval(sql.UNEMBEDDED_COUNT, *values))


async def channels(
    connection: Connection, after: ChannelKey | None, limit: int
) -> list[ChannelKey]:
    """A page of all channels."""
    first = ("", "") if after is None else (after.tenant, after.channel)
    return [ChannelKey(*row) for row in await connection.fetch(sql.CHANNELS, *first, max(limit, 0))]


async def lately_kept(connection: Connection, segment_format: str, limit: int) -> list[ChannelKey]:
    """Newest first, each once."""
    rows = await connection.fetch(sql.NEWEST_SEGMENTS, max(limit, 0), segment_format)
    return list(dict.fromkeys(ChannelKey(*row) for row in rows))


async def channels_to_erase(connection: Connection, tenant: str, user_id: str) -> list[str]:
    """By name."""
    if user_id:
        rows = await connection.fetch(
            erase_sql.CHANNELS_TO_ERASE_OF_USER,
            *(tenant, user_id, spelled(about_user(user_id)), msgspec.json.encode(user_id)),
        )
    else:
        rows = await connection.fetch(erase_sql.CHANNELS_TO_ERASE, tenant)
    return [channel for (channel,) in rows]


async def channels_of_tenant(
    connection: Connection, tenant: str, after: str, limit: int
) -> list[str]:
    """A page of them, by name."""
    rows = await connection.fetch(sql.CHANNELS_OF_TENANT, tenant, after, max(limit, 0))
    return [channel for (channel,) in rows]


async def channels_of_user(connection: Connection, tenant: str, user_id: str) -> list[str]:
    """By name."""
    rows = await connection.fetch(sql.CHANNELS_OF_USER, tenant, user_id)
    return [channel for (channel,) in rows]
