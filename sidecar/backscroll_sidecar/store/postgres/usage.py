"""Usage records and their signals: what a group writes, what readers ask."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from backscroll_sidecar.allowed_channels import is_allowed
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
from backscroll_sidecar.store.postgres import usage_statements as sql
from backscroll_sidecar.store.postgres.arrays import changed, columns, wanted
from backscroll_sidecar.store.postgres.connections import Connection
from backscroll_sidecar.store.usage_rows import decode_record, encode_record, encode_signals

_LAST_NUMBER = 2**63 - 1


# --- writing -------------------------------------------------------------------------------------


async def write(connection: Connection, tenant: str, plan: Plan) -> None:
    """Write records, then their answers, then signals."""
    if plan.usage:
        await connection.executemany(sql.PUT_RECORD, list(map(encode_record, plan.usage)))
        before_ms = plan.usage[-1].drops_before_ms
        if before_ms > 0:
            limit = PURGED_AT_ONCE * len(plan.usage)
            await connection.execute(sql.DROP_OLD, tenant, before_ms, limit)
    for one in plan.answers:
        name = one.context_id or one.trigger_message_id
        statement = sql.JOIN_ANSWER if one.context_id else sql.JOIN_REPLY
        await connection.execute(statement, *one.here, name, one.seq)
    if plan.signals:
        readings = {(*one.key, one.context_id) for one in plan.signals if one.is_reading}
        if readings:
            await connection.execute(sql.DROP_READ_SIGNALS, tenant, *wanted(sorted(readings)))
        # Of several with the same name the last counts, since a statement writes a row once.
        last = {row[:6]: row[1:] for change in plan.signals for row in encode_signals(change)}
        if last:
            await connection.execute(sql.PUT_SIGNALS, tenant, *columns(last.values()))
        about = {(*change.key, change.context_id) for change in plan.signals}
        await connection.execute(sql.SUM_UP, tenant, *wanted(sorted(about)))
    if plan.emptied:
        await _drop_signals_of(connection, tenant, plan.emptied)


async def erase(
    connection: Connection,
    change: EraseChange,
    victims: Sequence[tuple[str, int]],
    names: Sequence[str],
) -> dict[str, int]:
    """Delete what belongs to an erased user, channel or message. Returns how many rows went, by part.

    `victims`: id and arrival number of the messages that go, `names`: every id they have.
    """
    here = change.key
    gone: list[Named] = []
    signals = 0
    if change.is_of_channel:
        gone += _named(here, await connection.fetch(sql.ERASED_BY_CHANNEL, *here))
        if not change.is_of_many:
            gone += _named(here, await connection.fetch(sql.NAMING_CHANNEL, *here))
    else:
        gone += _named(here, await connection.fetch(sql.ERASED_BY_TRIGGER, *here, names))
        if not change.message_ids:
            of_user = await connection.fetch(sql.ERASED_BY_USER, *here, change.user_id)
            gone += _named(here, of_user)
        signals += await _erase_signals(connection, change, names)
    about = wanted(dict.fromkeys(gone))
    await connection.execute(sql.FORGET_REPLIES, *here, [seq for _, seq in victims])
    signals += changed(await connection.execute(sql.DELETE_SIGNALS, here.tenant, *about))
    records = changed(await connection.execute(sql.DELETE_USAGE, here.tenant, *about))
    return {"usage_records": records, "signals": signals}


async def _erase_signals(connection: Connection, change: EraseChange, names: Sequence[str]) -> int:
    """Delete signals that the user gave or that were read from the messages, and sum their records up again."""
    here = change.key
    count = await _drop_signals_of(connection, here.tenant, [(*here, id_) for id_ in names])
    if not change.message_ids:
        of_user = await connection.fetch(sql.SIGNALS_OF_USER, *here, change.user_id)
        gone = _named(here, of_user)
        await connection.execute(sql.SUM_UP, here.tenant, *wanted(sorted(set(gone))))
        count += len(gone)
    return count


async def _drop_signals_of(connection: Connection, tenant: str, messages: Iterable[Named]) -> int:
    """Delete signals that were read from these messages."""
    gone = await connection.fetch(sql.SIGNALS_OF_MESSAGES, tenant, *wanted(messages))
    named = {(tenant, channel, context_id) for channel, context_id in gone}
    if named:
        await connection.execute(sql.SUM_UP, tenant, *wanted(sorted(named)))
    return len(gone)


def _named(here: ChannelKey, rows: Iterable[Any]) -> list[Named]:
    return [(here.tenant, channel, context_id) for channel, context_id in rows]


# --- reading -------------------------------------------------------------------------------------


async def usage_records(
    connection: Connection, tenant: str, query: UsageQuery = ANY_USAGE
) -> list[StoredUsage]:
    """A page in order of recording."""
    if query.context_id:
        rows = await connection.fetch(sql.RECORD_OF_CONTEXT, tenant, query.context_id)
    else:
        rows = await connection.fetch(
            sql.RECORDS_NEWEST_FIRST if query.newest_first else sql.RECORDS_OLDEST_FIRST,
            *_values(tenant, query),
        )
    return [
        one
        for one in map(decode_record, rows)
        if query.channel in ("", one.channel) and is_allowed(one.channel, query.allowed)
    ]


def _values(tenant: str, query: UsageQuery) -> tuple[object, ...]:
    allowed = query.allowed
    return (
        tenant,
        _LAST_NUMBER if query.before is None else query.before,
        0 if query.after is None else query.after,
        query.since_ms,
        query.until_ms,
        query.user_id,
        query.experiment_id,
        query.arm,
        query.with_shadows,
        query.channel,
        query.trigger_message_id if query.channel else "",
        query.reply_seq if query.channel else None,
        None if allowed is None else sorted(allowed.names),
        [] if allowed is None else list(allowed.prefixes),
        max(query.limit, 0),
    )


async def signals(
    connection: Connection, tenant: str, context_ids: Sequence[str]
) -> Mapping[str, Sequence[Signal]]:
    """By context id, in order of time."""
    found: dict[str, list[Signal]] = {}
    for context_id, kind, *values in await connection.fetch(sql.SIGNALS, tenant, list(context_ids)):
        found.setdefault(context_id, []).append(Signal(SignalKind(kind), *values))
    return found


async def ids_by_seq(
    connection: Connection, key: ChannelKey, seqs: Sequence[int]
) -> Mapping[int, str]:
    """Of the rows that are there."""
    return dict(map(tuple, await connection.fetch(sql.IDS_BY_SEQ, *key, list(seqs))))
