"""Checks of single fields. Each raises `InvalidRequest` naming the field, and never repeats what the caller sent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from backscroll_sidecar.edge.limits import MAX_ID_BYTES, MAX_TIME_MS
from backscroll_sidecar.errors import InvalidRequest, Reason
from backscroll_sidecar.times import looks_like_microseconds, looks_like_seconds

T = TypeVar("T")


def invalid(field: str, why: str) -> InvalidRequest:
    """The value of `field` can never be right."""
    return InvalidRequest(f"{field} {why}", field=field)


def missing(field: str) -> InvalidRequest:
    """A required field is unset."""
    return InvalidRequest(f"{field} is required", field=field, reason=Reason.MISSING_FIELD)


def too_large(field: str, limit_bytes: int) -> InvalidRequest:
    """`field` exceeds `limit_bytes`."""
    return InvalidRequest(
        f"{field} exceeds {limit_bytes} bytes",
        field=field,
        reason=Reason.TOO_LARGE,
        metadata={"limit_bytes": str(limit_bytes)},
    )


def batch_too_large(field: str, limit: int, unit: str) -> InvalidRequest:
    """The batch as a whole exceeds `limit`; nothing of it is taken."""
    return InvalidRequest(
        f"{field} holds more than {limit} {unit}",
        field=field,
        reason=Reason.BATCH_TOO_LARGE,
        metadata={f"limit_{unit}": str(limit)},
    )


def text_size(text: str) -> int:
    """Bytes of `text` in UTF-8."""
    return len(text) if text.isascii() else len(text.encode())


def check_text(text: str, field: str, limit_bytes: int) -> str:
    """Return `text` if it fits and holds no NUL."""
    # A code point takes at most 4 bytes: most texts need no second look.
    if len(text) * 4 > limit_bytes and text_size(text) > limit_bytes:
        raise too_large(field, limit_bytes)
    if "\0" in text:
        raise invalid(field, "holds U+0000")
    return text


def check_id(value: str, field: str) -> str:
    """Return an id that may be empty."""
    return check_text(value, field, MAX_ID_BYTES) if value else value


def required_id(value: str, field: str) -> str:
    """Return an id that must be set."""
    if not value:
        raise missing(field)
    return check_text(value, field, MAX_ID_BYTES)


def check_count(count: int, field: str, limit: int) -> None:
    """Refuse a repeated field with more than `limit` entries."""
    if count > limit:
        raise invalid(field, f"holds more than {limit} entries")


def check_range(value: int, field: str, low: int, high: int) -> int:
    """Return `value` if it lies between `low` and `high`, both included."""
    if not low <= value <= high:
        raise invalid(field, f"is not between {low} and {high}")
    return value


def check_unit(value: int, field: str) -> int:
    """Return a time that can be milliseconds: in another unit it would be thousands of years off, and nobody told."""
    if looks_like_seconds(value):
        raise invalid(field, "looks like seconds; it is milliseconds since the epoch")
    if looks_like_microseconds(value):
        raise invalid(field, "looks like microseconds; it is milliseconds since the epoch")
    return value


def check_time(value: int, field: str) -> int:
    """Return a time in milliseconds that a calendar can show: from 1970 to the year 9999."""
    check_unit(value, field)
    if not 0 <= value <= MAX_TIME_MS:
        raise invalid(field, "is no time between 1970 and the year 9999")
    return value


def enum_value(table: Mapping[int, T], number: int, field: str) -> T:
    """Return what `number` stands for."""
    if number not in table:
        raise invalid(field, "is no value of its enum")
    return table[number]
