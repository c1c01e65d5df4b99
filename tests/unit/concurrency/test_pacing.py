"""Streams take turns: at once where there is no crowd, in order and far enough apart where there is one."""

import asyncio

from backscroll_sidecar.concurrency.time_slicing import ROUNDS, Pacer


async def rounds_until(done: asyncio.Future) -> int:
    count = 0
    while not done.done():
        await asyncio.sleep(0)
        count += 1
    return count


async def test_without_a_crowd_nothing_waits() -> None:
    pacer, steps = Pacer(), []
    for n in range(3):
        taking = pacer.wait()
        try:
            taking.send(None)
        except StopIteration:
            steps.append(n)
        for _ in range(ROUNDS + 1):
            await asyncio.sleep(0)
    assert steps == [0, 1, 2]


async def test_a_crowd_goes_on_one_by_one_in_order() -> None:
    pacer, order = Pacer(), []

    async def one(n: int) -> None:
        await pacer.wait()
        order.append(n)

    everyone = asyncio.gather(*map(one, range(50)))
    assert await rounds_until(everyone) >= 49 * ROUNDS
    assert order == [*range(50)]


async def test_who_leaves_the_line_holds_up_nobody() -> None:
    pacer = Pacer()
    tasks = [asyncio.create_task(pacer.wait()) for _ in range(20)]
    await asyncio.sleep(0)
    for task in tasks[3:15]:
        task.cancel()
    async with asyncio.timeout(60):
        done = await asyncio.gather(*tasks, return_exceptions=True)
    assert [isinstance(one, asyncio.CancelledError) for one in done] == [
        3 <= n < 15 for n in range(20)
    ]
