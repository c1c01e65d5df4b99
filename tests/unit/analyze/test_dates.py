"""The spans of time a question names, in two languages."""

from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll_sidecar.analyze import (
    DateStyle,
    asks_how_many,
    asks_when,
    date_spans,
    speaks_of_self,
)

ASKED_MS = 1_795_176_000_000  # Friday, 2026-11-20, noon
FIRST_MS = 1_672_531_200_000  # 2023-01-01
YEARS = range(2023, 2027)
LINES = Path(__file__).with_name("dates.tsv").read_text(encoding="utf-8").splitlines()
TABLE = [line.split("\t") for line in LINES if not line.startswith("#")]


def spans(text, **style):
    return [
        (moment(span.start_ms), moment(span.end_ms), round(span.value, 2))
        for span in date_spans(text, ASKED_MS, FIRST_MS, DateStyle(**style))
    ]


def moment(ms):
    """A day; with the hour where one begins a span."""
    at = datetime.fromtimestamp(ms / 1000, UTC)
    return at.strftime("%Y-%m-%dT%H" if at.hour else "%Y-%m-%d")


def narrowest(text, **style):
    """The last span of each date: values add up to 1 there."""
    total, found = 0.0, []
    for start, end, value in spans(text, **style):
        total += value
        if total > 0.98:
            total = 0.0
            found.append(f"{start}..{end}")
    return found


def in_every_year(expected):
    for one in expected.split():
        for year in YEARS if "*" in one else [0]:
            told = one.replace("*", str(year))
            if told < "2026-11-20T12":
                yield told


@pytest.mark.parametrize(("question", "expected"), TABLE)
def test_the_table(question, expected):
    assert narrowest(question) == list(in_every_year(expected))


def test_the_table_is_in_two_languages():
    """Half of it each; a dozen lines name what lies ahead or does not exist."""
    chinese = sum(not question.isascii() for question, _ in TABLE)
    assert min(chinese, len(TABLE) - chinese) >= 60
    assert sum(not expected for _, expected in TABLE) >= 12


@pytest.mark.parametrize(
    "text",
    [
        "May I ask something?", "may be", "he may come", "you may 3 times", "may 10 people come",
        "they will march on Rome", "a march of 5 miles", "Augustus was here", "the sun is up", "wait a second",
        "is it 1.2.3 or 21.04?", "Ubuntu 22.04 or 24.04?", "upgrade from 22.04. to 24.04.", "are you on 22.04.",
        "python 3.11.2024", "v2024.01.21", "PyCharm 2024.1 is slow", "version 10.04", "ping 10.0.0.1",
        "192.168.1.20 is down", "at 10:30 or 22:15?", "costs $20.24 or 19.99", "1/2 of the cake", "3/4 cup",
        "call 555-1234-2024", "+86 138-2024-0121", "/var/log/2024/01/21/x.log", "src/2024/1.py", "8GB or 2048MB",
        "2000 people came", "room 2012 is free", "how do I use spring boot", "in Spring, what is a bean?",
        "the fall of Rome", "Black Friday deals", "on fridays", "open Monday to Friday", "last but not least",
        "early bird", "start year 1", "what is a weekend", "how are you", "next time",
        "this week", "this year", "这周", "本月", "今年", "这个月",
        "周杰伦的歌", "周星驰演的", "周一围是谁", "他姓周，三十岁", "周天子是谁", "每周三开会", "一周五天",
        "周末愉快", "早上周期", "上周期的数据", "本周刊", "一月一次", "一个月一次", "三个月没见", "五月亮了",
        "周一到周五", "二十三月", "目前天气如何", "从前年轻", "提前天数", "5号线怎么走", "3-5号线怎么走", "3.5元",
        "第一月台", "半年", "满月酒在哪",
        "五月天的演唱会", "四月是你的谎言", "Monday.com board", "every other Friday", "隔周五开会", "五三天前",
        "the cat sat there", "he last sat there", "he last saw the sun", "the Christmas tree", "on the 15th floor",
        "人民路15号", "3号楼", "神舟十五号", "出发前两天", "the day before Christmas", "the night before 7 May",
        "周六、周日都开门", "夏天很热", "十几年前的歌",
    ],
)  # fmt: skip
def test_no_date(text):
    assert spans(text) == []


