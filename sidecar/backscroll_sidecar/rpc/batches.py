"""Batches of messages: translated item by item, so that a bad one never harms the others."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from backscroll.v1 import history_pb2 as pb
from backscroll.v1 import message_pb2
from backscroll_sidecar.domain import (
    AppendOutcome,
    AppendResult,
    ChannelKey,
    Message,
    RefusalCode,
)
from backscroll_sidecar.errors import InvalidRequest, Reason
from backscroll_sidecar.history.importing import ImportReport
from backscroll_sidecar.history.lane import LoopSlices
from backscroll_sidecar.history.service import HistoryService
from backscroll_sidecar.rpc.checks import required_id
from backscroll_sidecar.rpc.lenient import Batch
from backscroll_sidecar.rpc.limits import (
    MAX_EMBEDDINGS,
    MAX_IMPORT_PROBLEMS,
    MAX_MENTIONS,
    MAX_PARTS,
)
from backscroll_sidecar.rpc.translate_history import result_to_proto
from backscroll_sidecar.rpc.translate_messages import message_from_proto
from backscroll_sidecar.rpc.wire import LENGTH, lengthed, tag

ITEM_US = 15
RESULT_US = 5
_RESULTS = tag(pb.AppendMessagesResponse, "results", LENGTH)


async def append_batch(
    history: HistoryService, key: ChannelKey, batch: Batch, deadline_s: float | None
) -> list[AppendResult]:
    """Store what of a batch can be stored; one result an item, in the order sent."""
    items = await _translate(batch)
    messages = [item for item in items if isinstance(item, Message)]
    stored = iter(await history.append(key, messages, deadline_s=deadline_s))
    return [item if isinstance(item, AppendResult) else next(stored) for item in items]


async def encode_results(results: Sequence[AppendResult]) -> bytes:
    """Serialise the answer to a batch."""
    slices = LoopSlices()
    pieces = []
    for result in results:
        await slices.spend(RESULT_US)
        pieces.append(lengthed(_RESULTS, result_to_proto(result).SerializeToString()))
    return b"".join(pieces)


_MOST = (("parts", MAX_PARTS), ("mentions", MAX_MENTIONS), ("embeddings", MAX_EMBEDDINGS))
"""A message of more has no meaning, and going through it would hold everybody else up."""


class ImportSource:
    """The messages of an import, one batch at a time, and what the edge refused of them itself."""

    def __init__(self, batches: AsyncIterator[Batch]) -> None:
        self._batches = batches
        self._passed = 0
        self._refused: list[tuple[int, AppendResult]] = []
        self.refused_count = 0

    async def messages(self) -> AsyncIterator[list[Message]]:
        """The next batch is not read before the last one was taken: the sender waits for the store."""
        async for batch in self._batches:
            passed: list[Message] = []
            for item in await _translate(batch):
                result = item if isinstance(item, AppendResult) else _check_channel(item)
                if result is None:
                    assert isinstance(item, Message)
                    passed.append(item)
                else:
                    self._refuse(result, self._passed + len(passed))
            self._passed += len(passed)
            yield passed

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


async def _translate(batch: Batch) -> list[Message | AppendResult]:
    slices = LoopSlices()
    items: list[Message | AppendResult] = []
    for item in batch.items:
        if isinstance(item, AppendResult):
            items.append(item)
            continue
        crowded = next((field for field, most in _MOST if len(getattr(item, field)) > most), None)
        if crowded:
            items.append(_refused(item, RefusalCode.TEXT_TOO_LARGE, crowded))
            continue
        await slices.spend(ITEM_US + len(item.parts) + len(item.mentions))
        try:
            items.append(message_from_proto(item, batch.channel))
        except InvalidRequest as error:
            items.append(_refused(item, RefusalCode.UNKNOWN_ENUM, error.field))
    return items


def _refused(item: message_pb2.Message, code: RefusalCode, field: str) -> AppendResult:
    return AppendResult(item.id, AppendOutcome.REFUSED, refusal=code, field=field)


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
