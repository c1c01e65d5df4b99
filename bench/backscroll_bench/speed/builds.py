"""The parts about BuildContext: one call, many at once, under ingest, on a cold channel."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from statistics import median

from backscroll.v1 import context_pb2
from backscroll_bench.speed import chats
from backscroll_bench.speed.fixture import (
    APPEND,
    BUILD,
    COLD,
    Bench,
    Questions,
    Served,
    near_questions,
    stage_microseconds,
    stages_of,
)
from backscroll_bench.speed.load import Call, closed_loop, open_channel, unary
from backscroll_bench.speed.reading import Reading, Readings, latencies, rates
from backscroll_bench.speed.stats import Rounds, Wrong, percentile

KINDS = {"balanced": "plain", "classic": "plain", "classic_full": "full_classic"}
"""Which server answers for a profile: `classic_full` needs a source of the bench's, which proposes to any profile."""
STAGE_BUILDS = 200
COLD_HISTORY = 10_000
INGEST_RATE, INGEST_BATCH, INGEST_CHANNELS = 8_000, 50, 16
INGEST_HISTORY = 10_000
INGEST_PATIENCE = 2
"""So many times the seconds it should take is waited for a server that does not keep up."""
CALLS_BETWEEN_LOOKS = 20
INGEST_KEPT = 0.95
"""Less than this share of the rate reached the server: then it was not under that load."""


async def build(
    bench: Bench, profile: str, count: int, concurrency: int = 1, kind: str | None = None
) -> Readings:
    """Builds about the last lines of a hot channel, beside R0; `kind`: of server. Readings: p50, p99, stages."""
    kind = kind or KINDS[profile]
    asked = await bench.questions(kind, profile, count)
    call = (await bench.served(kind)).call(BUILD)
    if concurrency == 1:
        return await by_one_caller(bench, call, asked)
    many = bench.sizes.many
    return latencies(await bench.beside_r0(call, asked, calls=many, concurrency=concurrency))


async def by_one_caller(bench: Bench, call: Call, asked: Questions) -> Readings:
    """Builds one after the other, beside R0. Readings: p50, p99, stages."""
    found = latencies(await bench.beside_r0(call, asked, calls=bench.sizes.calls))
    stages = await stage_microseconds(call, asked, min(STAGE_BUILDS, bench.sizes.calls))
    details = {f"{name}_us": us for name, us in stages.items()}
    found["stages"] = Reading(stages["all"], details | {"reply_bytes": asked.reply_bytes})
    return found


async def throughput(
    bench: Bench, profile: str, count: int, concurrency: int, kind: str | None = None
) -> Readings:
    """The same by many callers at once: calls a second against R0's. Reading: rate."""
    kind = kind or KINDS[profile]
    asked = await bench.questions(kind, profile, count)
    call = (await bench.served(kind)).call(BUILD)
    return {
        "rate": rates(
            await bench.beside_r0(call, asked, calls=bench.sizes.many, concurrency=concurrency)
        )
    }


async def cold(bench: Bench) -> Readings:
    """The first build on a channel that a warm server has not in memory. Reading: first (ms)."""
    flags, channel = bench.flags(f"{bench.new_name('cold')}.db", settings=COLD), "cold"
    with bench.start(flags) as running:
        async with open_channel(running.address) as connection:
            await bench.fill(Served(running, connection), channel, chats.messages(COLD_HISTORY))
            call = unary(connection, BUILD)
            asked = await near_questions(call, channel, "balanced", COLD_HISTORY)
    hits = []
    for _ in range(bench.sizes.rounds):
        with bench.start(flags) as running:
            async with open_channel(running.address) as connection:
                hits.append(await _first_hit(unary(connection, BUILD), asked.requests[0]))
    value = median(taken_ms for taken_ms, _ in hits)
    details = {"p50_ms": value, "p99_ms": max(taken_ms for taken_ms, _ in hits)}
    details |= {f"{name}_us": median(each[name] for _, each in hits) for name in hits[0][1]}
    return {"first": Reading(value, details)}


async def _first_hit(call: Call, request: bytes) -> tuple[float, dict[str, int]]:
    """Milliseconds and stages of the first build on its channel, after one on a channel nobody has heard of."""
    elsewhere = context_pb2.BuildContextRequest.FromString(request)
    elsewhere.channel = "nowhere"
    await call(elsewhere.SerializeToString())
    began = time.perf_counter()
    answer = await call(request)
    taken_ms = (time.perf_counter() - began) * 1e3
    if context_pb2.BuildContextResponse.FromString(answer).diagnostics.cache_hit:
        raise Wrong("the channel was in memory before it was asked for")
    return taken_ms, stages_of(answer)


async def under_ingest(bench: Bench) -> Readings:
    """p99 of builds while messages come into other channels at a fixed rate, against idle. Reading: ratio."""
    asked = await bench.questions("plain", "balanced", INGEST_HISTORY)
    served = await bench.served("plain")
    call, append = served.call(BUILD), served.call(APPEND)
    idle, busy, reached = [], [], []
    await closed_loop(call, asked.requests, bench.sizes.calls)
    for _ in range(bench.sizes.rounds):
        idle.append(await closed_loop(call, asked.requests, bench.sizes.calls))
        waiting = _batches(bench, int(bench.sizes.seconds * INGEST_RATE))
        feeding = asyncio.create_task(_feed(append, waiting, INGEST_PATIENCE * bench.sizes.seconds))
        taken: list[float] = []
        while not feeding.done():
            load = await closed_loop(call, asked.requests, CALLS_BETWEEN_LOOKS)
            taken.extend(load.latencies_s)
        busy.append(percentile(taken, 0.99))
        reached.append(feeding.result())
    rounds = Rounds(tuple(busy), tuple(load.p99_s for load in idle))
    rate = median(reached)
    details = {"p99_ms": rounds.value * 1e3, "idle_p99_ms": rounds.base * 1e3, "per_second": rate}
    slow = rate < INGEST_KEPT * INGEST_RATE
    fails = f"only {rate:,.0f} of {INGEST_RATE:,} messages a second came in" if slow else ""
    calm = tuple(load.p50_s for load in idle)  # a p99 of a few hundred calls moves by itself
    return {"ratio": Reading(rounds.ratio, details, rounds, calm, fails)}


def _batches(bench: Bench, count: int) -> list[bytes]:
    """Calls of AppendMessages for new channels, by turns."""
    messages = list(chats.messages(-(-count // INGEST_CHANNELS)))
    calls = [
        chats.append_requests(bench.new_name("ingest"), messages, INGEST_BATCH)
        for _ in range(INGEST_CHANNELS)
    ]
    return [one for some in zip(*calls, strict=True) for one in some]


async def _feed(append: Call, requests: Sequence[bytes], longest_s: float) -> float:
    """Send at `INGEST_RATE`, `INGEST_CHANNELS` calls at once, for `longest_s` at most; messages a second, answered."""
    room = asyncio.Semaphore(INGEST_CHANNELS)
    began = time.perf_counter()
    answered = 0

    async def send(request: bytes) -> None:
        nonlocal answered
        try:
            await append(request)
            answered += 1
        finally:
            room.release()

    async with asyncio.TaskGroup() as group:
        for number, request in enumerate(requests):
            passed = time.perf_counter() - began
            if passed > longest_s:
                break
            await asyncio.sleep(number * INGEST_BATCH / INGEST_RATE - passed)
            await room.acquire()
            group.create_task(send(request))
    return answered * INGEST_BATCH / (time.perf_counter() - began)
