"""One connection of a client: frames in, frames out, and what either side may send (RFC 9113)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import structlog

from backscroll_sidecar.edge.call_pipeline import Endpoint
from backscroll_sidecar.edge.http2 import frames
from backscroll_sidecar.edge.http2.frames import ConnectionFault, ErrorCode, FrameReader
from backscroll_sidecar.edge.http2.messages import (
    MAX_METADATA_BYTES,
    OLDER_HTTP_ANSWER,
    Asked,
    HeaderReader,
    status_block,
)
from backscroll_sidecar.edge.http2.stream import STREAM_WINDOW_BYTES, Stream
from backscroll_sidecar.edge.status import Code

log = structlog.get_logger("backscroll.rpc")

CONNECTION_WINDOW_BYTES = 64 * 2**20
"""What all streams together may send before more is allowed; each stream is bounded by its own window."""
MOST_STREAMS = 20_000
"""Open at once, a connection; more are refused."""
HIGH_WATER_BYTES = 2**20
"""A client that leaves so much unread is not read from either, until it has caught up."""
PIECE_BYTES = 16 * 1024
"""Of what one read brought, so much is taken in one callback of the loop: some 50 calls."""
_NO_METHOD = status_block(Code.UNIMPLEMENTED, "Method not found!")
GREETING_S = 20.0
"""What a client has to say that it speaks HTTP/2."""
LAST_WORDS_S = 1.0
"""What a client that is cut off has to read why."""


def _drop(_: bytes) -> None:
    """Where nobody hears it any more."""


class Connection(asyncio.Protocol):
    """A client's connection, and the `Link` of its calls.

    Parameters
    ----------
    endpoints : by path.
    max_bytes : of a message.
    opened, closed : told of the connection.
    hold, linger_s : as `Link` says.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        endpoints: Mapping[str, Endpoint],
        max_bytes: int,
        opened: Callable[[Connection], None],
        closed: Callable[[Connection], None],
        hold: Callable[[int], bool],
        linger_s: Callable[[], float],
    ) -> None:
        self.loop = loop
        self._endpoints = endpoints
        self._max_bytes = max_bytes
        self._opened, self._closed = opened, closed
        self.hold = hold
        self.linger_s = linger_s
        self._transport: Any = None
        self.write: Callable[[bytes], None] = _drop
        self._reader = FrameReader()
        self._has_greeted = False
        self._backlog = bytearray()
        self._is_going_on = False
        self._headers = HeaderReader()
        self._streams: dict[int, Stream] = {}
        self._last_id = 0
        self._is_leaving = self._is_widening = False
        self._is_paused = False
        self._last_call: asyncio.TimerHandle | None = None
        # what comes
        self._left = CONNECTION_WINDOW_BYTES
        # what goes
        self.window = self.initial_window = frames.DEFAULT_WINDOW_BYTES
        self._max_frame = frames.LEAST_FRAME_BYTES
        self._blocked: dict[int, Stream] = {}

    # --- asyncio.Protocol ---------------------------------------------------------------------------

    def connection_made(self, transport: Any) -> None:  # noqa: ANN401
        """Wait for the preface: who speaks HTTP/1 could not read what we say before it."""
        self._transport, self.write = transport, transport.write
        transport.set_write_buffer_limits(high=HIGH_WATER_BYTES)
        self._abort_in(GREETING_S)
        self._opened(self)

    def _greet(self) -> None:
        """Say what we take, once."""
        if self._has_greeted:
            return
        self._has_greeted = True
        self.write(
            frames.settings(
                (frames.MAX_CONCURRENT_STREAMS, MOST_STREAMS),
                (frames.INITIAL_WINDOW_SIZE, STREAM_WINDOW_BYTES),
                (frames.MAX_HEADER_LIST_SIZE, MAX_METADATA_BYTES),
            )
            + frames.window_update(0, CONNECTION_WINDOW_BYTES - frames.DEFAULT_WINDOW_BYTES)
        )

    def data_received(self, data: bytes) -> None:
        """Take it, piece by piece where it is much: calls that came first are answered first."""
        if len(data) <= PIECE_BYTES and not self._backlog:
            self._take(data)
            return
        self._backlog += data
        self._pace_reading()
        if not self._is_going_on:
            self._go_on()

    def _go_on(self) -> None:
        """Take the next piece."""
        self._is_going_on = False
        if self._transport.is_closing():
            self._backlog.clear()
        elif not self._is_paused:
            piece = bytes(self._backlog[:PIECE_BYTES])
            del self._backlog[:PIECE_BYTES]
            self._take(piece)
            if self._backlog:
                self._is_going_on = True
                self.loop.call_soon(self._go_on)
        self._pace_reading()

    def _pace_reading(self) -> None:
        """Read no more while there is enough to do, or the client does not read what it is sent."""
        if self._transport.is_closing():
            return
        if self._is_paused or self._backlog:
            self._transport.pause_reading()
        else:
            self._transport.resume_reading()

    def _take(self, data: bytes) -> None:
        """Take the frames that are whole; what is wrong with one ends the connection, and says why."""
        try:
            for kind, flags, stream_id, body in self._reader.read(data):
                self._greet()
                take = self._TAKES.get(kind)
                if (
                    take is not None
                ):  # others say nothing that we heed, or are of no known kind (section 4.1)
                    take(self, flags, stream_id, body)
                if self._transport.is_closing():
                    break
        except ConnectionFault as fault:
            self._cut_off(fault)
        except Exception:
            log.exception("rpc.connection_failed")
            self._cut_off(ConnectionFault(ErrorCode.INTERNAL_ERROR, "the server failed"))

    def connection_lost(self, error: Exception | None) -> None:  # noqa: ARG002
        """All of its calls are over."""
        self._forget_all()
        self._abort_in(None)
        self._closed(self)

    def pause_writing(self) -> None:
        """The client does not read as fast as it is sent: what it asks for next waits."""
        self._is_paused = True
        self._pace_reading()

    def resume_writing(self) -> None:
        """It has caught up."""
        self._is_paused = False
        self._send_on()
        if self._backlog and not self._is_going_on:
            self._go_on()
        self._pace_reading()

    # --- frames ---------------------------------------------------------------------------------------

    def _data(self, flags: int, stream_id: int, body: bytes) -> None:
        size = len(body)
        self._left -= size
        if self._left < 0:
            raise ConnectionFault(ErrorCode.FLOW_CONTROL_ERROR, "more than there was room for")
        if self._left < CONNECTION_WINDOW_BYTES // 2:
            self.allow(0, CONNECTION_WINDOW_BYTES - self._left)
            self._left = CONNECTION_WINDOW_BYTES
        stream = self._streams.get(stream_id)
        if stream is None:
            self._must_have_been(stream_id, "frames.DATA")
            return  # sent before the client knew that it is over
        if stream.has_ended:
            stream.leave(ErrorCode.STREAM_CLOSED)
            return
        stream.left -= size
        if stream.left < 0:
            raise ConnectionFault(ErrorCode.FLOW_CONTROL_ERROR, "more than there was room for")
        stream.take(frames.unpadded(flags, body), size, ended=bool(flags & frames.END_STREAM))

    def _headers_of(self, flags: int, stream_id: int, block: bytes) -> None:
        if not stream_id & 1:
            raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, "no stream of a client's")
        ends_stream = bool(flags & frames.END_STREAM)
        asked = self._headers.read(block)  # always: the next block may hang on it
        if stream_id <= self._last_id:
            self._headers_again(stream_id, asked, ends_stream=ends_stream)
            return
        if self._is_leaving:
            return  # the client was told that it is not taken
        self._last_id = stream_id
        if len(self._streams) >= MOST_STREAMS:
            self.write(frames.reset(stream_id, ErrorCode.REFUSED_STREAM))
            return
        if asked.refusal:
            self._refuse(stream_id, asked.refusal, asked.refusal_text, ended=ends_stream)
            return
        endpoint = self._endpoints.get(asked.path)
        if endpoint is None:
            self._refuse(stream_id, _NO_METHOD, ended=ends_stream)
            return
        stream = Stream(self, stream_id, asked, endpoint, self._max_bytes)
        self._streams[stream_id] = stream
        stream.open(ended=ends_stream)

    def _headers_again(self, stream_id: int, asked: Asked, *, ends_stream: bool) -> None:
        """What a caller may say behind its requests, of a call that goes on or is over."""
        stream = self._streams.get(stream_id)
        if asked.path or not ends_stream:
            raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, "headers again")
        if stream is not None and stream.has_ended:
            raise ConnectionFault(ErrorCode.STREAM_CLOSED, "headers behind the end")
        if stream is not None:
            stream.end_requests()

    def _refuse(self, stream_id: int, block: bytes, text: bytes = b"", *, ended: bool) -> None:
        """Answer what no handler is asked about; the text is left out where there is no room for it."""
        size = len(text)
        if size > min(self.initial_window, self.room()):
            size = 0
        self.write(frames.headers(stream_id, block, 0 if size else frames.END_STREAM))
        if size:
            self.window -= size
            self.write(frames.frame(frames.DATA, frames.END_STREAM, stream_id, text))
        if not ended:
            self.write(frames.reset(stream_id, ErrorCode.NO_ERROR))

    def _reset(self, _: int, stream_id: int, __: bytes) -> None:
        stream = self._streams.get(stream_id)
        if stream is None:
            self._must_have_been(stream_id, "frames.RST_STREAM")
            return
        del self._streams[stream_id]
        stream.leave()

    def _must_have_been(self, stream_id: int, name: str) -> None:
        is_known = 0 < stream_id <= self._last_id or self._is_leaving
        if not (is_known and stream_id & 1):
            raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, f"{name} on a stream that never was")

    def _settings(self, flags: int, _: int, body: bytes) -> None:
        self._abort_in(None)
        if flags & frames.ACK:
            return
        before = self.initial_window
        for name, value in frames.read_settings(body):
            if name == frames.INITIAL_WINDOW_SIZE:
                self.initial_window = value  # those of open streams move along (section 6.9.2)
            elif name == frames.MAX_FRAME_SIZE:
                self._max_frame = value
        self.write(frames.frame(frames.SETTINGS, frames.ACK, 0))
        if self.initial_window > before and not self._is_widening:
            self._is_widening = True  # once for all settings of one read: there may be many of both
            self.loop.call_soon(self._widen)

    def _widen(self) -> None:
        """The initial window has grown: send what waits for that."""
        self._is_widening = False
        for stream in list(self._streams.values()):
            if stream.window > frames.MOST_WINDOW_BYTES:
                self._cut_off(ConnectionFault(ErrorCode.FLOW_CONTROL_ERROR, "too wide a window"))
                return
            stream.flush()

    def _ping(self, flags: int, _: int, body: bytes) -> None:
        if not flags & frames.ACK:
            self.write(frames.frame(frames.PING, frames.ACK, 0, body))

    def _window_update(self, _: int, stream_id: int, body: bytes) -> None:
        count = frames.U32.unpack(body)[0] & frames.MOST_STREAM_ID
        if stream_id:
            self._widen_stream(stream_id, count)
            return
        if count == 0:
            raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, "room for nothing")
        self.window += count
        if self.window > frames.MOST_WINDOW_BYTES:
            raise ConnectionFault(ErrorCode.FLOW_CONTROL_ERROR, "too wide a window")
        self._send_on()

    def _widen_stream(self, stream_id: int, count: int) -> None:
        stream = self._streams.get(stream_id)
        if stream is None:
            self._must_have_been(stream_id, "frames.WINDOW_UPDATE")
            return
        stream.credit += count
        if (
            count == 0 or stream.window > frames.MOST_WINDOW_BYTES
        ):  # costs the stream only (section 6.9)
            stream.leave(ErrorCode.FLOW_CONTROL_ERROR if count else ErrorCode.PROTOCOL_ERROR)
            return
        stream.flush()

    # --- for its streams --------------------------------------------------------------------------------

    def allow(self, stream_id: int, count: int) -> None:
        """Let the client send so many bytes more; 0: on all streams together."""
        self.write(frames.window_update(stream_id, count))

    def room(self) -> int:
        """Bytes that one frame may have now."""
        return 0 if self._is_paused else min(self.window, self._max_frame)

    def wait_for_room(self, stream: Stream) -> None:
        """Have it flushed once there is some."""
        self._blocked.setdefault(stream.stream_id, stream)

    def _send_on(self) -> None:
        """Flush who waited, the longest first, while there is room."""
        while self._blocked and self.room() > 0:
            self._blocked.pop(next(iter(self._blocked))).flush()

    def forget(self, stream_id: int, told: ErrorCode | None) -> None:
        """A stream is over; the client is told so, with that word, unless it knows."""
        self._blocked.pop(stream_id, None)
        if self._streams.pop(stream_id, None) is not None and told is not None:
            self.write(frames.reset(stream_id, told))
        if self._is_leaving and not self._streams:
            self._transport.close()

    # --- the end -------------------------------------------------------------------------------------------

    def leave(self) -> None:
        """Take no new streams, and close when the open ones are over."""
        if self._is_leaving:
            return
        self._is_leaving = True
        self._greet()
        self.write(frames.goaway(self._last_id, ErrorCode.NO_ERROR))
        if not self._streams:
            self._transport.close()

    def break_off(self) -> None:
        """End all calls."""
        for stream in list(self._streams.values()):
            stream.cancel(Code.UNAVAILABLE, "the server has stopped")

    def abort(self) -> None:
        """Close without a word."""
        self._transport.abort()

    def _cut_off(self, fault: ConnectionFault) -> None:
        log.info("rpc.connection_refused", code=fault.code.name, text=fault.text)
        if self._reader.is_older_http:
            self.write(OLDER_HTTP_ANSWER)
        else:
            self._greet()
            self.write(frames.goaway(self._last_id, fault.code, fault.text))
        self._forget_all()
        self._transport.close()
        self._abort_in(LAST_WORDS_S)  # one that does not read would keep it open, and what it holds

    def _abort_in(self, wait_s: float | None) -> None:
        """Close it then, whatever becomes of it; None: no more."""
        if self._last_call is not None:
            self._last_call.cancel()
        if wait_s is not None:
            self._last_call = self.loop.call_later(wait_s, self._transport.abort)

    def _forget_all(self) -> None:
        """Nothing is sent any more; all calls are over."""
        self.write = _drop
        streams, self._streams = list(self._streams.values()), {}
        for stream in streams:
            stream.leave()
        self._blocked.clear()

    _TAKES: ClassVar[Mapping[int, Callable[[Connection, int, int, bytes], None]]] = {
        frames.DATA: _data,
        frames.HEADERS: _headers_of,
        frames.RST_STREAM: _reset,
        frames.SETTINGS: _settings,
        frames.PING: _ping,
        frames.WINDOW_UPDATE: _window_update,
    }
