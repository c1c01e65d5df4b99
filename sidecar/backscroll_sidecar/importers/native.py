"""Backscroll's own JSON Lines, and JSON of anybody's making that uses the common words.

A record holds the fields of ``backscroll.v1.Message`` by name, or the common words for them:

========================  ==========================================================
``message_id``            for ``id``
``group_id``, ``chat_id`` for ``channel``
``user_id``, ``name``     for ``author``; ``author`` may also be an id alone
``content``, ``text``     for ``parts``: text, or a list of texts, images, sounds, files
``timestamp``, ``time``   for ``sent_at_ms``: a number, or ISO 8601 with an offset
``mentions``              user objects, or names as they stand in the text
``reply_to``              for ``reply``: the id of the answered message
``explicit_reply_to``     the same, used only when asked for
``assistant``, ``bot``    for ``ROLE_ASSISTANT``, ``AUTHOR_KIND_BOT``, and so for the others
========================  ==========================================================

What ``ListMessages`` and ``ExportMessages`` answer is read as well: stored messages, alone or in lists.
"""

from collections.abc import Iterator, Set
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

from google.protobuf import json_format

from backscroll.v1 import history_pb2, message_pb2
from backscroll_sidecar.domain import MAX_FORMER_NAMES
from backscroll_sidecar.importers.items import (
    BadRecord,
    Item,
    Members,
    Options,
    Pins,
    Place,
    Read,
    Record,
    items_of,
)
from backscroll_sidecar.importers.json_records import of_document, of_lines
from backscroll_sidecar.importers.looks import Look, look
from backscroll_sidecar.importers.protobuf_json import known, protobuf_words
from backscroll_sidecar.importers.sources import Source
from backscroll_sidecar.importers.times import MIN_MILLISECONDS

TIMES = (
    "timestamp",
    "time",
    "date",
    "datetime",
    "ts",
    "sent_at",
    "created_at",
    "createdAt",
    "create_time",
)
"""Words for when something was said; the first that is there counts."""
COMMON = frozenset(
    {
        "message_id",
        "group_id",
        "chat_id",
        "user_id",
        "name",
        "content",
        "text",
        "mentions",
        "reply_to",
    }
    | {"explicit_reply_to", *TIMES}
)
MEDIA = {
    f"{before}{kind}{behind}": kind
    for kind in ("image", "audio", "video", "file", "document")
    for before in ("", "input_", "output_")
    for behind in ("", "_url")
}
"""What a part of a content list is, by the words of several vendors for its type."""
ID_FIELDS = frozenset({"id", "channel", "user_id", "message_id", "thread_id", "dedupe_key"})
PROTO_FIELDS = frozenset(message_pb2.Message.DESCRIPTOR.fields_by_name)
OF_EXPORTS = frozenset({"rank_time_ms", "alias_ids", "recalled"})
"""What a stored message tells and a message takes when it is imported."""
STORED_FIELDS = frozenset(history_pb2.StoredMessage.DESCRIPTOR.fields_by_name)


class Native:
    """JSON Lines, or an array, of messages."""

    name: ClassVar[str] = "jsonl"
    label: ClassVar[str] = "JSON Lines"

    def fits(self, look: Look) -> bool:
        if look.kind == "empty" or (look.kind == "lines" and not look.records):
            return True
        return look.is_json and any(map(_is_known, look.records))

    def read(self, source: Source, options: Options) -> Iterator[Item]:
        is_document = look(source).kind in {"array", "object"}
        found = of_document(source, ("item", "messages.item")) if is_document else of_lines(source)
        yield from items_of(found, partial(self._unpacked, options))

    def _unpacked(self, options: Options, place: Place, record: Record) -> Iterator[Item]:
        """The messages of a record: itself, or those it holds."""
        inner = record.get("messages")
        if isinstance(inner, list) and all(map(_is_stored, inner)):
            for one in inner:
                yield from self._unpacked(options, place, one)
        elif _is_stored(record):
            stored = {"parts": [], **record["message"]}
            stored["partial"] = record.get("partial") or stored.get("partial", False)
            stored |= {key: record[key] for key in OF_EXPORTS & record.keys()}
            yield self._item(place, stored, options, record.keys() - STORED_FIELDS)
        elif _tells_members(record):
            yield _members(place, record)
        elif isinstance(record.get("pinned_message_ids"), list):
            ids = tuple(str(one) for one in record["pinned_message_ids"] if is_word(one))
            yield Pins(place, word(record, "channel"), ids)
        else:
            yield self._item(place, record, options)

    def _item(
        self, place: Place, record: Record, options: Options, around: Set[str] = frozenset()
    ) -> Item:
        unread = (record.keys() - COMMON - PROTO_FIELDS) | around
        inside: set[str] = set()
        own = {key: record[key] for key in PROTO_FIELDS & record.keys()}
        record = {**record, **known(own, message_pb2.Message.DESCRIPTOR, inside)}
        return Read(place, to_message(record, options), tuple(unread | inside))


