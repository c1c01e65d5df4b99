"""Pictures: one for each sweep that has points, the same bytes for the same points."""

import json
from pathlib import Path

import pytest

from backscroll.v1 import context_pb2
from backscroll_bench.speed import drawing, latency, read_slo
from backscroll_bench.speed.load import Questions
from backscroll_bench.speed.questions import elsewhere
from backscroll_bench.speed.sweeps import SWEEPS, Reach

pytest.importorskip("matplotlib")

PLOTS = Path(__file__).parents[3] / "bench/plots"

LATENCY = {
    "p50_ms": 0.5, "p99_ms": 0.9, "per_second": 1_900.4, "r0_p50_ms": 0.3, "r0_p99_ms": 0.4,
}  # fmt: skip
POINTS = {
    "history": [
        {"profile": profile, "messages": count, **LATENCY}
        for profile in ("balanced", "classic_full")
        for count in (1_000, 1_000_000)
    ],
    "channels": [{"channels": count, **LATENCY} for count in (1, 256)],
    "concurrency": [{"profile": "balanced", "callers": n, **LATENCY} for n in (1, 64)],
    "cold": [{"messages": n, "first_ms": n / 1e3, "slowest_ms": n / 500} for n in (1_000, 10_000)],
}


@pytest.mark.slow
def test_every_sweep_has_a_picture_and_the_points_stand_beside(tmp_path):
    """The same points give the same bytes, written again."""
    assert set(drawing.DRAWN) == set(SWEEPS) == set(POINTS)
    written = drawing.write(POINTS, {"cpu": "A CPU"}, "measured somewhere", tmp_path / "new")
    assert [path.name for path in written] == [
        "points.json", "latency.md", *(f"{one}.svg" for one in SWEEPS),
    ]  # fmt: skip
    assert json.loads(written[0].read_text())["points"] == POINTS
    for path in written[2:]:
        text = path.read_text()
        assert text.startswith("<?xml")
        assert "measured somewhere" in text
    assert "classic_full" in written[2].read_text()
    again = drawing.write(POINTS, {"cpu": "A CPU"}, "measured somewhere", tmp_path / "again")
    assert [one.read_bytes() for one in again] == [one.read_bytes() for one in written]


@pytest.mark.slow
def test_a_sweep_without_points_is_not_drawn(tmp_path):
    points = {name: POINTS[name] if name == "channels" else [] for name in POINTS}
    written = drawing.write(points, {}, "", tmp_path)
    assert [path.name for path in written] == ["points.json", "latency.md", "channels.svg"]


def test_the_tables_hold_every_point_against_its_objective():
    slow = [
        {**one, "p99_ms": 10.5} if one["channels"] == 256 else one for one in POINTS["channels"]
    ]
    body = {"points": {**POINTS, "channels": slow}, "note": "Measured somewhere."}
    page = latency.page(body, read_slo(None))
    assert "| 1,000,000 | `balanced` | 0.50 | 0.90 | 0.30 | 0.40 | 1,900 | 2 / 10, held |" in page
    assert "| 1,000,000 | `classic_full` | 0.50 | 0.90 | 0.30 | 0.40 | 1,900 |  |" in page
    assert "| 256 | `balanced` | 0.50 | 10.5 | 0.30 | 0.40 | 1,900 | 2 / 10, not held |" in page
    assert "| 10,000 | 10.0 | 20.0 |" in page
    assert "Measured somewhere." in page
    assert list(map(str, latency.late(read_slo(None), body["points"]))) == [
        "channels-256: p99_ms is 10.5, the objective is 10.0"
    ]


def test_there_is_an_objective_for_every_length_and_number_of_channels():
    """10^3 to 10^6 messages, 1 to 256 channels."""
    asked = {(one.row, one.bound) for one in read_slo(None)}
    reach = Reach()
    points = {
        "history": [{"profile": "balanced", "messages": n} for n in reach.history],
        "channels": [{"channels": n} for n in reach.channels],
    }
    assert (min(reach.history), max(reach.history)) == (1_000, 1_000_000)
    assert (min(reach.channels), max(reach.channels)) == (1, 256)
    assert {
        (name, bound) for name in latency.named(points) for bound in ("p50_ms", "p99_ms")
    } <= asked


def test_the_committed_tables_are_what_the_committed_points_give():
    """Latency with machine, versions and baseline named."""
    body = json.loads((PLOTS / "points.json").read_text("utf-8"))
    assert latency.page(body, read_slo(None)) == (PLOTS / "latency.md").read_text("utf-8")
    assert {one["messages"] for one in body["points"]["history"]} == set(Reach().history)
    assert {one["channels"] for one in body["points"]["channels"]} == set(Reach().channels)
    assert body["machine"]["cpu"] in body["note"]


async def nobody(request):
    raise AssertionError("nothing is asked here")


def test_each_channel_is_asked_once_with_the_questions_by_turns():
    request = context_pb2.BuildContextRequest(channel="first", question="a").SerializeToString()
    made = elsewhere(Questions(nobody, [request, request + b""], [10, 20]), ["x", "y", "z"])
    asked = [context_pb2.BuildContextRequest.FromString(one) for one in made.requests]
    assert [one.channel for one in asked] == ["x", "y", "z"]
    assert made.replies == [10, 20, 10]
