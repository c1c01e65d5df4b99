"""An answer of Chat Completions on its way to the routes: its head as JSON first, then its body in pieces. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import orjson

from backscroll_sidecar.chat.events import ChatError
from backscroll_sidecar.context.model import BuiltContext
from backscroll_sidecar.edge.http.openai_errors import error_body, fault_status
from backscroll_sidecar.edge.http.passing import PassedOn
from backscroll_sidecar.edge.limits import MIB
from backscroll_sidecar.edge.status import Code, Refused
from backscroll_sidecar.ports import VendorAnswer

CONTEXT = "x-backscroll-context"
STORED = "x-backscroll-stored"
MOST_HELD_BYTES = 4 * MIB
"""Longer answers are passed on as they come."""


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


class Answer:
    """One answer of a vendor's that has begun.

    Of a stream of events the head goes at once. Else all is held to the end, since only then it is known whether the
    turn is stored, and whether the answer is whole.
    """

    def __init__(self, head: VendorAnswer, told: Mapping[str, str]) -> None:
        self._head, self._told = head, told
        self._passing = PassedOn(head)
        self._held: list[bytes] | None = None if self._passing.has_events else []
        self._held_bytes = 0

    def begin(self) -> Iterator[bytes]:
        """What goes before anything is said."""
        if self._held is None:
            yield head_of(self._head, self._told)

    def feed(self, read: bytes) -> Iterator[bytes]:
        """What of it goes now."""
        if self._held is not None:
            self._held.append(read)
            self._held_bytes += len(read)
            if self._held_bytes > MOST_HELD_BYTES:
                yield from self._let_go({})
        elif piece := self._passing.feed(read):
            yield piece

    def end(self, unstored: ChatError | None = None) -> Iterator[bytes]:
        """The rest of an answer that is whole, and that it was not stored."""
        reason = "" if unstored is None else unstored.reason.lower()
        if self._held is not None:
            yield from self._let_go({STORED: f"none; reason={reason}"} if reason else {})
        more = {"backscroll": {"stored": False, "reason": reason}} if reason else None
        if self._passing.has_events and (piece := self._passing.end(more)):
            yield piece

    def broken(self, error: ChatError) -> Iterator[bytes]:
        """How one ends that breaks off. Raises `Refused` where nothing of ours can stand behind it."""
        if self._held is not None:
            yield from failed(error, self._told)
        elif self._passing.has_events:
            yield self._passing.broken(error_body(error.message, error.reason))
        else:
            raise Refused(Code.UNAVAILABLE, error.message)

    def _let_go(self, more: Mapping[str, str]) -> Iterator[bytes]:
        held, self._held = self._held or (), None
        yield head_of(self._head, {**self._told, **more})
        yield from held


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
