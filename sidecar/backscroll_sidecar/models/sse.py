"""Server-sent events from the bytes of a body. Pure, no SDK: the vendor's own reader hides that a body ended early."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, AsyncIterator

import orjson

from backscroll_sidecar.models.faults import failed
from backscroll_sidecar.ports import ModelFault

DONE = b"[DONE]"
"""What OpenAI's servers send as their last event."""
MAX_EVENT_BYTES = 8 * 1024 * 1024
"""Most bytes of one event: they are held until it ends."""

_LINE_END = re.compile(rb"\r\n|\n|\r(?!\Z)")  # a CR at the end may be half of a CR LF
_FIELD = b"data:"


async def event_data(body: AsyncIterator[bytes]) -> AsyncGenerator[list[bytes], None]:
    """The data of each event as soon as it is whole, with others that the same bytes made whole.

    Comments and other fields are left out.

    A body may end without the blank line behind its last event, but not inside of one.

    Raises
    ------
    ModelError
        CONNECTION where the body ends inside an event: behind a proxy, or with HTTP/1.0, it is all that a cut leaves
        to be seen. BAD_RESPONSE where an event is too large.
    """
    data: list[bytes] = []
    held: list[bytes] = []
    size = 0
    async for piece in body:
        held.append(piece)
        size += len(piece)
        if size > MAX_EVENT_BYTES:
            raise failed(ModelFault.BAD_RESPONSE, "the model's answer is too large")
        if b"\n" not in piece and b"\r" not in piece:
            continue
        events: list[bytes] = []
        *lines, rest = _LINE_END.split(b"".join(held))
        held = [rest]
        for line in lines:
            if line.startswith(_FIELD):
                data.append(line[len(_FIELD) :].removeprefix(b" "))
            elif data and not line:
                events.append(b"\n".join(data))
                data = []
        size = len(rest) + sum(map(len, data))
        if events:
            yield events
    rest = b"".join(held)
    if rest.startswith(_FIELD):
        data.append(rest[len(_FIELD) :])
    last = b"\n".join(data).strip()
    if last == DONE or (last and _is_json(last)):
        yield [last]
    elif last or (rest and _FIELD.startswith(rest)):
        raise failed(ModelFault.CONNECTION)


def loaded(data: bytes) -> object:
    """The JSON of an event or a body. Halves of a character may come alone, in deltas of their own."""
    try:
        return orjson.loads(data)
    except ValueError:
        pass  # it takes no halves of characters; whatever else is wrong, the other says as well
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        raise failed(ModelFault.BAD_RESPONSE) from None


def _is_json(data: bytes) -> bool:
    try:
        json.loads(data)
    except (ValueError, RecursionError):
        return False
    return True
