"""Server-sent events from the bytes of a body. No SDK: the vendor's reader hides an early end."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, AsyncIterator

import orjson

from backscroll_sidecar.models.faults import failed
from backscroll_sidecar.ports import ModelFault
from backscroll_sidecar.texts import FAULTS

DONE = b"[DONE]"
"""The last event of OpenAI's servers."""
MAX_EVENT_BYTES = 8 * 1024 * 1024
"""Most bytes of one event, which are held until it ends."""
MAX_HEARTBEAT_BYTES = 32
"""Most bytes of a heartbeat; anything longer is a fault."""

_LINE_END = re.compile(rb"\r\n|\n|\r(?!\Z)")  # a CR at the end may be half of a CR LF
_FIELD = b"data:"
_MARK = b"\xef\xbb\xbf"
"""A byte order mark: some servers begin with one."""


async def event_data(body: AsyncIterator[bytes]) -> AsyncGenerator[list[bytes], None]:
    """The data of the events that each piece of the body made whole.

    Comments, other fields and events without data are left out. A body of JSON is one event, of a server that does
    not stream. The blank line after the last event may be missing.

    Raises
    ------
    ModelError
        CONNECTION where the body ends inside an event, BAD_RESPONSE where an event is too large.
    """
    buffer = EventBuffer()
    async for piece in body:
        if events := buffer.feed(piece):
            yield events
    if events := buffer.end():
        yield events


class EventBuffer:
    """The data of a body's events, piece by piece: see `event_data`."""

    def __init__(self) -> None:
        self._form: _Events | _Json | None = None
        self._start = b""

    def feed(self, piece: bytes) -> list[bytes]:
        """Those that this piece made whole."""
        read = piece
        if self._form is None:
            self._start += piece
            self._form = _form_of(self._start)
            read = self._start.removeprefix(_MARK)
        return [] if self._form is None else self._form.feed(read)

    def end(self) -> list[bytes]:
        """Those that the body's end made whole."""
        return [] if self._form is None else self._form.end()


def _form_of(start: bytes) -> _Events | _Json | None:
    """The reader for a body that begins so; None while that cannot be told."""
    first = start.removeprefix(_MARK).lstrip()[:1]
    if not first or _MARK.startswith(start):
        return _Events() if len(start) > MAX_EVENT_BYTES else None
    return _Json() if first in b"{[" else _Events()


class _Json:
    """A body that is one JSON text."""

    def __init__(self) -> None:
        self._held: list[bytes] = []
        self._size = 0

    def feed(self, piece: bytes) -> list[bytes]:
        """Nothing yet."""
        self._held.append(piece)
        self._size = _checked(self._size + len(piece))
        return []

    def end(self) -> list[bytes]:
        """The text."""
        return [b"".join(self._held)]


class _Events:
    """A body of server-sent events."""

    def __init__(self) -> None:
        self._data: list[bytes] = []
        self._held: list[bytes] = []
        self._size = 0

    def feed(self, piece: bytes) -> list[bytes]:
        """The data of events that this piece made whole."""
        self._held.append(piece)
        self._size = _checked(self._size + len(piece))
        if b"\n" not in piece and b"\r" not in piece:
            return []
        events: list[bytes] = []
        *lines, rest = _LINE_END.split(b"".join(self._held))
        self._held = [rest]
        for line in lines:
            if line.startswith(_FIELD):
                self._add(line, events)
            elif self._data and not line:
                if event := b"\n".join(self._data).strip():
                    events.append(event)
                self._data = []
        self._size = len(rest) + sum(map(len, self._data))
        return events

    def _add(self, line: bytes, events: list[bytes]) -> None:
        """One more line of data. After a line that is whole JSON another event begins."""
        if len(self._data) == 1 and ((held := self._data[0].strip()) == DONE or _is_json(held)):
            events.append(held)
            self._data = []
        data = line[len(_FIELD) :].removeprefix(b" ")
        if self._data or data.strip():
            self._data.append(data)

    def end(self) -> list[bytes]:
        """The data of events whose blank line is missing."""
        events: list[bytes] = []
        rest = b"".join(self._held)
        if rest.startswith(_FIELD):
            self._add(rest, events)
        last = b"\n".join(self._data).strip()
        if last == DONE or (last and _is_json(last)):
            return [*events, last]
        if last or (rest and _FIELD.startswith(rest)):
            raise failed(ModelFault.CONNECTION)
        return events


def _checked(size: int) -> int:
    if size > MAX_EVENT_BYTES:
        raise failed(ModelFault.BAD_RESPONSE, FAULTS["answer_too_large"][0])
    return size


def loaded(data: bytes) -> object:
    """The JSON of an event or a body. Lone surrogates are allowed: deltas may split a character."""
    data = data.removeprefix(_MARK)
    try:
        return orjson.loads(data)
    except ValueError:
        pass  # it takes no lone surrogates
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        raise failed(ModelFault.BAD_RESPONSE) from None


def is_heartbeat(data: bytes) -> bool:
    """Whether an event is a short word that is no JSON, such as ``ping``."""
    is_word = len(data) <= MAX_HEARTBEAT_BYTES and not data.startswith((b"{", b"[", _MARK))
    return is_word and not _is_json(data)


def _is_json(data: bytes) -> bool:
    try:
        json.loads(data)
    except (ValueError, RecursionError):
        return False
    return True
