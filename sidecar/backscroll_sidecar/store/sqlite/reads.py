"""What readers ask: pages for the reader's thread (`reading.py`)."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from itertools import islice

import msgspec
import orjson

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
from backscroll_sidecar.store.encoding import Row, decode_event, decode_member
from backscroll_sidecar.store.sqlite import erase_statements as erase_sql
from backscroll_sidecar.store.sqlite import event_statements as event_sql
from backscroll_sidecar.store.sqlite import lookups, records
from backscroll_sidecar.store.sqlite import statements as sql
from backscroll_sidecar.store.sqlite.connection import transaction
from backscroll_sidecar.store.sqlite.names import wanted

EXPORT_PAGE_ROWS = 1_000
_LAST_SEQ = 2**63 - 1
_BLOBS = ("columns", "bodies")
_BLANKS = "".join(map(chr, filter(lambda code: chr(code).isspace(), range(0x3001))))
"""What `str.strip` takes away; SQLite's own trim knows the space only."""


def load_channel(
    connection: sqlite3.Connection, key: ChannelKey, segment_format: str = ""
) -> ChannelRows:
    """Segments, the rows between and behind them, members, aliases and pins, as of one moment."""
    found: list[Segment | list[Row]] = []
    next_seq = 0
    with transaction(connection, "BEGIN"):
        for rowid, *values in connection.execute(sql.LOAD_SEGMENTS, (*key, segment_format)):
            segment = Segment(*values, *(_blob(connection, rowid, name) for name in _BLOBS))
            if segment.first_seq > next_seq:
                between = (*key, next_seq, segment.first_seq - 1)
                found.append(connection.execute(sql.LOAD_ROWS, between).fetchall())
            found.append(segment)
            next_seq = segment.last_seq + 1
        found.append(connection.execute(sql.LOAD_ROWS, (*key, next_seq, _LAST_SEQ)).fetchall())
        people = members(connection, key)
        aliases = lookups.load_aliases(connection, key)
        pinned = records.records(connection, key, PIN, 0, limit=MAX_PINNED)
    parts = [
        one if isinstance(one, Segment) else decode_rows(one, key.channel) for one in found if one
    ]
    return ChannelRows(parts, people, aliases, tuple(record.id for record in pinned))


def _blob(connection: sqlite3.Connection, rowid: int, name: str) -> bytes:
    """Megabytes as they are: a column of a result is copied once more, into memory that has to be found first.

    A mapped file would take 2 ms less for 10,000 messages, and a disk that fails under it would end the process.
    """
    with connection.blobopen("segments", name, rowid, readonly=True) as blob:
        return blob.read()


def latest(connection: sqlite3.Connection, key: ChannelKey, limit: int) -> list[StoredMessage]:
    """Newest first in the index, oldest first in the answer."""
    rows = connection.execute(sql.LATEST, (*key, max(limit, 0))).fetchall()
    rows.reverse()
    return decode_rows(rows, key.channel)


def list_messages(
    connection: sqlite3.Connection, key: ChannelKey, query: ListQuery
) -> list[StoredMessage]:
    """A page in order of arrival."""
    statement = sql.LIST_NEWEST_FIRST if query.newest_first else sql.LIST_OLDEST_FIRST
    values = {
        **key._asdict(),
        "after_seq": 0 if query.after_seq is None else query.after_seq,
        "before_seq": _LAST_SEQ if query.before_seq is None else query.before_seq,
        "since_ms": query.since_ms,
        "until_ms": query.until_ms,
        "author_id": query.author_id,
        "thread_id": query.thread_id,
        "include_recalled": query.include_recalled,
        "limit": max(query.limit, 0),
    }
    rows = decode_rows(connection.execute(statement, values), key.channel)
    return lookups.with_aliases(connection, key, rows)


def overdue(connection: sqlite3.Connection, key: ChannelKey, query: OverdueQuery) -> list[str]:
    """What is ranked before a time, or before the last of the newest that stay."""
    rank = (query.before_ms, 0)
    if query.newest:
        values = {**key._asdict(), "newer": query.newest - 1}
        oldest_kept = connection.execute(sql.RANK_OF_NTH_NEWEST, values).fetchone()
        rank = max(rank, oldest_kept or rank)
    values = {
        **key._asdict(),
        "rank_time_ms": rank[0],
        "seq": rank[1],
        "kept": orjson.dumps(query.kept_ids).decode(),
        "limit": max(query.limit, 0),
    }
    return [id_ for (id_,) in connection.execute(sql.RANKED_BEFORE, values)]


