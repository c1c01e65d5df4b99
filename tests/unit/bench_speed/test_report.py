"""A result as JSON, as a table, as Markdown."""

import io
import json
import math

import pytest
from rich.console import Console

from backscroll_bench.speed.reading import Reading
from backscroll_bench.speed.report import Result, figure, markdown, remarks_of, terminal
from backscroll_bench.speed.stats import Rounds
from tests.unit.bench_speed.results import HIGHER, LOWER, TOLD, result

MACHINE = {
    "measured_on": "2026-11-22",
    "cpu": "A CPU",
    "cores": 2,
    "cores_awake": True,
    "loop_core": 0,
    "versions": {"grpcio": "1.85"},
}


def test_a_row_says_what_was_held_and_reached():
    """JSON has these six fields and no other; the rest is there where it is asked for."""
    one = result(LOWER, 1.6, p50_ms=0.4)
    expected = {
        "name": "quick",
        "value": 1.6,
        "gate": 2.0,
        "goal": 1.5,
        "held": True,
        "reached": False,
    }
    assert one.as_json() == expected
    body = one.as_full_json()
    assert expected.items() <= body.items()
    assert body["details"] == {"p50_ms": 0.4}
    assert not {"noise", "fails", "rounds"} & body.keys()
    assert json.loads(json.dumps(body)) == body


def test_a_row_keeps_its_rounds():
    reading = Reading(2.0, rounds=Rounds((2.0, 4.0), (1.0, 2.0)))
    assert Result(LOWER, reading).as_full_json()["rounds"] == {
        "values": [2.0, 4.0],
        "bases": [1.0, 2.0],
    }


def test_what_fails_is_not_held_whatever_its_value():
    one = result(LOWER, 1.0, fails="only 5 of 10 came in")
    assert (one.held, one.reached) == (False, False)
    assert one.as_full_json()["fails"] == "only 5 of 10 came in"
    assert remarks_of([one]) == ["quick: only 5 of 10 came in"]


def test_what_could_not_be_measured_has_no_value():
    one = result(LOWER, math.nan, fails="UNAVAILABLE")
    body = json.loads(json.dumps(one.as_json(), allow_nan=False))
    assert (body["value"], body["held"], body["reached"]) == (None, False, False)
    assert "| – | ≤ 2 | ≤ 1.5 | no | no |" in markdown([one], MACHINE, "")


def test_what_it_is_compared_with_may_be_absent():
    one = Result(LOWER, Reading(math.nan, absent="its venv is not there: make peers"))
    assert (one.is_missing, one.held, one.reached) == (True, None, None)
    assert one.as_json() == {
        "name": "quick", "value": None, "gate": 2.0, "goal": 1.5, "held": None, "reached": None,
    }  # fmt: skip
    assert one.as_full_json()["absent"] == "its venv is not there: make peers"
    assert remarks_of([one]) == ["quick: its venv is not there: make peers"]


def test_what_has_no_gate_is_neither_held_nor_not():
    one = result(TOLD, 3.0)
    assert (one.held, one.reached) == (None, None)


def test_noise_is_marked_and_told_once_a_part():
    results = [result(LOWER, 1.0, noise="busy"), result(HIGHER, 0.4, noise="busy")]
    page = markdown(results, MACHINE, "")
    assert "| ~1.00 x R0 | ≤ 2 | ≤ 1.5 | yes | yes |" in page
    assert "| ~0.4 of R0 | ≥ 0.5 | ≥ 0.7 | no | no |" in page
    assert page.count("~ part: busy") == 1
    assert "Measured on 2026-11-22: A CPU, 2 cores, event loops on core 0, grpcio 1.85." in page


def test_the_terminal_shows_every_row_on_a_line():
    console = Console(width=120, file=io.StringIO())
    results = [result(LOWER, 1.84, p50_ms=0.45, p99_ms=1.2), result(TOLD, 153)]
    console.print(terminal(results))
    lines = console.file.getvalue().splitlines()
    quick = next(line for line in lines if "quick" in line)
    assert [cell.strip() for cell in quick.split("│")] == [
        "quick", "1.84 x R0", "≤ 2", "≤ 1.5", "yes", "no", "0.45", "1.20",
    ]  # fmt: skip
    assert any("told" in line and "153 µs" in line for line in lines)
    console = Console(width=120, file=io.StringIO())
    console.print(
        terminal(results, judged=False)
    )  # figures that mean nothing are held against nothing
    quick = next(line for line in console.file.getvalue().splitlines() if "quick" in line)
    assert [cell.strip() for cell in quick.split("│")] == ["quick", "1.84 x R0", "0.45", "1.20"]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (21_345.6, "21,346"),
        (153.4, "153"),
        (15.96, "16.0"),
        (1.8449, "1.84"),
        (0.03125, "0.0312"),
        (0, "0"),
    ],
)
def test_figures_have_three_digits(value, shown):
    assert figure(value) == shown
