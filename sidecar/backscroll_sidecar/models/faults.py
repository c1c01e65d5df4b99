"""What went wrong with a model call, from a status, a header or an error event to a `ModelError`.

Nothing a vendor wrote reaches a `safe_reason`: it may hold the request's text, an address, or the key (S5-32).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

from backscroll_sidecar.ports import ModelError, ModelFault

REASONS: Mapping[ModelFault, str] = {
    ModelFault.LOADING: "the model is still loading",
    ModelFault.RATE_LIMITED: "the model has too many requests at the moment",
    ModelFault.REJECTED: "the model refused the request",
    ModelFault.UNAUTHORIZED: "the model refused the server's credentials",
    ModelFault.SERVER_ERROR: "the model's server failed",
    ModelFault.TIMEOUT: "the model did not answer in time",
    ModelFault.CONNECTION: "the connection to the model failed",
    ModelFault.BAD_RESPONSE: "the model's answer could not be read",
}

CODE_REASONS: Mapping[str, str] = {
    "context_length_exceeded": "the request is too long for the model",
    "content_filter": "the model refused the request because of its content",
    "insufficient_quota": "the model's quota is used up",
    "model_not_found": "the model does not exist",
}
"""Vendors' codes that say more than their status does."""

MAX_RETRY_AFTER_S = 86_400.0
_SAFE_CODE = re.compile(r"[a-z][a-z0-9_.-]{0,63}", re.ASCII)
_FILTERED = "content_filter"
_FAULT_OF_STATUS = {
    401: ModelFault.UNAUTHORIZED,
    403: ModelFault.UNAUTHORIZED,
    408: ModelFault.TIMEOUT,
    429: ModelFault.RATE_LIMITED,
}


class Filtered(ModelError):
    """The vendor's filter refused the prompt: for us an ending, as a filtered answer is, and no failure.

    Azure says it with status 400 and this code where a filtered answer ends with the finish reason of the same name.
    """

    def __init__(self) -> None:
        super().__init__(ModelFault.REJECTED, CODE_REASONS[_FILTERED])


def failed(
    fault: ModelFault, reason: str = "", *, retry_after_s: float | None = None
) -> ModelError:
    """The error for `fault`, in its usual words unless there are better ones."""
    return ModelError(fault, reason or REASONS[fault], retry_after_s=retry_after_s)


def known_code(code: object) -> str:
    """A vendor's error code when it is fit to be logged, else nothing."""
    return code if isinstance(code, str) and _SAFE_CODE.fullmatch(code) else ""


def fault_of_status(status: int) -> ModelFault:
    """The fault an HTTP status stands for. A redirect is none we follow: the address is configured wrongly."""
    if status >= 500:
        return ModelFault.SERVER_ERROR
    if status < 400:
        return ModelFault.BAD_RESPONSE
    return _FAULT_OF_STATUS.get(status, ModelFault.REJECTED)


def of_status(status: int, code: object, headers: Mapping[str, str]) -> ModelError:
    """The error for an answer with a status of 300 or more."""
    if status == 400 and code == _FILTERED:
        return Filtered()
    fault = fault_of_status(status)
    return failed(
        fault, CODE_REASONS.get(known_code(code), ""), retry_after_s=retry_after_s(headers)
    )


def of_event(body: object) -> ModelError:
    """The error for an error that came as an event of a stream, or in a body with status 200."""
    inner = body.get("error", body) if isinstance(body, Mapping) else body
    said = inner if isinstance(inner, Mapping) else {}
    code, kind = said.get("code"), said.get("type")
    if code == _FILTERED:
        return Filtered()
    names = " ".join(known_code(name) for name in (code, kind))
    if status := _as_status(code) or _as_status(said.get("status")):
        fault = fault_of_status(status)
    elif "rate_limit" in names or "insufficient_quota" in names:
        fault = ModelFault.RATE_LIMITED
    elif "invalid_request" in names or known_code(code) in CODE_REASONS:
        fault = ModelFault.REJECTED
    else:
        fault = ModelFault.SERVER_ERROR
    return failed(fault, CODE_REASONS.get(known_code(code), ""))


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait, from ``retry-after-ms`` or ``Retry-After``; a date counts from the answer's own ``Date``."""
    if (millis := _number(headers.get("retry-after-ms", ""))) is not None:
        return min(millis / 1_000, MAX_RETRY_AFTER_S)
    value = headers.get("retry-after", "")
    if (seconds := _number(value)) is not None:
        return min(seconds, MAX_RETRY_AFTER_S)
    try:
        wait = parsedate_to_datetime(value) - parsedate_to_datetime(headers.get("date", ""))
    except (ValueError, TypeError, OverflowError):
        return None
    return min(max(wait.total_seconds(), 0.0), MAX_RETRY_AFTER_S)


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return max(value, 0.0) if math.isfinite(value) else None


def _as_status(value: object) -> int:
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) == 3:
        value = int(value)
    return value if isinstance(value, int) and 400 <= value < 600 else 0