def latest_of_user(
    connection: sqlite3.Connection, tenant: str, user_id: str, channels: Sequence[str], limit: int
) -> list[StoredMessage]:
    """The newest of each channel first, then the newest of those."""
    values = {
        "tenant": tenant,
        "user_id": user_id,
        "channels": orjson.dumps(list(channels)).decode(),
        "limit": max(limit, 0),
    }
    statement = sql.LATEST_OF_USER_IN if channels else sql.LATEST_OF_USER
    rows = connection.execute(statement, values).fetchall()
    rows.reverse()
    found = decode_placed(rows)
    by_channel: dict[str, list[StoredMessage]] = {}
    for one in found:
        by_channel.setdefault(one.message.channel, []).append(one)
    told = {
        (row.message.channel, row.seq): row
        for channel, some in by_channel.items()
        for row in lookups.with_aliases(connection, ChannelKey(tenant, channel), some)
    }
    return [told[one.message.channel, one.seq] for one in found]


def get_messages(
    connection: sqlite3.Connection, key: ChannelKey, message_ids: Sequence[str]
) -> dict[str, StoredMessage]:
    """In the order of the ids."""
    found = _by_id(connection, key, message_ids)
    missing = [message_id for message_id in message_ids if message_id not in found]
    if missing:
        true_ids = lookups.true_ids(connection, key, missing)
        aliased = {id_: true_id for id_, true_id in true_ids.items() if id_ != true_id}
        rows = _by_id(connection, key, aliased.values())
        found |= {id_: rows[true_id] for id_, true_id in aliased.items() if true_id in rows}
    return {id_: found[id_] for id_ in dict.fromkeys(message_ids) if id_ in found}


def _by_id(
    connection: sqlite3.Connection, key: ChannelKey, message_ids: Iterable[str]
) -> dict[str, StoredMessage]:
    ids = wanted((*key, message_id) for message_id in dict.fromkeys(message_ids))
    rows = decode_rows(connection.execute(sql.GET_MESSAGES, (ids,)), key.channel)
    return {row.message.id: row for row in lookups.with_aliases(connection, key, rows)}


def reply_tree(
    connection: sqlite3.Connection, key: ChannelKey, message_id: str, limit: int
) -> list[StoredMessage]:
    """Up and down the edges as sent; a parent that never arrived still joins its replies."""
    values = {
        **key._asdict(),
        "id": lookups.true_ids(connection, key, [message_id])[message_id],
        "limit": max(limit, 0),
    }
    rows = decode_rows(connection.execute(sql.REPLY_TREE, values), key.channel)
    return lookups.with_aliases(connection, key, rows)


def channel_info(connection: sqlite3.Connection, key: ChannelKey) -> ChannelInfo | None:
    """Where the channel stands."""
    row = connection.execute(sql.CHANNEL_INFO, key._asdict()).fetchone()
    if row is None:
        return None
    last_seq, live_count, newest = row
    newest_id, newest_sent_at_ms = orjson.loads(newest) if newest else ("", 0)
    return ChannelInfo(key, newest_id, newest_sent_at_ms, live_count, last_seq)


def channel_infos(
    connection: sqlite3.Connection, tenant: str, after: str, limit: int, name_contains: str = ""
) -> list[ChannelInfo]:
    """Channels that hold rows. Letter case is Unicode's, which SQLite does not know."""
    wanted = name_contains.casefold()
    with transaction(connection, "BEGIN"):
        found = connection.execute(sql.CHANNEL_NAMES, {"tenant": tenant, "after": after})
        with closing(found):
            names = list(islice((name for (name,) in found if wanted in name.casefold()), limit))
        infos = (channel_info(connection, ChannelKey(tenant, name)) for name in names)
        return [info for info in infos if info is not None]


def members(connection: sqlite3.Connection, key: ChannelKey) -> list[Member]:
    """By user id."""
    rows = connection.execute(sql.MEMBERS, key).fetchall()
    return [decode_member(row) for row in rows]


def last_messages(connection: sqlite3.Connection, key: ChannelKey) -> Mapping[str, LastMessage]:
    """The newest live row of each author."""
    rows = connection.execute(sql.LAST_MESSAGES, key)
    return {author_id: LastMessage(id_, MessageType(kind)) for author_id, id_, kind in rows}


