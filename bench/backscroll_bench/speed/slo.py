"""Objectives from a file: rows and points held against milliseconds (p50, p99), rows against bounds on their value."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from backscroll_bench.speed.report import Result, figure
from backscroll_bench.speed.rows import ROWS, Row

MILLISECONDS = ("p50_ms", "p99_ms")
BOUNDS = (*MILLISECONDS, "value")
_POINT = re.compile(r"(history-\d+[km]?|channels-\d+)")
"""Points of the sweeps, which have milliseconds alone: see `latency.named`."""


class SloError(Exception):
    """A file of objectives that cannot be read; the message names file and place."""


@dataclass(frozen=True, slots=True)
class Objective:
    """One bound: of a row's p50 or p99 in milliseconds, or of its value in the row's own unit and direction."""

    row: str
    bound: str
    limit: float


@dataclass(frozen=True, slots=True)
class Breach:
    """An objective that was not held."""

    objective: Objective
    found: float
    why: str = ""

    def __str__(self) -> str:
        """For people."""
        one = self.objective
        if self.why:
            return f"{one.row}: {self.why}"
        return (
            f"{one.row}: {one.bound} is {figure(self.found)}, the objective is {figure(one.limit)}"
        )


def read_slo(path: Path | None) -> list[Objective]:
    """The objectives of a file, or without one those that come with the bench.

    Raises
    ------
    SloError
        The file is missing or no TOML, or names a row or a bound there is not, or no number.
    """
    place = path or resources.files("backscroll_bench.speed") / "slo.toml"
    try:
        tables = tomllib.loads(place.read_text("utf-8"))
    except OSError as error:
        raise SloError(f"{place}: cannot be read: {error.strerror}") from None
    except ValueError as error:  # also: not UTF-8
        raise SloError(f"{place}: {error}") from None
    known = {row.name: row for row in ROWS}
    return [
        _objective(f"{place}: [{name}] {bound}", known, name, bound, limit)
        for name, table in tables.items()
        for bound, limit in (table.items() if isinstance(table, dict) else [("", table)])
    ]


def _objective(
    where: str, known: Mapping[str, Row], name: str, bound: str, limit: object
) -> Objective:
    is_point = _POINT.fullmatch(name) is not None
    if name not in known and not is_point:
        raise SloError(f"{where}: there is no row {name}")
    bounds = MILLISECONDS if is_point else BOUNDS
    if bound not in bounds:
        raise SloError(f"{where}: a row has {', '.join(bounds)}")
    if isinstance(limit, bool) or not isinstance(limit, int | float) or limit <= 0:
        raise SloError(f"{where}: must be a number above 0")
    return Objective(name, bound, float(limit))


def breaches(objectives: Iterable[Objective], results: Iterable[Result]) -> list[Breach]:
    """Which objectives the measured rows do not hold; those of rows that were not measured are passed over."""
    measured = {one.row.name: one for one in results}
    return [
        breach
        for one in objectives
        if one.row in measured
        and not measured[one.row].reading.absent
        and (breach := _judge(one, measured[one.row])) is not None
    ]


def _judge(objective: Objective, result: Result) -> Breach | None:
    details = result.reading.details
    if result.reading.fails:
        return Breach(objective, result.reading.value, result.reading.fails)
    if objective.bound in MILLISECONDS:
        if objective.bound not in details:
            return Breach(objective, 0.0, f"has no {objective.bound}")
        found = details[objective.bound]
        return None if found <= objective.limit else Breach(objective, found)
    found = result.reading.value
    is_kept = found <= objective.limit if result.row.better == "lower" else found >= objective.limit
    return None if is_kept else Breach(objective, found)
