"""One call: what comes, the handler it is for, and when it ends."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Never

import grpc
import structlog

from backscroll_sidecar.edge.http2.frames import Code
from backscroll_sidecar.edge.http2.headers import Asked, Metadata
from backscroll_sidecar.edge.http2.messages import BadMessage, MessageReader, Sent
from backscroll_sidecar.edge.http2.sending import Sending

if TYPE_CHECKING:
    from backscroll_sidecar.edge.http2.connection import Connection

log = structlog.get_logger("backscroll.rpc")

STREAM_WINDOW_BYTES = 4 * 2**20
"""What a caller may send ahead of who reads it: the largest batch, so that one refused is told why. (`grpc.aio` forgets
the status of a call that ends while it waits for room.)"""
_OK = grpc.StatusCode.OK


class Aborted(Exception):
    """The handler has ended its call with a status."""


class Stream(Sending):
    """A call. It is the context that its handler is given; belongs to its connection's loop.

    Attributes
    ----------
    left : bytes the caller may still send.
    has_ended : the caller sends no more.
    """

    __slots__ = (
        "_asked", "_deadline_s", "_handler", "_has_run", "_held_bytes", "_is_cancelled", "_messages", "_owed",
        "_reader", "_status", "_task", "_timer", "_waiting", "_waiting_bytes", "_why", "has_ended", "left",
    )  # fmt: skip

    def __init__(
        self,
        connection: Connection,
        stream_id: int,
        asked: Asked,
        handler: Any,  # noqa: ANN401 - gRPC's, of four shapes
        max_bytes: int,
    ) -> None:
        super().__init__(connection, stream_id)
        self._asked = asked
        self._handler = handler
        self._reader = MessageReader(asked.encoding, max_bytes)
        self._status = _OK, ""
        # what comes
        self.left = STREAM_WINDOW_BYTES
        self.has_ended = False
        self._owed = self._held_bytes = self._waiting_bytes = 0
        self._messages: deque[Sent] = deque()
        self._waiting: asyncio.Future[None] | None = None
        # who answers
        self._task: asyncio.Task[None] | None = None
        self._has_run = self._is_cancelled = False
        self._why: tuple[grpc.StatusCode, str] = grpc.StatusCode.CANCELLED, ""
        self._timer: asyncio.TimerHandle | None = None
        self._deadline_s = 0.0

    # --- what a handler may ask of its call --------------------------------------------------------

    def invocation_metadata(self) -> Metadata:
        """What the caller sent beside its request."""
        return self._asked.metadata

    def time_remaining(self) -> float | None:
        """Seconds until the caller's deadline; None without one."""
        if self._timer is None:
            return None
        return max(0.0, self._deadline_s - self._connection.loop.time())

    def set_code(self, code: grpc.StatusCode) -> None:
        """End the call with this status when its handler returns or raises."""
        self._status = code, self._status[1]

    def set_details(self, details: str) -> None:
        """And with these words."""
        self._status = self._status[0], details

    async def abort(
        self,
        code: grpc.StatusCode,
        details: str = "",
        trailing_metadata: Iterable[tuple[str, str | bytes]] = (),
    ) -> Never:
        """End the call with a status. Raises `Aborted`, always."""
        self.end(code, details, trailing_metadata)
        raise Aborted

    async def write(self, message: Any) -> None:  # noqa: ANN401
        """Send one of several messages; a caller who does not read them makes its handler wait."""
        write = self._handler.response_serializer
        self.put(message if write is None else write(message))
        await self.sent()

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
        self.has_ended = self.has_ended or ended
        if self._ending is not None:  # it is answered, and the caller does not read that
            return
        try:
            if self._handler.request_streaming:
                self._queue(self._reader.read(body))
            elif self._task is None:  # behind the only request nothing counts
                messages = self._reader.read(body)
                if messages:
                    self._start(self._reader.plain(messages[0]))
        except BadMessage as bad:
            self.refuse(bad.code, bad.text)
            return
        if ended:
            self.end_requests()
        else:
            self._owed += size
            self._pay()
        self._hold()

    def _queue(self, messages: list[Sent]) -> None:
        self._messages.extend(messages)
        self._waiting_bytes += sum(one.cost_bytes for one in messages)
        self._wake_reader()

    def end_requests(self) -> None:
        """Nothing more comes."""
        self.has_ended = True
        if self._reader.held_bytes and (self._task is None or self._handler.request_streaming):
            self.refuse(grpc.StatusCode.INTERNAL, "what is sent ends inside a message")
        elif self._task is None:
            self.refuse(grpc.StatusCode.UNIMPLEMENTED, "the call has no request")
        else:
            self._wake_reader()

    async def next_request(self) -> bytes | None:
        """The next message of a stream of requests; None behind the last."""
        while not self._messages:
            if self.is_over:
                raise asyncio.CancelledError  # what came is not all
            if self.has_ended:
                return None
            if self._waiting is None:
                self._waiting = self._connection.loop.create_future()
            await asyncio.shield(self._waiting)
        sent = self._messages.popleft()
        self._waiting_bytes -= sent.cost_bytes
        self._pay()
        self._hold()
        try:
            return self._reader.plain(sent)
        except BadMessage as bad:
            await self.abort(bad.code, bad.text)

    def _wake_reader(self) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is not None and not waiting.done():
            waiting.set_result(None)

    def _pay(self) -> None:
        """Let the caller send on, unless messages lie here that nobody took."""
        enough = self._owed >= STREAM_WINDOW_BYTES // 4
        if enough and self._waiting_bytes <= STREAM_WINDOW_BYTES // 2 and not self.has_ended:
            self._connection.allow(self.stream_id, self._owed)
            self.left += self._owed
            self._owed = 0

    def _hold(self) -> None:
        """Tell the server how much lies here; where all calls together hold too much, this one is refused."""
        held = self._waiting_bytes + self._reader.held_bytes
        if held != self._held_bytes:
            more, self._held_bytes = held - self._held_bytes, held
            if not self._connection.hold(more) and more > 0:
                self.refuse(grpc.StatusCode.RESOURCE_EXHAUSTED, "too much is being sent at once")

    # --- the handler ---------------------------------------------------------------------------------

    def _start(self, request: Any) -> None:  # noqa: ANN401
        self._task = self._connection.loop.create_task(self._run(request))

    async def _run(self, request: Any) -> None:  # noqa: ANN401
        self._has_run = True
        try:
            await self._handle(request)
        except Aborted:
            pass
        except asyncio.CancelledError:  # nobody waits for this task
            self.end(*self._why)
        except Exception:
            code, text = self._status
            if code is _OK:
                log.exception("rpc.handler_failed")
                code, text = grpc.StatusCode.UNKNOWN, "the handler failed"
            self.end(code, text)

    async def _handle(self, request: Any) -> None:  # noqa: ANN401
        handler = self._handler
        takes_many = handler.request_streaming
        if handler.request_deserializer is not None and not takes_many:
            request = handler.request_deserializer(request)
        if handler.response_streaming:
            behaviour = handler.stream_stream if takes_many else handler.unary_stream
            await self._answer_all(behaviour(request, self))
            self.end(*(self._why if self._is_dropping else self._status))
            return
        behaviour = handler.stream_unary if takes_many else handler.unary_unary
        answer = await behaviour(request, self)
        if self._is_dropping:  # cancelled, and it went on
            self.end(*self._why)
            return
        if self._status[0] is not _OK:
            self.end(*self._status)
            return
        write = handler.response_serializer
        self.answer(answer if write is None else write(answer))

    async def _answer_all(self, answers: Any) -> None:  # noqa: ANN401
        if not hasattr(answers, "__aiter__"):
            await answers  # it writes by itself
            return
        async with aclosing(answers):
            async for one in answers:
                await self.write(one)

    # --- the end ----------------------------------------------------------------------------------------

    def _too_late(self) -> None:
        self.cancel(grpc.StatusCode.DEADLINE_EXCEEDED, "Deadline Exceeded")

    def cancel(self, code: grpc.StatusCode, text: str) -> None:
        """End it from outside: its handler is cancelled; an answer that its caller does not read is dropped."""
        self._why = code, text
        if self._ending is not None:
            self.close(Code.CANCEL)
        self.drop()
        if not self._has_run:
            self.end(code, text)
        self._stop_handler()

    def refuse(self, code: grpc.StatusCode, text: str) -> None:
        """End it for what the caller sent, of which nothing is kept."""
        self.end(code, text)
        self._forget_requests()
        self._stop_handler()

    def leave(self, told: Code | None = None) -> None:
        """The caller has left, or the connection has; or the caller is told why it cannot stay."""
        self.close(told)
        self._stop_handler()

    def close(self, told: Code | None = None) -> None:
        """Nothing is sent or taken any more; a caller who may still be sending is told, or why it gets no more."""
        if self.is_over:
            return
        if self._timer is not None:
            self._timer.cancel()
        super().close(told if told is not None or self.has_ended else Code.NO_ERROR)
        self._forget_requests()
        self._wake_reader()

    def _forget_requests(self) -> None:
        self._messages.clear()
        self._waiting_bytes = 0
        self._reader.clear()
        self._hold()

    def _stop_handler(self) -> None:
        """Cancel it, once: it may be cleaning up already."""
        if self._task is not None and not self._is_cancelled:
            self._is_cancelled = True
            self._task.cancel()


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
