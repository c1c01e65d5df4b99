"""WhatsApp: the text of "Export chat", of Android and of iOS, in many languages; alone, in its zip, or in a folder."""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import ClassVar

from backscroll_sidecar.importers import clocks
from backscroll_sidecar.importers.items import Bad, BadRecord, Item, Options, Read, Skipped, guarded
from backscroll_sidecar.importers.line_log import Entry, behind, decoded, entries, plain
from backscroll_sidecar.importers.looks import Look
from backscroll_sidecar.importers.message_parts import Numbering, draft, kind_of, say, show
from backscroll_sidecar.importers.sources import Source
from backscroll_sidecar.importers.whatsapp_words import (
    ATTACHED,
    ATTACHED_BEHIND,
    DELETED,
    EDITED,
    is_notice,
    omitted,
)

_GAP = r"[,،，]?\s*(?:à|um|klo|at|às|a las|kl\.?|в)?\s*"
IOS = re.compile(rf"\[{clocks.DATE}{_GAP}{clocks.TIME}\]\s?(?P<text>.*)", re.DOTALL)
ANDROID = re.compile(rf"{clocks.DATE}{_GAP}{clocks.TIME}\s[-–—]\s(?P<text>.*)", re.DOTALL)
_PHONE = re.compile(r"[+\d][\d\s().\-]{5,}")
_NAMED = re.compile("@\u2068([^\u2069\n]{1,80})\u2069|@(\\d{7,15})\\b")
_FILE = re.compile(r"(_chat|WhatsApp .*)\.txt", re.IGNORECASE)
_OURS = "\u200e"
"""A mark of direction in front of what the app itself says."""


class WhatsApp:
    """An exported chat."""

    name: ClassVar[str] = "whatsapp"
    label: ClassVar[str] = "a WhatsApp export"

    def fits(self, look: Look) -> bool:
        if look.kind == "folder":
            return _inside(look.source) is not None
        if look.kind != "text":
            return False
        return any(IOS.match(plain(line)) or ANDROID.match(plain(line)) for line in look.lines[:5])

    def read(self, source: Source, options: Options) -> Iterator[Item]:
        source = _inside(source) or source
        order = _order(source, options)
        options.note(f"times say no zone: read in {options.times.zone_name()}")
        chat = WhatsAppChat(order, options)
        for one in entries(source, IOS, ANDROID):
            if isinstance(one, Bad):
                yield one
            else:
                yield from guarded(chat.items(one), one.place)


def _inside(source: Source) -> Source | None:
    """The text in a folder or archive that holds one chat; None where it holds none, or several."""
    texts = [one for one in source.members if PurePosixPath(one.inner).suffix.lower() == ".txt"]
    named = [one for one in texts if _FILE.fullmatch(PurePosixPath(one.inner).name)]
    return named[0] if len(named) == 1 else None


def _order(source: Source, options: Options) -> str:
    """The order of day and month in the whole file. In doubt the month is first with slashes and twelve hours, as in
    the United States, whose exports put no zeros in front: 3/4/26, 8:15 AM; elsewhere it is 03/04/2026, 8:15 am.
    """
    if options.times.order != "auto":
        return options.times.order
    slashes, twelve, dots, padded = False, False, False, True
    dates: list[clocks.Numbers] = []
    for line in source.lines():
        header = "" if isinstance(line, Bad) else plain(decoded(line[1][:120]))
        match = IOS.match(header) or ANDROID.match(header)
        if match is not None and clocks.is_day(clocks.numbers(match)):
            dates.append(clocks.numbers(match))
            slashes = slashes or "/" in match[0][: match.start("hour")]
            padded = padded and len(match["d1"]) == len(match["d2"]) == 2 and len(match["d3"]) == 4
            dots = dots or "." in match[0][: match.start("d3")]
            twelve = twelve or bool(match["after"] and match["after"].isascii())
            if max(dates[-1][:2]) > 12 or len(dates) > 1_000:
                break
    default = "mdy" if slashes and twelve and not padded else "dmy"
    order, is_certain = clocks.order_of(dates, default)
    if not (is_certain or dots):  # with dots nobody puts the month first
        words = "month before day" if order == "mdy" else "day before month"
        options.note(f"dates could be read in two ways: read as {words} (--date-order)")
    return order


class WhatsAppChat:
    """One chat, in order."""

    def __init__(self, order: str, options: Options) -> None:
        self._order = order
        self._options = options
        self._numbering = Numbering()

    def items(self, entry: Entry) -> Iterator[Item]:
        match = entry.match
        try:
            when = clocks.moment(clocks.numbers(match), self._order, clocks.hours(match))
        except ValueError:
            raise BadRecord(
                f"no such day or time: {match[0][: match.start('text')].strip()}"
            ) from None
        name, colon, _ = match["text"].partition(":")
        if not colon or len(name) > 120 or is_notice(name):
            yield Skipped(entry.place, "notice of the app")
            return
        first = behind(entry.line, match.start("text") + len(name) + 1).removeprefix(" ")
        name = name.strip().removeprefix("~").strip()
        text = "\n".join([first, *entry.rest]).rstrip()
        written = "-".join(filter(None, match.group("d1", "d2", "d3", "hour", "minute", "second")))
        yield self._said(entry, written, self._options.times.wall(when), name, text)

    def _said(self, entry: Entry, moment: str, sent_at_ms: int, name: str, text: str) -> Item:
        is_ours = text.startswith(_OURS)
        text = EDITED.sub("", text).rstrip()
        if DELETED.fullmatch(text.strip(f"{_OURS} .")):
            return Skipped(entry.place, "deleted")
        media, text = _media(text)
        if not (media or text):
            return Skipped(entry.place, "without content")
        if is_ours and not media:
            return Skipped(entry.place, "notice of the app")
        names = [one[1] or one[2] for one in _NAMED.finditer(text)]
        text = _NAMED.sub(lambda one: f"@{one[1] or one[2]}", text)
        number = self._numbering.of(moment, name, ("media\n" if media else "") + text)
        message = draft(number, "", name, name, sent_at_ms=sent_at_ms)
        if media:
            kind, file_name = media
            show(message, kind, file_name, file_name if kind == "file" else "")
        say(message, text)
        for one in names:
            message.mentions.add(name=one)
        return Read(entry.place, message)


def _media(text: str) -> tuple[tuple[str, str] | None, str]:
    """What hangs on a message, as its kind and file; and its caption."""
    first, _, rest = text.partition("\n")
    first = first.strip(_OURS + " ")
    for pattern in (ATTACHED, ATTACHED_BEHIND):
        if found := pattern.fullmatch(first):
            file_name = found["file"].strip(_OURS + " ")
            return (_kind(file_name), file_name), rest.strip()
    if kind := omitted(first):
        return (kind, ""), rest.strip()
    if found := ATTACHED.search(text):  # iOS puts the caption in front
        file_name = found["file"].strip(_OURS + " ")
        return (_kind(file_name), file_name), (text[: found.start()] + text[found.end() :]).strip()
    return None, text


def _kind(file_name: str) -> str:
    return (
        "sticker"
        if file_name.startswith("STK-") or "-STICKER-" in file_name
        else kind_of(file_name)
    )


def phone_digits(name: str) -> str:
    """A telephone number as mentions write it; empty for other names."""
    return re.sub(r"\D", "", name) if _PHONE.fullmatch(name) else ""
