"""Checks of what callers send, before any work is spent on it. Pure: no I/O, no clock.

A message that can never be stored is refused by a code and the field at fault, and costs its neighbours nothing.
One that can be stored with a correction is stored with a warning. Fields carry the names of
`backscroll.v1.Message`.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from backscroll_sidecar.analyze.sanitise import clean_text, has_nul
from backscroll_sidecar.domain import (
    MAX_BATCH_BYTES,
    MAX_BATCH_ITEMS,
    MAX_DIMENSIONS,
    MAX_ID_BYTES,
    MAX_ROLE_BYTES,
    MAX_STATE_BYTES,
    MAX_STAYS,
    MAX_TEXT_BYTES,
    ChannelKey,
    MediaPart,
    Member,
    Mention,
    Message,
    Part,
    ProviderStatePart,
    RefusalCode,
    Stay,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    WarningCode,
)
from backscroll_sidecar.errors import InvalidRequest, Reason
from backscroll_sidecar.times import looks_like_microseconds, looks_like_seconds

MAX_URI_BYTES = 8 * 1024
FUTURE_TOLERANCE_MS = 60_000
MAX_TIME_MS = 2**63 - 1
"""What the contract's int64 can hold: any time in the future is kept as sent and ranked as of its arrival."""


class Accepted(msgspec.Struct, frozen=True):
    """A message as it may be stored. `bytes` counts its text, links and vectors."""

    message: Message
    rank_time_ms: int
    bytes: int
    warnings: tuple[WarningCode, ...] = ()


class Refused(msgspec.Struct, frozen=True):
    """A message that can never be stored, and the field at fault."""

    message_id: str
    code: RefusalCode
    field: str
    bytes: int = 0


class Unstorable(Exception):
    """Raised inside the checks of one item; `check_message` turns it into `Refused`."""

    def __init__(self, code: RefusalCode, field: str, size: int = 0) -> None:
        super().__init__(code)
        self.code = code
        self.field = field
        self.size = size


def check_message(key: ChannelKey, message: Message, received_at_ms: int) -> Accepted | Refused:
    """Whether `message` may be stored in `key`, and what has to be corrected for that.

    Notes
    -----
    Time zero and times more than a minute ahead of `received_at_ms` are kept as sent and ranked as received. Texts
    and names lose what is no Unicode (lone surrogates become U+FFFD); ids are never changed, so there it is refused.
    """
    if message.reply is not None and not message.reply.message_id:
        message = replace(message, reply=None)  # an edge to nothing
    cleaned, size = message, _plain_bytes(key, message)
    if size is None:
        try:
            _check_ids(key, message)
            _check_length(message.parts)
            cleaned = _clean(message)
            size = _check_content(cleaned)
        except Unstorable as refusal:
            return Refused(message.id, refusal.code, refusal.field, refusal.size)
    rank_time_ms, warnings = rank_time(message.sent_at_ms, received_at_ms)
    if cleaned is not message:
        warnings += (WarningCode.TEXT_SANITISED,)
    return Accepted(cleaned, rank_time_ms, size, warnings)


def _plain_bytes(key: ChannelKey, message: Message) -> int | None:
    """The size of a message that is one text and whose ids and names one look finds good; None: look at each of them.

    Nearly every message is one. What is good together is good alone; the other way round, `check_message` goes on.
    """
    author, parts = message.author, message.parts
    if len(parts) != 1 or type(parts[0]) is not TextPart:
        return None
    if message.embeddings or message.audience:
        return None
    text = parts[0].text
    words = [
        message.id, author.id, author.name, message.thread_id, message.session_id, message.dedupe_key,
    ]  # fmt: skip
    if message.reply is not None:
        words += (message.reply.message_id, message.reply.user_id)
    for mention in message.mentions:
        words += (mention.user_id, mention.name)
    together = "".join(words)
    if not (
        message.id
        and author.id
        and message.channel == key.channel
        and 0 <= message.sent_at_ms <= MAX_TIME_MS
        and len(together) <= MAX_ID_BYTES
        and len(text) <= MAX_TEXT_BYTES
    ):
        return None
    try:
        word_bytes = len(together) if together.isascii() else len(together.encode())
        size = len(text) if text.isascii() else len(text.encode())
    except UnicodeEncodeError:
        return None
    is_good = word_bytes <= MAX_ID_BYTES and size <= MAX_TEXT_BYTES
    return None if not is_good or has_nul(together) or has_nul(text) else size


