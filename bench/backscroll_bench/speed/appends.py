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


async def batches(bench: Bench, size: int) -> Readings:
    """`size` messages a call, against executemany of the same rows, `size` a transaction. Readings: ratio, rate."""
    found = await _against_sqlite(bench, bench.sizes.appended, size, size)
    return {"ratio": found, "rate": Reading(found.details["per_second"], found.details)}


async def single_full(bench: Bench) -> Readings:
    """One message a call by `CALLERS` callers, against bare commits of `CALLERS` rows. Reading: ratio."""
    return {"ratio": await _against_sqlite(bench, bench.sizes.many, 1, CALLERS)}


async def single_normal(bench: Bench) -> Readings:
    """One message a call, durability normal, against as many calls of R0. Reading: ratio."""
    call = (await bench.served("normal")).call(APPEND)
    messages = chats.said(bench.sizes.many)
    reply = await call(chats.append_requests(bench.new_name("warm"), messages[:1], 1)[0])
    r0 = await bench.r0(len(reply))

    async def measured() -> Load:
        requests = chats.append_requests(bench.new_name("single"), messages, 1)
        return await closed_loop(call, requests, len(requests), concurrency=CALLERS)

    async def base() -> Load:
        requests = chats.append_requests("single", messages, 1)
        return await closed_loop(r0, requests, len(requests), concurrency=CALLERS)

    return {"ratio": rates(await bench.interleaved(measured, base))}


async def _against_sqlite(bench: Bench, count: int, size: int, transaction: int) -> Reading:
    """Messages a second through the server against the rows it wrote, put into a bare table by executemany."""
    call = (await bench.served("plain")).call(APPEND)
    messages = chats.said(count)
    channels: list[str] = []
    loads: list[Load] = []

    async def measured() -> float:
        channels.append(bench.new_name("append"))
        requests = chats.append_requests(channels[-1], messages, size)
        load = await closed_loop(call, requests, len(requests), concurrency=CALLERS)
        loads.append(load)
        return count / load.elapsed_s

    async def base() -> float:
        """The rows of the channel that was written last: the first round measures the server first."""
        source, target = bench.directory / "plain.db", bench.directory / "bare.db"
        rows, taken_s = await asyncio.to_thread(
            insert_again, source, target, channels[-1], transaction
        )
        if rows != count:
            raise Wrong(f"{rows} of {count} messages were stored")
        return rows / taken_s

    pairs = await bench.interleaved(measured, base)
    rounds = Rounds(tuple(a for a, _ in pairs), tuple(b for _, b in pairs))
    details = {
        "per_second": rounds.value,
        "base_per_second": rounds.base,
        "p50_ms": median(load.p50_s for load in loads) * 1e3,
        "p99_ms": median(load.p99_s for load in loads) * 1e3,
    }
    return Reading(rounds.ratio, details, rounds)
