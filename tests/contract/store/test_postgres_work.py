"""What follows from messages and is not done yet, in a database that several servers share."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest

from backscroll_sidecar.domain import ChannelKey
from backscroll_sidecar.ports import EraseChange, Left
from backscroll_sidecar.store.postgres import PostgresStore
from tests.contract.store.builders import NOON_MS, OTHER_ROOM, ROOM, append, edit, message
from tests.kit.postgres import server

Two = tuple[PostgresStore, PostgresStore]
TENANT = ROOM.tenant


@pytest.fixture
async def two() -> AsyncIterator[Two]:
    async with AsyncExitStack() as stack:
        url = await server().emptied()
        stores = [await PostgresStore.open(url) for _ in range(2)]
        for one in stores:
            stack.push_async_callback(one.close)
        yield stores[0], stores[1]


async def taken(by: PostgresStore, of: PostgresStore) -> list[Left]:
    return [*await by.take_over(TENANT, of.holder)]


async def test_who_got_rows_has_them_until_they_are_done(two: Two) -> None:
    here, there = two
    await here.apply([append(message("a"), message("b"), message("c"))])
    await here.apply([append(message("d"), key=OTHER_ROOM)])
    assert await there.others_at_work() == {here.holder: [TENANT]}
    assert await here.others_at_work() == {}
    await here.end_work(TENANT, {ROOM.channel: [2]})
    assert await taken(there, here) == [Left(OTHER_ROOM, 1, 1), Left(ROOM, 1, 1), Left(ROOM, 3, 3)]
    assert await taken(there, here) == []
    assert await here.others_at_work() == {there.holder: [TENANT]}
    await there.end_work(TENANT, {ROOM.channel: [1, 2, 3], OTHER_ROOM.channel: [1]})
    assert await here.others_at_work() == {}


async def test_of_what_another_has_by_now_nothing_ends(two: Two) -> None:
    here, there = two
    await here.apply([append(message("a"))])
    await taken(there, here)
    await here.end_work(TENANT, {ROOM.channel: [1]})
    assert await here.others_at_work() == {there.holder: [TENANT]}


async def test_both_have_rows_of_one_channel(two: Two) -> None:
    here, there = two
    for n in range(4):
        await two[n % 2].apply([append(message(f"m{n}"))])
    await here.end_work(TENANT, {ROOM.channel: [1, 2, 3, 4]})
    assert await taken(here, there) == [Left(ROOM, 2, 2), Left(ROOM, 4, 4)]
    await here.end_work(TENANT, {})  # nothing to end


async def test_an_edit_is_work_of_who_got_it(two: Two) -> None:
    here, there = two
    await here.apply([append(message("a"), message("b"))])
    await here.end_work(TENANT, {ROOM.channel: [1, 2]})
    await there.apply([edit("b", "another text")])
    assert await taken(here, there) == [Left(ROOM, 2, 2)]


async def test_a_duplicate_is_no_work(two: Two) -> None:
    here, there = two
    await here.apply([append(message("a"))])
    await there.apply([append(message("a"))])
    assert await here.others_at_work() == {}


async def test_an_erased_row_may_still_be_named(two: Two) -> None:
    """It is a number by then; whoever takes it over finds nothing."""
    here, there = two
    await here.apply([append(message("a"))])
    await here.apply([EraseChange(ROOM, (), "", NOON_MS)])
    (left,) = await taken(there, here)
    assert await there.ids_by_seq(left.key, [left.first_seq]) == {}


async def test_work_is_of_a_tenant(two: Two) -> None:
    here, there = two
    elsewhere = ChannelKey("another", ROOM.channel)
    await here.apply([append(message("a")), append(message("a"), key=elsewhere)])
    found = await there.others_at_work()
    assert {one: sorted(some) for one, some in found.items()} == {here.holder: ["another", TENANT]}
    assert await taken(there, here) == [Left(ROOM, 1, 1)]
    assert await there.others_at_work() == {here.holder: ["another"]}