def _is_known(record: Record) -> bool:
    """Whether it has a word of ours, or holds what has."""
    inner = record.get("messages")
    if isinstance(inner, list) and inner:
        return all(map(_is_stored, inner))
    if _is_stored(record) or _tells_members(record) or "pinned_message_ids" in record:
        return True
    return bool(record.keys() & (COMMON | PROTO_FIELDS))


def _is_stored(record: object) -> bool:
    """Whether it is a ``StoredMessage``, of this version or a newer one."""
    return (
        isinstance(record, dict)
        and isinstance(record.get("message"), dict)
        and "author" in record["message"]
        and (record.keys() <= STORED_FIELDS or "sequence" in record)
    )


def _tells_members(record: Record) -> bool:
    """Whether it holds people of a channel, as `export` writes them or ``ListMembers`` answers."""
    members = record.get("members")
    return isinstance(members, list) and all(
        isinstance(one, dict) and bool(one.keys() & {"user_id", "userId"}) for one in members
    )


def _members(place: Place, record: Record) -> Members:
    unread: set[str] = set(record.keys() - {"channel", "members", "members_at_ms"})
    kind = history_pb2.Member.DESCRIPTOR
    members = []
    for given in known(_with_text_ids(record["members"]), kind, unread):
        member = history_pb2.Member()
        try:
            json_format.ParseDict(given, member)
        except (json_format.ParseError, ValueError, TypeError) as error:
            raise BadRecord(f"members: {protobuf_words(error)}") from None
        del member.former_names[MAX_FORMER_NAMES:]
        members.append(member)
    at_ms = word(record, "members_at_ms") or "0"
    if not at_ms.isdecimal():
        raise BadRecord("members_at_ms is no number of milliseconds")
    return Members(place, word(record, "channel"), tuple(members), int(at_ms), tuple(unread))


def to_message(record: Record, options: Options) -> message_pb2.Message:
    """One record as a message.

    Raises
    ------
    BadRecord, BadTime
        It is none.
    """
    message = message_pb2.Message()
    own = {key: record[key] for key in PROTO_FIELDS & record.keys() if record[key] is not None}
    for key in ("author", "reply"):
        if is_word(own.get(key)):
            del own[key]
    own = _with_enum_names(_with_text_ids(own))
    mentions = own.pop("mentions", None) or []
    sent_at = own.pop("sent_at_ms", None)
    try:
        json_format.ParseDict(own, message)
    except (json_format.ParseError, ValueError, TypeError) as error:
        raise BadRecord(protobuf_words(error)) from None
    _common_words(record, message, options)
    _sent_at(record, sent_at, message, options)
    if not isinstance(mentions, list):
        raise BadRecord("mentions is no list")
    for mention in mentions:
        _mention(message, mention)
    _check(message, record)
    return message


def _common_words(record: Record, message: message_pb2.Message, options: Options) -> None:
    message.id = message.id or word(record, "message_id")
    message.channel = message.channel or word(record, "group_id") or word(record, "chat_id")
    author = record.get("author")
    message.author.id = (
        message.author.id or word(record, "user_id") or (str(author) if is_word(author) else "")
    )
    message.author.name = message.author.name or word(record, "name")
    if not message.parts:
        _add_content(message, record)
    reply = word(record, "reply_to") or (word(record, "explicit_reply_to") if options.links else "")
    if reply and not message.HasField("reply"):
        message.reply.message_id = reply


