"""The parts about records of builds: what they cost an answer, and what a sink that fails costs it."""

from __future__ import annotations

from functools import partial
from statistics import median

from backscroll_bench.speed import chats, sinks
from backscroll_bench.speed.children import child
from backscroll_bench.speed.fixture import APPEND, BUILD, Bench, fill
from backscroll_bench.speed.load import Load, Questions, closed_loop, unary
from backscroll_bench.speed.questions import near_questions
from backscroll_bench.speed.reading import Reading, Readings
from backscroll_bench.speed.stats import Rounds

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
    p50 = Rounds(tuple(a.p50_s for a, _ in pairs), tuple(b.p50_s for _, b in pairs))
    p99 = Rounds(tuple(a.p99_s for a, _ in pairs), tuple(b.p99_s for _, b in pairs))
    rate = Rounds(tuple(a.per_second for a, _ in pairs), tuple(b.per_second for _, b in pairs))
    details = {
        "p50_ms": p50.value * 1e3,
        "unrecorded_p50_ms": p50.base * 1e3,
        "p99_ms": p99.value * 1e3,
        "unrecorded_p99_ms": p99.base * 1e3,
        "per_second": median(rate.values),
    }
    return {
        "p50": Reading(p50.ratio, details, p50),
        "p99": Reading(p99.ratio, details, p99, calm=p50.bases),
        "rate": Reading(rate.ratio, details, rate),
    }


async def _asked(bench: Bench, kind: str) -> Questions:
    """Questions about the last lines of a channel, to a server of its own with that sink."""

    async def made() -> Questions:
        database = str(bench.directory / f"sink-{kind}.db")
        address = bench.stack.enter_context(child(sinks.MODULE, (kind, database)))
        connection = await bench.connect(address)
        await fill(unary(connection, APPEND), CHANNEL, chats.messages(HISTORY))
        return await near_questions(unary(connection, BUILD), CHANNEL, "balanced", HISTORY)

    return await bench.once(("sink", kind), made)
