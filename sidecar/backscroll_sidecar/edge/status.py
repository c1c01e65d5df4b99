"""The one table from domain errors to codes. Errors below know no code, and nothing above knows another table."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum

from backscroll_sidecar.edge.limits import MAX_ERROR_TEXT_BYTES
from backscroll_sidecar.errors import (
    BackscrollError,
    Conflict,
    DeadlineExceeded,
    FailedPrecondition,
    Gone,
    InvalidRequest,
    NotAllowed,
    NotFound,
    NotImplementedYet,
    Overloaded,
    Reason,
    StoreReadOnly,
    StoreUnavailable,
    Unauthenticated,
)


class Code(IntEnum):
    """How a call ends: names and numbers of ``google.rpc.Code``, which every binding translates."""

    OK = 0
    CANCELLED = 1
    UNKNOWN = 2
    INVALID_ARGUMENT = 3
    DEADLINE_EXCEEDED = 4
    NOT_FOUND = 5
    ALREADY_EXISTS = 6
    PERMISSION_DENIED = 7
    RESOURCE_EXHAUSTED = 8
    FAILED_PRECONDITION = 9
    ABORTED = 10
    OUT_OF_RANGE = 11
    UNIMPLEMENTED = 12
    INTERNAL = 13
    UNAVAILABLE = 14
    DATA_LOSS = 15
    UNAUTHENTICATED = 16


class Refused(Exception):
    """A call ends with an error: what its caller is told of it, whatever carries the call.

    Attributes
    ----------
    reason
        The contract's word; empty where the code says all.
    metadata
        What belongs to the reason: the field at fault, bounds, the incident.
    is_final
        It does not help to try again soon: a full disk does not pass in a second.
    """

    def __init__(
        self,
        code: Code,
        text: str = "",
        reason: str = "",
        metadata: Mapping[str, str] | None = None,
        *,
        is_final: bool = False,
    ) -> None:
        super().__init__(text)
        self.code, self.text, self.reason = code, capped(text), reason
        self.metadata = {key: capped(value) for key, value in (metadata or {}).items()}
        self.is_final = is_final


CODES: Mapping[type[BackscrollError], Code] = {
    InvalidRequest: Code.INVALID_ARGUMENT,
    NotFound: Code.NOT_FOUND,
    Gone: Code.FAILED_PRECONDITION,
    FailedPrecondition: Code.FAILED_PRECONDITION,
    Conflict: Code.ABORTED,
    StoreUnavailable: Code.UNAVAILABLE,
    Overloaded: Code.RESOURCE_EXHAUSTED,
    DeadlineExceeded: Code.DEADLINE_EXCEEDED,
    NotImplementedYet: Code.UNIMPLEMENTED,
    NotAllowed: Code.PERMISSION_DENIED,
    Unauthenticated: Code.UNAUTHENTICATED,
    BackscrollError: Code.INTERNAL,
}


def code_for(error: BackscrollError) -> Code:
    """Look the error up along its classes: what has no line of its own has its parent's."""
    return next(CODES[kind] for kind in type(error).__mro__ if kind in CODES)


def refusal_for(error: BackscrollError) -> Refused:
    """What a caller is told of an error: code, text, reason, field and metadata."""
    metadata = dict(error.metadata)
    if error.field:
        metadata["field"] = error.field
    is_final = isinstance(error, StoreReadOnly)
    return Refused(code_for(error), error.message, error.reason.value, metadata, is_final=is_final)


def internal_refusal(incident: str) -> Refused:
    """What a caller is told of a fault of ours: the incident's id; the log has the rest."""
    text = "the server failed; its log has the incident"
    return Refused(Code.INTERNAL, text, Reason.INTERNAL.value, {"incident": incident})


def capped(text: str, limit_bytes: int = MAX_ERROR_TEXT_BYTES) -> str:
    """Cut a text to `limit_bytes` of UTF-8, between two characters."""
    body = text.encode(errors="replace")
    if len(body) <= limit_bytes:
        return body.decode()
    mark = "…"
    return body[: limit_bytes - len(mark.encode())].decode(errors="ignore") + mark
