"""Panels worked out of samples: by hand, and as Prometheus would."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import pytest

from backscroll_sidecar.telemetry.panel_data import drawn_panels, in_unit
from backscroll_sidecar.telemetry.panels import PANELS

NONE: Mapping[str, str] = MappingProxyType({})


class One(NamedTuple):
    name: str
    value: float
    labels: Mapping[str, str] = NONE
    period: str = ""


class Minute(NamedTuple):
    began_at_ms: int
    samples: Sequence[One] = ()


def of(name: str, value: float, **labels: str) -> One:
    return One(f"backscroll_{name}", value, labels)


def busy(ranked: float, recent: float = 0, errors: float = 0) -> list[One]:
    """A minute of builds of 2 ms, of which a tenth takes 8 ms."""
    count = ranked + recent
    buckets = {"0.002": 0.9 * count, "0.005": 0.9 * count, "0.01": count, "+Inf": count}
    return [
        of("context_builds_total", ranked, rung="ranked"),
        of("context_builds_total", recent, rung="recent"),
        of("context_build_errors_total", errors, reason="INTERNAL"),
        of("context_build_seconds_sum", 0.0026 * count),
        of("context_build_seconds_count", count),
        *(of("context_build_seconds_bucket", n, le=le) for le, n in buckets.items()),
        of("context_text_tokens_total", 30 * count, of="shown"),
        of("context_text_tokens_total", 100 * count, of="window"),
        of("context_cache_requests_total", 3, result="hit"),
        of("context_cache_requests_total", 1, result="miss"),
        of("relevance_score_bucket", 2, profile="classic", le="0.5"),
        of("relevance_score_bucket", 5, profile="classic", le="1.0"),
        of("relevance_score_bucket", 5, profile="classic", le="+Inf"),
        of("relevance_score_sum", 3, profile="classic"),
        of("relevance_score_count", 5, profile="classic"),
    ]


def test_panels_by_hand():
    """Whole minutes from the first on in which something happened; a gap where there is nothing to divide by."""
    minutes = [
        Minute(0),
        Minute(60_000, busy(90, 10, 0)),
        Minute(120_000),
        Minute(180_000, busy(20, 0, 5)),
    ]
    running = Minute(240_000, busy(1))
    now = [
        One("backscroll_user_satisfaction_score", 0.6, {}, "hour"),
        One("backscroll_user_satisfaction_score", 0.9, {}, "start"),
        One("backscroll_writer_queue_items", 7),
        One("backscroll_token_count_error", 0.07, {"model": "m", "counts": "plain"}, "hour"),
        One("backscroll_token_count_error", 0.01, {"model": "m", "counts": "calibrated"}, "hour"),
    ]
    found = {one.panel.name: one for one in drawn_panels(now, [*minutes, running])}
    assert list(found) == [panel.name for panel in PANELS]
    assert found["build_time"].times_ms == [60_000, 120_000, 180_000]
    series = {name: one.series for name, one in found.items()}
    assert series["contexts_per_minute"] == {"ranked": [90, None, 20], "recent": [10, None, 0]}
    assert series["build_time"]["average"] == [pytest.approx(0.0026), None, pytest.approx(0.0026)]
    assert series["build_time"]["95 %"] == [pytest.approx(0.0075), None, pytest.approx(0.0075)]
    assert series["errors_and_fallbacks"] == {"errors": [0, None, 0.2], "fallbacks": [0.1, None, 0]}
    assert series["token_savings"]["saved"] == [pytest.approx(0.7), None, pytest.approx(0.7)]
    assert series["cache_hits"]["hits"] == [0.75, None, 0.75]
    assert series["relevance"] == {"classic": [0.6, None, 0.6]}
    assert series["score_distribution"] == {"0.5": [6], "1.0": [9]}
    assert series["feedback"] == {"satisfaction": [0.6]}
    assert series["token_count_error"] == {"m": [0.07]}
    assert series["queues"] == {"writer": [7]}
    assert series["stage_time"] == {}


def test_nothing_happened():
    """No minute, no value, and no zero where there is no data."""
    found = drawn_panels([], [Minute(60_000 * n) for n in range(60)])
    assert all(one.times_ms == [] for one in found)
    assert {name for one in found for name in one.series} == set()


@pytest.mark.parametrize(
    ("value", "unit", "words"),
    [
        (0.0018, "s", "1.8 ms"),
        (0.9997, "s", "1,000 ms"),
        (1_234.5, "s", "1,234 s"),
        (1_234.5, "tokens", "1,234 tokens"),
        (99.96, "", "100"),
        (1_234_567, "", "1,234,567"),
        (0.9537, "1", "95.4%"),
        (0.305, "score", "0.30"),
    ],
)
def test_numbers_are_written_out(value: float, unit: str, words: str) -> None:
    assert in_unit(value, unit) == words
