"""Imports: any number of batches of any channels, one at a time, so that the sender waits for the store."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterable, Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from typing import NamedTuple, TypeVar

from msgspec.structs import replace

from backscroll_sidecar.domain import (
    AppendOutcome,
    AppendResult,
    ChannelKey,
    Member,
    Message,
    WarningCode,
)
from backscroll_sidecar.errors import Conflict, Gone, InvalidRequest, NotFound, Overloaded
from backscroll_sidecar.history.service import HistoryService

CHUNK_ITEMS = 250
MAX_PROBLEMS = 100
OVERLOAD_TRIES = 20
OVERLOAD_PAUSE_S = 0.25
T = TypeVar("T")
_STORED, _DUPLICATE = AppendOutcome.STORED, AppendOutcome.DUPLICATE


class ImportMarks(NamedTuple):
    """What an export tells of a message beside its content."""

    alias_ids: Sequence[str] = ()
    is_recalled: bool = False


class ImportMembers(NamedTuple):
    """Whom an export tells of, and as of when; None: now."""

    channel: str
    members: Sequence[Member]
    at_ms: int | None = None


class ImportBatch(NamedTuple):
    """One batch, and whether it may bring back what went when its whole channel was erased.

    `rank_times_ms` holds, for each message or for none, where it stood in the server it comes from; 0: not known.
    `marks` are those of some messages, by their place in the batch; `people` are known before the messages.
    """

    messages: Sequence[Message]
    restores_erased: bool = False
    rank_times_ms: Sequence[int] = ()
    marks: Mapping[int, ImportMarks] = {}
    people: ImportMembers | None = None


@dataclass(frozen=True, slots=True)
class ImportProblem:
    """A message that was refused or is in conflict. `position` counts the messages of the import from 0."""

    position: int
    channel: str
    result: AppendResult


@dataclass(slots=True)
class ImportReport:
    """What became of an import. `problems` holds the first `MAX_PROBLEMS`; `warned_count` counts accepted items."""

    outcomes: Counter[AppendOutcome] = field(default_factory=Counter)
    warnings: Counter[WarningCode] = field(default_factory=Counter)
    problems: list[ImportProblem] = field(default_factory=list)
    message_count: int = 0
    warned_count: int = 0

    def add(self, channel: str, results: Sequence[AppendResult]) -> None:
        """Count the results of one chunk."""
        for result in results:
            self.outcomes[result.outcome] += 1
            self.warnings.update(result.warnings)
            self.warned_count += bool(result.warnings)
            if result.outcome in {AppendOutcome.REFUSED, AppendOutcome.CONFLICT}:
                self.complain(channel, result)
            self.message_count += 1

    def complain(self, channel: str, result: AppendResult, place: int = 0) -> None:
        """Keep what is wrong with a message, `place` behind those that are counted, while there is room."""
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(ImportProblem(self.message_count + place, channel, result))


async def import_batches(
    tenant: str, batches: AsyncIterable[ImportBatch], history: HistoryService
) -> ImportReport:
    """Append every batch before the next one is read.

    Each chunk is committed on its own and what is there already is a duplicate, so an import that broke off is
    simply run again. A full queue makes it wait; only a queue that stays full ends it.
    """
    report = ImportReport()
    async for batch in batches:
        await _import_people(tenant, batch.people, history)
        start = 0
        for channel, chunk in chunks_by_channel(batch.messages):
            key = ChannelKey(tenant, channel)
            times_ms = batch.rank_times_ms[start : start + len(chunk)]
            append = partial(
                history.append,
                key,
                chunk,
                restores_erased=batch.restores_erased,
                rank_times_ms=times_ms,
            )
            results = await _patient(append)
            given = {
                i: batch.marks[start + i] for i in range(len(chunk)) if start + i in batch.marks
            }
            if given:
                results = await _marked(history, key, results, given, report)
            start += len(chunk)
            report.add(channel, results)
    return report


async def _import_people(
    tenant: str, people: ImportMembers | None, history: HistoryService
) -> None:
    if people is not None:
        key = ChannelKey(tenant, people.channel)
        await _patient(partial(history.add_members, key, people.members, people.at_ms))


async def _marked(
    history: HistoryService,
    key: ChannelKey,
    results: Sequence[AppendResult],
    marks: Mapping[int, ImportMarks],
    report: ImportReport,
) -> list[AppendResult]:
    """Give messages their other ids and take them back, where they are those of the export; what became of all."""
    out = list(results)
    aliases: list[Callable[[], Awaitable[None]]] = []
    retractions: list[Callable[[], Awaitable[None]]] = []
    for i, (alias_ids, is_recalled) in marks.items():
        result = results[i]
        if is_recalled and result.outcome is AppendOutcome.GONE and result.seq:
            out[i] = replace(result, outcome=AppendOutcome.DUPLICATE)  # recalled here as well
        if result.outcome not in {AppendOutcome.STORED, AppendOutcome.DUPLICATE}:
            continue
        message_id = result.message_id
        for alias_id in alias_ids:
            problem = AppendResult(
                message_id, AppendOutcome.CONFLICT, field="alias_ids", seq=result.seq
            )
            complain = partial(report.complain, key.channel, problem, i)
            ask = partial(history.alias, key, message_id, alias_id)
            aliases.append(partial(_asked, ask, complain))
        if is_recalled and WarningCode.METADATA_DIFFERS not in result.warnings:
            retractions.append(partial(_asked, partial(history.retract, key, message_id)))
    for asked in (aliases, retractions):
        for first in range(0, len(asked), CHUNK_ITEMS):  # together they are one group of the writer
            await asyncio.gather(*(ask() for ask in asked[first : first + CHUNK_ITEMS]))
    return out


async def _asked(
    ask: Callable[[], Awaitable[None]], complain: Callable[[], None] = lambda: None
) -> None:
    """Change a message; where this one cannot be changed so, say it."""
    try:
        await _patient(ask)
    except (Conflict, Gone, NotFound, InvalidRequest):
        complain()


def chunks_by_channel(batch: Sequence[Message]) -> Iterator[tuple[str, list[Message]]]:
    """Cut a batch where the channel changes and every `CHUNK_ITEMS` messages; the order stays."""
    for channel, run in groupby(batch, key=lambda message: message.channel):
        messages = list(run)
        for start in range(0, len(messages), CHUNK_ITEMS):
            yield channel, messages[start : start + CHUNK_ITEMS]


async def _patient(ask: Callable[[], Awaitable[T]]) -> T:
    for _ in range(OVERLOAD_TRIES - 1):
        try:
            return await ask()
        except Overloaded:
            await asyncio.sleep(OVERLOAD_PAUSE_S)
    return await ask()
