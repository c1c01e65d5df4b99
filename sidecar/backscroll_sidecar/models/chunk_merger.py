"""The bytes of an HTTP/1.1 answer with the chunks that came together made one. Pure, no SDK.

A model sends each delta in a chunk of its own, which costs the vendor's HTTP library some 50 µs of Python. Borders
between chunks mean nothing (RFC 9112, 7.1.1), so the chunks of one read are made one before the library sees them.
"""

import re

_MAX_HEAD_BYTES = 64 * 1024
_MAX_SIZE_LINE_BYTES = 10
_SIZE = re.compile(rb"([0-9A-Fa-f]{1,8})\r\n")
_HEAD_END = re.compile(rb"\n\r?\n")
_INFORMATIONAL = re.compile(rb"HTTP/1\.1 1\d\d")
_CHUNKED = re.compile(rb"\ntransfer-encoding:[ \t]*chunked[ \t]*\r?\n", re.IGNORECASE)


class BrokenChunksError(ValueError):
    """A chunk does not end where it said."""


class ChunkMerger:
    """Follows one connection: `expect` an answer for each request, then `feed` what is read."""

    def __init__(self) -> None:
        self._head: bytes | None = None
        self._is_chunked = False
        self._rest = b""
        self._left = 0

    def expect(self) -> None:
        """The next bytes begin an answer."""
        self._head = b""
        self._is_chunked = False
        self._rest = b""
        self._left = 0

    def feed(self, raw: bytes) -> bytes:
        """The same in fewer chunks. What is not plain chunks (extensions, trailers) stays as it is.

        Raises
        ------
        BrokenChunksError
            The answer cannot be read any further.
        """
        if self._head is None:
            return self._merged(raw) if self._is_chunked and raw else raw
        known = len(self._head)
        head = self._head = self._head + raw
        body_at = self._end_of_head(head)
        if body_at is None:
            return raw
        self._head = None
        self._is_chunked = _CHUNKED.search(head, 0, body_at) is not None
        if not self._is_chunked or body_at >= len(head):
            return raw
        return head[known:body_at] + self._merged(head[body_at:])

    def _end_of_head(self, head: bytes) -> int | None:
        """Where the body begins; None while that is not known."""
        at = 0
        while found := _HEAD_END.search(head, at):
            if not _INFORMATIONAL.match(head, at):
                return found.end()
            at = found.end()
        if len(head) > _MAX_HEAD_BYTES:  # the library refuses it
            self._head = None
        return None

    def _merged(self, raw: bytes) -> bytes:
        raw, self._rest = self._rest + raw, b""
        pieces: list[bytes] = []
        at = self._finished_chunk(raw, pieces) if self._left else 0
        while not self._left and (size := _SIZE.match(raw, at)):
            start, length = size.end(), int(size[1], 16)
            if not length:
                break
            if raw.startswith(b"\r\n", start + length):
                pieces.append(raw[start : start + length])
                at = start + length + 2
            else:
                self._left = length + 2
                at = start + self._finished_chunk(raw[start:], pieces)
        data, tail = b"".join(pieces), raw[at:]
        if len(tail) <= _MAX_SIZE_LINE_BYTES and b"\n" not in tail:
            self._rest, tail = tail, b""
        elif tail:
            self._is_chunked = False
        return (b"%x\r\n%b\r\n" % (len(data), data) if data else b"") + tail

    def _finished_chunk(self, raw: bytes, pieces: list[bytes]) -> int:
        """Take what `raw` has of the open chunk; how much that was, with what ends it."""
        data = raw[: max(self._left - 2, 0)]
        end = raw[len(data) : self._left]
        if end and not b"\r\n".startswith(end) and not (self._left == 1 and end == b"\n"):
            raise BrokenChunksError
        pieces.append(data)
        self._left -= len(data) + len(end)
        return len(data) + len(end)
