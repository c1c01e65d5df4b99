"""Who measures what. A row of `rows.ROWS` names its part."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial

from backscroll_bench.speed import appends, builds, kernels, rooms, starts, streams
from backscroll_bench.speed.fixture import Bench
from backscroll_bench.speed.reading import Readings

Part = Callable[[Bench], Awaitable[Readings]]

PARTS: Mapping[str, Part] = {
    "balanced-10k": partial(builds.build, profile="balanced", count=10_000),
    "balanced-1k": partial(builds.build, profile="balanced", count=1_000),
    "balanced-100k": partial(builds.build, profile="balanced", count=100_000),
    "balanced-c64": partial(builds.throughput, profile="balanced", count=10_000, concurrency=64),
    "classic-10k": partial(builds.build, profile="classic_full", count=10_000),
    "classic-10k-c8": partial(builds.build, profile="classic_full", count=10_000, concurrency=8),
    "classic-c64": partial(builds.throughput, profile="classic_full", count=10_000, concurrency=64),
    "classic-window-10k": partial(builds.build, profile="classic", count=10_000),
    "cold-10k": builds.cold,
    "rooms-1m": rooms.many,
    "kernel-1m": kernels.bandwidth,
    "kernel-python": kernels.against_python,
    "kernel-numpy": kernels.against_numpy,
    "append-50": partial(appends.batches, size=50),
    "append-single-normal": appends.single_normal,
    "append-single-full": appends.single_full,
    "first-delta": streams.first_delta,
    "ingest-p99": builds.under_ingest,
    "start": starts.start,
    "memory": starts.memory,
}
