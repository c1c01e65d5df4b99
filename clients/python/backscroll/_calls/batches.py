"""Messages cut into runs that fit one call, for appends and imports."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from backscroll._encode import encode
from backscroll.v1 import history_pb2, message_pb2
from backscroll.values import Message

BATCH_ITEMS = 1_000
BATCH_BYTES = 3_500 * 1024  # the server refuses 4 MiB; the rest is for what surrounds the messages
_ITEM_FRAME_BYTES = 5  # tag and length of a message inside its request

AnyMessage: TypeAlias = Message | message_pb2.Message
AnyImport: TypeAlias = AnyMessage | history_pb2.ImportMessagesRequest


def batches(messages: Iterable[message_pb2.Message]) -> Iterator[list[message_pb2.Message]]:
    """Cut into runs that fit one call. A message too large for any call comes alone."""
    batcher = Batcher()
    for message in messages:
        yield from batcher.add(message)
    yield from batcher.rest()


def refusal_of(message: message_pb2.Message) -> history_pb2.AppendResult | None:
    """What the server would say of a message that no call can carry; it need not be sent."""
    if message.ByteSize() <= BATCH_BYTES:
        return None
    return history_pb2.AppendResult(
        message_id=message.id,
        outcome=history_pb2.APPEND_OUTCOME_REFUSED,
        refusal=history_pb2.APPEND_REFUSAL_TEXT_TOO_LARGE,
        field="parts",
    )


class Batcher:
    """Collects messages into batches of at most 1,000 messages and 3.5 MiB, in order."""

    def __init__(self) -> None:
        self._batch: list[message_pb2.Message] = []
        self._bytes = 0

    def add(self, message: message_pb2.Message) -> Iterator[list[message_pb2.Message]]:
        size = message.ByteSize() + _ITEM_FRAME_BYTES
        if self._bytes + size > BATCH_BYTES or len(self._batch) == BATCH_ITEMS:
            yield from self.rest()
        self._batch.append(message)
        self._bytes += size

    def rest(self) -> Iterator[list[message_pb2.Message]]:
        if self._batch:
            yield self._batch
        self._batch, self._bytes = [], 0


class Importer:
    """Turns what an import is given into requests, and its answer into the import's."""

    def __init__(self, channel: str, *, restore_erased: bool = False) -> None:
        self._channel = channel
        self._restore_erased = restore_erased
        self._batcher = Batcher()
        self._refused: list[history_pb2.AppendResult] = []
        self.sent_count = 0

    def requests(
        self, messages: Iterable[AnyImport | Iterable[AnyMessage]]
    ) -> Iterator[history_pb2.ImportMessagesRequest]:
        for given in messages:
            yield from self.add(given)
        yield from self.rest()

    def add(
        self, given: AnyImport | Iterable[AnyMessage]
    ) -> Iterator[history_pb2.ImportMessagesRequest]:
        if isinstance(given, history_pb2.ImportMessagesRequest):
            yield from self.rest()  # in the order given
            self.sent_count += len(given.messages)
            yield given
            return
        for message in each_message(given):
            for batch in self._batcher.add(message):
                yield from self._request(batch)

    def rest(self) -> Iterator[history_pb2.ImportMessagesRequest]:
        for batch in self._batcher.rest():
            yield from self._request(batch)

    def finish(
        self, response: history_pb2.ImportMessagesResponse
    ) -> history_pb2.ImportMessagesResponse:
        response.refused_count += len(self._refused)
        response.problems.extend(self._refused[: 100 - len(response.problems)])
        return response

    def _request(
        self, batch: list[message_pb2.Message]
    ) -> Iterator[history_pb2.ImportMessagesRequest]:
        if refused := refusal_of(batch[0]):
            self._refused.append(refused)
            return
        request = encode(
            history_pb2.ImportMessagesRequest,
            channel=self._channel,
            restore_erased=self._restore_erased,
        )
        request.messages.extend(batch)
        self.sent_count += len(batch)
        yield request


def each_message(messages: AnyMessage | Iterable[AnyMessage]) -> Iterator[message_pb2.Message]:
    """Every message given, as protobuf."""
    given = (messages,) if isinstance(messages, Message | message_pb2.Message) else messages
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        raise _no_message(given)
    for message in given:
        if isinstance(message, Message):
            yield message.to_proto()
        elif isinstance(message, message_pb2.Message):
            yield message
        else:
            raise _no_message(message)


def _no_message(given: object) -> TypeError:
    return TypeError(
        f"a backscroll.Message is wanted, or several, not {type(given).__name__}: "
        "Message(id, author, text, sent_at)"
    )
