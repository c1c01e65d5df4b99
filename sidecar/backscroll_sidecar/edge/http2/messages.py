"""gRPC in HTTP/2: header blocks, messages, statuses.

HPACK is the library `hpack`'s. A message has five bytes before it and may be compressed.
"""

from __future__ import annotations

import base64
import binascii
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from struct import Struct
from typing import NamedTuple

import hpack

from backscroll_sidecar.edge.http2.frames import (
    DATA,
    END_HEADERS,
    END_STREAM,
    HEAD,
    HEADERS,
    MAX_BLOCK_BYTES,
    ConnectionFault,
    ErrorCode,
)
from backscroll_sidecar.edge.status import Code, Refused

MAX_METADATA_BYTES = 16 * 1024
"""Of the headers of one call, as HTTP counts them; more is refused."""
KNOWN_BLOCKS = 256
"""Blocks whose meaning is remembered, a connection."""
PREFIX_BYTES = 5
MESSAGE_BYTES = 64
"""Of memory beside a message's own bytes: empty ones are not free."""
_WINDOW_BITS = {"gzip": 31, "deflate": 15}
LONGEST_TIMEOUT_S = 10 * 365 * 86_400.0

Metadata = tuple[tuple[str, str | bytes], ...]
Field = tuple[bytes, bytes]

_UNITS_S: Mapping[str, float] = {
    "H": 3_600.0, "M": 60.0, "S": 1.0, "m": 1e-3, "u": 1e-6, "n": 1e-9,
}  # fmt: skip
_TIMEOUT = re.compile(r"(\d{1,8})([HMSmun])")
_OURS = frozenset(
    (b"te", b"content-type", b"grpc-timeout", b"grpc-encoding", b"grpc-accept-encoding")
)
"""Headers of the protocol, which no handler is told."""
_CONTENT_TYPE = re.compile(rb"application/grpc(?:[+;]|$)")
_INDEXED, _LONG_INDEX = 0x80, 0xFF


class Asked(NamedTuple):
    """What the headers of a call say.

    Attributes
    ----------
    encoding : of compressed messages; "" or "identity": there are none.
    refusal : a whole header block that says why this is no call; empty when it is one.
    refusal_text : what a person may read behind it; empty where gRPC's status says all.
    """

    path: str
    metadata: Metadata
    timeout_s: float | None
    encoding: str
    refusal: bytes = b""
    refusal_text: bytes = b""


class HeaderReader:
    """Reads the header blocks of one connection, in order: they share a table.

    A client's calls mostly send the same block again, nothing but places in that table; what such a block says is
    remembered until another block may have changed the table.
    """

    def __init__(self) -> None:
        self._decoder = hpack.Decoder(max_header_list_size=MAX_BLOCK_BYTES)
        self._known: dict[bytes, Asked] = {}

    def read(self, block: bytes) -> Asked:
        """What a block says. Raises `ConnectionFault`."""
        known = self._known.get(block)
        if known is not None:
            return known
        # Fields by one-byte places only: nothing is added to the table (RFC 7541, section 6).
        changes_nothing = bool(block) and min(block) >= _INDEXED and _LONG_INDEX not in block
        if not changes_nothing:
            self._known.clear()
        try:
            fields = [
                (bytes(one[0]), bytes(one[1])) for one in self._decoder.decode(block, raw=True)
            ]
        except hpack.HPACKError as error:
            raise ConnectionFault(ErrorCode.COMPRESSION_ERROR, type(error).__name__) from None
        asked = _asked(fields)
        if changes_nothing and not asked.refusal and len(self._known) < KNOWN_BLOCKS:
            self._known[block] = asked
        return asked


