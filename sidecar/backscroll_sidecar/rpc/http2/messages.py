"""Messages of gRPC in the bytes of a stream: five bytes before each, compressed or not."""

from __future__ import annotations

import zlib

from grpc import StatusCode

PREFIX_BYTES = 5
_GZIP_BITS, _DEFLATE_BITS = 31, 15


class BadMessage(Exception):
    """What a caller sent is no message, or too long a one."""

    def __init__(self, code: StatusCode, text: str) -> None:
        super().__init__(text)
        self.code, self.text = code, text


class MessageReader:
    """Cuts the bytes of a stream into messages.

    Parameters
    ----------
    encoding : how compressed ones are, by the call's header.
    max_bytes : of a message, unpacked.
    """

    __slots__ = ("_encoding", "_held", "_max_bytes")

    def __init__(self, encoding: str, max_bytes: int) -> None:
        self._encoding = encoding
        self._max_bytes = max_bytes
        self._held = bytearray()

    @property
    def is_between(self) -> bool:
        """Whether no message has begun that is not whole."""
        return not self._held

    def read(self, body: bytes) -> list[bytes]:
        """The messages that are whole now. Raises `BadMessage`."""
        if not self._held:  # mostly one message is one frame
            size = len(body) - PREFIX_BYTES
            if size >= 0 and body[0] == 0 and int.from_bytes(body[1:PREFIX_BYTES]) == size:
                self._check(size)
                return [body[PREFIX_BYTES:]]
        held = self._held
        held += body
        found, at = [], 0
        while len(held) - at >= PREFIX_BYTES:
            size = int.from_bytes(held[at + 1 : at + PREFIX_BYTES])
            self._check(size)
            end = at + PREFIX_BYTES + size
            if end > len(held):
                break
            message = bytes(held[at + PREFIX_BYTES : end])
            found.append(self._unpacked(message) if held[at] else message)
            at = end
        del held[:at]
        return found

    def _check(self, size: int) -> None:
        if size > self._max_bytes:
            text = f"Received message larger than max ({size} vs. {self._max_bytes})"
            raise BadMessage(StatusCode.RESOURCE_EXHAUSTED, text)

    def _unpacked(self, message: bytes) -> bytes:
        bits = {"gzip": _GZIP_BITS, "deflate": _DEFLATE_BITS}.get(self._encoding)
        if bits is None:
            text = f"messages packed by {self._encoding[:40] or 'nothing named'} are not read"
            raise BadMessage(StatusCode.UNIMPLEMENTED, text)
        unpacking = zlib.decompressobj(bits)
        try:
            plain = unpacking.decompress(message, self._max_bytes + 1)
        except zlib.error:
            raise BadMessage(StatusCode.INTERNAL, "a message cannot be unpacked") from None
        self._check(len(plain))
        if not unpacking.eof:
            raise BadMessage(StatusCode.INTERNAL, "a message cannot be unpacked")
        return plain
