"""From a status, a header or an error event of a model call to a `ModelError`.

No sentence of a vendor reaches a `safe_reason` or a log, since it may hold texts, addresses or the key. Names of
errors and parameters do, where they can be nothing but names.
"""

import math
import re
from collections.abc import Mapping, Sequence
from email.utils import parsedate_to_datetime

from backscroll_sidecar.models.vendor_words import MAX_SENTENCE_CHARS, is_refusal
from backscroll_sidecar.ports import ModelError, ModelFault
from backscroll_sidecar.texts import FAULTS

REASONS: Mapping[ModelFault, str] = {fault: FAULTS[fault.value][0] for fault in ModelFault}
CODE_REASONS: Mapping[str, str] = {
    code: FAULTS[code][0]
    for code in (
        "context_length_exceeded",
        "content_filter",
        "insufficient_quota",
        "model_not_found",
    )
}
"""Vendors' codes that say more than their status does."""

_MAX_DEPTH, _MAX_FAULTS = 6, 16
MAX_RETRY_AFTER_S = 86_400.0
_SAFE_CODE = re.compile(r"[a-z][a-z0-9_.-]{0,63}|(?=.{1,64}\Z)(?:[A-Z][a-z]+){2,}", re.ASCII)
_SAFE_PARAM = re.compile(
    r"(?=.{1,64}\Z)[a-z_]+(?:\[[0-9]{1,4}\])*(?:\.[a-z_]+(?:\[[0-9]{1,4}\])*)*", re.ASCII
)
_NAME = re.compile(r"[a-z]+(?:_[a-z]+)+|(?:[A-Z][a-z]+){2,}", re.ASCII)
"""What users may see. Stricter than for logs: no digits, as keys have, and more than one word."""
_FAULT_OF_STATUS = {
    401: ModelFault.UNAUTHORIZED,
    403: ModelFault.UNAUTHORIZED,
    408: ModelFault.TIMEOUT,
    429: ModelFault.RATE_LIMITED,
}


_REFUSALS = (400, 422)
_REMEDIES = {
    name: FAULTS[name][0] for name in ("stream_options", "temperature", "max_tokens", "thoughts")
}
"""What to do about a field that a vendor refuses."""
_SAID_OF = r"(?:unsupported|unknown|unrecogni[sz]ed|invalid|deprecated|extra|parameter|argument|field|value)"
_SAID_BEHIND = r"(?:support|allow|permit|invalid|deprecated|must|only|range|not)"
_REFUSED_IN_WORDS = {
    "stream_options": re.compile(r"\b(?:stream_options|include_usage)\b"),
    "max_tokens": re.compile(r"\bmax_completion_tokens\b"),
    "thoughts": re.compile(
        r"\breasoning(?:_content|_details)?\b.{0,40}\b(?:un|not )(?:supported|permitted|allowed|expected|known)\b"
        r"|\b(?:unsupported|unexpected|unknown|extra)\b.{0,40}\breasoning(?:_content|_details)?\b", re.IGNORECASE,
    ),
    "temperature": re.compile(
        rf"['\"`]temperature['\"`]|\b{_SAID_OF}\b\W+(?:\w+\W+){{0,4}}?temperature\b"
        rf"|\btemperature\b\W+(?:\w+\W+){{0,4}}?{_SAID_BEHIND}", re.IGNORECASE,
    ),
}  # fmt: skip
_OVERFLOW_STATUSES = (400, 413, 422)
_OVERFLOW = re.compile(
    r"context[ _-]?(?:length|window|size)|maximum (?:context|input|prompt|number of tokens)"
    r"|(?:prompt|input|request) is too (?:long|large)|too many (?:input )?tokens|token count.{0,40}exceed"
    r"|exceed.{0,40}(?:token|context)|reduce the length"
    r"|上下文.{0,12}(?:超|过长)|超(?:过|出).{0,16}(?:上下文|最大长度|token)|输入.{0,8}过长",
    re.IGNORECASE,
)
"""How vendors say that a request does not fit their model; a limit of requests in a time is another status."""
_NO_ERROR = (0, "0", "", 200, "200", "Success", "success")
_NEVER_FILTERED = (401, 407, 408, 429)


class Filtered(ModelError):
    """The vendor's filter refused the prompt or the answer, by an error instead of a finish reason.

    It ends a stream with CONTENT_FILTER and is no failure.
    """

    def __init__(self) -> None:
        super().__init__(ModelFault.REJECTED, CODE_REASONS["content_filter"])


class FieldRefused(ModelError):
    """The vendor refused one field of the request: `name` is ours for it."""

    def __init__(self, name: str, reason: str, told: Mapping[str, str]) -> None:
        super().__init__(ModelFault.REJECTED, f"{reason}: {_REMEDIES[name]}", told=told)
        self.name = name


def failed(
    fault: ModelFault,
    reason: str = "",
    *,
    retry_after_s: float | None = None,
    told: Mapping[str, str] | None = None,
) -> ModelError:
    """The error for `fault`, with its usual reason unless another is given."""
    return ModelError(fault, reason or REASONS[fault], retry_after_s=retry_after_s, told=told)


def known_code(code: object) -> str:
    """A vendor's error code if it may be logged, else nothing."""
    return code if isinstance(code, str) and _SAFE_CODE.fullmatch(code) else ""


