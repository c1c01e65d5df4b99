"""What every call goes through, whatever carried it: tenant, room, deadline, parsing, errors, one log line.

An edge binds the `Endpoint` of each method: it hands over the request and the `Caller`, and gets bytes back or
`Refused`. Neither gRPC nor HTTP is known here.

A wrapper put on once rather than a chain of interceptors, which would cost every call 2 to 6 µs. Bytes come in and go
out, so that nothing is parsed or serialised where an exception would have no status.
"""

from __future__ import annotations

import asyncio
import copy
import logging
import math
import secrets
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import aclosing, nullcontext
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec
import structlog

from backscroll_sidecar.allowed_channels import AllowedChannels
from backscroll_sidecar.edge.admission import Admission
from backscroll_sidecar.edge.keys import Key
from backscroll_sidecar.edge.limits import ADMISSIONS, DEFAULT_ADMISSION, AdmissionLimits
from backscroll_sidecar.edge.rights import Need, check_known, need_of
from backscroll_sidecar.edge.status import Code, Refused, code_for, internal_refusal, refusal_for
from backscroll_sidecar.edge.tenants import Metadata, Tenants
from backscroll_sidecar.errors import BackscrollError, Reason, StoreUnavailable
from backscroll_sidecar.ports import CatchUp

log = structlog.get_logger("backscroll.rpc")
_is_logged = logging.getLogger("backscroll.rpc").isEnabledFor
"""Asked first: it remembers its answer."""

Incoming = bytes | AsyncIterator[bytes]

_NO_STREAM = nullcontext()
DEADLINE_TOLERANCE_S = 0.001
"""An answer ready this late does not reach the caller in time any more."""
MOST_LATE_SHARE = 0.04
"""By up to this much a caller's deadline is told too late. gRPC's C core tells three digits, rounded up (30 s as 30,100
ms, 600 s as 601 s), and repeats what it told before where that is less than 3 % more (29.2 s behind 30 s as 30,100 ms).
Believed, a chat would say DEADLINE to a caller who has gone."""


class Caller(Protocol):
    """Who calls, as far as the carrier tells."""

    @property
    def metadata(self) -> Iterable[tuple[str, str | bytes]]:
        """What came beside the request: names in lower case, and values."""

    @property
    def time_left_s(self) -> float | None:
        """Seconds until the caller's deadline; None without one."""


class Call(msgspec.Struct, frozen=True):
    """What a handler learns of a call besides its request.

    `deadline_s` is the earliest that the caller's deadline can be, on the clock of `time.monotonic`. `allowed` are the
    channels whose data the answer may be made of; None: all of the tenant's. `only_looks`: somebody of ours asks how an
    answer comes about, and gives it to nobody (a caller with an attribute of this name).
    """

    tenant: str
    deadline_s: float | None
    allowed: AllowedChannels | None = None
    only_looks: bool = False

    @property
    def time_left_s(self) -> float | None:
        """What remains of the caller's deadline."""
        return None if self.deadline_s is None else max(self.deadline_s - time.monotonic(), 0.0)


