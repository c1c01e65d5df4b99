"""Frames in the bytes of a connection: cut out whole, in an order that may be (RFC 9113). Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from backscroll_sidecar.edge.http2.frames import (
    CONTINUATION,
    END_HEADERS,
    HEAD,
    HEAD_BYTES,
    HEADERS,
    LEAST_FRAME_BYTES,
    MOST_STREAM_ID,
    PREFACE,
    SETTINGS,
    Code,
    ConnectionFault,
    unpadded,
    without_priority,
)
from backscroll_sidecar.edge.http2.headers import MAX_BLOCK_BYTES

_METHODS = (b"GET ", b"HEAD ", b"POST ", b"PUT ", b"PATCH ", b"DELETE ", b"OPTIONS ")
_OLDER_HTTP = re.compile(rb"(?:%s)[/*h]" % b"|".join(_METHODS))
"""A method and the beginning of what it is about (RFC 9112, section 3)."""

Frame = tuple[int, int, int, bytes]
"""Kind, flags, stream, body."""


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
                raise ConnectionFault(Code.PROTOCOL_ERROR, "this is no HTTP/2")
            if end < len(PREFACE):
                return
            self._has_preface, at = True, len(PREFACE)
        unpack = HEAD.unpack_from
        while end - at >= HEAD_BYTES:
            high, low, kind, flags, stream_id = unpack(data, at)
            size = high << 8 | low
            if size > LEAST_FRAME_BYTES:
                raise ConnectionFault(Code.FRAME_SIZE_ERROR, f"a frame of {size} bytes")
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
                yield kind, flags, stream_id, body
        self._rest = data[at:]

    def _headers(self, kind: int, flags: int, stream_id: int, body: bytes) -> Frame | None:
        """The whole block of a call as one frame, once its last part has come."""
        self._check_greeting(kind)
        if self._block is None:
            if kind == CONTINUATION:
                raise ConnectionFault(Code.PROTOCOL_ERROR, "nothing goes on")
            body = without_priority(flags, unpadded(flags, body))
            if flags & END_HEADERS:
                return HEADERS, flags, stream_id, body
            self._block = stream_id, flags, bytearray(body)
            return None
        begun_id, begun_flags, block = self._block
        if kind != CONTINUATION or stream_id != begun_id:
            raise ConnectionFault(Code.PROTOCOL_ERROR, "headers do not go on")
        block += body
        is_last = bool(flags & END_HEADERS)
        if len(block) > MAX_BLOCK_BYTES or not (body or is_last):
            raise ConnectionFault(Code.ENHANCE_YOUR_CALM, "headers without an end")
        if not is_last:
            return None
        self._block = None
        return HEADERS, begun_flags, stream_id, bytes(block)

    def _check_greeting(self, kind: int) -> None:
        if not self._is_greeted:
            if kind != SETTINGS:
                raise ConnectionFault(Code.PROTOCOL_ERROR, "settings come first")
            self._is_greeted = True
