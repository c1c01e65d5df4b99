"""Usage records and what says how good their answers were: written in the writer's thread, read in the reader's."""

from __future__ import annotations

import dataclasses
import sqlite3
from collections.abc import Iterable, Mapping, Sequence

import orjson

from backscroll_sidecar.allowed_channels import AllowedChannels, is_allowed
from backscroll_sidecar.domain import ChannelKey
from backscroll_sidecar.ports import (
    ANY_USAGE,
    EraseChange,
    Signal,
    SignalKind,
    StoredUsage,
    UsageQuery,
)
from backscroll_sidecar.store.facts import PURGED_AT_ONCE, Named, Plan
from backscroll_sidecar.store.sqlite import usage_statements as sql
from backscroll_sidecar.store.sqlite.names import wanted
from backscroll_sidecar.store.usage_rows import decode_record, encode_record, encode_signals

_LAST_NUMBER = 2**63 - 1


# --- writing -------------------------------------------------------------------------------------


def write(connection: sqlite3.Connection, plan: Plan) -> None:
    """Records, then their answers, then what says how good these were."""
    many = connection.executemany
    if plan.usage:
        many(sql.PUT_RECORD, map(encode_record, plan.usage))
        _drop_old(connection, plan)
    for one in plan.answers:
        name = one.context_id or one.trigger_message_id
        statement = sql.JOIN_ANSWER if one.context_id else sql.JOIN_REPLY
        connection.execute(statement, (*one.here, name, one.seq))
    if plan.signals:
        readings = {(*one.key, one.context_id) for one in plan.signals if one.is_reading}
        many(sql.DROP_READ_SIGNALS, sorted(readings))
        many(sql.PUT_SIGNAL, [row for change in plan.signals for row in encode_signals(change)])
        about = {(*change.key, change.context_id) for change in plan.signals}
        many(sql.SUM_UP, sorted(about))
    if plan.emptied:
        _drop_signals_of(connection, wanted(plan.emptied))


def _drop_old(connection: sqlite3.Connection, plan: Plan) -> None:
    before_ms = {change.key.tenant: change.drops_before_ms for change in plan.usage}
    for tenant, ms in before_ms.items():
        limit = PURGED_AT_ONCE * len(plan.usage)
        over = connection.execute(sql.OVER, (tenant, ms, limit)).fetchall() if ms > 0 else ()
        gone = [(tenant, channel, context_id) for channel, context_id in over]
        connection.executemany(sql.DELETE_SIGNALS, gone)
        connection.executemany(sql.DELETE_USAGE, gone)


def erase(
    connection: sqlite3.Connection,
    change: EraseChange,
    victims: Sequence[tuple[str, int]],
    names: Iterable[str],
) -> dict[str, int]:
    """Delete what is of whoever or whatever goes; how many rows went, by part.

    `victims`: id and arrival number of the messages that go, `names`: every id they have.
    """
    here = change.key
    gone: list[Named] = []
    by_id = wanted((*here, id_) for id_ in names)
    signals = 0
    if change.is_of_channel:
        gone += _named(here, connection.execute(sql.ERASED_BY_CHANNEL, here))
        if not change.is_of_many:
            foreign = connection.execute(sql.NAMING_CHANNEL, here._asdict())
            gone += [(here.tenant, channel, context_id) for channel, context_id in foreign]
    else:
        gone += _named(here, connection.execute(sql.ERASED_BY_TRIGGER, (by_id,)))
        if not change.message_ids:
            user = (*here, change.user_id)
            gone += _named(here, connection.execute(sql.ERASED_BY_USER, user))
        signals += _erase_signals(connection, change, by_id)
    gone = list(dict.fromkeys(gone))
    many = connection.executemany
    many(sql.FORGET_REPLY, [(*here, seq) for _, seq in victims])
    signals += max(many(sql.DELETE_SIGNALS, gone).rowcount, 0)
    records = max(many(sql.DELETE_USAGE, gone).rowcount, 0)
    return {"usage_records": records, "signals": signals}


def _erase_signals(connection: sqlite3.Connection, change: EraseChange, by_id: str) -> int:
    """Delete what was given by the user or read from the messages; the records are summed up without it."""
    here = change.key
    count = _drop_signals_of(connection, by_id)
    if not change.message_ids:
        of_user = connection.execute(sql.SIGNALS_OF_USER, (*here, change.user_id))
        gone = _named(here, of_user.fetchall())
        connection.executemany(sql.SUM_UP, sorted(set(gone)))
        count += len(gone)
    return count


