"""How the load of a cold channel and a message's memory grow with the history: the sweeps that start servers anew."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing
from statistics import median
from typing import Any

from backscroll.v1 import context_pb2
from backscroll_bench.speed import chats
from backscroll_bench.speed.fixture import BUILD, COLD, LOAD_S, Bench, channel_of
from backscroll_bench.speed.load import Call, open_channel, unary
from backscroll_bench.speed.resting import settled
from backscroll_bench.speed.rooms import copy_channels
from backscroll_bench.speed.starts import resident_bytes
from backscroll_bench.speed.stats import Wrong

Point = dict[str, Any]
"""What was measured, and at what length."""

KIND = "full_classic"
"""The server whose database is copied: it holds channels of every length already (`sweeps`)."""
LEAST_MESSAGES, QUICK_MESSAGES = 100_000, 2_000
"""A short channel is loaded so often, under other names, that this many messages come in: memory grows in steps."""
STARTS, QUICK_STARTS = 5, 1
SETTINGS = f"hot_channel_bytes = 8589934592\n{COLD}"
"""No channel goes while others are loaded, and none is loaded that nobody asks for."""


async def cold(bench: Bench, counts: Sequence[int]) -> list[Point]:
    """Milliseconds of the first build on a channel that a warm server has not in memory, medians of some starts.

    A build waits for a history as long as the settings say, then answers without it; what is told is when the first
    answer came that had it.
    """
    flags, _ = await _database(bench, counts)
    taken_ms: dict[int, list[float]] = {count: [] for count in counts}
    for _ in range(QUICK_STARTS if bench.sizes.quick else STARTS):
        with bench.start(flags) as running:
            async with open_channel(running.address) as connection:
                call = unary(connection, BUILD)
                await call(_question("nowhere", 1))  # what a process's first build takes besides
                for count in counts:
                    began = time.perf_counter()
                    await _load(call, channel_of(count), count)
                    taken_ms[count].append((time.perf_counter() - began) * 1e3)
    return [
        {"messages": count, "first_ms": median(one), "slowest_ms": max(one)}
        for count, one in taken_ms.items()
    ]


async def memory(bench: Bench, counts: Sequence[int]) -> list[Point]:
    """Bytes a message of a channel in memory, its body aside: growth of resident memory when channels are loaded.

    One as long is loaded first, so that what a load takes besides is not counted; before the longest
    channel one of `LEAST_MESSAGES`.
    """
    flags, names = await _database(bench, counts)
    points, first = [], names[counts[0]][0]
    for count in counts:
        *rest, last = names[count]
        first = rest.pop(0) if rest else first
        channels = [*rest, last]
        await _grown_bytes(bench, flags, first, channels, count)  # from rows, once; then as any
        grown = await _grown_bytes(bench, flags, first, channels, count)  # later server reads them
        body_bytes = sum(one.ByteSize() for one in chats.messages(count)) / count
        each = grown / (len(channels) * count)
        points.append(
            {
                "messages": count,
                "channels": len(channels),
                "bytes": each - body_bytes,
                "body_bytes": body_bytes,
            }
        )
    return points


async def _grown_bytes(
    bench: Bench, flags: Sequence[str], first: str, names: Sequence[str], count: int
) -> int:
    """How much a new server's resident memory grows when it loads these channels, behind a first one."""
    with bench.start(flags) as running:
        async with open_channel(running.address) as connection:
            call = unary(connection, BUILD)
            await _load(call, first, count)
            await settled(running.pid)
            at_first = resident_bytes(running.pid)
            for name in names:
                await _load(call, name, count)
            await settled(running.pid)
            return resident_bytes(running.pid) - at_first


async def _database(bench: Bench, counts: Sequence[int]) -> tuple[list[str], dict[int, list[str]]]:
    """Flags of a server over a copy of the sweeps' database, and the channels of each length to be loaded together."""

    async def copied() -> tuple[str, dict[int, list[str]]]:
        for count in counts:
            await bench.filled(KIND, count)
        await settled((await bench.served(KIND)).running.pid)
        name = f"{bench.new_name('growth')}.db"
        path = bench.directory / name
        source = bench.directory / f"{KIND}.db"
        with closing(sqlite3.connect(source)) as old, closing(sqlite3.connect(path)) as new:
            old.backup(new)
        names = {}
        for count in counts:
            copies = (QUICK_MESSAGES if bench.sizes.quick else LEAST_MESSAGES) // count
            more = [f"{channel_of(count)}-{n}" for n in range(copies)]
            names[count] = [channel_of(count), *more]
        copy_channels(path, {first: more for first, *more in names.values()})
        return name, names

    name, names = await bench.once(("growth", *counts), copied)
    return bench.flags(name, durability="normal", settings=SETTINGS), names


async def _load(call: Call, channel: str, count: int) -> None:
    """Ask until the answer has the history."""
    request = _question(channel, count)
    end_s = time.monotonic() + LOAD_S
    while True:
        answer = context_pb2.BuildContextResponse.FromString(await call(request))
        if not any(one.source == "history" for one in answer.degradations):
            return
        if time.monotonic() > end_s:
            raise Wrong(f"{channel} was not loaded within {LOAD_S:.0f} s")


def _question(channel: str, count: int) -> bytes:
    (said,) = chats.said(1, skip=count)
    return chats.build_request(channel, said, "balanced").SerializeToString()
