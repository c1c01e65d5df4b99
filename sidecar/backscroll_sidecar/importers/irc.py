"""Logs of IRC clients: irssi, weechat, HexChat, ZNC and what looks like them."""

import re
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from pathlib import PurePath
from typing import ClassVar

from backscroll_sidecar.importers.items import (
    Bad,
    Item,
    NotUnderstood,
    Options,
    Place,
    Read,
    Skipped,
    items_of,
)
from backscroll_sidecar.importers.line_log import decoded
from backscroll_sidecar.importers.looks import Look
from backscroll_sidecar.importers.message_parts import Numbering, draft, say
from backscroll_sidecar.importers.sources import STANDARD_INPUT, Source

_CLOCK = r"(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,]\d+)?)?(?: ?(?P<half>[AaPp])\.?[Mm]\.?)?"
_DAY = r"(?P<day>\d{4}-\d{2}-\d{2})"
_ZONE = r"(?:Z|[+-]\d{2}:?\d{2})?"
STAMP = re.compile(rf"\[?(?:{_DAY}[T ])?{_CLOCK}(?P<zone>{_ZONE})\]?[\t ]+(?P<rest>.*)")
HEXCHAT = re.compile(rf"(?P<md>[A-Z][a-z]{{2}} [ \d]\d) {_CLOCK}[\t ]+(?P<rest>.*)")
OPENED = re.compile(
    r"(?:--- (?:Log opened|Day changed|Log closed)|\*\*\*\* (?:BEGIN|ENDING) LOGGING AT|Session (?:Start|Close|Time):)"
    r"\s+(?P<when>.*)"
)
_SAID = re.compile(r"<[@+%&~! ]?(?P<nick>[^>\s]{1,64})>[\t ]?(?P<text>.*)")
_WEECHAT = re.compile(r"[@+%&~ ]?(?P<nick>[^\t\s]{1,64})\t(?P<text>.*)")
_ACTION = re.compile(r"\*\s+[@+%&~]?(?P<nick>[^\s]{1,64})\s(?P<text>.*)")
_OF_CLIENT = re.compile(
    r"\*\s+(?:Now talking (?:on|in) [#&]|Topic for [#&]|\S+ (?:\(\S+@\S+\) )?has (?:joined|quit|left)\b)"
)
"""What HexChat says itself, behind the same mark as an action."""
_NOT_NICKS = frozenset({"-->", "<--", "--", "=!=", "", "*", "***", "-!-", "==="})
_DATES = ("%a %b %d %H:%M:%S %Y", "%a %b %d %Y", "%Y-%m-%d", "%a, %d %b %Y %H:%M:%S", "%d %b %Y")
_IN_NAME = re.compile(r"(?<!\d)(\d{4})[-_.]?(\d{2})[-_.]?(\d{2})(?!\d)")
_CHANNEL = re.compile(r"[#&][^\s/]+?(?=\.(?:log|weechatlog|txt|\d)|_\d{8}|$)")


class Irc:
    """A log of an IRC client."""

    name: ClassVar[str] = "irc"
    label: ClassVar[str] = "an IRC log"

    def fits(self, look: Look) -> bool:
        if look.kind != "text":
            return False
        some = look.lines[:20]
        if any(OPENED.match(line) for line in some):
            return True
        stamped = [
            one["rest"] for line in some if (one := STAMP.match(line) or HEXCHAT.match(line))
        ]
        spoken = [rest for rest in stamped if _spoken(rest) or _is_notice(rest)]
        return bool(spoken) and len(spoken) * 2 >= len(some)

    def read(self, source: Source, options: Options) -> Iterator[Item]:
        log = IrcLog(source, options)
        yield from items_of(source.lines(), log.items)


