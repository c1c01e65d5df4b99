"""A run with parts made by hand: noise is tried again, then refused; no server is started."""

from contextlib import contextmanager
from dataclasses import replace

import pytest

from backscroll_bench.speed.reading import Reading
from backscroll_bench.speed.run import TRIES, measure
from backscroll_bench.speed.sizes import sizes
from backscroll_bench.speed.stats import Absent, Noise, Rounds, Wrong
from tests.unit.bench_speed.results import LOWER, Row

CALM, BUSY = (1.0, 1.5), (1.0, 3.0)
OTHER = Row("other", "part", "p99", "the same part", "x R0", None, None)


class Part:
    """Gives one reading after the other."""

    def __init__(self, *bases, calm=()):
        self.bases, self.calm, self.calls = bases, calm, 0

    async def __call__(self, bench):
        base = self.bases[min(self.calls, len(self.bases) - 1)]
        self.calls += 1
        rounds = Rounds((2.0, 2.0), base)
        return {"p50": Reading(rounds.ratio, {}, rounds, self.calm), "p99": Reading(3.0)}


@contextmanager
def no_server(flags, directory):
    raise AssertionError("these parts need no server")
    yield


@pytest.fixture(autouse=True)
def no_echo(monkeypatch):
    @contextmanager
    def nothing():
        yield "127.0.0.1:1"

    monkeypatch.setattr("backscroll_bench.speed.fixture.echo_server", nothing)


def run(tmp_path, part, rows=(LOWER,), **options):
    return measure(
        rows, no_server, tmp_path, tmp_path, sizes(2, quick=True), parts={"part": part}, **options
    )


def test_rows_of_one_part_are_measured_once(tmp_path):
    part, told = Part(CALM), []
    results = run(tmp_path, part, (LOWER, OTHER), progress=told.append)
    assert [(one.row.name, one.noise) for one in results] == [("quick", ""), ("other", "")]
    assert (results[1].reading.value, part.calls, told) == (3.0, 1, ["part", ""])


def test_a_noisy_part_is_measured_again(tmp_path):
    part = Part(BUSY, CALM)
    (one,) = run(tmp_path, part)
    assert (one.noise, part.calls) == ("", 2)


def test_a_part_that_stays_noisy_is_refused(tmp_path):
    part = Part(BUSY)
    with pytest.raises(Noise, match=r"part is compared with differ by 3\.0x"):
        run(tmp_path, part)
    assert part.calls == TRIES


def test_noise_that_is_allowed_is_marked(tmp_path):
    part = Part(BUSY)
    (one,) = run(tmp_path, part, allow_noise=True)
    assert (part.calls, one.reading.value) == (1, pytest.approx((2.0 + 2 / 3) / 2))
    assert "differ by 3.0x" in one.noise


def test_a_part_may_say_what_shows_the_noise(tmp_path):
    (one,) = run(tmp_path, Part(BUSY, calm=CALM))
    assert one.noise == ""


def test_a_part_that_has_nothing_to_compare_with_is_no_failure(tmp_path):
    async def part(bench):
        raise Absent("make peers")

    (one,) = run(tmp_path, part)
    assert (one.is_missing, one.held, one.reading.absent, one.reading.fails) == (
        True,
        None,
        "make peers",
        "",
    )


@pytest.mark.parametrize("many", [False, True])
def test_a_part_that_cannot_be_measured_costs_its_own_rows_only(tmp_path, many):
    async def part(bench):
        wrong = Wrong("BuildContext failed: UNAVAILABLE")
        raise ExceptionGroup("callers", [wrong]) if many else wrong

    rows = (LOWER, replace(OTHER, part="fine"))
    missing, fine = measure(
        rows, no_server, tmp_path, tmp_path, sizes(2, quick=True),
        parts={"part": part, "fine": Part(CALM)},
    )  # fmt: skip
    assert (missing.is_missing, missing.held, missing.reading.fails) == (
        True,
        False,
        "BuildContext failed: UNAVAILABLE",
    )
    assert fine.reading.value == 3.0
