"""`backscroll metrics`: what a server counts."""

from collections.abc import Iterable
from typing import Annotated

import typer
from google.protobuf.json_format import MessageToDict
from rich.table import Table

from backscroll import InvalidRequest
from backscroll.v1.admin_pb2 import MetricSample
from backscroll_sidecar.cli import options
from backscroll_sidecar.cli.connect import connected
from backscroll_sidecar.cli.console import CommandError, out, print_json
from backscroll_sidecar.telemetry.catalogue import HOUR, START
from backscroll_sidecar.telemetry.panel_data import in_digits

EPILOG = "Example: backscroll metrics backscroll_avg_relevance_score"
PREFIX = "backscroll_"


def metrics(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME", help="Only these. None: what has a period; --all: all."),
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Counters, histograms and depths of queues as well.")
    ] = False,
    target: options.Target = options.ANY_TARGET,
    as_json: options.Json = False,
) -> None:
    """Show what a server counts: build times, savings, fallbacks, since its start and for the last hour.

    What there is no data for is left out. With --json every number with its name, labels, unit and period.
    """
    with connected(target) as client:
        try:
            samples = client.get_metrics(*map(_full, names or ()))
        except InvalidRequest as error:
            raise CommandError(error.message, "every name: backscroll metrics --all") from None
    if as_json:
        print_json([_told(one) for one in samples])
        return
    of_periods = [one for one in samples if one.period]
    if of_periods:
        out().print(_by_period(of_periods))
    others = [one for one in samples if not one.period]
    if others and (every or names):
        out().print(_now(others))
    if not samples or (not of_periods and not every and not names):
        out().print("No context was built yet.")


def _full(name: str) -> str:
    return name if name.startswith(PREFIX) else PREFIX + name


def _told(one: MetricSample) -> dict[str, object]:
    return {
        **MessageToDict(one, preserving_proto_field_name=True),
        "labels": dict(one.labels),
        "value": one.value,
    }


def _by_period(samples: Iterable[MetricSample]) -> Table:
    """A row a metric and its labels, a column a period."""
    rows: dict[tuple[str, str, str], dict[str, float]] = {}
    for one in samples:
        rows.setdefault((one.name, _labels(one), one.unit), {})[one.period] = one.value
    table = _table("since start", "last hour")
    for (name, labels, unit), values in rows.items():
        shown = [_shown(values[one], unit) if one in values else "" for one in (START, HOUR)]
        table.add_row(name.removeprefix(PREFIX), labels, *shown)
    return table


def _now(samples: Iterable[MetricSample]) -> Table:
    table = _table("now")
    for one in samples:
        table.add_row(one.name.removeprefix(PREFIX), _labels(one), _shown(one.value, one.unit))
    return table


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("metric", overflow="fold")
    table.add_column("labels", overflow="fold")
    for name in columns:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _labels(one: MetricSample) -> str:
    return " ".join(f"{name}={value}" for name, value in sorted(one.labels.items()))


def _shown(value: float, unit: str) -> str:
    number = in_digits(value)
    return number if unit in {"", "1"} else f"{number} {unit}"
