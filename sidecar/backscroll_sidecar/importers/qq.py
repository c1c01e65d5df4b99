"""QQ: message records exported as text, of one chat or several, of Windows and of phones."""

import re
from collections.abc import Iterator
from typing import ClassVar

from backscroll.v1 import message_pb2 as pb
from backscroll_sidecar.importers import clocks
from backscroll_sidecar.importers.items import Bad, BadRecord, Item, Options, Read, Skipped, guarded
from backscroll_sidecar.importers.line_log import Entry, behind, entries
from backscroll_sidecar.importers.looks import Look
from backscroll_sidecar.importers.message_parts import Numbering, draft, say, show
from backscroll_sidecar.importers.sources import Source

HEADER = re.compile(rf"{clocks.DATE}\s+{clocks.TIME}(?:\s+(?P<who>\S.*))?\s*$")
_WHO = re.compile(r"(?P<name>.*?)\s*(?:[（(](?P<number>\d{5,12})[)）]|<(?P<mail>[^<>\s]+)>)$")
_CHAT = re.compile(r"消息对象[:：]\s*(?P<chat>.*)")
_GROUP = re.compile(r"(消息分组[:：]|消息记录|={10,}).*")
_TITLE = re.compile(r"【[^【】]{1,12}】")
_MARK = re.compile(
    r"\[(图片|表情|动画表情|语音|视频|文件|闪照|红包|位置|分享|卡片)(?:[:：]([^\[\]]*))?\]"
)
_KINDS = {
    "图片": "image", "闪照": "image", "表情": "sticker", "动画表情": "sticker", "语音": "audio",
    "视频": "video", "文件": "file", "位置": "location",
}  # fmt: skip
_RECALLED = re.compile(r".*撤回了一条(?:成员)?消息.*")
_NAMED = re.compile(r"@([^\s@]{1,40})")
SYSTEM_NUMBERS = frozenset({"10000", "1000000", "80000000"})


class Qq:
    """Message records of QQ as text."""

    name: ClassVar[str] = "qq"
    label: ClassVar[str] = "a QQ text export"

    def fits(self, look: Look) -> bool:
        if look.kind != "text":
            return False
        if any(_CHAT.match(line) or line.startswith("消息记录") for line in look.lines[:10]):
            return True
        return any(
            (one := HEADER.match(line)) and one["who"] and _WHO.match(one["who"])
            for line in look.lines[:20]
        )

    def read(self, source: Source, options: Options) -> Iterator[Item]:
        return read_blocks(source, options, "")


def read_blocks(source: Source, options: Options, channel: str) -> Iterator[Item]:
    """Entries of a line with time and name, and what was said below it."""
    options.note(f"times say no zone: read in {options.times.zone_name()}")
    order = "ymd" if options.times.order == "auto" else options.times.order
    numbering = Numbering()
    for one in entries(source, HEADER, _CHAT, _GROUP):
        if isinstance(one, Bad):
            yield one
        elif "chat" in one.match.groupdict():
            channel = behind(one.line, one.match.start("chat")).strip()
            numbering = Numbering()
        elif "hour" in one.match.groupdict():
            yield from guarded(_items(one, channel, order, options, numbering), one.place)


def _items(
    entry: Entry, channel: str, order: str, options: Options, numbering: Numbering
) -> Iterator[Item]:
    try:
        when = clocks.moment(clocks.numbers(entry.match), order, clocks.hours(entry.match))
    except ValueError:
        raise BadRecord(f"no such day or time: {entry.line.strip()[:40]}") from None
    who = (entry.match["who"] or "").strip()
    found = _WHO.match(who)
    name = found["name"] if found else who.strip("'\"")
    number = (found["number"] or found["mail"]) if found else ""
    text = "\n".join(entry.rest).strip()
    name = _TITLE.sub("", name).strip() or number
    author = number or name
    if not author:
        raise BadRecord("no name")
    if number in SYSTEM_NUMBERS or name in {"系统消息", "系统"}:
        yield Skipped(entry.place, "recalled" if _RECALLED.fullmatch(text) else "notice of the app")
        return
    if _RECALLED.fullmatch(text):
        yield Skipped(entry.place, "recalled")
        return
    message = draft(
        numbering.of(when.isoformat(), author, text), channel, author, name,
        sent_at_ms=options.times.wall(when),
    )  # fmt: skip
    write_marked(message, text)
    if not message.parts:
        yield Skipped(entry.place, "without content")
        return
    for one in _NAMED.findall(text):
        message.mentions.add(name=one)
    yield Read(entry.place, message)


def write_marked(message: pb.Message, text: str) -> None:
    """A text in which pictures and the like stand as ``[图片]``: parts in their order."""
    at = 0
    for found in _MARK.finditer(text):
        say(message, text[at : found.start()].strip())
        word, more = found.groups()
        show(message, _KINDS.get(word, "card"), alt=more or "")
        at = found.end()
    say(message, text[at:].strip())