def _asked(fields: Sequence[Field]) -> Asked:
    given = dict(fields)  # of the protocol's own headers there is one each
    refusal, text = _refusal(given, sum(len(name) + len(value) + 32 for name, value in fields))
    try:
        metadata = tuple(
            one
            for name, value in fields
            if not name.startswith(b":") and name not in _OURS
            for one in _metadata(name, value)
        )
        path = given.get(b":path", b"").decode("ascii")
        timeout_s = _timeout_s(given.get(b"grpc-timeout"))
        encoding = given.get(b"grpc-encoding", b"").decode("ascii")
    except (UnicodeDecodeError, binascii.Error, ValueError):
        return Asked(
            "",
            (),
            None,
            "",
            refusal or status_block(Code.INTERNAL, "a header cannot be read"),
            text,
        )
    return Asked(path, metadata, timeout_s, encoding, refusal, text)


def _refusal(given: Mapping[bytes, bytes], size: int) -> tuple[bytes, bytes]:
    """The block that answers what is no call of gRPC, and the text behind it; empty when it is one."""
    if (method := given.get(b":method")) != b"POST":
        return _plain_block("405", ("allow", "POST")), b"" if method == b"HEAD" else NO_CALL_TEXT
    if not _CONTENT_TYPE.match(given.get(b"content-type", b"")):
        return _plain_block("415", ("accept", "application/grpc")), NO_CALL_TEXT
    if size > MAX_METADATA_BYTES:
        text = f"the headers have more than {MAX_METADATA_BYTES:,} bytes"
        return status_block(Code.RESOURCE_EXHAUSTED, text), b""
    return b"", b""


def _metadata(name: bytes, value: bytes) -> Metadata:
    """What a header says; bytes may come several in one, joined by commas."""
    key = name.decode("ascii")
    if name.endswith(b"-bin"):
        return tuple((key, _from_base64(one)) for one in value.split(b","))
    try:
        return ((key, value.decode()),)
    except UnicodeDecodeError:
        return ((key, value.decode("latin-1")),)


def _from_base64(text: bytes) -> bytes:
    text = text.strip().rstrip(b"=")
    return base64.b64decode(text + b"=" * (-len(text) % 4), validate=True)


def _timeout_s(value: bytes | None) -> float | None:
    if value is None:
        return None
    found = _TIMEOUT.fullmatch(value.decode("ascii"))
    if found is None:
        raise ValueError("no timeout")
    return min(int(found[1]) * _UNITS_S[found[2]], LONGEST_TIMEOUT_S)


# --- messages that come ----------------------------------------------------------------------------


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
        """The messages that are whole now. Raises `Refused`."""
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
                raise Refused(Code.INTERNAL, "what should be a message is none")
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
        """A message, unpacked. Raises `Refused`.

        Apart from `read`, so that nothing is unpacked that nobody asks for: it may grow a thousandfold.
        """
        if not sent.is_packed:
            return sent.body
        bits = _WINDOW_BITS.get(self._encoding)
        if self._encoding in {"", "identity"}:
            raise Refused(Code.INTERNAL, "a message is packed, and nobody said how")
        if bits is None:
            text = f"messages packed by {self._encoding[:40]} are not read"
            raise Refused(Code.UNIMPLEMENTED, text)
        unpacking = zlib.decompressobj(bits)
        try:
            plain = unpacking.decompress(sent.body, self._max_bytes + 1)
        except zlib.error:
            raise Refused(Code.INTERNAL, "a message cannot be unpacked") from None
        self._check(len(plain))
        if not unpacking.eof:
            raise Refused(Code.INTERNAL, "a message cannot be unpacked")
        return plain

    def _check(self, size: int) -> None:
        if size > self._max_bytes:
            text = f"Received message larger than max ({size} vs. {self._max_bytes})"
            raise Refused(Code.RESOURCE_EXHAUSTED, text)


# --- what is sent ---------------------------------------------------------------------------------


def literal(name: str, value: str | bytes) -> bytes:
    """A field that nobody need remember (RFC 7541, section 6.2.2), without Huffman's code."""
    raw = value.encode("ascii") if isinstance(value, str) else value
    return b"\x00" + _counted(name.encode("ascii")) + _counted(raw)


