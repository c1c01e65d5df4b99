"""Lark and Feishu: messages as the API lists them (``im/v1/messages``), and as events tell of them, in any JSON."""

import json
from collections.abc import Iterator
from typing import Any, ClassVar

from backscroll.v1 import message_pb2 as pb
from backscroll_sidecar.importers.items import (
    Bad,
    BadRecord,
    Item,
    Options,
    Place,
    Read,
    Record,
    Skipped,
    first_text,
    guarded,
    inner,
)
from backscroll_sidecar.importers.json_records import of_document, of_lines
from backscroll_sidecar.importers.looks import Look, look
from backscroll_sidecar.importers.message_parts import BOT, HUMAN, TextBuilder, answer, draft, show
from backscroll_sidecar.importers.sources import Source

MEDIA = {
    "image": ("image", "image_key"), "file": ("file", "file_key"), "audio": ("audio", "file_key"),
    "media": ("video", "file_key"), "sticker": ("sticker", "file_key"), "folder": ("file", "file_key"),
}  # fmt: skip


class Lark:
    """Messages of Lark or Feishu."""

    name: ClassVar[str] = "lark"
    label: ClassVar[str] = "a Lark/Feishu export"

    def fits(self, look: Look) -> bool:
        return look.is_json and any(is_record(one) or _answers(one) for one in look.records)

    def read(self, source: Source, options: Options) -> Iterator[Item]:
        is_lines = look(source).kind == "lines"
        places = ("item", "data.items.item", "items.item", "messages.item")
        for one in of_lines(source) if is_lines else of_document(source, places):
            if isinstance(one, Bad):
                yield one
                continue
            place, record = one
            for message in _answers(record) or [record]:
                yield from guarded(_items(place, message, options), place)


def is_record(record: Record) -> bool:
    """Whether it is a message or an event of one."""
    if isinstance(record.get("event"), dict) and isinstance(record.get("header"), dict):
        return isinstance(record["event"].get("message"), dict)
    return (
        "message_id" in record
        and ("msg_type" in record or "message_type" in record)
        and ("body" in record or "content" in record)
    )


def _answers(record: Record) -> list[Record]:
    """The messages of an answer of the API that was kept as it came."""
    data = record.get("data") if isinstance(record.get("data"), dict) else record
    items = data.get("items") if isinstance(data, dict) else None
    return (
        [one for one in items if isinstance(one, dict) and is_record(one)]
        if isinstance(items, list)
        else []
    )


def _flat(record: Record) -> Record:
    """An event as the API would list its message."""
    event = record.get("event")
    if not isinstance(event, dict):
        return record
    message = dict(event.get("message") or {})
    sender = inner(event, "sender")
    return {
        **message,
        "sender": {"id": sender.get("sender_id"), "sender_type": sender.get("sender_type")},
    }


def _id(value: object) -> str:
    """An id, or the open one of those that an event tells."""
    if isinstance(value, dict):
        return first_text(value, "open_id", "user_id", "union_id")
    return str(value or "")


def _items(place: Place, record: Record, options: Options) -> Iterator[Item]:
    if not is_record(record):
        if kind := inner(record, "header").get("event_type"):
            yield Skipped(place, f"event: {kind}")
            return
        raise BadRecord("no message of Lark")
    record = _flat(record)
    if not record.get("message_id"):
        raise BadRecord("no message_id")
    kind = str(record.get("msg_type") or record.get("message_type"))
    if record.get("deleted"):
        yield Skipped(place, "deleted")
        return
    if kind == "system":
        yield Skipped(place, "notice of the app")
        return
    sender = inner(record, "sender")
    user = _id(sender.get("id"))
    if not user:
        raise BadRecord("no sender.id")
    author_kind = BOT if sender.get("sender_type") == "app" else HUMAN
    name = str(sender.get("name") or record.get("sender_name") or "")
    message = draft(
        str(record["message_id"]), first_text(record, "chat_id"), user, name, author_kind
    )
    message.sent_at_ms = options.times.milliseconds(record.get("create_time"), "create_time")
    if record.get("thread_id"):
        message.thread_id = str(record["thread_id"])
    answer(message, first_text(record, "parent_id"))
    _content(record, kind, message)
    yield Read(place, message) if message.parts else Skipped(place, "without content")


def _content(record: Record, kind: str, message: pb.Message) -> None:
    body = record.get("body")
    raw = body.get("content") if isinstance(body, dict) else record.get("content")
    try:
        content = json.loads(raw) if isinstance(raw, str) else raw
    except ValueError:
        content = {"text": raw}
    content = content if isinstance(content, dict) else {"text": str(content or "")}
    people = {
        str(one.get("key")): (_id(one.get("id")), first_text(one, "name"))
        for one in record.get("mentions") or ()
        if isinstance(one, dict)
    }
    if kind in MEDIA:
        word, key = MEDIA[kind]
        file_name = first_text(content, "file_name")
        show(message, word, str(content.get(key) or ""), file_name if word == "file" else "")
    elif kind == "text":
        builder = TextBuilder()
        _text(first_text(content, "text"), people, builder)
        builder.write(message)
    elif kind == "post":
        _post(content, people, message)
    else:
        show(message, "card" if kind == "interactive" else kind, alt=first_text(content, "title"))


def _text(text: str, people: dict[str, tuple[str, str]], builder: TextBuilder) -> None:
    """A text in which people stand as ``@_user_1``."""
    while text:
        places = [(at, key) for key in people if key and (at := text.find(key)) >= 0]
        if not places:
            builder.add(text.replace("@_all", "@所有人"))
            return
        at, key = min(places, key=lambda one: (one[0], -len(one[1])))
        builder.add(text[:at])
        builder.mention(*people[key])
        text = text[at + len(key) :]


def _post(content: Record, people: dict[str, tuple[str, str]], message: pb.Message) -> None:
    """A rich text: paragraphs of pieces, perhaps by language."""
    if "content" not in content:
        content = next((one for one in content.values() if isinstance(one, dict)), {})
    builder = TextBuilder()
    if content.get("title"):
        builder.add(f"{content['title']}\n")
    pictures: list[str] = []
    paragraphs: Any = content.get("content") or []
    for at, paragraph in enumerate(paragraphs):
        if at:
            builder.add("\n")
        for piece in paragraph if isinstance(paragraph, list) else []:
            tag = piece.get("tag")
            if tag == "at":
                user = first_text(piece, "user_id")
                known = people.get(user)
                builder.mention(*(known or (user, first_text(piece, "user_name"))))
            elif tag in {"img", "media"}:
                pictures.append(first_text(piece, "image_key", "file_key"))
            else:
                builder.add(first_text(piece, "text"))
    builder.write(message)
    for key in pictures:
        show(message, "image", key)