@dataclass(frozen=True, slots=True)
class Method:
    """One RPC: how a request is parsed and who answers it.

    `answer` returns an awaitable of one answer, a message of protobuf or its bytes. With `server_streaming` it is an
    async generator of answers; with `client_streaming` it is given an async iterator of parsed requests. `look` parses
    what `parse` leaves as bytes, where a limit of the caller's key must be looked for in it. `need` is what a key needs
    for a method that is none of the contract's.
    """

    full_name: str
    parse: Callable[[bytes], Any]
    answer: Callable[[Any, Call], Any]
    client_streaming: bool = False
    server_streaming: bool = False
    look: Callable[[bytes], Any] | None = None
    need: Need | None = None

    @property
    def name(self) -> str:
        """Without that of its service."""
        return self.full_name.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One method behind the pipeline, as an edge binds it.

    `answer` takes the request, or with `client_streaming` an async iterator of requests. It returns an awaitable of the
    answer's bytes, or with `server_streaming` an async generator of them. Both raise `Refused` and nothing else but
    what ends a task.
    """

    path: str
    answer: Callable[[Any, Caller], Any]
    client_streaming: bool = False
    server_streaming: bool = False


class CallRecord(msgspec.Struct, frozen=True):
    """What became of one call; no text of a user's is in it.

    `code` is the name of a `Code`, `key` the name or id of a key that is limited.
    """

    method: str
    tenant: str
    code: str
    reason: str
    duration_us: int
    request_bytes: int
    incident: str = ""
    key: str = ""


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
        **({"key": record.key} if record.key else {}),
        **({"incident": record.incident} if record.incident else {}),
    )


class CallPipeline:
    """Makes endpoints of methods. Belongs to one event loop.

    Parameters
    ----------
    tenants
        Tells whose call it is.
    observe
        Told of every call once it is over.
    begun
        Told what came beside the request of every call before it is answered; None: nobody is.
    catch_up
        Awaited with the tenant and the channels of every request before it is answered; None: nothing need be.
    limits
        Bounds by method name, those of `default_limits` for the rest. A method has one room, however often it is bound.

    Attributes
    ----------
    ready
        False: every call is refused with `refusal`, which is UNAVAILABLE.
    missed_deadlines
        Calls by RPC whose answer was not ready when the caller's time was up.
    """

    def __init__(
        self,
        tenants: Tenants,
        observe: Callable[[CallRecord], None] = log_call,
        limits: Mapping[str, AdmissionLimits] = ADMISSIONS,
        default_limits: AdmissionLimits | None = None,
        begun: Callable[[Metadata], None] | None = None,
        catch_up: CatchUp | None = None,
    ) -> None:
        self._tenants = tenants
        self._catch_up = catch_up
        self.observe = observe
        self._begun = begun
        self._limits = limits
        self._default_limits = default_limits or DEFAULT_ADMISSION
        self._admissions: dict[str, Admission] = {}
        self.ready = False
        self.refusal = StoreUnavailable("the server is starting")
        self.missed_deadlines: Counter[str] = Counter()

    def endpoint(self, method: Method) -> Endpoint:
        """Put the pipeline before a method."""
        admission = self._admissions.get(method.full_name)
        if admission is None:
            limits = self._limits.get(method.name, self._default_limits)
            admission = self._admissions[method.full_name] = Admission(limits)
        wrap = self._stream if method.server_streaming else self._once
        return Endpoint(
            f"/{method.full_name}",
            wrap(method, admission),
            method.client_streaming,
            method.server_streaming,
        )

    def _once(
        self, method: Method, admission: Admission
    ) -> Callable[[Incoming, Caller], Awaitable[bytes]]:
        read, need = _reader(method, admission), _need(method)
        follow = self._following(method)

        async def answer(request: Incoming, caller: Caller) -> bytes:
            watch = _Watch(self, method, request)
            try:
                call, key = self._admit(caller, watch, need)
                with admission.stream(call.tenant) if method.client_streaming else _NO_STREAM:
                    if not admission.enter_at_once(watch.request_bytes):
                        await admission.enter(watch.request_bytes, call.deadline_s)
                    try:
                        told = read(request, key)
                        if follow is not None:
                            told = await follow(call.tenant, request, told)
                        body = _serialised(await method.answer(told, call))
                    finally:
                        admission.leave(watch.request_bytes)
            except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - each becomes a status
                raise watch.fail(error) from None
            watch.stop(Code.OK)
            return body

        return answer

    def _stream(
        self, method: Method, admission: Admission
    ) -> Callable[[Incoming, Caller], AsyncIterator[bytes]]:
        read, need = _reader(method, admission), _need(method)
        follow = self._following(method)

        async def answer(request: Incoming, caller: Caller) -> AsyncIterator[bytes]:
            watch = _Watch(self, method, request)
            try:
                call, key = self._admit(caller, watch, need)
                with admission.stream(call.tenant):
                    await admission.enter(watch.request_bytes, call.deadline_s)
                    try:
                        told = read(request, key)
                        if follow is not None:
                            told = await follow(call.tenant, request, told)
                        async with aclosing(method.answer(told, call)) as answers:
                            async for one in answers:
                                body = _serialised(one)
                                with admission.paused():
                                    yield body
                    finally:
                        admission.leave(watch.request_bytes)
            except GeneratorExit:
                watch.stop(Code.CANCELLED)
                raise
            except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - each becomes a status
                raise watch.fail(error) from None
            watch.stop(Code.OK)

        return answer

    def _following(self, method: Method) -> Callable[[str, Any, Any], Awaitable[Any]] | None:
        """What brings caches up to date for a request, or for each of a stream, and gives it back."""
        need, look, catch_up = _need(method), method.look, self._catch_up
        if catch_up is None or need is None:
            return None
        channels_of = need.channels

        async def follow(tenant: str, raw: Any, request: Any) -> Any:  # noqa: ANN401 - of any method
            seen = request if look is None else look(raw)
            await catch_up(tenant, {channel for _, channel in channels_of(seen) if channel})
            return request

        if not method.client_streaming:
            return follow

        async def following(tenant: str, raw: Any, requests: Any) -> AsyncIterator[Any]:  # noqa: ANN401, ARG001
            async for one in requests:
                yield await follow(tenant, None, one)

        async def begin(tenant: str, raw: Any, requests: Any) -> Any:  # noqa: ANN401 - of any method
            return following(tenant, raw, requests)

        return begin

    def _admit(self, caller: Caller, watch: _Watch, need: Need | None) -> tuple[Call, Key | None]:
        """The call, and the key where its limits must be looked for in the request."""
        if self._begun is not None:
            self._begun(caller.metadata)
        key = self._tenants.resolve(caller.metadata)
        watch.tenant = key.tenant
        is_limited = key.rights is not None or key.channels is not None
        if is_limited:
            watch.key = key.name or key.id
            check_known(key) if need is None else need.check_key(key)
        if not self.ready:
            raise copy.copy(self.refusal)
        left_s = caller.time_left_s
        if left_s is not None:
            now_s = time.monotonic()
            watch.told_s = now_s + left_s
            left_s = watch.deadline_s = now_s + (1 - MOST_LATE_SHARE) * left_s
        only_looks = getattr(caller, "only_looks", False)
        return Call(key.tenant, left_s, key.channels, only_looks), key if is_limited else None


class _Watch:
    """Measures one call and tells of it once."""

    __slots__ = (
        "_method", "_missed", "_observe", "_started", "deadline_s", "key", "request_bytes", "tenant", "told_s",
    )  # fmt: skip

    def __init__(self, pipeline: CallPipeline, method: Method, request: Incoming) -> None:
        self._started = time.perf_counter_ns()
        self._observe = pipeline.observe
        self._missed = pipeline.missed_deadlines
        self._method = method
        self.deadline_s = self.told_s = math.inf
        self.request_bytes = len(request) if isinstance(request, bytes) else 0
        self.tenant = self.key = ""

    def fail(self, error: BaseException) -> BaseException:
        """End the call with an error; return what to raise. What nobody expected is told to the log only.

        A cancellation of the call goes its way. Somebody else's is a fault: without that a handler that awaits a
        future somebody cancelled would leave its caller without any answer.
        """
        if isinstance(error, asyncio.CancelledError):
            task = asyncio.current_task()
            if task is None or task.cancelling():
                self.stop(Code.CANCELLED)
                return error
        if isinstance(error, BackscrollError) and code_for(error) is not Code.INTERNAL:
            error = refusal_for(error)
        if isinstance(error, Refused):
            self.stop(error.code, error.reason)
            return error
        incident = secrets.token_hex(8)
        log.error("rpc.failed", incident=incident, exc_info=error)
        self.stop(Code.INTERNAL, Reason.INTERNAL.value, incident)
        return internal_refusal(incident)

    def stop(self, code: Code, reason: str = "", incident: str = "") -> None:
        """Tell of the call."""
        # A call whose time is up is cancelled; a caller who is still there has the time that was told.
        is_cancelled = code is Code.CANCELLED
        late_s = self.deadline_s if is_cancelled else self.told_s
        if time.monotonic() >= late_s - DEADLINE_TOLERANCE_S:
            self._missed[self._method.name] += 1
            if is_cancelled:
                code, reason = Code.DEADLINE_EXCEEDED, Reason.DEADLINE.value
        record = CallRecord(
            self._method.full_name,
            self.tenant,
            code.name,
            reason,
            (time.perf_counter_ns() - self._started) // 1_000,
            self.request_bytes,
            incident,
            self.key,
        )
        try:
            self._observe(record)
        except Exception:  # an observer costs the call nothing
            log.exception("rpc.observer_failed")


def _need(method: Method) -> Need | None:
    return need_of(method.full_name) if method.need is None else method.need


def _reader(method: Method, admission: Admission) -> Callable[[Any, Key | None], Any]:
    """How the handler's request comes from the carrier's: parsed, or an iterator of parsed ones.

    With a key its limits are looked for in each request.
    """
    parse, need, look = method.parse, _need(method), method.look

    def read(raw: bytes, key: Key | None) -> Any:  # noqa: ANN401 - what the parser makes
        request = parse(raw)
        if key is not None and need is not None:
            need.check_request(key, request if look is None else look(raw))
        return request

    if not method.client_streaming:
        return read

    async def parsed(requests: AsyncIterator[bytes], key: Key | None) -> AsyncIterator[Any]:
        incoming = aiter(requests)
        while True:
            with admission.paused():
                raw = await anext(incoming, None)
            if raw is None:
                return
            yield read(raw, key)

    return parsed


def _serialised(answer: Any) -> bytes:  # noqa: ANN401 - a message of protobuf, or bytes
    return answer if isinstance(answer, bytes) else answer.SerializeToString()
