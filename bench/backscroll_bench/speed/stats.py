"""From rounds to figures: medians, percentiles, ratios round by round, and when a run is too noisy to mean anything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from statistics import median

MOST_SPREAD = 2.0
"""The rounds of a denominator may differ by this factor; beyond it the machine was doing something else."""


class Wrong(Exception):
    """The server did not do what was to be measured: a figure would mean nothing."""


class Absent(Exception):
    """What a row is compared with is not installed here: no figure, and no fault."""


class Noise(Exception):
    """The rounds of a denominator differ too much: the ratios to it mean nothing.

    Attributes
    ----------
    part : what was measured.
    spread : the largest round over the smallest.
    """

    def __init__(self, part: str, spread: float) -> None:
        super().__init__(
            f"the rounds of what {part} is compared with differ by {spread:.1f}x, more than {MOST_SPREAD:g}x: "
            "the machine is busy with something else"
        )
        self.part = part
        self.spread = spread


@dataclass(frozen=True, slots=True)
class Rounds:
    """One figure of both sides, a value a round, in the order they were measured.

    Attributes
    ----------
    values : of what is measured.
    bases : of what it is compared with, in the same unit, all above 0.
    """

    values: tuple[float, ...]
    bases: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.values or len(self.values) != len(self.bases):
            raise ValueError("rounds need one value of each side, and at least one round")
        if min(self.bases) <= 0:
            raise ValueError("what is compared with must be above 0")

    @property
    def ratio(self) -> float:
        """The median of the ratios of the single rounds."""
        return median(value / base for value, base in zip(self.values, self.bases, strict=True))

    @property
    def value(self) -> float:
        """The median of the measured side."""
        return median(self.values)

    @property
    def base(self) -> float:
        """The median of the side it is compared with."""
        return median(self.bases)


def spread(values: Sequence[float]) -> float:
    """The largest over the smallest of positive values."""
    return max(values) / min(values)


def check_noise(part: str, bases: Sequence[float]) -> None:
    """Refuse rounds of a denominator that differ by more than `MOST_SPREAD`; there may be none.

    Raises
    ------
    Noise
        With the part's name and how far apart its rounds are.
    """
    found = spread(bases) if bases else 1.0
    if found > MOST_SPREAD:
        raise Noise(part, found)


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least `share` (0 to 1) of the values do not exceed: no value is made up."""
    if not values:
        raise ValueError("there is no percentile of nothing")
    ordered = sorted(values)
    return ordered[max(0, ceil(share * len(ordered)) - 1)]
