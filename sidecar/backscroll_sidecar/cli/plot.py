"""`backscroll plot`: the panels of the dashboard, of a server's last hour, in the terminal or as a picture."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from backscroll_sidecar.cli import options
from backscroll_sidecar.cli.connect import connected
from backscroll_sidecar.cli.console import CommandError, os_words, out, print_json
from backscroll_sidecar.telemetry.panel_data import Drawn, drawn_panels, in_unit

EPILOG = "Example: backscroll plot --png panels.png"
STEPS = "▁▂▃▄▅▆▇█"
BAR_COLUMNS = 40
INSTALL = 'in the source tree: pip install ".[bench]"'


def plot(
    minutes: Annotated[int, typer.Option(help="How many of the last minutes.", min=2, max=60)] = 60,
    png: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw them into this file; needs the extra bench."),
    ] = None,
    target: options.Target = options.ANY_TARGET,
    as_json: options.Json = False,
) -> None:
    """Show how a server did in the last hour: contexts, times, errors, savings, scores, feedback, queues.

    The panels are those of the Grafana dashboard. It needs no Prometheus: the server keeps its last 60 minutes.
    """
    with connected(target) as client:
        panels = drawn_panels(client.get_metrics(), client.get_metric_minutes(minutes=minutes))
    if png is not None:
        _draw(panels, png)
    if as_json:
        print_json([_told(one) for one in panels])
    elif png is None:
        for one in panels:
            _show(one)


def _draw(panels: list[Drawn], file: Path) -> None:
    try:
        from backscroll_sidecar.cli.plot_picture import draw
    except ModuleNotFoundError as error:
        raise CommandError(f"pictures need {error.name}, which is missing", INSTALL) from None
    try:
        draw(panels, file)
    except OSError as error:
        raise CommandError(os_words(error), "give another --png") from None


def _told(one: Drawn) -> dict[str, object]:
    return {
        "name": one.panel.name,
        "title": one.panel.title,
        "unit": one.panel.unit,
        "kind": one.panel.kind,
        "times_ms": one.times_ms,
        "series": one.series,
    }


def _show(one: Drawn) -> None:
    console = out()
    console.print(Text(one.panel.title, style="bold"))
    values = [v for of in one.series.values() for v in of if v is not None]
    if not values:
        console.print("  no data\n")
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2))
    heads = ("least", "most", "last") if one.panel.kind == "lines" else ("",)
    table.add_column("")
    table.add_column("", no_wrap=True)
    for head in heads:
        table.add_column(head, justify="right", no_wrap=True)
    most, least = max(values), min(0.0, *values)
    unit = one.panel.unit
    if unit == "1" and one.panel.kind == "now":
        most = max(most, 1.0)
    for name, of in one.series.items():
        known = [v for v in of if v is not None]
        if one.panel.kind == "lines":
            last = [in_unit(v, unit) for v in (min(known), max(known), known[-1])]
            table.add_row(f"  {name}", _sparkline(of, least, most), *last)
        else:
            shown = f"  ≤ {name}" if one.panel.kind == "ranges" else f"  {name}"
            bar = "█" * round(BAR_COLUMNS * (known[0] / most if most else 0))
            table.add_row(shown, bar, in_unit(known[0], unit))
    console.print(table)
    console.print()


def _sparkline(values: list[float | None], least: float, most: float) -> str:
    """A column a value; a blank where there is none."""
    span = (most - least) or 1.0
    top = len(STEPS) - 1
    return "".join(" " if v is None else STEPS[round(top * (v - least) / span)] for v in values)
