"""A client's request passed on to a vendor of OpenAI's shape, its answer read while it is passed back. No SDK."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Iterator, Mapping

import orjson

from backscroll_sidecar.models.answer_events import MAX_SAID_CHARS, Wait, said_in, soon
from backscroll_sidecar.models.answer_reader import AnswerReader
from backscroll_sidecar.models.faults import Filtered
from backscroll_sidecar.models.sse import EventBuffer
from backscroll_sidecar.ports import (
    ModelError,
    ModelEvent,
    Relay,
    Relayed,
    TextDelta,
    TextTakenBack,
    VendorAnswer,
)

_KEY_REFUSED = (401, 403)
_REFUSALS = range(400, 600)
_TOLD = ("content-type", "request-id", "retry-after", "retry-after-ms", "x-request-id")
_TOLD_OF = ("openai-", "x-ratelimit-")


def client_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Those of a vendor's answer that concern its client; not those of the connection, nor cookies.

    Their values are Latin-1, as HTTP carries them: what a vendor wrote as UTF-8 goes on as the same bytes.
    """
    found = ((name.lower(), value) for name, value in headers.items())
    return {
        name: value if value.isascii() else value.encode().decode("latin-1")
        for name, value in found
        if name in _TOLD or name.startswith(_TOLD_OF)
    }


def refusal_of(
    status: int, headers: Mapping[str, str], body: bytes, secrets: Iterable[str]
) -> VendorAnswer | None:
    """What a client may be told of a refusal; nothing of one that is about the server's own key, or shows it.

    Nor of a redirect, or of a status that is none: they are about where the server was sent to.
    """
    is_ours = status in _KEY_REFUSED or status not in _REFUSALS
    if is_ours or any(one.encode() in body for one in secrets if one):
        return None
    return VendorAnswer(status, client_headers(headers), body)


def relayed_body(relay: Relay, payload: bytes) -> bytes:
    """The client's request with other messages: those of the context come from our payload."""
    messages = relay.messages(orjson.loads(payload)["messages"])
    return orjson.dumps({**relay.fields, "messages": messages})


async def relayed_events(
    body: AsyncIterator[bytes], reader: AnswerReader, wait: Wait, deadline: float | None
) -> AsyncGenerator[ModelEvent, None]:
    """Each piece of an answer as it came, and what it said. Raises `ModelError` where it breaks off.

    Every piece is passed on, also what the reader does not understand or has enough of.
    """
    reading = _Reading(reader)
    patience: float | None = None
    while True:
        try:
            piece = await wait(anext(body, None), patience or deadline)
        except ModelError as error:
            reading.stop(error)
            break
        if piece is None:
            break
        yield Relayed(piece)
        for event in reading.feed(piece):
            yield event
        if reading.is_over and patience is None:
            patience = soon(deadline)
    for event in reading.end():
        yield event


class _Reading:
    """What an answer says, piece by piece, until it fails or is too long."""

    def __init__(self, reader: AnswerReader) -> None:
        self._reader = reader
        self._buffer = EventBuffer()
        self._failure: ModelError | None = None
        self._has_stopped = False
        self.is_over = False
        """Whether the model is done: only usage and the end may come."""

    def feed(self, piece: bytes) -> Iterator[ModelEvent]:
        if not self._has_stopped:
            yield from self._heard(lambda: self._buffer.feed(piece))

    def end(self) -> Iterator[ModelEvent]:
        """The last events. Raises `ModelError` where the answer is not whole."""
        if not self._has_stopped:
            yield from self._heard(self._buffer.end)
        if isinstance(self._failure, Filtered):
            self._reader.filter()
        elif self._failure is not None and not self.is_over:
            if rest := self._reader.rest(is_cut=True):
                yield TextDelta(rest)
            raise self._failure
        yield from self._reader.end()

    def stop(self, failure: ModelError) -> None:
        """Nothing more is read. The first failure counts."""
        self._failure, self._has_stopped = self._failure or failure, True

    def _heard(self, events: Callable[[], list[bytes]]) -> Iterator[ModelEvent]:
        try:
            said = said_in(events(), self._reader)
        except ModelError as error:
            self.stop(error)
            return
        if said.took_back:
            yield TextTakenBack()
        if said.text:
            yield TextDelta(said.text)
        if said.failure is not None:
            self.stop(said.failure)
        self.is_over = self.is_over or said.is_done or self._reader.finished
        if (
            self._reader.said_chars > MAX_SAID_CHARS
        ):  # no end of the answer, which is passed on whole
            self._reader.cut_off()
            self._has_stopped = True
