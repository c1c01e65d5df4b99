"""Pictures and tables of what `sweeps` measured. matplotlib is imported when one is drawn; the extra `bench` has it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from backscroll_bench.speed import latency
from backscroll_bench.speed.slo import Objective

Points = Mapping[str, Sequence[Mapping[str, Any]]]
POINTS_FILE = "points.json"
SIZE_INCHES = (7.0, 4.5)


def can_draw() -> bool:
    """Whether matplotlib is installed."""
    return find_spec("matplotlib") is not None


def write(
    points: Points,
    machine: Mapping[str, Any],
    note: str,
    directory: Path,
    objectives: Sequence[Objective] = (),
) -> list[Path]:
    """Write the points, their tables, and a picture of each sweep that has any; which files there are now.

    Parameters
    ----------
    objectives : shown in the tables.
    note : under every picture: where it was measured, and what it means.
    directory : made if it is not there; what it has of an earlier run is overwritten.
    """
    directory.mkdir(parents=True, exist_ok=True)
    written = [directory / POINTS_FILE]
    body = {"machine": dict(machine), "note": note, "points": points}
    written[0].write_text(json.dumps(body, indent=1, ensure_ascii=False) + "\n", "utf-8")
    written.append(directory / latency.PAGE_FILE)
    written[1].write_text(latency.page(body, objectives), "utf-8")
    for name, draw in DRAWN.items():
        if points.get(name):
            written.append(_draw(directory / f"{name}.svg", draw, points[name], note))
    return written


def _draw(path: Path, draw: Any, points: Sequence[Mapping[str, Any]], note: str) -> Path:  # noqa: ANN401
    import matplotlib

    matplotlib.use("svg")
    # Text stays text, and ids do not change from run to run.
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "backscroll"})
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=SIZE_INCHES, layout="constrained")
    draw(axes, points)
    figure.supxlabel(note, fontsize=7, color="0.4")
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)
    return path


def _history(axes: Any, points: Sequence[Mapping[str, Any]]) -> None:  # noqa: ANN401
    _lines(axes, points, "messages", "profile")
    axes.set(xscale="log", yscale="log", title="BuildContext against the length of the history")
    axes.set(xlabel="messages in the channel", ylabel="milliseconds (line: p50, dots: p99)")


def _channels(axes: Any, points: Sequence[Mapping[str, Any]]) -> None:  # noqa: ANN401
    _lines(axes, [{**one, "profile": "balanced"} for one in points], "channels", "profile")
    _ticks(axes, points, "channels")
    axes.set(title="BuildContext, another one of many channels each time", ylim=(0, None))
    axes.set(xlabel="channels in memory", ylabel="milliseconds (line: p50, dots: p99)")


def _concurrency(axes: Any, points: Sequence[Mapping[str, Any]]) -> None:  # noqa: ANN401
    _lines(axes, points, "callers", "profile")
    _ticks(axes, points, "callers")
    axes.set(yscale="log", title="BuildContext against callers at once")
    axes.set(xlabel="callers at once", ylabel="milliseconds (line: p50, dots: p99)")


def _cold(axes: Any, points: Sequence[Mapping[str, Any]]) -> None:  # noqa: ANN401
    at = [one["messages"] for one in points]
    axes.plot(at, [one["first_ms"] for one in points], color="C0", marker="o", label="median")
    slowest = [one["slowest_ms"] for one in points]
    axes.plot(at, slowest, color="C0", marker=".", linestyle="", label="slowest")
    axes.set(xscale="log", yscale="log", title="The first build on a channel that is not in memory")
    axes.set(xlabel="messages in the channel", ylabel="milliseconds")
    axes.grid(visible=True, which="major", color="0.9")
    axes.legend()


DRAWN: Mapping[str, Any] = {
    "history": _history,
    "channels": _channels,
    "concurrency": _concurrency,
    "cold": _cold,
}


def _ticks(axes: Any, points: Sequence[Mapping[str, Any]], x: str) -> None:  # noqa: ANN401
    """A logarithmic axis with the measured numbers on it."""
    at = sorted({int(one[x]) for one in points})
    axes.set_xscale("log", base=2)
    axes.set_xticks(at, [f"{one}" for one in at])


def _lines(axes: Any, points: Sequence[Mapping[str, Any]], x: str, by: str) -> None:  # noqa: ANN401
    """A line of p50 and dots of p99 for each name, and R0 beside them."""
    for n, name in enumerate(dict.fromkeys(one[by] for one in points)):
        own = [one for one in points if one[by] == name]
        at = [one[x] for one in own]
        axes.plot(at, [one["p50_ms"] for one in own], color=f"C{n}", marker="o", label=name)
        axes.plot(at, [one["p99_ms"] for one in own], color=f"C{n}", marker=".", linestyle="")
    first = [one for one in points if one[by] == points[0][by]]
    at = [one[x] for one in first]
    axes.plot(
        at,
        [one["r0_p50_ms"] for one in first],
        color="0.5",
        linestyle="--",
        label="R0, a bare echo",
    )
    axes.grid(visible=True, which="major", color="0.9")
    axes.legend()
