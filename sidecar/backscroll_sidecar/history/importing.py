"""Imports: any number of batches of any channels, one at a time, so that the sender waits for the store."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterable, Awaitable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import NamedTuple, Protocol

from backscroll_sidecar.domain import (
    AppendOutcome,
    AppendResult,
    ChannelKey,
    Message,
    WarningCode,
)
from backscroll_sidecar.errors import Overloaded

CHUNK_ITEMS = 250
MAX_PROBLEMS = 100
OVERLOAD_TRIES = 20
OVERLOAD_PAUSE_S = 0.25


class Append(Protocol):
    """`HistoryService.append`."""

    def __call__(
        self,
        key: ChannelKey,
        messages: Sequence[Message],
        *,
        restores_erased: bool,
        rank_times_ms: Sequence[int],
    ) -> Awaitable[list[AppendResult]]: ...


class ImportBatch(NamedTuple):
    """One batch, and whether it may bring back what went when its whole channel was erased.

    `rank_times_ms` holds, for each message or for none, where it stood in the server it comes from; 0: not known.
    """

    messages: Sequence[Message]
    restores_erased: bool = False
    rank_times_ms: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class Problem:
    """A message that was refused or is in conflict. `position` counts the messages of the import from 0."""

    position: int
    channel: str
    result: AppendResult


@dataclass(slots=True)
class ImportReport:
    """What became of an import. `problems` holds the first `MAX_PROBLEMS`; `warned_count` counts accepted items."""

    outcomes: Counter[AppendOutcome] = field(default_factory=Counter)
    warnings: Counter[WarningCode] = field(default_factory=Counter)
    problems: list[Problem] = field(default_factory=list)
    message_count: int = 0
    warned_count: int = 0

    def add(self, channel: str, results: Sequence[AppendResult]) -> None:
        """Count the results of one chunk."""
        for result in results:
            self.outcomes[result.outcome] += 1
            self.warnings.update(result.warnings)
            self.warned_count += bool(result.warnings)
            bad = result.outcome in {AppendOutcome.REFUSED, AppendOutcome.CONFLICT}
            if bad and len(self.problems) < MAX_PROBLEMS:
                self.problems.append(Problem(self.message_count, channel, result))
            self.message_count += 1


async def import_batches(
    tenant: str, batches: AsyncIterable[ImportBatch], append: Append
) -> ImportReport:
    """Append every batch before the next one is read.

    Each chunk is committed on its own and what is there already is a duplicate, so an import that broke off is
    simply run again. A full queue makes it wait; only a queue that stays full ends it.
    """
    report = ImportReport()
    async for batch in batches:
        start = 0
        for channel, chunk in chunks_by_channel(batch.messages):
            key = ChannelKey(tenant, channel)
            times_ms = batch.rank_times_ms[start : start + len(chunk)]
            start += len(chunk)
            part = ImportBatch(chunk, batch.restores_erased, times_ms)
            report.add(channel, await _patient(append, key, part))
    return report


def chunks_by_channel(batch: Sequence[Message]) -> Iterator[tuple[str, list[Message]]]:
    """Cut a batch where the channel changes and every `CHUNK_ITEMS` messages; the order stays."""
    for channel, run in groupby(batch, key=lambda message: message.channel):
        messages = list(run)
        for start in range(0, len(messages), CHUNK_ITEMS):
            yield channel, messages[start : start + CHUNK_ITEMS]


async def _patient(append: Append, key: ChannelKey, chunk: ImportBatch) -> list[AppendResult]:
    messages, restores_erased, rank_times_ms = chunk
    for _ in range(OVERLOAD_TRIES - 1):
        try:
            return await append(
                key, messages, restores_erased=restores_erased, rank_times_ms=rank_times_ms
            )
        except Overloaded:
            await asyncio.sleep(OVERLOAD_PAUSE_S)
    return await append(key, messages, restores_erased=restores_erased, rank_times_ms=rank_times_ms)
