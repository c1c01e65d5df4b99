"""A vendor's answer on its way to a client: what may be passed on at once, and what is held. Pure."""

from __future__ import annotations

import re

from backscroll_sidecar.ports import VendorAnswer

EVENTS = "text/event-stream"
MOST_HELD_BYTES = 64 * 1024
"""Longer lines are passed on in pieces."""
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
        if (done := _DONE.search(lines)) is None:
            return lines
        at = done.start()
        self._last, self._line = lines[at:] + self._line, b""
        return lines[:at]

    def end(self) -> bytes:
        """What was held, of an answer that is whole."""
        return self._last + self._line

    def broken(self, error: bytes) -> bytes:
        """How one ends that broke off: neither half a line nor a last event is a part of it."""
        # The empty line ends an event whose own is missing.
        return b"\n\ndata: " + error + b"\n\n"
