"""Chat logs as JSON Lines: one message a line, plain or gzip. Pure but for opening files.

A line holds the fields of ``backscroll.v1.Message`` by name, or the common words for them:

========================  ==========================================================
``message_id``            for ``id``
``group_id``              for ``channel``
``user_id``, ``name``     for ``author``; ``author`` may also be an id alone
``content``, ``text``     for ``parts``: text, or a list of texts, images, sounds, files
``timestamp``             for ``sent_at_ms``: milliseconds, or ISO 8601 with an offset
``mentions``              user objects, or names as they stand in the text
``reply_to``              for ``reply``: the id of the answered message
``explicit_reply_to``     the same, used only when asked for
``assistant``, ``bot``    for ``ROLE_ASSISTANT``, ``AUTHOR_KIND_BOT``, and so for the others
========================  ==========================================================
"""

from __future__ import annotations

import gzip
import json
import math
import shutil
import sys
import tempfile
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import IO, Any, TypeAlias, cast

from google.protobuf import json_format

from backscroll._encode import clean
from backscroll.v1 import message_pb2
from backscroll_sidecar.cli.console import protobuf_words

GZIP_MAGIC = b"\x1f\x8b"
COMMON = frozenset(
    {
        "message_id",
        "group_id",
        "user_id",
        "name",
        "content",
        "text",
        "timestamp",
        "mentions",
        "reply_to",
    }
    | {"explicit_reply_to"}
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
MIN_MILLISECONDS = 10_000_000_000
"""A time below this, April 1970 in milliseconds, is taken for seconds by mistake."""


class Unreadable(Exception):
    """A file broke off; the text names it."""


class BadLine(ValueError):
    """A line is no message; the text says why."""


Sources: TypeAlias = list[tuple[str, IO[bytes]]]


@dataclass(frozen=True, slots=True)
class Options:
    """How lines become messages. `links` takes ``explicit_reply_to`` for the reply."""

    channel: str = ""
    channel_prefix: str = ""
    links: bool = False


@dataclass(slots=True)
class Survey:
    """What a first reading of the files found: whom names stand for, and what is wrong with which line."""

    line_count: int = 0
    message_count: int = 0
    bad_lines: list[tuple[str, int, str]] = field(default_factory=list)
    unknown_fields: Counter[str] = field(default_factory=Counter)
    channels: Counter[str] = field(default_factory=Counter)
    people: dict[str, dict[str, str | None]] = field(default_factory=dict)
    unresolved_mentions: Counter[str] = field(default_factory=Counter)

    def learn(self, channel: str, user_id: str, name: str) -> None:
        """Remember whose name this is. A name that two people had stands for nobody."""
        names = self.people.setdefault(channel, {})
        for word in {name, user_id} - {""}:
            known = names.setdefault(word, user_id)
            if known != user_id:
                names[word] = None

    def resolve(self, channel: str, name: str) -> str | None:
        """The user a name stands for in this channel."""
        return self.people.get(channel, {}).get(name.removeprefix("@")) or None


@dataclass(frozen=True, slots=True)
class Line:
    """One non-blank line: where it stands and what it holds."""

    file: str
    number: int
    raw: bytes


@contextmanager
def opened(names: list[str]) -> Iterator[Sources]:
    """Open every file for reading twice; ``-`` is standard input, kept in a temporary file meanwhile."""
    with ExitStack() as stack:
        files: Sources = []
        for name in names:
            if name == "-":
                source: IO[bytes] = stack.enter_context(tempfile.TemporaryFile())
                shutil.copyfileobj(sys.stdin.buffer, source)
                source.seek(0)
            else:
                source = stack.enter_context(Path(name).open("rb"))
            if source.read(2) == GZIP_MAGIC:
                source.seek(0)
                source = cast("IO[bytes]", stack.enter_context(gzip.open(source, "rb")))
            source.seek(0)
            files.append(("standard input" if name == "-" else name, source))
        yield files


def lines(files: Sources) -> Iterator[Line]:
    """All lines that are not blank, from the beginning of each file."""
    for name, source in files:
        try:
            source.seek(0)
            for number, raw in enumerate(source, start=1):
                if raw.strip():
                    yield Line(name, number, raw)
        except (OSError, EOFError, zlib.error) as error:
            raise Unreadable(f"{name} cannot be read to its end: {error}") from error


def survey(files: Sources, options: Options) -> Survey:
    """Read everything once: names, channels, bad lines, unknown fields."""
    found = Survey()
    for line in lines(files):
        found.line_count += 1
        try:
            record = parse(line.raw)
            message = to_message(record, options, None)
        except BadLine as error:
            found.bad_lines.append((line.file, line.number, str(error)))
            continue
        found.message_count += 1
        found.channels[message.channel] += 1
        found.unknown_fields.update(record.keys() - COMMON - PROTO_FIELDS)
        found.learn(message.channel, message.author.id, message.author.name)
    return found


def messages(files: Sources, options: Options, found: Survey) -> Iterator[message_pb2.Message]:
    """Read everything again: the messages, names turned into ids; bad lines are passed over."""
    for line in lines(files):
        try:
            yield to_message(parse(line.raw), options, found)
        except BadLine:
            continue


def parse(raw: bytes) -> dict[str, Any]:
    """One line as a JSON object."""
    try:
        record = json.loads(raw.decode("utf-8").rstrip())
    except UnicodeDecodeError:
        raise BadLine("not UTF-8") from None
    except json.JSONDecodeError as error:  # its own words count lines inside this one
        raise BadLine(f"not JSON: {error.msg.lower()}, column {error.colno}") from None
    except RecursionError:
        raise BadLine("not JSON: too deep") from None
    if not isinstance(record, dict):
        raise BadLine("not a JSON object")
    return _cleaned(record) if b"\\u" in raw else record


def _cleaned(value: Any) -> Any:  # noqa: ANN401
    """JSON can spell half a character; protobuf refuses it."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [_cleaned(one) for one in value]
    return (
        {clean(key): _cleaned(one) for key, one in value.items()}
        if isinstance(value, dict)
        else value
    )


def to_message(
    record: dict[str, Any], options: Options, found: Survey | None
) -> message_pb2.Message:
    """One record as a message. Without a survey mentions that are names are left out."""
    message = message_pb2.Message()
    own = {key: record[key] for key in PROTO_FIELDS & record.keys() if record[key] is not None}
    for key in ("author", "reply"):
        if _is_word(own.get(key)):
            del own[key]
    own = _with_enum_names(_with_text_ids(own))
    mentions = own.pop("mentions", None) or []
    try:
        json_format.ParseDict(own, message)
    except (json_format.ParseError, ValueError, TypeError) as error:
        raise BadLine(protobuf_words(error)) from None
    _common_words(record, message, options)
    if not isinstance(mentions, list):
        raise BadLine("mentions is no list")
    for mention in mentions:
        _add_mention(message, mention, found)
    _check(message)
    return message


def _common_words(record: dict[str, Any], message: message_pb2.Message, options: Options) -> None:
    message.id = message.id or _word(record, "message_id")
    message.channel = options.channel or message.channel or _word(record, "group_id")
    if options.channel_prefix and message.channel:
        message.channel = options.channel_prefix + message.channel
    author = record.get("author")
    message.author.id = (
        message.author.id or _word(record, "user_id") or (str(author) if _is_word(author) else "")
    )
    message.author.name = message.author.name or _word(record, "name")
    if not message.parts:
        _add_content(message, record)
    if not message.sent_at_ms and "timestamp" in record:
        message.sent_at_ms = _milliseconds(record["timestamp"])
    reply = _word(record, "reply_to") or (
        _word(record, "explicit_reply_to") if options.links else ""
    )
    if reply and not message.HasField("reply"):
        message.reply.message_id = reply


def _add_content(message: message_pb2.Message, record: dict[str, Any]) -> None:
    """The text, which some write as a list: ``[{"type": "text", "text": "look"}, {"type": "image_url", …}]``."""
    key = "content" if "content" in record else "text"
    value = record.get(key)
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
            raise BadLine(f"{key} is neither text nor a list of texts, images, sounds and files")


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
        raise BadLine(f"{field} is none of: {', '.join(sorted(words))}")
    return words[value.lower()]


def _is_word(value: object) -> bool:
    """Whether this can be an id: platforms that count give whole numbers."""
    return isinstance(value, str | int) and not isinstance(value, bool)


def _with_text_ids(value: Any) -> Any:  # noqa: ANN401
    """The same with every id that is a whole number as text, at any depth."""
    if isinstance(value, list):
        return [_with_text_ids(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {
        key: str(one) if key in ID_FIELDS and _is_word(one) else _with_text_ids(one)
        for key, one in value.items()
    }


def _word(record: dict[str, Any], key: str) -> str:
    """An id or a name; platforms that count give numbers."""
    value = record.get(key)
    if value is None:
        return ""
    if not _is_word(value):
        raise BadLine(f"{key} is neither text nor a whole number")
    return str(value)


def _milliseconds(value: object) -> int:
    if isinstance(value, str):
        try:
            at = datetime.fromisoformat(value)
        except ValueError:
            raise BadLine("timestamp is neither milliseconds nor ISO 8601") from None
        if at.tzinfo is None:
            raise BadLine("timestamp has no offset from UTC")
        return round(at.timestamp() * 1000)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise BadLine("timestamp is neither milliseconds nor ISO 8601")
    if 0 < value < MIN_MILLISECONDS:
        raise BadLine("timestamp looks like seconds; milliseconds are wanted")
    return int(value)


def _add_mention(message: message_pb2.Message, mention: object, found: Survey | None) -> None:
    if isinstance(mention, dict):
        try:
            json_format.ParseDict(_with_text_ids(mention), message.mentions.add())
        except json_format.ParseError as error:
            raise BadLine(f"mentions: {protobuf_words(error)}") from None
    elif not isinstance(mention, str):
        raise BadLine("a mention is a name or an object with user_id")
    elif found is not None:
        user_id = found.resolve(message.channel, mention)
        if user_id is None:
            found.unresolved_mentions[mention] += 1
        else:
            message.mentions.add(user_id=user_id, name=mention.removeprefix("@"))


def _check(message: message_pb2.Message) -> None:
    """What must be there for a line to be a message at all; the rest is the server's to judge."""
    for value, names in (
        (message.id, "id or message_id"),
        (message.channel, "channel or group_id (or give --channel)"),
        (message.author.id, "author or user_id"),
        (message.parts, "content, text or parts"),
    ):
        if not value:
            raise BadLine(f"no {names}")
    if 0 < message.sent_at_ms < MIN_MILLISECONDS:
        raise BadLine("sent_at_ms looks like seconds; milliseconds are wanted")
