"""Checks of what a request says besides messages: ids, times, counts, people. Pure; all raise `InvalidRequest`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from backscroll_sidecar.analyze.sanitise import clean_text
from backscroll_sidecar.domain import (
    MAX_BATCH_BYTES,
    MAX_BATCH_ITEMS,
    MAX_ROLE_BYTES,
    MAX_STAYS,
    ChannelKey,
    Member,
    Stay,
)
from backscroll_sidecar.errors import InvalidRequest, Reason
from backscroll_sidecar.history.validate import MAX_TIME_MS, Refusal, check_word


def check_item_count(count: int, field: str = "messages") -> None:
    """Refuse a batch of more than 1,000 items as a whole."""
    if count > MAX_BATCH_ITEMS:
        raise InvalidRequest(
            f"{field} holds {count} items, more than {MAX_BATCH_ITEMS}",
            field=field,
            reason=Reason.BATCH_TOO_LARGE,
        )


def check_batch_bytes(size: int) -> None:
    """Refuse a batch of more than 4 MiB as a whole."""
    if size > MAX_BATCH_BYTES:
        raise InvalidRequest(
            f"messages hold more than {MAX_BATCH_BYTES} bytes",
            field="messages",
            reason=Reason.BATCH_TOO_LARGE,
        )


def check_id(value: str, field: str) -> None:
    """Refuse a request whose id or name `field` is empty, too long, or no plain text."""
    if not value:
        raise InvalidRequest(f"{field} is missing", field=field, reason=Reason.MISSING_FIELD)
    try:
        check_word(value, field)
    except Refusal as refusal:
        raise InvalidRequest(f"{field} is refused: {refusal.code.value}", field=field) from None


def check_ids(values: Sequence[str], field: str) -> None:
    """Refuse a request with over 1,000 ids, or with one that cannot exist."""
    check_item_count(len(values), field)
    for i, value in enumerate(values):
        check_id(value, f"{field}[{i}]")


def check_key(key: ChannelKey) -> None:
    """Refuse a request that names no channel, or one that cannot exist."""
    check_id(key.channel, "channel")


def check_time(at_ms: int, field: str) -> None:
    """Refuse a request whose time is before 1970 or no 64-bit number."""
    if not 0 <= at_ms <= MAX_TIME_MS:
        raise InvalidRequest(f"{field} is not a time", field=field)


def _check_stays(stays: Sequence[Stay], field: str) -> None:
    """Refuse stays that overlap or are not in order of time: only the first has no beginning, only the last no end."""
    if len(stays) > MAX_STAYS:
        raise InvalidRequest(f"{field} holds more than {MAX_STAYS} entries", field=field)
    for i, (joined_at_ms, left_at_ms) in enumerate(stays):
        where = f"{field}[{i}]"
        for name, at_ms in (("joined_at_ms", joined_at_ms), ("left_at_ms", left_at_ms)):
            if at_ms is not None:
                check_time(at_ms, f"{where}.{name}")
        before_ms = stays[i - 1].left_at_ms if i else 0
        if i and (before_ms is None or joined_at_ms is None or joined_at_ms < before_ms):
            raise InvalidRequest(
                f"{where} begins before the one ahead of it ends", field=f"{where}.joined_at_ms"
            )
        if left_at_ms is not None and joined_at_ms is not None and left_at_ms < joined_at_ms:
            raise InvalidRequest(f"{where} ends before it begins", field=f"{where}.left_at_ms")


def check_member(member: Member, field: str) -> Member:
    """A member as it may be stored: names without lone surrogates.

    Raises
    ------
    InvalidRequest
        Naming the field below `field`.
    """
    check_id(member.user_id, f"{field}.user_id")
    if member.has_all_stays:
        _check_stays(member.stays, f"{field}.stays")
    for name, at_ms in (("joined_at_ms", member.joined_at_ms), ("left_at_ms", member.left_at_ms)):
        if at_ms is not None:
            check_time(at_ms, f"{field}.{name}")
    check_item_count(len(member.aliases), f"{field}.aliases")
    cleaned = replace(
        member,
        name=clean_text(member.name)[0],
        role=clean_text(member.role)[0],
        aliases=tuple(clean_text(alias)[0] for alias in member.aliases if alias),
        former_names=tuple(clean_text(name)[0] for name in member.former_names if name),
    )
    if len(cleaned.role.encode()) > MAX_ROLE_BYTES:
        raise InvalidRequest(
            f"{field}.role exceeds {MAX_ROLE_BYTES} bytes",
            field=f"{field}.role",
            reason=Reason.TOO_LARGE,
        )
    for words, where in (
        ((cleaned.name,), "name"),
        (cleaned.aliases, "aliases"),
        (cleaned.former_names, "former_names"),
    ):
        for name in filter(None, words):
            check_id(name, f"{field}.{where}")
    return cleaned
