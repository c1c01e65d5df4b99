"""`backscroll bench`: when it exits with 0 and when not, whatever was measured."""

import json
import math

import pytest

from backscroll_bench.speed.reading import Reading
from backscroll_bench.speed.report import Result
from backscroll_bench.speed.rows import find_rows
from backscroll_bench.speed.stats import Noise
from backscroll_sidecar.cli import main

HELD, MISSED = 1.5, 2.5


@pytest.fixture
def measured(monkeypatch, tmp_path):
    """Says what is measured instead of measuring."""
    monkeypatch.setenv("BACKSCROLL_STATE_DIR", str(tmp_path))

    def answers(reading):
        def measure(rows, *_, **__):
            if isinstance(reading, Exception):
                raise reading
            return [Result(row, reading) for row in rows]

        monkeypatch.setattr("backscroll_bench.speed.run.measure", measure)

    return answers


@pytest.mark.parametrize(
    ("value", "arguments", "code"),
    [
        (HELD, ["--slo"], 0),
        (MISSED, ["--slo"], 1),
        (MISSED, [], 0),  # nothing is held against anything
    ],
)
def test_a_breach_exits_with_1(measured, capsys, value, arguments, code):
    measured(Reading(value, {"p50_ms": 0.5, "p99_ms": 1.0}))
    assert main(["bench", "balanced-10k", *arguments, "--json"]) == code
    said = capsys.readouterr()
    (row,) = json.loads(said.out)["rows"]
    assert (row["value"], row["held"]) == (value, value == HELD)
    assert ("balanced-10k: value is 2.5" in said.err) == bool(code)


def test_a_machine_that_is_busy_is_refused(measured, capsys):
    measured(Noise("balanced-10k", 2.6))
    assert main(["bench", "balanced-10k"]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert "differ by 2.6x" in said.err
    assert "--allow-noise" in said.err


@pytest.mark.parametrize(("rows", "code"), [([], 0), (["peer-chromadb"], 1)])
def test_what_is_not_installed_is_an_error_only_where_it_is_named(measured, capsys, rows, code):
    measured(Reading(math.nan, absent="make peers"))
    assert main(["bench", *rows, "--slo", "--json"]) == code
    said = capsys.readouterr()
    shown = json.loads(said.out)["rows"]
    assert [one["name"] for one in shown] == [row.name for row in find_rows(tuple(rows))]
    assert {one["held"] for one in shown} == {None}
    assert ("make peers" in said.err) == bool(code)


def test_a_row_that_fails_is_an_error(measured, capsys):
    measured(Reading(math.nan, fails="BuildContext failed: UNAVAILABLE"))
    assert main(["bench", "balanced-10k"]) == 1
    assert "balanced-10k: BuildContext failed: UNAVAILABLE" in capsys.readouterr().err


def test_plots_need_matplotlib_and_say_so(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr("backscroll_bench.speed.drawing.can_draw", lambda: False)
    assert main(["bench", "--plots", str(tmp_path / "pictures")]) == 1
    assert "plots need matplotlib" in capsys.readouterr().err
    assert not (tmp_path / "pictures").exists()
