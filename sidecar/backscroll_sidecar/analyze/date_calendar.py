"""Days, weeks, months and years as spans of time on the asker's clock. Pure."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

from backscroll_sidecar.analyze.date_words import DAY_PARTS, WEEKDAYS

ONE_DAY, ONE_WEEK = timedelta(days=1), timedelta(days=7)
SHORT_WEEKDAYS = tuple(day[:3] for day in WEEKDAYS)


class Asked(NamedTuple):
    """When is asked, on the asker's clock; when the first message was; the order of day and month."""

    now: datetime
    first: datetime
    is_day_first: bool

    @property
    def day(self) -> datetime:
        return self.now.replace(hour=0, minute=0, second=0, microsecond=0)


Span = tuple[datetime, datetime]
Spans = tuple[Span, ...]
"""One reading of a date: spans each inside the one before, as a year, its May, and the seventh of that."""


def month_of(year: int, month: int, count: int = 1) -> Span:
    """`count` months from a month on, which may be 0 or 13."""
    first, end = year * 12 + month - 1, year * 12 + month - 1 + count
    return first_of(first), first_of(end)


def first_of(months: int) -> datetime:
    """The first day of the month so many after January of the year 0, on the asker's clock."""
    return datetime(months // 12, months % 12 + 1, 1)  # noqa: DTZ001


def year_of(year: int) -> Span:
    """A whole year."""
    return month_of(year, 1, 12)


def day_of(day: datetime, part: str | None) -> Spans:
    """A day, or a part of it inside the day; a night ends on the next one."""
    if not part:
        return ((day, day + ONE_DAY),)
    first, end = (timedelta(hours=hour) for hour in DAY_PARTS[part.lower()])
    return (day, max(day + ONE_DAY, day + end)), (day + first, day + end)


def steps_back(unit: str, count: int, asked: Asked) -> Span:
    """The day, week from Monday, month or year so many before that of the question."""
    day = asked.day
    if unit == "day":
        return day - count * ONE_DAY, day - count * ONE_DAY + ONE_DAY
    if unit == "week":
        monday = day - (day.weekday() + 7 * count) * ONE_DAY
        return monday, monday + ONE_WEEK
    if unit == "month":
        return month_of(day.year, day.month - count)
    if unit == "quarter":
        return month_of(day.year, (day.month - 1) // 3 * 3 + 1 - 3 * count, 3)
    return year_of(day.year - count)


def weekday_of(
    name: str, is_this_week: bool, asked: Asked, part: str | None, weeks: int = 0
) -> Spans:
    """A weekday, or the weekend, of this week, of one so many weeks back, else the last one before today."""
    is_weekend = name == "weekend"
    weekday = 5 if is_weekend else SHORT_WEEKDAYS.index(name[:3])
    today = asked.day
    monday = today - today.weekday() * ONE_DAY
    if is_this_week or weeks:
        day = monday - weeks * ONE_WEEK + weekday * ONE_DAY
    else:
        day = monday + weekday * ONE_DAY
        if is_weekend or day >= today:
            day -= ONE_WEEK
    return ((day, day + 2 * ONE_DAY),) if is_weekend else day_of(day, part)