# --- one message -----------------------------------------------------------------------------------


def _check_ids(key: ChannelKey, message: Message) -> None:
    if not message.id:
        raise Unstorable(RefusalCode.MISSING_ID, "id")
    check_word(message.id, "id")
    if message.channel != key.channel:
        raise Unstorable(RefusalCode.WRONG_CHANNEL, "channel")
    if not message.author.id:
        raise Unstorable(RefusalCode.MISSING_AUTHOR, "author.id")
    check_word(message.author.id, "author.id")
    for value, field in (
        (message.thread_id, "thread_id"),
        (message.session_id, "session_id"),
        (message.dedupe_key, "dedupe_key"),
    ):
        if value:
            check_word(value, field)
    if message.reply is not None:
        check_word(message.reply.message_id, "reply.message_id")
        if message.reply.user_id:
            check_word(message.reply.user_id, "reply.user_id")
    for i, mention in enumerate(message.mentions):
        check_word(mention.user_id, f"mentions[{i}].user_id")
    for i, user_id in enumerate(message.audience):
        if not user_id:
            raise Unstorable(RefusalCode.MISSING_ID, f"audience[{i}]")
        check_word(user_id, f"audience[{i}]")
    if not 0 <= message.sent_at_ms <= MAX_TIME_MS:
        raise Unstorable(RefusalCode.NEGATIVE_TIME, "sent_at_ms")


def check_word(value: str, field: str, max_bytes: int = MAX_ID_BYTES) -> None:
    """Refuse an id, name or link that is too long or no plain text."""
    if has_nul(value):
        raise Unstorable(RefusalCode.NUL_CHARACTER, field)
    if len(value) > max_bytes:
        raise Unstorable(RefusalCode.ID_TOO_LONG, field, len(value))
    if not value.isascii():
        try:
            size = len(value.encode())
        except UnicodeEncodeError:
            raise Unstorable(RefusalCode.BAD_UTF8, field) from None
        if size > max_bytes:
            raise Unstorable(RefusalCode.ID_TOO_LONG, field, size)


def _check_length(parts: tuple[Part, ...]) -> None:
    """Refuse by sizes alone, so that no huge text is ever looked at."""
    characters = state_bytes = 0
    for part in parts:
        match part:
            case TextPart() | ToolResultPart():
                characters += len(part.text)
            case MediaPart():
                characters += len(part.alt_text)
            case ToolCallPart():
                characters += len(part.arguments_json)
            case ProviderStatePart():
                state_bytes += len(part.data)
    if state_bytes > MAX_STATE_BYTES:
        raise Unstorable(RefusalCode.BAD_STATE, "parts", state_bytes)
    if characters > MAX_TEXT_BYTES:
        raise Unstorable(RefusalCode.TEXT_TOO_LARGE, "parts", characters)


def _check_content(message: Message) -> int:
    """Check names, parts and vectors of a cleaned message; return its size."""
    check_word(message.author.name, "author.name")
    for i, mention in enumerate(message.mentions):
        check_word(mention.name, f"mentions[{i}].name")
    size = sum(_check_part(part, f"parts[{i}]") for i, part in enumerate(message.parts))
    text = message.text
    if has_nul(text):
        raise Unstorable(RefusalCode.NUL_CHARACTER, "parts")
    text_bytes = len(text) if text.isascii() else len(text.encode())
    if text_bytes > MAX_TEXT_BYTES:
        raise Unstorable(RefusalCode.TEXT_TOO_LARGE, "parts", text_bytes)
    for i, embedding in enumerate(message.embeddings):
        check_word(embedding.embedder_id, f"embeddings[{i}].embedder_id")
        values = embedding.values
        # hypot is 0 for the zero vector and an empty one, inf or NaN as soon as one value is.
        good = len(values) <= MAX_DIMENSIONS and 0 < math.hypot(*values) < math.inf
        if not good or not embedding.embedder_id:
            raise Unstorable(RefusalCode.BAD_EMBEDDING, f"embeddings[{i}]")
        size += 4 * len(values)
    return size + text_bytes


