"""The one table from domain errors to gRPC. Errors below know no status code, and nothing above knows another table.

Text and details travel in headers of a few KiB: both are capped, so that an error never becomes another one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from google.protobuf import any_pb2
from google.rpc import error_details_pb2, status_pb2  # type: ignore[import-untyped]
from grpc import StatusCode
from grpc_status import rpc_status

from backscroll_sidecar.edge.limits import MAX_ERROR_DETAILS_BYTES, MAX_ERROR_TEXT_BYTES
from backscroll_sidecar.errors import (
    BackscrollError,
    Conflict,
    DeadlineExceeded,
    Gone,
    InvalidRequest,
    NotAllowed,
    NotFound,
    NotImplementedYet,
    Overloaded,
    Reason,
    StoreReadOnly,
    StoreUnavailable,
)

DOMAIN = "backscroll.v1"


NO_RETRY = (("grpc-retry-pushback-ms", "-1"),)
"""What tells gRPC's own retries to stop: a full disk does not pass in a second."""


class Status(NamedTuple):
    """How a call ends; what `abort` takes."""

    code: StatusCode
    details: str
    trailing_metadata: tuple[tuple[str, str | bytes], ...]


class Unauthenticated(BackscrollError):
    """No credential, or one that is not known."""

    reason = Reason.UNAUTHENTICATED


CODES: Mapping[type[BackscrollError], StatusCode] = {
    InvalidRequest: StatusCode.INVALID_ARGUMENT,
    NotFound: StatusCode.NOT_FOUND,
    Gone: StatusCode.FAILED_PRECONDITION,
    Conflict: StatusCode.ABORTED,
    StoreUnavailable: StatusCode.UNAVAILABLE,
    Overloaded: StatusCode.RESOURCE_EXHAUSTED,
    DeadlineExceeded: StatusCode.DEADLINE_EXCEEDED,
    NotImplementedYet: StatusCode.UNIMPLEMENTED,
    NotAllowed: StatusCode.PERMISSION_DENIED,
    Unauthenticated: StatusCode.UNAUTHENTICATED,
    BackscrollError: StatusCode.INTERNAL,
}


def code_for(error: BackscrollError) -> StatusCode:
    """Look the error up along its classes: what has no line of its own has its parent's."""
    return next(CODES[kind] for kind in type(error).__mro__ if kind in CODES)


def status_for(error: BackscrollError) -> Status:
    """Make the status a caller gets: code, text, and an ErrorInfo with reason, field and metadata."""
    metadata = {key: capped(value) for key, value in error.metadata.items()}
    if error.field:
        metadata["field"] = capped(error.field)
    status = _status(code_for(error), error.message, error.reason, metadata)
    if isinstance(error, StoreReadOnly):
        return status._replace(trailing_metadata=status.trailing_metadata + NO_RETRY)
    return status


def internal_status(incident: str) -> Status:
    """Make the status of a fault of ours. The caller learns the incident's id, the log the rest."""
    message = "the server failed; its log has the incident"
    return _status(StatusCode.INTERNAL, message, Reason.INTERNAL, {"incident": incident})


def capped(text: str, limit_bytes: int = MAX_ERROR_TEXT_BYTES) -> str:
    """Cut a text to `limit_bytes` of UTF-8, between two characters."""
    body = text.encode(errors="replace")
    if len(body) <= limit_bytes:
        return body.decode()
    mark = "…"
    return body[: limit_bytes - len(mark.encode())].decode(errors="ignore") + mark


def _status(code: StatusCode, text: str, reason: Reason, metadata: dict[str, str]) -> Status:
    number: int = code.value[0]
    while True:
        info = error_details_pb2.ErrorInfo(domain=DOMAIN, reason=reason, metadata=metadata)
        detail = any_pb2.Any()
        detail.Pack(info)
        status = status_pb2.Status(code=number, message=capped(text), details=[detail])
        if status.ByteSize() <= MAX_ERROR_DETAILS_BYTES or not metadata:
            made = rpc_status.to_status(status)
            return Status(made.code, made.details, tuple(made.trailing_metadata))
        del metadata[max(metadata, key=lambda key: len(metadata[key]))]
