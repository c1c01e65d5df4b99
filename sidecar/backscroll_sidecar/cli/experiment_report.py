"""A report of an experiment in the terminal."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from rich.markup import escape
from rich.table import Table

from backscroll.v1 import experiment_pb2, feedback_pb2
from backscroll_sidecar.cli.console import out

_COLUMNS = (
    "arm", "builds", "channels", "ms", "p95", "tokens", "accuracy", "fallbacks", "recall", "same",
)  # fmt: skip


def show_report(found: experiment_pb2.GetExperimentReportResponse) -> None:
    """Arms as a table, signals apart, and what the figures cannot tell."""
    since = datetime.fromtimestamp(found.since_ms / 1_000, UTC)
    out().print(
        f"{escape(found.experiment.experiment_id)} since {since:%Y-%m-%d %H:%M} UTC", soft_wrap=True
    )
    has_shadow = any(arm.is_shadow for arm in found.arms)
    table = Table(box=None, header_style="bold")
    for name in _COLUMNS if has_shadow else _COLUMNS[:-1]:
        table.add_column(name, justify="left" if name == "arm" else "right")
    for arm in found.arms:
        row = _row(arm)
        table.add_row(*(row if has_shadow else row[:-1]))
    out().print(table)
    for arm in found.arms:
        if arm.signals:
            told = ", ".join(f"{_kind(one.kind)} {one.count}" for one in arm.signals)
            out().print(
                f"signals of {escape(arm.arm)}, no part of accuracy: {told}", soft_wrap=True
            )
    if found.HasField("sample_ratio_probability"):
        verdict = "ALARM" if found.sample_ratio_alarm else "as the weights ask for"
        probability = found.sample_ratio_probability
        out().print(f"channels of the arms: {verdict} (p = {probability:.3g})", soft_wrap=True)
    for note in found.notes:
        out().print(f"note: {escape(note)}", soft_wrap=True)


def _row(arm: experiment_pb2.ArmReport) -> tuple[str, ...]:
    name = arm.arm
    if arm.is_shadow:
        name += " (shadow)"
    if arm.is_listed:
        name += " (listed)"
    has_p95 = arm.HasField("build_milliseconds_p95")
    return (
        escape(name),
        f"{arm.builds:,}",
        f"{arm.channels:,}",
        _mean(arm, "build_milliseconds", ".2f"),
        f"{arm.build_milliseconds_p95:.2f}" if has_p95 else "–",
        _mean(arm, "tokens", ",.0f"),
        _mean(arm, "accuracy", ".2f"),
        _mean(arm, "fallbacks", ".1%"),
        _mean(arm, "recall", ".2f"),
        _mean(arm, "same_messages", ".2f"),
    )


def _mean(arm: experiment_pb2.ArmReport, name: str, form: str) -> str:
    """A mean with its interval; a dash: not measured."""
    if not arm.HasField(name):
        return "–"
    one: experiment_pb2.Measured = getattr(arm, name)
    if not one.HasField("lower"):
        return f"{one.mean:{form}}"
    return f"{one.mean:{form}} ({one.lower:{form}}–{one.upper:{form}})"


def _kind(kind: Any) -> str:  # noqa: ANN401 - a number
    name = feedback_pb2.SignalKind.Name(kind)
    return name.removeprefix("SIGNAL_KIND_").lower().replace("_", " ")