def _check_part(part: Part, field: str) -> int:
    """Check what of a part is an id, a name or a link; return the bytes its rendered form does not show."""
    match part:
        case TextPart():
            return 0
        case MediaPart():
            check_word(part.kind, f"{field}.media.kind")
            check_word(part.mime, f"{field}.media.mime")
            check_word(part.uri, f"{field}.media.uri", MAX_URI_BYTES)
            return len(part.uri)
        case ToolCallPart():
            check_word(part.id, f"{field}.tool_call.id")
            check_word(part.name, f"{field}.tool_call.name")
            return len(part.id)
        case ToolResultPart():
            check_word(part.call_id, f"{field}.tool_result.call_id")
            check_word(part.name, f"{field}.tool_result.name")
            return len(part.call_id)
        case ProviderStatePart():
            for name in ("provider", "api", "model", "kind"):
                word = getattr(part, name)
                if not word:
                    raise Unstorable(RefusalCode.BAD_STATE, f"{field}.provider_state.{name}")
                check_word(word, f"{field}.provider_state.{name}")
            return len(part.data)


def rank_time(sent_at_ms: int, received_at_ms: int) -> tuple[int, tuple[WarningCode, ...]]:
    """The time a message is ranked by, as far as clocks go, and what is said where that is not the time it was sent."""
    if sent_at_ms == 0:
        return received_at_ms, (WarningCode.TIME_ZERO,)
    if looks_like_seconds(sent_at_ms) or looks_like_microseconds(sent_at_ms):
        return received_at_ms, (WarningCode.TIME_LOOKS_LIKE_SECONDS,)
    if sent_at_ms > received_at_ms + FUTURE_TOLERANCE_MS:
        return received_at_ms, (WarningCode.TIME_IN_FUTURE,)
    return sent_at_ms, ()


def _clean(message: Message) -> Message:
    """The message itself when all its texts and names are Unicode, else a copy with U+FFFD where they are not."""
    parts = tuple(map(_clean_part, message.parts))
    mentions = tuple(map(_clean_mention, message.mentions))
    name, _ = clean_text(message.author.name)
    if parts == message.parts and mentions == message.mentions and name == message.author.name:
        return message
    cleaned = replace(message, parts=parts, author=replace(message.author, name=name))
    if len(cleaned.text) != len(message.text):  # halves were joined: positions no longer hold
        mentions = tuple(replace(mention, start=0, end=0) for mention in mentions)
    return replace(cleaned, mentions=mentions)


def _clean_part(part: Part) -> Part:
    match part:
        case TextPart():
            text, changed = clean_text(part.text)
            return TextPart(text) if changed else part
        case MediaPart():
            text, changed = clean_text(part.alt_text)
            return replace(part, alt_text=text) if changed else part
        case ToolCallPart():
            text, changed = clean_text(part.arguments_json)
            return replace(part, arguments_json=text) if changed else part
        case ToolResultPart():
            text, changed = clean_text(part.text)
            return replace(part, text=text) if changed else part
        case ProviderStatePart():
            return part


def _clean_mention(mention: Mention) -> Mention:
    name, changed = clean_text(mention.name)
    return replace(mention, name=name) if changed else mention


# --- what a request says besides messages: all raise `InvalidRequest` ---------------------------------


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
    except Unstorable as refusal:
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
    cleaned = dataclasses.replace(
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
