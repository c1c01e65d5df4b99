"""Errors in the shape of OpenAI's API. Pure."""

from __future__ import annotations

from collections.abc import Mapping

import orjson

from backscroll_sidecar.edge.http.errors import STATUSES
from backscroll_sidecar.edge.status import Code, Refused

_KINDS: Mapping[int, str] = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    409: "conflict_error",
    429: "rate_limit_error",
}
_FAULTS: Mapping[str, int] = {
    "rate_limited": 429,
    "loading": 503,
    "timeout": 504,
    "rejected": 400,
}
"""Statuses of faults of the model; of all others 502: the model's endpoint failed, not this server."""


def error_body(message: str, code: str, *, kind: str = "upstream_error", param: str = "") -> bytes:
    """``{"error": …}``."""
    said = {"message": message, "type": kind, "param": param or None, "code": code}
    return orjson.dumps({"error": said})


def fault_status(fault: str) -> int:
    """The status for what went wrong with the model, by its word."""
    return _FAULTS.get(fault, 502)


def refused_body(refused: Refused) -> tuple[int, bytes]:
    """Status and body of a refusal of ours."""
    # A client of OpenAI's tries 409 and 5xx again by itself; that helps nobody whose server is set wrongly.
    status = STATUSES[refused.code]
    if refused.code is Code.UNIMPLEMENTED:
        status = 404
    param = refused.metadata.get("field", "")
    message = (
        f"{param} {refused.text}" if param and not refused.text.startswith(param) else refused.text
    )
    code = (refused.reason or refused.code.name).lower()
    return status, error_body(message, code, kind=_KINDS.get(status, "api_error"), param=param)
