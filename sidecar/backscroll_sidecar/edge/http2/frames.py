"""Frames of HTTP/2 (RFC 9113): their names, how they are packed and cut out, and what is wrong with one. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
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
MAX_BLOCK_BYTES = 64 * 1024
"""Of the headers of one call, packed or not; more ends the connection, since nobody may skip any of it."""


class ErrorCode(IntEnum):
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

    def __init__(self, code: ErrorCode, text: str) -> None:
        super().__init__(text)
        self.code, self.text = code, text


def frame(kind: int, flags: int, stream_id: int, body: bytes = b"") -> bytes:
    """One frame."""
    size = len(body)
    return HEAD.pack(size >> 8, size & 0xFF, kind, flags, stream_id) + body


def headers(stream_id: int, block: bytes, flags: int = 0) -> bytes:
    """A header block in one frame: those of ours are short."""
    return frame(HEADERS, flags | END_HEADERS, stream_id, block)


def settings(*pairs: tuple[int, int]) -> bytes:
    """A SETTINGS frame: each setting's number, see above, and its value."""
    return frame(SETTINGS, 0, 0, b"".join(SETTING.pack(*pair) for pair in pairs))


def window_update(stream_id: int, count: int) -> bytes:
    """The peer may send so many bytes more."""
    return frame(WINDOW_UPDATE, 0, stream_id, U32.pack(count))


def reset(stream_id: int, code: ErrorCode) -> bytes:
    """A stream is over."""
    return frame(RST_STREAM, 0, stream_id, U32.pack(code))


def goaway(last_stream_id: int, code: ErrorCode, text: str = "") -> bytes:
    """No stream behind that one is taken."""
    return frame(GOAWAY, 0, 0, U32.pack(last_stream_id) + U32.pack(code) + text.encode())


def unpadded(flags: int, body: bytes) -> bytes:
    """The body of DATA or HEADERS without what it is padded with."""
    if not flags & PADDED:
        return body
    if not body or body[0] >= len(body):
        raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, "more padding than frame")
    return body[1 : len(body) - body[0]]


def without_priority(flags: int, body: bytes) -> bytes:
    """The body of HEADERS without the priority that may stand before it."""
    if not flags & HAS_PRIORITY:
        return body
    if len(body) < 5:
        raise ConnectionFault(ErrorCode.FRAME_SIZE_ERROR, "no room for the priority")
    return body[5:]


def sized(body: bytes, size: int, name: str) -> bytes:
    """A body that must have that many bytes."""
    if len(body) != size:
        raise ConnectionFault(ErrorCode.FRAME_SIZE_ERROR, f"{name} has {len(body)} bytes")
    return body


# --- what comes ---------------------------------------------------------------------------------------

_METHODS = (b"GET ", b"HEAD ", b"POST ", b"PUT ", b"PATCH ", b"DELETE ", b"OPTIONS ")
_OLDER_HTTP = re.compile(rb"(?:%s)[/*h]" % b"|".join(_METHODS))
"""A method and the beginning of what it is about (RFC 9112, section 3)."""

Frame = tuple[int, int, int, bytes]
"""Kind, flags, stream, body."""


def read_settings(body: bytes) -> Iterator[tuple[int, int]]:
    """Numbers and values of settings. Raises `ConnectionFault` for a value out of bounds."""
    for name, value in SETTING.iter_unpack(body):
        if name == INITIAL_WINDOW_SIZE and value > MOST_WINDOW_BYTES:
            raise ConnectionFault(ErrorCode.FLOW_CONTROL_ERROR, f"a window of {value} bytes")
        if name == MAX_FRAME_SIZE and not LEAST_FRAME_BYTES <= value <= MOST_FRAME_BYTES:
            raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, f"frames of {value} bytes")
        yield name, value


_SIZES = {
    PRIORITY: (5, "PRIORITY"), RST_STREAM: (4, "RST_STREAM"), PING: (8, "PING"),
    WINDOW_UPDATE: (4, "WINDOW_UPDATE"),
}  # fmt: skip
_OF_NO_STREAM = {
    SETTINGS: "settings of one stream", PING: "a ping of one stream", GOAWAY: "a farewell that is none",
}  # fmt: skip
GOAWAY_BYTES = 8
"""At least."""


