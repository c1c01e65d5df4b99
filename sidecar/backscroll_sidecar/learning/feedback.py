"""What people say of answers, kept with the builds behind them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from backscroll_sidecar.allowed_channels import AllowedChannels, is_allowed
from backscroll_sidecar.domain import ChannelKey
from backscroll_sidecar.errors import InvalidRequest, NotFound, Reason
from backscroll_sidecar.learning.usage import unknown_context
from backscroll_sidecar.ports import (
    ChangeWriter,
    Clock,
    HistoryReader,
    Signal,
    SignalChange,
    SignalKind,
    StoredUsage,
    UsageQuery,
)
from backscroll_sidecar.telemetry.feedback_numbers import FeedbackNumbers

MAX_RATING = 5
MAX_RATERS = 1_000
"""So many people may have a say about one answer: all of it is read when one more says something."""


@dataclass(frozen=True, slots=True)
class Feedback:
    """What somebody says of an answer.

    Attributes
    ----------
    context_id, channel, reply_message_id : the build, or the stored answer in its channel.
    user_id : who says it; empty: unknown.
    rating : 1 to 5; 0: none.
    success : 0 to 1; None with a rating: what that comes to.
    """

    user_id: str
    context_id: str = ""
    channel: str = ""
    reply_message_id: str = ""
    rating: int = 0
    success: float | None = None
    text: str = ""

    @property
    def value(self) -> float | None:
        """0, of no use, to 1; None: only a text was given."""
        if self.success is None and self.rating:
            return (self.rating - 1) / (MAX_RATING - 1)
        return self.success


class FeedbackService:
    """Takes feedback. Safe from any task of one event loop; `deadline_s` is as `Writer.submit` takes it."""

    def __init__(
        self,
        reader: HistoryReader,
        flush: Callable[[], Awaitable[None]],
        writer: ChangeWriter,
        clock: Clock,
        numbers: FeedbackNumbers,
    ) -> None:
        self._reader = reader
        self._flush = flush
        self._writer = writer
        self._clock = clock
        self._numbers = numbers
        self.redact: Callable[[ChannelKey, str], Awaitable[str]] | None = None
        """Set where texts of a channel are stored without some words."""

    async def record(
        self,
        tenant: str,
        feedback: Feedback,
        deadline_s: float | None = None,
        allowed: AllowedChannels | None = None,
    ) -> StoredUsage:
        """Keep it, and return the build with what is known of its answer.

        Raises
        ------
        NotFound
            No such build of an allowed channel is recorded, or none has this answer.
        InvalidRequest
            `MAX_RATERS` others have had their say.
        """
        await self._flush()
        found = await self._find(tenant, feedback)
        if not is_allowed(found.channel, allowed):
            raise unknown_context("context_id")
        await self._check_room(tenant, found.record.context_id, feedback.user_id)
        key, context_id = ChannelKey(tenant, found.channel), found.record.context_id
        text = feedback.text if self.redact is None else await self.redact(key, feedback.text)
        signal = Signal(
            SignalKind.FEEDBACK,
            feedback.user_id,
            "",
            feedback.value,
            1.0,
            self._clock.now_ms(),
            feedback.rating,
            text,
        )
        await self._writer.submit(SignalChange(key, context_id, (signal,)), deadline_s)
        if feedback.value is not None:
            self._numbers.add(feedback.value, self._clock.monotonic_s())
        stored = await self._reader.usage_records(tenant, UsageQuery(context_id=context_id))
        if not stored:
            raise unknown_context("context_id")
        return stored[0]

    async def _check_room(self, tenant: str, context_id: str, user_id: str) -> None:
        signals = (await self._reader.signals(tenant, [context_id])).get(context_id, ())
        raters = {one.user_id for one in signals if one.kind is SignalKind.FEEDBACK}
        if user_id not in raters and len(raters) >= MAX_RATERS:
            raise InvalidRequest(
                f"{MAX_RATERS:,} people have said what they think of this answer, more are not kept",
                field="user_id",
                reason=Reason.TOO_LARGE,
            )

    async def _find(self, tenant: str, feedback: Feedback) -> StoredUsage:
        if feedback.context_id:
            query = UsageQuery(context_id=feedback.context_id)
            found = await self._reader.usage_records(tenant, query)
            if not found:
                raise unknown_context("context_id")
            return found[0]
        key, reply = ChannelKey(tenant, feedback.channel), feedback.reply_message_id
        rows = await self._reader.get_messages(key, [reply])
        if reply not in rows:
            raise NotFound(
                "the channel has no such message",
                field="reply_message_id",
                reason=Reason.MESSAGE_NOT_FOUND,
            )
        query = UsageQuery(
            channel=key.channel, reply_seq=rows[reply].seq, limit=1, newest_first=True
        )
        found = await self._reader.usage_records(tenant, query)
        if not found:
            raise NotFound(
                "no recorded build has this answer",
                field="reply_message_id",
                reason=Reason.CONTEXT_NOT_FOUND,
            )
        return found[0]