class IrcLog:
    """One log, in order: the day comes from its own lines, its name, or the user."""

    def __init__(self, source: Source, options: Options) -> None:
        self._source = source
        self._options = options
        self._day = options.times.first_day or _day_in(source.name)
        self._last = time()
        self._numbering = Numbering()
        found = _CHANNEL.search(PurePath(source.name).name)
        self._channel = found[0] if found and source.name != STANDARD_INPUT else ""
        self._named_year = 0

    def items(self, place: Place, raw: bytes) -> Iterator[Item]:
        line = decoded(raw)
        if opened := OPENED.match(line):
            self._day = _parsed(opened["when"]) or self._day
            self._last = time()
            yield Skipped(place, "notice of the client")
            return
        match = STAMP.match(line) or HEXCHAT.match(line)
        if match is None:
            yield Bad(place, "begins with no time")
            return
        said = _spoken(match["rest"])
        if said is None:
            yield Skipped(place, "notice of the client")
            return
        nick, text = said
        when = self._when(match)
        message = draft(
            self._numbering.of(when.isoformat(), nick, text), self._channel, nick, nick,
            sent_at_ms=self._options.times.wall(when),
        )  # fmt: skip
        say(message, text)
        yield Read(place, message) if text else Skipped(place, "without content")

    def _when(self, match: re.Match[str]) -> datetime:
        groups = match.groupdict()
        at = time(_hour(groups), int(groups["minute"]), int(groups["second"] or 0))
        if groups.get("day"):
            when = datetime.fromisoformat(
                f"{groups['day']}T{at.isoformat()}{groups.get('zone') or ''}"
            )
            self._day = when.date()
            if when.tzinfo is None:
                self._note_zone()
            return when
        self._note_zone()
        if groups.get("md") and self._day is not None:
            month_day = datetime.strptime(f"{groups['md']} {self._day.year}", "%b %d %Y").date()  # noqa: DTZ007
            self._day = (
                month_day if month_day >= self._day else month_day.replace(year=self._day.year + 1)
            )
            return datetime.combine(self._day, at)
        if self._day is None:
            raise NotUnderstood(
                f"{self._source.name} is {Irc.label} that tells hours but no day: give --date with the day it begins, "
                "or name the file after it, such as room.2025-07-11.log"
            )
        if at < self._last and (self._last.hour - at.hour) >= 12:
            self._day += timedelta(days=1)
        self._last = at
        return datetime.combine(self._day, at)

    def _note_zone(self) -> None:
        self._options.note(f"times say no zone: read in {self._options.times.zone_name()}")


def _hour(groups: dict[str, str | None]) -> int:
    """From 0 to 23 where the clock has such an hour; some write midnight as 24."""
    hour = int(groups["hour"] or 0)
    if not groups["half"]:
        return 0 if hour == 24 else hour
    if hour > 12:
        return hour
    return hour % 12 + (12 if groups["half"] in "Pp" else 0)


def _spoken(rest: str) -> tuple[str, str] | None:
    """Who said what; an action as it was typed. None for notices."""
    if found := _SAID.match(rest):
        return found["nick"], found["text"].strip()
    stripped = rest.lstrip()
    action = stripped.replace("*\t", "* ", 1)
    if (found := _ACTION.match(action)) and not _OF_CLIENT.match(action):
        return found["nick"], f"/me {found['text'].strip()}"
    found = _WEECHAT.match(rest)
    if found and found["nick"] not in _NOT_NICKS:
        return found["nick"], found["text"].strip()
    return None


def _is_notice(rest: str) -> bool:
    return rest.lstrip().partition(" ")[0].partition("\t")[0] in _NOT_NICKS


def _parsed(words: str) -> date | None:
    for shape in _DATES:
        try:
            return datetime.strptime(" ".join(words.split()), shape).date()  # noqa: DTZ007
        except ValueError:
            continue
    return None


def _day_in(name: str) -> date | None:
    """The day a file is named after."""
    found = _IN_NAME.search(PurePath(name).name)
    try:
        return date(*map(int, found.groups())) if found else None
    except ValueError:
        return None
