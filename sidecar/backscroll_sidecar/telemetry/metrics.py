"""What a scrape tells: plain numbers, added to where things happen, named when somebody asks.

The metrics library's own counters take 22 to 45 µs a call, as much as a stage of a build; an addition takes none. The
library writes the text and answers HTTP.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, Protocol

from backscroll_sidecar.domain import Degradation, Rung

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

BUILD_BOUNDS_S = (
    0.00025, 0.0005, 0.001, 0.002, 0.003, 0.005, 0.0075, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0,
)  # fmt: skip
"""Upper bounds of the buckets of build times, in seconds; the last bucket has none."""
RANKING = ("rank", "select")
"""Stages that break a build's first rung, whatever was lost before them."""


class Cache(Protocol):
    """What is asked of a cache."""

    @property
    def hits(self) -> int:
        """How often it had what was asked for."""

    @property
    def misses(self) -> int:
        """How often it had not."""


@dataclass(slots=True)
class BuildNumbers:
    """What builds came to. Added to on the event loop; a scrape reads it from a thread of its own."""

    count: int = 0
    seconds: float = 0.0
    hits: int = 0
    """Builds whose channel was in memory."""
    buckets: list[int] = field(default_factory=lambda: [0] * (len(BUILD_BOUNDS_S) + 1))
    rungs: Counter[Rung] = field(default_factory=Counter)
    """Builds by the rung they stand on."""
    fallbacks: Counter[tuple[Rung, str]] = field(default_factory=Counter)
    """Builds on a lower rung, by it and what led there."""
    losses: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """What builds had to do without, by stage, source and reason."""
    errors: Counter[str] = field(default_factory=Counter)
    """Builds that gave no context, by reason."""

    def add(self, took_s: float, *, cache_hit: bool) -> None:
        """One more build."""
        self.count += 1
        self.seconds += took_s
        self.hits += cache_hit
        self.buckets[bisect_left(BUILD_BOUNDS_S, took_s)] += 1

    def tell(self, rung: Rung, degradations: Sequence[Degradation]) -> None:
        """How the same build ended."""
        self.rungs[rung] += 1
        if degradations:
            self.losses.update((one.stage, one.source, one.reason) for one in degradations)
        if rung is not Rung.RANKED:
            self.fallbacks[rung, fell_for(degradations)] += 1

    @property
    def misses(self) -> int:
        """Builds that had to load their channel, or found none."""
        return self.count - self.hits


def fell_for(degradations: Sequence[Degradation]) -> str:
    """Why a build stands on a lower rung: what broke its ranking, else what was lost first of its sources."""
    ranking = [one.reason for one in degradations if one.stage in RANKING]
    sources = [one.reason for one in degradations if one.stage == "gather"]
    return next(iter(ranking + sources), "")


class Metrics:
    """Everything a scrape tells.

    Parameters
    ----------
    builds
        What builds came to.
    features
        The cache of analysed texts.
    missed_deadlines
        Calls by RPC that were not answered in their caller's time; asked at each scrape.
    damaged_segments
        Loads of a channel that met a damaged segment; asked at each scrape.
    """

    def __init__(
        self,
        builds: BuildNumbers,
        features: Cache,
        missed_deadlines: Callable[[], Mapping[str, int]] = dict,
        damaged_segments: Callable[[], int] = int,
    ) -> None:
        self._builds = builds
        self._features = features
        self._missed_deadlines = missed_deadlines
        self._damaged_segments = damaged_segments

    def collect(self) -> Iterator[Metric]:
        """The metrics as they are now; the library calls this at a scrape."""
        from prometheus_client.metrics_core import (  # noqa: PLC0415 - only who scrapes pays for it
            CounterMetricFamily,
            GaugeMetricFamily,
            HistogramMetricFamily,
        )

        builds = self._builds
        yield HistogramMetricFamily(
            "backscroll_context_build_seconds",
            "Time of builds, BuildContext's and chats'.",
            buckets=_cumulated(builds.buckets),
            sum_value=builds.seconds,
        )
        yield GaugeMetricFamily(
            "backscroll_avg_context_build_time_ms",
            "Average time of a build since the start.",
            value=builds.seconds * 1e3 / max(1, builds.count),
        )
        yield from self._outcomes()
        for name, cache, what in (
            ("context_cache", builds, "builds whose channel was in memory"),
            ("feature_cache", self._features, "texts whose features were known"),
        ):
            requests = CounterMetricFamily(
                f"backscroll_{name}_requests", f"Hits: {what}.", labels=["result"]
            )
            requests.add_metric(["hit"], cache.hits)
            requests.add_metric(["miss"], cache.misses)
            yield requests
            yield GaugeMetricFamily(
                f"backscroll_{name}_hit_rate",
                f"Share of {what}, since the start.",
                value=cache.hits / max(1, cache.hits + cache.misses),
            )
        missed = CounterMetricFamily(
            "backscroll_missed_deadlines",
            "Calls that were not answered in their caller's time.",
            labels=["method"],
        )
        for method, count in sorted(self._missed_deadlines().items()):
            missed.add_metric([method], count)
        yield missed
        yield CounterMetricFamily(
            "backscroll_damaged_segments",
            "Loads of a channel that met a damaged segment and read rows instead.",
            value=self._damaged_segments(),
        )

    def _outcomes(self) -> Iterator[Metric]:
        """How builds ended. Copies: the event loop goes on counting."""
        from prometheus_client.metrics_core import CounterMetricFamily  # noqa: PLC0415

        builds = self._builds
        rungs = {(one.name.lower(),): builds.rungs[one] for one in Rung}
        fallbacks = {(one.name.lower(), why): n for (one, why), n in dict(builds.fallbacks).items()}
        errors = {(reason,): n for reason, n in dict(builds.errors).items()}
        losses = dict(builds.losses)
        for name, what, labels, counts in (
            ("builds", "Contexts, by the rung they stand on.", ["rung"], rungs),
            ("fallbacks", "Contexts on a lower rung, by what led there.", ["rung", "reason"], fallbacks),
            ("degradations", "What contexts do without.", ["stage", "source", "reason"], losses),
            ("build_errors", "Builds that gave no context.", ["reason"], errors),
        ):  # fmt: skip
            family = CounterMetricFamily(f"backscroll_context_{name}", what, labels=labels)
            for values, count in sorted(counts.items()):
                family.add_metric(values, count)
            yield family


class MetricsServer:
    """Answers scrapes over HTTP, from a thread of its own, until it is closed.

    Attributes
    ----------
    address
        ``host:port`` as bound.
    """

    def __init__(self, host: str, port: int, metrics: Metrics) -> None:
        from prometheus_client import CollectorRegistry, start_http_server  # noqa: PLC0415

        registry = CollectorRegistry(auto_describe=False)
        registry.register(metrics)
        self._server, self._thread = start_http_server(port, host, registry)
        port = self._server.server_port
        self.address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    def close(self) -> None:
        """Stop answering."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _cumulated(buckets: list[int]) -> list[tuple[str, float]]:
    """Counts up to each bound, as the text form has them."""
    bounds = [*map(str, BUILD_BOUNDS_S), "+Inf"]
    return list(zip(bounds, accumulate(buckets), strict=True))
