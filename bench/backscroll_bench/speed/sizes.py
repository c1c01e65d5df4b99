"""How much a run measures."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much a round does of either side.

    Attributes
    ----------
    rounds : of each ratio.
    calls : by one caller.
    many : by several callers at once.
    appended : messages that come in batches.
    seconds : no load of a round begins a call after them, but for those of messages.
    """

    rounds: int
    calls: int
    many: int
    appended: int
    seconds: float
    quick: bool


def sizes(rounds: int, *, quick: bool) -> Sizes:
    """A run of so many rounds; a quick one only shows that everything works."""
    if quick:
        return Sizes(rounds, calls=30, many=128, appended=1_000, seconds=0.5, quick=True)
    return Sizes(rounds, calls=400, many=2_000, appended=10_000, seconds=3.0, quick=False)
