"""Results as a table, as Markdown and as JSON. Prints nothing itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any

from rich.table import Table

from backscroll_bench.speed.reading import Reading
from backscroll_bench.speed.rows import Row

HEAD = ("row", "what", "value", "gate", "goal", "held", "reached", "p50 ms", "p99 ms")
NOISY = "~"
"""Before a value that was measured while the machine was busy."""


@dataclass(frozen=True, slots=True)
class Result:
    """A row with its figure. `noise` says why it may mean nothing; empty: it does not."""

    row: Row
    reading: Reading
    noise: str = ""

    @property
    def is_missing(self) -> bool:
        """Whether it could not be measured."""
        return isnan(self.reading.value)

    @property
    def held(self) -> bool | None:
        """Whether the gate is held; None where there is none, or what it is compared with is not installed."""
        return self._judged(self.row.holds(self.reading.value))

    @property
    def reached(self) -> bool | None:
        """Whether the goal is reached; None where there is none."""
        return self._judged(self.row.reaches(self.reading.value))

    def _judged(self, verdict: bool | None) -> bool | None:
        if verdict is None or self.reading.absent:
            return None
        return verdict and not self.reading.fails

    def as_json(self) -> dict[str, Any]:
        """The row of the JSON document."""
        return {
            "name": self.row.name,
            "value": None if self.is_missing else self.reading.value,
            "gate": self.row.gate,
            "goal": self.row.goal,
            "held": self.held,
            "reached": self.reached,
        }

    def as_full_json(self) -> dict[str, Any]:
        """The same with all that is known of it."""
        body = self.as_json() | {
            "unit": self.row.unit,
            "better": self.row.better,
            "what": self.row.what,
            "details": dict(self.reading.details),
        }
        if self.reading.rounds is not None:
            body["rounds"] = {
                "values": list(self.reading.rounds.values),
                "bases": list(self.reading.rounds.bases),
            }
        remarks = {
            "noise": self.noise,
            "fails": self.reading.fails,
            "absent": self.reading.absent,
        }
        return body | {key: text for key, text in remarks.items() if text}


def markdown(results: Sequence[Result], machine: Mapping[str, Any], note: str) -> str:
    """The table, and below it where it was measured."""
    rows = [HEAD, ("---",) * len(HEAD), *map(_cells, results)]
    table = "\n".join(f"| {' | '.join(cells)} |" for cells in rows)
    remarks = "".join(f"\n{line}\n" for line in (*remarks_of(results), *([note] if note else ())))
    return f"{table}\n{remarks}\n{described(machine)}\n"


def terminal(results: Sequence[Result], *, judged: bool = True) -> Table:
    """The same for a terminal, without the sentences; `judged`: with what they are held against."""
    left_out = {"what"} if judged else {"what", "gate", "goal", "held", "reached"}
    kept = [n for n, name in enumerate(HEAD) if name not in left_out]
    table = Table(show_edge=False)
    for n in kept:
        table.add_column(HEAD[n], justify="right" if n else "left", no_wrap=True)
    for result in results:
        cells = _cells(result)
        table.add_row(*(cells[n] for n in kept))
    return table


def remarks_of(results: Sequence[Result]) -> list[str]:
    """What must be said of single rows: once for each thing."""
    said = [f"{NOISY} {one.row.part}: {one.noise}" for one in results if one.noise]
    said += [
        f"{one.row.name}: {why}"
        for one in results
        if (why := one.reading.fails or one.reading.absent)
    ]
    return list(dict.fromkeys(said))


def described(machine: Mapping[str, Any]) -> str:
    """Machine and versions in one line."""
    versions = ", ".join(f"{name} {number}" for name, number in machine["versions"].items())
    cores = f"{machine['cores']} cores{'' if machine['cores_awake'] else ' that may sleep'}"
    if machine["loop_core"] is not None:
        cores += f", event loops on core {machine['loop_core']}"
    return f"Measured on {machine['measured_on']}: {machine['cpu']}, {cores}, {versions}."


def _cells(result: Result) -> tuple[str, ...]:
    row, details = result.row, result.reading.details
    mark = NOISY if result.noise else ""
    return (
        row.name,
        row.what,
        "–" if result.is_missing else f"{mark}{figure(result.reading.value)} {row.unit}",
        _bound(row, row.gate),
        _bound(row, row.goal),
        _word(result.held),
        _word(result.reached),
        *(figure(details[name]) if name in details else "" for name in ("p50_ms", "p99_ms")),
    )


def figure(value: float) -> str:
    """Three digits that say something: 1.84, 0.0312, 21,300."""
    size = abs(value)
    if size >= 1_000:
        return f"{value:,.0f}"
    if size >= 100:
        return f"{value:.0f}"
    if size >= 10:
        return f"{value:.1f}"
    return f"{value:.2f}" if size >= 1 else f"{value:.3g}"


def _bound(row: Row, bound: float | None) -> str:
    if bound is None:
        return ""
    return f"{'≤' if row.better == 'lower' else '≥'} {bound:,g}"


def _word(is_so: bool | None) -> str:
    return "" if is_so is None else "yes" if is_so else "no"
