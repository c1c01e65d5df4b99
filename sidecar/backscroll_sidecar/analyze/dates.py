"""The spans of time a question names: "in May 2023", "21/01/2024", "last Friday", 去年夏天, 八月底, 三天前. Pure.

A table of rules: each has the words it needs, a pattern, and what its matches mean. The first rule that finds a date
decides. A text without such words costs one look at its words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import NamedTuple

from backscroll_sidecar.analyze.date_words import (
    ANY_DAY,
    BEFORE_LAST_ZH,
    BEFORE_WEEKEND,
    COUNT,
    COUNT_ZH,
    DAY_EN,
    DAY_PART_EN,
    DAY_PART_ZH,
    DAY_PARTS,
    DAY_ZH,
    DAYS_OF_PART,
    DIGITS,
    EDGE_EN,
    EDGE_ZH,
    HALVES,
    HOLIDAYS,
    LOWER_WORDS,
    MONTH,
    MONTHS,
    MONTHS_OF_PART,
    NAMES,
    NO_DATE_BEFORE,
    OPEN_AFTER,
    OPEN_BEFORE,
    OPENINGS,
    PART_EN,
    PART_OF_YEAR_EN,
    PART_ZH,
    PARTS,
    SEASON,
    SEASONS,
    SUBJECT_ZH,
    SURE_BEFORE,
    UNIT_BEFORE,
    UNIT_ZH,
    UNITS,
    WEEK_EN,
    WEEK_ZH,
    WEEKDAY,
    WEEKDAYS,
    WEEKS,
    YEAR_EN,
    YEAR_NUMBER,
    YEAR_WORDS,
    YEAR_ZH,
    ZH_NUMBER,
    counts_of,
    number_of,
)

MAX_YEARS = 30
_MOST_EMPTY = 16
"""So many dates that lie ahead or do not exist are passed over."""
_DAY, _WEEK = timedelta(days=1), timedelta(days=7)


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


class _Asked(NamedTuple):
    """When is asked, on the asker's clock; when the first message was; the order of day and month."""

    now: datetime
    first: datetime
    is_day_first: bool

    @property
    def day(self) -> datetime:
        return self.now.replace(hour=0, minute=0, second=0, microsecond=0)


_Span = tuple[datetime, datetime]
_Spans = tuple[_Span, ...]
"""One reading of a date: spans each inside the one before, as a year, its May, and the seventh of that."""
_Read = Callable[[re.Match[str], _Asked], Iterator[_Spans] | None]
"""All readings of a match; none for a date that does not exist. None: it is no date, others may follow."""


class _Rule(NamedTuple):
    """`needs`: one of these must be in the text: a word in lower case, a Chinese character, or `_NUMERIC`."""

    needs: frozenset[str]
    pattern: re.Pattern[str]
    read: _Read


def date_spans(
    text: str, asked_at_ms: int, first_ms: int, style: DateStyle = PLAIN_DATES
) -> tuple[DateSpan, ...]:
    """The spans the first date found in `text` names: year, month, day of it each count alike.

    `asked_at_ms` is what "last week" refers to; a month without a year is meant of every year since `first_ms`, at most
    `MAX_YEARS`. Dates that do not exist or lie ahead are none.
    """
    signs = _signs(text)
    if not signs:
        return ()
    asked: _Asked | None = None  # not worked out for a text where nothing looks like a date
    taken, empty = bytearray(len(text)), 0
    for name in NAMES.finditer(text):
        _take(taken, name)
    for needs, pattern, read in _RULES:
        if signs.isdisjoint(needs):
            continue
        for found in pattern.finditer(text):
            if taken.find(1, *found.span()) >= 0:
                continue
            asked = asked or _asked(asked_at_ms, first_ms, style)
            spans: tuple[DateSpan, ...] = ()
            try:
                readings = read(found, asked)
                if readings is None:
                    continue
                spans = tuple(_valued(_opened(found, readings, asked), asked.now, style.zone))
            except (ValueError, OverflowError):  # 31 February, the year 10000
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


def _opened(found: re.Match[str], readings: Iterator[_Spans], asked: _Asked) -> Iterator[_Spans]:
    """The readings, or the open span that a word before or behind the date makes of the latest."""
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


def _open(opening: str, readings: Iterator[_Spans], asked: _Asked) -> Iterator[_Spans]:
    begun = [spans[-1] for spans in readings if spans[-1][0] <= asked.now]
    if begun:
        (start, end), tomorrow = begun[-1], asked.day + _DAY
        first, last = {
            "since": (start, tomorrow),
            "after": (end, tomorrow),
            "before": (asked.first, start),
        }[opening]
        if first < last:
            yield ((first, last),)


