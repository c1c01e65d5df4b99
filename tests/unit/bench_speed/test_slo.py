"""Objectives: what a file may say, and what is a breach."""

import math

import pytest

from backscroll_bench.speed.reading import Reading
from backscroll_bench.speed.report import Result
from backscroll_bench.speed.rows import ROWS
from backscroll_bench.speed.slo import Objective, SloError, breaches, read_slo
from tests.unit.bench_speed.results import HIGHER, LOWER, result

FILE = """
[balanced-10k]
p50_ms = 1.5
p99_ms = 5
value = 2.0
"""


def test_a_file_holds_milliseconds_and_ratios(tmp_path):
    path = tmp_path / "slo.toml"
    path.write_text(FILE)
    assert read_slo(path) == [
        Objective("balanced-10k", "p50_ms", 1.5),
        Objective("balanced-10k", "p99_ms", 5.0),
        Objective("balanced-10k", "value", 2.0),
    ]


def test_the_file_that_ships_names_rows_that_exist_and_no_ratio_below_its_gate():
    """What ships asks for no less than the gates, which are bounds of a row's value."""
    objectives = read_slo(None)
    assert {"p50_ms", "p99_ms", "value"} == {one.bound for one in objectives}
    rows = {row.name: row for row in ROWS}
    for one in objectives:
        if one.bound == "value":
            assert rows[one.row].holds(one.limit), one


def test_the_file_that_ships_asks_for_every_gate():
    """`--slo` without a file is the table of gates: a row that misses its gate is a breach."""
    asked = {one.row: one.limit for one in read_slo(None) if one.bound == "value"}
    assert asked == {row.name: row.gate for row in ROWS if row.gate is not None}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[nope]\nvalue = 1", "there is no row nope"),
        ("[balanced-10k]\np95_ms = 1", "a row has p50_ms, p99_ms, value"),
        ("[balanced-10k]\nvalue = 0", "must be a number above 0"),
        ("[balanced-10k]\nvalue = true", "must be a number above 0"),
        ("[balanced-10k]\nvalue = 'x'", "must be a number above 0"),
        ("balanced-10k = 3", "a row has"),
        ("[balanced-10k", "slo.toml: "),
    ],
)
def test_a_file_that_means_nothing_is_refused(tmp_path, text, says):
    path = tmp_path / "slo.toml"
    path.write_text(text)
    with pytest.raises(SloError) as refused:
        read_slo(path)
    assert says in str(refused.value)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(SloError, match=r"gone\.toml: cannot be read"):
        read_slo(tmp_path / "gone.toml")


@pytest.mark.parametrize(
    ("bound", "limit", "broken"),
    [
        ("p50_ms", 0.5, False), ("p50_ms", 0.49, True), ("p99_ms", 2.0, False), ("p99_ms", 1.9, True),
        ("value", 1.6, False), ("value", 1.5, True),
    ],
)  # fmt: skip
def test_a_breach_is_more_than_the_limit(bound, limit, broken):
    one = result(LOWER, 1.6, p50_ms=0.5, p99_ms=2.0)
    assert bool(breaches([Objective("quick", bound, limit)], [one])) is broken


def test_where_more_is_better_a_breach_is_less():
    one = result(HIGHER, 0.5)
    assert not breaches([Objective("many", "value", 0.5)], [one])
    (breach,) = breaches([Objective("many", "value", 0.6)], [one])
    assert str(breach) == "many: value is 0.5, the objective is 0.6"


def test_a_figure_that_means_nothing_or_is_missing_holds_no_objective():
    (fails,) = breaches([Objective("quick", "value", 9.0)], [result(LOWER, 1.0, fails="too slow")])
    assert str(fails) == "quick: too slow"
    (missing,) = breaches([Objective("quick", "p50_ms", 9.0)], [result(LOWER, 1.0)])
    assert str(missing) == "quick: has no p50_ms"


def test_rows_that_were_not_measured_are_passed_over():
    assert breaches([Objective("many", "value", 0.6)], [result(LOWER, 1.0)]) == []
    absent = Result(HIGHER, Reading(math.nan, absent="make peers"))
    assert breaches([Objective("many", "value", 0.6)], [absent]) == []
