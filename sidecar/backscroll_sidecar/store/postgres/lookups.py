"""Rows by any of their ids, and the rows that answer them: for a group and for readers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import asyncpg
from msgspec.structs import replace

from backscroll_sidecar.domain import ChannelKey, StoredMessage
from backscroll_sidecar.store.codec import decode_rows
from backscroll_sidecar.store.encoding import decode_revision
from backscroll_sidecar.store.facts import Facts, MessageRow, Named, Needs, OldRevision
from backscroll_sidecar.store.postgres import alias_statements as alias_sql
from backscroll_sidecar.store.postgres import statements as sql
from backscroll_sidecar.store.postgres.arrays import wanted
from backscroll_sidecar.store.postgres.connections import Connection
from backscroll_sidecar.turn_ids import answer_marks, is_reply, is_said

SLACK_MS = 60_000
"""More than a run has rows. A row of it may come to stand so much later than its newest, behind others."""
EVER_MS = 2**62

# --- for a group ---------------------------------------------------------------------------------


async def find_rows(
    connection: Connection, tenant: str, ids: Iterable[Named]
) -> dict[Named, MessageRow]:
    """The rows of these ids, and what edits replaced in them."""
    names = wanted(ids)
    found = await connection.fetch(sql.FIND_ROWS, tenant, *names)
    if not found:
        return {}
    older: dict[Named, list[OldRevision]] = {}
    for channel, id_, *revision in await connection.fetch(sql.FIND_REVISIONS, tenant, *names):
        older.setdefault((tenant, channel, id_), []).append(decode_revision(*revision))
    rows: dict[Named, MessageRow] = {}
    for row in found:
        named, record = _record(tenant, row)
        rows[named] = record._replace(older=tuple(older.get(named, ())))
    return rows


async def find_aliases(
    connection: Connection, tenant: str, ids: Sequence[Named], facts: Facts
) -> dict[Named, str]:
    """Which of these ids are aliases, and the rows of their messages."""
    if not ids:
        return {}
    found = await connection.fetch(alias_sql.FIND_ALIASES, tenant, *wanted(ids))
    aliases = {(tenant, channel, alias_id): id_ for channel, alias_id, id_ in found}
    facts.aliases.update(aliases)
    messages = [(*alias[:2], id_) for alias, id_ in aliases.items()]
    await _add_rows(connection, tenant, messages, facts)
    return aliases


async def find_followers(
    connection: Connection, tenant: str, needs: Needs, ids: Sequence[Named], facts: Facts
) -> None:
    """Rows that answer these ids, which have no row yet, if they may have to move or to get another parent."""
    until_ms = max(needs.newest_ms, *facts.parents.values(), 0) + SLACK_MS
    aliased = [named for named in ids if named in needs.aliased]
    others = [named for named in ids if named not in needs.aliased]
    found: list[tuple[str, str, str]] = []
    for some, bound_ms in ((aliased, EVER_MS), (others, until_ms)):
        if some:
            found += map(
                tuple,
                await connection.fetch(alias_sql.FIND_FOLLOWERS, tenant, *wanted(some), bound_ms),
            )
    for channel, parent, child in dict.fromkeys(found):
        facts.followers.setdefault((tenant, channel, parent), []).append(child)
    children = [(tenant, channel, child) for channel, _, child in found]
    await _add_rows(connection, tenant, children, facts)


async def find_said(connection: Connection, tenant: str, needs: Needs, facts: Facts) -> None:
    """What turns said lately, and their answers."""
    if needs.speaking:
        values = (tenant, *wanted(needs.speaking), needs.since_ms)
        for row in await connection.fetch(alias_sql.FIND_SAID, *values):
            (_, channel, message_id), record = _record(tenant, row)
            if is_said(message_id):
                who = (tenant, channel, record.stored.message.author.id)
                facts.said.setdefault(who, []).append(record)
    if needs.answered:
        answers = await connection.fetch(alias_sql.FIND_ANSWERS, tenant, *wanted(needs.answered))
        for channel, question, author_id, message_id in answers:
            named = (tenant, channel, message_id)
            others: tuple[str, ...] = ()
            if not is_reply(message_id):
                found = await aliases_of(connection, ChannelKey(tenant, channel), [message_id])
                others = found.get(message_id, ())
            marks = answer_marks((message_id, *others))
            for mark in marks:
                facts.answers.setdefault((tenant, channel, question, author_id, mark), message_id)
            if not marks and not is_said(message_id):
                await _add_rows(connection, tenant, [named], facts)
                what = (tenant, channel, question, author_id)
                facts.early.setdefault(what, []).append(facts.rows[named])


async def _add_rows(
    connection: Connection, tenant: str, ids: Iterable[Named], facts: Facts
) -> None:
    if missing := dict.fromkeys(named for named in ids if named not in facts.rows):
        facts.rows.update(await find_rows(connection, tenant, missing))


def _record(tenant: str, row: asyncpg.Record) -> tuple[Named, MessageRow]:
    channel, received_at_ms, edited_at_ms, *columns = row
    (stored,) = decode_rows((tuple(columns),), channel)
    return (tenant, channel, stored.message.id), MessageRow(stored, received_at_ms, edited_at_ms)


# --- for an erasure and for readers --------------------------------------------------------------


async def true_ids(connection: Connection, key: ChannelKey, ids: Iterable[str]) -> dict[str, str]:
    """For each id, in order, the id of its message: the same unless it is an alias."""
    found = list(dict.fromkeys(ids))
    aliases = dict(map(tuple, await connection.fetch(alias_sql.TRUE_IDS, *key, found)))
    return {id_: aliases.get(id_, id_) for id_ in found}


async def aliases_of(
    connection: Connection, key: ChannelKey, ids: Sequence[str]
) -> Mapping[str, tuple[str, ...]]:
    """The aliases of messages of one channel, by the id of the message."""
    found: dict[str, tuple[str, ...]] = {}
    for message_id, alias_id in await connection.fetch(alias_sql.ALIASES_OF, *key, ids):
        found[message_id] = (*found.get(message_id, ()), alias_id)
    return found


async def with_aliases(
    connection: Connection, key: ChannelKey, rows: list[StoredMessage]
) -> list[StoredMessage]:
    """The same rows of a channel with their other ids; most channels have none."""
    if not rows or await connection.fetchval(alias_sql.HAS_ALIASES, *key) is None:
        return rows
    found = await aliases_of(connection, key, [row.message.id for row in rows])
    return [
        replace(row, alias_ids=found[row.message.id]) if row.message.id in found else row
        for row in rows
    ]


async def load_aliases(connection: Connection, key: ChannelKey) -> tuple[tuple[str, str], ...]:
    """All aliases of a channel, each with the id of its message."""
    rows = await connection.fetch(alias_sql.LOAD_ALIASES, *key)
    return tuple((alias_id, message_id) for alias_id, message_id in rows)


async def answer_to(
    connection: Connection, key: ChannelKey, message_id: str, author_id: str, mark: str
) -> StoredMessage | None:
    """The first whole reply of a turn to what was asked about a message."""
    question = (await true_ids(connection, key, [message_id]))[message_id]
    found = await connection.fetch(alias_sql.ANSWER_TO, *key, question, author_id)
    told = await with_aliases(connection, key, decode_rows(found, key.channel))
    return next(
        (row for row in told if mark in answer_marks((row.message.id, *row.alias_ids))), None
    )
