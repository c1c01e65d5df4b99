"""What a deadline cuts off, and what it leaves as it is."""

import asyncio
import time

import pytest

from backscroll_sidecar.concurrency.deadline import Deadline


class Clock:
    monotonic_s = staticmethod(time.monotonic)


def deadline(left_s):
    return Deadline(Clock(), left_s, None)


async def waits(seconds, value):
    try:
        await asyncio.sleep(0)
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        value.append("cancelled")
        raise
    return value


async def fails(error, *, late):
    if late:
        await asyncio.sleep(0)
    raise error


async def test_what_does_not_wait_is_never_late():
    async def at_once():
        return 5

    assert await deadline(0).bound(at_once()) == 5


async def test_what_waits_is_awaited():
    assert await deadline(5).bound(waits(0.001, [])) == []
    future = asyncio.get_running_loop().create_future()
    future.set_result(3)
    assert await deadline(5).bound(future) == 3


async def test_something_else_is_done_while_a_coroutine_waits():
    """Once, and not where it does not wait; if that fails, the coroutine ends with it."""
    done, seen = [], []

    async def at_once():
        return 5

    assert await deadline(5).bound(at_once(), meanwhile=lambda: done.append(1)) == 5
    assert done == []
    assert await deadline(5).bound(waits(0.001, []), meanwhile=lambda: done.append(2)) == []
    assert done == [2]

    async def closes():
        try:
            await asyncio.sleep(5)
        finally:
            seen.append("closed")

    with pytest.raises(ZeroDivisionError):
        await deadline(5).bound(closes(), meanwhile=lambda: 1 / 0)
    assert seen == ["closed"]


async def test_what_waits_too_long_is_cut_off():
    seen = []
    with pytest.raises(TimeoutError):
        await deadline(0.01).bound(waits(5, seen))
    assert seen == ["cancelled"]
    with pytest.raises(TimeoutError):
        await deadline(0.01).bound(asyncio.get_running_loop().create_future())


async def test_who_is_cancelled_cancels_what_it_waits_for():
    seen = []
    task = asyncio.create_task(deadline(5).bound(waits(5, seen)))
    await asyncio.sleep(0.005)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert seen == ["cancelled"]


@pytest.mark.parametrize("late", [False, True])
async def test_errors_come_through(late):
    with pytest.raises(KeyError):
        await deadline(5).bound(fails(KeyError("x"), late=late))


async def test_what_swallows_an_error_goes_on():
    async def patient():
        failing = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_soon(failing.set_exception, ValueError("x"))
        try:
            await failing
        except ValueError:
            return await waits(0, ["went on"])

    assert await deadline(5).bound(patient()) == ["went on"]
