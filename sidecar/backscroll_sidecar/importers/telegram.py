"""Telegram Desktop: ``result.json`` of one chat, or of a whole account; its records one a line as well.

Ids are those of the Bot API (``-100…`` for supergroups), so that a bot continues in the same channel.
"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any, ClassVar

from backscroll.v1 import message_pb2 as pb
from backscroll_sidecar.importers.items import (
    BadRecord,
    Item,
    Options,
    Place,
    Read,
    Record,
    Skipped,
    first_text,
    guarded,
    items_of,
)
from backscroll_sidecar.importers.json_records import header, of_document, of_lines, walked
from backscroll_sidecar.importers.looks import Look, look
from backscroll_sidecar.importers.message_parts import TextBuilder, answer, draft, kind_of, show
from backscroll_sidecar.importers.sources import Source

ACCOUNT = "chats.list.item.messages.item"
MEDIA_TYPES = {
    "sticker": "sticker",
    "voice_message": "audio",
    "audio_file": "audio",
    "video_message": "video",
    "video_file": "video",
    "animation": "video",
}
UNREAD = ("forwarded_from", "reactions", "inline_bot_buttons")
"""What is worth telling that it is not kept."""


class Telegram:
    """An export of Telegram Desktop, in JSON."""

    name: ClassVar[str] = "telegram"
    label: ClassVar[str] = "a Telegram Desktop export"

    def fits(self, look: Look) -> bool:
        if look.kind == "folder":
            return any(one.inner == "result.json" for one in look.source.members)
        return look.is_json and is_record(look.first)

    def read(self, source: Source, options: Options) -> Iterator[Item]:
        source = next((one for one in source.members if one.inner == "result.json"), source)
        kind = look(source).kind
        if kind == "object":
            with source.opened() as file:
                seen, _ = header(file, ("messages.item", ACCOUNT))
            if "chats.list" in seen or "chats" in seen:
                yield from _account(source, options)
                return
            chat = TelegramChat(seen.get("id"), first_text(seen, "type"), options)
            records = of_document(source, ("messages.item",))
        else:
            chat = TelegramChat(None, "", options)
            records = of_document(source, ("item",)) if kind == "array" else of_lines(source)
        yield from items_of(records, chat.items)


def is_record(record: Record) -> bool:
    """Whether it is a message of an export."""
    kind = record.get("type")
    has_author = "from_id" in record or "from" in record or "actor" in record
    return kind in ("message", "service", "unsupported") and has_author and "date" in record


def _account(source: Source, options: Options) -> Iterator[Item]:
    """All chats of an account, one after the other."""
    seen: dict[str, Any] = {}
    chat: TelegramChat | None = None
    for key, value in walked(source, ACCOUNT):
        if isinstance(key, str):
            if key in {"chats.list.item.id", "chats.list.item.type"}:
                seen[key.rpartition(".")[2]] = value
                chat = None
            continue
        chat = chat or TelegramChat(seen.get("id"), first_text(seen, "type"), options)
        yield from guarded(chat.items(key, value), key)


def bot_api_id(number: object, kind: str) -> str:
    """The chat's id as bots see it."""
    if not isinstance(number, int | str) or not str(number):
        return ""
    if "supergroup" in kind or "channel" in kind:
        return f"-100{number}"
    return f"-{number}" if kind == "private_group" else str(number)


