"""From the bytes of a model's answer to the events of the port. No SDK."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable
from contextlib import aclosing
from typing import NamedTuple, Protocol, TypeVar

from backscroll_sidecar.models.answer_reader import AnswerReader
from backscroll_sidecar.models.faults import Filtered
from backscroll_sidecar.models.sse import DONE, event_data, is_heartbeat, loaded
from backscroll_sidecar.ports import ModelError, ModelEvent, TextDelta, TextTakenBack

T = TypeVar("T")

MAX_SAID_CHARS = 1 << 20
"""Of an answer and its thoughts. A longer one ends here with LENGTH."""
AFTER_FINISH_S = 2.0
"""How long to wait for usage and the end once the model has said why it stopped."""


class Wait(Protocol):
    """Waits for something until a time of the loop; raises nothing but `ModelError`."""

    async def __call__(self, awaited: Awaitable[T], deadline: float | None) -> T:
        """What `awaited` gives."""


class _Said(NamedTuple):
    """What events that came together said.

    Attributes
    ----------
    text : of them together.
    took_back : whether all text before them was thoughts.
    is_done : whether the last of the stream was among them.
    failure : what failed behind that text.
    """

    text: str = ""
    took_back: bool = False
    is_done: bool = False
    failure: ModelError | None = None


async def read_events(
    body: AsyncIterator[bytes], reader: AnswerReader, wait: Wait, deadline: float | None
) -> AsyncGenerator[ModelEvent, None]:
    """The events of one answer. Raises `ModelError` where it breaks off before the model stopped."""
    is_over, failure = False, None
    patience: float | None = None
    async with aclosing(event_data(body)) as stream:
        while failure is None:
            try:
                events = await wait(anext(stream, None), patience or deadline)
            except ModelError as error:
                failure = error
                break
            if events is None:
                break
            said = said_in(events, reader)
            if said.took_back:
                yield TextTakenBack()
            if said.text:
                yield TextDelta(said.text)
            failure = said.failure
            if reader.said_chars > MAX_SAID_CHARS:
                reader.cut_off()
                break
            is_over = is_over or reader.finished or said.is_done
            if is_over and patience is None:
                patience = soon(deadline)
    if isinstance(failure, Filtered):
        reader.filter()
    elif failure is not None and not is_over:
        if rest := reader.rest(is_cut=True):
            yield TextDelta(rest)
        raise failure  # else the text is whole, and only usage is missing
    for event in reader.end():
        yield event


def said_in(events: list[bytes], reader: AnswerReader) -> _Said:
    """Deltas that came together are one, so a slow reader gets fewer and longer ones."""
    texts: list[str] = []
    took_back = is_done = False
    failure: ModelError | None = None
    for data in events:
        if data == DONE:
            is_done = reader.is_whole = True
            continue
        if is_heartbeat(data):
            continue
        try:
            text = reader.take(loaded(data))
        except ModelError as error:
            failure = error
            break
        if reader.has_taken_back:
            took_back, reader.has_taken_back = True, False
            texts.clear()
        if text:
            texts.append(text)
    return _Said("".join(texts), took_back, is_done, failure)


def soon(deadline: float | None) -> float:
    """Until when to wait for what comes behind a finished answer."""
    at = asyncio.get_running_loop().time() + AFTER_FINISH_S
    return at if deadline is None else min(at, deadline)
