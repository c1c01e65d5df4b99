"""Many streams at once, and many callers who leave: a whole server, a model and the bots, each a process of its own."""

import asyncio
import math
import os
import random
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest

from backscroll.v1 import context_pb2 as pb
from backscroll.v1 import context_pb2_grpc, history_pb2, history_pb2_grpc, message_pb2
from tests.kit.chat_load import Load, result, run_load
from tests.kit.health_probe import HealthProbe
from tests.kit.model_process import ModelProcess, script
from tests.kit.server_process import ServerProcess

MIB = 1024 * 1024
PAGE_BYTES = 4096
STREAMS, SECONDS, DELTAS_A_SECOND, OPENED_IN_S = 1_000, 25.0, 50.0, 20.0
HEALTH_LIMIT_S = 0.25
QUIET_TRIES = 3
WARM_UP_CANCELS, CANCELS, CANCELS_AT_ONCE = 6_000, 10_000, 16
GROWTH_LIMIT_BYTES = 2 * MIB
POOL_THREADS = min(32, (os.cpu_count() or 1) + 4)  # as asyncio makes it
DATABASE_CACHE_BYTES, LONG_TEXT_BYTES, LONG_TEXTS_A_CALL = 32 * MIB, 8 * 1024, 8


pytestmark = pytest.mark.usefixtures("awake")


@pytest.fixture
def model() -> Iterator[ModelProcess]:
    with ModelProcess() as process:
        yield process