@pytest.mark.parametrize(
    "text", ["on 7 May 2025", "May 7th, 2025", "2025-05-07", "2025/5/7", "2025年5月7日", "7.5.2025"]
)
def test_a_whole_date(text):
    """Year, month and day count alike, so that a line of the same month is better than nothing."""
    assert spans(text) == [
        ("2025-01-01", "2026-01-01", 0.33), ("2025-05-01", "2025-06-01", 0.33), ("2025-05-07", "2025-05-08", 0.33),
    ]  # fmt: skip


def test_a_part_of_a_day_is_within_the_day():
    evening = ("2026-11-19T18", "2026-11-20", 0.5)
    assert spans("yesterday evening") == [("2026-11-19", "2026-11-20", 0.5), evening]
    night = [("2026-11-19", "2026-11-20T06", 0.5), ("2026-11-19T18", "2026-11-20T06", 0.5)]
    assert spans("昨晚") == spans("last night") == night


def test_a_month_of_any_year():
    assert spans("in June") == [(f"{year}-06-01", f"{year}-07-01", 1.0) for year in YEARS]
    assert spans("六月的旅行") == spans("in June")
    assert narrowest("on 29 February") == ["2024-02-29..2024-03-01"]


FORMS = (
    "{d.year}-{d.month:02}-{d.day:02}", "{d.year}-{d.month}-{d.day}", "{d.year}/{d.month}/{d.day}",
    "{d.year}.{d.month}.{d.day}", "{d.day:02}.{d.month:02}.{d.year}", "{d.day}.{d.month}.{d.year}",
    "{d.year}年{d.month}月{d.day}日", "{d.year}年{d.month}月{d.day}号",
)  # fmt: skip
DAYS = st.dates(date(1990, 1, 1), date(2026, 11, 19))


@given(DAYS, st.sampled_from(FORMS), st.booleans())
def test_a_day_is_read_back(day, form, is_day_first):
    """These forms can be read in one way."""
    text = f"what was on {form.format(d=day)}?"
    assert narrowest(text, is_day_first=is_day_first) == [f"{day}..{day + timedelta(days=1)}"]


@given(DAYS, st.sampled_from("/-"), st.booleans())
def test_the_style_orders_day_and_month(day, mark, is_day_first):
    first, second = (day.day, day.month) if is_day_first else (day.month, day.day)
    text = f"what was on {first:02}{mark}{second:02}{mark}{day.year}?"
    expected = [f"{day}..{day + timedelta(days=1)}"]
    assert narrowest(text, is_day_first=is_day_first) == expected
    if day.day > 12:
        assert narrowest(text, is_day_first=not is_day_first) == expected


@given(DAYS, st.sampled_from(["America/New_York", "Asia/Shanghai", "Europe/Berlin", "UTC"]))
def test_days_are_those_of_the_askers_clock(day, name):
    """From midnight to midnight, whatever a change of the clock makes of that."""
    zone = ZoneInfo(name)
    found = date_spans(str(day), ASKED_MS, FIRST_MS, DateStyle(zone))[-1]
    start, end = (datetime.fromtimestamp(ms / 1000, zone) for ms in (found.start_ms, found.end_ms))
    assert start.replace(tzinfo=None) == datetime.combine(day, datetime.min.time())
    assert end.date() == day + timedelta(days=1)
    assert (end.hour, end.minute) == (0, 0)


def test_yesterday_is_the_askers():
    """At noon in London it is the next day in Auckland."""
    auckland = {"zone": ZoneInfo("Pacific/Auckland")}
    assert spans("yesterday", **auckland) == [("2026-11-19T11", "2026-11-20T11", 1.0)]


def at(day):
    return int(datetime.combine(day, datetime.min.time(), UTC).timestamp() * 1000)


DAY_MS = 86_400_000


@pytest.mark.parametrize(
    ("text", "is_over", "most_days"),
    [
        ("last winter", True, 366), ("last summer", True, 366), ("last March", True, 366), ("on Friday", True, 7),
        ("last Christmas", True, 366), ("年底", False, 366), ("上半年", False, 366), ("第三季度", False, 366),
        ("月底", False, 31), ("15号谁来了", False, 31),
    ],
)  # fmt: skip
@given(day=st.dates(date(2024, 1, 1), date(2026, 12, 31)))
def test_it_is_the_latest_that_is_over_or_has_begun(text, is_over, most_days, day):
    """The next one would lie ahead, or be the present one."""
    asked_ms = at(day)
    [*_, found] = date_spans(text, asked_ms, FIRST_MS)
    is_since_ms = found.end_ms if is_over else found.start_ms
    assert is_since_ms <= asked_ms < is_since_ms + most_days * DAY_MS


