"""The line in front of the write queue: fair, bounded, and whoever leaves it stores nothing."""

import asyncio

import pytest

from backscroll_sidecar.errors import Overloaded
from backscroll_sidecar.history.queue import Pending, QueueLimits, WriteQueue, pend
from tests.kit.history import append_change


def rows(count: int, name: str = "m") -> Pending:
    return pend(append_change(*(f"{name}{i}" for i in range(count))))


def put(queue: WriteQueue, pending: Pending) -> asyncio.Task[None]:
    return asyncio.create_task(queue.put(pending))


async def spin() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


@pytest.fixture
async def queue():
    """Room for ten rows, five of them taken, and a long patience."""
    queue = WriteQueue(QueueLimits(max_items=10, max_waiting=3, max_wait_s=30))
    await queue.put(rows(5, "first"))
    return queue


async def test_a_small_change_does_not_overtake_a_large_one(queue):
    large, small = rows(8), rows(1)
    waiting = [put(queue, large), put(queue, small)]
    await spin()
    assert queue.items == 5
    queue.take(100, 2**20)
    await asyncio.gather(*waiting)
    assert queue.take(100, 2**20) == [large, small]
    assert (queue.items, queue.bytes) == (0, 0)


async def test_when_the_large_one_leaves_those_behind_get_in_at_once(queue):
    large, small = put(queue, rows(8)), put(queue, rows(1))
    await spin()
    large.cancel()
    await spin()
    assert small.done()
    assert queue.items == 6


async def test_places_given_up_are_free_again(queue):
    leaving = [put(queue, rows(8)) for _ in range(3)]
    await spin()
    for task in leaving:
        task.cancel()
    await spin()
    staying = [put(queue, rows(8)) for _ in range(3)]
    await spin()
    assert not any(task.done() for task in staying)
    with pytest.raises(Overloaded):
        await queue.put(rows(8))
    for task in staying:
        task.cancel()


async def test_who_was_cancelled_in_the_same_moment_is_not_let_in(queue):
    """Else a caller could be told Overloaded and find its messages stored."""
    waiting = [put(queue, rows(8)), put(queue, rows(2, "next"))]
    await spin()
    waiting[0].cancel()
    queue.take(100, 2**20)
    assert queue.items == 2
    await spin()
    assert waiting[0].cancelled()
    assert waiting[1].done()
    assert queue.items == 2


async def test_who_was_let_in_and_then_cancelled_stays_in(queue):
    waiting = put(queue, rows(8))
    await spin()
    queue.take(100, 2**20)
    waiting.cancel()
    await spin()
    assert waiting.cancelled()
    assert queue.items == 8


async def test_let_in_in_the_moment_patience_ends(queue):
    """The time runs out while the turn is on its way: in is in."""
    queue._limits = QueueLimits(max_items=10, max_wait_s=0.02)
    waiting = put(queue, rows(8))
    await spin()
    asyncio.get_running_loop().call_later(0.02, queue.take, 100, 2**20)
    await asyncio.wait([waiting])
    if waiting.exception() is None:
        assert queue.items == 8
    else:
        assert isinstance(waiting.exception(), Overloaded)
        assert queue.items == 0


async def test_clear_lets_everybody_go(queue):
    waiting = put(queue, rows(8))
    await spin()
    assert [pending.items for pending in queue.clear()] == [5, 8]
    await waiting
    assert (len(queue), queue.items, queue.bytes) == (0, 0, 0)
