"""Law 9 with many batches at once: slices for the loop, turns for the batches."""

import asyncio

import pytest

from backscroll_sidecar.concurrency.time_slicing import SLICE_US, TURN_US, Lane


class Work:
    """Batches that note when they work; a step costs half a slice."""

    def __init__(self) -> None:
        self.lane = Lane()
        self.log: list[str] = []

    async def batch(self, name: str, slices: int) -> None:
        with self.lane.turn() as turn:
            for _ in range(2 * slices):
                await turn.spend(SLICE_US / 2)
                self.log.append(name)

    def runs(self) -> list[tuple[str, int]]:
        """The log as (who, how many steps in a row)."""
        runs: list[tuple[str, int]] = []
        for name in self.log:
            count = runs.pop()[1] if runs and runs[-1][0] == name else 0
            runs.append((name, count + 1))
        return runs


@pytest.fixture
def work():
    return Work()


async def test_batches_work_one_after_the_other(work):
    await asyncio.gather(*(work.batch(name, 5) for name in "abc"))
    first, rest = work.runs()[:3], work.runs()[3:]
    assert first == [("a", 2), ("b", 2), ("c", 2)], "one slice each before anybody stands in line"
    assert rest == [("a", 8), ("b", 8), ("c", 8)]


async def test_a_long_one_lets_the_next_go_first(work):
    turn = 2 * TURN_US // SLICE_US
    await asyncio.gather(work.batch("long", 100), work.batch("next", 3))
    assert work.runs()[2:4] == [("long", turn), ("next", 4)]
    assert len(work.log) == 206


async def test_what_fits_one_slice_never_waits(work):
    long = asyncio.create_task(work.batch("long", 100))
    await asyncio.sleep(0)
    await work.batch("small", 1)
    assert work.log[-2:] == ["small", "small"]
    assert not long.done()
    await long


async def test_others_work_between_slices(work):
    turns = 0
    long = asyncio.create_task(work.batch("long", 50))
    while not long.done():
        turns += 1
        await asyncio.sleep(0)
    assert turns > 45


@pytest.mark.parametrize("when", [1, 2, 3, 5])
async def test_a_batch_that_ends_badly_leaves_the_lane(work, when):
    doomed = [asyncio.create_task(work.batch(name, 40)) for name in "abc"]
    for _ in range(when):
        await asyncio.sleep(0)
    for task in doomed:
        task.cancel()
    await asyncio.wait(doomed)
    await asyncio.wait_for(work.batch("after", 40), 60)


async def test_leaving_lets_the_next_one_in(work):
    async def away() -> None:
        with work.lane.turn() as turn:
            await turn.spend(2 * SLICE_US)
            turn.leave()
            await asyncio.sleep(0.02)
            work.log.append("back")
            await turn.spend(2 * SLICE_US)

    await asyncio.gather(away(), work.batch("other", 3))
    assert work.log == ["other"] * 6 + ["back"]
