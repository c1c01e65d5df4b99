"""What stands before every handler: tenant, room, deadline, parsing, errors, one log line.

A wrapper put on at registration rather than a gRPC interceptor, which would cost every call 2 to 6 µs. Handlers get
a parsed request and return a message or its bytes; gRPC itself sees bytes on both sides, so that nothing is parsed
or serialised where an exception would end as UNKNOWN.
"""

from __future__ import annotations

import asyncio
import logging
import math
import secrets
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Never, Protocol, cast

import grpc
import structlog
from google.protobuf.message import Message

from backscroll_sidecar.edge.admission import Gate
from backscroll_sidecar.edge.limits import DEFAULT_GATE, GATES, GateLimits
from backscroll_sidecar.edge.status import code_for, internal_status, status_for
from backscroll_sidecar.edge.tenants import Tenants
from backscroll_sidecar.errors import BackscrollError, Reason, StoreUnavailable
from backscroll_sidecar.values import quick

log = structlog.get_logger("backscroll.rpc")
_is_logged = logging.getLogger("backscroll.rpc").isEnabledFor
"""Asked first: it remembers its answer."""

Incoming = bytes | AsyncIterator[bytes]

DEADLINE_TOLERANCE_S = 0.001
"""An answer ready this late does not reach the caller in time any more."""
MOST_LATE_SHARE = 0.04
"""By up to this much a caller's deadline is told too late. gRPC's C core tells three digits, rounded up (30 s as 30,100
ms, 600 s as 601 s), and repeats what it told before where that is less than 3 % more (29.2 s behind 30 s as 30,100 ms).
Believed, a chat would say DEADLINE to a caller who has gone."""


class Context(Protocol):
    """What is asked of a call by its handlers, whichever edge it came through."""

    def invocation_metadata(self) -> Any:  # noqa: ANN401 - pairs of a name and a value, or None
        """What the caller sent beside the request."""

    def time_remaining(self) -> float | None:
        """Seconds until the caller's deadline; None, or infinity, without one."""

    async def abort(self, code: grpc.StatusCode, details: str, trailing_metadata: Any) -> Never:  # noqa: ANN401
        """End the call with a status. Raises, always."""


@quick
@dataclass(frozen=True, slots=True)
class Call:
    """What a handler learns of a call besides its request.

    `deadline_s` is the earliest that the caller's deadline can be, on the clock of `time.monotonic`.
    """

    tenant: str
    deadline_s: float | None

    @property
    def time_left_s(self) -> float | None:
        """What remains of the caller's deadline."""
        return None if self.deadline_s is None else max(self.deadline_s - time.monotonic(), 0.0)


@dataclass(frozen=True, slots=True)
class Method:
    """One RPC: how a request is parsed and who answers it.

    `answer` returns an awaitable of one answer or, with `server_streaming`, an async generator of answers; with
    `client_streaming` it is given an async iterator of parsed requests.
    """

    full_name: str
    name: str
    parse: Callable[[bytes], Any]
    answer: Callable[[Any, Call], Any]
    client_streaming: bool = False
    server_streaming: bool = False


@quick
@dataclass(frozen=True, slots=True)
class CallRecord:
    """What became of one call; no text of a user's is in it. `code` is gRPC's name of the status."""

    method: str
    tenant: str
    code: str
    reason: str
    duration_us: int
    request_bytes: int
    incident: str = ""


_MAKERS: Mapping[tuple[bool, bool], Callable[[Any], object]] = {
    (False, False): grpc.unary_unary_rpc_method_handler,
    (False, True): grpc.unary_stream_rpc_method_handler,
    (True, False): grpc.stream_unary_rpc_method_handler,
    (True, True): grpc.stream_stream_rpc_method_handler,
}


def log_call(record: CallRecord) -> None:
    """Write the one line of a call: faults as errors, refusals as info, the rest for those who debug."""
    level = logging.DEBUG
    if record.code != "OK":
        level = logging.ERROR if record.incident else logging.INFO
    if not _is_logged(level):
        return
    log.log(
        level,
        "rpc",
        method=record.method,
        tenant=record.tenant,
        code=record.code,
        reason=record.reason,
        duration_us=record.duration_us,
        request_bytes=record.request_bytes,
        **({"incident": record.incident} if record.incident else {}),
    )


