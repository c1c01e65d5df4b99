"""The spans of time a question names: "in May 2023", "21/01/2024", "last Friday", 去年夏天, 八月底, 三天前. Pure.

A table of rules: each has the words it needs, a pattern, and what its matches mean. The first rule that finds a date
decides. A text without such words costs one look at its words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo

from backscroll_sidecar.analyze.date_calendar import ONE_DAY, Asked, Spans
from backscroll_sidecar.analyze.date_ranges import read_range
from backscroll_sidecar.analyze.date_rules import NUMERIC, RULES
from backscroll_sidecar.analyze.date_words import (
    NAMES,
    OPEN_AFTER,
    OPEN_BEFORE,
    OPENINGS,
    UNIT_BEFORE,
)

_MOST_EMPTY = 16
"""So many dates that lie ahead or do not exist are passed over."""


@dataclass(frozen=True, slots=True)
class DateStyle:
    """How dates are read: in which time zone, and whether 01/02/2024 is the first of February."""

    zone: tzinfo = UTC
    is_day_first: bool = False


PLAIN_DATES = DateStyle()


@dataclass(frozen=True, slots=True)
class DateSpan:
    """Messages of ``start_ms <= time < end_ms`` get `value`; the values of a whole date add up to 1."""

    start_ms: int
    end_ms: int
    value: float


def date_spans(
    text: str, asked_at_ms: int, first_ms: int, style: DateStyle = PLAIN_DATES
) -> tuple[DateSpan, ...]:
    """The spans the first date found in `text` names: year, month, day of it each count alike.

    `asked_at_ms` is what "last week" refers to; a month without a year is meant of every year since `first_ms`, at most
    `date_readings.MAX_YEARS`. Dates that do not exist or lie ahead are none, nor is any where one of these two times is
    outside the years 1 to 9999.
    """
    signs = _signs(text)
    if not signs:
        return ()
    asked: Asked | None = None  # not worked out for a text where nothing looks like a date
    taken, empty = bytearray(len(text)), 0
    for name in NAMES.finditer(text):
        _take(taken, name)
    for needs, pattern, read in RULES:
        if signs.isdisjoint(needs):
            continue
        for found in pattern.finditer(text):
            if taken.find(1, *found.span()) >= 0:
                continue
            spans: tuple[DateSpan, ...] = ()
            try:
                asked = asked or _asked(asked_at_ms, first_ms, style)
                readings = read(found, asked)
                if readings is None:
                    continue
                spans = tuple(_valued(_opened(found, readings, asked), asked.now, style.zone))
            except (ValueError, OverflowError):  # 31 February, the year 10000, asked in it
                pass
            if spans or empty == _MOST_EMPTY:
                return spans
            _take(taken, found)
            empty += 1
    return ()


def _take(taken: bytearray, found: re.Match[str]) -> None:
    """What is read stands for nothing else: 31.02.2024 is not in 2024."""
    start, end = found.span()
    taken[start:end] = b"\1" * (end - start)


def _opened(found: re.Match[str], readings: Iterator[Spans], asked: Asked) -> Iterator[Spans]:
    """The readings, or the range they begin, or the open span that a word beside the date makes of the latest."""
    whole = read_range(found, readings, asked)
    if whole is not None:
        return whole
    given, text, start = found.groupdict(), found.string, found.start()
    opening = OPENINGS.get((given.get("before") or given.get("which") or "").lower())
    if opening is None and (word := OPEN_BEFORE.search(text, max(0, start - 12), start)):
        opening = "since" if word["since"] else OPENINGS[word["open"].lower()]
    elif opening is None and (word := OPEN_AFTER.match(text, found.end())):
        opening = word.lastgroup
    if opening is None:
        return readings
    if opening != "since" and UNIT_BEFORE.search(text, max(0, start - 24), start):
        return iter(())
    return _open(opening, readings, asked)


def _open(opening: str, readings: Iterator[Spans], asked: Asked) -> Iterator[Spans]:
    begun = [spans[-1] for spans in readings if spans[-1][0] <= asked.now]
    if begun:
        (start, end), tomorrow = begun[-1], asked.day + ONE_DAY
        first, last = {
            "since": (start, tomorrow),
            "after": (end, tomorrow),
            "before": (asked.first, start),
        }[opening]
        if first < last:
            yield ((first, last),)


def _asked(asked_at_ms: int, first_ms: int, style: DateStyle) -> Asked:
    now, first = _local(asked_at_ms, style.zone), _local(first_ms, style.zone)
    return Asked(now, first, style.is_day_first)


def _valued(readings: Iterator[Spans], now: datetime, zone: tzinfo) -> Iterator[DateSpan]:
    for spans in readings:
        if spans[-1][0] <= now:
            for start, end in spans:
                yield DateSpan(_ms(start, zone), _ms(end, zone), 1.0 / len(spans))


def _local(at_ms: int, zone: tzinfo) -> datetime:
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=at_ms)
    return moment.astimezone(zone).replace(tzinfo=None)


def _ms(local: datetime, zone: tzinfo) -> int:
    since = local.replace(tzinfo=zone) - datetime(1970, 1, 1, tzinfo=UTC)
    return since // timedelta(milliseconds=1)


_HINTS = frozenset().union(*(rule.needs for rule in RULES))
_WORD, _DIGIT = re.compile(r"\w+", re.ASCII), re.compile("[0-9]")


def _signs(text: str) -> frozenset[str]:
    """What `text` has of what rules need. Chinese counts by the character, other words whole."""
    signs = _HINTS.intersection(_WORD.findall(text.lower()))
    if not text.isascii():
        signs |= _HINTS.intersection(text)
    if _DIGIT.search(text) is not None:
        signs |= {sign for sign, pattern in NUMERIC if pattern.search(text) is not None}
    return signs
