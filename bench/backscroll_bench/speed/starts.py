"""The parts about a process: how long until it serves, its first build, what a message takes in its memory."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path
from statistics import median

from backscroll.v1 import context_pb2
from backscroll_bench.speed import chats
from backscroll_bench.speed.fixture import (
    BUILD,
    Bench,
    Served,
    channel_of,
    near_questions,
    stages_of,
)
from backscroll_bench.speed.load import closed_loop, open_channel, unary
from backscroll_bench.speed.reading import Reading, Readings
from backscroll_bench.speed.stats import Wrong

STARTS, QUICK_STARTS = 3, 1
START_HISTORY = 1_000
LARGE_HISTORY, QUICK_HISTORY = 100_000, 5_000


async def start(bench: Bench) -> Readings:
    """A server over an empty database, kernels compiled before. Readings: serving (s), first_build (x steady).

    The first build loads its channel and links its newest lines. What that takes later, on another channel just filled,
    is told beside it ("again_ms"): the difference is what the start left to do.
    """
    asked = await bench.questions("plain", "balanced", START_HISTORY)  # compiles what was not yet
    channel = channel_of(START_HISTORY)
    serving, first_ms, again_ms, steady_ms = [], [], [], []
    again = context_pb2.BuildContextRequest.FromString(asked.requests[0])
    again.channel = "again"
    stages: list[dict[str, int]] = []
    for _ in range(QUICK_STARTS if bench.sizes.quick else STARTS):
        began = time.perf_counter()
        with bench.start(bench.flags(f"{bench.new_name('start')}.db")) as running:
            serving.append(time.perf_counter() - began)
            async with open_channel(running.address) as connection:
                served, call = Served(running, connection), unary(connection, BUILD)
                await bench.fill(served, channel, START_HISTORY)
                began = time.perf_counter()
                answer = await call(asked.requests[0])
                first_ms.append((time.perf_counter() - began) * 1e3)
                stages.append(stages_of(answer))
                await bench.fill(served, again.channel, START_HISTORY)
                began = time.perf_counter()
                await call(again.SerializeToString())
                again_ms.append((time.perf_counter() - began) * 1e3)
                load = await closed_loop(call, asked.requests, bench.sizes.calls)
                steady_ms.append(load.p50_s * 1e3)
    first, steady = median(first_ms), median(steady_ms)
    details = {"first_ms": first, "again_ms": median(again_ms), "steady_ms": steady}
    details |= {f"first_{name}_us": median(one[name] for one in stages) for name in stages[0]}
    return {
        "serving": Reading(median(serving), {"slowest_s": max(serving)}),
        "first_build": Reading(first / steady, details),
    }


async def memory(bench: Bench) -> Readings:
    """Growth of a server's resident memory when it loads a large channel, less the messages' bytes. Reading: bytes.

    Another one as large is loaded first, so that what a load takes besides is not counted. A body is a serialised
    message, which holds the text.
    """
    count = QUICK_HISTORY if bench.sizes.quick else LARGE_HISTORY
    flags = bench.flags(f"{bench.new_name('memory')}.db", durability="normal")
    with bench.start(flags) as running:
        async with open_channel(running.address) as connection:
            served = Served(running, connection)
            await bench.fill(served, "first", count)
            await bench.fill(served, "large", count)
            for channel in ("first", "large"):  # so that both are read from segments below
                await near_questions(unary(connection, BUILD), channel, "balanced", count)
    with bench.start(flags) as running:
        async with open_channel(running.address) as connection:
            call = unary(connection, BUILD)
            await near_questions(call, "first", "balanced", count)
            before = resident_bytes(running.pid)
            await near_questions(call, "large", "balanced", count)
            grown = resident_bytes(running.pid) - before
    bodies = sum(one.message().ByteSize() for one in chats.said(count))
    details = {"grown_bytes": grown / count, "body_bytes": bodies / count}
    return {"bytes": Reading((grown - bodies) / count, details)}


def resident_bytes(pid: int) -> int:
    """Memory of a process that lies in RAM.

    Raises
    ------
    Wrong
        The system does not tell.
    """
    statm = Path(f"/proc/{pid}/statm")
    if statm.exists():
        return int(statm.read_text("ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    told = subprocess.run(
        ["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, text=True, check=False
    ).stdout.strip()
    if not told.isdecimal():
        raise Wrong("this system does not tell how much memory a process has")
    return int(told) * 1024
