"""What docs/guide/scaling.md reckons with: processor time a call, of servers and of PostgreSQL, and bytes.

    python bench/measure_scaling.py > bench/backscroll_bench/scaling/measured.json

Each figure is processor time of a process over calls that were answered, so a busy machine makes it somewhat larger and
nothing else. PostgreSQL is the tests' own, on the same machine, and waits for no disk.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import platform
import random
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import count, cycle
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
for folder in (ROOT, ROOT / "sidecar", ROOT / "scoring", ROOT / "clients/python", ROOT / "bench"):
    sys.path.insert(0, str(folder))

from backscroll.v1 import history_pb2  # noqa: E402
from backscroll_bench.speed import chats  # noqa: E402
from backscroll_bench.speed.fixture import APPEND, BUILD, fill  # noqa: E402
from backscroll_bench.speed.load import closed_loop, open_channel, unary  # noqa: E402
from tests.kit.postgres import server  # noqa: E402
from tests.kit.server_process import ServerProcess  # noqa: E402

CHANNELS, MESSAGES = 64, 1_000
CALLERS, SECONDS, IDLE_S = 16, 10.0, 4.0
VECTOR_MESSAGES = 2_000
TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")
SETTINGS = {"BACKSCROLL_EMBEDDER": "none", "BACKSCROLL_PRELOAD_SECONDS": "0"}


# --- what processes used ---------------------------------------------------------------------------


def cpu_s(stat: Path) -> float:
    """Seconds of a processor that a process or a thread used."""
    words = stat.read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / TICKS


def of_process(pid: int) -> float:
    """Of all threads of a process."""
    return cpu_s(Path(f"/proc/{pid}/stat"))


def of_loop(pid: int) -> float:
    """Of the thread that answers calls: it alone bounds how many one server answers."""
    return cpu_s(Path(f"/proc/{pid}/task/{pid}/stat"))


def resident_bytes(pid: int) -> int:
    """Of memory that a process has."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE


class Meter:
    """Processor time since it was made, a call, less what the same time takes with no call."""

    def __init__(self, pid: int, in_postgres: bool, idle: Sequence[float]) -> None:
        self._pid, self._in_postgres, self._idle = pid, in_postgres, idle
        self._began_s, self._began = time.monotonic(), self._now()

    @classmethod
    async def made(cls, pid: int, in_postgres: bool) -> Meter:
        """One that knows what nothing costs: it looks on for some seconds."""
        looked = cls(pid, in_postgres, (0.0, 0.0, 0.0))
        await asyncio.sleep(IDLE_S)
        pairs = zip(looked._began, looked._now(), strict=True)
        return cls(pid, in_postgres, [(b - a) / IDLE_S for a, b in pairs])

    def _now(self) -> tuple[float, float, float]:
        database = server().cpu_s if self._in_postgres else 0.0
        return of_process(self._pid), of_loop(self._pid), database

    def a_call(self, calls: int) -> dict[str, float]:
        """Milliseconds for each of so many calls."""
        lasted_s = time.monotonic() - self._began_s
        used = [
            1_000 * max(0.0, b - a - idle * lasted_s) / calls
            for a, b, idle in zip(self._began, self._now(), self._idle, strict=True)
        ]
        return {
            "server_ms": round(used[0], 4),
            "loop_ms": round(used[1], 4),
            "database_ms": round(used[2], 4),
        }


# --- what is asked ---------------------------------------------------------------------------------


def channel(number: int) -> str:
    """The name of one."""
    return f"room-{number}"


def appends(seed: int) -> Iterator[bytes]:
    """One message each, to any channel."""
    chosen = random.Random(seed)
    said = chats.said(4_000, skip=MESSAGES)
    now_ms = said[-1].sent_at_ms
    for number, one in zip(count(), cycle(said), strict=False):
        message = one.message()
        message.id, message.sent_at_ms = f"new-{seed}-{number}", now_ms + number
        request = history_pb2.AppendMessagesRequest(
            channel=channel(chosen.randrange(CHANNELS)), messages=[message]
        )
        yield request.SerializeToString()


def builds() -> list[bytes]:
    """What was said next, in every channel, in no order."""
    said = chats.said(8, skip=MESSAGES)
    found = [
        chats.build_request(channel(number), one, "balanced").SerializeToString()
        for number in range(CHANNELS)
        for one in said
    ]
    random.Random(1).shuffle(found)
    return found


async def settled(pid: int, in_postgres: bool) -> None:
    """Wait until nothing works behind the answers any more."""

    def now() -> float:
        return of_process(pid) + (server().cpu_s if in_postgres else 0.0)

    used, quiet = now(), 0
    while quiet < 3:
        await asyncio.sleep(0.5)
        used, before = now(), used
        quiet = quiet + 1 if used - before < 0.03 else 0


# --- what is measured ------------------------------------------------------------------------------


@contextlib.asynccontextmanager
async def served(
    database: str, **settings: str
) -> AsyncIterator[tuple[ServerProcess, Callable[[str], Any]]]:
    """A server of its own on that database, and its calls."""
    with ServerProcess(database, settings={**SETTINGS, **settings}) as running:
        async with open_channel(running.address) as connection:
            yield running, lambda method: unary(connection, method)


