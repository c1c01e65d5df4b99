"""The parts about a process: how long until it serves, its first build, what a message takes in its memory."""

from __future__ import annotations

import os
import subprocess
import time
import zlib
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from statistics import median

import numpy as np

from backscroll.v1 import message_pb2
from backscroll_bench.speed import chats
from backscroll_bench.speed.fixture import (
    BUILD,
    COLD,
    Bench,
    Served,
    channel_of,
    stages_of,
)
from backscroll_bench.speed.load import Call, closed_loop, open_channel, unary
from backscroll_bench.speed.questions import answered, is_by_meaning, near, near_questions
from backscroll_bench.speed.reading import Reading, Readings
from backscroll_bench.speed.resting import settled
from backscroll_bench.speed.stats import Wrong
from backscroll_sidecar.models.bundled_model import BUNDLED_DIMS, BUNDLED_ID

STARTS, QUICK_STARTS = 7, 1
START_HISTORY = 1_000
LARGE_HISTORY, QUICK_HISTORY = 100_000, 5_000
VECTOR_HISTORY = 50_000


async def start(bench: Bench) -> Readings:
    """Servers over an empty database, kernels compiled before, then over a history.

    Readings: serving (s); first_build (the first build of a process over a history, x steady ones).
    """
    asked = await near(bench, "balanced", START_HISTORY)  # compiles what was not yet
    serving_s, steady_ms, first_ms, stages = [], [], [], []
    for _ in range(QUICK_STARTS if bench.sizes.quick else STARTS):
        flags = bench.flags(f"{bench.new_name('start')}.db")
        began = time.perf_counter()
        with bench.start(flags) as running:
            serving_s.append(time.perf_counter() - began)
            async with open_channel(running.address) as connection:
                served = Served(running, connection)
                await bench.fill(served, channel_of(START_HISTORY), chats.messages(START_HISTORY))
                await settled(running.pid)
                load = await closed_loop(served.call(BUILD), asked.requests, bench.sizes.calls)
                steady_ms.append(load.p50_s * 1e3)
        with bench.start(flags) as running:
            async with open_channel(running.address) as connection:
                await connection.channel_ready()
                began = time.perf_counter()
                answer = await unary(connection, BUILD)(asked.requests[0])
                first_ms.append((time.perf_counter() - began) * 1e3)
                stages.append(stages_of(answer))
    details = {"first_ms": median(first_ms), "steady_ms": median(steady_ms)}
    details |= {f"{name}_us": median(one.get(name, 0) for one in stages) for name in stages[0]}
    return {
        "serving": Reading(median(serving_s), {"slowest_s": max(serving_s)}),
        "first_build": Reading(median(first_ms) / median(steady_ms), details),
    }


async def memory(bench: Bench) -> Readings:
    """A message of a channel in memory without vectors. Reading: bytes, see `_growth`."""

    async def ask(call: Call, channel: str, count: int) -> None:
        await near_questions(call, channel, "balanced", count)

    count = QUICK_HISTORY if bench.sizes.quick else LARGE_HISTORY
    flags = bench.flags(f"{bench.new_name('memory')}.db", durability="normal", settings=COLD)
    return await _growth(bench, flags, count, ask)


async def memory_with_vectors(bench: Bench) -> Readings:
    """The same with a vector of 512 numbers a message, searched by signs. Reading: bytes, see `_growth`.

    The vectors are random: what they take does not depend on what they mean.
    """

    async def ask(call: Call, channel: str, count: int) -> None:
        (said,) = chats.said(1, skip=count)
        request = chats.build_request(channel, said, "retrieval")
        request.query_embedding.CopyFrom(_random_vector(said.line.content))
        await answered(call, request.SerializeToString(), is_by_meaning)

    count = QUICK_HISTORY if bench.sizes.quick else VECTOR_HISTORY
    name = f"{bench.new_name('memory-vectors')}.db"
    flags = bench.flags(name, durability="normal", embedder="local", settings=COLD)
    return await _growth(bench, flags, count, ask, _random_vector)


async def _growth(
    bench: Bench,
    flags: Sequence[str],
    count: int,
    ask: Callable[[Call, str, int], Awaitable[None]],
    vector_of: chats.VectorOf | None = None,
) -> Readings:
    """Growth of a server's resident memory when it loads a channel of `count` messages, less the messages' bytes.

    Another one as large is loaded first, so that what a load takes besides is not counted. A body is a serialised
    message without its vector, which holds the text. Reading: bytes a message.
    """
    with bench.start(flags) as running:
        async with open_channel(running.address) as connection:
            served = Served(running, connection)
            for channel in ("first", "large"):
                await bench.fill(served, channel, chats.messages(count, vector_of=vector_of))
                await ask(
                    unary(connection, BUILD), channel, count
                )  # both are read from segments below
    with bench.start(flags) as running:
        async with open_channel(running.address) as connection:
            call = unary(connection, BUILD)
            await ask(call, "first", count)
            await settled(running.pid)
            before = resident_bytes(running.pid)
            await ask(call, "large", count)
            await settled(running.pid)
            grown = resident_bytes(running.pid) - before
    bodies = sum(one.ByteSize() for one in chats.messages(count))
    details = {"grown_bytes": grown / count, "body_bytes": bodies / count}
    return {"bytes": Reading((grown - bodies) / count, details)}


def _random_vector(text: str) -> message_pb2.Embedding:
    rng = np.random.default_rng(zlib.crc32(text.encode()))
    values = rng.standard_normal(BUNDLED_DIMS).astype("<f4").tobytes()
    return message_pb2.Embedding(embedder_id=BUNDLED_ID, values=values)


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
