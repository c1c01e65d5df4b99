"""WeChat: what its exporters write, as CSV (MemoTrace, PyWxDump), as JSON (WeFlow, PyWxDump), and as text."""

import csv
import io
import re
from collections.abc import Iterator
from datetime import datetime
from functools import partial
from typing import Any, ClassVar

from backscroll.v1 import message_pb2 as pb
from backscroll_sidecar.importers import qq
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
    items_of,
)
from backscroll_sidecar.importers.json_records import header, of_document, of_lines
from backscroll_sidecar.importers.looks import Look, look
from backscroll_sidecar.importers.message_parts import answer, draft, say, show
from backscroll_sidecar.importers.sources import MAX_LINE_BYTES, Source
from backscroll_sidecar.importers.times import BadTime

WORDS = {
    "id": ("MsgSvrID", "MsgSvrId", "serverId", "msgSvrId", "platformMessageId", "localId", "id"),
    "time": ("CreateTime", "createTime", "create_time", "timestamp", "StrTime", "formattedTime"),
    "type": ("Type", "type", "type_name", "localType"),
    "subtype": ("SubType", "subType"),
    "text": ("StrContent", "content", "msg", "parsedContent"),
    "author": ("Sender", "senderUsername", "talker", "sender", "wxid"),
    "name": ("Remark", "senderDisplayName", "groupNickname", "NickName", "nickname", "accountName"),
    "own": ("IsSender", "isSend", "is_sender"),
    "channel": ("room_name", "chatroom", "StrTalker", "TalkerId"),
}
"""What exporters call the same thing; the first that says something counts."""
TYPES = {
    1: "text", 3: "image", 34: "audio", 42: "contact", 43: "video", 47: "sticker", 48: "location", 49: "app",
    50: "call", 62: "video", 10000: "notice", 10002: "notice",
}  # fmt: skip
APPS = {
    "5": "link",
    "6": "file",
    "19": "forward",
    "33": "link",
    "36": "link",
    "57": "quote",
    "2000": "card",
}
"""Kinds of type 49 by subtype."""
TYPE_WORDS = (
    ("文本", "text"), ("图片", "image"), ("语音通话", "call"), ("语音", "audio"), ("视频", "video"),
    ("动画表情", "sticker"), ("表情", "sticker"), ("位置", "location"), ("名片", "contact"), ("系统", "notice"),
    ("撤回", "recalled"), ("拍一拍", "notice"), ("引用", "quote"), ("文件", "file"), ("链接", "link"),
    ("卡片", "link"), ("小程序", "link"), ("红包", "card"), ("转账", "card"), ("合并", "forward"),
    ("聊天记录", "forward"),
)  # fmt: skip
_TITLE = re.compile(r"<title>(?:<!\[CDATA\[)?(.*?)(?:\]\]>)?</title>", re.DOTALL)
_REFERS = re.compile(r"<refermsg>.*?<svrid>(\d+)</svrid>", re.DOTALL)
_RECALLED = re.compile(r".*(撤回了一条消息|recalled a message).*", re.DOTALL)
_PREFIX = re.compile(r"^(wxid_\w+|[\w\-]{6,30}):\n")
_QUOTED = re.compile(r"'[^']{1,64}'")
"""A name in a text; without the quotes it would fit many a program's log."""


class WeChat:
    """An export of WeChat."""

    name: ClassVar[str] = "wechat"
    label: ClassVar[str] = "a WeChat export"

    def fits(self, look: Look) -> bool:
        if look.kind == "text":
            columns = _columns(look.lines[0]) if look.lines else []
            return _is_table(columns) or any(
                (one := qq.HEADER.match(line)) and _QUOTED.fullmatch((one["who"] or "").strip())
                for line in look.lines[:20]
            )
        return look.is_json and is_record(look.first)

    def read(self, source: Source, options: Options) -> Iterator[Item]:
        seen = look(source)
        if seen.kind == "text" and not _is_table(_columns(seen.lines[0])):
            yield from qq.read_blocks(source, options, "")
            return
        channel, records = "", _rows(source)
        if seen.kind == "object":
            with source.opened() as file:
                keys, _ = header(file, ("messages.item",))
            channel = first_text(keys, "session.wxid", "meta.groupId")
            records = of_document(source, ("messages.item",))
        elif seen.is_json:
            records = of_lines(source) if seen.kind == "lines" else of_document(source, ("item",))
        yield from items_of(records, partial(_items, channel, options))


