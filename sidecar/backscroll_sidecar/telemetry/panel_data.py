"""What a server tells of its last hour, as the panels show it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple, Protocol

from backscroll_sidecar.telemetry.expressions import Sampled
from backscroll_sidecar.telemetry.panels import PANELS, Panel

MINUTE_S = 60.0
COUNTED = {"backscroll_context_builds_total", "backscroll_context_build_errors_total"}
"""What says whether anything happened in a minute."""


class Minute(Protocol):
    """What counters grew by in a minute, as a server tells it (`MetricMinute`)."""

    @property
    def began_at_ms(self) -> int: ...
    @property
    def samples(self) -> Iterable[Sampled]: ...


class Drawn(NamedTuple):
    """One panel with its data.

    Attributes
    ----------
    times_ms : when each minute began; empty unless it is over time.
    series : by name, a value a minute, None where there is none; else one value. Of a histogram by the upper bound of
        each range, with the count in it.
    """

    panel: Panel
    times_ms: list[int]
    series: dict[str, list[float | None]]


def drawn_panels(samples: Sequence[Sampled], minutes: Sequence[Minute]) -> list[Drawn]:
    """All panels. `samples` are as things are now, `minutes` the last ones, of which the last still runs.

    Over time only whole minutes are shown, from the first on in which something happened.
    """
    grown = [(one.began_at_ms, list(one.samples)) for one in minutes]
    whole = grown[:-1]
    first = next((i for i, (_, of) in enumerate(whole) if _happened(of)), len(whole))
    everything = [one for _, of in grown for one in of]
    return [
        _over_time(panel, whole[first:])
        if panel.kind == "lines"
        else _once(panel, samples if panel.kind == "now" else everything)
        for panel in PANELS
    ]


def in_digits(value: float) -> str:
    """A number with separators, of at least three digits where it is not whole."""
    return f"{value:,.0f}" if value == int(value) or abs(value) >= 100 else f"{value:,.3g}"


def in_unit(value: float, unit: str) -> str:
    """A value of a panel with its unit as people read it."""
    if unit == "s":
        return f"{in_digits(value * 1e3)} ms" if value < 1 else f"{in_digits(value)} s"
    if unit == "1":
        return f"{value:.1%}"
    if unit == "score":
        return f"{value:.2f}"
    return f"{in_digits(value)} {unit}".strip()


def _happened(samples: Sequence[Sampled]) -> bool:
    return any(one.value for one in samples if one.name in COUNTED)


def _over_time(panel: Panel, minutes: Sequence[tuple[int, list[Sampled]]]) -> Drawn:
    found: dict[str, list[float | None]] = {}
    for i, (_, samples) in enumerate(minutes):
        for name, value in _values(panel, samples).items():
            found.setdefault(name, [None] * len(minutes))[i] = value
    return Drawn(panel, [at_ms for at_ms, _ in minutes], found)


def _once(panel: Panel, samples: Sequence[Sampled]) -> Drawn:
    values = _values(panel, samples)
    if panel.kind == "ranges":
        values = _by_range(values)
    return Drawn(panel, [], {name: [value] for name, value in values.items()})


def _values(panel: Panel, samples: Sequence[Sampled]) -> dict[str, float]:
    """One value a series."""
    return {
        key or one.name: value
        for one in panel.series
        for key, value in one.expression.of(samples, MINUTE_S).items()
    }


def _by_range(upto: Mapping[str, float]) -> dict[str, float]:
    """Counts up to each bound as counts of each range; the one without a bound is left out where it is empty."""
    bounds = sorted(upto, key=float)
    counts = pairwise([0.0, *(upto[bound] for bound in bounds)])
    found = {bound: n - before for bound, (before, n) in zip(bounds, counts, strict=True)}
    if bounds and not found[bounds[-1]]:
        del found[bounds[-1]]
    return found
