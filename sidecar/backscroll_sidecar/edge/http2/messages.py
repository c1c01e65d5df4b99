"""Messages of gRPC in the bytes of a stream: five bytes before each, compressed or not."""

from __future__ import annotations

import zlib
from typing import NamedTuple

from grpc import StatusCode

PREFIX_BYTES = 5
MESSAGE_BYTES = 64
"""Of memory beside a message's own bytes: empty ones are not free."""
_WINDOW_BITS = {"gzip": 31, "deflate": 15}


class BadMessage(Exception):
    """What a caller sent is no message, or too long a one."""

    def __init__(self, code: StatusCode, text: str) -> None:
        super().__init__(text)
        self.code, self.text = code, text


class Sent(NamedTuple):
    """A message as it was sent."""

    is_packed: bool
    body: bytes

    @property
    def cost_bytes(self) -> int:
        """What it holds while nobody takes it."""
        return len(self.body) + MESSAGE_BYTES


class MessageReader:
    """Cuts the bytes of a stream into messages.

    Parameters
    ----------
    encoding : how packed ones are, by the call's header.
    max_bytes : of a message, packed and plain.
    """

    __slots__ = ("_encoding", "_held", "_max_bytes")

    def __init__(self, encoding: str, max_bytes: int) -> None:
        self._encoding = encoding
        self._max_bytes = max_bytes
        self._held = bytearray()

    @property
    def held_bytes(self) -> int:
        """Of a message that is not whole yet."""
        return len(self._held)

    def read(self, body: bytes) -> list[Sent]:
        """The messages that are whole now. Raises `BadMessage`."""
        if not self._held:  # mostly one message is one frame
            size = len(body) - PREFIX_BYTES
            if size >= 0 and body[0] == 0 and int.from_bytes(body[1:PREFIX_BYTES]) == size:
                self._check(size)
                return [Sent(False, body[PREFIX_BYTES:])]
        held = self._held
        held += body
        found, at = [], 0
        while len(held) - at >= PREFIX_BYTES:
            if held[at] > 1:
                raise BadMessage(StatusCode.INTERNAL, "what should be a message is none")
            size = int.from_bytes(held[at + 1 : at + PREFIX_BYTES])
            self._check(size)
            end = at + PREFIX_BYTES + size
            if end > len(held):
                break
            found.append(Sent(bool(held[at]), bytes(held[at + PREFIX_BYTES : end])))
            at = end
        del held[:at]
        return found

    def clear(self) -> None:
        """Forget what is not whole."""
        self._held.clear()

    def plain(self, sent: Sent) -> bytes:
        """A message, unpacked. Raises `BadMessage`.

        Apart from `read`, so that nothing is unpacked that nobody asks for: it may grow a thousandfold.
        """
        if not sent.is_packed:
            return sent.body
        bits = _WINDOW_BITS.get(self._encoding)
        if self._encoding in {"", "identity"}:
            raise BadMessage(StatusCode.INTERNAL, "a message is packed, and nobody said how")
        if bits is None:
            text = f"messages packed by {self._encoding[:40]} are not read"
            raise BadMessage(StatusCode.UNIMPLEMENTED, text)
        unpacking = zlib.decompressobj(bits)
        try:
            plain = unpacking.decompress(sent.body, self._max_bytes + 1)
        except zlib.error:
            raise BadMessage(StatusCode.INTERNAL, "a message cannot be unpacked") from None
        self._check(len(plain))
        if not unpacking.eof:
            raise BadMessage(StatusCode.INTERNAL, "a message cannot be unpacked")
        return plain

    def _check(self, size: int) -> None:
        if size > self._max_bytes:
            text = f"Received message larger than max ({size} vs. {self._max_bytes})"
            raise BadMessage(StatusCode.RESOURCE_EXHAUSTED, text)
