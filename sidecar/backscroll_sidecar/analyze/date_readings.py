"""What a date in a question means: spans of time, worked out from what a rule of `date_rules` found. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import datetime

from backscroll_sidecar.analyze.date_calendar import (
    ONE_DAY,
    ONE_WEEK,
    Asked,
    Span,
    Spans,
    day_of,
    first_of,
    month_of,
    steps_back,
    weekday_of,
    year_of,
)
from backscroll_sidecar.analyze.date_words import (
    ANY_DAY,
    BEFORE_WEEKEND,
    DAYS_OF_PART,
    DIGITS,
    HALVES,
    HOLIDAYS,
    LOWER_WORDS,
    MONTHS,
    MONTHS_OF_PART,
    NO_DATE_BEFORE,
    PARTS,
    SEASONS,
    SURE_BEFORE,
    UNITS,
    WEEKDAYS,
    WEEKS,
    YEAR_WORDS,
    counts_of,
    number_of,
)

MAX_YEARS = 30
Read = Callable[[re.Match[str], Asked], Iterator[Spans] | None]
"""All readings of a match; none for a date that does not exist. None: it is no date, others may follow."""


def _part_of(month: Span, given: dict[str, str | None]) -> Spans:
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
            at = first_of(months if is_last else start.year * 12 + months)
        else:
            length = count * (ONE_WEEK if unit == "week" else ONE_DAY)
            at = end - length if is_last else start + length
        return ((max(start, at), end),) if is_last else ((start, min(end, at)),)
    if (first_day := given.get("first_day")) and (day := given["day"]):
        begin, last_day = (start.replace(day=number_of(one)) for one in (first_day, day))
        return ((begin, last_day + ONE_DAY),) if begin < last_day else day_of(last_day, None)
    if day := given.get("day"):
        return day_of(start.replace(day=number_of(day)), given.get("day_part"))
    return ()


def _named_year(given: dict[str, str | None], asked: Asked) -> int | None:
    if year := given.get("year"):
        number = int("".join(str(DIGITS.get(digit, digit)) for digit in year))
        if len(year) == 2:
            number += 2000 if number <= asked.now.year % 100 else 1900
        return number
    if word := given.get("year_word"):
        return asked.now.year + YEAR_WORDS[word.lower()]
    return None


def _years(asked: Asked) -> range:
    """Every year that is meant where none is named."""
    return range(max(asked.first.year, asked.now.year - MAX_YEARS), asked.now.year + 1)


def _in_year(month: int, given: dict[str, str | None], asked: Asked) -> Iterator[Spans]:
    """A month, or what is meant of it, in the year that is named or else in every one."""
    year = _named_year(given, asked)
    if not 1 <= month <= 12:
        raise ValueError(f"no month {month}")
    if year is not None:
        whole = month_of(year, month)
        yield (year_of(year), whole, *_part_of(whole, given))
        return
    for each in _years(asked):
        whole = month_of(each, month)
        try:
            spans = (whole, *_part_of(whole, given))
        except ValueError:  # 29 February
            continue
        yield spans


def read_day_word(found: re.Match[str], asked: Asked) -> Iterator[Spans]:
    """Yesterday, 前天, last night, this morning."""
    word, part = found["word"].lower(), found["day_part"]
    back = 0
    if "before" in word or word in {"前天", "前"}:
        back = 2
    elif word == "大前天":
        back = 3
    elif word.startswith(("yesterday", "last", "昨")):
        back = 1
    yield day_of(asked.day - back * ONE_DAY, "night" if word.endswith("before last") else part)


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


def read_ago(found: re.Match[str], asked: Asked) -> Iterator[Spans] | None:
    """Three days ago, 两个星期前, a couple of weeks ago, 半年前; 前两周 are both weeks."""
    if (counted := _counted(found)) is None:
        return None
    unit, least, most = counted
    if found.groupdict().get("former") and least == most:
        least = 1
    return iter((((steps_back(unit, most, asked)[0], steps_back(unit, least, asked)[1]),),))


def read_rolling(found: re.Match[str], asked: Asked) -> Iterator[Spans] | None:
    """The last two weeks, 最近三天, 最近半年: up to now."""
    if (counted := _counted(found)) is None:
        return None
    unit, least, number = counted
    if (found["count"] or "").lower().startswith(("half", "半")):
        number = (least + number) // 2
    day, end = asked.day, asked.day + ONE_DAY
    if unit in {"day", "week"}:
        return iter((((day - number * (ONE_DAY if unit == "day" else ONE_WEEK), end),),))
    months = day.year * 12 + day.month - 1 - number * (12 if unit == "year" else 1)
    return iter((((first_of(months).replace(day=min(day.day, 28)), end),),))


def _is_numbered_thing(found: re.Match[str]) -> bool:
    """Whether a version, a room or the like has this number."""
    start = found.start()
    return NO_DATE_BEFORE.search(found.string, max(0, start - 16), start) is not None


def read_year_first(found: re.Match[str], asked: Asked) -> Iterator[Spans]:
    """2024-01-21, 2024/5."""
    return _in_year(int(found["month"]), found.groupdict(), asked)


def read_year_last(found: re.Match[str], asked: Asked) -> Iterator[Spans] | None:
    """21.01.2024, 01/21/2024: with points the day comes first, else as the style says; or as only one order can be."""
    if _is_numbered_thing(found):
        return None
    given = found.groupdict()
    day, month = int(found["one"]), int(found["other"])
    is_day_first = found["mark"] == "." or day > 12 or (asked.is_day_first and month <= 12)
    if not is_day_first:
        day, month = month, day
    return _in_year(month, {**given, "day": str(day)}, asked)


def read_day_and_month(found: re.Match[str], asked: Asked) -> Iterator[Spans] | None:
    """On 21.1."""
    if found["month"].startswith("0") and found.end() == len(found.string):
        return None  # "are you on 22.04."
    return _in_year(int(found["month"]), found.groupdict(), asked)


def read_day_of_month(found: re.Match[str], asked: Asked) -> Iterator[Spans] | None:
    """21st of January, Jan 21, May 7th, 2023, 3 to 7 May."""
    given = found.groupdict()
    name, before = found["name"], (given.get("before") or "").lower()
    is_sure = bool(found["ordinal"] or found["year"] or found["year_word"] or before)
    if not is_sure and (name in LOWER_WORDS or (name == "May" and not found.start())):
        return None
    return _in_year(MONTHS.index(name[:3].lower()) + 1, given, asked)


def read_month(found: re.Match[str], asked: Asked) -> Iterator[Spans] | None:
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
        return iter(((month_of(now.year - is_ahead, month),),))
    return _in_year(month, given, asked)


def read_bare_month(found: re.Match[str], asked: Asked) -> Iterator[Spans]:
    """June, in capitals."""
    return _in_year(MONTHS.index(found["name"][:3].lower()) + 1, {}, asked)


def read_month_zh(found: re.Match[str], asked: Asked) -> Iterator[Spans]:
    """1月21日, 二〇二三年五月, 八月底, 八月的最后两周."""
    return _in_year(number_of(found["month"]), found.groupdict(), asked)


def read_months(found: re.Match[str], asked: Asked) -> Iterator[Spans] | None:
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
    return iter([(month_of(each, start, count),) for each in ([year] if year else _years(asked))])


def read_of_month(found: re.Match[str], asked: Asked) -> Iterator[Spans]:
    """月底, on the 15th, 15号: the last one that has begun."""
    given = found.groupdict()
    for back in range(3):
        whole = steps_back("month", back, asked)
        try:
            within = _part_of(whole, given)
        except ValueError:  # 31 November
            continue
        if within[0][0] <= asked.now:
            yield (whole, *within)
            return


def read_season(found: re.Match[str], asked: Asked) -> Iterator[Spans] | None:
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
    return _recurring(lambda each: month_of(each, month, count), before, year, asked, given)


def read_holiday(found: re.Match[str], asked: Asked) -> Iterator[Spans]:
    """Last Christmas, 去年国庆."""
    given = found.groupdict()
    month, day, days = HOLIDAYS[found["holiday"].lower()]

    def span_of(year: int) -> Span:
        start = datetime(year, month, day)  # noqa: DTZ001
        return start, start + days * ONE_DAY

    before = (given.get("before") or "").lower()
    return _recurring(span_of, before, _named_year(given, asked), asked, given)


def _recurring(
    span_of: Callable[[int], Span],
    before: str,
    year: int | None,
    asked: Asked,
    given: dict[str, str | None],
) -> Iterator[Spans]:
    """What comes once a year: in the year that is named, so many of them ago, the nearest, or in every year."""
    now = asked.now
    if year is not None:
        span, whole = span_of(year), year_of(year)
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
        new_year = year_of(now.year)[0]
        near = [span for span in map(span_of, (now.year - 1, now.year)) if span[1] > new_year]
        yield (min(near, key=lambda span: max(span[0] - now, now - span[1])),)
    elif before != "next":
        for each in _years(asked):
            yield (span_of(each),)


def read_year(found: re.Match[str], asked: Asked) -> Iterator[Spans] | None:
    """去年, 2023年底, 年初, the first half of 2023, the end of last year."""
    given = found.groupdict()
    year = _named_year(given, asked)
    part = given.get("part") or given.get("quarter")
    if given.get("edge") and year is not None:
        whole = year_of(year)
        return iter(((whole, *_part_of(whole, given)),))
    if part is None:
        # 今年 says that something is new, rather than when it was
        if year is None or (given["year_word"] and year == asked.now.year):
            return None
        return iter(((year_of(year),),))
    first, end = MONTHS_OF_PART[PARTS[part.lower()]]
    if year is not None and (given["year_word"] or "").lower() != "year":
        return iter(((year_of(year), month_of(year, first, end - first)),))
    now = asked.now
    return iter(((month_of(now.year - (first > now.month), first, end - first),),))


def read_weekday(found: re.Match[str], asked: Asked) -> Iterator[Spans] | None:
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
    spans = weekday_of(name, is_this, asked, found["day_part"], weeks)
    back = 1 if found["before_last"] else 0
    return iter((tuple((start - back * ONE_WEEK, end - back * ONE_WEEK) for start, end in spans),))


def read_weekdays_ago(found: re.Match[str], asked: Asked) -> Iterator[Spans] | None:
    """Two Fridays ago."""
    if (counts := counts_of(found["count"].lower())) is None:
        return None
    [(start, end)] = weekday_of(found["weekday"].lower(), False, asked, None)
    return iter((((start - (counts[1] - 1) * ONE_WEEK, end - (counts[0] - 1) * ONE_WEEK),),))


def read_weekday_zh(found: re.Match[str], asked: Asked) -> Iterator[Spans] | None:
    """上周五, 上上周, 礼拜三, 本周三, 周末."""
    which, name = found["which"] or "", found["weekday"]
    if which.startswith(("每", "隔")) or (not which and found["range"]):
        return None
    if which.startswith("下"):
        return iter(())
    day = "weekend" if name == "末" else WEEKDAYS[6 if name in "日天" else DIGITS[name] - 1]
    weeks = which.count("上") + which.count("大")
    is_this = bool(which) and not weeks
    return iter((weekday_of(day, is_this, asked, found["day_part"], weeks),))


def read_unit(found: re.Match[str], asked: Asked) -> Iterator[Spans] | None:
    """Last week, early last month, 上上周, 上个月底, 本月3号; no bare "this week", which is now."""
    given, which = found.groupdict(), found["which"].lower()
    unit = found["unit"].lower()
    unit = UNITS.get(unit, unit)
    if which == "next" or which.startswith("下"):
        return iter(())
    back = which.count("上") + which.count("大") or {"last": 1, "before last": 2}.get(which, 0)
    whole = steps_back(unit, back, asked)
    within = _part_of(whole, given) if unit == "month" or given.get("edge") else ()
    return iter(((whole, *within),)) if back or within else None


def read_bare_year(found: re.Match[str], _: Asked) -> Iterator[Spans] | None:
    """In 2023."""
    if _is_numbered_thing(found):
        return None
    return iter(((year_of(int(found["year"])),),))
