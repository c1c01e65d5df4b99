"""A vendor's answer on its way to a client: what may be passed on at once, and what is held. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import orjson

from backscroll_sidecar.ports import VendorAnswer

EVENTS = "text/event-stream"
MOST_HELD_BYTES = 64 * 1024
"""Longer lines are passed on in pieces."""
_EVERY_CHUNK = ("id", "object", "created", "model")
_SILENT: Mapping[str, Any] = {"index": 0, "delta": {}, "finish_reason": None}
"""Clients look at the first choice of a chunk, whether or not there is one."""
_DONE = re.compile(rb"(?:\A|(?<=[\r\n]))data:[ \t]*\[DONE\]")


class PassedOn:
    """One answer.

    Of a stream of events whole lines are passed on, so that one that breaks off can still end with an error. Its last
    event is held to the end: clients leave once they have it, and the reply is stored before.

    Attributes
    ----------
    has_events : whether it is a stream of events.
    """

    def __init__(self, head: VendorAnswer) -> None:
        self.has_events = head.headers.get("content-type", "").lower().startswith(EVENTS)
        self._line = b""
        self._last = b""
        self._before = b""

    def feed(self, read: bytes) -> bytes:
        """What of it can be passed on now."""
        if not self.has_events:
            return read
        if self._last:
            self._last += read
            return b""
        found = self._line + read
        end = max(found.rfind(b"\n"), found.rfind(b"\r")) + 1
        lines, self._line = found[:end], found[end:]
        if len(self._line) > MOST_HELD_BYTES:
            lines, self._line = found, b""
        if (done := _DONE.search(lines)) is not None:
            at = done.start()
            self._last, self._line = lines[at:] + self._line, b""
            lines = lines[:at]
        if b"data:" in lines:
            self._before = lines
        return lines

    def end(self, more: Mapping[str, Any] | None = None) -> bytes:
        """What was held, of an answer that is whole; before its last event a chunk that says nothing but `more`."""
        if not more:
            return self._last + self._line
        chunk = {**self._told(), "choices": [_SILENT], **more}
        # The empty line ends an event whose own is missing.
        return self._line + b"\n\ndata: " + orjson.dumps(chunk) + b"\n\n" + self._last

    def _told(self) -> dict[str, Any]:
        """What every chunk of this answer says of it, by the last one."""
        for line in reversed(self._before.splitlines()):
            try:
                said = orjson.loads(line.removeprefix(b"data:"))
            except orjson.JSONDecodeError:
                continue
            if isinstance(said, dict) and said.get("id"):
                return {name: said[name] for name in _EVERY_CHUNK if name in said}
        return {"object": "chat.completion.chunk"}

    def broken(self, error: bytes) -> bytes:
        """How one ends that broke off: neither half a line nor a last event is a part of it."""
        # The empty line ends an event whose own is missing.
        return b"\n\ndata: " + error + b"\n\n"
