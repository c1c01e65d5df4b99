"""Vectors in PostgreSQL: what each way to keep and to search them takes, and a channel's cold load with segments.

Example: ``python bench/postgres_vectors.py postgresql://me@/empty``. The database must be empty and have the extension
`vector` to offer. One tenant comes into it: a channel of 10,000 messages, others of 1,000. Vectors are made up as in
`test_vectors.py`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import struct
import time
from collections.abc import Awaitable, Callable, Sequence
from random import Random
from statistics import median
from typing import Any

import asyncpg
import numpy as np
from numpy.typing import NDArray

from backscroll_scoring.index import normalised
from backscroll_sidecar.channels import Channels, SegmentWriter
from backscroll_sidecar.domain import ChannelKey, SearchScope
from backscroll_sidecar.edge.convert.codec import WireCodec
from backscroll_sidecar.history.publishing import FanOut
from backscroll_sidecar.history.replicas import Replicas
from backscroll_sidecar.history.semantic_search import SemanticSearch
from backscroll_sidecar.ports import Applied, Change, Segment
from backscroll_sidecar.store.postgres import PostgresStore
from backscroll_sidecar.vectors.block import VectorBlock
from backscroll_sidecar.vectors.service import Vectors

TENANT, EMBEDDER, NOON_MS = "tenant", "bench", 1_700_000_000_000
DIMS, LARGE, SMALL, GROUP, LIMIT, QUERIES = 512, 10_000, 1_000, 512, 10, 40
KINDS = {
    "bytea, apart": ("bytea", 128),
    "bytea, in the row": ("bytea", 8_160),
    "vector": (f"vector({DIMS})", 8_160),
    "halfvec": (f"halfvec({DIMS})", 8_160),
}
"""Type of the column, and from which size on a row keeps it apart."""
KEYS = "tenant text, channel text, message_id text, revision int, embedder_id text, dims int"

Floats = NDArray[np.float32]
Place = tuple[str, int]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("url", help="an empty database")
    parser.add_argument("--rows", type=int, default=100_000, help="of the tenant (100,000)")
    parser.add_argument("--kinds", nargs="*", default=list(KINDS), help=f"some of {list(KINDS)}")
    parser.add_argument("--no-graphs", action="store_true", help="leave the indexes out")
    asyncio.run(_measure(parser.parse_args()))


def made(count: int) -> tuple[Floats, Floats]:
    """Unit vectors and questions."""
    rng = np.random.default_rng(1)
    turns, common = rng.normal(size=(48, DIMS)), rng.normal(size=DIMS)
    found = np.empty((count + QUERIES, DIMS), np.float32)
    for start in range(0, len(found), 10_000):
        part = found[start : start + 10_000]
        strong = rng.normal(size=(len(part), 48)) * np.linspace(1.0, 0.2, 48)
        part[:] = normalised(
            (strong @ turns + common + 0.3 * rng.normal(size=part.shape)).astype(np.float32)
        )
    return found[:count], found[count:]


def places(count: int) -> list[Place]:
    """Channel and number of each message."""
    found = [("large", seq + 1) for seq in range(min(LARGE, count))]
    for place in range(len(found), count):
        room, seq = divmod(place - LARGE, SMALL)
        found.append((f"room{room:04}", seq + 1))
    return found


async def _measure(asked: argparse.Namespace) -> None:
    vectors, questions = made(asked.rows)
    where = places(asked.rows)
    truth = [set(np.argsort(-(vectors @ one))[:LIMIT].tolist()) for one in questions]
    index_of = {one: place for place, one in enumerate(where)}
    connection = await asyncpg.connect(asked.url, timeout=10)
    await connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
    await _take_vectors(connection)
    version = await connection.fetchval("SELECT version()")
    extension = await connection.fetchval(
        "SELECT extversion FROM pg_extension WHERE extname = 'vector'"
    )
    print(f"{version}; vector {extension}; {asked.rows:,} vectors of {DIMS}")
    store = await PostgresStore.open(asked.url)
    await _put_messages(connection, where)
    for kind in asked.kinds:
        type_, target = KINDS[kind]
        print(f"--- {kind}")
        await _make_table(connection, type_, target)
        await _put_vectors(connection, type_, where, vectors)
        await connection.execute("VACUUM ANALYZE measured")
        size = await connection.fetchval("SELECT pg_total_relation_size('measured')")
        _say("bytes a row, with key", size / asked.rows)
        if type_ == "bytea":
            await _load(connection)
            continue
        await _search_in_sql(connection, type_, questions, "channel = 'large'", None)
        found = await _search_in_sql(connection, type_, questions, "TRUE", None)
        _recall(found, truth, index_of)
        if not asked.no_graphs:
            await _search_by_graph(connection, type_, questions, truth, index_of)
    await _segments(store)
    await _ours(store, connection, where, vectors, questions, truth, index_of)
    await store.close()
    await connection.close()


def _say(what: str, value: float, unit: str = "") -> None:
    print(f"{what:84}{value:14,.2f} {unit}", flush=True)


def _say_both(what: str, taken: Sequence[float]) -> None:
    _say(f"{what}: p50", 1e3 * median(taken), f"ms, least {1e3 * min(taken):.2f}")


async def _timed(act: Callable[[], Awaitable[Any]], times: int = 5) -> float:
    """Seconds, the median."""
    taken = []
    for _ in range(times):
        started = time.perf_counter()
        await act()
        taken.append(time.perf_counter() - started)
    return median(taken)


async def _take_vectors(connection: asyncpg.Connection) -> None:
    """Values go as they are sent."""
    for name in ("vector", "halfvec"):
        await connection.set_type_codec(name, encoder=bytes, decoder=bytes, format="binary")


def sent(base: str, value: Floats) -> bytes:
    """A value as it is sent."""
    if base == "bytea":
        return value.tobytes()
    return (
        struct.pack(">HH", len(value), 0)
        + value.astype(">f4" if base == "vector" else ">f2").tobytes()
    )


async def _put_messages(connection: asyncpg.Connection, where: list[Place]) -> None:
    dice = Random(1)
    rows = []
    for channel, seq in where:
        words = [f"word{dice.randrange(3_000)}" for _ in range(dice.randrange(3, 20))]
        at_ms = NOON_MS + 1_000 * seq
        rows.append(
            (TENANT, channel, seq, f"{channel}-{seq}", f"u{seq % 40}", "", 1, 1, at_ms, at_ms, at_ms, "", "", "",
             at_ms, 0, 0, 1, len(words), " ".join(words), json.dumps(words), 0)
        )  # fmt: skip
    names = [
        *(
            "tenant",
            "channel",
            "seq",
            "id",
            "author_id",
            "author_name",
            "author_kind",
            "role",
            "sent_at_ms",
        ),
        *(
            "rank_time_ms",
            "received_at_ms",
            "thread_id",
            "session_id",
            "dedupe_key",
            "edited_at_ms",
            "state",
        ),
        *("revision", "message_type", "token_count", "text", "keywords", "moves"),
    ]
    await connection.copy_records_to_table("messages", records=rows, columns=names)
    await connection.execute(
        "INSERT INTO channels SELECT tenant, channel, max(seq), 1 FROM messages GROUP BY 1, 2"
    )
    await connection.execute("ANALYZE")


async def _make_table(connection: asyncpg.Connection, type_: str, target: int) -> None:
    await connection.execute(f"""
        DROP TABLE IF EXISTS measured;
        CREATE TABLE measured ({KEYS.replace("text", 'text COLLATE "C"')}, vector {type_},
            PRIMARY KEY (tenant, channel, message_id, revision, embedder_id)) WITH (toast_tuple_target = {target});
        ALTER TABLE measured ALTER COLUMN vector SET STORAGE EXTERNAL;
    """)


async def _put_vectors(
    connection: asyncpg.Connection, type_: str, where: list[Place], vectors: Floats
) -> None:
    base = type_.partition("(")[0]
    statement = f"""
        INSERT INTO measured SELECT $1, * FROM unnest(
            $2::text[], $3::text[], $4::int[], $5::text[], $6::int[], $7::{base}[]
        )
        ON CONFLICT (tenant, channel, message_id, revision, embedder_id) DO NOTHING
    """
    started = time.perf_counter()
    for start in range(0, len(where), GROUP):
        some = where[start : start + GROUP]
        rows = vectors[start : start + GROUP]
        values = [sent(base, one) for one in rows]
        count = len(some)
        await connection.execute(
            statement, TENANT, [channel for channel, _ in some], [f"{channel}-{seq}" for channel, seq in some],
            [0] * count, [EMBEDDER] * count, [DIMS] * count, values,
        )  # fmt: skip
        if start <= LARGE < start + GROUP:
            _say("insert 10,000 in groups of 512", time.perf_counter() - started, "s")
    _say(f"insert {len(where):,}", time.perf_counter() - started, "s")


async def _load(connection: asyncpg.Connection) -> None:
    """As `PostgresStore.vectors` and what is made of it."""
    statement = """
        SELECT seq, id, vector FROM measured JOIN messages USING (tenant, channel, revision)
        WHERE tenant = $1 AND channel = $2 AND id = message_id AND embedder_id = $3 ORDER BY seq
    """

    async def load() -> None:
        rows = await connection.fetch(statement, TENANT, "large", EMBEDDER)
        assert len(np.frombuffer(b"".join(row[2] for row in rows), np.float32)) == LARGE * DIMS

    _say("load 10,000 of a channel into numpy", 1e3 * await _timed(load), "ms")


async def _search_in_sql(
    connection: asyncpg.Connection, type_: str, questions: Floats, where: str, name: str | None
) -> list[set[str]]:
    base = type_.partition("(")[0]
    statement = f"""
        SELECT message_id FROM measured WHERE tenant = $1 AND embedder_id = $3 AND {where}
        ORDER BY vector <=> $2::{base} LIMIT {LIMIT}
    """
    found, taken = [], []
    for question in questions if name else questions[:10]:
        started = time.perf_counter()
        rows = await connection.fetch(statement, TENANT, sent(base, question), EMBEDDER)
        taken.append(time.perf_counter() - started)
        found.append({row[0] for row in rows})
    _say_both(f"{name or 'exact in SQL'}, {where}", taken)
    return found


async def _search_by_graph(
    connection: asyncpg.Connection,
    type_: str,
    questions: Floats,
    truth: list[set[int]],
    index_of: dict[Place, int],
) -> None:
    base = type_.partition("(")[0]
    await connection.execute("SET maintenance_work_mem = '2GB'")
    started = time.perf_counter()
    await connection.execute(
        f"CREATE INDEX graph ON measured USING hnsw (vector {base}_cosine_ops)"
    )
    _say("HNSW made", time.perf_counter() - started, "s")
    size = await connection.fetchval("SELECT pg_relation_size('graph')")
    _say("HNSW bytes a row", size / len(index_of))
    await connection.execute("SET enable_seqscan = off; SET enable_sort = off")
    some = "channel < 'room0004' AND channel >= 'room'"
    for scan, ef in (("off", 40), ("relaxed_order", 40), ("relaxed_order", 200)):
        await connection.execute(f"SET hnsw.iterative_scan = {scan}; SET hnsw.ef_search = {ef}")
        for where in ("TRUE", some):
            name = f"HNSW, iterative {scan}, ef {ef}"
            found = await _search_in_sql(connection, type_, questions, where, name)
            if where == "TRUE":
                _recall(found, truth, index_of)
            else:
                _say("  rows found of 10", sum(map(len, found)) / len(found))
    await connection.execute("RESET enable_seqscan; RESET enable_sort")
    await _insert_beside(connection, type_)


async def _insert_beside(connection: asyncpg.Connection, type_: str) -> None:
    """What one group of 32 costs while there is an index."""
    base = type_.partition("(")[0]
    vectors, _ = made(32)
    started = time.perf_counter()
    statement = f"""
        INSERT INTO measured SELECT $1, 'new', place::text, 0, $2, $3, one
        FROM unnest($4::{base}[]) WITH ORDINALITY AS given (one, place)
    """
    values = [sent(base, one) for one in vectors]
    await connection.execute(statement, TENANT, EMBEDDER, DIMS, values)
    _say("insert of 32 beside the index", 1e3 * (time.perf_counter() - started), "ms")
    await connection.execute("DELETE FROM measured WHERE channel = 'new'")


def _recall(found: list[set[str]], truth: list[set[int]], index_of: dict[Place, int]) -> None:
    hits = 0
    for ids, true in zip(found, truth, strict=False):
        mine = {
            index_of[channel, int(seq)] for channel, _, seq in (one.partition("-") for one in ids)
        }
        hits += len(mine & true)
    _say("  recall@10", hits / (LIMIT * len(found)))


async def _segments(store: PostgresStore) -> None:
    """A channel loaded from its rows, and from the segment that is written of them."""
    print("--- a channel of 10,000 messages, cold")
    key = ChannelKey(TENANT, "large")
    channels = Channels(store, WireCodec())

    async def submit(change: Change) -> Applied:
        return (await store.apply([change]))[0]

    async def load() -> None:
        channels.drop(key)
        await channels.view(key)

    _say("from rows", 1e3 * await _timed(load), "ms")
    writer = SegmentWriter(channels, submit)
    await load()
    await writer.write_all()
    (segment,) = (await store.load_channel(key, channels.segment_format)).parts
    assert isinstance(segment, Segment)
    _say("from a segment", 1e3 * await _timed(load), "ms")
    _say("bytes a message", (len(segment.columns) + len(segment.bodies)) / LARGE)


async def _ours(
    store: PostgresStore,
    connection: asyncpg.Connection,
    where: list[Place],
    vectors: Floats,
    questions: Floats,
    truth: list[set[int]],
    index_of: dict[Place, int],
) -> None:
    print("--- loaded and searched by the server")
    for start in range(0, len(where), 10_000):
        rows = [
            (TENANT, channel, f"{channel}-{seq}", 0, EMBEDDER, DIMS, one.tobytes())
            for (channel, seq), one in zip(
                where[start : start + 10_000], vectors[start : start + 10_000], strict=True
            )
        ]
        await connection.copy_records_to_table("vectors", records=rows)
    await connection.execute("VACUUM ANALYZE vectors")
    key = ChannelKey(TENANT, "large")
    kept = Vectors(store, EMBEDDER, max_bytes=8 << 30)

    async def load() -> None:
        kept.drop(key)
        await kept.nearest(key, np.arange(1, LARGE + 1), questions[0], LIMIT)

    _say("cold search in a channel of 10,000", 1e3 * await _timed(load), "ms")
    stored = (await store.vectors(key, EMBEDDER, "", LARGE)).rows

    async def block() -> None:
        VectorBlock(DIMS).add(stored)

    _say("  of it: made of the rows", 1e3 * await _timed(block), "ms")
    taken = []
    for question in questions:
        started = time.perf_counter()
        await kept.nearest(key, np.arange(1, LARGE + 1), question, LIMIT)
        taken.append(time.perf_counter() - started)
    _say_both("search in it", taken)
    search = SemanticSearch(store, {}, None, kept)
    search.follow(Replicas(store.shared, FanOut(kept), lambda _: None).catch_up)
    taken, found = [], []
    for question in questions:
        started = time.perf_counter()
        hits = await search.nearest(TENANT, SearchScope.TENANT, "", question, LIMIT)
        taken.append(time.perf_counter() - started)
        found.append({one.stored.message.id for one in hits.hits})
    _say("first search in all channels", taken[0], "s")
    _say_both("search in all channels", taken[1:])
    _recall(found, truth, index_of)
    _say("memory a vector", kept.nbytes / len(where), "bytes")
    await kept.close()


if __name__ == "__main__":
    main()
