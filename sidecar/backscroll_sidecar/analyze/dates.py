"""The spans of time a question names: "in May 2023", "7 June", "last week", 去年, 2023年5月7日, 三天前 (UTC). Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

_MONTH_STARTS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = {start: number for number, start in enumerate(_MONTH_STARTS, 1)}
_MONTH_NAME = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>(?:19|20)\d\d)"
_ABSOLUTE = (
    re.compile(rf"\b{_YEAR}[-/.](?P<month>\d{{1,2}})(?:[-/.]{_DAY})?(?!\d)"),
    re.compile(rf"\b{_DAY}(?: of)? (?P<name>{_MONTH_NAME})\b(?:,? {_YEAR}\b)?", re.IGNORECASE),
    re.compile(rf"\b(?P<name>{_MONTH_NAME})\.? {_DAY}\b(?!\d)(?:,? {_YEAR}\b)?", re.IGNORECASE),
    re.compile(rf"\b(?P<name>{_MONTH_NAME})\b(?:,? {_YEAR}\b)", re.IGNORECASE),
    re.compile(
        rf"(?:{_YEAR}\s*年\s*)?(?P<month>1[0-2]|0?[1-9])\s*月(?:\s*(?P<day>\d{{1,2}})\s*[日号號])?"
    ),
    re.compile(
        rf"(?:{_YEAR}\s*年\s*)?(?P<numeral>十[一二]|[一二三四五六七八九十])月(?![亮光球色])(?:份)?"
    ),
    re.compile(
        r"\b(?P<name>January|February|April|June|July|August|September|October|November|December)\b"
    ),
    re.compile(r"\b(?:in|of|since|during|until|by|last|this|early|late|mid) (?P<name>March|May)\b"),
    re.compile(rf"(?<!\d){_YEAR}(?!\d)"),
)
_WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_NUMERALS = {numeral: n for n, numeral in enumerate("一二三四五六七八九十", 1)} | {
    **{word: n for n, word in enumerate(_WORDS, 1)},
    "十一": 11,
    "十二": 12,
    "两": 2,
    "兩": 2,
    "a": 1,
    "an": 1,
}

_AGO = re.compile(
    r"\b(?P<count>\d{1,3}|an?|one|two|three|four|five|six|seven|eight|nine|ten) (?P<unit>day|week|month|year)s? ago\b"
    r"|(?P<count_zh>\d{1,3}|十[一二]|[一二两兩三四五六七八九十])\s*个?個?(?P<unit_zh>天|日|周|週|星期|礼拜|月|年)(?:之|以)?前",
    re.IGNORECASE,
)  # fmt: skip
_UNITS = {
    "天": "day",
    "日": "day",
    "周": "week",
    "週": "week",
    "星期": "week",
    "礼拜": "week",
    "月": "month",
    "年": "year",
}
_RELATIVE = {
    "day before yesterday": ("day", 2), "前天": ("day", 2),
    "yesterday": ("day", 1), "昨天": ("day", 1), "昨晚": ("day", 1), "last night": ("day", 1),
    "last week": ("week", 1), "上周": ("week", 1), "上週": ("week", 1), "上星期": ("week", 1), "上个星期": ("week", 1),
    "上礼拜": ("week", 1), "上个礼拜": ("week", 1),
    "last month": ("month", 1), "上个月": ("month", 1), "上個月": ("month", 1), "上月": ("month", 1),
    "last year": ("year", 1), "去年": ("year", 1), "前年": ("year", 2),
}  # fmt: skip
_RELATIVE_WORD = re.compile("|".join(map(re.escape, _RELATIVE)), re.IGNORECASE)
_HINT_TEXT = """
jan january feb february mar march apr april may jun june jul july aug august sep sept september oct october nov
november dec december ago yesterday last
"""
_HINT_WORDS = frozenset(_HINT_TEXT.split())
_DIGIT, _WORD = re.compile(r"[0-9]"), re.compile(r"\w+", re.ASCII)
_HINT = re.compile(
    r"\d|月|年|天|日|周|週|星期|礼拜|昨|\b(?:ago|yesterday|last)\b|" + rf"\b{_MONTH_NAME}\b",
    re.IGNORECASE,
)
_ABSOLUTE_HINT = re.compile(rf"(?:19|20)\d\d|月|{_MONTH_NAME}", re.IGNORECASE)
"""Needed by every pattern of `_ABSOLUTE`: most digits in a chat are no date."""
MAX_YEARS = 30


@dataclass(frozen=True, slots=True)
class DateSpan:
    """Messages of ``start_ms <= time < end_ms`` get `value`; the values of a whole date add up to 1."""

    start_ms: int
    end_ms: int
    value: float


def date_spans(text: str, asked_at_ms: int, first_ms: int) -> tuple[DateSpan, ...]:
    """The spans `text` names, with the parts of the first date found: year, month, day of it each count alike.

    `asked_at_ms` is what "last week" refers to; a month without a year is meant of every year since `first_ms`, at most
    `MAX_YEARS`. Dates that do not exist are none.
    """
    if not _may_name_time(text):
        return ()
    asked = _day(asked_at_ms)
    relative = _relative(text, asked)
    if relative is not None:
        return (_span(*relative, 1.0),)
    if _ABSOLUTE_HINT.search(text) is None:
        return ()
    for pattern in _ABSOLUTE:
        found = pattern.search(text)
        if found is not None:
            try:
                return tuple(_parts(found, _day(first_ms).year, asked.year))
            except (ValueError, OverflowError):
                return ()
    return ()


def _may_name_time(text: str) -> bool:
    """Whether `_HINT` matches. ASCII texts are looked at by words, three times as fast."""
    if not text.isascii():
        return _HINT.search(text) is not None
    if _DIGIT.search(text) is not None:
        return True
    return not _HINT_WORDS.isdisjoint(_WORD.findall(text.lower()))


def _parts(found: re.Match[str], first_year: int, last_year: int) -> Iterator[DateSpan]:
    given = found.groupdict()
    year = int(given["year"]) if given.get("year") else None
    month = _month(given)
    day = int(given["day"]) if given.get("day") else None
    value = 1.0 / sum(part is not None for part in (year, month, day))
    if year is not None:
        yield _span(date(year, 1, 1), date(year + 1, 1, 1), value)
    if month is None:
        return
    first = max(first_year, last_year - MAX_YEARS)
    for each in [year] if year is not None else range(first, last_year + 1):
        yield _span(date(each, month, 1), _next_month(each, month), value)
        if day is not None and (month, day) != (2, 29):
            start = date(each, month, day)
            yield _span(start, start + timedelta(days=1), value)


def _month(given: dict[str, str | None]) -> int | None:
    if name := given.get("name"):
        return _MONTH[name[:3].lower()]
    if numeral := given.get("numeral"):
        return _NUMERALS[numeral]
    return int(number) if (number := given.get("month")) else None


def _relative(text: str, asked: date) -> tuple[date, date] | None:
    """First day and end of "three days ago", "last month"; None when the text says nothing of the kind."""
    ago = _AGO.search(text)
    if ago is not None:
        count = ago["count"] or ago["count_zh"]
        number = int(count) if count.isdigit() else _NUMERALS[count.lower()]
        return _back(asked, (ago["unit"] or _UNITS[ago["unit_zh"]]).lower(), number)
    word = _RELATIVE_WORD.search(text)
    return _back(asked, *_RELATIVE[word.group().lower()]) if word else None


def _back(asked: date, unit: str, count: int) -> tuple[date, date] | None:
    try:
        if unit == "day":
            start = asked - timedelta(days=count)
            return start, start + timedelta(days=1)
        if unit == "week":
            start = asked - timedelta(days=asked.weekday() + 7 * count)
            return start, start + timedelta(days=7)
        if unit == "year":
            return date(asked.year - count, 1, 1), date(asked.year - count + 1, 1, 1)
        months = asked.year * 12 + asked.month - 1 - count
        return date(months // 12, months % 12 + 1, 1), _next_month(months // 12, months % 12 + 1)
    except (ValueError, OverflowError):
        return None


def _next_month(year: int, month: int) -> date:
    return date(year + month // 12, month % 12 + 1, 1)


def _day(time_ms: int) -> date:
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=time_ms)).date()


def _span(start: date, end: date, value: float) -> DateSpan:
    epoch = date(1970, 1, 1)
    return DateSpan((start - epoch).days * 86_400_000, (end - epoch).days * 86_400_000, value)
