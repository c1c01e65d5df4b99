"""The history service: one method for each thing that can happen to a message. What reads is in `reads`.

append: validate.check_message → analyse → AppendChange → Writer.submit → results in the order sent
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Executor

from msgspec.structs import replace

from backscroll_sidecar.analyze import Analyzer
from backscroll_sidecar.concurrency.time_slicing import LoopSlices
from backscroll_sidecar.domain import (
    MAX_PINNED,
    AppendResult,
    Author,
    ChannelKey,
    Member,
    Mention,
    Message,
    Part,
    RefusalCode,
    StoredMessage,
)
from backscroll_sidecar.errors import InvalidRequest, NotFound, Reason
from backscroll_sidecar.history.erasing import summed
from backscroll_sidecar.history.ingest import (
    DimsOf,
    Ingest,
    any_dims,
    merge_results,
)
from backscroll_sidecar.history.reads import HistoryReads
from backscroll_sidecar.history.redaction_policy import NO_REDACTION, Redaction
from backscroll_sidecar.history.rosters import Rosters
from backscroll_sidecar.history.semantic_search import SemanticSearch
from backscroll_sidecar.history.tombstones import Erasure
from backscroll_sidecar.history.validate import (
    Accepted,
    Refused,
    check_id,
    check_ids,
    check_item_count,
    check_key,
    check_member,
    check_time,
)
from backscroll_sidecar.history.writer import Writer
from backscroll_sidecar.learning.recorder import NoUsage
from backscroll_sidecar.ports import (
    PIN,
    AliasChange,
    AppendChange,
    Change,
    Clock,
    EditChange,
    EmbeddingProgress,
    EraseReceipt,
    HistoryReader,
    MembersChange,
    RecordChange,
    RetractChange,
    TurnMark,
    UsageSink,
    about_message,
)

ERASED_AT_ONCE = 16
"""Channels whose erasure may be one transaction."""
MEMBER_US = 10
ALIAS_US = 2

_REASONS = {
    RefusalCode.TEXT_TOO_LARGE: Reason.TOO_LARGE,
    RefusalCode.ID_TOO_LONG: Reason.TOO_LARGE,
}


class HistoryService(HistoryReads):
    """Appends, edits, retracts, erases and reads. Safe to call from any task; raises typed errors only.

    `deadline_s` is everywhere a time on the clock of `time.monotonic`, as `Writer.submit` takes it.
    """

    def __init__(
        self,
        reader: HistoryReader,
        writer: Writer,
        rosters: Rosters,
        analyzer: Analyzer,
        clock: Clock,
        executor: Executor | None = None,
        *,
        embedding: EmbeddingProgress | None = None,
        dims_of: DimsOf = any_dims,
        semantic_search: SemanticSearch | None = None,
        usage: UsageSink | None = None,
        redaction: Redaction = NO_REDACTION,
    ) -> None:
        super().__init__(reader, analyzer, embedding)
        self._usage = usage or NoUsage()
        self._redaction = redaction
        self.clean_by_ms: Callable[[int], int | None] = lambda _: None
        """Set where the store has files: what a receipt says of them."""
        self._writer = writer
        self.semantic_search = semantic_search or SemanticSearch(reader, {})
        self._clock = clock
        self.ingest = Ingest(analyzer, rosters, executor, dims_of=dims_of)

    async def append(
        self,
        key: ChannelKey,
        messages: Sequence[Message],
        *,
        deadline_s: float | None = None,
        turn: TurnMark | None = None,
        restores_erased: bool = False,
        rank_times_ms: Sequence[int] = (),
        records: Sequence[RecordChange] = (),
        context_id: str = "",
        replaces: str = "",
    ) -> list[AppendResult]:
        """Store messages of one channel; one result each, in the order sent, once all of it is durable.

        A message that can never be stored is refused alone, by code and field. `turn` is set on what a turn writes.
        `restores_erased` stores again what went because the whole channel was erased. `rank_times_ms` ranks what comes
        from another server, one a message, where it stood there and its own time cannot be right; 0: as it arrives.
        `records` are kept in the same transaction, if every message is stored or a duplicate; where one of them can
        never be stored, nothing is. `context_id`: the build that the last of the assistant's messages answers.
        The message `replaces` is retracted in the same transaction, if every message is stored or a duplicate.

        Raises
        ------
        InvalidRequest
            The batch as a whole: over 1,000 items or 4 MiB, or no channel; or records come with what cannot be stored.
        Overloaded, StoreUnavailable, StoreReadOnly
            Nothing of the batch was stored.
        DeadlineExceeded
            It may still be stored; sending it again is safe.
        Gone
            The channel was erased, or part of it, since the turn began.
        """
        check_key(key)
        check_item_count(len(messages))
        received_at_ms = self._clock.now_ms()
        if (
            turn is not None
        ):  # it says when: behind what it answers, by a clock that may be ahead of ours
            received_at_ms = max(received_at_ms, 0, *(one.sent_at_ms for one in messages))
        messages = await self._redaction.of(key, messages)
        checked = await self.ingest.check(key, messages, received_at_ms, rank_times_ms)
        accepted = [one for one in checked if type(one) is Accepted]
        if records and len(accepted) < len(checked):
            raise _cannot_be_stored(next(one for one in checked if isinstance(one, Refused)))
        if not accepted and not records:
            return merge_results(checked, ())
        analyses = await self.ingest.analyse(key, accepted)
        change = AppendChange(
            key,
            tuple([one.message for one in accepted]),
            tuple(analyses),
            tuple([one.rank_time_ms for one in accepted]),
            received_at_ms,
            turn,
            restores_erased,
            tuple(records),
            context_id,
            replaces,
        )
        if context_id:  # its record comes first, so that it can get its answer
            await self._usage.push(context_id)
        applied = await self._writer.submit(change, deadline_s)
        return merge_results(checked, applied.append_results)

    async def redacted(self, key: ChannelKey, message: Message) -> Message:
        """The message as it would be stored."""
        (found,) = await self._redaction.of(key, [message])
        return found

    async def edit(
        self,
        key: ChannelKey,
        message_id: str,
        parts: Sequence[Part],
        mentions: Sequence[Mention] = (),
        edited_at_ms: int | None = None,
        *,
        deadline_s: float | None = None,
    ) -> StoredMessage:
        """Give a message new content; equal content changes nothing. Author, time and reply stay.

        Raises
        ------
        NotFound, Gone
            Nothing to edit, or recalled or erased.
        """
        check_key(key)
        check_id(message_id, "message_id")
        if not parts:
            raise InvalidRequest("parts is empty", field="parts", reason=Reason.MISSING_FIELD)
        now_ms = self._clock.now_ms()
        at_ms = now_ms if edited_at_ms is None else edited_at_ms
        check_time(at_ms, "edited_at_ms")
        found = await self._reader.get_messages(key, [message_id])
        if message_id in found:
            draft = found[message_id].message
        else:
            # The store knows whether the id is gone or unknown, and never takes author or time from an edit.
            draft = Message(message_id, key.channel, Author(message_id), (), now_ms)
        draft = replace(draft, parts=tuple(parts), mentions=tuple(mentions))
        (draft,) = await self._redaction.of(key, [draft])
        (checked,) = await self.ingest.check(key, [draft], now_ms)
        if isinstance(checked, Refused):
            raise InvalidRequest(
                f"{checked.field} is refused: {checked.code.value}",
                field=checked.field,
                reason=_REASONS.get(checked.code),
            )
        (analysis,) = await self.ingest.analyse(key, [checked])
        await self._submit(EditChange(key, checked.message, analysis, at_ms), deadline_s)
        return await self.get_message(key, message_id)

    async def retract(
        self,
        key: ChannelKey,
        message_id: str,
        retracted_at_ms: int | None = None,
        *,
        deadline_s: float | None = None,
    ) -> None:
        """Take a message back; twice is no error.

        Raises
        ------
        NotFound, Gone
            Nothing to retract, or erased.
        """
        check_key(key)
        check_id(message_id, "message_id")
        at_ms = self._clock.now_ms() if retracted_at_ms is None else retracted_at_ms
        check_time(at_ms, "recalled_at_ms")
        # By its own id: open turns know no other (`TurnMark`).
        true_id = await self._true_id(key, message_id)
        await self._submit(RetractChange(key, true_id, at_ms), deadline_s)

    async def _submit(self, change: Change, deadline_s: float | None) -> None:
        """Submit a change of one message. Where there is no such message for want of the channel, that is said."""
        try:
            await self._writer.submit(change, deadline_s)
        except NotFound:
            await self._require_channel(change.key)
            raise

    async def _true_id(self, key: ChannelKey, message_id: str) -> str:
        """The id under which a message is stored; what is not stored keeps what it was called."""
        found = (await self._reader.get_messages(key, [message_id])).get(message_id)
        return message_id if found is None else found.message.id

    async def alias(
        self, key: ChannelKey, message_id: str, alias_id: str, *, deadline_s: float | None = None
    ) -> None:
        """Let a stored message be known under another id, too: what answers that answers the message. Safe to repeat.

        Raises
        ------
        NotFound, Gone
            There is no such message, or it was recalled or erased.
        Conflict
            The other id is that of another message.
        """
        check_key(key)
        check_id(message_id, "message_id")
        check_id(alias_id, "alias_id")
        await self._submit(AliasChange(key, message_id, alias_id), deadline_s)

    async def pin(
        self, key: ChannelKey, message_id: str, *, deadline_s: float | None = None
    ) -> None:
        """Pin a message; twice is no error.

        Raises
        ------
        NotFound, Gone
            Nothing to pin, or recalled or erased.
        Conflict
            `MAX_PINNED` others are pinned in the channel.
        """
        check_key(key)
        check_id(message_id, "message_id")
        message_id = await self._true_id(key, message_id)
        about = (about_message(message_id),)
        at_ms = self._clock.now_ms()
        change = RecordChange(key, PIN, message_id, b"", about, at_ms, limit=MAX_PINNED)
        await self._submit(change, deadline_s)

    async def unpin(
        self, key: ChannelKey, message_id: str, *, deadline_s: float | None = None
    ) -> None:
        """Undo it; what is not pinned is no error."""
        check_key(key)
        check_id(message_id, "message_id")
        message_id = await self._true_id(key, message_id)
        change = RecordChange(key, PIN, message_id, None, at_ms=self._clock.now_ms())
        await self._writer.submit(change, deadline_s)

    async def upsert_members(
        self, key: ChannelKey, members: Sequence[Member], *, deadline_s: float | None = None
    ) -> tuple[Member, ...]:
        """Insert or update people; returns them as they now stand. An old name stays findable."""
        return await self._tell_members(key, members, self._clock.now_ms(), deadline_s=deadline_s)

    async def add_members(
        self, key: ChannelKey, members: Sequence[Member], at_ms: int | None = None
    ) -> tuple[Member, ...]:
        """Take people from an export, as they were at `at_ms`: what is known of them stays. None: now."""
        now_ms = self._clock.now_ms()
        at_ms = now_ms if at_ms is None else min(at_ms, now_ms)
        return await self._tell_members(key, members, at_ms, only_adds=True)

    async def _tell_members(
        self,
        key: ChannelKey,
        members: Sequence[Member],
        at_ms: int,
        *,
        only_adds: bool = False,
        deadline_s: float | None = None,
    ) -> tuple[Member, ...]:
        check_key(key)
        check_item_count(len(members), "members")
        if not members:
            return ()
        slices = LoopSlices()
        checked: list[Member] = []
        for i, one in enumerate(members):
            await slices.spend(MEMBER_US + ALIAS_US * len(one.aliases))
            checked.append(check_member(one, f"members[{i}]"))
        change = MembersChange(key, tuple(checked), at_ms, only_adds)
        return (await self._writer.submit(change, deadline_s)).members

    async def erase(
        self,
        key: ChannelKey,
        *,
        message_ids: Sequence[str] = (),
        user_id: str = "",
        whole_channel: bool = False,
        is_dry_run: bool = False,
        deadline_s: float | None = None,
    ) -> EraseReceipt:
        """Delete for good: these messages, or all of one person, or the whole channel. The ids stay taken.

        Raises
        ------
        InvalidRequest
            Not exactly one of the three was named.
        """
        check_key(key)
        if bool(message_ids) + bool(user_id) + whole_channel != 1:
            raise InvalidRequest(
                "name exactly one of message_ids, user_id and whole_channel", field="message_ids"
            )
        check_ids(message_ids, "message_ids")
        if user_id:
            check_id(user_id, "user_id")
        erasure = Erasure(
            tenant=key.tenant,
            channel=key.channel,
            message_ids=tuple(message_ids),
            user_id=user_id,
            erased_at_ms=self._clock.now_ms(),
        )
        return await self._erase(erasure, (), is_dry_run, deadline_s)

    async def erase_in_tenant(
        self,
        tenant: str,
        *,
        user_id: str = "",
        is_dry_run: bool = False,
        deadline_s: float | None = None,
    ) -> EraseReceipt:
        """Delete for good all of one person in every channel; of nobody: the whole tenant. The ids stay taken.

        It goes from channel to channel. What broke off is repeated: what went already finds nothing.
        """
        if user_id:
            check_id(user_id, "user_id")
        erasure = Erasure(
            tenant=tenant,
            user_id=user_id,
            all_channels=bool(user_id),
            whole_tenant=not user_id,
            erased_at_ms=self._clock.now_ms(),
        )
        if is_dry_run:
            channels = await self._reader.channels_to_erase(tenant, user_id)
            return await self._erase(erasure, channels, is_dry_run, deadline_s)
        async with self._writer.holding_turns(tenant):
            channels = await self._reader.channels_to_erase(tenant, user_id)
            return await self._erase(erasure, channels, is_dry_run, deadline_s)

    async def _erase(
        self,
        erasure: Erasure,
        channels: Sequence[str],
        is_dry_run: bool,
        deadline_s: float | None,
    ) -> EraseReceipt:
        changes = erasure.changes(channels, is_dry_run=is_dry_run)
        receipts: list[EraseReceipt | None] = []
        for start in range(0, len(changes), ERASED_AT_ONCE):
            some = changes[start : start + ERASED_AT_ONCE]
            applied = await asyncio.gather(*(self._writer.submit(one, deadline_s) for one in some))
            receipts += [one.receipt for one in applied]
        at_ms = erasure.erased_at_ms
        return replace(summed(receipts), at_ms=at_ms, files_clean_by_ms=self.clean_by_ms(at_ms))


def _cannot_be_stored(refused: Refused) -> InvalidRequest:
    """The error of a message that what comes with it cannot be kept without."""
    return InvalidRequest(
        f"{refused.field} cannot be stored: {refused.code}",
        field=f"message.{refused.field}",
        reason=_REASONS.get(refused.code),
    )
