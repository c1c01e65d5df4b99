"""A refusal as a page tells it: its status, and what belongs to it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from backscroll_sidecar.edge.status import Code, Refused
from backscroll_sidecar.inspector.question_fields import BadField, UnknownField

STATUS: Mapping[Code, HTTPStatus] = {
    Code.INVALID_ARGUMENT: HTTPStatus.BAD_REQUEST,
    Code.NOT_FOUND: HTTPStatus.NOT_FOUND,
    Code.PERMISSION_DENIED: HTTPStatus.FORBIDDEN,
    Code.UNAUTHENTICATED: HTTPStatus.UNAUTHORIZED,
    Code.FAILED_PRECONDITION: HTTPStatus.CONFLICT,
    Code.ABORTED: HTTPStatus.CONFLICT,
    Code.RESOURCE_EXHAUSTED: HTTPStatus.TOO_MANY_REQUESTS,
    Code.UNIMPLEMENTED: HTTPStatus.NOT_IMPLEMENTED,
    Code.UNAVAILABLE: HTTPStatus.SERVICE_UNAVAILABLE,
    Code.DEADLINE_EXCEEDED: HTTPStatus.GATEWAY_TIMEOUT,
}
OWN_REASONS = ("PAGE_NOT_FOUND", "OTHER_SITE", "TOO_MANY_LOGINS", "UNKNOWN_FIELD")
"""Reasons of pages alone, which no call has."""


def status_of(refused: Refused) -> HTTPStatus:
    """The status of an answer that tells of it."""
    return STATUS.get(refused.code, HTTPStatus.INTERNAL_SERVER_ERROR)


def told(refused: Refused) -> dict[str, Any]:
    """What a page shows of it, and its twin as JSON."""
    return {
        "code": refused.code.name,
        "reason": refused.reason,
        "message": refused.text,
        "metadata": dict(refused.metadata),
    }


def refusal_of(bad: BadField) -> Refused:
    """A field of an address as a refusal, as the server would tell it."""
    reason = "UNKNOWN_FIELD" if isinstance(bad, UnknownField) else "INVALID_FIELD"
    return Refused(Code.INVALID_ARGUMENT, str(bad), reason, {"field": bad.name})
