"""The parts about records of builds: what they cost an answer, and what a sink that fails costs it."""

from __future__ import annotations

from functools import partial

from backscroll_bench.speed import chats, sinks
from backscroll_bench.speed.children import child
from backscroll_bench.speed.fixture import APPEND, BUILD, Bench, fill
from backscroll_bench.speed.load import Load, Questions, closed_loop, unary
from backscroll_bench.speed.questions import near_questions
from backscroll_bench.speed.reading import Readings, latencies, rates

HISTORY = 10_000
CHANNEL = "room"


async def recording(bench: Bench, kind: str, concurrency: int = 1) -> Readings:
    """Builds of a server with that sink, one of `sinks.FAULTS`, against one that records none.

    Readings: p50, p99; of many callers rate.
    """
    recorded, unrecorded = await _asked(bench, kind), await _asked(bench, "none")
    calls = bench.sizes.calls if concurrency == 1 else bench.sizes.many

    async def load(asked: Questions) -> Load:
        return await closed_loop(
            asked.call,
            asked.requests,
            calls,
            concurrency=concurrency,
            longest_s=bench.sizes.seconds,
        )

    await load(recorded), await load(unrecorded)
    pairs = await bench.interleaved(partial(load, recorded), partial(load, unrecorded))
    return {**latencies(pairs, "unrecorded"), "rate": rates(pairs)}


async def _asked(bench: Bench, kind: str) -> Questions:
    """Questions about the last lines of a channel, to a server of its own with that sink."""

    async def made() -> Questions:
        database = str(bench.directory / f"sink-{kind}.db")
        address = bench.stack.enter_context(child(sinks.MODULE, (kind, database)))
        connection = await bench.connect(address)
        await fill(unary(connection, APPEND), CHANNEL, chats.messages(HISTORY))
        return await near_questions(unary(connection, BUILD), CHANNEL, "balanced", HISTORY)

    return await bench.once(("sink", kind), made)
