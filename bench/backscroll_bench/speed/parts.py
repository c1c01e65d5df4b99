"""Who measures what. A row of `rows.ROWS` names its part."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial

from backscroll_bench.peers.memories import MEMORIES
from backscroll_bench.speed import (
    appends,
    assembly,
    builds,
    fresh,
    gateway,
    kernels,
    million,
    peers,
    questions,
    recording,
    rooms,
    rounds,
    semantic,
    starts,
    stores,
    streams,
)
from backscroll_bench.speed.builds import build, throughput
from backscroll_bench.speed.fixture import Bench
from backscroll_bench.speed.questions import Asking
from backscroll_bench.speed.reading import Readings

Part = Callable[[Bench], Awaitable[Readings]]


def _near(profile: str, count: int, kind: str | None = None) -> Asking:
    return partial(questions.near, profile=profile, count=count, kind=kind)


def _far(count: int, *, as_text: bool = False) -> Asking:
    return partial(questions.far, count=count, as_text=as_text)


LIVED_IN: Asking = partial(questions.lived, count=10_000)
LIVED_IN_CUT: Asking = partial(questions.lived, count=10_000, is_cut=True)
STEADY: Asking = partial(questions.steady, count=10_000)
EXPLAINED: Asking = partial(questions.explained, count=10_000)

PARTS: Mapping[str, Part] = {
    "balanced-10k": partial(build, asking=_near("balanced", 10_000)),
    "balanced-10k-moved": partial(build, asking=_near("balanced", 10_000, "moved")),
    "balanced-10k-grpc": partial(build, asking=_near("balanced", 10_000, "grpc")),
    "balanced-c64-grpc": partial(
        throughput, asking=_near("balanced", 10_000, "grpc"), concurrency=64
    ),
    "balanced-1k": partial(build, asking=_near("balanced", 1_000)),
    "balanced-100k": partial(build, asking=_near("balanced", 100_000)),
    "lived-in-10k": partial(build, asking=LIVED_IN),
    "lived-in-cut-10k": partial(build, asking=LIVED_IN_CUT),
    "summary-10k": partial(builds.summary, count=10_000),
    "steady-10k": partial(build, asking=STEADY),
    "explain-10k": partial(build, asking=EXPLAINED),
    "balanced-c64": partial(throughput, asking=_near("balanced", 10_000), concurrency=64),
    "vector-10k": partial(build, asking=_far(10_000)),
    "vector-1k": partial(build, asking=_far(1_000)),
    "vector-100k": partial(build, asking=_far(100_000)),
    "vector-c64": partial(throughput, asking=_far(10_000), concurrency=64),
    "long-ago-text": partial(builds.embedding, asking=_far(10_000, as_text=True)),
    "classic-10k": partial(build, asking=_near("classic_full", 10_000)),
    "classic-10k-c8": partial(build, asking=_near("classic_full", 10_000), concurrency=8),
    "classic-c64": partial(throughput, asking=_near("classic_full", 10_000), concurrency=64),
    "classic-window-10k": partial(build, asking=_near("classic", 10_000)),
    "fresh-10k": fresh.fresh,
    "cold-10k": builds.cold,
    "rooms-1m": rooms.many,
    "vector-1m": million.with_vector,
    "long-ago-1m": million.as_text,
    "kernel-1m": kernels.bandwidth,
    "kernel-python": kernels.against_python,
    "kernel-numpy": kernels.against_numpy,
    "rounds": rounds.rounds,
    "assembly": assembly.assembly,
    "semantic-10k": partial(semantic.search, count=10_000),
    "semantic-30k": partial(semantic.search, count=30_000),
    "semantic-100k": partial(semantic.search, count=100_000),
    "semantic-filtered": partial(semantic.filtered, count=10_000),
    "append-50": partial(appends.batches, size=50),
    "postgres-10k": stores.builds,
    "postgres-c64": partial(stores.builds, concurrency=64),
    "postgres-append-50": partial(stores.batches, size=50),
    "postgres-cold-10k": partial(stores.cold, count=10_000),
    "postgres-cold-100k": partial(stores.cold, count=100_000),
    "postgres-1": partial(stores.processors, servers=1),
    "postgres-3": partial(stores.processors, servers=3),
    "append-single-normal": partial(appends.single, kind="normal"),
    "append-single-full": partial(appends.single, kind="plain"),
    "first-delta": streams.first_delta,
    "gateway-first-delta": gateway.first_delta,
    "delta": streams.delay,
    "delta-burst": streams.burst,
    "ingest-p99": builds.under_ingest,
    "recording": partial(recording.recording, kind="good"),
    "recording-c64": partial(recording.recording, kind="good", concurrency=64),
    **{
        f"sink-{kind}": partial(recording.recording, kind=kind)
        for kind in ("slow", "blocked", "dead")
    },
    **{f"peer-{name}": partial(peers.against, name=name) for name in MEMORIES},
    "start": starts.start,
    "memory": starts.memory,
    "memory-vectors": starts.memory_with_vectors,
}