def _counted(text: bytes) -> bytes:
    size = len(text)
    if size < 0x7F:
        return bytes((size,)) + text
    size -= 0x7F
    count = bytearray((0x7F,))
    while size >= 0x80:
        count.append(size & 0x7F | 0x80)
        size >>= 7
    count.append(size)
    return bytes(count) + text


NO_TABLE = b"\x20"
"""Nothing is to be remembered, however little room the client gives for that (RFC 7541, section 4.2)."""
NO_CALL_TEXT = (
    b"This is Backscroll. It answers gRPC: POST over HTTP/2 with content-type application/grpc, for which every "
    b"language has a client. From a shell: backscroll call --help\n"
)
"""What people read who come with a browser, curl, or a client of something else."""
OLDER_HTTP_ANSWER = (
    b"HTTP/1.1 426 Upgrade Required\r\nUpgrade: h2c\r\nConnection: Upgrade, close\r\n"
    b"Content-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\n\r\n%b"
) % (len(NO_CALL_TEXT), NO_CALL_TEXT)
"""To a request of HTTP/1 (RFC 9110, section 15.5.22)."""


def _plain_block(status: str, *fields: tuple[str, str]) -> bytes:
    """The head of an answer in plain text to what is no call."""
    head = literal(":status", status) + literal("content-type", "text/plain; charset=utf-8")
    return NO_TABLE + head + b"".join(literal(name, value) for name, value in fields)


OK_BLOCK = (
    NO_TABLE
    + b"\x88"  # :status 200, by its place
    + literal("content-type", "application/grpc")
    + literal("grpc-accept-encoding", "identity,deflate,gzip")
)
"""Before the first message of an answer."""
OK_TRAILERS = literal("grpc-status", "0")


_PREFIX = Struct(">BI")
_BEGUN = Struct(f">HBBBI{len(OK_BLOCK)}sHBBBIBI")
"""Headers, and the head and prefix of the only message."""
_OVER = HEAD.pack(0, len(OK_TRAILERS), HEADERS, END_HEADERS | END_STREAM, 0)[:-4]
"""The head of the end, but for its stream."""


def prefixed(body: bytes) -> bytes:
    """A message with what stands before it."""
    return _PREFIX.pack(0, len(body)) + body


def whole_answer(stream_id: int, body: bytes) -> bytes:
    """The frames of a call that is answered with one message."""
    size = len(body) + PREFIX_BYTES
    begun = _BEGUN.pack(
        0, len(OK_BLOCK), HEADERS, END_HEADERS, stream_id, OK_BLOCK,
        size >> 8, size & 0xFF, DATA, 0, stream_id, 0, len(body),
    )  # fmt: skip
    return begun + body + _OVER + stream_id.to_bytes(4) + OK_TRAILERS


def trailers(code: int, text: str, metadata: Iterable[tuple[str, str | bytes]] = ()) -> bytes:
    """Behind the last message: the status, what to tell of it, and metadata."""
    out = [literal("grpc-status", str(code))]
    if text:
        out.append(literal("grpc-message", _escaped(text)))
    for name, value in metadata:
        raw = base64.b64encode(value).rstrip(b"=") if isinstance(value, bytes) else value
        out.append(literal(name, raw))
    return b"".join(out)


def status_block(code: int, text: str, metadata: Iterable[tuple[str, str | bytes]] = ()) -> bytes:
    """The whole answer where there is no message."""
    return OK_BLOCK + trailers(code, text, metadata)


def _escaped(text: str) -> bytes:
    """Percent-encoded, but for what is printable in ASCII (gRPC over HTTP/2, Status-Message)."""
    return b"".join(
        b"%c" % one if 0x20 <= one <= 0x7E and one != 0x25 else b"%%%02X" % one
        for one in text.encode(errors="replace")
    )
