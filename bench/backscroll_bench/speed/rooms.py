"""The part about many channels: a million messages in a hundred of them, a random one asked each time."""

from __future__ import annotations

import random

from backscroll.v1 import context_pb2
from backscroll_bench.speed.fixture import BUILD, Bench, Questions, Served, near_questions
from backscroll_bench.speed.load import Call, open_channel, unary
from backscroll_bench.speed.reading import Reading, Readings, latencies

CHANNELS, HISTORY = 100, 10_000
QUICK_CHANNELS, QUICK_HISTORY = 8, 1_000
SEED = 7


async def many(bench: Bench) -> Readings:
    """Builds about the last lines of random channels, beside R0; every channel was asked once before.

    Readings: p50, p99 (x R0), cold (share of builds whose channel was not in memory).
    """
    count, history = (QUICK_CHANNELS, QUICK_HISTORY) if bench.sizes.quick else (CHANNELS, HISTORY)
    names = [f"room{n}" for n in range(count)]
    flags = bench.flags(f"{bench.new_name('rooms')}.db", durability="normal")
    with bench.start(flags) as running:
        async with open_channel(running.address) as connection:
            served = Served(running, connection)
            for name in names:
                await bench.fill(served, name, history)
            call = unary(connection, BUILD)
            asked = [await near_questions(call, name, "balanced", history) for name in names]
            mixed = _in_random_channels(asked[0], names, bench.sizes.calls)
            rounds = await bench.beside_r0(call, mixed, calls=bench.sizes.calls)
            cold = await _cold_share(call, mixed)
    return {**latencies(rounds), "cold": Reading(cold)}


def _in_random_channels(asked: Questions, names: list[str], count: int) -> Questions:
    """The questions by turns, each put to a channel drawn at random: all channels hold the same lines."""
    rng, requests = random.Random(SEED), []
    replies = [asked.replies[n % len(asked.replies)] for n in range(count)]
    for n in range(count):
        request = context_pb2.BuildContextRequest.FromString(
            asked.requests[n % len(asked.requests)]
        )
        request.channel = rng.choice(names)
        requests.append(request.SerializeToString())
    return Questions(requests, replies)


async def _cold_share(call: Call, asked: Questions) -> float:
    answers = [
        context_pb2.BuildContextResponse.FromString(await call(request))
        for request in asked.requests
    ]
    return sum(not one.diagnostics.cache_hit for one in answers) / len(answers)
