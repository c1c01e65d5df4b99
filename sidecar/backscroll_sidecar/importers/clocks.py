"""Dates and times as people's phones write them: order of day and month, 12 hours, words for night. Pure."""

import re
from collections.abc import Iterable
from datetime import datetime

DATE = r"(?P<d1>\d{1,4})\s?[./\-年]\s?(?P<d2>\d{1,2})\s?[./\-月]\s?(?P<d3>\d{1,4})[.日]?"
_BEFORE = "上午|下午|凌晨|早上|清晨|中午|晚上|傍晚|午前|午後|오전|오후"
_AFTER = r"[aApP]\.?\s?[mM]\.?|nachm\.|vorm\.|AM|PM|μ\.μ\.|π\.μ\.|ч\.|kl\.|[مص](?!\w)|" + _BEFORE
TIME = (
    rf"(?P<before>{_BEFORE})?\s?(?P<hour>\d{{1,2}})[:.](?P<minute>\d{{2}})(?:[:.](?P<second>\d{{2}}))?"
    rf"(?:\s?(?P<after>{_AFTER}))?"
)
_LATE = re.compile(r"p|nachm|م|下午|晚上|傍晚|午後|오후|μ\.μ", re.IGNORECASE)
_EARLY = re.compile(r"a|vorm|ص|上午|凌晨|早上|清晨|午前|오전|π\.μ", re.IGNORECASE)
_NOON = "中午"

Numbers = tuple[int, int, int]


def numbers(match: re.Match[str]) -> Numbers:
    """The three numbers of a date as they stand."""
    return int(match["d1"]), int(match["d2"]), int(match["d3"])


def hours(match: re.Match[str]) -> tuple[int, int, int]:
    """Hour (0 to 23), minute, second.

    Raises
    ------
    ValueError
        There is no such time.
    """
    hour, minute, second = int(match["hour"]), int(match["minute"]), int(match["second"] or 0)
    word = match["before"] or match["after"] or ""
    if word and hour <= 12:
        if word == _NOON:
            hour = hour + 12 if hour < 11 else hour
        elif _LATE.match(word):
            hour = hour % 12 + 12
        elif _EARLY.match(word):
            hour %= 12
    if not (hour < 24 and minute < 60 and second < 60):
        raise ValueError("no such time")
    return hour, minute, second


def moment(date: Numbers, order: str, clock: tuple[int, int, int]) -> datetime:
    """The wall clock's time.

    Raises
    ------
    ValueError
        There is no such day.
    """
    first, second, third = date
    if first > 31:
        year, month, day = first, second, third
    else:
        year = third
        day, month = (first, second) if order == "dmy" else (second, first)
        if order == "ymd":
            year, month, day = first, second, third
    year += 2000 if year < 70 else 1900 if year < 100 else 0
    return datetime(year, month, day, *clock)  # noqa: DTZ001 - a wall clock's


def is_day(date: Numbers) -> bool:
    """Whether there is such a day in any order."""
    for order in ("dmy", "mdy", "ymd"):
        try:
            moment(date, order, (0, 0, 0))
        except ValueError:
            continue
        return True
    return False


def order_of(dates: Iterable[Numbers], default: str) -> tuple[str, bool]:
    """Whether day or month comes first, and whether that is certain: by a number above 12, else by the order of time.

    `dates` are those of a log, in its order.
    """
    back = {"dmy": 0, "mdy": 0}
    last: dict[str, tuple[int, int, int]] = {}
    for first, second, third in dates:
        if first > 31:
            return "ymd", True
        if first > 12 or second > 12:
            return ("dmy" if first > 12 else "mdy"), True
        for order, key in (("dmy", (third, second, first)), ("mdy", (third, first, second))):
            back[order] += key < last.get(order, key)
            last[order] = key
    if back["dmy"] != back["mdy"]:
        return min(back, key=back.__getitem__), True
    return default, len(last) == 0 or len(set(last.values())) == 1
