"""Typed errors, read from a call's status and the google.rpc.ErrorInfo in its trailing metadata."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

import grpc
from google.protobuf.message import DecodeError
from google.rpc.error_details_pb2 import ErrorInfo  # type: ignore[import-untyped]
from google.rpc.status_pb2 import Status  # type: ignore[import-untyped]

if TYPE_CHECKING:
    from backscroll.values import ToolResult

_DOMAIN = "backscroll.v1"
_DETAILS_KEY = "grpc-status-details-bin"
# gRPC's own words where nobody answered; a server that does has others.
_NOBODY_THERE = ("failed to connect to all addresses", "DNS resolution failed")
_NOBODY = "; start one with: backscroll serve (the first time it compiles for a minute or more before it answers)"
OTHERWISE = "in these words: it may speak TLS (give tls=TlsConfig(...)), or none (leave tls out)"


class BackscrollError(Exception):
    """Base of all errors a call can raise.

    Attributes
    ----------
    message : str
        What went wrong, in words.
    reason : str
        The server's reason, a name of `backscroll.v1.ErrorReason` without its prefix, such as
        "BUDGET_TOO_SMALL". Empty where the server gave none: no connection, the local deadline.
    field : str
        The request field at fault, where there is one.
    code : grpc.StatusCode
        The status of the call.
    metadata : dict of str to str
        Further facts that the reason names, such as "least_tokens" or "incident".
    turn_id : str
        Of a chat that failed while it was continued: with `tool_results` it can be continued again
        by `chat` or `stream_chat`, without running the tools once more. Else empty.
    tool_results : tuple of ToolResult
        What the tools had answered.
    request_id : str
        Of a round that failed: `resume` of its room goes on with it. Else empty.

    Examples
    --------
    >>> BackscrollError("token_budget is 10", reason="BUDGET_TOO_SMALL", field="token_budget")
    BackscrollError('token_budget is 10')
    """

    def __init__(
        self,
        message: str,
        *,
        reason: str = "",
        field: str = "",
        code: grpc.StatusCode = grpc.StatusCode.UNKNOWN,
        metadata: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.reason = reason
        self.field = field
        self.code = code
        self.metadata = dict(metadata or {})
        self.turn_id = ""
        self.tool_results: tuple[ToolResult, ...] = ()
        self.request_id = ""

    def __str__(self) -> str:
        return f"{self.message} [{self.reason or self.code.name}]"


class InvalidRequest(BackscrollError):
    """The request can never succeed as it is."""


class NotFound(BackscrollError):
    """The channel, message, turn, session, space or round does not exist."""


class Gone(BackscrollError):
    """The message was recalled or erased and stays gone."""


class Conflict(BackscrollError):
    """The stored state contradicts the request."""


class Refused(Conflict):
    """The rules of the mode forbid the move, or the session is sealed or archived."""


class Unavailable(BackscrollError):
    """No server there, or its store cannot be used now. Retried already where that is safe."""


class Overloaded(BackscrollError):
    """The server is full; try again later."""


class DeadlineExceeded(BackscrollError):
    """No answer in time. Whether the call had its effect is not known; appends are safe to repeat."""


class PermissionDenied(BackscrollError):
    """The credential does not permit it."""


class Unauthenticated(BackscrollError):
    """No credential, or one the server does not know."""


class NotImplementedByServer(BackscrollError):
    """The contract has it, this server does not."""


class InternalError(BackscrollError):
    """A fault of the server; `metadata["incident"]` is the id its log has."""


class Omitted(LookupError):
    """A part of a context was read that the request had left out.

    Attributes
    ----------
    part : str
        The value of `omit` that left it out: "messages", "payloads" or "text".

    Examples
    --------
    >>> Omitted("text")
    Omitted("the request left this out: omit has 'text'")
    """

    def __init__(self, part: str) -> None:
        super().__init__(f"the request left this out: omit has {part!r}")
        self.part = part

    def __reduce__(self) -> tuple[type[Omitted], tuple[str]]:
        return type(self), (self.part,)


_BY_CODE: Mapping[grpc.StatusCode, type[BackscrollError]] = {
    grpc.StatusCode.ABORTED: Conflict,
    grpc.StatusCode.ALREADY_EXISTS: Conflict,
    grpc.StatusCode.DATA_LOSS: InternalError,
    grpc.StatusCode.DEADLINE_EXCEEDED: DeadlineExceeded,
    grpc.StatusCode.FAILED_PRECONDITION: Conflict,
    grpc.StatusCode.INTERNAL: InternalError,
    grpc.StatusCode.INVALID_ARGUMENT: InvalidRequest,
    grpc.StatusCode.NOT_FOUND: NotFound,
    grpc.StatusCode.OUT_OF_RANGE: InvalidRequest,
    grpc.StatusCode.PERMISSION_DENIED: PermissionDenied,
    grpc.StatusCode.RESOURCE_EXHAUSTED: Overloaded,
    grpc.StatusCode.UNAUTHENTICATED: Unauthenticated,
    grpc.StatusCode.UNAVAILABLE: Unavailable,
    grpc.StatusCode.UNIMPLEMENTED: NotImplementedByServer,
    grpc.StatusCode.UNKNOWN: InternalError,
}
_BY_REASON: Mapping[str, type[BackscrollError]] = {
    "MESSAGE_GONE": Gone,
    "ACTION_REFUSED": Refused,
    "SESSION_CLOSED": Refused,
    "CHANNELS_WOULD_MOVE": Refused,
    "EXPERIMENTS_OVERLAP": Refused,
}


class _Failed(Protocol):
    """What `grpc.RpcError` of a call has, synchronous or not."""

    def code(self) -> grpc.StatusCode: ...
    def details(self) -> str | None: ...
    def trailing_metadata(self) -> object: ...


def error_from(failed: _Failed, target: str = "") -> BackscrollError:
    """Translate a failed call to `target` into the typed error."""
    code, message = failed.code(), failed.details() or ""
    info = _error_info(failed.trailing_metadata())
    kind = _BY_REASON.get(info.reason) or _BY_CODE.get(code, BackscrollError)
    if code is grpc.StatusCode.RESOURCE_EXHAUSTED and "larger than max" in message:
        kind = (
            InvalidRequest  # gRPC's own words for a message above its limit: waiting helps nobody
        )
    if target and kind is Unavailable and message.startswith(_NOBODY_THERE):
        is_nobody = "Connection refused" in message or "No such file" in message
        message = f"no server answers at {target}" + (
            _NOBODY if is_nobody else f" {OTHERWISE} ({message})"
        )
    metadata = dict(info.metadata)
    return kind(
        message,
        reason=info.reason,
        field=metadata.get("field", ""),
        code=code,
        metadata=metadata,
    )


def _error_info(trailing_metadata: object) -> ErrorInfo:
    """Find the first ErrorInfo of our domain; an empty one where there is none."""
    info = ErrorInfo()
    for key, value in trailing_metadata or ():  # type: ignore[attr-defined]
        if key != _DETAILS_KEY:
            continue
        try:
            details = Status.FromString(value).details
            if any(each.Unpack(info) and info.domain == _DOMAIN for each in details):
                return info
        except DecodeError:  # somebody between us and the server rewrote it
            continue
    return ErrorInfo()
