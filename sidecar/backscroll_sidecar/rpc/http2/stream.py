"""One call: what its handler is given, and what of its answer the caller has room for."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable
from contextlib import aclosing
from struct import Struct
from typing import TYPE_CHECKING, Any, Never

import grpc
import structlog

from backscroll_sidecar.rpc.http2.frames import (
    DATA,
    END_HEADERS,
    END_STREAM,
    HEAD,
    HEADERS,
    frame,
)
from backscroll_sidecar.rpc.http2.headers import (
    OK_BLOCK,
    OK_TRAILERS,
    Asked,
    Metadata,
    status_block,
    trailers,
)
from backscroll_sidecar.rpc.http2.messages import PREFIX_BYTES, BadMessage, MessageReader

if TYPE_CHECKING:
    from backscroll_sidecar.rpc.http2.connection import Connection

log = structlog.get_logger("backscroll.rpc")

STREAM_WINDOW_BYTES = 2**20
"""What a caller may send ahead of who reads it."""
_PREFIX = Struct(">BI")
_BEGUN = Struct(f">HBBBI{len(OK_BLOCK)}sHBBBIBI")
"""Headers, and the head and prefix of the only message."""
_OVER = HEAD.pack(0, len(OK_TRAILERS), HEADERS, END_HEADERS | END_STREAM, 0)[:5]
_OK = grpc.StatusCode.OK.value[0]


class Aborted(Exception):
    """The handler has ended its call with a status."""


class Stream:
    """A call. It stands in for the context that `grpc.aio` gives a handler; belongs to its connection's loop.

    Attributes
    ----------
    window : bytes the caller has room for, beside the connection's.
    is_over : nothing is sent or taken any more.
    """

    __slots__ = (
        "_asked", "_connection", "_deadline_s", "_drained", "_ended", "_ending", "_handler", "_has_begun",
        "_messages", "_owed", "_reader", "_status", "_task", "_timer", "_unsent", "_waiting",
        "_waiting_bytes", "_why", "is_over", "left", "stream_id", "window",
    )  # fmt: skip

    def __init__(
        self,
        connection: Connection,
        stream_id: int,
        asked: Asked,
        handler: Any,  # noqa: ANN401
        max_bytes: int,
    ) -> None:
        self._connection = connection
        self.stream_id = stream_id
        self._asked = asked
        self._handler = handler
        self._reader = MessageReader(asked.encoding, max_bytes)
        self._task: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._deadline_s = 0.0
        self._why: tuple[grpc.StatusCode, str] | None = None
        self._status: tuple[grpc.StatusCode, str] = grpc.StatusCode.OK, ""
        # what comes
        self._ended = False
        self._owed = 0
        self.left = STREAM_WINDOW_BYTES
        self._messages: deque[bytes] = deque()
        self._waiting_bytes = 0
        self._waiting: asyncio.Future[None] | None = None
        # what goes
        self.window = connection.initial_window
        self._has_begun = False
        self._unsent: deque[memoryview] = deque()
        self._ending: bytes | None = None
        self._drained: asyncio.Future[None] | None = None
        self.is_over = False

    # --- what a handler may ask of its call --------------------------------------------------------

    def invocation_metadata(self) -> Metadata:
        """What the caller sent beside its request."""
        return self._asked.metadata

    def time_remaining(self) -> float | None:
        """Seconds until the caller's deadline; None without one."""
        if self._timer is None:
            return self._asked.timeout_s
        return max(0.0, self._deadline_s - self._connection.loop.time())

    async def abort(
        self,
        code: grpc.StatusCode,
        details: str = "",
        trailing_metadata: Iterable[tuple[str, str | bytes]] = (),
    ) -> Never:
        """End the call with a status. Raises `Aborted`, always."""
        self.end(code, details, trailing_metadata)
        raise Aborted

    def set_code(self, code: grpc.StatusCode) -> None:
        """End the call with this status when its handler returns or raises."""
        self._status = code, self._status[1]

    def set_details(self, details: str) -> None:
        """And with these words."""
        self._status = self._status[0], details

    async def write(self, message: Any) -> None:  # noqa: ANN401
        """Send a message of a stream of answers; returns when the caller had room for it."""
        write = self._handler.response_serializer
        self._put(message if write is None else write(message))
        await self._until_sent()

    # --- what comes ---------------------------------------------------------------------------------

    def open(self, *, ended: bool) -> None:
        """Begin: a handler that is given a stream of requests at once, another when its request is whole."""
        timeout_s = self._asked.timeout_s
        if timeout_s is not None:
            loop = self._connection.loop
            self._deadline_s = loop.time() + timeout_s
            self._timer = loop.call_at(self._deadline_s, self._too_late)
        if self._handler.request_streaming:
            self._start(_Requests(self))
        if ended:
            self.end_requests()

    def take(self, body: bytes, size: int, *, ended: bool) -> None:
        """Content of the stream, in a frame of that size; `ended`: behind it nothing more comes."""
        try:
            messages = self._reader.read(body)
        except BadMessage as bad:
            self.refuse(bad.code, bad.text)
            return
        if not self._handler.request_streaming:
            if messages and self._task is None:
                self._start(messages[0])
        elif messages:
            self._messages.extend(messages)
            self._waiting_bytes += sum(map(len, messages))
            self._wake()
        if ended:
            self.end_requests()
        else:
            self._owed += size
            self._pay()

    def end_requests(self) -> None:
        """Nothing more comes."""
        self._ended = True
        if not self._reader.is_between:
            self.refuse(grpc.StatusCode.INTERNAL, "the request ends inside a message")
        elif self._task is None:
            self.refuse(grpc.StatusCode.UNIMPLEMENTED, "the call has no request")
        else:
            self._wake()

    async def next_request(self) -> bytes | None:
        """The next message of a stream of requests; None behind the last."""
        while not self._messages:
            if self._ended:
                return None
            self._waiting = self._connection.loop.create_future()
            await self._waiting
        message = self._messages.popleft()
        self._waiting_bytes -= len(message)
        self._pay()
        return message

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is not None and not waiting.done():
            waiting.set_result(None)

    def _pay(self) -> None:
        """Let the caller send on, unless messages lie here that nobody took."""
        enough = self._owed >= STREAM_WINDOW_BYTES // 4
        if enough and self._waiting_bytes <= STREAM_WINDOW_BYTES // 2 and not self._ended:
            self._connection.allow(self.stream_id, self._owed)
            self.left += self._owed
            self._owed = 0

    # --- the handler ---------------------------------------------------------------------------------

    def _start(self, request: Any) -> None:  # noqa: ANN401
        self._task = self._connection.loop.create_task(self._run(request))

    async def _run(self, request: Any) -> None:  # noqa: ANN401
        handler = self._handler
        try:
            if handler.request_deserializer is not None and not handler.request_streaming:
                request = handler.request_deserializer(request)
            if handler.response_streaming:
                behaviour = handler.stream_stream if handler.request_streaming else handler.unary_stream  # fmt: skip
                await self._answer_all(behaviour(request, self))
                self.end(*self._status)
            else:
                behaviour = handler.stream_unary if handler.request_streaming else handler.unary_unary  # fmt: skip
                answer = await behaviour(request, self)
                write = handler.response_serializer
                if self._status[0] is grpc.StatusCode.OK:
                    self._answer(answer if write is None else write(answer))
                else:
                    self.end(*self._status)
        except Aborted:
            pass
        except asyncio.CancelledError:
            self.end(*(self._why or (grpc.StatusCode.CANCELLED, "")))
        except Exception:
            code, text = self._status
            if code is grpc.StatusCode.OK:
                log.exception("rpc.handler_failed")
                code, text = grpc.StatusCode.UNKNOWN, "the handler failed"
            self.end(code, text)

    async def _answer_all(self, answers: Any) -> None:  # noqa: ANN401
        if not hasattr(answers, "__aiter__"):
            await answers  # it writes by itself
            return
        async with aclosing(answers):
            async for one in answers:
                await self.write(one)

    def _too_late(self) -> None:
        self.cancel(grpc.StatusCode.DEADLINE_EXCEEDED, "Deadline Exceeded")

    def cancel(self, code: grpc.StatusCode, text: str) -> None:
        """End it from outside; its handler is cancelled."""
        self._why = code, text
        if self._task is None:
            self.end(code, text)
        else:
            self._task.cancel()

    def refuse(self, code: grpc.StatusCode, text: str) -> None:
        """End it for what the caller sent."""
        self.end(code, text)
        if self._task is not None:
            self._task.cancel()

    def leave(self) -> None:
        """The caller has left, or the connection has."""
        self._close()
        if self._task is not None:
            self._task.cancel()

    # --- what goes ----------------------------------------------------------------------------------

    def _answer(self, body: bytes) -> None:
        """The only message and the end; at once, where there is room for it."""
        connection, size = self._connection, len(body) + PREFIX_BYTES
        if not connection.has_room(size) or size > self.window or self.is_over or self._has_begun:
            self._put(body)
            self.end(grpc.StatusCode.OK)
            return
        connection.window -= size
        stream_id = self.stream_id
        begun = _BEGUN.pack(
            0, len(OK_BLOCK), HEADERS, END_HEADERS, stream_id, OK_BLOCK,
            size >> 8, size & 0xFF, DATA, 0, stream_id, 0, len(body),
        )  # fmt: skip
        over = _OVER + stream_id.to_bytes(4) + OK_TRAILERS
        connection.write(begun + body + over)
        self._close()

    def _put(self, body: bytes) -> None:
        """Send a message, or keep what there is no room for."""
        if self.is_over or self._ending is not None:
            return
        if not self._has_begun:
            self._has_begun = True
            self._connection.write(frame(HEADERS, END_HEADERS, self.stream_id, OK_BLOCK))
        self._unsent.append(memoryview(_PREFIX.pack(0, len(body)) + body))
        self.flush()

    def end(
        self,
        code: grpc.StatusCode,
        text: str = "",
        metadata: Iterable[tuple[str, str | bytes]] | None = (),
    ) -> None:
        """The status, behind what was not sent yet; only the first one counts."""
        if self.is_over or self._ending is not None:
            return
        number: int = code.value[0]
        if number != _OK:
            self._unsent.clear()  # as gRPC does: an answer that failed is of no use
        block = trailers if self._has_begun else status_block
        self._ending = block(number, text, metadata or ())
        self.flush()

    def flush(self) -> None:
        """Send what there is room for."""
        connection, unsent = self._connection, self._unsent
        while unsent:
            piece = unsent[0]
            size = min(len(piece), self.window, connection.room())
            if size <= 0:
                connection.wait_for_room(self)
                return
            self.window -= size
            connection.window -= size
            connection.write(frame(DATA, 0, self.stream_id, bytes(piece[:size])))
            if size == len(piece):
                unsent.popleft()
            else:
                unsent[0] = piece[size:]
        drained, self._drained = self._drained, None
        if drained is not None and not drained.done():
            drained.set_result(None)
        if self._ending is not None and not self.is_over:
            connection.write(frame(HEADERS, END_HEADERS | END_STREAM, self.stream_id, self._ending))
            self._close()

    async def _until_sent(self) -> None:
        while self._unsent and not self.is_over:
            self._drained = self._connection.loop.create_future()
            await self._drained

    def _close(self) -> None:
        if self.is_over:
            return
        self.is_over = True
        if self._timer is not None:
            self._timer.cancel()
        self._unsent.clear()
        drained, self._drained = self._drained, None
        if drained is not None and not drained.done():
            drained.set_result(None)
        self._connection.forget(self.stream_id, is_cut=not self._ended)


class _Requests:
    """The stream of requests as a handler is given it."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._read = stream._handler.request_deserializer  # noqa: SLF001

    def __aiter__(self) -> _Requests:
        return self

    async def __anext__(self) -> Any:  # noqa: ANN401
        message = await self._stream.next_request()
        if message is None:
            raise StopAsyncIteration
        return message if self._read is None else self._read(message)