def _sent_at(
    record: Record, sent_at: object, message: message_pb2.Message, options: Options
) -> None:
    if sent_at is not None:
        times = options.times
        if times.unit == "auto":  # its name tells the unit
            # Where it says where it stood, a server has taken that time as it is.
            if _looks_like_seconds(sent_at) and not message.rank_time_ms:
                raise BadRecord("sent_at_ms looks like seconds; milliseconds are wanted")
            times = replace(times, unit="ms")
        message.sent_at_ms = times.milliseconds(sent_at, "sent_at_ms")
        return
    key = next((key for key in TIMES if record.get(key) is not None), None)
    if key is not None:
        message.sent_at_ms = options.times.milliseconds(record[key], key)


def _looks_like_seconds(value: object) -> bool:
    number = int(value) if isinstance(value, str) and value.isdecimal() else value
    return isinstance(number, int) and 0 < number < MIN_MILLISECONDS


def _add_content(message: message_pb2.Message, record: Record) -> None:
    """The text, which some write as a list: ``[{"type": "text", "text": "look"}, {"type": "image_url", …}]``."""
    key = "content" if "content" in record else "text"
    add_content(message, record.get(key), key)


def add_content(message: message_pb2.Message, value: object, key: str = "content") -> None:
    """A text, or a list of texts, images, sounds and files."""
    for one in value if isinstance(value, list) else [value]:
        given = one if isinstance(one, dict) else {"text": one}
        text = given.get("text", given.get("refusal"))
        text = text.get("value") if isinstance(text, dict) else text
        kind = MEDIA.get(str(given.get("type")))
        if isinstance(text, str):
            message.parts.add().text.text = text
        elif kind:
            message.parts.add().media.kind = kind
        elif one is not None:
            raise BadRecord(f"{key} is neither text nor a list of texts, images, sounds and files")


def _with_enum_names(own: dict[str, Any]) -> dict[str, Any]:
    """The same with ``assistant`` and ``bot`` as the contract writes them."""
    named = dict(own)
    if "role" in own:
        named["role"] = _enum_name("role", own["role"], message_pb2.Role)
    author = own.get("author")
    if isinstance(author, dict) and "kind" in author:
        kind = _enum_name("author.kind", author["kind"], message_pb2.AuthorKind)
        named["author"] = {**author, "kind": kind}
    return named


def _enum_name(field: str, value: object, kind: Any) -> object:  # noqa: ANN401 - an enum's wrapper
    """The contract's name for a word without its prefix, in whatever case; a number or a name stays."""
    if not isinstance(value, str) or value in kind.keys():  # noqa: SIM118 - no mapping
        return value
    words = {name.split("_")[-1].lower(): name for name, number in kind.items() if number}
    if value.lower() not in words:
        raise BadRecord(f"{field} is none of: {', '.join(sorted(words))}")
    return words[value.lower()]


def is_word(value: object) -> bool:
    """Whether this can be an id: platforms that count give whole numbers."""
    return isinstance(value, str | int) and not isinstance(value, bool)


def _with_text_ids(value: Any) -> Any:  # noqa: ANN401
    """The same with every id that is a whole number as text, at any depth."""
    if isinstance(value, list):
        return [_with_text_ids(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {
        key: str(one) if key in ID_FIELDS and is_word(one) else _with_text_ids(one)
        for key, one in value.items()
    }


def word(record: Record, key: str) -> str:
    """An id or a name; platforms that count give numbers.

    Raises
    ------
    BadRecord
        It is something else.
    """
    value = record.get(key)
    if value is None:
        return ""
    if not is_word(value):
        raise BadRecord(f"{key} is neither text nor a whole number")
    return str(value)


def _mention(message: message_pb2.Message, mention: object) -> None:
    if isinstance(mention, dict):
        try:
            json_format.ParseDict(_with_text_ids(mention), message.mentions.add())
        except json_format.ParseError as error:
            raise BadRecord(f"mentions: {protobuf_words(error)}") from None
    elif isinstance(mention, str):
        message.mentions.add(name=mention.removeprefix("@"))
    else:
        raise BadRecord("a mention is a name or an object with user_id")


def _check(message: message_pb2.Message, record: Record) -> None:
    """What must be there for a record to be a message at all; the rest is the server's to judge."""
    for value, names in (
        (message.id, "id or message_id"),
        (message.author.id, "author or user_id"),
        (message.parts or record.get("parts") == [], "content, text or parts"),
    ):
        if not value:
            raise BadRecord(f"no {names}")
