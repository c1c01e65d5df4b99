"""Reading what is recorded of builds: numbers become ids, and answers their texts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec

from backscroll_sidecar.allowed_channels import AllowedChannels
from backscroll_sidecar.domain import ChannelKey, Fate, MessageState
from backscroll_sidecar.errors import NotFound, Reason
from backscroll_sidecar.ports import (
    HistoryReader,
    Signal,
    StoredUsage,
    UsageQuery,
    UsageRecord,
    unpack_candidates,
)


@dataclass(frozen=True, slots=True)
class RecordedCandidate:
    """A message that was scored. `channel` is empty for the build's own. The last three only of a draw (`Chances`)."""

    message_id: str
    channel: str
    score: float
    fate: Fate
    features: tuple[float, ...] = ()
    inclusion: float | None = None
    drawn: bool = False


@dataclass(frozen=True, slots=True)
class Usage:
    """A recorded build with the messages that are still there.

    Attributes
    ----------
    number : grows in the order of recording.
    llm_response : the text of the stored answer; None: none is known, or it was retracted.
    user_feedback, success_indicator : as `StoredUsage` has them.
    """

    number: int
    channel: str
    record: UsageRecord
    context_message_ids: tuple[str, ...]
    candidates: tuple[RecordedCandidate, ...]
    reply_message_id: str
    llm_response: str | None
    user_feedback: str | None
    success_indicator: float | None
    signals: tuple[Signal, ...]


class UsageReads:
    """Finds recorded builds. Safe from any task of one event loop.

    Parameters
    ----------
    flush : hands over builds that wait to be recorded, so that what was just built is found.
    """

    def __init__(self, reader: HistoryReader, flush: Callable[[], Awaitable[None]]) -> None:
        self._reader = reader
        self._flush = flush

    async def get(
        self, tenant: str, context_id: str, allowed: AllowedChannels | None = None
    ) -> Usage:
        """One build with its candidates, if its channel is allowed. Raises `NotFound`, `StoreUnavailable`."""
        query = UsageQuery(context_id=context_id)
        found = await self.list(tenant, query, with_candidates=True, allowed=allowed)
        if not found:
            raise unknown_context("context_id")
        return found[0]

    async def list(
        self,
        tenant: str,
        query: UsageQuery,
        *,
        with_candidates: bool = False,
        allowed: AllowedChannels | None = None,
    ) -> Sequence[Usage]:
        """A page in the order of recording, of allowed channels, without candidates of others.

        Raises `StoreUnavailable`.
        """
        await self._flush()
        stored = await self._reader.usage_records(tenant, replace(query, allowed=allowed))
        if not stored:
            return ()
        if allowed is not None:
            stored = [_limited(one, allowed) for one in stored]
        ids = await self._ids(tenant, stored, with_candidates=with_candidates)
        signals = await self._reader.signals(tenant, [one.record.context_id for one in stored])
        texts = await self._texts(tenant, stored, ids)
        return [_usage(one, ids, texts, signals, with_candidates=with_candidates) for one in stored]

    async def newest(self, tenant: str) -> int:
        """The number of the newest build there is, of whatever kind and channel; 0: there is none."""
        await self._flush()
        query = UsageQuery(limit=1, newest_first=True, with_shadows=True)
        return max(
            (one.number for one in await self._reader.usage_records(tenant, query)), default=0
        )

    async def _ids(
        self, tenant: str, stored: Sequence[StoredUsage], *, with_candidates: bool
    ) -> Mapping[str, Mapping[int, str]]:
        """By channel the ids of all messages that are named."""
        wanted: dict[str, set[int]] = {}
        for one in stored:
            seqs = wanted.setdefault(one.channel, set())
            seqs.update(one.record.context)
            if one.reply_seq is not None:
                seqs.add(one.reply_seq)
            if with_candidates:
                seqs.update(seq for seq, *_ in unpack_candidates(one.record.candidates))
                for message in one.record.foreign:
                    wanted.setdefault(message.channel, set()).add(message.seq)
        return {
            channel: await self._reader.ids_by_seq(ChannelKey(tenant, channel), sorted(seqs))
            for channel, seqs in wanted.items()
        }

    async def _texts(
        self,
        tenant: str,
        stored: Sequence[StoredUsage],
        ids: Mapping[str, Mapping[int, str]],
    ) -> Mapping[tuple[str, str], str]:
        """The texts of the answers, by channel and id."""
        wanted: dict[str, list[str]] = {}
        for one in stored:
            reply = ids[one.channel].get(one.reply_seq or 0)
            if reply is not None:
                wanted.setdefault(one.channel, []).append(reply)
        texts: dict[tuple[str, str], str] = {}
        for channel, replies in wanted.items():
            rows = await self._reader.get_messages(ChannelKey(tenant, channel), replies)
            texts |= {
                (channel, id_): row.message.text
                for id_, row in rows.items()
                if row.state is not MessageState.RECALLED
            }
        return texts


def _limited(one: StoredUsage, allowed: AllowedChannels) -> StoredUsage:
    """The record without what was found in channels that are not allowed."""
    foreign = tuple(far for far in one.record.foreign if far.channel in allowed)
    return replace(one, record=msgspec.structs.replace(one.record, foreign=foreign))


def unknown_context(field: str) -> NotFound:
    """No such build is recorded."""
    return NotFound(
        "no build of this context_id is recorded", field=field, reason=Reason.CONTEXT_NOT_FOUND
    )


def _usage(
    one: StoredUsage,
    ids: Mapping[str, Mapping[int, str]],
    texts: Mapping[tuple[str, str], str],
    signals: Mapping[str, Sequence[Signal]],
    *,
    with_candidates: bool,
) -> Usage:
    own = ids[one.channel]
    reply = own.get(one.reply_seq or 0, "")
    candidates: list[RecordedCandidate] = []
    if with_candidates:
        candidates += [
            RecordedCandidate(
                own[each.seq], "", each.score, each.fate, each.features, each.inclusion, each.drawn
            )
            for each in unpack_candidates(one.record.candidates)
            if each.seq in own
        ]
        candidates += [
            RecordedCandidate(ids[far.channel][far.seq], far.channel, far.score, far.fate)
            for far in one.record.foreign
            if far.seq in ids[far.channel]
        ]
    return Usage(
        one.number,
        one.channel,
        one.record,
        tuple(own[seq] for seq in one.record.context if seq in own),
        tuple(candidates),
        reply,
        texts.get((one.channel, reply)),
        one.user_feedback,
        one.success_indicator,
        tuple(signals.get(one.record.context_id, ())),
    )
