"""What a part found out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from backscroll_bench.speed.load import Load
from backscroll_bench.speed.stats import Rounds


@dataclass(frozen=True, slots=True)
class Reading:
    """One figure.

    Attributes
    ----------
    value : in the unit of its row; NaN where it could not be measured, `fails` says why.
    details : what it was made from, by name with the unit at the end: p50_ms, p99_ms, r0_p50_ms, …
    rounds : both sides round by round where there are two.
    calm : what the noise check looks at, a value a round; unset: the other side of `rounds`.
    fails : why the row is not held whatever its value; empty: nothing.
    absent : why it was not measured, which is nobody's fault; empty: it was.
    """

    value: float
    details: Mapping[str, float] = field(default_factory=dict)
    rounds: Rounds | None = None
    calm: tuple[float, ...] = ()
    fails: str = ""
    absent: str = ""


Readings = Mapping[str, Reading]


def latencies(rounds: Sequence[tuple[Load, Load]], base: str = "r0") -> dict[str, Reading]:
    """p50 and p99 of calls against R0, or another base, each the median of the rounds' ratios."""
    p50 = Rounds(tuple(a.p50_s for a, _ in rounds), tuple(b.p50_s for _, b in rounds))
    p99 = Rounds(tuple(a.p99_s for a, _ in rounds), tuple(b.p99_s for _, b in rounds))
    details = {
        "p50_ms": p50.value * 1e3,
        "p99_ms": p99.value * 1e3,
        f"{base}_p50_ms": p50.base * 1e3,
        f"{base}_p99_ms": p99.base * 1e3,
    }
    return {"p50": Reading(p50.ratio, details, p50), "p99": Reading(p99.ratio, details)}


def rates(rounds: Sequence[tuple[Load, Load]]) -> Reading:
    """Calls a second against R0's, the median of the rounds' ratios."""
    found = Rounds(tuple(a.per_second for a, _ in rounds), tuple(b.per_second for _, b in rounds))
    details = {
        "per_second": found.value,
        "base_per_second": found.base,
        "p50_ms": median(a.p50_s for a, _ in rounds) * 1e3,
        "p99_ms": median(a.p99_s for a, _ in rounds) * 1e3,
    }
    return Reading(found.ratio, details, found)