@pytest.mark.parametrize("text", ["this winter", "this summer"])
@given(day=st.dates(date(2024, 1, 1), date(2026, 12, 31)))
def test_this_season_is_near_or_ahead(text, day):
    for found in date_spans(text, at(day), FIRST_MS):
        assert found.start_ms <= at(day) < found.end_ms + 200 * DAY_MS


@given(DAYS, st.sampled_from(FORMS))
def test_open_spans_end_and_begin_with_what_they_name(day, form):
    told = form.format(d=day)
    until_now = [(str(day), "2026-11-21", 1.0)]
    assert spans(f"what was said since {told}?") == until_now
    before = [("2023-01-01", str(day), 1.0)] if day > date(2023, 1, 1) else []
    assert spans(f"what was said before {told}?") == before


PIECE_WORDS = """
last May ago the of week month year before Friday fri first half quarter q1 to since until christmas summer winter two
few 15th end next this and between 2024 国庆 最后 去年 暑假 2024-05-07 昨晚 八月底
"""
PIECES = (*"0123456789年月日前天周-/.,个上末早半两三底以来号第季度到", *PIECE_WORDS.split())


@given(
    st.lists(st.tuples(st.sampled_from(PIECES), st.sampled_from(("", " "))), max_size=14).map(
        lambda pieces: "".join("".join(piece) for piece in pieces)
    ),
    st.integers(0, 253_402_214_400_000),
    st.sampled_from(["UTC", "Pacific/Kiritimati", "America/Los_Angeles"]),
)
def test_any_text(text, asked_at_ms, zone):
    """It never raises; each reading is spans within spans whose values add up to 1, and no year has two."""
    found = date_spans(text, asked_at_ms, 0, DateStyle(ZoneInfo(zone)))
    readings = []
    while found:
        count = round(1 / found[0].value)
        reading, found = found[:count], found[count:]
        assert sum(span.value for span in reading) == pytest.approx(1)
        for outer, inner in pairwise(reading):
            assert outer.start_ms <= inner.start_ms
            assert inner.end_ms <= outer.end_ms
        readings.append(reading[-1])
    assert all(one.start_ms < one.end_ms and one.start_ms <= asked_at_ms for one in readings)
    assert all(b.start_ms - a.start_ms > 360 * DAY_MS for a, b in pairwise(readings))


@pytest.mark.parametrize("name", ["UTC", "Asia/Shanghai", "America/New_York"])
@pytest.mark.parametrize(
    ("asked_at_ms", "first_ms"),
    [
        (253_402_300_800_000, 0),  # the year 10000
        (253_402_300_799_999, 0),
        (2**62, 0),
        (ASKED_MS, -(10**15)),
        (-62_135_596_800_000, -62_135_596_800_000),  # the year 1
        (-(2**62), -(2**62)),
    ],
)
def test_times_that_no_calendar_has_name_no_date(asked_at_ms, first_ms, name):
    for text in ("last Friday", "in May", "since 2023", "去年夏天"):
        assert isinstance(date_spans(text, asked_at_ms, first_ms, DateStyle(ZoneInfo(name))), tuple)
    assert date_spans("last Friday", 2**62, 0) == ()


def test_what_is_asked_for():
    assert asks_when("when did he leave?")
    assert asks_when("他什么时候走的")
    assert not asks_when("who left?")
    assert asks_how_many("how many cats?")
    assert asks_how_many("有几只猫")
    assert not asks_how_many("which cat?")


WORDS = "When what Which day year how long many ago I me we's may June, sept. augustus last lastly yesterday_ 3 2024"


@given(st.lists(st.sampled_from(WORDS.split()), max_size=6))
def test_english_is_read_alike_in_ascii_and_beside_other_scripts(words):
    """ASCII is read by other means than texts with any other character in them."""
    text = " ".join(words)
    beside = f"{text} ～"
    assert spans(beside) == spans(text)
    for says in (asks_when, asks_how_many, speaks_of_self):
        assert says(beside.lower()) == says(text.lower())
