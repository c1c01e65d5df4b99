"""What the compiled kernels take of a build, in process: no gRPC, no server.

``python bench/kernels_in_builds.py [REPEATS]`` prints for `balanced`, for `balanced` with a query vector that is used,
and for the `classic` formula over everything: a build's time and stages, and of each kernel how often it is called in a
build and what that takes there, and with the same arguments in a loop (hot). Figures are means of the questions; of
each question the least of its repeats, or the median where it says so. What a call from Python costs is in a kernel's
time.
"""

from __future__ import annotations

import asyncio
import gc
import os
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from statistics import fmean, median
from typing import Any, Literal

from numba.core.dispatcher import Dispatcher

from backscroll.v1 import history_pb2
from backscroll_bench.speed import chats, everything, meaning, vectors
from backscroll_bench.speed.fixture import FILL_BATCH, near_questions, stages_of
from backscroll_bench.speed.resting import settled
from backscroll_sidecar.edge.call_pipeline import Call
from backscroll_sidecar.edge.convert.parsing import parse_batch
from backscroll_sidecar.edge.services.context import ContextServicer
from backscroll_sidecar.edge.services.history import HistoryServicer
from backscroll_sidecar.settings import Settings
from backscroll_sidecar.telemetry import logs
from backscroll_sidecar.wiring import open_app

PROFILES = ("balanced", "vector", "classic_full")
HISTORY, REPEATS, HOT_CALLS = 10_000, 60, 200
CALLER = Call("default", None)
CHANNEL = "c"

Build = Callable[[bytes], Awaitable[bytes]]


@dataclass(frozen=True, slots=True)
class Called:
    """One call of a kernel inside a build."""

    name: str
    us: float
    again: Callable[[], object]


@dataclass(frozen=True, slots=True)
class Cost:
    """What a kernel takes of one question's build: microseconds of all of its calls."""

    calls: float
    median_us: float
    least_us: float
    hot_us: float


@contextmanager
def watched() -> Iterator[list[Called]]:
    """Every call of a kernel within the block, in order."""
    seen: list[Called] = []
    replaced = []
    for module in [one for name, one in sys.modules.items() if name.startswith("backscroll_")]:
        for name, value in list(vars(module).items()):
            if isinstance(value, Dispatcher):
                replaced.append((module, name, value))
                setattr(module, name, _noting(value, seen))
    try:
        yield seen
    finally:
        for module, name, value in replaced:
            setattr(module, name, value)


def _noting(kernel: Any, seen: list[Called]) -> Callable[..., Any]:  # noqa: ANN401
    name = kernel.py_func.__name__

    def call(*arguments: Any) -> Any:  # noqa: ANN401
        began = time.perf_counter_ns()
        found = kernel(*arguments)
        us = (time.perf_counter_ns() - began) / 1e3
        seen.append(Called(name, us, lambda: kernel(*arguments)))
        return found

    return call


def _us(work: Callable[[], object]) -> float:
    began = time.perf_counter_ns()
    work()
    return (time.perf_counter_ns() - began) / 1e3


async def kernels_of(build: Build, request: bytes, repeats: int) -> dict[str, Cost]:
    """The kernels of one question's build."""
    inside: dict[str, list[float]] = defaultdict(list)
    with watched() as seen:
        for _ in range(repeats):
            seen.clear()
            await build(request)
            for name in {one.name for one in seen}:
                inside[name].append(sum(one.us for one in seen if one.name == name))
    hot: dict[str, list[float]] = defaultdict(list)
    for one in seen:
        hot[one.name].append(min(_us(one.again) for _ in range(HOT_CALLS)))
    return {
        name: Cost(len(hot[name]), median(each), min(each), sum(hot[name]))
        for name, each in inside.items()
    }


async def measure(build: Build, requests: list[bytes], repeats: int) -> None:
    """Print what builds of these questions take, and the kernels of it."""
    medians, stages, kernels = [], [], []
    for request in requests:
        taken, told = [], []
        for _ in range(repeats):
            began = time.perf_counter_ns()
            answer = await build(request)
            taken.append((time.perf_counter_ns() - began) / 1e3)
            told.append(stages_of(answer))
        medians.append((median(taken), min(taken)))
        stages.append({name: min(one.get(name, 0) for one in told) for name in told[0]})
        kernels.append(await kernels_of(build, request, repeats))
    half, least = (fmean(one) for one in zip(*medians, strict=True))
    print(f"  a build {least:.0f} us, median {half:.0f}; stages:", end="")
    print("".join(f" {name} {fmean(one.get(name, 0) for one in stages):.0f}" for name in stages[0]))
    rows = {
        name: [one.get(name, Cost(0, 0, 0, 0)) for one in kernels]
        for name in dict.fromkeys(name for one in kernels for name in one)
    }
    rows = {"all kernels": [cost for costs in rows.values() for cost in costs]} | rows
    for name, costs in sorted(rows.items(), key=lambda row: -sum(one.hot_us for one in row[1])):
        calls, half, least, hot = (
            sum(getattr(cost, figure) for cost in costs) / len(requests)
            for figure in ("calls", "median_us", "least_us", "hot_us")
        )
        print(f"  {name}: {calls:.1f} calls, {least:.1f} us (median {half:.1f}), hot {hot:.1f}")


@asynccontextmanager
async def ready(name: str) -> AsyncIterator[tuple[Build, list[bytes]]]:
    """A channel filled as the server would, and what builds questions of that kind about it."""
    by_vector = name == "vector"
    async with AsyncExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        strategies = (everything.PATH,) if name == "classic_full" else ()
        embedder: Literal["local", "none"] = "local" if by_vector else "none"
        settings = Settings(
            database=directory / "kernels.db", embedder=embedder, strategies=strategies
        )
        app = await stack.enter_async_context(open_app(settings))
        await app.warm_up()
        context = ContextServicer(app.builder, app.chat, "")
        history = HistoryServicer(app.history)

        async def build(raw: bytes) -> bytes:
            return await context.build_context(raw, CALLER)

        if by_vector:
            vectors.embed_stream(HISTORY)
        messages = islice(chats.stream(), HISTORY)
        vector_of = vectors.embedding_of if by_vector else None
        for raw in chats.append_requests(CHANNEL, messages, FILL_BATCH, vector_of):
            batch = parse_batch(history_pb2.AppendMessagesRequest, raw)
            await history.append_messages(batch, CALLER)
        await settled(os.getpid())
        if by_vector:
            asked, _ = await meaning.far_questions(build, CHANNEL, HISTORY)
        else:
            asked = await near_questions(build, CHANNEL, name, HISTORY)
        gc.collect()
        gc.freeze()
        yield build, asked.requests


async def measure_profile(name: str, repeats: int) -> None:
    """Measure questions of that kind."""
    async with ready(name) as (build, requests):
        print(f"{name}, {HISTORY:,} messages, {len(requests)} questions")
        await measure(build, requests, repeats)


if __name__ == "__main__":
    logs.configure("error")
    for profile in PROFILES:
        asyncio.run(measure_profile(profile, int(sys.argv[1]) if len(sys.argv) > 1 else REPEATS))
