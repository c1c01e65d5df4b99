"""Pictures: one for each sweep that has points, the same bytes for the same points."""

import json

import pytest

from backscroll.v1 import context_pb2
from backscroll_bench.speed import drawing
from backscroll_bench.speed.load import Questions
from backscroll_bench.speed.questions import elsewhere
from backscroll_bench.speed.sweeps import SWEEPS

pytest.importorskip("matplotlib")

LATENCY = {"p50_ms": 0.5, "p99_ms": 0.9, "r0_p50_ms": 0.3, "r0_p99_ms": 0.4}
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
    assert [path.name for path in written] == ["points.json", *(f"{one}.svg" for one in SWEEPS)]
    assert json.loads(written[0].read_text())["points"] == POINTS
    for path in written[1:]:
        text = path.read_text()
        assert text.startswith("<?xml")
        assert "measured somewhere" in text
    assert "classic_full" in written[1].read_text()
    again = drawing.write(POINTS, {"cpu": "A CPU"}, "measured somewhere", tmp_path / "again")
    assert [one.read_bytes() for one in again] == [one.read_bytes() for one in written]


@pytest.mark.slow
def test_a_sweep_without_points_is_not_drawn(tmp_path):
    points = {name: POINTS[name] if name == "channels" else [] for name in POINTS}
    written = drawing.write(points, {}, "", tmp_path)
    assert [path.name for path in written] == ["points.json", "channels.svg"]


async def nobody(request):
    raise AssertionError("nothing is asked here")


def test_each_channel_is_asked_once_with_the_questions_by_turns():
    request = context_pb2.BuildContextRequest(channel="first", question="a").SerializeToString()
    made = elsewhere(Questions(nobody, [request, request + b""], [10, 20]), ["x", "y", "z"])
    asked = [context_pb2.BuildContextRequest.FromString(one) for one in made.requests]
    assert [one.channel for one in asked] == ["x", "y", "z"]
    assert made.replies == [10, 20, 10]
