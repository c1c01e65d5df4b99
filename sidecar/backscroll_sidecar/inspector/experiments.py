"""Experiments and what their arms came to, as pages show it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from backscroll.v1 import experiment_pb2 as pb
from backscroll_sidecar.inspector.charts import Interval, interval
from backscroll_sidecar.inspector.question_fields import Pairs, pairs_of
from backscroll_sidecar.telemetry.panel_data import in_unit

MEASURES = (
    ("build_milliseconds", "ms"),
    ("tokens", ""),
    ("accuracy", "1"),
    ("fallbacks", "1"),
    ("recall", "1"),
    ("same_messages", "1"),
)


@dataclass(frozen=True, slots=True)
class ExperimentLine:
    """One experiment in a list."""

    experiment_id: str
    description: str
    state: str
    starts_at_ms: int
    stops_at_ms: int
    coverage: float
    holdout: float
    arms: Sequence[tuple[str, float, Pairs]]
    shadow: Pairs


@dataclass(frozen=True, slots=True)
class Measure:
    """What one arm came to in one number; drawn on the scale of all arms."""

    text: str
    low: str
    high: str
    count: int
    drawn: Interval


@dataclass(frozen=True, slots=True)
class ArmRow:
    """One arm of a report; None: not measured."""

    arm: str
    is_shadow: bool
    is_listed: bool
    builds: int
    channels: int
    measures: Sequence[Measure | None]


@dataclass(frozen=True, slots=True)
class Report:
    """A whole report."""

    experiment: ExperimentLine
    names: Sequence[str]
    arms: Sequence[ArmRow]
    since_ms: int
    is_alarm: bool
    notes: Sequence[str]


def experiment_line(one: pb.Experiment) -> ExperimentLine:
    """An experiment in a list."""
    return ExperimentLine(
        one.experiment_id,
        one.description,
        pb.ExperimentState.Name(one.state).removeprefix("EXPERIMENT_STATE_").lower(),
        one.starts_at_ms,
        one.stops_at_ms,
        one.coverage if one.HasField("coverage") else 1.0,
        one.holdout,
        [
            (arm.name, arm.weight if arm.HasField("weight") else 1.0, _settings(arm))
            for arm in one.arms
        ],
        _settings(one.shadow) if one.HasField("shadow") else [],
    )


def report(answer: pb.GetExperimentReportResponse) -> Report:
    """What the arms came to."""
    names = [name for name, _ in MEASURES if any(arm.HasField(name) for arm in answer.arms)]
    units = dict(MEASURES)
    most = {name: max(_highest(arm, name) for arm in answer.arms) for name in names}
    return Report(
        experiment_line(answer.experiment),
        names,
        [
            ArmRow(
                arm.arm,
                arm.is_shadow,
                arm.is_listed,
                arm.builds,
                arm.channels,
                [_measure(arm, name, units[name], most[name]) for name in names],
            )
            for arm in answer.arms
        ],
        answer.since_ms,
        answer.sample_ratio_alarm,
        list(answer.notes),
    )


def _settings(arm: pb.ExperimentArm) -> Pairs:
    return [(name, value) for name, value in pairs_of(arm) if name not in {"name", "weight"}]


def _highest(arm: pb.ArmReport, name: str) -> float:
    if not arm.HasField(name):
        return 0.0
    found: pb.Measured = getattr(arm, name)
    return max(found.mean, found.upper if found.HasField("upper") else 0.0)


def _measure(arm: pb.ArmReport, name: str, unit: str, most: float) -> Measure | None:
    if not arm.HasField(name):
        return None
    found: pb.Measured = getattr(arm, name)
    lower = found.lower if found.HasField("lower") else None
    upper = found.upper if found.HasField("upper") else None
    return Measure(
        in_unit(found.mean, unit),
        "" if lower is None else in_unit(lower, unit),
        "" if upper is None else in_unit(upper, unit),
        found.count,
        interval(found.mean, lower, upper, most),
    )