def _check(kind: int, flags: int, stream_id: int, body: bytes) -> None:
    """Refuse what is wrong with a frame by itself; DATA and HEADERS are checked where they are taken (section 6)."""
    if kind in _SIZES:
        sized(body, *_SIZES[kind])
    fault = _OF_NO_STREAM.get(kind, "") if stream_id else ""
    if kind == PRIORITY and not stream_id:
        fault = "a priority of no stream"
    elif kind == GOAWAY and len(body) < GOAWAY_BYTES:
        fault = _OF_NO_STREAM[GOAWAY]
    elif kind == PUSH_PROMISE:
        fault = "a client pushes nothing"
    if fault:
        raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, fault)
    if kind == SETTINGS and flags & ACK:
        sized(body, 0, "the acknowledgement of settings")
    elif kind == SETTINGS and len(body) % SETTING.size:
        raise ConnectionFault(ErrorCode.FRAME_SIZE_ERROR, "settings are cut off")


class FrameReader:
    """Cuts what comes on one connection into frames. Header blocks are whole, however many frames they came in.

    Attributes
    ----------
    is_older_http : what came instead of a preface begins like a request of HTTP/1.
    """

    def __init__(self) -> None:
        self._is_greeted = False
        self.is_older_http = False
        self._rest = b""
        self._has_preface = False
        self._block: tuple[int, int, bytearray] | None = None

    def read(self, data: bytes) -> Iterator[Frame]:
        """The frames that are whole now; all must be taken, unless the connection ends.

        Raises `ConnectionFault` behind the last good one.
        """
        data = self._rest + data if self._rest else data
        at, end, self._rest = 0, len(data), data
        if not self._has_preface:
            if not data.startswith(PREFACE[:end]):
                if any(method.startswith(data) for method in _METHODS):
                    return  # the rest of it may come yet
                self.is_older_http = _OLDER_HTTP.match(data) is not None
                raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, "this is no HTTP/2")
            if end < len(PREFACE):
                return
            self._has_preface, at = True, len(PREFACE)
        unpack = HEAD.unpack_from
        while end - at >= HEAD_BYTES:
            high, low, kind, flags, stream_id = unpack(data, at)
            size = high << 8 | low
            if size > LEAST_FRAME_BYTES:
                raise ConnectionFault(ErrorCode.FRAME_SIZE_ERROR, f"a frame of {size} bytes")
            if at + HEAD_BYTES + size > end:
                break
            stream_id &= MOST_STREAM_ID
            body = data[at + HEAD_BYTES : at + HEAD_BYTES + size]
            at += HEAD_BYTES + size
            if self._block is not None or kind in {HEADERS, CONTINUATION}:
                found = self._headers(kind, flags, stream_id, body)
                if found is not None:
                    yield found
            else:
                self._check_greeting(kind)
                if kind != DATA:
                    _check(kind, flags, stream_id, body)
                yield kind, flags, stream_id, body
        self._rest = data[at:]

    def _headers(self, kind: int, flags: int, stream_id: int, body: bytes) -> Frame | None:
        """The whole block of a call as one frame, once its last part has come."""
        self._check_greeting(kind)
        if self._block is None:
            if kind == CONTINUATION:
                raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, "nothing goes on")
            body = without_priority(flags, unpadded(flags, body))
            if flags & END_HEADERS:
                return HEADERS, flags, stream_id, body
            self._block = stream_id, flags, bytearray(body)
            return None
        begun_id, begun_flags, block = self._block
        if kind != CONTINUATION or stream_id != begun_id:
            raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, "headers do not go on")
        block += body
        is_last = bool(flags & END_HEADERS)
        if len(block) > MAX_BLOCK_BYTES or not (body or is_last):
            raise ConnectionFault(ErrorCode.ENHANCE_YOUR_CALM, "headers without an end")
        if not is_last:
            return None
        self._block = None
        return HEADERS, begun_flags, stream_id, bytes(block)

    def _check_greeting(self, kind: int) -> None:
        if not self._is_greeted:
            if kind != SETTINGS:
                raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, "settings come first")
            self._is_greeted = True
