"""Rows by any of their ids, and what answers them: for a group in the writer's thread, for readers in theirs."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from backscroll_sidecar.domain import ChannelKey, StoredMessage
from backscroll_sidecar.store.codec import decode_rows
from backscroll_sidecar.store.encoding import Row, decode_revision
from backscroll_sidecar.store.facts import Facts, MessageRow, Named, Needs, OldRevision
from backscroll_sidecar.store.sqlite import alias_statements as alias_sql
from backscroll_sidecar.store.sqlite import statements as sql
from backscroll_sidecar.store.sqlite.names import wanted
from backscroll_sidecar.turn_ids import answer_marks, is_reply, is_said

SLACK_MS = 60_000
"""More than a run has rows: so much later than its newest one may a row of it come to stand behind others."""
EVER_MS = 2**62

# --- for a group ---------------------------------------------------------------------------------


def find_rows(connection: sqlite3.Connection, ids: str) -> dict[Named, MessageRow]:
    """The rows of these ids, as `wanted` writes them, and what edits replaced in them."""
    found = connection.execute(sql.FIND_ROWS, (ids,)).fetchall()
    if not found:
        return {}
    older: dict[Named, list[OldRevision]] = {}
    for tenant, channel, id_, *revision in connection.execute(sql.FIND_REVISIONS, (ids,)):
        older.setdefault((tenant, channel, id_), []).append(decode_revision(*revision))
    rows: dict[Named, MessageRow] = {}
    for row in found:
        named, record = _record(row)
        rows[named] = record._replace(older=tuple(older.get(named, ())))
    return rows


def find_aliases(
    connection: sqlite3.Connection, ids: Sequence[Named], facts: Facts
) -> dict[Named, str]:
    """Which of these ids are aliases, and the rows of their messages."""
    if not ids:
        return {}
    found = connection.execute(alias_sql.FIND_ALIASES, (wanted(ids),)).fetchall()
    aliases = {(tenant, channel, alias_id): id_ for tenant, channel, alias_id, id_ in found}
    facts.aliases.update(aliases)
    _add_rows(connection, [(*alias[:2], id_) for alias, id_ in aliases.items()], facts)
    return aliases


def find_followers(
    connection: sqlite3.Connection, needs: Needs, ids: Sequence[Named], facts: Facts
) -> None:
    """The rows that answer these ids, which have none, as far as they may have to move or to be told another parent."""
    until_ms = max(needs.newest_ms, *facts.parents.values(), 0) + SLACK_MS
    aliased = [named for named in ids if named in needs.aliased]
    others = [named for named in ids if named not in needs.aliased]
    found: list[tuple[str, str, str, str]] = []
    for some, bound_ms in ((aliased, EVER_MS), (others, until_ms)):
        if some:
            values = (wanted(some), bound_ms)
            found += connection.execute(alias_sql.FIND_FOLLOWERS, values).fetchall()
    for tenant, channel, parent, child in dict.fromkeys(found):
        facts.followers.setdefault((tenant, channel, parent), []).append(child)
    _add_rows(connection, [(tenant, channel, child) for tenant, channel, _, child in found], facts)


def find_said(connection: sqlite3.Connection, needs: Needs, facts: Facts) -> None:
    """What turns said of late, and how they answered."""
    if needs.speaking:
        values = (wanted(needs.speaking), needs.since_ms)
        for row in connection.execute(alias_sql.FIND_SAID, values):
            (tenant, channel, message_id), record = _record(row)
            if is_said(message_id):
                who = (tenant, channel, record.stored.message.author.id)
                facts.said.setdefault(who, []).append(record)
    if needs.answered:
        for *answered, message_id in connection.execute(
            alias_sql.FIND_ANSWERS, (wanted(needs.answered),)
        ):
            tenant, channel, question, author_id = answered
            named = (tenant, channel, message_id)
            others = (
                () if is_reply(message_id) else aliases_of(connection, [named]).get(message_id, ())
            )
            marks = answer_marks((message_id, *others))
            for mark in marks:
                asked = (tenant, channel, question, author_id, mark)
                facts.answers.setdefault(asked, message_id)
            if not marks and not is_said(message_id):
                _add_rows(connection, [named], facts)
                what = (tenant, channel, question, author_id)
                facts.early.setdefault(what, []).append(facts.rows[named])


def _add_rows(connection: sqlite3.Connection, ids: Iterable[Named], facts: Facts) -> None:
    if missing := [named for named in ids if named not in facts.rows]:
        facts.rows.update(find_rows(connection, wanted(dict.fromkeys(missing))))


def _record(row: Row) -> tuple[Named, MessageRow]:
    tenant, channel, received_at_ms, edited_at_ms, *columns = row
    (stored,) = decode_rows((tuple(columns),), channel)
    return (tenant, channel, stored.message.id), MessageRow(stored, received_at_ms, edited_at_ms)


# --- for an erasure and for readers --------------------------------------------------------------


def true_ids(connection: sqlite3.Connection, key: ChannelKey, ids: Iterable[str]) -> dict[str, str]:
    """For each id the id of its message, in their order: the same unless it is an alias."""
    found = dict.fromkeys(ids, "")
    named = wanted((*key, id_) for id_ in found)
    rows = connection.execute(alias_sql.FIND_ALIASES, (named,))
    aliases = {alias_id: message_id for _, _, alias_id, message_id in rows}
    return {id_: aliases.get(id_, id_) for id_ in found}


def aliases_of(
    connection: sqlite3.Connection, messages: Iterable[Named]
) -> Mapping[str, tuple[str, ...]]:
    """The aliases of messages of one channel that have any, by the id of their message."""
    found: dict[str, tuple[str, ...]] = {}
    for message_id, alias_id in connection.execute(alias_sql.ALIASES_OF, (wanted(messages),)):
        found[message_id] = (*found.get(message_id, ()), alias_id)
    return found


def with_aliases(
    connection: sqlite3.Connection, key: ChannelKey, rows: list[StoredMessage]
) -> list[StoredMessage]:
    """The same rows of a channel with their other ids; most channels have none."""
    if not rows or connection.execute(alias_sql.HAS_ALIASES, key).fetchone() is None:
        return rows
    found = aliases_of(connection, ((*key, row.message.id) for row in rows))
    return [
        replace(row, alias_ids=found[row.message.id]) if row.message.id in found else row
        for row in rows
    ]


def load_aliases(connection: sqlite3.Connection, key: ChannelKey) -> tuple[tuple[str, str], ...]:
    """All of a channel, each with the id of its message."""
    return tuple(connection.execute(alias_sql.LOAD_ALIASES, key))


def answer_to(
    connection: sqlite3.Connection, key: ChannelKey, message_id: str, author_id: str, mark: str
) -> StoredMessage | None:
    """The first whole reply of a turn to what was asked about a message."""
    question = true_ids(connection, key, [message_id])[message_id]
    values = (*key, question, author_id)
    rows = list(decode_rows(connection.execute(alias_sql.ANSWER_TO, values), key.channel))
    told = with_aliases(connection, key, rows)
    return next(
        (row for row in told if mark in answer_marks((row.message.id, *row.alias_ids))), None
    )
