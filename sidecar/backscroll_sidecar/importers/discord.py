"""DiscordChatExporter, JSON: one file a channel or thread; its records one a line as well."""

import re
from collections.abc import Iterator
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
    inner,
    items_of,
)
from backscroll_sidecar.importers.json_records import header, of_document, of_lines
from backscroll_sidecar.importers.looks import Look, look
from backscroll_sidecar.importers.message_parts import (
    BOT,
    HUMAN,
    TextBuilder,
    answer,
    draft,
    kind_of,
    show,
)
from backscroll_sidecar.importers.sources import Source

SAID = {
    "Default",
    "Reply",
    "Forward",
    "ChatInputCommand",
    "ContextMenuCommand",
    "0",
    "19",
    "20",
    "23",
}
"""Types of what somebody says; the others are notices of the platform. Old exports give numbers."""


class Discord:
    """An export of DiscordChatExporter, in JSON."""

    name: ClassVar[str] = "discord"
    label: ClassVar[str] = "a DiscordChatExporter export"

    def fits(self, look: Look) -> bool:
        if look.kind == "object" and look.keys.keys() >= {"guild", "channel", "messages"}:
            return True
        first = look.first
        return (
            look.is_json
            and first.keys() >= {"id", "type", "timestamp", "content", "author"}
            and (isinstance(first["author"], dict) and "isBot" in first["author"])
        )

    def read(self, source: Source, options: Options) -> Iterator[Item]:
        kind = look(source).kind
        seen: dict[str, Any] = {}
        if kind == "object":
            with source.opened() as file:
                seen, _ = header(file, ("messages.item",))
            records = of_document(source, ("messages.item",))
        else:
            records = of_document(source, ("item",)) if kind == "array" else of_lines(source)
        channel = DiscordChannel(seen, options)
        yield from items_of(records, channel.items)


class DiscordChannel:
    """One channel, or a thread inside one."""

    def __init__(self, seen: dict[str, Any], options: Options) -> None:
        self._options = options
        self.channel = first_text(seen, "channel.id")
        self.thread = ""
        parent = first_text(seen, "channel.categoryId")
        if "Thread" in str(seen.get("channel.type")) and parent:
            self.channel, self.thread = parent, self.channel

    def items(self, place: Place, record: Record) -> Iterator[Item]:
        kind = str(record.get("type"))
        if kind not in SAID:
            yield Skipped(place, f"service: {kind}")
            return
        author = record.get("author")
        if not isinstance(author, dict) or not author.get("id"):
            raise BadRecord("no author.id")
        name = first_text(author, "nickname", "name")
        message = draft(
            first_text(record, "id"), self.channel, str(author["id"]), name,
            BOT if author.get("isBot") else HUMAN,
        )  # fmt: skip
        if not message.id:
            raise BadRecord("no id")
        message.sent_at_ms = self._options.times.milliseconds(record.get("timestamp"))
        if self.thread:
            message.thread_id = self.thread
        unread = ["reactions"] if record.get("reactions") else []
        self._reply(record, message, unread)
        _content(record, message)
        if not message.parts:
            yield Skipped(place, "without content")
            return
        yield Read(place, message, tuple(unread))

    def _reply(self, record: Record, message: pb.Message, unread: list[str]) -> None:
        parent = record.get("reference")
        if (
            not isinstance(parent, dict)
            or not parent.get("messageId")
            or record.get("forwardedMessage")
        ):
            return
        there = first_text(parent, "channelId")
        if there and self.channel and there not in {self.channel, self.thread}:
            unread.append("reply to another channel")
        else:
            answer(message, str(parent["messageId"]))


def _content(record: Record, message: pb.Message) -> None:
    """Text first, then what hangs on it; of a forwarded message, what was forwarded."""
    said = {**record, **inner(record, "forwardedMessage")}
    _text(first_text(said, "content"), said.get("mentions"), message)
    for one in _dicts(said.get("attachments")):
        file_name = first_text(one, "fileName")
        kind = kind_of(file_name)
        alt = str(one.get("description") or (file_name if kind == "file" else ""))
        show(message, kind, first_text(one, "url"), alt)
    for one in _dicts(said.get("stickers")):
        show(message, "sticker", first_text(one, "sourceUrl"), first_text(one, "name"))
    if not message.parts:
        for one in _dicts(said.get("embeds")):
            texts = [str(one[key]) for key in ("title", "description") if one.get(key)]
            fields = [f"{two.get('name')}: {two.get('value')}" for two in _dicts(one.get("fields"))]
            if texts or fields:
                message.parts.add().text.text = "\n".join(texts + fields)


def _text(text: str, mentions: object, message: pb.Message) -> None:
    """The text, people in it by name: the exporter writes ``@Name``, or leaves ``<@id>`` where told to."""
    people: dict[str, tuple[str, str]] = {}
    for one in _dicts(mentions):
        user_id = first_text(one, "id")
        for name in (one.get("nickname"), one.get("name")):
            if name and user_id:
                people.setdefault(f"@{name}", (user_id, str(name)))
        shown = str(one.get("nickname") or one.get("name") or user_id)
        people |= {f"<@{user_id}>": (user_id, shown), f"<@!{user_id}>": (user_id, shown)}
    builder, at = TextBuilder(), 0
    if people:
        words = sorted(map(re.escape, people), key=len, reverse=True)
        for found in re.finditer("|".join(words), text):
            builder.add(text[at : found.start()])
            builder.mention(*people[found[0]])
            at = found.end()
    builder.add(text[at:])
    named = {one.user_id for one in builder.mentions}
    for user_id, name in people.values():
        if user_id not in named:
            named.add(user_id)
            builder.mentions.append(pb.Mention(user_id=user_id, name=name))
    builder.write(message)


def _dicts(value: object) -> list[Record]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
