"""Usage records and what says how good their answers were: written in the writer's thread, read in the reader's."""

from __future__ import annotations

import dataclasses
import sqlite3
from collections.abc import Iterable, Mapping, Sequence

import msgspec
import orjson

from backscroll_sidecar.allowed_channels import AllowedChannels, is_allowed
from backscroll_sidecar.domain import ChannelKey, Degradation, Rung
from backscroll_sidecar.ports import (
    ANY_USAGE,
    NO_TRIAL,
    AskedWith,
    EraseChange,
    Exploration,
    ForeignMessage,
    Signal,
    SignalChange,
    SignalKind,
    StoredUsage,
    Trial,
    UsageChange,
    UsageQuery,
    UsageRecord,
)
from backscroll_sidecar.store.facts import PURGED_AT_ONCE, Named, Plan
from backscroll_sidecar.store.sqlite import usage_statements as sql
from backscroll_sidecar.store.sqlite.encoding import Row, wanted

_LAST_NUMBER = 2**63 - 1


class _Details(msgspec.Struct, frozen=True, omit_defaults=True):
    """What no statement looks for."""

    profile: str
    policy_id: str
    asked_at_ms: int
    rung: int
    tokens: int
    token_budget: int
    build_us: int
    degradations: tuple[tuple[str, str, str], ...] = ()
    foreign: tuple[ForeignMessage, ...] = ()
    exploration: Exploration | None = None
    is_listed: bool = False
    knows_parent: bool = True
    asked_with: AskedWith | None = None


_details = msgspec.json.Decoder(_Details)


# --- writing -------------------------------------------------------------------------------------


def write(connection: sqlite3.Connection, plan: Plan) -> None:
    """Records, then their answers, then what says how good these were."""
    many = connection.executemany
    if plan.usage:
        many(sql.PUT_RECORD, map(_encode_record, plan.usage))
        _drop_old(connection, plan)
    for one in plan.answers:
        name = one.context_id or one.trigger_message_id
        statement = sql.JOIN_ANSWER if one.context_id else sql.JOIN_REPLY
        connection.execute(statement, (*one.here, name, one.seq))
    if plan.signals:
        readings = {(*one.key, one.context_id) for one in plan.signals if one.is_reading}
        many(sql.DROP_READ_SIGNALS, sorted(readings))
        many(sql.PUT_SIGNAL, [row for change in plan.signals for row in _encode_signals(change)])
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


def _encode_record(change: UsageChange) -> Row:
    one = change.record
    details = _Details(
        one.profile,
        one.policy_id,
        one.asked_at_ms,
        int(one.rung),
        one.tokens,
        one.token_budget,
        one.build_us,
        tuple((lost.stage, lost.reason, lost.source) for lost in one.degradations),
        one.foreign,
        one.exploration,
        one.trial.is_listed,
        one.knows_parent,
        one.asked_with,
    )
    elsewhere = sorted({message.channel for message in one.foreign})
    return (
        *change.key,
        one.context_id,
        one.user_id,
        one.trigger_message_id,
        orjson.dumps(one.context).decode(),
        one.candidates.decode(),
        msgspec.json.encode(details).decode(),
        orjson.dumps(elsewhere).decode() if elsewhere else None,
        one.created_at_ms,
        one.trial.experiment_id or None,
        one.trial.arm or None,
        one.trial.shadow_of or None,
    )


def _encode_signals(change: SignalChange) -> Iterable[Row]:
    for one in change.signals:
        yield (
            *change.key,
            change.context_id,
            one.kind.value,
            one.user_id,
            one.message_id,
            one.value,
            one.confidence,
            one.rating,
            one.text,
            one.at_ms,
        )


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
        for one in map(_decode, connection.execute(_statement(query), values))
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


def _decode(row: Row) -> StoredUsage:
    (
        number, channel, context_id, user_id, trigger_message_id, context, candidates, encoded, _, created_at_ms,
        experiment_id, arm, shadow_of, reply_seq, user_feedback, success_indicator,
    ) = row  # fmt: skip
    details = _details.decode(encoded)
    record = UsageRecord(
        context_id,
        user_id,
        trigger_message_id,
        tuple(orjson.loads(context)),
        candidates.encode(),
        details.profile,
        details.policy_id,
        created_at_ms,
        details.asked_at_ms,
        Rung(details.rung),
        tuple(Degradation(stage, reason, source) for stage, reason, source in details.degradations),
        details.tokens,
        details.token_budget,
        details.build_us,
        details.foreign,
        details.exploration,
        Trial(experiment_id, arm or "", details.is_listed, shadow_of or "")
        if experiment_id
        else NO_TRIAL,
        details.knows_parent,
        details.asked_with,
    )
    return StoredUsage(number, channel, record, reply_seq, user_feedback, success_indicator)


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
