"""Frames of HTTP/2 (RFC 9113): their names, how they are packed, and what is wrong with one."""

from __future__ import annotations

from enum import IntEnum
from struct import Struct

DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS = range(5)
PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(5, 10)
"""Kinds of frames (section 6)."""
ACK = END_STREAM = 0x1
END_HEADERS, PADDED, HAS_PRIORITY = 0x4, 0x8, 0x20
"""Flags."""
MAX_CONCURRENT_STREAMS, INITIAL_WINDOW_SIZE, MAX_FRAME_SIZE, MAX_HEADER_LIST_SIZE = 3, 4, 5, 6
"""Settings (section 6.5.2)."""

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
HEAD = Struct(">HBBBI")
"""Length in 16 and 8 bits, kind, flags, stream."""
HEAD_BYTES = 9
SETTING = Struct(">HI")
U32 = Struct(">I")
LEAST_FRAME_BYTES, MOST_FRAME_BYTES = 2**14, 2**24 - 1
DEFAULT_WINDOW_BYTES, MOST_WINDOW_BYTES = 2**16 - 1, 2**31 - 1
MOST_STREAM_ID = 2**31 - 1


class Code(IntEnum):
    """Why a stream or a connection ends (section 7)."""

    NO_ERROR = 0
    PROTOCOL_ERROR = 1
    INTERNAL_ERROR = 2
    FLOW_CONTROL_ERROR = 3
    STREAM_CLOSED = 5
    FRAME_SIZE_ERROR = 6
    REFUSED_STREAM = 7
    CANCEL = 8
    COMPRESSION_ERROR = 9
    ENHANCE_YOUR_CALM = 11


class ConnectionFault(Exception):
    """What the peer sent ends the connection."""

    def __init__(self, code: Code, text: str) -> None:
        super().__init__(text)
        self.code, self.text = code, text


def frame(kind: int, flags: int, stream_id: int, body: bytes = b"") -> bytes:
    """One frame."""
    size = len(body)
    return HEAD.pack(size >> 8, size & 0xFF, kind, flags, stream_id) + body


def headers(stream_id: int, block: bytes, flags: int = 0) -> bytes:
    """A header block: HEADERS, and for what no frame need take CONTINUATION."""
    out, rest = [], block
    kind = HEADERS
    while len(rest) > LEAST_FRAME_BYTES:
        out.append(frame(kind, flags, stream_id, rest[:LEAST_FRAME_BYTES]))
        rest, kind, flags = rest[LEAST_FRAME_BYTES:], CONTINUATION, 0
    out.append(frame(kind, flags | END_HEADERS, stream_id, rest))
    return b"".join(out)


def settings(*pairs: tuple[int, int]) -> bytes:
    """A SETTINGS frame: each setting's number, see above, and its value."""
    return frame(SETTINGS, 0, 0, b"".join(SETTING.pack(*pair) for pair in pairs))


def window_update(stream_id: int, count: int) -> bytes:
    """The peer may send so many bytes more."""
    return frame(WINDOW_UPDATE, 0, stream_id, U32.pack(count))


def reset(stream_id: int, code: Code) -> bytes:
    """A stream is over."""
    return frame(RST_STREAM, 0, stream_id, U32.pack(code))


def goaway(last_stream_id: int, code: Code, text: str = "") -> bytes:
    """No stream behind that one is taken."""
    return frame(GOAWAY, 0, 0, U32.pack(last_stream_id) + U32.pack(code) + text.encode())


def unpadded(flags: int, body: bytes) -> bytes:
    """The body of DATA or HEADERS without what it is padded with."""
    if not flags & PADDED:
        return body
    if not body or body[0] >= len(body):
        raise ConnectionFault(Code.PROTOCOL_ERROR, "more padding than frame")
    return body[1 : len(body) - body[0]]


def without_priority(flags: int, body: bytes) -> bytes:
    """The body of HEADERS without the priority that may stand before it."""
    if not flags & HAS_PRIORITY:
        return body
    if len(body) < 5:
        raise ConnectionFault(Code.FRAME_SIZE_ERROR, "no room for the priority")
    return body[5:]


def sized(body: bytes, size: int, name: str) -> bytes:
    """A body that must have that many bytes."""
    if len(body) != size:
        raise ConnectionFault(Code.FRAME_SIZE_ERROR, f"{name} has {len(body)} bytes")
    return body