class Guard:
    """Makes gRPC handlers of methods. Belongs to one event loop.

    Parameters
    ----------
    tenants
        Tells whose call it is.
    observe
        Told of every call once it is over.
    gates
        Bounds by method name; the rest has `DEFAULT_GATE`.

    Attributes
    ----------
    missed_deadlines
        Calls by RPC whose answer was not ready when the caller's time was up (N-09).
    """

    def __init__(
        self,
        tenants: Tenants,
        observe: Callable[[CallRecord], None] = log_call,
        gates: Mapping[str, GateLimits] = GATES,
    ) -> None:
        self._tenants = tenants
        self.observe = observe
        self._gates = gates
        self.ready = False
        self.missed_deadlines: Counter[str] = Counter()

    def handler(self, method: Method) -> grpc.RpcMethodHandler[bytes, bytes]:
        """Make the handler of one method, over bytes."""
        gate = Gate(self._gates.get(method.name, DEFAULT_GATE))
        shape = (method.client_streaming, method.server_streaming)
        answer = (self._stream if method.server_streaming else self._once)(method, gate)
        return cast("grpc.RpcMethodHandler[bytes, bytes]", _MAKERS[shape](answer))

    def _once(self, method: Method, gate: Gate) -> Callable[[Incoming, Context], Awaitable[bytes]]:
        read = _reader(method)

        async def answer(request: Incoming, context: Context) -> bytes:
            watch = _Watch(self, method, request)
            try:
                call = self._admit(context, watch)
                if not gate.enter_at_once(watch.request_bytes):
                    await gate.enter(watch.request_bytes, call.deadline_s)
                try:
                    body = _serialised(await method.answer(read(request), call))
                finally:
                    gate.leave(watch.request_bytes)
            except asyncio.CancelledError as error:
                await _cancelled(error, context, watch)
            except Exception as error:  # noqa: BLE001 - the edge: every error becomes a status
                await _refuse(error, context, watch)
            watch.stop(grpc.StatusCode.OK)
            return body

        return answer

    def _stream(
        self, method: Method, gate: Gate
    ) -> Callable[[Incoming, Context], AsyncIterator[bytes]]:
        read = _reader(method)

        async def answer(request: Incoming, context: Context) -> AsyncIterator[bytes]:
            watch = _Watch(self, method, request)
            try:
                call = self._admit(context, watch)
                await gate.enter(watch.request_bytes, call.deadline_s)
                try:
                    async with aclosing(method.answer(read(request), call)) as answers:
                        async for one in answers:
                            yield _serialised(one)
                finally:
                    gate.leave(watch.request_bytes)
            except GeneratorExit:
                watch.stop(grpc.StatusCode.CANCELLED)
                raise
            except asyncio.CancelledError as error:
                await _cancelled(error, context, watch)
            except Exception as error:  # noqa: BLE001 - the edge: every error becomes a status
                await _refuse(error, context, watch)
            watch.stop(grpc.StatusCode.OK)

        return answer

    def _admit(self, context: Context, watch: _Watch) -> Call:
        watch.tenant = tenant = self._tenants.resolve(context)
        if not self.ready:
            raise StoreUnavailable("the server is starting")
        left = context.time_remaining()
        if left is None or left == math.inf:
            return Call(tenant, None)
        now_s = time.monotonic()
        watch.told_s, watch.deadline_s = now_s + left, now_s + (1 - MOST_LATE_SHARE) * left
        return Call(tenant, watch.deadline_s)


class _Watch:
    """Measures one call and tells of it once."""

    __slots__ = (
        "_method", "_missed", "_observe", "_started", "deadline_s", "request_bytes", "tenant", "told_s",
    )  # fmt: skip

    def __init__(self, guard: Guard, method: Method, request: Incoming) -> None:
        self._started = time.perf_counter_ns()
        self._observe = guard.observe
        self._missed = guard.missed_deadlines
        self._method = method
        self.deadline_s = self.told_s = math.inf
        self.request_bytes = len(request) if isinstance(request, bytes) else 0
        self.tenant = ""

    def stop(self, code: grpc.StatusCode, reason: str = "", incident: str = "") -> None:
        # gRPC cancels a call whose time is up; a caller who is still there has the time that was told.
        is_cancelled = code is grpc.StatusCode.CANCELLED
        late_s = self.deadline_s if is_cancelled else self.told_s
        if time.monotonic() >= late_s - DEADLINE_TOLERANCE_S:
            self._missed[self._method.name] += 1
            if is_cancelled:
                code, reason = grpc.StatusCode.DEADLINE_EXCEEDED, Reason.DEADLINE.value
        record = CallRecord(
            self._method.full_name,
            self.tenant,
            code.name,
            reason,
            (time.perf_counter_ns() - self._started) // 1_000,
            self.request_bytes,
            incident,
        )
        try:
            self._observe(record)
        except Exception:  # an observer costs the call nothing
            log.exception("rpc.observer_failed")


def _reader(method: Method) -> Callable[[Any], Any]:
    """How the handler's request comes from gRPC's: parsed, or an iterator of parsed ones."""
    if not method.client_streaming:
        return method.parse

    async def parsed(requests: AsyncIterator[bytes]) -> AsyncIterator[Any]:
        async for raw in requests:
            yield method.parse(raw)

    return parsed


def _serialised(answer: Message | bytes) -> bytes:
    return answer if isinstance(answer, bytes) else answer.SerializeToString()


async def _cancelled(error: asyncio.CancelledError, context: Context, watch: _Watch) -> Never:
    """Let a cancellation of the call go its way; something else's is a fault.

    Without this, a handler that awaits a future somebody cancelled would leave its caller without any answer.
    """
    task = asyncio.current_task()
    if task is None or task.cancelling():
        watch.stop(grpc.StatusCode.CANCELLED)
        raise error
    await _refuse(error, context, watch)


async def _refuse(error: BaseException, context: Context, watch: _Watch) -> Never:
    """End a call with the status of an error. What nobody expected is told to the log only."""
    if isinstance(error, BackscrollError) and code_for(error) is not grpc.StatusCode.INTERNAL:
        status = status_for(error)
        watch.stop(status.code, error.reason.value)
    else:
        incident = secrets.token_hex(8)
        status = internal_status(incident)
        log.error("rpc.failed", incident=incident, exc_info=error)
        watch.stop(status.code, "INTERNAL", incident)
    await context.abort(status.code, status.details, status.trailing_metadata)
