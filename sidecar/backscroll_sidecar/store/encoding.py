"""Columns that hold more than one value, and the rows of people and events."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import orjson

from backscroll_sidecar.domain import (
    AuthorKind,
    Event,
    Member,
    Mention,
    Stay,
)
from backscroll_sidecar.known_names import NameTimes
from backscroll_sidecar.parts_json import decode_parts, encode_parts
from backscroll_sidecar.store.facts import OldRevision, Person

Row = tuple[Any, ...]
_KINDS = {int(kind): kind for kind in AuthorKind}


def encode_mentions(mentions: Iterable[Mention]) -> list[list[Any]]:
    """Mentions as JSON arrays of their fields."""
    return [[mention.user_id, mention.name, mention.start, mention.end] for mention in mentions]


def decode_mentions(encoded: Iterable[list[Any]]) -> tuple[Mention, ...]:
    """The inverse of `encode_mentions`."""
    return tuple(Mention(*values) for values in encoded)


def encode_revision(old: OldRevision) -> tuple[int, int, str]:
    """Number, time and content of a replaced revision."""
    content = (encode_parts(old.parts), encode_mentions(old.mentions))
    return (old.revision, old.edited_at_ms, orjson.dumps(content).decode())


def decode_revision(revision: int, edited_at_ms: int, content: str) -> OldRevision:
    """The inverse of `encode_revision`."""
    parts, mentions = orjson.loads(content)
    return OldRevision(revision, decode_parts(parts), decode_mentions(mentions), edited_at_ms)


def encode_words(words: tuple[str, ...]) -> str | None:
    """A JSON array; None for no words."""
    return orjson.dumps(words).decode() if words else None


def encode_person(person: Person) -> Row:
    """In the order of `statements.MEMBER_COLUMNS`."""
    member = person.member
    return (
        member.user_id,
        member.name,
        int(member.kind),
        person.named_at_ms,
        member.joined_at_ms,
        member.left_at_ms,
        encode_words(member.aliases),
        encode_words(member.former_names),
        member.role,
        orjson.dumps([list(one) for one in member.earlier_stays]).decode()
        if member.earlier_stays
        else None,
        _encode_name_times(member),
    )


def _encode_name_times(member: Member) -> str | None:
    """A number where there was one name only, which nearly everybody has."""
    times = member.name_times
    if len(times) == 1:
        return str(times[0][0])
    return orjson.dumps(times).decode() if times else None


def _decode_name_times(name: str, encoded: str | None) -> NameTimes:
    if encoded is None:
        return ()
    if encoded[0] != "[":
        return ((int(encoded), name),)
    return tuple([(at_ms, one) for at_ms, one in orjson.loads(encoded)])


def decode_person(row: Row) -> Person:
    """The inverse of `encode_person`."""
    return Person(decode_member(row), row[3])


def decode_member(row: Row) -> Member:
    """The same without what only the store wants to know: a load reads all members of a channel."""
    user_id, name, kind, _, joined_at_ms, left_at_ms, aliases, former_names, role, stays, times = (
        row
    )
    return Member(
        user_id,
        name,
        tuple(orjson.loads(aliases)) if aliases else (),
        _KINDS[kind],
        joined_at_ms,
        left_at_ms,
        tuple(orjson.loads(former_names)) if former_names else (),
        tuple(Stay(*one) for one in orjson.loads(stays)) if stays else (),
        role,
        name_times=_decode_name_times(name, times),
    )


def encode_event(event: Event) -> Row:
    """In the order of `statements.EVENT_COLUMNS`; the standard JSON keeps infinities and long integers."""
    payload = json.dumps(event.payload, ensure_ascii=False)
    return (
        event.message_id, event.id, event.parent_id, event.type, event.level, event.at_ms, payload,
    )  # fmt: skip


def decode_event(row: Row) -> Event:
    """The inverse of `encode_event`."""
    message_id, id_, parent_id, type_, level, at_ms, payload = row
    return Event(id_, type_, level, at_ms, parent_id, json.loads(payload), message_id)