class TelegramChat:
    """One chat, in order: topics are known by the service messages that began them."""

    def __init__(self, number: object, kind: str, options: Options) -> None:
        self._channel = bot_api_id(number, kind)
        self._options = options
        self._topic_of: dict[object, str] = {}

    def items(self, place: Place, record: Record) -> Iterator[Item]:
        kind = record.get("type")
        if kind == "service":
            action = str(record.get("action") or "unknown")
            if action == "topic_created":
                self._topic_of[record.get("id")] = str(record.get("id"))
            yield Skipped(place, f"service: {action}")
            return
        if kind != "message":
            yield Skipped(place, str(kind or "no type"))
            return
        message = draft(str(_need(record, "id")), self._channel, *_author(record))
        message.sent_at_ms = self._sent_at(record)
        unread = [name for name in UNREAD if record.get(name)]
        self._reply(record, message, unread)
        _media(record, message)
        _text(record, message)
        if not message.parts:
            yield Skipped(place, "without content")
            return
        yield Read(place, message, tuple(unread))

    def _sent_at(self, record: Record) -> int:
        unix = record.get("date_unixtime")
        if unix is not None:
            return replace(self._options.times, unit="s").milliseconds(unix, "date_unixtime")
        try:
            at = datetime.fromisoformat(str(record.get("date")))
        except ValueError:
            raise BadRecord("date is no time") from None
        self._options.note(f"dates say no zone: read in {self._options.times.zone_name()}")
        return self._options.times.wall(at)

    def _reply(self, record: Record, message: pb.Message, unread: list[str]) -> None:
        parent = record.get("reply_to_message_id")
        if parent is None:
            return
        if record.get("reply_to_peer_id") is not None:
            unread.append("reply to another chat")
            return
        topic = self._topic_of.get(parent)
        if topic is not None:
            message.thread_id = topic
            self._topic_of[record.get("id")] = topic
        if topic != str(parent):
            answer(message, str(parent))


def _need(record: Record, key: str) -> object:
    value = record.get(key)
    if not isinstance(value, int | str) or isinstance(value, bool) or value == "":
        raise BadRecord(f"no {key}")
    return value


def _author(record: Record) -> tuple[str, str]:
    """Id as the Bot API has it, and name; accounts that are gone have no name."""
    name = first_text(record, "from")
    raw = first_text(record, "from_id")
    if raw.startswith("user"):
        return raw.removeprefix("user"), name
    if raw.startswith("channel"):
        return f"-100{raw.removeprefix('channel')}", name
    if not (raw or name):
        raise BadRecord("no from_id")
    return raw or name, name


def _text(record: Record, message: pb.Message) -> None:
    """Put the text into the message, and whom it mentions."""
    whole = record.get("text_entities") or record.get("text") or ""
    builder = TextBuilder()
    names: list[str] = []
    for piece in whole if isinstance(whole, list) else [whole]:
        if isinstance(piece, str):
            builder.add(piece)
            continue
        text = piece.get("text") if isinstance(piece, dict) else None
        if not isinstance(text, str):
            raise BadRecord("text is neither text nor a list of texts")
        if piece.get("type") == "mention_name" and piece.get("user_id"):
            builder.mention(str(piece["user_id"]).removeprefix("user"), text, before="")
        else:
            builder.add(text)
            if piece.get("type") == "mention":
                names.append(text)
    builder.write(message)
    for name in names:
        message.mentions.add(name=name.removeprefix("@"))


def _media(record: Record, message: pb.Message) -> None:
    if "photo" in record:
        show(message, "image", _path(record["photo"]), mime="")
    elif "file" in record or record.get("media_type"):
        media_type = first_text(record, "media_type")
        file_name = first_text(record, "file_name")
        mime = first_text(record, "mime_type")
        kind = MEDIA_TYPES.get(media_type) or kind_of(file_name, mime)
        alt = first_text(record, "sticker_emoji", "title")
        if kind == "file":
            alt = alt or file_name
        show(message, kind, _path(record.get("file")), alt, mime)
    if isinstance(poll := record.get("poll"), dict):
        answers = [str(one.get("text")) for one in poll.get("answers", ()) if isinstance(one, dict)]
        show(message, "poll", alt=f"{_plain(poll.get('question'))}: {' / '.join(answers)}")
    if isinstance(contact := record.get("contact_information"), dict):
        names = (contact.get("first_name"), contact.get("last_name"))
        show(message, "contact", alt=" ".join(str(name) for name in names if name))
    if "location_information" in record:
        show(message, "location", alt=first_text(record, "place_name"))


def _path(value: object) -> str:
    """Where the file lies in the export; nothing where it was left out, which is told in brackets."""
    text = str(value or "")
    return "" if text.startswith("(") else text


def _plain(value: object) -> str:
    """A text that may be a list of pieces."""
    if isinstance(value, list):
        return "".join(
            str(one.get("text", "")) if isinstance(one, dict) else str(one) for one in value
        )
    return str(value or "")