def _drop_signals_of(connection: sqlite3.Connection, messages: str) -> int:
    """Delete what was read from these messages."""
    gone = connection.execute(sql.SIGNALS_OF_MESSAGES, (messages,)).fetchall()
    connection.executemany(sql.SUM_UP, sorted(set(gone)))
    return len(gone)


def _named(here: ChannelKey, context_ids: Iterable[tuple[str]]) -> list[Named]:
    return [(*here, context_id) for (context_id,) in context_ids]


# --- reading -------------------------------------------------------------------------------------


def usage_records(
    connection: sqlite3.Connection, tenant: str, query: UsageQuery = ANY_USAGE
) -> list[StoredUsage]:
    """A page in order of recording, by the index that leaves the fewest."""
    values = {
        **dataclasses.asdict(query),
        "tenant": tenant,
        "after": 0 if query.after is None else query.after,
        "before": _LAST_NUMBER if query.before is None else query.before,
        "limit": max(query.limit, 0),
    }
    allowed = query.allowed
    if allowed is not None:
        values["channels"] = _channels(connection, tenant, allowed)
    return [
        one
        for one in map(decode_record, connection.execute(_statement(query), values))
        if query.channel in ("", one.channel) and is_allowed(one.channel, allowed)
    ]


def _channels(connection: sqlite3.Connection, tenant: str, allowed: AllowedChannels) -> str:
    """Those that may have records, as a JSON array."""
    starts = orjson.dumps(allowed.prefixes).decode()
    found = connection.execute(sql.CHANNELS_BEGINNING, {"tenant": tenant, "starts": starts})
    return orjson.dumps(sorted({*allowed.names, *(name for (name,) in found)})).decode()


def _statement(query: UsageQuery) -> str:
    if query.context_id:
        return sql.RECORD_OF_CONTEXT
    if query.allowed is not None and not query.channel:
        both = (sql.RECORDS_OF_CHANNELS_OLDEST_FIRST, sql.RECORDS_OF_CHANNELS_NEWEST_FIRST)
    elif query.experiment_id and not query.channel:
        both = (sql.RECORDS_OF_EXPERIMENT_OLDEST_FIRST, sql.RECORDS_OF_EXPERIMENT_NEWEST_FIRST)
    elif not query.channel:
        both = (sql.RECORDS_OF_TENANT_OLDEST_FIRST, sql.RECORDS_OF_TENANT_NEWEST_FIRST)
    elif query.trigger_message_id:
        both = (sql.RECORDS_OF_TRIGGER_OLDEST_FIRST, sql.RECORDS_OF_TRIGGER_NEWEST_FIRST)
    elif query.reply_seq is not None:
        both = (sql.RECORDS_OF_REPLY_OLDEST_FIRST, sql.RECORDS_OF_REPLY_NEWEST_FIRST)
    elif query.user_id:
        both = (sql.RECORDS_OF_USER_OLDEST_FIRST, sql.RECORDS_OF_USER_NEWEST_FIRST)
    else:
        both = (sql.RECORDS_OF_CHANNEL_OLDEST_FIRST, sql.RECORDS_OF_CHANNEL_NEWEST_FIRST)
    return both[query.newest_first]


def signals(
    connection: sqlite3.Connection, tenant: str, context_ids: Sequence[str]
) -> Mapping[str, Sequence[Signal]]:
    """By context id, in order of time."""
    found: dict[str, list[Signal]] = {}
    rows = connection.execute(sql.SIGNALS, (tenant, orjson.dumps(list(context_ids)).decode()))
    for context_id, kind, *values in rows:
        found.setdefault(context_id, []).append(Signal(SignalKind(kind), *values))
    return found


def ids_by_seq(
    connection: sqlite3.Connection, key: ChannelKey, seqs: Sequence[int]
) -> Mapping[int, str]:
    """Of the rows that are there."""
    values = {**key._asdict(), "seqs": orjson.dumps(list(seqs)).decode()}
    return dict(connection.execute(sql.IDS_BY_SEQ, values).fetchall())
