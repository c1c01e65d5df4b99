"""One call: what comes, who answers, what is sent as far as the caller has room for it, and when it ends."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import aclosing
from typing import Protocol

import structlog

from backscroll_sidecar.edge.call_pipeline import Endpoint, Incoming
from backscroll_sidecar.edge.grpc.status import trailing_metadata
from backscroll_sidecar.edge.http2.frames import DATA, END_STREAM, ErrorCode, frame, headers
from backscroll_sidecar.edge.http2.messages import (
    OK_BLOCK,
    PREFIX_BYTES,
    Asked,
    MessageReader,
    Metadata,
    Sent,
    prefixed,
    status_block,
    trailers,
    whole_answer,
)
from backscroll_sidecar.edge.status import Code, Refused

log = structlog.get_logger("backscroll.rpc")

STREAM_WINDOW_BYTES = 4 * 2**20
"""What a caller may send ahead of who reads it: the largest batch, so that one refused is told why. (`grpc.aio` forgets
the status of a call that ends while it waits for room.)"""
MOST_UNSENT_BYTES = 64 * 1024
"""Who has written more than there is room for waits. Not for less: who holds a lock while it writes a line need not."""


class Link(Protocol):
    """What a call needs of its connection.

    Attributes
    ----------
    window : bytes the client has room for, all streams together.
    initial_window : of its new streams.
    hold : told of bytes of messages that lie here, and of their end; False: too many.
    linger_s : how long a call may go on whose caller has left.
    """

    loop: asyncio.AbstractEventLoop
    window: int
    initial_window: int
    write: Callable[[bytes], None]
    hold: Callable[[int], bool]
    linger_s: Callable[[], float]

    def allow(self, stream_id: int, count: int) -> None:
        """Let the client send so many bytes more."""

    def room(self) -> int:
        """Bytes that one frame may have now."""

    def wait_for_room(self, stream: Stream) -> None:
        """Have it flushed once there is some."""

    def forget(self, stream_id: int, told: ErrorCode | None) -> None:
        """A stream is over; the client is told so, with that word, unless it knows."""


class Stream:
    """A call: the caller, and the iterator of its requests where they are a stream. Belongs to its connection's loop.

    Attributes
    ----------
    left : bytes the caller may still send.
    has_ended : the caller sends no more.
    credit : bytes the caller has room for, beyond its initial window.
    is_over : nothing is sent or taken any more.
    """

    __slots__ = (
        "_asked", "_connection", "_deadline_s", "_drained", "_ending", "_endpoint", "_has_begun", "_has_run",
        "_held_bytes", "_is_cancelled", "_is_cut", "_is_dropping", "_is_torn", "_messages", "_owed", "_reader",
        "_task", "_timer", "_unsent", "_unsent_bytes", "_waiting", "_waiting_bytes", "_why", "credit",
        "has_ended", "is_over", "left", "stream_id",
    )  # fmt: skip

    def __init__(
        self,
        connection: Link,
        stream_id: int,
        asked: Asked,
        endpoint: Endpoint,
        max_bytes: int,
    ) -> None:
        self._connection = connection
        self.stream_id = stream_id
        self._asked = asked
        self._endpoint = endpoint
        self.is_over = False
        # what comes
        self._reader = MessageReader(asked.encoding, max_bytes)
        self.left = STREAM_WINDOW_BYTES
        self.has_ended = False
        self._owed = self._held_bytes = self._waiting_bytes = 0
        self._messages: deque[Sent] = deque()
        self._waiting: asyncio.Future[None] | None = None
        # who answers
        self._task: asyncio.Task[None] | None = None
        self._has_run = self._is_cancelled = False
        self._why: tuple[Code, str] = Code.CANCELLED, ""
        self._timer: asyncio.TimerHandle | None = None
        self._deadline_s = 0.0
        # what goes
        self.credit = 0
        self._has_begun = self._is_cut = self._is_dropping = self._is_torn = False
        self._unsent: deque[memoryview] = deque()
        self._unsent_bytes = 0
        self._ending: bytes | None = None
        self._drained: asyncio.Future[None] | None = None

    # --- who calls ---------------------------------------------------------------------------------

    @property
    def metadata(self) -> Metadata:
        """What the caller sent beside its request."""
        return self._asked.metadata

    @property
    def time_left_s(self) -> float | None:
        """Seconds until the caller's deadline; None without one."""
        if self._timer is None:
            return None
        return max(0.0, self._deadline_s - self._connection.loop.time())

    # --- what comes ---------------------------------------------------------------------------------

    def open(self, *, ended: bool) -> None:
        """Begin: a handler that is given a stream of requests at once, another when its request is whole."""
        timeout_s = self._asked.timeout_s
        if timeout_s is not None:
            loop = self._connection.loop
            self._deadline_s = loop.time() + timeout_s
            self._timer = loop.call_at(self._deadline_s, self._too_late)
        if self._endpoint.client_streaming:
            self._start(self)
        if ended:
            self.end_requests()

    def take(self, body: bytes, size: int, *, ended: bool) -> None:
        """Content of the stream, in a frame of that size; `ended`: behind it nothing more comes."""
        self.has_ended = self.has_ended or ended
        if self._ending is not None:  # it is answered, and the caller does not read that
            return
        try:
            if self._endpoint.client_streaming:
                self._queue(self._reader.read(body))
            elif self._task is None:  # behind the only request nothing counts
                messages = self._reader.read(body)
                if messages:
                    self._start(self._reader.plain(messages[0]))
        except Refused as bad:
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
        if self._reader.held_bytes and (self._task is None or self._endpoint.client_streaming):
            self.refuse(Code.INTERNAL, "what is sent ends inside a message")
        elif self._task is None:
            self.refuse(Code.UNIMPLEMENTED, "the call has no request")
        else:
            self._wake_reader()

    def __aiter__(self) -> Stream:
        return self

    async def __anext__(self) -> bytes:
        """The next of a stream of requests. Raises `Refused` for one that is no message."""
        while not self._messages:
            if self.is_over:
                raise asyncio.CancelledError  # what came is not all
            if self.has_ended:
                raise StopAsyncIteration
            if self._waiting is None:
                self._waiting = self._connection.loop.create_future()
            await asyncio.shield(self._waiting)
        sent = self._messages.popleft()
        self._waiting_bytes -= sent.cost_bytes
        self._pay()
        self._hold()
        return self._reader.plain(sent)

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
                self.refuse(Code.RESOURCE_EXHAUSTED, "too much is being sent at once")

    # --- who answers -------------------------------------------------------------------------------

    def _start(self, request: Incoming) -> None:
        self._task = self._connection.loop.create_task(self._run(request))

    async def _run(self, request: Incoming) -> None:
        self._has_run = True
        try:
            if self._endpoint.server_streaming:
                async with aclosing(self._endpoint.answer(request, self)) as answers:
                    async for one in answers:
                        self.put(one)
                        await self.sent()
                body = None
            else:
                body = await self._endpoint.answer(request, self)
            if self._is_dropping:  # cancelled, and it went on
                self.end(*self._why)
            elif body is None:
                self.end(Code.OK)
            else:
                self.answer(body)
        except Refused as refused:
            self.end(refused.code, refused.text, trailing_metadata(refused))
        except asyncio.CancelledError:  # nobody waits for this task
            self.end(*self._why)
        except Exception:
            log.exception("rpc.handler_failed")
            self.end(Code.UNKNOWN, "the handler failed")

    # --- what goes ----------------------------------------------------------------------------------

    @property
    def window(self) -> int:
        """Bytes the caller has room for, beside the connection's."""
        return self.credit + self._connection.initial_window

    def answer(self, body: bytes) -> None:
        """Send the only message and the end; at once, where there is room for it."""
        connection, size = self._connection, len(body) + PREFIX_BYTES
        if self._has_begun or self.is_over or size > min(self.window, connection.room()):
            self.put(body)
            self.end(Code.OK)
            return
        connection.window -= size
        connection.write(whole_answer(self.stream_id, body))
        self.close()

    def put(self, body: bytes) -> None:
        """Send a message; what there is no room for is kept."""
        if self.is_over or self._is_dropping or self._ending is not None:
            return
        if not self._has_begun:
            self._has_begun = True
            self._connection.write(headers(self.stream_id, OK_BLOCK))
        self._unsent.append(memoryview(prefixed(body)))
        self._unsent_bytes += len(body) + PREFIX_BYTES
        self.flush()

    async def sent(self) -> None:
        """Return when hardly anything is kept, or nothing is sent any more."""
        while self._unsent_bytes > MOST_UNSENT_BYTES and not self.is_over:
            if self._drained is None:
                self._drained = self._connection.loop.create_future()
            await asyncio.shield(self._drained)

    def end(self, code: Code, text: str = "", metadata: Metadata = ()) -> None:
        """Send the status, behind what is kept; only the first one counts."""
        if self.is_over or self._ending is not None:
            return
        if self._is_torn:
            self.close(ErrorCode.CANCEL)
            return
        tell = trailers if self._has_begun else status_block
        self._ending = tell(code, text, metadata)
        self.flush()

    def drop(self) -> None:
        """Send nothing any more but the end; where half of a message was sent, that cannot be told but by a reset."""
        self._is_dropping = True
        self._is_torn = self._is_torn or self._is_cut
        self._forget_answer()

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

    def _wake_writer(self) -> None:
        drained, self._drained = self._drained, None
        if drained is not None and not drained.done():
            drained.set_result(None)

    # --- the end ----------------------------------------------------------------------------------------

    def _too_late(self) -> None:
        self.cancel(Code.DEADLINE_EXCEEDED, "Deadline Exceeded")

    def cancel(self, code: Code, text: str) -> None:
        """End it from outside: its handler is cancelled; an answer that its caller does not read is dropped."""
        self._why = code, text
        if self._ending is not None:
            self.close(ErrorCode.CANCEL)
        self.drop()
        if not self._has_run:
            self.end(code, text)
        self._stop_handler()

    def refuse(self, code: Code, text: str) -> None:
        """End it for what the caller sent, of which nothing is kept."""
        self.end(code, text)
        self._forget_requests()
        self._stop_handler()

    def leave(self, told: ErrorCode | None = None) -> None:
        """The caller has left, or the connection has; or the caller is told why it cannot stay."""
        self.close(told)
        if linger_s := self._connection.linger_s():
            self._connection.loop.call_later(linger_s, self._stop_handler)
        else:
            self._stop_handler()

    def close(self, told: ErrorCode | None = None) -> None:
        """Nothing is sent or taken any more; a caller who may still be sending is told, or why it gets no more."""
        if self.is_over:
            return
        self.is_over = True
        if self._timer is not None:
            self._timer.cancel()
        self._forget_answer()
        told = told if told is not None or self.has_ended else ErrorCode.NO_ERROR
        self._connection.forget(self.stream_id, told)
        self._forget_requests()
        self._wake_reader()

    def _forget_answer(self) -> None:
        self._unsent.clear()
        self._unsent_bytes = 0
        self._wake_writer()

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