@pytest.fixture
def server(
    model: ModelProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[ServerProcess]:
    monkeypatch.setenv("BACKSCROLL_MODEL_BASE_URL", model.url)
    monkeypatch.setenv("BACKSCROLL_LOG_LEVEL", "error")
    monkeypatch.setenv("BACKSCROLL_HOT_CHANNEL_BYTES", str(MIB))
    # One arena: memory that threads free is counted once, not once for each of them.
    monkeypatch.setenv("MALLOC_ARENA_MAX", "1")
    with ServerProcess(tmp_path / "chat.db", durability="normal") as process:
        yield process


def one_load(server: ServerProcess) -> tuple[Load, HealthProbe]:
    with HealthProbe(server.address) as health:
        running = run_load(server.address, STREAMS, SECONDS, DELTAS_A_SECOND, OPENED_IN_S)
        load = result(running, 300)
    print(
        f"{STREAMS} streams in {load.seconds:.1f} s, {load.most_at_once} at once, {load.deltas} deltas in "
        f"{load.delta_events} events, longest pause {load.worst_gap_s:.2f} s; "
        f"health p50 {health.at(0.5) * 1e3:.1f} ms, p99 {health.at(0.99) * 1e3:.1f} ms, "
        f"worst {health.seconds[-1] * 1e3:.1f} ms of {len(health.seconds)}"
    )
    return load, health


@pytest.mark.proof
@pytest.mark.timeout(1_200)
def test_a_thousand_streams_at_once(server: ServerProcess) -> None:
    """1,000 streams of 50 deltas a second: every one ends well with its whole text; health answers within 250 ms.

    The statuses and texts hold in every try; the time is asked of the quietest, for the machine has other work.
    """
    worst: list[float] = []
    for _ in range(QUIET_TRIES):
        load, health = one_load(server)
        assert load.endings == {"END_REASON_COMPLETE": STREAMS}
        assert load.wrong_texts == 0
        assert load.most_at_once == STREAMS
        worst.append(health.seconds[-1])
        if worst[-1] <= HEALTH_LIMIT_S:
            break
    assert min(worst) <= HEALTH_LIMIT_S


@pytest.mark.proof
@pytest.mark.timeout(1_200)
async def test_leaving_leaks_nothing(server: ServerProcess, model: ModelProcess) -> None:
    """10,000 callers leave at random moments: the server grows by 2 MiB at most, keeps no socket, and no thread but
    those of the loop's own pool, which is filled one at a time, when all of it is at work.

    Resident memory as the kernel counts it, once what is bounded is full: the database's page cache (32 MiB, which
    10,000 stored questions would fill by some 2 MiB; `fill_page_cache`), hot channels (1 MiB here), pools and free
    lists (the first 6,000 callers). The words are few: what is remembered of words has a bound of its own, far above.
    Nothing is trimmed by hand. What is bounded may be filled late, a pool or an arena at a time, so that one of three
    times 10,000 has to show it; what leaks grows in each. Some .9 MiB of what remains is gRPC's own: it loses 80 bytes
    of each batch whose caller has left (grpc/grpc#43360).
    """
    await fill_page_cache(server)
    rng = random.Random(5)
    await leave_many(server, rng, WARM_UP_CANCELS, 0)
    before, _ = await settled(server, model)
    series = [await resident(server)]
    growth = []
    while len(growth) < QUIET_TRIES and min(growth, default=math.inf) > GROWTH_LIMIT_BYTES:
        await leave_many(server, rng, CANCELS, WARM_UP_CANCELS + len(growth) * CANCELS)
        series.append(await resident(server))
        growth.append(series[-1] - series[-2])
    after, sockets = await settled(server, model)
    print(f"resident MiB, {CANCELS} callers apart:", [round(one / MIB, 2) for one in series])
    assert sockets == 0
    assert after <= before + POOL_THREADS
    assert min(growth) <= GROWTH_LIMIT_BYTES


async def fill_page_cache(server: ServerProcess) -> None:
    """Write more than the database's page cache holds, in long texts: few rows, so that little else is kept."""
    text = ("go " * LONG_TEXT_BYTES)[:LONG_TEXT_BYTES]
    async with grpc.aio.insecure_channel(server.address) as channel:
        stub = history_pb2_grpc.HistoryServiceStub(channel)
        calls = 3 * DATABASE_CACHE_BYTES // (2 * LONG_TEXT_BYTES * LONG_TEXTS_A_CALL)
        for call in range(calls):
            messages = [
                message_pb2.Message(
                    id=f"{call}-{n}", author=message_pb2.Author(id="u1", name="Ann"), sent_at_ms=n + 1,
                    parts=[message_pb2.Part(text=message_pb2.TextPart(text=text))],
                )
                for n in range(LONG_TEXTS_A_CALL)
            ]  # fmt: skip
            request = history_pb2.AppendMessagesRequest(channel="long", messages=messages)
            await stub.AppendMessages(request)


async def leave_many(server: ServerProcess, rng: random.Random, count: int, first: int) -> None:
    """Callers, some at a time, who ask and leave."""
    async with grpc.aio.insecure_channel(server.address) as channel:
        stub = context_pb2_grpc.ContextServiceStub(channel)
        places = iter(range(first, first + count))

        async def one_after_the_other() -> None:
            for place in places:
                await leave(stub, place, rng.uniform(0.0, 0.08))

        await asyncio.gather(*(one_after_the_other() for _ in range(CANCELS_AT_ONCE)))


async def leave(
    stub: context_pb2_grpc.ContextServiceStub, place: int, after_s: float, tag: str = ""
) -> None:
    asked = script(tag, first=0.01, gap=0.002, count=10_000)
    context = pb.BuildContextRequest(
        channel=f"room{place // 100}", question=f"question {place % 500}?", model=asked,
        asker=message_pb2.Author(id=f"u{place % 7}", name="Ann"), self_ids=["bot"],
    )  # fmt: skip
    call = stub.StreamChat(pb.StreamChatRequest(context=context))

    async def read() -> None:
        async for _ in call:
            pass

    reading = asyncio.create_task(read())
    await asyncio.sleep(after_s)
    call.cancel()
    await asyncio.gather(reading, return_exceptions=True)


async def settled(server: ServerProcess, model: ModelProcess) -> tuple[int, int]:
    """Threads of the server and its sockets to the model, once no upstream is open."""
    async with asyncio.timeout(10):
        while any(one.gone_s is None for one in model.journal()):  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.05)
    await asyncio.sleep(1.0)  # what was said is being stored
    return await asyncio.to_thread(held, server, model)


def held(server: ServerProcess, model: ModelProcess) -> tuple[int, int]:
    """Threads of the server and its sockets to the model."""
    return len(list(Path(f"/proc/{server.pid}/task").iterdir())), sockets_between(server, model)


def sockets_between(server: ServerProcess, model: ModelProcess) -> int:
    """Open sockets of the server whose other end is the model's port."""
    port = f"{int(model.url.rsplit(':', 1)[1].split('/')[0]):04X}"
    lines = Path(f"/proc/{server.pid}/net/tcp").read_text().splitlines()[1:]
    inodes = {f"socket:[{line.split()[9]}]" for line in lines if line.split()[2].endswith(port)}
    links = Path(f"/proc/{server.pid}/fd").iterdir()
    return sum(str(link.readlink()) in inodes for link in links if link.is_symlink())


async def resident(server: ServerProcess) -> int:
    """The least of some seconds: what the server does behind its answers takes memory for a moment."""
    sizes = []
    for _ in range(30):
        sizes.append(resident_now(server))
        await asyncio.sleep(0.1)
    return min(sizes)


def resident_now(server: ServerProcess) -> int:
    return int(Path(f"/proc/{server.pid}/statm").read_text().split()[1]) * PAGE_BYTES
