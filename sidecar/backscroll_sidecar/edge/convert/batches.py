"""Batches of messages: translated item by item, so that a bad one never harms the others."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

from msgspec.structs import replace

from backscroll.v1 import history_pb2 as pb
from backscroll.v1 import message_pb2
from backscroll_sidecar.concurrency.time_slicing import LoopSlices
from backscroll_sidecar.domain import (
    AppendOutcome,
    AppendResult,
    ChannelKey,
    Message,
    RefusalCode,
)
from backscroll_sidecar.edge.convert.fields import (
    OUTCOME_NUMBERS,
    check_id,
    check_time,
    required_id,
)
from backscroll_sidecar.edge.convert.history import members_from_proto, result_fields
from backscroll_sidecar.edge.convert.messages import message_from_proto
from backscroll_sidecar.edge.convert.parsing import Batch
from backscroll_sidecar.edge.convert.wire import LENGTH, VARINT, lengthed, tag, varint
from backscroll_sidecar.edge.limits import MAX_IMPORT_PROBLEMS
from backscroll_sidecar.errors import InvalidRequest, Reason
from backscroll_sidecar.history.importing import (
    ImportBatch,
    ImportMarks,
    ImportMembers,
    ImportReport,
)
from backscroll_sidecar.history.service import HistoryService

ITEM_US = 10
RESULTS_A_SLICE = 250

_RESULTS = tag(pb.AppendMessagesResponse, "results", LENGTH)
_MESSAGE_ID = tag(pb.AppendResult, "message_id", LENGTH)
_STORED_AS = (
    tag(pb.AppendResult, "outcome", VARINT)
    + varint(OUTCOME_NUMBERS[AppendOutcome.STORED])
    + tag(pb.AppendResult, "sequence", VARINT)
)


async def append_batch(
    history: HistoryService, key: ChannelKey, batch: Batch, deadline_s: float | None
) -> list[AppendResult]:
    """Store what of a batch can be stored; one result an item, in the order sent."""
    items = await _translate(batch)
    messages = [item for item in items if type(item) is Message]
    context_id = check_id(batch.context_id, "context_id")
    results = await history.append(key, messages, deadline_s=deadline_s, context_id=context_id)
    if len(messages) == len(items):
        return results
    stored = iter(results)
    return [item if isinstance(item, AppendResult) else next(stored) for item in items]


async def encode_results(results: Sequence[AppendResult]) -> bytes:
    """Serialise the answer to a batch."""
    encoded: list[bytes] = []
    for start in range(0, len(results), RESULTS_A_SLICE):
        if start:
            await asyncio.sleep(0)
        encoded += map(_encoded, results[start : start + RESULTS_A_SLICE])
    return b"".join(encoded)


def _encoded(result: AppendResult) -> bytes:
    """One result as a field of the answer."""
    if result.outcome is AppendOutcome.STORED and not result.warnings:
        message_id = result.message_id.encode()
        body = b"".join((
            _MESSAGE_ID, varint(len(message_id)), message_id, _STORED_AS, varint(result.seq),
        ))  # fmt: skip
    else:
        body = pb.AppendResult(**result_fields(result)).SerializeToString()
    return lengthed(_RESULTS, body)


class ImportSource:
    """The messages of an import, one batch at a time, and what the edge refused of them itself."""

    def __init__(self, batches: AsyncIterator[Batch]) -> None:
        self._batches = batches
        self._passed = 0
        self._refused: list[tuple[int, AppendResult]] = []
        self.refused_count = 0

    async def messages(self) -> AsyncIterator[ImportBatch]:
        """The next batch is not read before the last one was taken: the sender waits for the store."""
        async for batch in self._batches:
            passed: list[Message] = []
            times_ms: list[int] = []
            marks: dict[int, ImportMarks] = {}
            for sent, item in zip(batch.items[:], await _translate(batch), strict=True):
                result = item if isinstance(item, AppendResult) else _check_channel(item)
                if result is None:
                    assert isinstance(item, Message)
                    assert isinstance(sent, message_pb2.Message)
                    if sent.recalled or sent.alias_ids:
                        marks[len(passed)] = ImportMarks(tuple(sent.alias_ids), sent.recalled)
                    if sent.recalled:
                        item = replace(item, parts=(), mentions=(), embeddings=())  # noqa: PLW2901
                    passed.append(item)
                    times_ms.append(sent.rank_time_ms)
                else:
                    self._refuse(result, self._passed + len(passed))
            self._passed += len(passed)
            yield ImportBatch(passed, batch.restores_erased, times_ms, marks, await _people(batch))

    def problems(self, report: ImportReport) -> list[AppendResult]:
        """The first problems of both, in the order sent."""
        # A refusal of ours stands before the message that was passed on next.
        ours = [(position, 0, result) for position, result in self._refused]
        theirs = [(problem.position, 1, problem.result) for problem in report.problems]
        ordered = sorted(ours + theirs, key=lambda one: one[:2])
        return [result for _, _, result in ordered[:MAX_IMPORT_PROBLEMS]]

    def _refuse(self, result: AppendResult, position: int) -> None:
        self.refused_count += 1
        if len(self._refused) < MAX_IMPORT_PROBLEMS:
            self._refused.append((position, result))


async def _people(batch: Batch) -> ImportMembers | None:
    """Whom an import tells of."""
    if not batch.members:
        return None
    required_id(batch.channel, "channel")
    members = await members_from_proto(batch.members, with_former_names=True)
    at_ms = batch.members_at_ms
    if at_ms is not None:
        check_time(at_ms, "members_at_ms")
    return ImportMembers(batch.channel, members, at_ms)


async def _translate(batch: Batch) -> list[Message | AppendResult]:
    channel, sent = batch.channel, batch.items
    if len(sent) == 1:
        return [_translated(sent[0], channel)]
    slices = LoopSlices()
    items: list[Message | AppendResult] = []
    cost_us = ITEM_US
    # A copy: protobuf ends an iteration with an IndexError, which costs more than a message.
    for one in sent[:]:
        if not slices.takes(cost_us):
            await asyncio.sleep(0)
        item = _translated(one, channel)
        items.append(item)
        cost_us = ITEM_US
        if type(item) is Message:
            # Long lists are accounted for behind their message: to ask protobuf for their length is half the work.
            cost_us += len(item.parts) + len(item.mentions)
    return items


def _translated(item: message_pb2.Message | AppendResult, channel: str) -> Message | AppendResult:
    if isinstance(item, AppendResult):
        return item
    try:
        return message_from_proto(item, channel)
    except InvalidRequest as error:
        return _refused(item, error)


def _refused(item: message_pb2.Message, error: InvalidRequest) -> AppendResult:
    is_crowded = error.reason is Reason.TOO_LARGE
    code = RefusalCode.TEXT_TOO_LARGE if is_crowded else RefusalCode.UNKNOWN_ENUM
    return AppendResult(item.id, AppendOutcome.REFUSED, refusal=code, field=error.field)


_CHANNEL_REFUSALS = {
    Reason.MISSING_FIELD: RefusalCode.WRONG_CHANNEL,
    Reason.TOO_LARGE: RefusalCode.ID_TOO_LONG,
    Reason.INVALID_FIELD: RefusalCode.NUL_CHARACTER,
}


def _check_channel(message: Message) -> AppendResult | None:
    """Refuse alone what names no possible channel; an append would refuse its whole batch for it."""
    try:
        required_id(message.channel, "channel")
    except InvalidRequest as error:
        return AppendResult(
            message.id,
            AppendOutcome.REFUSED,
            refusal=_CHANNEL_REFUSALS[error.reason],
            field="channel",
        )
    return None
