"""Usage records and signals in dictionaries: the plain twin of `sqlite/usage`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from backscroll_sidecar.allowed_channels import is_allowed
from backscroll_sidecar.domain import ChannelKey, MessageState, Role
from backscroll_sidecar.ports import (
    ANY_USAGE,
    EraseChange,
    Signal,
    SignalChange,
    SignalKind,
    StoredUsage,
    UsageChange,
    UsageQuery,
)
from backscroll_sidecar.store.facts import PURGED_AT_ONCE, Answer, MessageRow, Place, Plan

SignalKey = tuple[SignalKind, str, str]
"""Kind, user and message."""


class UsageTable:
    """Everything recorded of builds."""

    def __init__(self) -> None:
        self._count = 0
        self._records: dict[tuple[str, str], StoredUsage] = {}
        """By tenant and context id, in order of recording."""
        self._signals: dict[tuple[str, str], dict[SignalKey, Signal]] = {}

    # --- writing -----------------------------------------------------------------------------------

    def write(self, plan: Plan, rows: Mapping[Place, Iterable[MessageRow]]) -> None:
        """What a run did; `rows`: all messages of the channels that are in it."""
        for change in plan.usage:
            self._put(change, rows.get(change.key, ()))
        for tenant, ms in {one.key.tenant: one.drops_before_ms for one in plan.usage}.items():
            self._drop_old(tenant, ms, PURGED_AT_ONCE * len(plan.usage))
        for answer in plan.answers:
            self._join(answer)
        for told in plan.signals:
            self._tell(told)
        for tenant, channel, message_id in plan.emptied:
            self._drop_signals(ChannelKey(tenant, channel), {message_id}, "")

    def _put(self, change: UsageChange, rows: Iterable[MessageRow]) -> None:
        key = (change.key.tenant, change.record.context_id)
        if key in self._records:
            return
        self._count += 1
        answers = [row.stored.seq for row in rows if _answers(row, change)]
        self._records[key] = StoredUsage(
            self._count, change.key.channel, change.record, max(answers, default=None)
        )

    def _drop_old(self, tenant: str, before_ms: int, limit: int) -> None:
        old = [
            (one.record.created_at_ms, key)
            for key, one in self._records.items()
            if key[0] == tenant and one.record.created_at_ms < before_ms
        ]
        for _, key in sorted(old)[:limit]:
            del self._records[key]
            self._signals.pop(key, None)

    def _join(self, answer: Answer) -> None:
        tenant, channel = answer.here
        if answer.context_id:
            found = self._records.get((tenant, answer.context_id))
            newest = found if found is not None and found.channel == channel else None
        else:
            query = UsageQuery(channel=channel, trigger_message_id=answer.trigger_message_id)
            newest = max(self._matching(tenant, query), key=lambda one: one.number, default=None)
            if newest is not None and newest.reply_seq is not None:
                return
        if newest is not None:
            joined = replace(newest, reply_seq=answer.seq)
            self._records[tenant, newest.record.context_id] = joined

    def _tell(self, change: SignalChange) -> None:
        key = (change.key.tenant, change.context_id)
        if key not in self._records or self._records[key].channel != change.key.channel:
            return
        kept = self._signals.setdefault(key, {})
        if change.is_reading:
            for read in [name for name in kept if name[0] is not SignalKind.FEEDBACK]:
                del kept[read]
        kept.update({(one.kind, one.user_id, one.message_id): one for one in change.signals})
        self._sum_up(key)

    def _sum_up(self, key: tuple[str, str]) -> None:
        if key not in self._records:
            return
        said = [
            one for one in self._signals.get(key, {}).values() if one.kind is SignalKind.FEEDBACK
        ]
        texts = sorted((-one.at_ms, one.user_id, one.text) for one in said if one.text)
        values = [one.value for one in said if one.value is not None]
        self._records[key] = replace(
            self._records[key],
            user_feedback=texts[0][2] if texts else None,
            success_indicator=sum(values) / len(values) if values else None,
        )

    def erase(
        self, change: EraseChange, victims: Sequence[tuple[str, int]], names: Iterable[str]
    ) -> dict[str, int]:
        """See `sqlite.usage.erase`."""
        here, ids = change.key, set(names)
        whole, user_id = change.is_of_channel, "" if change.message_ids else change.user_id
        seqs = {seq for _, seq in victims}
        gone, signals = [], 0
        for key, one in self._records.items():
            if key[0] != here.tenant:
                continue
            is_of_it = whole or one.record.trigger_message_id in ids
            is_of_it = is_of_it or bool(user_id and one.record.user_id == user_id)
            foreign = {message.channel for message in one.record.foreign}
            is_told_of = whole and not change.is_of_many and here.channel in foreign
            if (one.channel == here.channel and is_of_it) or is_told_of:
                gone.append(key)
            elif one.channel == here.channel and one.reply_seq in seqs:
                self._records[key] = replace(one, reply_seq=None)
        if not whole:
            signals += self._drop_signals(here, ids, user_id)
        for key in gone:
            del self._records[key]
            signals += len(self._signals.pop(key, {}))
        return {"usage_records": len(gone), "signals": signals}

    def _drop_signals(self, here: ChannelKey, ids: set[str], user_id: str) -> int:
        count = 0
        for key, kept in self._signals.items():
            if key[0] != here.tenant or self._records[key].channel != here.channel:
                continue
            gone = [one for one in kept if one[2] in ids or (user_id and one[1] == user_id)]
            for one in gone:
                del kept[one]
            count += len(gone)
            self._sum_up(key)
        return count

    def channels(self, tenant: str, user_id: str = "") -> set[str]:
        """Those with builds that the user asked for or said something of; of nobody: with any."""
        return {
            one.channel
            for key, one in self._records.items()
            if key[0] == tenant
            and (
                not user_id
                or one.record.user_id == user_id
                or any(name[1] == user_id for name in self._signals.get(key, ()))
            )
        }

    # --- reading -----------------------------------------------------------------------------------

    def records(self, tenant: str, query: UsageQuery = ANY_USAGE) -> list[StoredUsage]:
        """In the order of recording, or the newest first."""
        found = self._matching(tenant, query)
        if query.newest_first:
            found.reverse()
        return found[: max(query.limit, 0)]

    def _matching(self, tenant: str, query: UsageQuery) -> list[StoredUsage]:
        return [
            one for key, one in self._records.items() if key[0] == tenant and _matches(one, query)
        ]

    def signals(self, tenant: str, context_ids: Sequence[str]) -> Mapping[str, Sequence[Signal]]:
        """In order of time."""
        found = {id_: self._signals.get((tenant, id_), {}).values() for id_ in context_ids}
        return {
            id_: sorted(some, key=lambda one: (one.at_ms, one.kind, one.user_id, one.message_id))
            for id_, some in found.items()
            if some
        }


def _answers(row: MessageRow, change: UsageChange) -> bool:
    """Whether a stored message is an answer to the build's question that came after the build."""
    message, asked = row.stored.message, change.record.trigger_message_id
    return (
        bool(asked)
        and not change.record.trial.shadow_of
        and message.reply is not None
        and message.reply.message_id == asked
        and message.role is Role.ASSISTANT
        and row.stored.state is MessageState.LIVE
        and row.received_at_ms >= change.record.created_at_ms
    )


def _matches(one: StoredUsage, query: UsageQuery) -> bool:
    record, number = one.record, one.number
    return bool(
        query.channel in ("", one.channel)
        and is_allowed(one.channel, query.allowed)
        and query.user_id in ("", record.user_id)
        and query.context_id in ("", record.context_id)
        and query.trigger_message_id in ("", record.trigger_message_id)
        and query.reply_seq in (None, one.reply_seq)
        and (query.since_ms is None or record.created_at_ms >= query.since_ms)
        and (query.until_ms is None or record.created_at_ms < query.until_ms)
        and query.experiment_id in ("", record.trial.experiment_id)
        and query.arm in ("", record.trial.arm)
        and (query.with_shadows or query.context_id or not record.trial.shadow_of)
        and (query.after is None or number > query.after)
        and (query.before is None or number < query.before)
    )
