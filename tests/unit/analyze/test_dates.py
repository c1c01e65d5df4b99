"""The spans of time a question names, in two languages."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll_sidecar.analyze import asks_how_many, asks_when, date_spans, speaks_of_self

ASKED_MS = 1_795_176_000_000  # Friday, 2026-11-20, noon
FIRST_MS = 1_672_531_200_000  # 2023-01-01


def spans(text):
    return [
        (day(span.start_ms), day(span.end_ms), round(span.value, 2))
        for span in date_spans(text, ASKED_MS, FIRST_MS)
    ]


def day(ms):
    return datetime.fromtimestamp(ms / 1000, UTC).date().isoformat()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("what happened in 2024?", [("2024-01-01", "2025-01-01", 1.0)]),
        ("2024年发生了什么", [("2024-01-01", "2025-01-01", 1.0)]),
        ("who came in May 2025?", [("2025-01-01", "2026-01-01", 0.5), ("2025-05-01", "2025-06-01", 0.5)]),
        ("2025年5月谁来了", [("2025-01-01", "2026-01-01", 0.5), ("2025-05-01", "2025-06-01", 0.5)]),
        ("yesterday", [("2026-11-19", "2026-11-20", 1.0)]),
        ("昨天谁请客", [("2026-11-19", "2026-11-20", 1.0)]),
        ("last week", [("2026-11-09", "2026-11-16", 1.0)]),
        ("上周开会说了什么", [("2026-11-09", "2026-11-16", 1.0)]),
        ("last month", [("2026-10-01", "2026-11-01", 1.0)]),
        ("上个月", [("2026-10-01", "2026-11-01", 1.0)]),
        ("去年的聚会", [("2025-01-01", "2026-01-01", 1.0)]),
        ("three days ago", [("2026-11-17", "2026-11-18", 1.0)]),
        ("三天前", [("2026-11-17", "2026-11-18", 1.0)]),
        ("2个月前", [("2026-09-01", "2026-10-01", 1.0)]),
        ("May I ask something?", []),
        ("may be", []),
        ("what did he say in March last?", [(f"{y}-03-01", f"{y}-04-01", 1.0) for y in range(2023, 2027)]),
        ("he will march on", []),
        ("version 10.04", []),
        ("2025-02-31", []),
        ("五月亮了", []),
        ("how are you", []),
    ],
)  # fmt: skip
def test_spans(text, expected):
    assert spans(text) == expected


@pytest.mark.parametrize(
    "text", ["on 7 May 2025", "May 7th, 2025", "2025-05-07", "2025/5/7", "2025年5月7日"]
)
def test_a_whole_date(text):
    """Year, month and day count alike, so that a line of the same month is better than nothing."""
    assert spans(text) == [
        ("2025-01-01", "2026-01-01", 0.33), ("2025-05-01", "2025-06-01", 0.33), ("2025-05-07", "2025-05-08", 0.33),
    ]  # fmt: skip


def test_a_month_of_any_year():
    assert [start for start, _, _ in spans("what did we do in June?")] == [
        f"{year}-06-01" for year in range(2023, 2027)
    ]
    assert spans("六月的旅行") == spans("in June")


@given(
    st.text(st.sampled_from("0123456789年月日前天周last May-/ ago个"), max_size=30),
    st.integers(0, 2**45),
)
def test_any_text(text, asked_at_ms):
    """It never raises, and the values of a date add up to 1 a year."""
    for span in date_spans(text, asked_at_ms, 0):
        assert span.start_ms < span.end_ms
        assert 0 < span.value <= 1


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
