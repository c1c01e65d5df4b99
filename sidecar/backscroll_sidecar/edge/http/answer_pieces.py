"""An answer of Chat Completions on its way to the routes: its head as JSON first, then its body in pieces. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import orjson

from backscroll_sidecar.chat.events import ChatError
from backscroll_sidecar.context.model import BuiltContext
from backscroll_sidecar.edge.http.openai_errors import error_body, fault_status
from backscroll_sidecar.edge.http.passing import PassedOn
from backscroll_sidecar.edge.status import Code, Refused
from backscroll_sidecar.ports import VendorAnswer

CONTEXT = "x-backscroll-context"


def told_of(built: BuiltContext, *, is_new: bool) -> dict[str, str]:
    """The header that says what was added."""
    tokens = built.tokens.total - built.tokens.reserve
    said = f"{built.context_id}; tokens={tokens}; rung={built.rung.name.lower()}; messages={built.item_count}"
    if not built.item_count:
        said += f"; reason={'new_channel' if is_new else 'nothing_found'}"
    return {CONTEXT: said}


def told_of_none(reason: str) -> dict[str, str]:
    """The header that says why nothing was added."""
    return {CONTEXT: f"none; reason={reason}"}


def head_of(answer: VendorAnswer, told: Mapping[str, str]) -> bytes:
    """The vendor's status and headers, and ours."""
    return orjson.dumps({"status": answer.status, "headers": {**answer.headers, **told}})


def broken(error: ChatError, answer: PassedOn) -> Iterator[bytes]:
    """How an answer ends that has begun. Raises `Refused` where nothing of ours can stand behind it."""
    if not answer.has_events:
        raise Refused(Code.UNAVAILABLE, error.message)
    yield answer.broken(error_body(error.message, error.reason))


def failed(error: ChatError, told: Mapping[str, str]) -> Iterator[bytes]:
    """The answer of a vendor that failed before it began: its own words where they may be told, else ours."""
    if error.answer is not None:
        yield head_of(error.answer, told)
        yield error.answer.body
        return
    headers = {"content-type": "application/json"}
    if error.retry_after_ms is not None:
        headers["retry-after-ms"] = str(error.retry_after_ms)
    yield head_of(VendorAnswer(fault_status(error.reason), headers), told)
    yield error_body(error.message, error.reason)
