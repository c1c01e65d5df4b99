"""OneBot (v11, as go-cqhttp, NapCat, Lagrange and others send it): events, one a line or in an array."""

import html
import re
from collections.abc import Iterator
from functools import partial
from typing import Any, ClassVar

from backscroll.v1 import message_pb2 as pb
from backscroll_sidecar.importers.items import (
    BadRecord,
    Item,
    Options,
    Place,
    Read,
    Record,
    Retracted,
    Skipped,
    first_text,
    inner,
    items_of,
)
from backscroll_sidecar.importers.json_records import of_document, of_lines
from backscroll_sidecar.importers.looks import Look, look
from backscroll_sidecar.importers.message_parts import BOT, HUMAN, TextBuilder, answer, draft, show
from backscroll_sidecar.importers.sources import Source

MEDIA = {"image": "image", "record": "audio", "video": "video", "file": "file", "face": "sticker", "mface": "sticker",
         "json": "card", "xml": "card", "share": "card", "music": "card", "forward": "forward", "location": "location",
         "contact": "contact", "poke": "poke", "dice": "sticker", "rps": "sticker", "markdown": "card"}  # fmt: skip
_CODE = re.compile(r"\[CQ:([a-z_]+)((?:,[^\[\],]*)*)\]")
EVERYBODY = "全体成员"


class OneBot:
    """Events of OneBot."""

    name: ClassVar[str] = "onebot"
    label: ClassVar[str] = "OneBot events"

    def fits(self, look: Look) -> bool:
        return look.is_json and any("post_type" in one and "self_id" in one for one in look.records)

    def read(self, source: Source, options: Options) -> Iterator[Item]:
        is_lines = look(source).kind == "lines"
        found = of_lines(source) if is_lines else of_document(source, ("item", "messages.item"))
        yield from items_of(found, partial(_items, options, {}))


def _items(options: Options, names: dict[str, str], place: Place, event: Record) -> Iterator[Item]:
    kind = event.get("post_type")
    here = first_text(event, "group_id", "user_id")
    if kind == "notice" and str(event.get("notice_type")).endswith("_recall"):
        yield Skipped(place, "recall")
        yield Retracted(here, str(event.get("message_id")))
        return
    if kind not in {"message", "message_sent"}:
        yield Skipped(place, f"event: {kind}")
        return
    yield _message(place, event, options, names)


def _message(place: Place, event: Record, options: Options, names: dict[str, str]) -> Item:
    sender = inner(event, "sender")
    user = str(event.get("user_id") or sender.get("user_id") or "")
    if not user:
        raise BadRecord("no user_id")
    if event.get("message_id") is None:
        raise BadRecord("no message_id")
    is_own = user == str(event.get("self_id"))
    is_private = event.get("message_type") == "private"
    room = (
        event.get("target_id")
        if is_private and is_own
        else user
        if is_private
        else event.get("group_id")
    )
    name = first_text(sender, "card", "nickname")
    if name:
        names[user] = name
    message = draft(str(event["message_id"]), str(room or ""), user, name, BOT if is_own else HUMAN)
    message.sent_at_ms = options.times.milliseconds(event.get("time"), "time")
    said = event.get("message")
    builder = TextBuilder()
    for segment in _segments(said if said is not None else event.get("raw_message")):
        _add(segment, builder, message, names)
    builder.write(message)
    if not message.parts:
        return Skipped(place, "without content")
    return Read(place, message)


def _segments(said: object) -> Iterator[tuple[str, dict[str, Any]]]:
    """The pieces of a message, from the list of segments or from text with CQ codes."""
    if isinstance(said, list):
        for one in said:
            if isinstance(one, dict):
                data = one.get("data")
                yield str(one.get("type")), data if isinstance(data, dict) else {}
        return
    if not isinstance(said, str):
        raise BadRecord("message is neither text nor a list of segments")
    at = 0
    for found in _CODE.finditer(said):
        yield "text", {"text": html.unescape(said[at : found.start()])}
        pairs = (pair.partition("=") for pair in found[2].split(",") if pair)
        yield found[1], {key: html.unescape(value) for key, _, value in pairs}
        at = found.end()
    yield "text", {"text": html.unescape(said[at:])}


def _add(
    segment: tuple[str, dict[str, Any]],
    builder: TextBuilder,
    message: pb.Message,
    names: dict[str, str],
) -> None:
    kind, data = segment
    if kind == "text":
        builder.add(first_text(data, "text"))
    elif kind == "at":
        user = first_text(data, "qq")
        if user == "all":
            builder.add(f"@{EVERYBODY}")
        else:
            told = first_text(data, "name").removeprefix("@")
            builder.mention(user, told or names.get(user, ""))
    elif kind == "reply":
        answer(message, first_text(data, "id"))
    elif kind in MEDIA:
        uri = first_text(data, "url", "file")
        alt = first_text(data, "summary", "title", "prompt").strip("[]")
        builder.write(message)
        show(message, MEDIA[kind], uri if len(uri) < 8_000 else "", alt)
    else:
        builder.add(f"[{kind}]")
