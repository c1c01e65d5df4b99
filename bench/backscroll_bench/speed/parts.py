"""Who measures what. A row of `rows.ROWS` names its part."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial

from backscroll_bench.peers import NAMES
from backscroll_bench.speed import (
    appends,
    assembly,
    builds,
    fresh,
    kernels,
    lived_in,
    meaning,
    peers,
    rooms,
    semantic,
    starts,
    streams,
)
from backscroll_bench.speed.fixture import Bench
from backscroll_bench.speed.reading import Readings

Part = Callable[[Bench], Awaitable[Readings]]

PARTS: Mapping[str, Part] = {
    "balanced-10k": partial(builds.build, profile="balanced", count=10_000),
    "balanced-10k-moved": partial(builds.build, profile="balanced", count=10_000, kind="moved"),
    "balanced-10k-grpc": partial(builds.build, profile="balanced", count=10_000, kind="grpc"),
    "balanced-c64-grpc": partial(
        builds.throughput, profile="balanced", count=10_000, concurrency=64, kind="grpc"
    ),
    "balanced-1k": partial(builds.build, profile="balanced", count=1_000),
    "balanced-100k": partial(builds.build, profile="balanced", count=100_000),
    "lived-in-10k": lived_in.build,
    "lived-in-cut-10k": lived_in.build_cut,
    "explain-10k": lived_in.explain,
    "balanced-c64": partial(builds.throughput, profile="balanced", count=10_000, concurrency=64),
    "vector-10k": partial(meaning.build, count=10_000),
    "vector-1k": partial(meaning.build, count=1_000),
    "vector-100k": partial(meaning.build, count=100_000),
    "vector-c64": partial(meaning.throughput, count=10_000, concurrency=64),
    "long-ago-text": partial(meaning.as_text, count=10_000),
    "classic-10k": partial(builds.build, profile="classic_full", count=10_000),
    "classic-10k-c8": partial(builds.build, profile="classic_full", count=10_000, concurrency=8),
    "classic-c64": partial(builds.throughput, profile="classic_full", count=10_000, concurrency=64),
    "classic-window-10k": partial(builds.build, profile="classic", count=10_000),
    "fresh-10k": fresh.fresh,
    "cold-10k": builds.cold,
    "rooms-1m": rooms.many,
    "kernel-1m": kernels.bandwidth,
    "kernel-python": kernels.against_python,
    "kernel-numpy": kernels.against_numpy,
    "assembly": assembly.assembly,
    "semantic-10k": partial(semantic.search, count=10_000),
    "semantic-30k": partial(semantic.search, count=30_000),
    "semantic-100k": partial(semantic.search, count=100_000),
    "semantic-filtered": partial(semantic.filtered, count=10_000),
    "append-50": partial(appends.batches, size=50),
    "append-single-normal": partial(appends.single, kind="normal"),
    "append-single-full": partial(appends.single, kind="plain"),
    "first-delta": streams.first_delta,
    "delta": streams.delay,
    "delta-burst": streams.burst,
    "ingest-p99": builds.under_ingest,
    **{f"peer-{name}": partial(peers.against, name=name) for name in NAMES},
    "start": starts.start,
    "memory": starts.memory,
    "memory-vectors": starts.memory_with_vectors,
}
