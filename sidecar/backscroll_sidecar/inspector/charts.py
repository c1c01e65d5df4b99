"""Where what a page draws stands: plain numbers for SVG. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 320.0, 72.0


@dataclass(frozen=True, slots=True)
class Bar:
    """One stretch of a bar: where it begins, how long it is, which of the names it is of."""

    x: float
    width: float
    tone: int
    name: str
    value: float


def terms(
    factors: Sequence[str], shares: Sequence[float], span: float, width: float = 160.0
) -> tuple[Bar, ...]:
    """Shares to both sides of the middle: what adds to the right, what takes to the left, the largest first."""
    if span <= 0:
        return ()
    middle = width / 2
    scale = middle / span
    found: list[Bar] = []
    right = left = middle
    named = sorted(enumerate(shares), key=lambda one: -abs(one[1]))
    for at, value in named:
        long = round(abs(value) * scale, 2)
        if long < 0.2:
            continue
        name = factors[at] if at < len(factors) else str(at)
        if value > 0:
            found.append(Bar(round(right, 2), long, at % 10, name, value))
            right += long
        else:
            left -= long
            found.append(Bar(round(left, 2), long, at % 10, name, value))
    return tuple(found)


def stacked(
    parts: Sequence[tuple[str, int]], whole: float, width: float = 600.0
) -> tuple[Bar, ...]:
    """Parts of a whole, one behind the other. Each has the tone of its place, also where others are nothing."""
    found, x = [], 0.0
    for at, (name, value) in enumerate(parts):
        if not value:
            continue
        long = round(value / whole * width, 2) if whole else 0.0
        found.append(Bar(round(x, 2), long, at % 10, name, value))
        x += long
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Curve:
    """One series over time, as paths; a gap begins another one."""

    name: str
    tone: int
    paths: tuple[str, ...]
    dots: tuple[tuple[float, float], ...]


def curves(
    series: Sequence[tuple[str, Sequence[float | None]]],
    width: float = WIDTH,
    height: float = HEIGHT,
) -> tuple[tuple[Curve, ...], float]:
    """All series on one scale from 0, and its upper end. A value alone between two gaps is a dot."""
    known = [v for _, values in series for v in values if v is not None]
    top = max(known, default=0.0) or 1.0
    found = []
    for tone, (name, values) in enumerate(series):
        step = width / max(len(values) - 1, 1)
        runs: list[list[tuple[float, float]]] = [[]]
        for at, value in enumerate(values):
            if value is None:
                runs.append([])
            else:
                y = height - max(value, 0.0) / top * (height - 4) - 2
                runs[-1].append((round(at * step, 1), round(y, 1)))
        paths = tuple("M" + "L".join(f"{x} {y}" for x, y in run) for run in runs if len(run) > 1)
        dots = tuple(run[0] for run in runs if len(run) == 1)
        found.append(Curve(name, tone % 10, paths, dots))
    return tuple(found), top


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean and its interval on a common scale."""

    mean: float
    low: float
    high: float


def interval(
    mean: float, lower: float | None, upper: float | None, most: float, width: float = 120.0
) -> Interval:
    """Where they stand between 0 and `most`."""
    scale = width / most if most > 0 else 0.0
    low, high = (mean if one is None else one for one in (lower, upper))
    return Interval(
        round(mean * scale, 1), round(max(low, 0) * scale, 1), round(min(high, most) * scale, 1)
    )