def _asked(asked_at_ms: int, first_ms: int, style: DateStyle) -> _Asked:
    now, first = _local(asked_at_ms, style.zone), _local(first_ms, style.zone)
    return _Asked(now, first, style.is_day_first)


def _valued(readings: Iterator[_Spans], now: datetime, zone: tzinfo) -> Iterator[DateSpan]:
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


# --- spans -----------------------------------------------------------------------------------------


def _month_of(year: int, month: int, count: int = 1) -> _Span:
    """`count` months from a month on, which may be 0 or 13."""
    first, end = year * 12 + month - 1, year * 12 + month - 1 + count
    return _first_of(first), _first_of(end)


def _first_of(months: int) -> datetime:
    """The first day of the month so many after January of the year 0, on the asker's clock."""
    return datetime(months // 12, months % 12 + 1, 1)  # noqa: DTZ001


def _year_of(year: int) -> _Span:
    return _month_of(year, 1, 12)


def _day_of(day: datetime, part: str | None) -> _Spans:
    """A day, or a part of it inside the day; a night ends on the next one."""
    if not part:
        return ((day, day + _DAY),)
    first, end = (timedelta(hours=hour) for hour in DAY_PARTS[part.lower()])
    return (day, max(day + _DAY, day + end)), (day + first, day + end)


def _part_of(month: _Span, given: dict[str, str | None]) -> _Spans:
    """What is meant of a month: its beginning, its last two weeks, a day of it; nothing where it is all."""
    start, end = month
    if part := given.get("part"):
        first, last = DAYS_OF_PART[PARTS[part.lower()]]
        return ((start.replace(day=first), start.replace(day=last) if last else end),)
    if edge := given.get("edge"):
        count = number_of((given["edge_count"] or "one").lower())
        unit = (given["edge_unit"] or "").lower()
        unit, is_last = UNITS.get(unit, unit), edge.lower() in {"last", "最后", "最後"}
        if unit == "month":
            months = end.year * 12 + end.month - 1 - count if is_last else start.month - 1 + count
            at = _first_of(months if is_last else start.year * 12 + months)
        else:
            length = count * (_WEEK if unit == "week" else _DAY)
            at = end - length if is_last else start + length
        return ((max(start, at), end),) if is_last else ((start, min(end, at)),)
    if day := given.get("day"):
        return _day_of(start.replace(day=number_of(day)), given.get("day_part"))
    return ()


def _named_year(given: dict[str, str | None], asked: _Asked) -> int | None:
    if year := given.get("year"):
        number = int("".join(str(DIGITS.get(digit, digit)) for digit in year))
        if len(year) == 2:
            number += 2000 if number <= asked.now.year % 100 else 1900
        return number
    if word := given.get("year_word"):
        return asked.now.year + YEAR_WORDS[word.lower()]
    return None


def _years(asked: _Asked) -> range:
    """Every year that is meant where none is named."""
    return range(max(asked.first.year, asked.now.year - MAX_YEARS), asked.now.year + 1)


def _in_year(month: int, given: dict[str, str | None], asked: _Asked) -> Iterator[_Spans]:
    """A month, or what is meant of it, in the year that is named or else in every one."""
    year = _named_year(given, asked)
    if not 1 <= month <= 12:
        raise ValueError(f"no month {month}")
    if year is not None:
        whole = _month_of(year, month)
        yield (_year_of(year), whole, *_part_of(whole, given))
        return
    for each in _years(asked):
        whole = _month_of(each, month)
        try:
            spans = (whole, *_part_of(whole, given))
        except ValueError:  # 29 February
            continue
        yield spans


def _steps(unit: str, count: int, asked: _Asked) -> _Span:
    """The day, week from Monday, month or year so many before that of the question."""
    day = asked.day
    if unit == "day":
        return day - count * _DAY, day - count * _DAY + _DAY
    if unit == "week":
        monday = day - (day.weekday() + 7 * count) * _DAY
        return monday, monday + _WEEK
    if unit == "month":
        return _month_of(day.year, day.month - count)
    if unit == "quarter":
        return _month_of(day.year, (day.month - 1) // 3 * 3 + 1 - 3 * count, 3)
    return _year_of(day.year - count)


# --- what matches mean -----------------------------------------------------------------------------


def _read_day_word(found: re.Match[str], asked: _Asked) -> Iterator[_Spans]:
    """Yesterday, 前天, last night, this morning."""
    word, part = found["word"].lower(), found["day_part"]
    back = 0
    if "before" in word or word in {"前天", "前"}:
        back = 2
    elif word == "大前天":
        back = 3
    elif word.startswith(("yesterday", "last", "昨")):
        back = 1
    yield _day_of(asked.day - back * _DAY, "night" if word.endswith("before last") else part)


def _counted(found: re.Match[str]) -> tuple[str, int, int] | None:
    """The unit, and how many are meant at least and at most."""
    unit, count = found["unit"].lower(), (found["count"] or "one").lower()
    unit = UNITS.get(unit, unit)
    if count.startswith(("half", "半")):
        if unit not in HALVES:
            return None
        unit, many, slack = HALVES[unit]
        return unit, many - slack, many + slack
    counts = counts_of(count)
    return (unit, *counts) if counts else None


def _read_ago(found: re.Match[str], asked: _Asked) -> Iterator[_Spans] | None:
    """Three days ago, 两个星期前, a couple of weeks ago, 半年前; 前两周 are both weeks."""
    if (counted := _counted(found)) is None:
        return None
    unit, least, most = counted
    if found.groupdict().get("former") and least == most:
        least = 1
    return iter((((_steps(unit, most, asked)[0], _steps(unit, least, asked)[1]),),))


def _read_rolling(found: re.Match[str], asked: _Asked) -> Iterator[_Spans] | None:
    """The last two weeks, 最近三天, 最近半年: up to now."""
    if (counted := _counted(found)) is None:
        return None
    unit, least, number = counted
    if (found["count"] or "").lower().startswith(("half", "半")):
        number = (least + number) // 2
    day, end = asked.day, asked.day + _DAY
    if unit in {"day", "week"}:
        return iter((((day - number * (_DAY if unit == "day" else _WEEK), end),),))
    months = day.year * 12 + day.month - 1 - number * (12 if unit == "year" else 1)
    return iter((((_first_of(months).replace(day=min(day.day, 28)), end),),))


def _is_numbered_thing(found: re.Match[str]) -> bool:
    """Whether a version, a room or the like has this number."""
    start = found.start()
    return NO_DATE_BEFORE.search(found.string, max(0, start - 16), start) is not None


def _read_year_first(found: re.Match[str], asked: _Asked) -> Iterator[_Spans]:
    """2024-01-21, 2024/5."""
    return _in_year(int(found["month"]), found.groupdict(), asked)


def _read_year_last(found: re.Match[str], asked: _Asked) -> Iterator[_Spans] | None:
    """21.01.2024, 01/21/2024: with points the day comes first, else as the style says; or as only one order can be."""
    if _is_numbered_thing(found):
        return None
    given = found.groupdict()
    day, month = int(found["one"]), int(found["other"])
    is_day_first = found["mark"] == "." or day > 12 or (asked.is_day_first and month <= 12)
    if not is_day_first:
        day, month = month, day
    return _in_year(month, {**given, "day": str(day)}, asked)


def _read_day_and_month(found: re.Match[str], asked: _Asked) -> Iterator[_Spans] | None:
    """On 21.1."""
    if found["month"].startswith("0") and found.end() == len(found.string):
        return None  # "are you on 22.04."
    return _in_year(int(found["month"]), found.groupdict(), asked)


def _read_day_of_month(found: re.Match[str], asked: _Asked) -> Iterator[_Spans] | None:
    """21st of January, Jan 21, May 7th, 2023."""
    given = found.groupdict()
    name, before = found["name"], (given.get("before") or "").lower()
    is_sure = bool(found["ordinal"] or found["year"] or found["year_word"] or before)
    if not is_sure and (name in LOWER_WORDS or (name == "May" and not found.start())):
        return None
    return _in_year(MONTHS.index(name[:3].lower()) + 1, given, asked)


def _read_month(found: re.Match[str], asked: _Asked) -> Iterator[_Spans] | None:
    """In August, end of March, last May, June 2023, June last year."""
    given = found.groupdict()
    name, before = found["name"], (found["before"] or "").lower()
    has_part = bool(found["part"] or found["edge"])
    is_sure = bool(found["year"] or found["year_word"]) or has_part or before in SURE_BEFORE
    if not is_sure and (not before or name in LOWER_WORDS):
        return None
    month = MONTHS.index(name[:3].lower()) + 1
    if before in {"last", "this", "next"} and _named_year(given, asked) is None:
        now = asked.now
        if before == "next":
            return iter(())
        is_ahead = before == "last" and month >= now.month
        return iter(((_month_of(now.year - is_ahead, month),),))
    return _in_year(month, given, asked)


def _read_bare_month(found: re.Match[str], asked: _Asked) -> Iterator[_Spans]:
    """June, in capitals."""
    return _in_year(MONTHS.index(found["name"][:3].lower()) + 1, {}, asked)


def _read_month_zh(found: re.Match[str], asked: _Asked) -> Iterator[_Spans]:
    """1月21日, 二〇二三年五月, 八月底, 八月的最后两周."""
    return _in_year(number_of(found["month"]), found.groupdict(), asked)


def _read_months(found: re.Match[str], asked: _Asked) -> Iterator[_Spans] | None:
    """From March to May 2023, 三月到五月, 七八月: all of them; in English the year is that of the last one."""
    given, names = found.groupdict(), (found["first"], found["name"])
    is_english = names[0].isascii() and names[0].isalpha()
    is_sure = bool(given["from"] or given["year"]) or LOWER_WORDS.isdisjoint(names)
    if not is_sure:
        return None
    first, last = (
        MONTHS.index(name[:3].lower()) + 1 if is_english else number_of(name) for name in names
    )
    if not (1 <= first <= 12 and 1 <= last <= 12):
        return None
    count = (last - first) % 12 + 1
    start = last - count + 1 if is_english else first
    year = _named_year(given, asked)
    return iter([(_month_of(each, start, count),) for each in ([year] if year else _years(asked))])


def _read_of_month(found: re.Match[str], asked: _Asked) -> Iterator[_Spans]:
    """月底, on the 15th, 15号: the last one that has begun."""
    given = found.groupdict()
    for back in range(3):
        whole = _steps("month", back, asked)
        try:
            within = _part_of(whole, given)
        except ValueError:  # 31 November
            continue
        if within[0][0] <= asked.now:
            yield (whole, *within)
            return


def _read_season(found: re.Match[str], asked: _Asked) -> Iterator[_Spans] | None:
    """Last summer, in the winter of 2023, 去年夏天, 暑假."""
    given, before = found.groupdict(), (found.groupdict().get("before") or "").lower()
    year = _named_year(given, asked)
    season = found["season"]
    if season == "Spring" and (before == "in" or not before) and year is None:
        return None  # a framework
    is_told = before or given.get("count") or given.get("before_last")
    if not is_told and year is None and season.isascii():
        return None
    month, count = (7, 2) if season == "暑假" else (SEASONS[season.lower()], 3)
    return _recurring(lambda each: _month_of(each, month, count), before, year, asked, given)


def _read_holiday(found: re.Match[str], asked: _Asked) -> Iterator[_Spans]:
    """Last Christmas, 去年国庆."""
    given = found.groupdict()
    month, day, days = HOLIDAYS[found["holiday"].lower()]

    def span_of(year: int) -> _Span:
        start = datetime(year, month, day)  # noqa: DTZ001
        return start, start + days * _DAY

    before = (given.get("before") or "").lower()
    return _recurring(span_of, before, _named_year(given, asked), asked, given)


def _recurring(
    span_of: Callable[[int], _Span],
    before: str,
    year: int | None,
    asked: _Asked,
    given: dict[str, str | None],
) -> Iterator[_Spans]:
    """What comes once a year: in the year that is named, so many of them ago, the nearest, or in every year."""
    now = asked.now
    if year is not None:
        span, whole = span_of(year), _year_of(year)
        yield ((whole[0], max(whole[1], span[1])), span)
    elif before == "last" or given.get("count") or given.get("before_last"):
        counts = counts_of((given.get("count") or "one").lower()) or (1, 1)
        least, most = (2, 2) if given.get("before_last") else (max(1, n) for n in counts)
        over = [
            span
            for span in map(span_of, range(now.year - most - 1, now.year + 1))
            if span[1] <= now
        ]
        yield ((over[-most][0], over[-least][1]),)
    elif before == "this":
        new_year = _year_of(now.year)[0]
        near = [span for span in map(span_of, (now.year - 1, now.year)) if span[1] > new_year]
        yield (min(near, key=lambda span: max(span[0] - now, now - span[1])),)
    elif before != "next":
        for each in _years(asked):
            yield (span_of(each),)


def _read_year(found: re.Match[str], asked: _Asked) -> Iterator[_Spans] | None:
    """去年, 2023年底, 年初, the first half of 2023, the end of last year."""
    given = found.groupdict()
    year = _named_year(given, asked)
    part = given.get("part") or given.get("quarter")
    if given.get("edge") and year is not None:
        whole = _year_of(year)
        return iter(((whole, *_part_of(whole, given)),))
    if part is None:
        # 今年 says that something is new, rather than when it was
        if year is None or (given["year_word"] and year == asked.now.year):
            return None
        return iter(((_year_of(year),),))
    first, end = MONTHS_OF_PART[PARTS[part.lower()]]
    if year is not None and (given["year_word"] or "").lower() != "year":
        return iter(((_year_of(year), _month_of(year, first, end - first)),))
    now = asked.now
    return iter(((_month_of(now.year - (first > now.month), first, end - first),),))


def _read_weekday(found: re.Match[str], asked: _Asked) -> Iterator[_Spans] | None:
    """Last Friday, this Monday, on the weekend."""
    which, name = (found["which"] or "").lower(), found["weekday"].lower()
    week = (found["week"] or found["week_before"] or "").lower()
    is_told = bool(week or found["before_last"])
    if which in ANY_DAY or (name == "weekend" and which not in BEFORE_WEEKEND and not is_told):
        return None
    is_short = name not in {*WEEKDAYS, "weekend"}
    if is_short and (
        which not in {"last", "this", "on", "past", "since"} or found["weekday"] in LOWER_WORDS
    ):
        return None
    if which in {"next", "coming", "following"} or week == "next week":
        return iter(())
    weeks = WEEKS.get(week, 0)
    is_this = which == "this" or week == "this week"
    spans = _weekday(name, is_this, asked, found["day_part"], weeks)
    back = 1 if found["before_last"] else 0
    return iter((tuple((start - back * _WEEK, end - back * _WEEK) for start, end in spans),))


def _read_weekdays_ago(found: re.Match[str], asked: _Asked) -> Iterator[_Spans] | None:
    """Two Fridays ago."""
    if (counts := counts_of(found["count"].lower())) is None:
        return None
    [(start, end)] = _weekday(found["weekday"].lower(), False, asked, None)
    return iter((((start - (counts[1] - 1) * _WEEK, end - (counts[0] - 1) * _WEEK),),))


def _weekday(
    name: str, is_this_week: bool, asked: _Asked, part: str | None, weeks: int = 0
) -> _Spans:
    """A weekday, or the weekend, of this week, of one so many weeks back, else the last one before today."""
    is_weekend = name == "weekend"
    weekday = 5 if is_weekend else _SHORT_WEEKDAYS.index(name[:3])
    today = asked.day
    monday = today - today.weekday() * _DAY
    if is_this_week or weeks:
        day = monday - weeks * _WEEK + weekday * _DAY
    else:
        day = monday + weekday * _DAY
        if is_weekend or day >= today:
            day -= _WEEK
    return ((day, day + 2 * _DAY),) if is_weekend else _day_of(day, part)


def _read_weekday_zh(found: re.Match[str], asked: _Asked) -> Iterator[_Spans] | None:
    """上周五, 上上周, 礼拜三, 本周三, 周末."""
    which, name = found["which"] or "", found["weekday"]
    if which.startswith(("每", "隔")) or (not which and found["range"]):
        return None
    if which.startswith("下"):
        return iter(())
    day = "weekend" if name == "末" else WEEKDAYS[6 if name in "日天" else DIGITS[name] - 1]
    weeks = which.count("上") + which.count("大")
    is_this = bool(which) and not weeks
    return iter((_weekday(day, is_this, asked, found["day_part"], weeks),))


def _read_unit(found: re.Match[str], asked: _Asked) -> Iterator[_Spans] | None:
    """Last week, early last month, 上上周, 上个月底, 本月3号; no bare "this week", which is now."""
    given, which = found.groupdict(), found["which"].lower()
    unit = found["unit"].lower()
    unit = UNITS.get(unit, unit)
    if which == "next" or which.startswith("下"):
        return iter(())
    back = which.count("上") + which.count("大") or {"last": 1, "before last": 2}.get(which, 0)
    whole = _steps(unit, back, asked)
    within = _part_of(whole, given) if unit == "month" or given.get("edge") else ()
    return iter(((whole, *within),)) if back or within else None


def _read_bare_year(found: re.Match[str], _: _Asked) -> Iterator[_Spans] | None:
    """In 2023."""
    if _is_numbered_thing(found):
        return None
    return iter(((_year_of(int(found["year"])),),))


# --- the table -------------------------------------------------------------------------------------

_YEAR_DIGITS, _DIGITS_AND_POINTS, _SHORT_DATE, _ORDINAL = "2024", "21.1.", "1/21/24", "15th"


def _rule(needs: str, pattern: str, read: _Read, *, any_case: bool = True) -> _Rule:
    """`needs`: words with spaces between them; of Chinese words one character each."""
    flags = re.ASCII | (re.IGNORECASE if any_case else re.NOFLAG)
    return _Rule(frozenset(needs.split()), re.compile(pattern, flags), read)


def _numeric_rule(pattern: str, read: _Read, *, needs: str = _YEAR_DIGITS) -> _Rule:
    return _Rule(frozenset((needs,)), re.compile(pattern, re.ASCII | re.IGNORECASE), read)


_SHORT_WEEKDAYS = tuple(day[:3] for day in WEEKDAYS)
_WEEKDAY_WORDS = f"{' '.join((*WEEKDAYS, *_SHORT_WEEKDAYS))} tues thur thurs weekend"
_MONTH_WORDS = """
jan january feb february mar march apr april may jun june jul july aug august sep sept september oct october nov
november dec december
"""
_NUMBERED = r"(?<![\w./:-])"
_NUMBERED_END = r"(?![-/.:]?[\w/])"
_NO_YEAR_BEHIND = (
    r"(?![.,:/-]?\d|[A-Za-z_]|\s*(?:%|[€$£]|(?:px|[kmgt]b|kg|km|ms|m?hz|usd|eur|dollars?|euros?|bucks|people|times|users"
    r"|words|lines|files|rows|points|miles|years?)\b|[元块人个個次条米万点分秒多号號字行块位]))"
)

_RULES = (
    _rule(
        "yesterday night evening morning afternoon",
        r"\b(?P<word>(?:the )?day before yesterday|(?:the )?night before last\b|yesterday|last (?=(?:night|evening)\b)"
        r"|this (?=(?:morning|afternoon|evening)\b))"
        r"(?:(?:'s)? ?(?:in the )?(?P<day_part>morning|afternoon|evening|night)\b)?",
        _read_day_word,
    ),
    _rule(
        "昨 前 今",
        rf"(?P<word>大前天|前(?=晚(?![安饭飯餐]))|(?<![提之以目空])前天(?![气氣])|昨[天日]|昨(?=[晚夜早])|今天?(?=的?(?:凌|早|上午|中午|下午|傍|晚|夜)))"
        rf"{DAY_PART_ZH}",
        _read_day_word,
    ),
    _rule("ago back", rf"\b{COUNT} (?P<unit>day|week|month|year)s? (?:ago|back)\b", _read_ago),
    _rule("前", rf"{COUNT_ZH}{UNIT_ZH}(?<![一三四五六七八九十\d]月)(?:之|以)?前", _read_ago),
    _rule(
        "前", rf"{SUBJECT_ZH}(?P<former>前)(?P<count>[两兩几幾二三]三?)[个個]?{UNIT_ZH}(?!前)", _read_ago
    ),
    _numeric_rule(
        rf"{_NUMBERED}{YEAR_NUMBER}(?P<mark>[-/.])(?P<month>\d{{1,2}})(?P=mark)(?P<day>\d{{1,2}})"
        r"(?!\d|[-/.]\w|/)",
        _read_year_first,
    ),
    _numeric_rule(
        rf"{_NUMBERED}(?P<one>\d{{1,2}})(?P<mark>[-/.])(?P<other>\d{{1,2}})(?P=mark){YEAR_NUMBER}{_NUMBERED_END}",
        _read_year_last,
    ),
    _numeric_rule(
        rf"{_NUMBERED}{YEAR_NUMBER}[-/](?P<month>0?[1-9]|1[0-2]){_NUMBERED_END}", _read_year_first
    ),
    _numeric_rule(
        rf"{_NUMBERED}(?P<month>0?[1-9]|1[0-2])[-/]{YEAR_NUMBER}{_NUMBERED_END}", _read_year_first
    ),
    _numeric_rule(
        rf"{_NUMBERED}(?P<one>\d{{1,2}})(?P<mark>/)(?P<other>\d{{1,2}})/(?P<year>\d\d){_NUMBERED_END}",
        _read_year_last,
        needs=_SHORT_DATE,
    ),
    _numeric_rule(
        r"(?:^|\b(?P<before>on|since|am|vom|seit)(?: the)? )(?P<day>\d{1,2})\.(?P<month>\d{1,2})\.(?!\w)",
        _read_day_and_month,
        needs=_DIGITS_AND_POINTS,
    ),
    _rule(
        _MONTH_WORDS,
        rf"(?:\b(?P<from>from|(?P<between>between)|in|during) )?\b{MONTH.replace('name', 'first')}"
        rf"(?: to | till | until | through |-|–|(?(between) and |(?!))){MONTH}{YEAR_EN}",
        _read_months,
    ),
    _rule(
        "月",
        rf"(?P<from>)(?:{YEAR_ZH})?(?<![\d第])(?P<first>\d{{1,2}}|{ZH_NUMBER}{{1,2}})月?(?:[到至~—-])(?P<name>\d{{1,2}}|{ZH_NUMBER}{{1,2}})月"
        r"(?![个個\d一二三四五六七八九十])",
        _read_months,
    ),
    _rule(
        "月",
        rf"(?P<from>)(?:{YEAR_ZH})?(?<![\d第一二三四五六七八九十])(?P<first>[一二三四五六七八])(?P<name>(?:(?<=一)二|(?<=二)三|(?<=三)四|(?<=四)五|(?<=五)六|(?<=六)七|(?<=七)八|(?<=八)九))月(?![个個])",
        _read_months,
    ),
    _rule(
        _MONTH_WORDS,
        rf"(?:\b(?P<before>on|since|until|till|by|from|before|after)(?: the)? )?"
        rf"(?<![\w.,:/-]){DAY_EN}(?: of)? {MONTH}{YEAR_EN}",
        _read_day_of_month,
    ),
    _rule(
        _MONTH_WORDS,
        rf"(?:\b(?P<before>on|since|until|till|by|from|before|after|of) )?"
        rf"\b{MONTH}\.? (?:the )?{DAY_EN}(?![.:/-]\d){YEAR_EN}",
        _read_day_of_month,
    ),
    _rule(
        _MONTH_WORDS,
        rf"(?:{PART_EN}|{EDGE_EN}|\b(?P<before>in|of|since|during|until|till|before|after|by|last|this|next) )?"
        rf"\b{MONTH}{YEAR_EN}",
        _read_month,
    ),
    _rule(
        "月",
        rf"(?<![\d.一二两兩三四五六七八九十百几幾数半每第个個])(?:{YEAR_ZH})?"
        rf"(?P<month>\d{{1,2}}|{ZH_NUMBER}{{1,2}})\s*月份?"
        rf"(?:的?{PART_ZH}|的?{EDGE_ZH}"
        rf"|\s*{DAY_ZH}{DAY_PART_ZH}|(?![亮光球色花雪饼租薪内个個]|[一两三几\d]+次|怀胎|[不没未]见))",
        _read_month_zh,
    ),
    _rule(
        "spring summer autumn fall winter",
        rf"(?:\b(?P<before>last|this|next|in|during|over|since|before|after|until|till)(?: the)? )?"
        rf"\b{SEASON}\b(?P<before_last> before last\b)?(?! (?:boot|mvc|of (?!(?:19|20)\d\d|last|this))){YEAR_EN}",
        _read_season,
    ),
    _rule("ago", rf"\b{COUNT} {SEASON}s? ago\b", _read_season),
    _rule("ago", rf"\b{COUNT} {WEEKDAY}s? ago\b", _read_weekdays_ago),
    _rule(
        "christmas halloween",
        rf"\b(?P<before>last|this|next|on|at|over|during|for|in|since|before|after|until|till)(?: the)? "
        rf"(?P<holiday>christmas|halloween)\b(?! (?:tree|card|song|music|movie|gift|present)s?\b){YEAR_EN}",
        _read_holiday,
    ),
    _rule(
        "国 國 元 圣 聖 劳 勞 情",
        rf"(?:{YEAR_ZH})?(?P<holiday>国庆|國慶|元旦|圣诞|聖誕|劳动节|勞動節|情人[节節])(?:[节節])?(?!快[乐樂]|[老树樹歌卡])",
        _read_holiday,
    ),
    _rule("春 夏 秋 冬 暑", rf"{YEAR_ZH}(?P<season>[春夏秋冬](?!节)|暑假)", _read_season),
    _rule("暑", r"(?P<season>暑假)", _read_season),
    _rule(
        "年",
        rf"{YEAR_ZH}(?:年?(?P<part>初|底|末|中(?!间)|[上下]半)年?|第?(?:(?P<quarter>[一二三四1-4]季)度)|{EDGE_ZH}(?![一二三\d]))?",
        _read_year,
    ),
    _rule("季", r"(?<![每\d一二三四])第?(?P<part>[一二三四1-4]季)度", _read_year),
    _rule("半", r"(?P<part>[上下]半)年", _read_year),
    _rule("年", r"(?<![\d每学學少青中老成])年(?P<part>[初底末])", _read_year),
    _rule(
        "half early beginning start middle mid late end quarter q1 q2 q3 q4 first last",
        rf"(?:{PART_OF_YEAR_EN}|{EDGE_EN}(?:the )?)"
        rf"(?:{YEAR_NUMBER}\b|(?P<year_word>last year|this year|next year|(?<=the )year)\b)",
        _read_year,
    ),
    _rule(
        _WEEKDAY_WORDS,
        rf"(?:\b(?P<week_before>(?:last|this|next) week)(?:'s)?(?: on)? |\b(?P<which>[a-z]+) (?:the )?)?\b{WEEKDAY}\b"
        rf"(?!-|\.\w| (?:to|through|till)\b)(?:,? (?:of |in )?(?P<week>{WEEK_EN})\b)?"
        rf"(?P<before_last> before last\b(?! (?:week|month|year)))?{DAY_PART_EN}",
        _read_weekday,
    ),
    _rule(
        "周 週 期 拜",
        rf"(?:(?P<which>{BEFORE_LAST_ZH}|[这這本每隔]|下{{1,3}})[个個]?)?{WEEK_ZH}"
        rf"(?P<weekday>[一二三四五六日末]|(?<![周週])天)(?![围圍鸣鳴闭閉]|愉快|快乐)(?P<range>[到至、~—-])?{DAY_PART_ZH}",
        _read_weekday_zh,
    ),
    _rule(
        "week month year quarter",
        rf"(?:{PART_EN}|{EDGE_EN}|\b{DAY_EN} (?:of|in) )?"
        r"\b(?P<which>last|this|next) (?P<unit>week|month|year|quarter)\b(?! of\b)",
        _read_unit,
    ),
    _rule(
        "before",
        r"\b(?P<unit>week|month|year|quarter) (?P<which>before last)\b",
        _read_unit,
    ),
    _rule("month", rf"(?:{PART_EN}|{EDGE_EN}(?:the )?)(?<=the )month\b", _read_of_month),
    _rule(
        "周 週 期 拜 月 季",
        rf"(?P<which>{BEFORE_LAST_ZH}|[这這]|(?<!日)本|下{{1,3}})(?:一?[个個]|一)?(?:(?P<unit>[周週](?![期转轉边邊围圍到折刊年末一二三四五六日])|星期|[礼禮]拜|季度|月(?![亮球台饼]))"
        rf"(?:的?{PART_ZH}|的?{EDGE_ZH}|\s*{DAY_ZH})?)",
        _read_unit,
    ),
    _rule("月", r"(?<![\d一二三四五六七八九十几幾半个個每上下这這本])月(?P<part>[初底末]|[上下]旬)", _read_of_month),
    _rule(
        "号 號",
        rf"{SUBJECT_ZH}{DAY_ZH}(?![线線楼樓房室门門桌位机機车車店院馆台床码碼选選球文电站口厅区仓柱铺公路字]){DAY_PART_ZH}",
        _read_of_month,
    ),
    _numeric_rule(
        r"\b(?P<before>on|of|about|for|from|since|until|till|before|after) the (?P<day>\d{1,2})(?:st|nd|rd|th)\b"
        r"(?= (?:at|about|did|we|i|you|he|she|they|it|was|were|and|in|when|what|who)\b|[?.!,;]|$)",
        _read_of_month,
        needs=_ORDINAL,
    ),
    _rule(
        "last past",
        rf"\b(?:last|past) (?:{COUNT} )?(?P<unit>day|week|month|year)s?\b(?! (?:of|in)\b)",
        _read_rolling,
    ),
    _rule("近 去", rf"(?:[过過]去|近){COUNT_ZH}{UNIT_ZH}(?!前)", _read_rolling),
    _rule("天", rf"[这這]{COUNT_ZH}(?P<unit>天)(?!前)", _read_rolling),
    _rule(
        _MONTH_WORDS,
        r"\b(?P<name>January|February|April|June|July|August|September|October|November|December)\b",
        _read_bare_month,
        any_case=False,
    ),
    _numeric_rule(rf"(?<![\w.,:/$€£#@+-]){YEAR_NUMBER}{_NO_YEAR_BEHIND}", _read_bare_year),
)  # fmt: skip

_HINTS = frozenset().union(*(rule.needs for rule in _RULES))
_WORD, _DIGIT = re.compile(r"\w+", re.ASCII), re.compile("[0-9]")
_NUMERIC = (
    (_YEAR_DIGITS, re.compile(r"(?:19|20)[0-9]{2}")),
    (_SHORT_DATE, re.compile(r"[0-9]/[0-9]{1,2}/[0-9]")),
    (_ORDINAL, re.compile(r"[0-9](?:st|nd|rd|th)\b", re.IGNORECASE)),
    (_DIGITS_AND_POINTS, re.compile(r"[0-9]\.[0-9]{1,2}\.")),
)


def _signs(text: str) -> frozenset[str]:
    """What `text` has of what rules need. Chinese counts by the character, other words whole."""
    signs = _HINTS.intersection(_WORD.findall(text.lower()))
    if not text.isascii():
        signs |= _HINTS.intersection(text)
    if _DIGIT.search(text) is not None:
        signs |= {sign for sign, pattern in _NUMERIC if pattern.search(text) is not None}
    return signs