def events(
    connection: sqlite3.Connection, key: ChannelKey, query: EventQuery = ANY_EVENT
) -> list[RecordedEvent]:
    """In order of arrival."""
    of_context = (
        event_sql.EVENTS_OF_CONTEXT_OLDEST_FIRST,
        event_sql.EVENTS_OF_CONTEXT_NEWEST_FIRST,
    )
    of_channel = (event_sql.EVENTS_OLDEST_FIRST, event_sql.EVENTS_NEWEST_FIRST)
    values = {
        **key._asdict(),
        "context_id": query.context_id,
        "types": orjson.dumps(query.types).decode(),
        "after": 0 if query.after is None else query.after,
        "before": _LAST_SEQ if query.before is None else query.before,
        "limit": max(query.limit, 0),
    }
    statement = (of_context if query.context_id else of_channel)[query.newest_first]
    return [
        RecordedEvent(number, context_id, decode_event(tuple(row)))
        for number, context_id, *row in connection.execute(statement, values)
    ]


def export_page(
    connection: sqlite3.Connection, key: ChannelKey, after_seq: int
) -> list[StoredMessage]:
    """The next rows after this seq."""
    values = (*key, after_seq, EXPORT_PAGE_ROWS)
    rows = decode_rows(connection.execute(sql.EXPORT_PAGE, values), key.channel)
    return lookups.with_aliases(connection, key, rows)


def vectors(
    connection: sqlite3.Connection, key: ChannelKey, embedder_id: str, after_id: str, limit: int
) -> VectorsPage:
    """Some of a channel's vectors by one embedder."""
    values = (*key, after_id, embedder_id, max(limit, 0))
    rows = tuple(StoredVector(*row) for row in connection.execute(sql.VECTORS, values))
    return VectorsPage(rows, rows[-1].message_id if len(rows) == limit > 0 else None)


def unembedded(
    connection: sqlite3.Connection,
    key: ChannelKey,
    embedder_id: str,
    dims: int,
    from_seq: int,
    limit: int,
) -> UnembeddedPage:
    """A stretch of a channel, those rows of it that lack a vector."""
    values = {**_backlog_of(key, embedder_id, dims), "from_seq": from_seq, "limit": max(limit, 0)}
    seen = connection.execute(sql.UNEMBEDDED, values).fetchall()
    rows = tuple(Unembedded(*row) for row in seen if row[-1] is not None)
    return UnembeddedPage(rows, seen[-1][0] + 1 if len(seen) == limit > 0 else None)


def unembedded_count(
    connection: sqlite3.Connection, key: ChannelKey, embedder_id: str, dims: int, until_seq: int
) -> int:
    """The backlog of a channel."""
    values = {**_backlog_of(key, embedder_id, dims), "until_seq": until_seq}
    (count,) = connection.execute(sql.UNEMBEDDED_COUNT, values).fetchone()
    return int(count)


def _backlog_of(key: ChannelKey, embedder_id: str, dims: int) -> dict[str, str | int]:
    return {
        **key._asdict(),
        "embedder_id": embedder_id,
        "dims": dims,
        "blanks": _BLANKS,
    }


def channels(
    connection: sqlite3.Connection, after: ChannelKey | None, limit: int
) -> list[ChannelKey]:
    """A page of all channels."""
    first = ("", "") if after is None else (after.tenant, after.channel)
    return [ChannelKey(*row) for row in connection.execute(sql.CHANNELS, (*first, max(limit, 0)))]


def lately_kept(
    connection: sqlite3.Connection, segment_format: str, limit: int
) -> list[ChannelKey]:
    """Newest first, each once."""
    rows = connection.execute(sql.NEWEST_SEGMENTS, (max(limit, 0), segment_format))
    return list(dict.fromkeys(ChannelKey(*row) for row in rows))


def channels_to_erase(connection: sqlite3.Connection, tenant: str, user_id: str) -> list[str]:
    """By name."""
    statement = erase_sql.CHANNELS_TO_ERASE_OF_USER if user_id else erase_sql.CHANNELS_TO_ERASE
    values = {
        "tenant": tenant,
        "user_id": user_id,
        "about_user": about_user(user_id),
        "encoded_user": msgspec.json.encode(user_id).decode(),
    }
    return [channel for (channel,) in connection.execute(statement, values)]


def channels_of_tenant(
    connection: sqlite3.Connection, tenant: str, after: str, limit: int
) -> list[str]:
    """A page of them, by name."""
    rows = connection.execute(sql.CHANNELS_OF_TENANT, (tenant, after, max(limit, 0)))
    return [channel for (channel,) in rows]


def channels_of_user(connection: sqlite3.Connection, tenant: str, user_id: str) -> list[str]:
    """By name."""
    return [channel for (channel,) in connection.execute(sql.CHANNELS_OF_USER, (tenant, user_id))]
