"""The model that needs no key and no network: it repeats the question and says that it does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager

from backscroll_sidecar.domain import Role
from backscroll_sidecar.models.answer_reader import clean
from backscroll_sidecar.models.faults import failed
from backscroll_sidecar.ports import (
    Finished,
    FinishReason,
    ModelEvent,
    ModelFault,
    ModelRequest,
    TextDelta,
)
from backscroll_sidecar.texts import NEUTRAL, Wordings

MAX_QUESTION_CHARS = 1_000
QUESTION_DELTAS = 3
BYTES_A_TOKEN = 4


class EchoModel:
    """`ChatModel` that answers with a notice and the last message of a user.

    The notice is in the server's language, else in the message's: a model is not told what a request wants.

    `max_output_tokens` cuts the answer, a token being four bytes, and ends it with LENGTH. There is no usage: nobody
    counted.
    """

    def __init__(self, wordings: Wordings = NEUTRAL) -> None:
        self._wordings = wordings

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncIterator[AsyncIterator[ModelEvent]]:
        if request.timeout_s is not None and request.timeout_s <= 0:
            raise failed(ModelFault.TIMEOUT)
        events = _each(_answer(request, self._wordings))
        async with aclosing(events):
            yield events

    async def complete(self, request: ModelRequest) -> Sequence[ModelEvent]:
        async with self.stream(request) as events:
            *deltas, last = [event async for event in events]
        text = "".join(delta.text for delta in deltas if isinstance(delta, TextDelta))
        return [TextDelta(text), last] if text else [last]

    async def close(self) -> None:
        """Nothing to release."""


async def _each(events: Sequence[ModelEvent]) -> AsyncGenerator[ModelEvent, None]:
    for event in events:
        await asyncio.sleep(0)
        yield event


def _answer(request: ModelRequest, wordings: Wordings) -> list[ModelEvent]:
    said = (one.content for one in reversed(request.messages) if one.role is Role.USER)
    question = clean(next(said, "")).strip()
    texts = wordings.of(None, question)
    question = question or texts.no_text
    if len(question) > MAX_QUESTION_CHARS:
        question = "…" + question[1 - MAX_QUESTION_CHARS :]
    size = -(-len(question) // QUESTION_DELTAS)
    pieces = [
        texts.echo_notice,
        *(question[at : at + size] for at in range(0, len(question), size)),
    ]
    limit = request.max_output_tokens
    reason = FinishReason.STOP
    if limit is not None and len("".join(pieces).encode()) > limit * BYTES_A_TOKEN:
        pieces, reason = _cut(pieces, limit * BYTES_A_TOKEN), FinishReason.LENGTH
    return [*map(TextDelta, pieces), Finished(reason)]


def _cut(pieces: Sequence[str], size: int) -> list[str]:
    kept = []
    for piece in pieces:
        part = piece.encode()[: max(size, 0)].decode(errors="ignore")
        size -= len(piece.encode())
        if part:
            kept.append(part)
    return kept