async def load(
    call: Callable[[bytes], Awaitable[bytes]],
    requests: Sequence[bytes],
    running: ServerProcess,
    in_postgres: bool,
    callers: int,
) -> dict[str, float]:
    """One kind of call for some seconds, and what it used, the work behind the answers included."""
    await settled(running.pid, in_postgres)
    meter = await Meter.made(running.pid, in_postgres)
    done = await closed_loop(call, requests, len(requests), concurrency=callers, longest_s=SECONDS)
    await settled(running.pid, in_postgres)
    calls = len(done.latencies_s)
    return {
        **meter.a_call(calls),
        "calls": calls,
        "a_second": round(done.per_second, 1),
        "p50_ms": round(1_000 * done.p50_s, 3),
        "p99_ms": round(1_000 * done.p99_s, 3),
    }


async def of_store(database: str, size: Callable[[], int], in_postgres: bool) -> dict[str, Any]:
    """Appends, builds and memory with one server on one store."""
    found: dict[str, Any] = {}
    async with served(database) as (running, method):
        found["idle_bytes"] = resident_bytes(running.pid)
        for number in range(CHANNELS):
            await fill(method(APPEND), channel(number), chats.messages(MESSAGES))
        await settled(running.pid, in_postgres)
        found["message_bytes"] = round(size() / (CHANNELS * MESSAGES))
        asked = builds()
        await closed_loop(method(BUILD), asked, len(asked), concurrency=CALLERS)
        many = asked * 100
        found["build"] = await load(method(BUILD), many, running, in_postgres, CALLERS)
        found["build_alone"] = await load(method(BUILD), many, running, in_postgres, 1)
        some = [one for one, _ in zip(appends(1), range(40_000), strict=False)]
        found["append"] = await load(method(APPEND), some, running, in_postgres, CALLERS)
        some = [one for one, _ in zip(appends(2), range(10_000), strict=False)]
        found["append_alone"] = await load(method(APPEND), some, running, in_postgres, 1)
    async with served(database) as (running, method):  # nothing is in memory
        await settled(running.pid, in_postgres)
        before = resident_bytes(running.pid)
        first = [chats.build_request(channel(n), chats.said(1, skip=MESSAGES)[0], "balanced")
                 .SerializeToString() for n in range(CHANNELS)]  # fmt: skip
        meter = await Meter.made(running.pid, in_postgres)
        await closed_loop(method(BUILD), first, len(first))
        await settled(running.pid, in_postgres)
        found["cold_build"] = meter.a_call(CHANNELS)
        grown = resident_bytes(running.pid) - before
        found["cached_message_bytes"] = round(grown / (CHANNELS * MESSAGES))
    return found


async def of_two(database: str) -> dict[str, float]:
    """What a build costs at a server whose channel another one wrote to since."""
    async with served(database) as (_, one), served(database) as (second, other):
        asked = builds()
        await closed_loop(other(BUILD), asked, len(asked), concurrency=CALLERS)
        await settled(second.pid, in_postgres=False)
        by_channel: dict[str, list[bytes]] = {}
        for request in asked:
            name = chats.context_pb2.BuildContextRequest.FromString(request).channel
            by_channel.setdefault(name, []).append(request)
        used: list[float] = []
        for request in [one for one, _ in zip(appends(3), range(600), strict=False)]:
            await one(APPEND)(request)
            name = history_pb2.AppendMessagesRequest.FromString(request).channel
            began = of_process(second.pid)
            await other(BUILD)(by_channel[name][0])
            used.append(of_process(second.pid) - began)
        await settled(second.pid, in_postgres=False)
        return {"server_ms": round(1_000 * sum(used) / len(used), 4)}


async def of_vectors(database: str, size: Callable[[], int]) -> dict[str, Any]:
    """Bytes and processor time of one vector of the bundled embedder."""
    async with served(database, BACKSCROLL_EMBEDDER="local") as (running, method):
        await settled(running.pid, in_postgres=True)
        began = of_process(running.pid)
        await fill(method(APPEND), "vectors", chats.messages(VECTOR_MESSAGES))
        await settled(running.pid, in_postgres=True)
        used = of_process(running.pid) - began
        return {
            "vector_bytes": round(size() / VECTOR_MESSAGES),
            "append_and_embed_ms": round(1_000 * used / VECTOR_MESSAGES, 4),
        }


def postgres_bytes(url: str, tables: str = "true") -> int:
    """What tables take with their indexes, once nothing is left over in them."""
    statement = (
        "SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relkind = 'r' "
        f"AND relnamespace = 'public'::regnamespace AND {tables}"
    )
    return int(server().psql(url, f"VACUUM ANALYZE; CHECKPOINT; {statement}").split()[-1])


async def measured() -> dict[str, Any]:
    """All of it."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "one.db"

        def sqlite_bytes() -> int:
            return sum(path.stat().st_size for path in Path(folder).glob("one.db*"))

        in_sqlite = await of_store(str(file), sqlite_bytes, in_postgres=False)
    url = server().new_database()
    in_postgres = await of_store(url, lambda: postgres_bytes(url), in_postgres=True)
    in_postgres["build_behind_another"] = await of_two(url)
    other = server().new_database()
    vectors = await of_vectors(other, lambda: postgres_bytes(other, "relname = 'vectors'"))
    return {
        "made": datetime.now(UTC).strftime("%Y-%m-%d"),
        "by": "python bench/measure_scaling.py",
        "machine": {"processor": _processor(), "cores": os.cpu_count(), "python": platform.python_version()},
        "workload": {
            "channels": CHANNELS, "messages_a_channel": MESSAGES, "callers": CALLERS, "profile": "balanced",
            "durability": "full", "embedder": "none",
        },
        "sqlite": in_sqlite,
        "postgres": in_postgres,
        "vectors": vectors,
    }  # fmt: skip


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


if __name__ == "__main__":
    print(json.dumps(asyncio.run(measured()), indent=2))
