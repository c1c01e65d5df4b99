"""The parts about PostgreSQL, beside SQLite by turns, and what processors do when several servers share a database."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import cycle
from statistics import median

from backscroll_bench.speed import chats
from backscroll_bench.speed.builds import first_hit
from backscroll_bench.speed.fixture import APPEND, BUILD, COLD, Bench, Served
from backscroll_bench.speed.load import Call, Load, Questions, closed_loop, open_channel, unary
from backscroll_bench.speed.postgres import Postgres
from backscroll_bench.speed.questions import answered, is_whole, near, near_questions
from backscroll_bench.speed.reading import Reading, Readings, latencies, rates
from backscroll_bench.speed.resting import cpu_s, settled
from backscroll_bench.speed.stats import Rounds

HISTORY, QUICK_HISTORY = 10_000, 1_000
CALLERS, APPENDERS, CHANNELS, BATCH = 64, 16, 16, 50
SHARED = "shared"
"""The channel that several servers hold."""


async def builds(bench: Bench, concurrency: int = 1) -> Readings:
    """Builds of a server on PostgreSQL against one on SQLite. Readings: p50, p99, of many callers rate."""
    there = await near(bench, "balanced", HISTORY, "postgres")
    here = await near(bench, "balanced", HISTORY)
    calls = bench.sizes.calls if concurrency == 1 else bench.sizes.many

    async def load(asked: Questions) -> Load:
        return await closed_loop(
            asked.call, asked.requests, calls, concurrency=concurrency, longest_s=bench.sizes.seconds
        )  # fmt: skip

    await load(there), await load(here)
    pairs = await bench.interleaved(partial(load, there), partial(load, here))
    return {**latencies(pairs, "sqlite"), "rate": rates(pairs)}


async def batches(bench: Bench, size: int) -> Readings:
    """`size` messages a call, on PostgreSQL against SQLite; both wait for the disk. Reading: ratio."""
    there, here = await bench.served("postgres"), await bench.served("plain")
    messages = list(chats.messages(bench.sizes.appended))

    async def load(served: Served) -> Load:
        requests = list(chats.append_requests(bench.new_name("append"), messages, size))
        return await closed_loop(
            served.call(APPEND), requests, len(requests), concurrency=APPENDERS
        )

    await load(there), await load(here)
    return {"ratio": rates(await bench.interleaved(partial(load, there), partial(load, here)))}


async def cold(bench: Bench, count: int) -> Readings:
    """The first build on a channel that a warm server has not in memory, against SQLite, each by a process of its own.

    Reading: first.
    """
    count = min(count, QUICK_HISTORY) if bench.sizes.quick else count
    there = await _filled(bench, await bench.new_postgres_database(), count)
    here = await _filled(bench, f"{bench.new_name('cold')}.db", count)
    pairs = await bench.interleaved(
        partial(_first_ms, bench, *there), partial(_first_ms, bench, *here)
    )
    rounds = Rounds(tuple(a for a, _ in pairs), tuple(b for _, b in pairs))
    details = {"p50_ms": rounds.value, "sqlite_p50_ms": rounds.base}
    return {"first": Reading(rounds.ratio, details, rounds)}


async def _filled(bench: Bench, database: str, count: int) -> tuple[Sequence[str], Questions]:
    """How a server over such a history is called, and what it is asked about its last lines."""
    flags = bench.flags(database, durability="normal", settings=COLD)
    with bench.start(flags) as running:
        async with open_channel(running.address) as connection:
            await bench.fill(Served(running, connection), SHARED, chats.messages(count))
            asked = await near_questions(unary(connection, BUILD), SHARED, "balanced", count)
            await settled(running.pid)
    return flags, asked


async def _first_ms(bench: Bench, flags: Sequence[str], asked: Questions) -> float:
    with bench.start(flags) as running:
        async with open_channel(running.address) as connection:
            taken_ms, _ = await first_hit(unary(connection, BUILD), asked)
    return taken_ms


@dataclass(frozen=True, slots=True)
class Spent:
    """What a load took: calls and seconds, and processor time of the servers and of PostgreSQL in seconds."""

    calls: int
    taken_s: float
    servers_s: float
    postgres_s: float


async def processors(bench: Bench, servers: int) -> Readings:
    """So many servers on one PostgreSQL, each call to the next one, by so many callers that the cores are busy.

    What asks shares the cores with them, so rates say little where there are few; processor time a call says what a
    core could do. Readings, medians of the rounds: build-rate, append-rate (1/s); build-server, build-postgres,
    append-server, append-postgres (µs a call; an append is of 50 messages to one of 16 channels).
    """
    count = QUICK_HISTORY if bench.sizes.quick else HISTORY
    flags = bench.flags(await bench.new_postgres_database(), is_kept=False)
    with ExitStack() as stack:
        async with AsyncExitStack() as connections:
            shared = [
                Served(one, await connections.enter_async_context(open_channel(one.address)))
                for one in (stack.enter_context(bench.start(flags)) for _ in range(servers))
            ]
            await bench.fill(shared[0], SHARED, chats.messages(count))
            asked = await near_questions(shared[0].call(BUILD), SHARED, "balanced", count)
            for one in shared:
                await answered(one.call(BUILD), asked.requests[0], is_whole)
                await settled(one.running.pid)
            build = partial(
                closed_loop, _by_turns([one.call(BUILD) for one in shared]), asked.requests,
                2 * bench.sizes.many, concurrency=CALLERS, longest_s=bench.sizes.seconds,
            )  # fmt: skip
            await build()
            loads: dict[str, Callable[[], Awaitable[Load]]] = {
                "build": build,
                "append": partial(_append, bench, _by_turns([one.call(APPEND) for one in shared])),
            }
            found = await bench.postgres()
            watched = [one.running.pid for one in shared], found
            spent: dict[str, list[Spent]] = {name: [] for name in loads}
            for _ in range(bench.sizes.rounds):
                for name, load in loads.items():
                    spent[name].append(await _spent(load, *watched))
    return {
        f"{name}-{what}": reading
        for name, some in spent.items()
        for what, reading in _readings(some).items()
    }


def _by_turns(calls: Sequence[Call]) -> Call:
    """Each call to the next server."""
    following = cycle(calls)

    def call(request: bytes) -> Awaitable[bytes]:
        return next(following)(request)

    return call


async def _append(bench: Bench, call: Call) -> Load:
    """As many messages as a run appends, to new channels by turns."""
    messages = list(chats.messages(max(BATCH, bench.sizes.appended // CHANNELS)))
    some = [
        chats.append_requests(bench.new_name("shared"), messages, BATCH) for _ in range(CHANNELS)
    ]
    requests = [one for turn in zip(*some, strict=True) for one in turn]
    return await closed_loop(call, requests, len(requests), concurrency=APPENDERS)


async def _spent(
    load: Callable[[], Awaitable[Load]], pids: Sequence[int], database: Postgres
) -> Spent:
    before = sum(map(cpu_s, pids)), database.cpu_s
    done = await load()
    servers_s = sum(map(cpu_s, pids)) - before[0]
    return Spent(len(done.latencies_s), done.elapsed_s, servers_s, database.cpu_s - before[1])


def _readings(some: Sequence[Spent]) -> dict[str, Reading]:
    rate = median(one.calls / one.taken_s for one in some)
    server_us = median(one.servers_s / one.calls for one in some) * 1e6
    postgres_us = median(one.postgres_s / one.calls for one in some) * 1e6
    details = {
        "per_second": rate,
        "server_us": server_us,
        "postgres_us": postgres_us,
        "server_cores": median(one.servers_s / one.taken_s for one in some),
        "postgres_cores": median(one.postgres_s / one.taken_s for one in some),
    }
    return {
        "rate": Reading(rate, details),
        "server": Reading(server_us, details),
        "postgres": Reading(postgres_us, details),
    }
