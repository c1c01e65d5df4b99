"""The parts that learn from use, put together."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Protocol

from backscroll_sidecar.learning.channel_settings import ChannelSettingsService
from backscroll_sidecar.learning.feedback import FeedbackService
from backscroll_sidecar.learning.follow_ups import FollowUps
from backscroll_sidecar.learning.recorder import NoUsage, OfferedTo, UsageRecorder
from backscroll_sidecar.learning.usage import UsageReads
from backscroll_sidecar.ports import Applied, Change, Clock, HistoryReader
from backscroll_sidecar.telemetry.feedback_numbers import FeedbackNumbers


class ChangesTo(OfferedTo, Protocol):
    """The writer, as far as it is needed here."""

    def submit(self, change: Change, deadline_s: float | None = None) -> Awaitable[Applied]:
        """Make one change durable and return what it did."""


@dataclass(frozen=True, slots=True)
class Learning:
    """What is recorded of builds, how it is read, what people say of answers, what is set for channels."""

    recorder: UsageRecorder | NoUsage
    usage: UsageReads
    feedback: FeedbackService
    channel_settings: ChannelSettingsService
    follow_ups: FollowUps

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        reader: HistoryReader,
        writer: ChangesTo,
        clock: Clock,
        numbers: FeedbackNumbers,
        *,
        collects: bool,
        keep_ms: int,
    ) -> AsyncIterator[Learning]:
        """Put them together; at the end what waits is handed to the writer. Without `collects` nothing is recorded."""
        recorder = UsageRecorder(writer, keep_ms) if collects else NoUsage()
        follow_ups = FollowUps(reader, writer, clock)
        await recorder.start()
        if collects:
            await follow_ups.start()
        try:
            yield cls(
                recorder,
                UsageReads(reader, recorder.flush),
                FeedbackService(reader, recorder.flush, writer.submit, clock, numbers),
                ChannelSettingsService(reader, writer.submit, clock),
                follow_ups,
            )
        finally:
            await follow_ups.close()
            await recorder.close()