def is_record(record: Record) -> bool:
    """Whether it is a message of one of the exporters."""
    keys = record.keys()
    has_type = bool(keys & set(WORDS["type"]))
    return (
        has_type
        and bool(keys & {"CreateTime", "createTime"})
        and bool(keys & set(WORDS["text"]))
        and bool(
            keys & {"MsgSvrID", "localId", "senderUsername", "is_sender", "talker", "IsSender"}
        )
    )


def _columns(line: str) -> list[str]:
    return [one.strip() for one in line.removeprefix("\ufeff").split(",")]


def _is_table(columns: list[str]) -> bool:
    return is_record(dict.fromkeys(columns))


def _rows(source: Source) -> Iterator[tuple[Place, Record] | Bad]:
    """The rows of a CSV file, whose texts may have line breaks."""
    csv.field_size_limit(MAX_LINE_BYTES)
    with source.opened() as file:
        text = io.TextIOWrapper(file, "utf-8", errors="replace", newline="")
        reader = csv.DictReader(text)
        try:
            for row in reader:
                place = Place(reader.line_num)
                if None in row or None in row.values():
                    yield Bad(place, "has not as many fields as there are columns")
                else:
                    yield place, dict(row)
        except csv.Error as error:
            yield Bad(Place(reader.line_num), f"no CSV: {error}")
        finally:
            text.detach()


def _first(record: Record, what: str) -> str:
    for key in WORDS[what]:
        value = record.get(key)
        if value not in (None, "") and not isinstance(value, bool | dict | list):
            return str(value)
    return ""


def _kind(record: Record) -> str:
    said = _first(record, "type")
    if said.isdecimal():
        number = int(said)
        kind = TYPES.get(number & 0xFFFF_FFFF if number > 0xFFFF_FFFF else number, "card")
        return APPS.get(_first(record, "subtype"), kind) if kind == "app" else kind
    return next((kind for word, kind in TYPE_WORDS if word in said), "card" if said else "text")


def _items(channel: str, options: Options, place: Place, record: Record) -> Iterator[Item]:
    text, kind = _first(record, "text"), _kind(record)
    if kind == "recalled" or _RECALLED.fullmatch(text):
        yield Skipped(place, "recalled")
        return
    if kind in {"notice", "call"}:
        yield Skipped(place, "call" if kind == "call" else "notice of the app")
        return
    author, name = _author(record)
    number = _first(record, "id")
    if not number:
        raise BadRecord("no id")
    here = channel or _first(record, "channel")
    message = draft(number, here, author, name)
    message.sent_at_ms = _sent_at(record, options)
    if kind == "text":
        say(message, _PREFIX.sub("", text))
    else:
        _content(record, kind, text, message)
    yield Read(place, message) if message.parts else Skipped(place, "without content")


def _author(record: Record) -> tuple[str, str]:
    author, name = _first(record, "author"), _first(record, "name")
    is_own = _first(record, "own") in {"1", "True", "true"}
    if not author and is_own:
        author = "self"
    if not (author or name):
        raise BadRecord("no sender")
    return author or name, name


def _sent_at(record: Record, options: Options) -> int:
    said = _first(record, "time")
    try:
        return options.times.milliseconds(said, "CreateTime")
    except BadTime:
        pass
    try:
        at = datetime.fromisoformat(said.replace("/", "-"))
    except ValueError:
        raise BadRecord("no time") from None
    options.note(f"times say no zone: read in {options.times.zone_name()}")
    return options.times.wall(at)


def _content(record: Record, kind: str, text: str, message: pb.Message) -> None:
    """What is no plain text: most is XML of the app, of which the title is what people see."""
    found = _TITLE.search(text)
    title = (
        found[1].strip() if found else "" if text.lstrip().startswith("<") else text.strip("[] \n")
    )
    if kind in {"quote", "app"} and (refers := _REFERS.search(text)):
        answer(message, refers[1])
        say(message, title)
    elif kind == "quote":
        say(message, title)
    elif kind in {"link", "app", "card", "forward", "file", "location", "contact"}:
        show(message, "card" if kind == "app" else kind, _uri(record), title)
    else:
        show(message, kind, _uri(record))


def _uri(record: Record) -> str:
    value: Any = record.get("src") or record.get("mediaPath") or record.get("mediaLocalPath") or ""
    return value if isinstance(value, str) else ""
