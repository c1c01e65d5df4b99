"""What a server counts, as pages show it: trends and health. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from backscroll.v1 import admin_pb2
from backscroll_sidecar.inspector.charts import Curve, curves
from backscroll_sidecar.telemetry.catalogue import HOUR, START
from backscroll_sidecar.telemetry.panel_data import Drawn, drawn_panels, in_unit

WORST_ERRORS, WORST_FALLBACKS = 0.01, 0.05
"""Shares of the last hour above which somebody should look."""
WORST_QUEUE = 1_000.0


@dataclass(frozen=True, slots=True)
class SeriesView:
    """One series: its last value in words, and all of them."""

    name: str
    last: str
    values: Sequence[float | None]
    share: float


@dataclass(frozen=True, slots=True)
class PanelView:
    """One panel. `curves` only over time; else each series has its `share` of the largest."""

    name: str
    title: str
    says: str
    kind: str
    top: str
    from_ms: int
    until_ms: int
    series: Sequence[SeriesView]
    curves: Sequence[Curve]


@dataclass(frozen=True, slots=True)
class PeriodRow:
    """One number since the start and of the last hour."""

    name: str
    labels: str
    start: str
    hour: str


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that may be wrong. `key` names its texts in `page_texts`."""

    key: str
    is_well: bool
    value: str


def panels(answer: admin_pb2.GetMetricsResponse) -> list[PanelView]:
    """The panels of the dashboard over the last minutes; those without data are left out."""
    return [_panel(one) for one in drawn_panels(answer.samples, answer.minutes) if _known(one)]


def periods(answer: admin_pb2.GetMetricsResponse) -> list[PeriodRow]:
    """Every number that is of a period."""
    rows: dict[tuple[str, str, str], dict[str, float]] = {}
    for one in answer.samples:
        if one.period:
            labels = " ".join(f"{name}={value}" for name, value in sorted(one.labels.items()))
            rows.setdefault((one.name, labels, one.unit), {})[one.period] = one.value
    return [
        PeriodRow(
            name.removeprefix("backscroll_"),
            labels,
            *(in_unit(values[p], unit) if p in values else "" for p in (START, HOUR)),
        )
        for (name, labels, unit), values in rows.items()
    ]


def checks(answer: admin_pb2.GetMetricsResponse) -> list[Check]:
    """What may be wrong with a server, by what it counts."""
    values = {one.panel.name: one for one in drawn_panels(answer.samples, answer.minutes)}
    errors, fallbacks = (
        _mean(values["errors_and_fallbacks"], name) for name in ("errors", "fallbacks")
    )
    queues = values["queues"].series
    found = [
        Check("errors", (errors or 0) <= WORST_ERRORS, _share(errors)),
        Check("fallbacks", (fallbacks or 0) <= WORST_FALLBACKS, _share(fallbacks)),
    ]
    for name, of in queues.items():
        value = of[0] or 0.0
        found.append(Check(f"queue_{name}", value <= WORST_QUEUE, in_unit(value, "")))
    return found


def _panel(one: Drawn) -> PanelView:
    unit = one.panel.unit
    largest = max((v for of in one.series.values() for v in of if v is not None), default=0.0)
    whole = 1.0 if unit == "1" else largest
    drawn, top = curves(list(one.series.items())) if one.panel.kind == "lines" else ((), largest)
    return PanelView(
        one.panel.name,
        one.panel.title,
        one.panel.says,
        one.panel.kind,
        in_unit(top, unit),
        one.times_ms[0] if one.times_ms else 0,
        one.times_ms[-1] if one.times_ms else 0,
        [
            SeriesView(name, in_unit(last, unit), of, last / whole if whole else 0.0)
            for name, of in one.series.items()
            for last in ([v for v in of if v is not None] or [0.0])[-1:]
        ],
        drawn,
    )


def _known(one: Drawn) -> bool:
    return any(v is not None for of in one.series.values() for v in of)


def _mean(one: Drawn, name: str) -> float | None:
    known = [v for v in one.series.get(name, ()) if v is not None]
    return sum(known) / len(known) if known else None


def _share(value: float | None) -> str:
    return "" if value is None else in_unit(value, "1")
