"""How latency grows: with the history, the number of channels, the callers at once; and cold loads with the history.

`measure_points` gives plain values; `drawing` makes pictures of them.
"""

from __future__ import annotations

import random
import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from backscroll_bench.speed import chats
from backscroll_bench.speed.fixture import (
    BUILD,
    COLD,
    Bench,
    Serve,
    channel_of,
    opened,
)
from backscroll_bench.speed.load import Load, Questions, open_channel, unary
from backscroll_bench.speed.loops import run
from backscroll_bench.speed.questions import (
    NoQuestion,
    answered,
    elsewhere,
    far,
    is_loaded,
    near,
    near_questions,
)
from backscroll_bench.speed.resting import settled
from backscroll_bench.speed.sizes import Sizes

CHANNEL_MESSAGES = 1_000
ROUNDS, SECONDS = 3, 1.0
"""Of a point: a picture needs no more."""
PROFILES = ("balanced", "classic_full")
COLD_KIND = "full_classic"
"""The server whose database is copied: it holds channels of every length already."""
COLD_SETTINGS = f"hot_channel_bytes = 8589934592\n{COLD}"
"""No channel goes while others are loaded, and none is loaded that nobody asks for."""
STARTS, QUICK_STARTS = 5, 1
Point = dict[str, Any]
"""What was measured, and at what length."""
VECTOR_UP_TO = 100_000
"""Making the vectors of more takes longer than all the rest."""


@dataclass(frozen=True, slots=True)
class Reach:
    """How far the sweeps go."""

    history: Sequence[int] = (1_000, 10_000, 100_000, 1_000_000)
    channels: Sequence[int] = (1, 4, 16, 64, 256)
    concurrency: Sequence[int] = (1, 2, 4, 8, 16, 32, 64, 128, 256)
    messages: int = 10_000


QUICK = Reach((300, 1_000), (1, 4), (1, 4), 1_000)


def measure_points(
    serve: Serve,
    directory: Path,
    state_dir: Path,
    sizes: Sizes,
    *,
    progress: Callable[[str], None] = lambda _: None,
) -> dict[str, list[Point]]:
    """The points of all sweeps, by the sweep's name. Parameters as of `run.measure`."""
    reach = QUICK if sizes.quick else Reach()
    sizes = replace(sizes, rounds=min(sizes.rounds, ROUNDS), seconds=min(sizes.seconds, SECONDS))
    found = {}

    async def measured() -> None:
        async with opened(serve, directory, state_dir, sizes) as bench:
            for name, sweep in SWEEPS.items():
                progress(name)
                found[name] = await sweep(bench, reach)
            progress("")

    run(measured())
    return found


async def _history(bench: Bench, reach: Reach) -> list[Point]:
    """One caller, channels of more and more messages."""
    points = []
    for count in reach.history:
        for profile in PROFILES:
            try:
                asked = await near(bench, profile, count)
            except NoQuestion:
                continue
            points.append({"profile": profile, "messages": count} | await _point(bench, asked))
        if count <= VECTOR_UP_TO:
            point = await _point(bench, await far(bench, count))
            points.append({"profile": "balanced, vector given", "messages": count} | point)
    return points


async def _channels(bench: Bench, reach: Reach) -> list[Point]:
    """One caller, another one of so many channels each time."""
    served = await bench.served("plain")
    call, points, rng = served.call(BUILD), [], random.Random(1)
    names: list[str] = []
    base: Questions | None = None
    for count in reach.channels:
        while len(names) < count:
            names.append(bench.new_name("many"))
            await bench.fill(served, names[-1], chats.messages(CHANNEL_MESSAGES))
            if base is None:
                base = await near_questions(call, names[0], "balanced", CHANNEL_MESSAGES)
        assert base is not None
        asked = elsewhere(base, rng.sample(names, count))
        for request in asked.requests:  # all of them in memory
            await call(request)
        points.append({"channels": count} | await _point(bench, asked))
    return points


async def _concurrency(bench: Bench, reach: Reach) -> list[Point]:
    """One channel, more and more callers."""
    points = []
    for profile in PROFILES:
        asked = await near(bench, profile, reach.messages)
        for callers in reach.concurrency:
            point = await _point(bench, asked, callers)
            points.append({"profile": profile, "callers": callers} | point)
    return points


async def _cold(bench: Bench, reach: Reach) -> list[Point]:
    """The first build on a channel that a warm server has not in memory.

    A build waits for a history as long as the settings say, then answers without it. What counts is the first answer
    that has it.
    """
    for count in reach.history:
        await bench.filled(COLD_KIND, count)
    await settled((await bench.served(COLD_KIND)).running.pid)
    name = f"{bench.new_name('cold')}.db"
    source = bench.directory / f"{COLD_KIND}.db"
    with (
        closing(sqlite3.connect(source)) as old,
        closing(sqlite3.connect(bench.directory / name)) as new,
    ):
        old.backup(new)
    flags = bench.flags(name, durability="normal", settings=COLD_SETTINGS)
    taken_ms: dict[int, list[float]] = {count: [] for count in reach.history}
    for _ in range(QUICK_STARTS if bench.sizes.quick else STARTS):
        with bench.start(flags) as running:
            async with open_channel(running.address) as connection:
                call = unary(connection, BUILD)
                await call(_question("nowhere", 1))  # what a process's first build takes besides
                for count, each_ms in taken_ms.items():
                    began = time.perf_counter()
                    await answered(call, _question(channel_of(count), count), is_loaded, look_s=0)
                    each_ms.append((time.perf_counter() - began) * 1e3)
    return [
        {"messages": count, "first_ms": median(each_ms), "slowest_ms": max(each_ms)}
        for count, each_ms in taken_ms.items()
    ]


def _question(channel: str, count: int) -> bytes:
    (said,) = chats.said(1, skip=count)
    return chats.build_request(channel, said, "balanced").SerializeToString()


async def _point(bench: Bench, asked: Questions, concurrency: int = 1) -> Point:
    calls = bench.sizes.calls if concurrency == 1 else bench.sizes.many
    rounds = await bench.beside_r0(asked, calls=calls, concurrency=concurrency)
    return _figures("", [one for one, _ in rounds]) | _figures("r0_", [r0 for _, r0 in rounds])


def _figures(prefix: str, loads: Sequence[Load]) -> Point:
    """Medians of the rounds."""
    return {
        f"{prefix}p50_ms": median(load.p50_s for load in loads) * 1e3,
        f"{prefix}p99_ms": median(load.p99_s for load in loads) * 1e3,
        f"{prefix}per_second": median(load.per_second for load in loads),
    }


SWEEPS = {
    "history": _history,
    "channels": _channels,
    "concurrency": _concurrency,
    "cold": _cold,
}
"""In the order they are measured; `drawing` has a picture for each."""
