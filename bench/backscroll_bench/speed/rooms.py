"""The part about many channels: a million messages in a hundred of them, a random one asked each time."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

from backscroll.v1 import context_pb2
from backscroll_bench.speed import chats
from backscroll_bench.speed.fixture import BUILD, Bench, Served
from backscroll_bench.speed.load import Questions, open_channel, unary
from backscroll_bench.speed.questions import answered, elsewhere, is_loaded, near_questions
from backscroll_bench.speed.reading import Reading, Readings, latencies
from backscroll_bench.speed.resting import settled

CHANNELS, HISTORY = 100, 10_000
QUICK_CHANNELS, QUICK_HISTORY = 8, 1_000
SEED = 7
COPY_CACHE_KIB = 1 << 20
"""Room for all pages of the indexes, whose places the rows of one channel are strewn over."""
TABLES = ("channels", "members", "messages")
"""What appends write to."""


async def many(bench: Bench) -> Readings:
    """Builds about the last lines of random channels, beside R0; every channel was asked once before.

    One channel is appended, the others are copies of its rows in the database (`copy_channels`): a million appends take
    minutes and are measured elsewhere. Begins when the server rests: it packs what it loaded row by row. Readings:
    p50, p99 (x R0), cold (share of builds whose channel was not in memory).
    """
    count, history = (QUICK_CHANNELS, QUICK_HISTORY) if bench.sizes.quick else (CHANNELS, HISTORY)
    names = [f"room{n}" for n in range(count)]
    database = f"{bench.new_name('rooms')}.db"
    flags = bench.flags(database, durability="normal")
    with bench.start(flags) as running:
        async with open_channel(running.address) as connection:
            await bench.fill(Served(running, connection), names[0], chats.messages(history))
    copy_channels(bench.directory / database, {names[0]: names[1:]})
    with bench.start(flags) as running:
        async with open_channel(running.address) as connection:
            call = unary(connection, BUILD)
            asked = await near_questions(call, names[0], "balanced", history)
            for name in names[1:]:
                (request,) = elsewhere(asked, [name]).requests
                await answered(call, request, is_loaded)
            await settled(running.pid)
            mixed = elsewhere(asked, random.Random(SEED).choices(names, k=bench.sizes.calls))
            rounds = await bench.beside_r0(mixed, calls=bench.sizes.calls)
            cold = await _cold_share(mixed)
    return {**latencies(rounds), "cold": Reading(cold)}


def copy_channels(database: Path, copies: Mapping[str, Sequence[str]]) -> None:
    """Write channels' rows again under other names: what appending the same messages there would have left.

    No server has the database open. Caches of the rows are left out: the first build on a channel makes them. Indexes
    are made anew behind the rows: sorted once, they take a quarter of the time.
    """
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute(f"PRAGMA cache_size = -{COPY_CACHE_KIB}")
        indexes = connection.execute(
            f"SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL AND tbl_name IN {TABLES}"
        ).fetchall()
        for index, _ in indexes:
            connection.execute(f"DROP INDEX {index}")
        for table in TABLES:
            columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
            rest = ", ".join(column for column in columns if column != "channel")
            connection.executemany(
                f"INSERT INTO {table} (channel, {rest}) SELECT ?, {rest} FROM {table} WHERE channel = ?",
                [(copy, name) for name, others in copies.items() for copy in others],
            )
        for _, sql in indexes:
            connection.execute(sql)


async def _cold_share(asked: Questions) -> float:
    answers = [
        context_pb2.BuildContextResponse.FromString(await asked.call(request))
        for request in asked.requests
    ]
    return sum(not one.diagnostics.cache_hit for one in answers) / len(answers)
