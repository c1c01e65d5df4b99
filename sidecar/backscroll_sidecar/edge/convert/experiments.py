"""Experiments and rollouts on the wire."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from backscroll.v1 import context_pb2, experiment_pb2
from backscroll_sidecar.context.profiles import Profile, find_profile
from backscroll_sidecar.domain import Overrides
from backscroll_sidecar.edge.convert.channel_settings import overrides_to_proto
from backscroll_sidecar.edge.convert.context import overrides_from_proto
from backscroll_sidecar.edge.convert.fields import (
    LAYOUT_NUMBERS,
    check_count,
    check_id,
    check_range,
    check_text,
    check_time,
    enum_value,
    invalid,
    missing,
    numbers_of,
    required_id,
    words_of,
)
from backscroll_sidecar.edge.convert.usage import SIGNAL_KINDS
from backscroll_sidecar.edge.limits import (
    MAX_ARM_NAME_BYTES,
    MAX_ARMS,
    MAX_EXPERIMENT_ID_BYTES,
    MAX_FEEDBACK_BYTES,
    MAX_LISTED_CHANNELS,
)
from backscroll_sidecar.learning.experiment_reads import FoundReport
from backscroll_sidecar.learning.experiment_report import ArmReport, Measured
from backscroll_sidecar.learning.experiment_settings import (
    AssignedBy,
    ExperimentSettings,
    ExperimentState,
    PlannedArm,
)
from backscroll_sidecar.learning.experiments import KeptExperiment
from backscroll_sidecar.ports import CONTROL, HOLDOUT, ArmSettings

_ASSIGNED = numbers_of(AssignedBy, experiment_pb2.AssignedBy, "ASSIGNED_BY")
_ASSIGNED_WORDS = words_of(_ASSIGNED, AssignedBy.HASH)
_STATES = numbers_of(ExperimentState, experiment_pb2.ExperimentState, "EXPERIMENT_STATE")
_LAYOUTS = words_of(LAYOUT_NUMBERS, None)
_MOST_WEIGHT, _LEAST_WEIGHT = 1e6, 1e-6
_MOST_VERSION = 1_000_000
_WHERE = "experiment"


def experiment_from_proto(
    request: experiment_pb2.PutExperimentRequest, profiles: Mapping[str, Profile]
) -> tuple[str, ExperimentSettings, int | None]:
    """An id, what is to be kept under it, and the start asked for; `profiles`: those there are."""
    if not request.HasField("experiment"):
        raise missing(_WHERE)
    given = request.experiment
    id_ = experiment_id(given.experiment_id, f"{_WHERE}.experiment_id")
    settings = ExperimentSettings(
        _arms(given.arms, profiles),
        check_range(given.coverage, f"{_WHERE}.coverage", 0.0, 1.0)
        if given.HasField("coverage")
        else 1.0,
        _holdout(given.holdout),
        _channels(given.allowed_channels, "allowed_channels"),
        _channels(given.denied_channels, "denied_channels"),
        _shadow(given, profiles),
        enum_value(_ASSIGNED_WORDS, given.assigned_by, f"{_WHERE}.assigned_by"),
        stops_at_ms=_time(given, "stops_at_ms"),
        description=check_text(given.description, f"{_WHERE}.description", MAX_FEEDBACK_BYTES),
        bucket_version=check_range(
            given.bucket_version, f"{_WHERE}.bucket_version", 0, _MOST_VERSION
        )
        if given.HasField("bucket_version")
        else 1,
    )
    _check_resolver(settings)
    return id_, settings, _time(given, "starts_at_ms")


def experiment_id(value: str, field: str = "experiment_id") -> str:
    """An id that must be set. Metrics have it as a label."""
    if not value:
        raise missing(field)
    check_text(value, field, MAX_EXPERIMENT_ID_BYTES)
    if not value.isprintable():
        raise invalid(field, "has characters that cannot be printed")
    return value


def _arms(
    given: Sequence[experiment_pb2.ExperimentArm], profiles: Mapping[str, Profile]
) -> tuple[PlannedArm, ...]:
    where = f"{_WHERE}.arms"
    if not given:
        raise missing(where)
    check_count(len(given), where, MAX_ARMS)
    arms = tuple(_arm(one, f"{where}[{place}]", profiles) for place, one in enumerate(given))
    names = [arm.name for arm in arms]
    for place, name in enumerate(names):
        if name in names[:place]:
            raise invalid(f"{where}[{place}].name", "is that of another arm")
        if name == HOLDOUT or (name == CONTROL and len(arms) == 1):
            raise invalid(
                f"{where}[{place}].name", "is what channels without an arm are recorded as"
            )
    return arms


def _arm(
    given: experiment_pb2.ExperimentArm, where: str, profiles: Mapping[str, Profile]
) -> PlannedArm:
    if not given.name:
        raise missing(f"{where}.name")
    name = check_text(given.name, f"{where}.name", MAX_ARM_NAME_BYTES)
    if not name.isprintable():
        raise invalid(f"{where}.name", "has characters that cannot be printed")
    weight = given.weight if given.HasField("weight") else 1.0
    check_range(weight, f"{where}.weight", _LEAST_WEIGHT, _MOST_WEIGHT)
    profile = check_id(given.profile, f"{where}.profile")
    if profile:
        find_profile(profiles, profile, f"{where}.profile")
    return PlannedArm(
        name,
        weight,
        ArmSettings(
            profile,
            overrides_from_proto(given.overrides, f"{where}.overrides"),
            enum_value(_LAYOUTS, given.layout, f"{where}.layout"),
        ),
    )


def _shadow(given: experiment_pb2.Experiment, profiles: Mapping[str, Profile]) -> PlannedArm | None:
    if not given.HasField("shadow"):
        return None
    where = f"{_WHERE}.shadow"
    arm = _arm(given.shadow, where, profiles)
    if arm.name in {CONTROL, HOLDOUT, *(one.name for one in given.arms)}:
        raise invalid(f"{where}.name", "is that of another arm")
    return PlannedArm(arm.name, settings=arm.settings)


def _holdout(share: float) -> float:
    check_range(share, f"{_WHERE}.holdout", 0.0, 1.0)
    if share == 1.0:
        raise invalid(f"{_WHERE}.holdout", "leaves no channel for the arms")
    return share


def _channels(given: Sequence[str], name: str) -> tuple[str, ...]:
    where = f"{_WHERE}.{name}"
    check_count(len(given), where, MAX_LISTED_CHANNELS)
    found = (required_id(one, f"{where}[{place}]") for place, one in enumerate(given))
    return tuple(dict.fromkeys(found))


def _time(given: experiment_pb2.Experiment, name: str) -> int | None:
    if not given.HasField(name):
        return None
    return check_time(getattr(given, name), f"{_WHERE}.{name}")


def _check_resolver(settings: ExperimentSettings) -> None:
    """Refuse what a resolver's answers would not heed."""
    if settings.assigned_by is not AssignedBy.RESOLVER:
        return
    for name, usual in (("coverage", 1.0), ("holdout", 0.0), ("allowed", ())):
        if getattr(settings, name) != usual:
            field = f"{_WHERE}.{'allowed_channels' if name == 'allowed' else name}"
            raise invalid(field, "is up to the resolver")


