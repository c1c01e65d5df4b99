"""The parts about BuildContext: one call, many at once, under ingest, on a cold channel."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from functools import partial
from statistics import median

from backscroll.v1 import context_pb2
from backscroll_bench.speed import chats, vectors
from backscroll_bench.speed.fixture import (
    APPEND,
    BUILD,
    COLD,
    Bench,
    Served,
    stage_microseconds,
    stages_of,
)
from backscroll_bench.speed.load import Call, Load, Questions, closed_loop, open_channel, unary
from backscroll_bench.speed.questions import Asking, elsewhere, near, near_questions, summarised
from backscroll_bench.speed.reading import Reading, Readings, latencies, rates
from backscroll_bench.speed.stats import Rounds, Wrong, percentile

STAGE_BUILDS = 200
COLD_HISTORY = 10_000
INGEST_RATE, INGEST_BATCH, INGEST_CHANNELS = 8_000, 50, 16
INGEST_HISTORY = 10_000
INGEST_PATIENCE = 2
"""So many times the seconds it should take is waited for a server that does not keep up."""
CALLS_BETWEEN_LOOKS = 20
INGEST_KEPT = 0.95
"""Less than this share of the rate reached the server: then it was not under that load."""


async def build(bench: Bench, asking: Asking, concurrency: int = 1) -> Readings:
    """Builds beside R0. Readings: p50, p99; of one caller stages, too."""
    asked = await asking(bench)
    if concurrency > 1:
        many = bench.sizes.many
        return latencies(await bench.beside_r0(asked, calls=many, concurrency=concurrency))
    found = latencies(await bench.beside_r0(asked, calls=bench.sizes.calls))
    stages = await stage_microseconds(asked, min(STAGE_BUILDS, bench.sizes.calls))
    details = {f"{name}_us": us for name, us in stages.items()}
    found["stages"] = Reading(stages["all"], details | {"reply_bytes": asked.reply_bytes})
    return found


async def throughput(bench: Bench, asking: Asking, concurrency: int) -> Readings:
    """The same by many callers at once: calls a second against R0's. Reading: rate."""
    asked, many = await asking(bench), bench.sizes.many
    return {"rate": rates(await bench.beside_r0(asked, calls=many, concurrency=concurrency))}


async def embedding(bench: Bench, asking: Asking) -> Readings:
    """Builds that embed their questions, against R0 and the bare embedder one after the other. Reading: p50."""
    asked = await asking(bench)
    r0 = await bench.r0_to(asked)
    calls = max(1, bench.sizes.calls // 4)  # some milliseconds each
    texts = [context_pb2.BuildContextRequest.FromString(one).question for one in asked.requests]

    async def measured() -> Load:
        return await closed_loop(asked.call, asked.requests, calls, longest_s=bench.sizes.seconds)

    async def base() -> tuple[float, float]:
        empty = await closed_loop(r0, asked.requests, calls, longest_s=bench.sizes.seconds)
        return empty.p50_s, median(_encode_s(texts[n % len(texts)]) for n in range(calls))

    await measured(), await base()
    pairs = await bench.interleaved(measured, base)
    rounds = Rounds(tuple(load.p50_s for load, _ in pairs), tuple(a + b for _, (a, b) in pairs))
    details = {
        "p50_ms": rounds.value * 1e3,
        "p99_ms": median(load.p99_s for load, _ in pairs) * 1e3,
        "r0_p50_ms": median(a for _, (a, _) in pairs) * 1e3,
        "encode_ms": median(b for _, (_, b) in pairs) * 1e3,
    }
    return {"p50": Reading(rounds.ratio, details, rounds)}


async def summary(bench: Bench, count: int) -> Readings:
    """Builds that show a summary against the same without. Reading: p50."""
    shown, without = await summarised(bench, count)

    async def load_of(asked: Questions) -> Load:
        calls = bench.sizes.calls
        return await closed_loop(asked.call, asked.requests, calls, longest_s=bench.sizes.seconds)

    await load_of(shown), await load_of(without)
    pairs = await bench.interleaved(partial(load_of, shown), partial(load_of, without))
    rounds = Rounds(tuple(a.p50_s for a, _ in pairs), tuple(b.p50_s for _, b in pairs))
    details = {"p50_ms": rounds.value * 1e3, "without_p50_ms": rounds.base * 1e3}
    return {"p50": Reading(rounds.ratio, details, rounds)}


def _encode_s(text: str) -> float:
    began = time.perf_counter()
    vectors.bare_model().encode([text])
    return time.perf_counter() - began


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
                hits.append(await first_hit(unary(connection, BUILD), asked))
    value = median(taken_ms for taken_ms, _ in hits)
    details = {"p50_ms": value, "p99_ms": max(taken_ms for taken_ms, _ in hits)}
    details |= {f"{name}_us": median(each[name] for _, each in hits) for name in hits[0][1]}
    return {"first": Reading(value, details)}


async def first_hit(call: Call, asked: Questions) -> tuple[float, dict[str, int]]:
    """Milliseconds and stages of the first build on its channel, after one on a channel nobody has heard of."""
    (nowhere,) = elsewhere(asked, ["nowhere"]).requests
    await call(nowhere)
    began = time.perf_counter()
    answer = await call(asked.requests[0])
    taken_ms = (time.perf_counter() - began) * 1e3
    if context_pb2.BuildContextResponse.FromString(answer).diagnostics.cache_hit:
        raise Wrong("the channel was in memory before it was asked for")
    return taken_ms, stages_of(answer)


async def under_ingest(bench: Bench) -> Readings:
    """p99 of builds while messages come into other channels at a fixed rate, against idle. Reading: ratio."""
    asked = await near(bench, "balanced", INGEST_HISTORY)
    call, append = asked.call, (await bench.served()).call(APPEND)
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
