"""Leaving a stream closes its socket, seen from the other end; nothing stays behind."""

import asyncio
import gc
import random
import statistics
from collections.abc import Callable
from importlib.util import find_spec

import pytest

from backscroll_sidecar.models.openai import OpenAIModel
from backscroll_sidecar.ports import ModelError, ModelFault
from tests.contract.models.model_contract import ENOUGH_S
from tests.contract.models.scenario import ask, events_of, listen
from tests.contract.models.sse_server import DONE, HANG, Reply, SseServer, said, stopped, used

Connect = Callable[..., OpenAIModel]
PATH = "/chat/completions"
SILENT = Reply([said("猫"), 0.02, said("鱼"), HANG])
CHATTY = Reply([said("猫"), 0.005] * 2_000)
WHOLE = Reply([said("猫"), stopped(), used(1, 1), DONE])


@pytest.mark.parametrize("reply", [SILENT, CHATTY], ids=["silent", "chatty"])
@pytest.mark.parametrize("heard", [0, 1, 2])
async def test_leaving_early_closes_the_socket(
    heard: int, reply: Reply, connect: Connect, server: SseServer
) -> None:
    """Within 250 ms as a rule: the median of seven, so that a stall of the machine is not a failure."""
    model, loop, took = connect(reply), asyncio.get_running_loop(), []
    async with asyncio.timeout(ENOUGH_S):
        for _ in range(7):
            async with model.stream(ask()) as events:
                for _ in range(heard):
                    await anext(events)
                left = loop.time()
            await server.exchanges[-1].gone.wait()
            took.append(server.exchanges[-1].gone_at_s - left)
    assert statistics.median(took) < 0.25


async def test_leaving_with_an_error_closes_the_socket(connect: Connect, server: SseServer) -> None:
    async with asyncio.timeout(ENOUGH_S):
        with pytest.raises(KeyError):
            await _leave_with_an_error(connect(SILENT))
        await server.exchanges[0].gone.wait()


async def _leave_with_an_error(model: OpenAIModel) -> None:
    async with model.stream(ask()) as events:
        await anext(events)
        raise KeyError


@pytest.mark.parametrize("options", [{"timeout_s": 0.3}, {}])
async def test_a_timeout_closes_the_socket(
    options: dict, connect: Connect, server: SseServer
) -> None:
    async with asyncio.timeout(ENOUGH_S):
        _, error = await listen(connect(SILENT, idle_s=1.0), ask(**options))
        await server.exchanges[0].gone.wait()
    assert error is not None
    assert error.fault is ModelFault.TIMEOUT


async def test_a_whole_call_cancelled_closes_the_socket(
    connect: Connect, server: SseServer
) -> None:
    task = asyncio.create_task(connect(Reply(before_head=[HANG])).post(PATH, b"{}", None))
    async with asyncio.timeout(ENOUGH_S):
        await server.asked.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await server.exchanges[0].gone.wait()


@pytest.mark.slow
async def test_cancels_at_random_moments_leave_nothing(connect: Connect, server: SseServer) -> None:
    """100 readers cancelled before the status, between deltas, or while one is on its way; then all is as before."""
    model, dice = connect(Reply([said("猫"), 0.002] * 500, before_head=[0.005])), random.Random(7)
    await _cancelled(model, 0.05)
    async with asyncio.timeout(ENOUGH_S):
        await asyncio.gather(*(e.gone.wait() for e in server.exchanges))
    gc.collect()
    before = _clients_tasks()
    for _ in range(20):
        await asyncio.gather(*(_cancelled(model, dice.uniform(0, 0.06)) for _ in range(5)))
    async with asyncio.timeout(ENOUGH_S):
        await asyncio.gather(*(e.gone.wait() for e in server.exchanges))
        while _clients_tasks() > before or server.open_connections:  # noqa: ASYNC110 - no event says so
            await asyncio.sleep(0.01)
    server.choose = lambda *_: WHOLE
    assert len(await events_of(model)) == 3


async def _cancelled(model: OpenAIModel, after_s: float) -> None:
    async def read() -> None:
        async with model.stream(ask()) as events:
            async for _ in events:
                pass

    task = asyncio.create_task(read())
    await asyncio.sleep(after_s)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def _clients_tasks() -> int:
    """Tasks that are not the server's."""
    return sum("sse_server" not in repr(task.get_coro()) and "SseServer" not in repr(task.get_coro())
               for task in asyncio.all_tasks())  # fmt: skip


@pytest.mark.skipif(
    find_spec("openai._streaming_cleanup") is None, reason="older clients close instead"
)
async def test_a_connection_is_used_again_after_a_whole_stream(
    connect: Connect, server: SseServer
) -> None:
    model = connect(WHOLE)
    for _ in range(5):
        await events_of(model)
    assert (len(server.exchanges), server.connections) == (5, 1)


async def test_calls_beyond_the_connections_wait_and_then_give_up(
    connect: Connect, server: SseServer
) -> None:
    model = connect(SILENT, max_connections=1, connect_s=0.5)
    async with asyncio.timeout(ENOUGH_S), model.stream(ask()) as events:
        await anext(events)
        with pytest.raises(ModelError) as error:
            await events_of(model)
    assert error.value.fault is ModelFault.TIMEOUT
    assert len(server.exchanges) == 1
