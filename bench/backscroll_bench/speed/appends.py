"""The parts about AppendMessages: what SQLite itself, or an empty call, needs for the same stands beside."""

from __future__ import annotations

import asyncio
from statistics import median

from backscroll_bench.speed import chats
from backscroll_bench.speed.bare import insert_again
from backscroll_bench.speed.fixture import APPEND, Bench
from backscroll_bench.speed.load import Load, closed_loop
from backscroll_bench.speed.reading import Reading, Readings, rates
from backscroll_bench.speed.stats import Rounds, Wrong

CALLERS = 16


async def single(bench: Bench, kind: str) -> Readings:
    """One message a call, against as many calls of R0; `kind`: of server, for its durability. Reading: ratio."""
    call = (await bench.served(kind)).call(APPEND)
    messages = list(chats.messages(bench.sizes.many))
    warm = chats.append_requests(bench.new_name("warm"), messages[:1], 1)
    r0 = await bench.r0(len(await call(next(warm))))

    async def measured() -> Load:
        requests = list(chats.append_requests(bench.new_name("single"), messages, 1))
        return await closed_loop(call, requests, len(requests), concurrency=CALLERS)

    async def base() -> Load:
        requests = list(chats.append_requests("single", messages, 1))
        return await closed_loop(r0, requests, len(requests), concurrency=CALLERS)

    return {"ratio": rates(await bench.interleaved(measured, base))}


async def batches(bench: Bench, size: int) -> Readings:
    """`size` messages a call, against executemany of the same rows, `size` a transaction. Readings: ratio, rate."""
    call = (await bench.served("plain")).call(APPEND)
    messages = list(chats.messages(bench.sizes.appended))
    channels: list[str] = []
    loads: list[Load] = []

    async def measured() -> float:
        channels.append(bench.new_name("append"))
        requests = list(chats.append_requests(channels[-1], messages, size))
        load = await closed_loop(call, requests, len(requests), concurrency=CALLERS)
        loads.append(load)
        return len(messages) / load.elapsed_s

    async def base() -> float:
        """The rows of the channel that was written last: the first round measures the server first."""
        source, target = bench.directory / "plain.db", bench.directory / "bare.db"
        rows, taken_s = await asyncio.to_thread(insert_again, source, target, channels[-1], size)
        if rows != len(messages):
            raise Wrong(f"{rows} of {len(messages)} messages were stored")
        return rows / taken_s

    pairs = await bench.interleaved(measured, base)
    rounds = Rounds(tuple(a for a, _ in pairs), tuple(b for _, b in pairs))
    details = {
        "per_second": rounds.value,
        "base_per_second": rounds.base,
        "p50_ms": median(load.p50_s for load in loads) * 1e3,
        "p99_ms": median(load.p99_s for load in loads) * 1e3,
    }
    ratio = Reading(rounds.ratio, details, rounds)
    return {"ratio": ratio, "rate": Reading(rounds.value, details)}