def told_by(body: object) -> Mapping[str, str]:
    """The code, type and parameter that an error's body names, if they may be logged."""
    said = body if isinstance(body, Mapping) else {}
    param = said.get("param")
    names = {
        "code": known_code(said.get("code")),
        "type": known_code(said.get("type")),
        "param": param if isinstance(param, str) and _SAFE_PARAM.fullmatch(param) else "",
    }
    return {name: value for name, value in names.items() if value}


def fault_of_status(status: int) -> ModelFault:
    """The fault for an HTTP status. Redirects are not followed: the address is configured wrongly."""
    if status >= 500:
        return ModelFault.SERVER_ERROR
    if status < 400:
        return ModelFault.BAD_RESPONSE
    return _FAULT_OF_STATUS.get(status, ModelFault.REJECTED)


def of_status(status: int, body: object, headers: Mapping[str, str]) -> ModelError:
    """The error for an answer with a status of 300 or more and this `body`."""
    if status not in _NEVER_FILTERED and is_refusal(body):
        return Filtered()
    fault, told = fault_of_status(status), told_by(body)
    if status in _REFUSALS and (name := _refused_field(body)):
        return FieldRefused(name, _reason(fault, told) or REASONS[fault], told)
    failure = failed(fault, _reason(fault, told), retry_after_s=retry_after_s(headers), told=told)
    failure.is_overflow = status in _OVERFLOW_STATUSES and _says_overflow(body)
    return failure


def of_event(body: object) -> ModelError:
    """The error for an error that came as an event of a stream, or in a body with status 200."""
    if is_refusal(body):
        return Filtered()
    inner = body.get("error") or body if isinstance(body, Mapping) else body
    said = inner if isinstance(inner, Mapping) else {}
    code, kind = said.get("code"), said.get("type")
    told = told_by(said)
    names = " ".join(known_code(name) for name in (code, kind))
    if status := _as_status(code) or _as_status(said.get("status")):
        fault = fault_of_status(status)
    elif "rate_limit" in names or "insufficient_quota" in names:
        fault = ModelFault.RATE_LIMITED
    elif "invalid_request" in names or known_code(code) in CODE_REASONS:
        fault = ModelFault.REJECTED
    else:
        fault = ModelFault.SERVER_ERROR
    failure = failed(fault, _reason(fault, told), told=told)
    failure.is_overflow = fault is ModelFault.REJECTED and _says_overflow(body)
    return failure


def _says_overflow(body: object) -> bool:
    """Whether an error is about a request that is larger than the model's window, by its code or in words."""
    _, texts = _named(body)
    inner = body.get("error", body) if isinstance(body, Mapping) else body
    code = inner.get("code") if isinstance(inner, Mapping) else None
    return code == "context_length_exceeded" or any(map(_OVERFLOW.search, texts))


def is_failure(chunk: Mapping[str, object]) -> bool:
    """Whether a chunk without a choice is a vendor's error outside of ``error``, as of Baidu, MiniMax and Spark."""
    base, feedback = chunk.get("base_resp"), chunk.get("promptFeedback")
    codes = [
        chunk.get("error_code"),
        base.get("status_code") if isinstance(base, Mapping) else None,
    ]
    if isinstance(chunk.get("message", chunk.get("msg")), str):
        codes.append(chunk.get("code"))
    blocked = isinstance(feedback, Mapping) and bool(feedback.get("blockReason"))
    return blocked or any(code not in _NO_ERROR for code in codes if _is_code(code))


def _is_code(value: object) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)


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


def _refused_field(body: object) -> str:
    """The field an error is about, by its parameter, by the place that a validator names, or in words."""
    params, texts = _named(body)
    for name in _REMEDIES:
        if name in params and name != "max_tokens":
            return name
    return next((n for n, told in _REFUSED_IN_WORDS.items() if any(map(told.search, texts))), "")


def _named(body: object, depth: int = 0) -> tuple[set[str], list[str]]:
    """Parameters and sentences of an error; validators put lists of faults where others put a sentence."""
    params: set[str] = set()
    texts: list[str] = []
    if isinstance(body, str):
        texts.append(body[:MAX_SENTENCE_CHARS])
    elif isinstance(body, Mapping):
        params.update(str(body.get("param")).split("."))
        places = body.get("loc")
        params.update(map(str, places if isinstance(places, list) else ()))
    inner: Sequence[object] = ()
    if isinstance(body, Mapping):
        inner = [body.get(name) for name in ("error", "message", "msg", "detail", "errors")]
    elif isinstance(body, list):
        inner = body[:_MAX_FAULTS]
    for one in inner if depth < _MAX_DEPTH else ():
        more, said = _named(one, depth + 1)
        params |= more
        texts += said
    return params, texts


def _reason(fault: ModelFault, told: Mapping[str, str]) -> str:
    """A reason for users. Of a refused request also the vendor's name for it, and its parameter."""
    code = told.get("code", "")
    if code in CODE_REASONS or fault is not ModelFault.REJECTED:
        return CODE_REASONS.get(code, "")
    named = (one for one in (code, told.get("type", "")) if _NAME.fullmatch(one))
    said = ": ".join(filter(None, (next(named, ""), told.get("param", ""))))
    return f"{REASONS[fault]} ({said})" if said else ""


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
