"""How a refusal is told over HTTP: a status, and the error JSON of the Connect protocol."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from google.rpc import error_details_pb2  # type: ignore[import-untyped]

from backscroll_sidecar.edge.status import Code, Refused
from backscroll_sidecar.errors import Reason

DOMAIN = "backscroll.v1"
RETRY_AFTER_S = "1"
STATUSES: Mapping[Code, int] = {
    Code.CANCELLED: 499,
    Code.UNKNOWN: 500,
    Code.INVALID_ARGUMENT: 400,
    Code.DEADLINE_EXCEEDED: 504,
    Code.NOT_FOUND: 404,
    Code.ALREADY_EXISTS: 409,
    Code.PERMISSION_DENIED: 403,
    Code.RESOURCE_EXHAUSTED: 429,
    Code.FAILED_PRECONDITION: 400,
    Code.ABORTED: 409,
    Code.OUT_OF_RANGE: 400,
    Code.UNIMPLEMENTED: 501,
    Code.INTERNAL: 500,
    Code.UNAVAILABLE: 503,
    Code.DATA_LOSS: 500,
    Code.UNAUTHENTICATED: 401,
}
NAMES: Mapping[Code, str] = {code: code.name.lower() for code in STATUSES} | {
    Code.CANCELLED: "canceled"
}


def headers_of(refused: Refused) -> dict[str, str]:
    """What is told beside the body."""
    if refused.code is Code.UNAUTHENTICATED:
        return {"www-authenticate": "Bearer"}
    if refused.reason == Reason.OVERLOADED:
        return {"retry-after": RETRY_AFTER_S}
    return {}


def connect_error(refused: Refused) -> dict[str, Any]:
    """The error as Connect's clients read it: code, message, and an ErrorInfo with reason and field."""
    said: dict[str, Any] = {"code": NAMES[refused.code]}
    if refused.text:
        said["message"] = refused.text
    if refused.reason:
        metadata = dict(refused.metadata)
        info = error_details_pb2.ErrorInfo(domain=DOMAIN, reason=refused.reason, metadata=metadata)
        value = base64.b64encode(info.SerializeToString()).rstrip(b"=").decode()
        shown = {"reason": refused.reason, "domain": DOMAIN, "metadata": metadata}
        said["details"] = [{"type": "google.rpc.ErrorInfo", "value": value, "debug": shown}]
    return said
