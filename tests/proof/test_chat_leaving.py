"""Callers who leave and callers whose time is up, against a model in a process of its own (law 8)."""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest

from backscroll.v1 import context_pb2 as pb
from backscroll_sidecar.chat.turn_writer import NOT_STORED_YET
from backscroll_sidecar.telemetry import logs
from tests.integration.chat.talk import Bot, answers, talk, text_of, turn
from tests.kit.model_process import Exchange, ModelProcess, script
from tests.kit.model_process import text_of as model_text

CANCELS, CLOSED_WITHIN_S = 200, 0.25
DEADLINES_MS = (
    1,
    2,
    3,
    4,
    5,
    6,
    8,
    10,
    12,
    15,
    20,
    25,
    30,
    40,
    50,
    65,
    80,
    100,
    120,
    140,
    160,
    180,
    200,
)
EACH = 5
TIGHT_MS = 25
"""In less time than this a commit may still be under way when the end has to be sent."""
LIGHT_LOAD = 4


@pytest.fixture
def model() -> Iterator[ModelProcess]:
    with ModelProcess() as process:
        yield process


async def read(call) -> list[pb.StreamChatResponse]:
    return [event async for event in call]


async def leave_after(bot: Bot, request: pb.StreamChatRequest, seconds: float) -> float:
    """Ask, leave, and say when."""
    call = bot.stub.StreamChat(request)
    reading = asyncio.create_task(read(call))
    await asyncio.sleep(seconds)
    left_s = asyncio.get_running_loop().time()
    call.cancel()
    await asyncio.gather(reading, return_exceptions=True)
    return left_s


async def over(model: ModelProcess) -> list[Exchange]:
    """All exchanges since the last time, once none is open."""
    found: dict[str, Exchange] = {}
    async with asyncio.timeout(10):
        while True:
            told = await asyncio.to_thread(model.journal)
            found |= {one.tag: one for one in told}
            if all(one.is_whole or one.gone_s is not None for one in told):
                return [*found.values()]
            await asyncio.sleep(0.02)


@asynccontextmanager
async def nothing_left(bot: Bot) -> AsyncIterator[None]:
    """The block leaves no task of the server behind."""
    before = len(asyncio.all_tasks())
    yield
    await bot.idle()
    async with asyncio.timeout(10):
        while len(asyncio.all_tasks()) > before:  # noqa: ASYNC110 - nothing tells when a task is gone
            await asyncio.sleep(0.01)
    assert not bot.app.chat._held


@pytest.mark.proof
async def test_two_hundred_callers_leave(model: ModelProcess) -> None:
    """Before the first delta, between deltas, while the context is built, in rounds of tools: the upstream socket is
    closed within 250 ms (p99), no task is left, and no row but questions, whole rounds and partial replies."""
    logs.configure("error")  # not a line a call
    rng, left_s = random.Random(11), {}
    async with talk(model_base_url=model.url) as bot:
        await bot.ask(turn("warm up", context={"model": script("warm", count=2)}))
        async with nothing_left(bot):
            for n in range(CANCELS):
                tag, long = f"t{n}", {"gap": 0.003, "count": 10_000}
                if n % 4 == 3:  # leave the round behind a call of tools
                    calls = script(tag + "-calls", count=1, call=True)
                    heard = await bot.ask(turn(f"q{n}", tools=True, context={"model": calls}))
                    request = answers(heard.end.turn_id, call_1="sunny")
                    left_s[tag + "-calls"] = await leave_after(bot, request, rng.uniform(0.0, 0.05))
                    continue
                slow = script(tag, first=(0.0, 0.05, 10.0)[n % 3], **long)
                request = turn(f"q{n}", context={"model": slow})
                left_s[tag] = await leave_after(bot, request, rng.uniform(0.0, 0.06))
        exchanges = await over(model)
        rows = await bot.stored()
    waits = sorted(
        one.gone_s - left_s[one.tag] for one in exchanges if one.gone_s and one.tag in left_s
    )
    at_p99 = waits[int(len(waits) * 0.99) - 1]
    print(
        f"{len(waits)} upstreams closed: median {waits[len(waits) // 2] * 1e3:.1f} ms, p99 {at_p99 * 1e3:.1f} ms"
    )
    assert len(waits) > CANCELS / 4
    assert at_p99 <= CLOSED_WITHIN_S
    replies = [row for row in rows if row.message.id.split(":")[-2:-1] == ["partial"]]
    assert all(row.partial and model_text(10_000).startswith(text_of(row)) for row in replies)
    partial = {row.message.id for row in rows if row.partial}
    assert partial == {row.message.id for row in replies}


@pytest.mark.proof
async def test_deadlines_from_one_to_two_hundred_ms(model: ModelProcess) -> None:
    """Under a light load every one ends in DEADLINE or DEADLINE_EXCEEDED, and nothing goes on after it."""
    logs.configure("error")
    endings: Counter[str] = Counter()
    async with talk(model_base_url=model.url) as bot:
        await bot.ask(turn("warm up", context={"model": script("warm", count=2)}))
        async with nothing_left(bot):
            others = [asyncio.create_task(load(bot, n)) for n in range(LIGHT_LOAD)]
            for n, timeout_ms in enumerate(DEADLINES_MS * EACH):
                first = (0.0, 0.02, 10.0)[n % 3]
                asked = script(f"d{n}", first=first, gap=0.002, count=10_000)
                request = turn(f"in {timeout_ms}", context={"model": asked, "channel": "timed"})
                heard = await bot.ask(request, timeout_s=timeout_ms / 1_000)
                if heard.refusal is not None:
                    assert heard.refusal.code.name == "DEADLINE_EXCEEDED", (timeout_ms, heard)
                    endings["DEADLINE_EXCEEDED"] += 1
                else:
                    told = {error.message for error in heard.errors}
                    assert heard.reason == "DEADLINE", (timeout_ms, heard)
                    assert told <= {NOT_STORED_YET} if timeout_ms < TIGHT_MS else not told, (
                        timeout_ms,
                        heard,
                    )
                    endings["DEADLINE"] += 1
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)
        timed = [row async for row in bot.client.list_messages("timed")]
        await asyncio.sleep(0.5)
        assert [row async for row in bot.client.list_messages("timed")] == timed  # nothing late
        assert await over(model)
    print(dict(endings))
    assert endings.total() == len(DEADLINES_MS) * EACH
    assert endings["DEADLINE"]
    assert all(row.partial for row in timed if row.message.author.id == "bot")


@pytest.mark.proof
async def test_a_deadline_that_grpc_tells_too_late(model: ModelProcess) -> None:
    """Behind 10 s its C core tells 9.71 s as 10, or more: DEADLINE comes before the caller's own all the same."""
    async with talk(model_base_url=model.url) as bot:
        await bot.ask(turn("warm up", context={"model": script("warm", count=2)}), timeout_s=10.0)
        long = turn("and?", context={"model": script("long", gap=0.1, count=1_000)})
        heard = await bot.ask(long, timeout_s=9.71)
    assert heard.refusal is None
    assert (heard.reason, heard.end.partial) == ("DEADLINE", True)


async def load(bot: Bot, place: int) -> None:
    """One bot that asks again and again."""
    while True:
        asked = script(f"load{place}", gap=0.01, count=20)
        await bot.ask(turn("and?", context={"model": asked, "channel": f"load{place}"}))
