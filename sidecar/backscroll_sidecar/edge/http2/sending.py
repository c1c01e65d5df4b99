"""The way back of one call: messages and the end, as far as the caller has room for them."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable
from struct import Struct
from typing import TYPE_CHECKING

import grpc

from backscroll_sidecar.edge.http2.frames import (
    DATA,
    END_HEADERS,
    END_STREAM,
    HEAD,
    HEADERS,
    Code,
    frame,
    headers,
)
from backscroll_sidecar.edge.http2.headers import OK_BLOCK, OK_TRAILERS, status_block, trailers
from backscroll_sidecar.edge.http2.messages import PREFIX_BYTES

if TYPE_CHECKING:
    from backscroll_sidecar.edge.http2.connection import Connection

MOST_UNSENT_BYTES = 64 * 1024
"""Who has written more than there is room for waits. Not for less: who holds a lock while it writes a line need not."""
_PREFIX = Struct(">BI")
_BEGUN = Struct(f">HBBBI{len(OK_BLOCK)}sHBBBIBI")
"""Headers, and the head and prefix of the only message."""
_OVER = HEAD.pack(0, len(OK_TRAILERS), HEADERS, END_HEADERS | END_STREAM, 0)[:-4]
"""The head of the end, but for its stream."""


class Sending:
    """What is sent to one caller.

    Attributes
    ----------
    credit : bytes the caller has room for, beyond its initial window.
    is_over : nothing is sent or taken any more.
    """

    __slots__ = (
        "_connection", "_drained", "_ending", "_has_begun", "_is_cut", "_is_dropping", "_is_torn", "_unsent",
        "_unsent_bytes", "credit", "is_over", "stream_id",
    )  # fmt: skip

    def __init__(self, connection: Connection, stream_id: int) -> None:
        self._connection = connection
        self.stream_id = stream_id
        self.credit = 0
        self._has_begun = self._is_cut = self._is_dropping = self._is_torn = False
        self._unsent: deque[memoryview] = deque()
        self._unsent_bytes = 0
        self._ending: bytes | None = None
        self._drained: asyncio.Future[None] | None = None
        self.is_over = False

    @property
    def window(self) -> int:
        """Bytes the caller has room for, beside the connection's."""
        return self.credit + self._connection.initial_window

    def answer(self, body: bytes) -> None:
        """Send the only message and the end; at once, where there is room for it."""
        connection, size = self._connection, len(body) + PREFIX_BYTES
        if self._has_begun or self.is_over or size > min(self.window, connection.room()):
            self.put(body)
            self.end(grpc.StatusCode.OK)
            return
        connection.window -= size
        stream_id = self.stream_id
        begun = _BEGUN.pack(
            0, len(OK_BLOCK), HEADERS, END_HEADERS, stream_id, OK_BLOCK,
            size >> 8, size & 0xFF, DATA, 0, stream_id, 0, len(body),
        )  # fmt: skip
        connection.write(begun + body + _OVER + stream_id.to_bytes(4) + OK_TRAILERS)
        self.close()

    def put(self, body: bytes) -> None:
        """Send a message; what there is no room for is kept."""
        if self.is_over or self._is_dropping or self._ending is not None:
            return
        if not self._has_begun:
            self._has_begun = True
            self._connection.write(headers(self.stream_id, OK_BLOCK))
        self._unsent.append(memoryview(_PREFIX.pack(0, len(body)) + body))
        self._unsent_bytes += len(body) + PREFIX_BYTES
        self.flush()

    async def sent(self) -> None:
        """Return when hardly anything is kept, or nothing is sent any more."""
        while self._unsent_bytes > MOST_UNSENT_BYTES and not self.is_over:
            if self._drained is None:
                self._drained = self._connection.loop.create_future()
            await asyncio.shield(self._drained)

    def end(
        self,
        code: grpc.StatusCode,
        text: str = "",
        metadata: Iterable[tuple[str, str | bytes]] | None = (),
    ) -> None:
        """Send the status, behind what is kept; only the first one counts."""
        if self.is_over or self._ending is not None:
            return
        if self._is_torn:
            self.close(Code.CANCEL)
            return
        number: int = code.value[0]
        if not self._has_begun:
            self._ending = status_block(number, text, metadata or ())
        else:
            self._ending = trailers(number, text, metadata or ())
        self.flush()

    def drop(self) -> None:
        """Send nothing any more but the end; where half of a message was sent, that cannot be told but by a reset."""
        self._is_dropping = True
        self._is_torn = self._is_torn or self._is_cut
        self._unsent.clear()
        self._unsent_bytes = 0
        self._wake_writer()

    def flush(self) -> None:
        """Send what there is room for."""
        connection, unsent = self._connection, self._unsent
        while unsent:
            piece, size = unsent[0], min(self.window, connection.room())
            if size <= 0:
                if self.window > 0:
                    connection.wait_for_room(self)
                return
            size = min(size, len(piece))
            self.credit -= size
            self._unsent_bytes -= size
            connection.window -= size
            connection.write(frame(DATA, 0, self.stream_id, bytes(piece[:size])))
            self._is_cut = size < len(piece)
            if self._is_cut:
                unsent[0] = piece[size:]
            else:
                unsent.popleft()
            if self._unsent_bytes <= MOST_UNSENT_BYTES:
                self._wake_writer()
        if self._ending is not None and not self.is_over:
            connection.write(headers(self.stream_id, self._ending, END_STREAM))
            self.close()

    def close(self, told: Code | None = None) -> None:
        """Nothing is sent or taken any more; the caller is told so with that word."""
        if self.is_over:
            return
        self.is_over = True
        self._unsent.clear()
        self._unsent_bytes = 0
        self._wake_writer()
        self._connection.forget(self.stream_id, told)

    def _wake_writer(self) -> None:
        drained, self._drained = self._drained, None
        if drained is not None and not drained.done():
            drained.set_result(None)
