"""Logs whose entries begin with a recognisable line and go on until the next one."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from backscroll_sidecar.importers.items import Bad, Place
from backscroll_sidecar.importers.sources import Source

MAX_ENTRY_CHARS = 1_000_000
MAX_BLANK_LINES = 1_000
"""Of blank lines inside a message no more are kept in a row."""
_INVISIBLE = dict.fromkeys(map(ord, "\ufeff\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067"))
_SPACES = dict.fromkeys(map(ord, "\u00a0\u202f\u2007\u2009"), " ")


@dataclass(slots=True)
class Entry:
    """One entry: where it begins, its first line and what that matched as `plain` text, and the lines behind it."""

    place: Place
    line: str
    match: re.Match[str]
    rest: list[str] = field(default_factory=list)
    size: int = 0


def decoded(raw: bytes) -> str:
    """A line as text; one that is no UTF-8 among others is read as Western."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("cp1252", "replace")


def plain(text: str) -> str:
    """Without marks of direction, and with the one kind of space: for headers only."""
    return text.translate(_INVISIBLE).translate(_SPACES)


def behind(line: str, count: int) -> str:
    """What stands behind the first `count` characters of a line, counted as `plain` leaves them."""
    for at, character in enumerate(line):
        if count == 0:
            return line[at:]
        count -= ord(character) not in _INVISIBLE
    return ""


def entries(
    source: Source, *begins: re.Pattern[str], keeps_blank: bool = True
) -> Iterator[Entry | Bad]:
    """All entries in order. What stands before the first is `Bad` unless the caller drops it.

    A header is matched against the `plain` line; the rest of an entry stays as it is.
    """
    current: Entry | None = None
    for line in _lines(source, keeps_blank):
        if isinstance(line, Bad):
            yield line
            continue
        place, text = line
        header = plain(text)
        match = next((found for one in begins if (found := one.match(header))), None)
        if match is not None:
            if current is not None:
                yield current
            current = Entry(place, text, match)
        elif current is None:
            if text.strip():
                yield Bad(place, f"no message begins so: {text.strip()[:60]!r}")
        elif current.size <= MAX_ENTRY_CHARS:
            current.rest.append(text)
            current.size += len(text)
    if current is not None:
        yield current


def _lines(source: Source, keeps_blank: bool) -> Iterator[tuple[Place, str] | Bad]:
    """Lines with their numbers, blank ones in between included where they belong to what is said."""
    last = 0
    for line in source.lines():
        if isinstance(line, Bad):
            yield line
            last = line.place.number
            continue
        place, raw = line
        if keeps_blank and last:
            for number in range(max(last + 1, place.number - MAX_BLANK_LINES), place.number):
                yield Place(number), ""
        last = place.number
        yield place, decoded(raw)