def experiment_to_proto(one: KeptExperiment, now_ms: int) -> experiment_pb2.Experiment:
    """An experiment as callers read it."""
    settings = one.settings
    told = experiment_pb2.Experiment(
        experiment_id=one.id,
        arms=[_arm_to_proto(arm.name, arm.settings, arm.weight) for arm in settings.arms],
        coverage=settings.coverage,
        holdout=settings.holdout,
        allowed_channels=settings.allowed,
        denied_channels=settings.denied,
        assigned_by=_ASSIGNED[settings.assigned_by],
        starts_at_ms=settings.starts_at_ms,
        stops_at_ms=settings.stops_at_ms,
        description=settings.description,
        bucket_version=settings.bucket_version,
        state=_STATES[settings.state_at(now_ms)],
        updated_at_ms=one.updated_at_ms,
        comparable_since_ms=settings.comparable_since_ms,
    )
    if settings.shadow is not None:
        told.shadow.CopyFrom(_arm_to_proto(settings.shadow.name, settings.shadow.settings))
    return told


def report_to_proto(found: FoundReport, now_ms: int) -> experiment_pb2.GetExperimentReportResponse:
    """A report as callers read it."""
    told = experiment_pb2.GetExperimentReportResponse(
        experiment=experiment_to_proto(found.experiment, now_ms),
        since_ms=found.since_ms,
        sample_ratio_probability=found.probability,
        sample_ratio_alarm=found.is_alarming,
        notes=found.notes,
    )
    for arm in found.arms:
        told.arms.append(_report_of(arm))
        for (name, kind), count in found.signals.items():
            if name == arm.name:
                told.arms[-1].signals.add(kind=SIGNAL_KINDS[kind], count=count)
    for arm in found.listed:
        told.arms.append(_report_of(arm, is_listed=True))
    if found.shadow is not None:
        told.arms.append(_report_of(found.shadow, is_shadow=True))
    return told


def _report_of(
    arm: ArmReport, *, is_listed: bool = False, is_shadow: bool = False
) -> experiment_pb2.ArmReport:
    return experiment_pb2.ArmReport(
        arm=arm.name,
        is_shadow=is_shadow,
        is_listed=is_listed,
        builds=arm.builds,
        channels=arm.channels,
        build_milliseconds=_measured(arm.response_ms),
        build_milliseconds_median=arm.response_ms_median,
        build_milliseconds_p95=arm.response_ms_p95,
        tokens=_measured(arm.tokens),
        accuracy=_measured(arm.accuracy),
        fallbacks=_measured(arm.fallbacks),
        recall=_measured(arm.recall),
        same_messages=_measured(arm.same_messages),
    )


def _measured(one: Measured | None) -> experiment_pb2.Measured | None:
    if one is None:
        return None
    is_known = math.isfinite(one.interval.lower) and math.isfinite(one.interval.upper)
    return experiment_pb2.Measured(
        mean=one.mean,
        lower=one.interval.lower if is_known else None,
        upper=one.interval.upper if is_known else None,
        count=one.count,
    )


def _arm_to_proto(
    name: str, settings: ArmSettings, weight: float | None = None
) -> experiment_pb2.ExperimentArm:
    given: dict[str, Any] = {"name": name, "weight": weight, "profile": settings.profile}
    if settings.overrides != Overrides():
        given["overrides"] = overrides_to_proto(settings.overrides)
    given["layout"] = (
        context_pb2.LAYOUT_UNSPECIFIED
        if settings.layout is None
        else LAYOUT_NUMBERS[settings.layout]
    )
    return experiment_pb2.ExperimentArm(**given)
