"""Messages as the session folders of an older system spell them, one record each."""

import hashlib
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from backscroll_sidecar.domain import (
    Author,
    AuthorKind,
    Mention,
    Message,
    Part,
    Reply,
    Role,
    TextPart,
)
from backscroll_sidecar.importers.items import BadRecord
from backscroll_sidecar.parts_json import decode_parts, encode_parts
from backscroll_sidecar.times import looks_like_seconds

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MS = timedelta(milliseconds=1)
_NUMBER = re.compile(r"-?\d{1,18}(?:\.\d{1,18})?")
_ID = ("id", "message_id", "messageId")
_TEXT = ("text", "content", "message", "parts")
_TIME = ("ts", "timestamp", "created_at", "createdAt", "time")
_REPLY = ("reply_to", "replyTo", "reply_to_id", "replyToId")
_NAME = ("name", "display_name", "displayName", "sender_name", "author_name")
_CAT = ("cat_id", "catId", "cat")
_PERSON = ("id", "user_id", "userId", *_CAT)
_SENDER = ("sender_id", "senderId", "author_id", "authorId", "sender", "author")
_ROLES = {
    **dict.fromkeys(("user", "human", "person"), Role.USER),
    **dict.fromkeys(("assistant", "bot", "ai", "model", "cat"), Role.ASSISTANT),
    "system": Role.SYSTEM,
    **dict.fromkeys(("tool", "function"), Role.TOOL),
}
_KINDS = {
    Role.USER: AuthorKind.HUMAN,
    Role.ASSISTANT: AuthorKind.BOT,
    Role.SYSTEM: AuthorKind.SYSTEM,
    Role.TOOL: AuthorKind.BOT,
}


def message_of(record: Mapping[str, Any], made_id: str, session_id: str) -> Message:
    """A message of its line; BadRecord: it says nothing."""
    parts = _parts_of(record)
    role = _role_of(record)
    default_id = role.name.lower()
    keys = (*_SENDER, *_CAT) if role is Role.USER else (*_CAT, *_SENDER)
    given = next((record[key] for key in keys if record.get(key)), default_id)
    author = given if isinstance(given, dict) else {"id": given}
    kind = _first(record, ("author_kind",))
    sent_at_ms = milliseconds(next((record[key] for key in _TIME if record.get(key)), 0))
    if sent_at_ms is None:
        raise BadRecord("a time that is neither a number nor ISO 8601")
    return Message(
        _first(record, _ID) or made_id,
        "",
        Author(
            _first(author, _PERSON) or default_id,
            _first(record, _NAME) or _first(author, _NAME),
            AuthorKind[kind] if kind in AuthorKind.__members__ else _KINDS[role],
        ),
        parts,
        sent_at_ms,
        role,
        session_id=session_id,
        reply=_reply_of(next((record[key] for key in _REPLY if record.get(key)), None)),
        mentions=tuple(filter(None, map(_mention_of, _list(record.get("mentions"))))),
        is_partial=record.get("is_partial") is True,
        audience=tuple(one for one in _list(record.get("audience")) if isinstance(one, str)),
    )


def record_of_message(message: Message) -> dict[str, Any]:
    """What is read again as the same message, but for vectors and thread. Empty values are left out."""
    role, author, reply, text = message.role, message.author, message.reply, message.text
    kind = author.kind
    record = {
        "id": message.id,
        "role": role.name.lower(),
        "sender": author.id,
        "name": author.name,
        "author_kind": None if kind is _KINDS[role] else kind.name,
        "text": text,
        "parts": None if message.parts == (TextPart(text),) else encode_parts(message.parts),
        "timestamp": time_of(message.sent_at_ms) if message.sent_at_ms else None,
        "reply_to": None if reply is None else _short(reply, Reply, reply.message_id),
        "mentions": [_short(one, Mention, one.user_id) for one in message.mentions],
        "is_partial": message.is_partial,
        "audience": message.audience,
    }
    return {key: value for key, value in record.items() if value or key == "text"}


def _short(value: Reply | Mention, kind: type[Reply | Mention], word: str) -> Any:  # noqa: ANN401
    """The id alone, where that is all."""
    return word if value == kind(word.lstrip("@ ")) else msgspec.to_builtins(value)


def _role_of(record: Mapping[str, Any]) -> Role:
    """As it says; else by who speaks: a cat is an assistant."""
    for key in ("role", "type", "sender", "author"):
        word = record.get(key)
        if isinstance(word, str) and word.lower() in _ROLES:
            return _ROLES[word.lower()]
    return Role.ASSISTANT if any(record.get(key) for key in _CAT) else Role.USER


def _parts_of(record: Mapping[str, Any]) -> tuple[Part, ...]:
    """Its own parts as we write them, else its text, which may be a list of texts."""
    parts = _list(record.get("parts"))
    if parts and all(isinstance(one, list) for one in parts):
        try:
            return decode_parts(parts)
        except (TypeError, ValueError, KeyError):
            pass  # they are somebody else's
    text = next((record[key] for key in _TEXT if record.get(key) is not None), None)
    if isinstance(text, list):
        pieces = [one.get("text") if isinstance(one, dict) else one for one in text]
        text = "\n".join(one for one in pieces if isinstance(one, str)) if pieces else None
    if not isinstance(text, str):
        raise BadRecord("no text")
    return (TextPart(text),)


def _reply_of(value: Any) -> Reply | None:  # noqa: ANN401 - of JSON
    if isinstance(value, dict):
        try:
            return msgspec.convert(value, Reply)
        except msgspec.ValidationError:
            value = _first(value, ("message_id", *_ID))
    message_id = word_of(value)
    return Reply(message_id) if message_id else None


def _mention_of(value: Any) -> Mention | None:  # noqa: ANN401 - of JSON
    if isinstance(value, dict):
        try:
            return msgspec.convert(value, Mention)
        except msgspec.ValidationError:
            user_id, name = _first(value, _PERSON), _first(value, _NAME)
    else:
        user_id, name = (word_of(value) or "").lstrip("@ "), ""
    return Mention(user_id, name) if user_id or name else None


def _first(record: Mapping[str, Any], keys: tuple[str, ...]) -> str:
    return next(filter(None, (word_of(record.get(key)) for key in keys)), "")


def word_of(value: Any) -> str | None:  # noqa: ANN401 - of JSON
    """A text, or a number as one."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) else None


def _list(value: Any) -> list[Any]:  # noqa: ANN401 - of JSON
    return value if isinstance(value, list) else []


def made_id(session_id: str, number: int, raw: bytes) -> str:
    """The same for the same line at the same place of the session."""
    digest = hashlib.sha256(session_id.encode("utf-8", "replace") + b"\0" + raw.strip())
    return f"line-{number}-{digest.hexdigest()[:16]}"


def milliseconds(value: Any) -> int | None:  # noqa: ANN401 - of JSON
    """Milliseconds, seconds by their size, or ISO 8601; None: no time."""
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        value = float(value) if "." in value else int(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        if not abs(value) < 2**63:
            return None
        return round(value * 1000) if looks_like_seconds(int(value)) else round(value)
    try:
        at = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return None
    return ((at if at.tzinfo else at.replace(tzinfo=UTC)) - _EPOCH) // _MS


def time_of(at_ms: int) -> str | int:
    """ISO 8601; the milliseconds themselves where no date is so far."""
    try:
        return (_EPOCH + at_ms * _MS).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    except OverflowError:
        return at_ms
