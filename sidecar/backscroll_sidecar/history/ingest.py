"""From messages as sent to messages as stored: checked, analysed, and the event loop never held for long."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from concurrent.futures import Executor

from msgspec.structs import replace

from backscroll_sidecar.analyze import Analyzer
from backscroll_sidecar.concurrency.time_slicing import Lane, LoopSlices
from backscroll_sidecar.domain import (
    Analysis,
    AppendOutcome,
    AppendResult,
    ChannelKey,
    Message,
    MessageType,
    RefusalCode,
)
from backscroll_sidecar.history.rosters import BatchRoster, ChannelRoster, Rosters
from backscroll_sidecar.history.validate import Accepted, Refused, check_batch_bytes, check_message

logger = logging.getLogger(__name__)

# Predicted cost, as measured on the labelled lines of tests/data: 2 µs to check, 40 µs to analyse 68 bytes, and up to
# 1.6 ms for a hostile kilobyte; half as much again where the cores are busy, and that is what is predicted. Hence also
# where the executor begins.
CHECK_US = 3
CHECK_US_PER_BYTE = 0.002
ANALYSE_US = 60
ANALYSE_US_PER_BYTE = 0.4
EXECUTOR_BYTES = 1024


DimsOf = Callable[[str], int]
"""The size of an embedder's vectors by its id, 0 when it is not known."""


def any_dims(embedder_id: str) -> int:
    """Know no embedder."""
    del embedder_id
    return 0


class Ingest:
    """Checks and analyses. Safe to call from any task; texts over `EXECUTOR_BYTES` are analysed in `executor`.

    Attributes
    ----------
    failed_analyses
        How often the analyzer raised and a message was stored with the plainest analysis instead.
    """

    def __init__(
        self,
        analyzer: Analyzer,
        rosters: Rosters,
        executor: Executor | None = None,
        *,
        dims_of: DimsOf = any_dims,
    ) -> None:
        self._analyzer = analyzer
        self._rosters = rosters
        self._executor = executor
        self._dims_of = dims_of
        self._lane = Lane()
        self.failed_analyses = 0

    async def check(
        self,
        key: ChannelKey,
        messages: Sequence[Message],
        received_at_ms: int,
        rank_times_ms: Sequence[int] = (),
    ) -> list[Accepted | Refused]:
        """One answer a message, in order. `rank_times_ms`: as `HistoryService.append` takes them.

        Raises
        ------
        InvalidRequest
            All together hold more than 4 MiB.
        """
        checked: list[Accepted | Refused] = []
        size = 0
        slices = LoopSlices()
        for i, message in enumerate(messages):
            stood_ms = rank_times_ms[i] if rank_times_ms else 0
            is_known = 0 < stood_ms < received_at_ms
            answer = check_message(key, message, stood_ms if is_known else received_at_ms)
            if message.embeddings:
                answer = self._check_sizes(answer)
            checked.append(answer)
            size += answer.bytes
            check_batch_bytes(size)
            if not slices.takes(CHECK_US + CHECK_US_PER_BYTE * answer.bytes):
                await asyncio.sleep(0)
        return checked

    async def analyse(self, key: ChannelKey, accepted: Sequence[Accepted]) -> list[Analysis]:
        """One analysis a message, in order; each sees the names of those before it in the batch."""
        roster = await self._rosters.for_batch(key, [one.message for one in accepted])
        if len(accepted) == 1 and accepted[0].bytes <= EXECUTOR_BYTES:  # it fits a slice
            return [self._analyse_one(accepted[0].message, roster)]
        analyses: list[Analysis] = []
        with self._lane.turn() as turn:
            for one in accepted:
                if one.bytes > EXECUTOR_BYTES:
                    turn.leave()
                    loop = asyncio.get_running_loop()
                    analysis = await loop.run_in_executor(
                        self._executor, self._analyse_one, one.message, roster
                    )
                else:
                    cost_us = ANALYSE_US + ANALYSE_US_PER_BYTE * one.bytes
                    if not turn.takes(cost_us):
                        await turn.pause(cost_us)
                    analysis = self._analyse_one(one.message, roster)
                analyses.append(analysis)
                if len(analyses) < len(accepted):  # nobody comes after the last
                    assert isinstance(roster, BatchRoster)
                    roster.note(one.message, analysis.message_type)
        return analyses

    def _check_sizes(self, answer: Accepted | Refused) -> Accepted | Refused:
        """Refuse a message whose vector is not of its embedder's size."""
        if isinstance(answer, Accepted):
            for i, one in enumerate(answer.message.embeddings):
                if self._dims_of(one.embedder_id) not in {0, len(one.values)}:
                    return Refused(
                        answer.message.id,
                        RefusalCode.BAD_EMBEDDING,
                        f"embeddings[{i}]",
                        answer.bytes,
                    )
        return answer

    def _analyse_one(self, message: Message, roster: ChannelRoster | BatchRoster) -> Analysis:
        try:
            return self._analyzer.analyze(message, roster, parent_is_question=roster.is_question)
        except Exception:
            # An analyzer that fails costs the message its keywords, not its place in history.
            self.failed_analyses += 1
            logger.exception("the analysis of a message failed")
            return plain_analysis(message)


def plain_analysis(message: Message) -> Analysis:
    """The least that can be said of a message. Bytes are an upper bound of its tokens."""
    text = message.text
    mentioned = dict.fromkeys(mention.user_id for mention in message.mentions if mention.user_id)
    return Analysis(
        text=text,
        message_type=MessageType.DISCUSSION,
        mention_ids=tuple(mentioned),
        token_count=len(text.encode()) + 1,
        reply=message.reply,
    )


def merge_results(
    checked: Sequence[Accepted | Refused], stored: Sequence[AppendResult]
) -> list[AppendResult]:
    """One result an item in the order sent: the store's for accepted ones, warnings of both, and the refusals."""
    corrected = [one for one in checked if type(one) is Accepted and one.warnings]
    if not corrected and len(stored) == len(checked):
        return list(stored)
    answers = iter(stored)
    results: list[AppendResult] = []
    for one in checked:
        if isinstance(one, Refused):
            results.append(
                AppendResult(
                    one.message_id, AppendOutcome.REFUSED, refusal=one.code, field=one.field
                )
            )
            continue
        result = next(answers)
        if one.warnings:
            warnings = tuple(dict.fromkeys(one.warnings + result.warnings))
            result = replace(result, warnings=warnings)
        results.append(result)
    return results
