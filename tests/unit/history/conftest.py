"""A writer over a scripted store, and a loop that reports what nobody asked for."""

import asyncio
import gc

import pytest

from backscroll_sidecar.history.queue import QueueLimits
from backscroll_sidecar.history.writer import Writer
from tests.kit.history import Recorder, ScriptedStore


@pytest.fixture(autouse=True)
async def loop_errors():
    """Whatever reaches the loop's exception handler (a future nobody asked) fails the test."""
    seen: list[dict] = []
    gc.freeze()  # what was there before: the collection below need not look at it
    asyncio.get_running_loop().set_exception_handler(lambda _, context: seen.append(context))
    yield seen
    gc.collect()
    await asyncio.sleep(0)
    assert not seen


@pytest.fixture
def store():
    return ScriptedStore()


@pytest.fixture
def recorder():
    return Recorder()


@pytest.fixture
async def make(store, recorder):
    """Writers over `store`, started, and closed at the end."""
    made: list[Writer] = []

    async def make(**options) -> Writer:
        store_, publisher = options.pop("store", store), options.pop("publisher", recorder)
        writer = Writer(store_, publisher, QueueLimits(**options))
        made.append(writer)
        await writer.start()
        return writer

    yield make
    store.open.set()
    for writer in made:
        await writer.close()


@pytest.fixture
async def writer(make):
    return await make()
