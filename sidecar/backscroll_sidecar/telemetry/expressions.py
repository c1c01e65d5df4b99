"""What panels show, each said once: as PromQL, and worked out of samples that a server tells. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

WINDOW, LONG_WINDOW = "5m", "1h"


class Sampled(Protocol):
    """A number as a server tells it (`MetricSample`)."""

    @property
    def name(self) -> str: ...
    @property
    def labels(self) -> Mapping[str, str]: ...
    @property
    def period(self) -> str: ...
    @property
    def value(self) -> float: ...


class Where(NamedTuple):
    """Keeps samples by one label."""

    label: str
    value: str
    is_equal: bool = True

    @property
    def promql(self) -> str:
        """As a matcher."""
        return f'{self.label}{"=" if self.is_equal else "!="}"{self.value}"'


class Sum(NamedTuple):
    """The sum of a counter's growth, for each value of the label `by`, or of all of it."""

    name: str
    by: str = ""
    where: Where | None = None

    def promql(self, window: str = WINDOW) -> str:
        """Growth a second. 0 where nothing was ever counted, unless it is by a label."""
        matcher = f"{{{self.where.promql}}}" if self.where else ""
        grown = f"(rate({self.name}{matcher}[{window}]))"
        return f"sum by ({self.by}) {grown}" if self.by else f"(sum{grown} or vector(0))"

    def of(self, samples: Iterable[Sampled]) -> dict[str, float]:
        """Growth by the values of the label, or under none."""
        found: dict[str, float] = {} if self.by else {"": 0.0}
        for one in samples:
            if one.name != self.name:
                continue
            if self.where and (
                (one.labels.get(self.where.label) == self.where.value) != self.where.is_equal
            ):
                continue
            key = one.labels.get(self.by, "") if self.by else ""
            found[key] = found.get(key, 0.0) + one.value
        return found


class Expression(Protocol):
    """A number, or one for each value of the label `by`."""

    @property
    def by(self) -> str: ...
    @property
    def promql(self) -> str: ...
    def of(self, samples: Sequence[Sampled], seconds: float) -> dict[str, float]:
        """By the values of the label. `samples`: what counters grew by in so many seconds. Absent without data."""


class Rate(NamedTuple):
    """Growth a minute."""

    sum: Sum

    @property
    def by(self) -> str:
        return self.sum.by

    @property
    def promql(self) -> str:
        return f"60 * {self.sum.promql()}"

    def of(self, samples: Sequence[Sampled], seconds: float) -> dict[str, float]:
        return {key: 60 * n / seconds for key, n in self.sum.of(samples).items()}


class Ratio(NamedTuple):
    """One sum by several others together; `saved`: what is missing to 1."""

    above: Sum
    below: tuple[Sum, ...]
    saved: bool = False
    window: str = WINDOW

    @property
    def by(self) -> str:
        return self.above.by

    @property
    def promql(self) -> str:
        below = " + ".join(one.promql(self.window) for one in self.below)
        below = f"({below})" if len(self.below) > 1 else below
        ratio = f"{self.above.promql(self.window)} / {below}"
        return f"1 - {ratio}" if self.saved else ratio

    def of(self, samples: Sequence[Sampled], seconds: float) -> dict[str, float]:  # noqa: ARG002
        below: dict[str, float] = {}
        for one in self.below:
            for key, n in one.of(samples).items():
                below[key] = below.get(key, 0.0) + n
        found = {key: n / below[key] for key, n in self.above.of(samples).items() if below.get(key)}
        return {key: 1 - n for key, n in found.items()} if self.saved else found


class Quantile(NamedTuple):
    """A quantile of a histogram, evenly between the bounds of its bucket."""

    histogram: str
    quantile: float
    by: str = ""

    @property
    def promql(self) -> str:
        buckets = f"sum by (le) (rate({self.histogram}_bucket[{WINDOW}]))"
        return f"histogram_quantile({self.quantile}, {buckets})"

    def of(self, samples: Sequence[Sampled], seconds: float) -> dict[str, float]:  # noqa: ARG002
        upto = Sum(f"{self.histogram}_bucket", "le").of(samples)
        bounds = sorted(upto, key=float)
        total = upto[bounds[-1]] if bounds else 0.0
        if not total:
            return {}
        wanted, before, lower = self.quantile * total, 0.0, 0.0
        for bound in bounds:
            n, upper = upto[bound], float(bound)
            if n >= wanted:
                if bound == bounds[-1]:  # it has no upper bound
                    return {"": lower}
                return {"": lower + (upper - lower) * (wanted - before) / (n - before)}
            before, lower = n, upper
        return {}


class Buckets(NamedTuple):
    """How a histogram's values are distributed, by the upper bounds of its buckets."""

    histogram: str
    by: str = "le"

    @property
    def promql(self) -> str:
        return f"sum by (le) (increase({self.histogram}_bucket[{LONG_WINDOW}]))"

    def of(self, samples: Sequence[Sampled], seconds: float) -> dict[str, float]:  # noqa: ARG002
        return Sum(f"{self.histogram}_bucket", "le").of(samples)


class Gauge(NamedTuple):
    """A gauge as it is now."""

    name: str
    by: str = ""
    where: tuple[Where, ...] = ()

    @property
    def promql(self) -> str:
        matchers = f"{{{', '.join(one.promql for one in self.where)}}}" if self.where else ""
        by = f" by ({self.by}) " if self.by else ""
        return f"max{by}({self.name}{matchers})"

    def of(self, samples: Sequence[Sampled], seconds: float) -> dict[str, float]:  # noqa: ARG002
        found: dict[str, float] = {}
        for one in samples:
            labels = {**one.labels, "period": one.period}
            if one.name == self.name and all(labels[w.label] == w.value for w in self.where):
                key = labels[self.by] if self.by else ""
                found[key] = max(one.value, found.get(key, one.value))
        return found
