"""Panels as one PNG. Needs matplotlib, which the extra `bench` has."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import matplotlib as mpl

from backscroll_sidecar.telemetry.panel_data import Drawn

mpl.use("agg")
from matplotlib import pyplot
from matplotlib.dates import DateFormatter
from matplotlib.ticker import PercentFormatter

COLUMNS, WIDTH_IN, HEIGHT_IN = 2, 12.0, 2.6
UNITS = {"1": "share", "s": "ms"}


def draw(panels: list[Drawn], file: Path) -> None:
    """Write the picture. Raises `OSError`."""
    rows = -(-len(panels) // COLUMNS)
    figure, axes = pyplot.subplots(
        rows, COLUMNS, figsize=(WIDTH_IN, HEIGHT_IN * rows), layout="constrained", squeeze=False
    )
    every = list(axes.flat)
    for one, axis in zip(panels, every, strict=False):
        axis.set_title(one.panel.title, fontsize=11, loc="left")
        axis.set_ylabel(UNITS.get(one.panel.unit, one.panel.unit), fontsize=8)
        axis.tick_params(labelsize=8)
        if not any(v is not None for of in one.series.values() for v in of):
            axis.text(0.5, 0.5, "no data", ha="center", va="center", transform=axis.transAxes)
            axis.set_xticks([])
            axis.set_yticks([])
        elif one.panel.kind == "lines":
            _lines(one, axis)
        else:
            _bars(one, axis)
    for axis in every[len(panels) :]:
        axis.set_axis_off()
    try:
        figure.savefig(file, dpi=90, format="png")
    finally:
        pyplot.close(figure)


def _lines(one: Drawn, axis: Any) -> None:  # noqa: ANN401 - it has no types
    times = [datetime.fromtimestamp(at / 1e3, UTC) for at in one.times_ms]
    scale = 1e3 if one.panel.unit == "s" else 1.0
    for name, of in one.series.items():
        values = [float("nan") if v is None else v * scale for v in of]
        axis.plot(times, values, label=name, linewidth=1.4, marker="." if len(times) < 20 else "")
    _limit(one, axis)
    axis.xaxis.set_major_formatter(DateFormatter("%H:%M"))  # type: ignore[no-untyped-call]
    axis.grid(alpha=0.3)
    axis.legend(fontsize=7, loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)


def _bars(one: Drawn, axis: Any) -> None:  # noqa: ANN401
    names = [f"≤ {name}" if one.panel.kind == "ranges" else name for name in one.series]
    bars = axis.bar(names, [of[0] or 0.0 for of in one.series.values()], width=0.7)
    shown = "{:.1%}" if one.panel.unit == "1" else "{:,.0f}"
    axis.bar_label(bars, fmt=shown, fontsize=7)
    _limit(one, axis)


def _limit(one: Drawn, axis: Any) -> None:  # noqa: ANN401
    """From zero, or what lies below it, to a little above the largest value."""
    scale = 1e3 if one.panel.unit == "s" else 1.0
    values = [v * scale for of in one.series.values() for v in of if v is not None]
    low, high = min(0.0, *values), max(values)
    high = high + 0.15 * (high - low) if high > low else low + 1.0
    axis.set_ylim(1.05 * low, high)
    if one.panel.unit == "1":
        axis.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0 if high > 0.1 else 1))
