"""Usage records and signals as rows of a database."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
import orjson

from backscroll_sidecar.domain import Degradation, Rung
from backscroll_sidecar.ports import (
    NO_TRIAL,
    AskedWith,
    Exploration,
    ForeignMessage,
    SignalChange,
    StoredUsage,
    Trial,
    UsageChange,
    UsageRecord,
)
from backscroll_sidecar.store.encoding import Row


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


def encode_record(change: UsageChange) -> Row:
    """In the order of `usage_statements.PUT_RECORD`."""
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


def encode_signals(change: SignalChange) -> Iterable[Row]:
    """In the order of `usage_statements.PUT_SIGNAL`."""
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


def decode_record(row: Iterable[Any]) -> StoredUsage:
    """A row of what `usage_statements` reads."""
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
