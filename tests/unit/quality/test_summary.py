"""Means and their intervals."""

import numpy as np
import pytest

from backscroll_bench.quality.data import ChatSet, Line
from backscroll_bench.quality.metrics import DEPTH, Score
from backscroll_bench.quality.run import Judged
from backscroll_bench.quality.summary import MOST_UNITS, figure, summarise, units_of
from backscroll_bench.quality.tables import markdown, short
from tests.unit.quality.sets import question


def test_groups_are_drawn_where_there_are_several_else_questions():
    assert units_of(["a", "a", "b", "c", "d"]).tolist() == [0, 0, 1, 2, 3]
    assert units_of(["a", "a", "b"]).tolist() == [0, 1, 2]
    many = units_of(["a"] * (2 * MOST_UNITS + 1))
    assert many.max() < MOST_UNITS
    assert (np.diff(many) >= 0).all()
    assert np.bincount(many).max() == 3


def test_values_that_are_all_alike_leave_no_doubt():
    found = figure(np.full(50, 0.25), np.arange(50))
    assert (found.value, found.low, found.high) == (0.25, 0.25, 0.25)


def test_the_interval_of_a_share_is_that_of_the_binomial():
    """400 of 1,000: 1.96 standard errors are .0304."""
    values = np.repeat([1.0, 0.0], [400, 600])
    found = figure(values, np.arange(1_000))
    assert found.value == pytest.approx(0.4)
    assert found.low == pytest.approx(0.3696, abs=0.006)
    assert found.high == pytest.approx(0.4304, abs=0.006)
    assert found == figure(values, np.arange(1_000))


def test_questions_of_one_group_that_agree_widen_the_interval():
    values = np.repeat([1.0, 0.0] * 5, 20)
    by_group = figure(values, np.repeat(np.arange(10), 20))
    by_question = figure(values, np.arange(200))
    assert by_group.high - by_group.low > 3 * (by_question.high - by_question.low)


def test_absent_values_do_not_count():
    found = figure(np.array([1.0, np.nan, 0.0, np.nan]), np.arange(4))
    assert found.value == 0.5
    assert (found.low, found.high) == (0.0, 1.0)


def report():
    """Recency finds the message in place 50, the other in place 1, at 10 tokens a message."""
    tokens = np.cumsum(np.full(DEPTH, 10.0))
    late = Score({"hit@1": 0.0}, np.eye(DEPTH)[-1], tokens)
    first = Score({"hit@1": 1.0, "history_share": 0.5}, np.ones(DEPTH), tokens)
    line = Line("m0", "g", "u", "u", "hi", 0)
    chats = ChatSet("set", {"g": (line,)}, (question(gold=("m0",)),), note="pause 10 s")
    return summarise(
        chats, [Judged("recency", ["g"], [late]), Judged("other", ["g"], [first], ["semantic"])]
    )


def test_a_report_says_what_was_judged():
    made = report()
    assert (made.data, made.task, made.questions, made.messages, made.groups) == (
        "set",
        "reply",
        1,
        1,
        1,
    )
    recency, other = made.results
    assert (recency.match_share, recency.match_messages) == (1.0, 50)
    assert (other.match_share, other.match_messages) == (pytest.approx(0.02), 1)
    assert made.as_json()["results"][1]["figures"]["hit@1"] == {
        "value": 1.0,
        "low": 1.0,
        "high": 1.0,
    }


def test_a_table_has_a_row_a_selector_and_names_what_was_changed():
    title, _, head, rule, *rows = markdown(report()).splitlines()
    assert title == "**set (pause 10 s): 1 questions, 1 messages, 1 channel**"
    assert head.startswith("| selector | hit@1 | hit@5 |")
    assert "| from history |" in head
    assert head.count("|") == rule.count("|") == rows[0].count("|")
    assert (
        rows[1]
        == "| `other` without semantic | 1.000 (1.000–1.000) | – | – | – | – | .500 (.500–.500) | 0.02 (1) |"
    )


@pytest.mark.parametrize(("value", "shown"), [(0.6589, ".659"), (1.0, "1.000"), (0.0, ".000")])
def test_shares_are_shown_to_the_third_digit(value, shown):
    assert short(value) == shown
