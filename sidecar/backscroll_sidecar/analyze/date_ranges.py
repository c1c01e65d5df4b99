"""Ranges of dates: "May 3 to 7", "between 28 May and June 3", 3月5日到7日, 2023年到2024年. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from backscroll_sidecar.analyze.date_calendar import ONE_DAY, Asked, Span, Spans, month_of
from backscroll_sidecar.analyze.date_rules import RULES
from backscroll_sidecar.analyze.date_words import (
    MONTH,
    NOT_COUNTED,
    NOT_NUMBERED_ZH,
    YEAR_NUMBER,
    number_of,
)

_FLAGS = re.ASCII | re.IGNORECASE
_UP_TO = re.compile(
    r"\s*(?:[-–—~～到至]|\b(?:to|till|until|through)\b|(?P<also>\band\b|[和与與跟]))\s*(?:the )?",
    _FLAGS,
)
_BETWEEN, _BETWEEN_ZH = re.compile(r"\bbetween(?: the)? $", re.IGNORECASE), re.compile("之?[间間]")
_DAY = re.compile(
    r"(?P<day>\d{1,2}|[一二三四五六七八九十]{1,3}(?=[日号號]))"
    rf"(?:(?:st|nd|rd|th)\b|[日号號]{NOT_NUMBERED_ZH}|{NOT_COUNTED}(?!\s*(?:[ap]\.?m\b|o'clock|[月年])))"
    rf"(?! (?:of )?{MONTH.replace('?P<name>', '?:')})(?:,? (?:of |in )?{YEAR_NUMBER}\b)?",
    _FLAGS,
)


def read_range(
    found: re.Match[str], readings: Iterator[Spans], asked: Asked
) -> Iterator[Spans] | None:
    """From the date found to the one joined to it; the year is that of either. None: no date is joined to it."""
    text = found.string
    mark = _UP_TO.match(text, found.end())
    if mark is None:
        return None
    is_between = _BETWEEN.search(text, 0, found.start()) is not None
    if day := _DAY.match(text, mark.end()):
        last, end = None, day.end()
    elif (joined := _date_at(text, mark.end(), asked)) is not None:
        last, end = joined
    else:
        return None
    if mark["also"] and not is_between and not _BETWEEN_ZH.match(text, end):
        return None
    if day:
        year = day["year"] and int(day["year"])
        return _up_to_day(
            (one for one in readings if year in {None, one[-1][0].year}), number_of(day["day"])
        )
    assert last is not None
    return _up_to(readings, last)


def _date_at(text: str, at: int, asked: Asked) -> tuple[list[Spans], int] | None:
    for rule in RULES:
        if (found := rule.pattern.match(text, at)) and (readings := rule.read(found, asked)):
            return list(readings), found.end()
    return None


def _up_to_day(firsts: Iterator[Spans], day: int) -> Iterator[Spans]:
    """To a day of the same month, or of the next one."""
    for spans in firsts:
        start, end = spans[-1]
        if end - start > ONE_DAY:
            continue
        month = month_of(start.year, start.month + (day < start.day))[0]
        yield _wider(spans, (start, month.replace(day=day) + ONE_DAY))


def _up_to(firsts: Iterator[Spans], lasts: list[Spans]) -> Iterator[Spans]:
    """From each date to the next end; of those with the same end the shortest."""
    ranges: dict[Span, Spans] = {}
    for spans in firsts:
        start = spans[-1][0]
        last = min((one[-1] for one in lasts if one[-1][1] > start), default=None)
        if last is not None:
            ranges[last] = _wider(spans, (start, last[1]))
    yield from ranges.values()


def _wider(spans: Spans, whole: Span) -> Spans:
    """The range inside the year and the month that it begins in, which reach as far."""
    return (*((start, max(end, whole[1])) for start, end in spans[:-1]), whole)
