"""What a scrape tells: plain numbers, added to where things happen, named when somebody asks (S5-20, S5-33).

The metrics library's own counters take 22 to 45 µs a call, as much as a stage of a build; an addition takes none. The
library writes the text and answers HTTP.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

BUILD_BOUNDS_S = (
    0.00025, 0.0005, 0.001, 0.002, 0.003, 0.005, 0.0075, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0,
)  # fmt: skip
"""Upper bounds of the buckets of build times, in seconds; the last bucket has none."""


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

    def add(self, took_s: float, *, cache_hit: bool) -> None:
        """One more build."""
        self.count += 1
        self.seconds += took_s
        self.hits += cache_hit
        self.buckets[bisect_left(BUILD_BOUNDS_S, took_s)] += 1

    @property
    def misses(self) -> int:
        """Builds that had to load their channel, or found none."""
        return self.count - self.hits


class Metrics:
    """Everything a scrape tells, by the names of S5's list where it has one.

    Parameters
    ----------
    builds
        What builds came to.
    features
        The cache of analysed texts.
    missed_deadlines
        Calls by RPC that were not answered in their caller's time (N-09); asked at each scrape.
    """

    def __init__(
        self,
        builds: BuildNumbers,
        features: Cache,
        missed_deadlines: Callable[[], Mapping[str, int]] = dict,
    ) -> None:
        self._builds = builds
        self._features = features
        self._missed_deadlines = missed_deadlines

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
