"""Groups of servers that share a database: none waits for another for ever, and a failed one leaves nothing behind."""

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import asyncpg
import pytest

from backscroll_sidecar.domain import ChannelKey
from backscroll_sidecar.errors import Gone, StoreUnavailable
from backscroll_sidecar.ports import EraseChange, Loss
from backscroll_sidecar.store.postgres import PostgresStore
from backscroll_sidecar.store.postgres import store as module
from backscroll_sidecar.store.postgres.connections import Connection
from tests.contract.store.builders import (
    NOON_MS,
    OTHER_ROOM,
    ROOM,
    append,
    edit,
    message,
    turn,
)
from tests.kit.postgres import server, server_in

Two = tuple[PostgresStore, PostgresStore]
TENANT = ROOM.tenant
EN_US = Path("/usr/share/i18n/locales/en_US")


@pytest.fixture
async def two() -> AsyncIterator[Two]:
    async with AsyncExitStack() as stack:
        url = await server().emptied()
        stores = [await PostgresStore.open(url) for _ in range(2)]
        for one in stores:
            stack.push_async_callback(one.close)
        yield stores[0], stores[1]


async def test_turns_beside_edits_break_no_group_off(
    two: Two, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both lock the tenant's row: a group that shared it first could not."""
    monkeypatch.setattr(module, "TRIES", 1)
    for store, room in zip(two, (ROOM, OTHER_ROOM), strict=True):
        await store.apply([append(message(f"m-{room.channel}"), key=room)])

    async def write(store: PostgresStore, n: int) -> None:
        room = (ROOM, OTHER_ROOM)[n]
        for time in range(25):
            some = [
                turn(f"t{n}", key=room),
                edit(f"m-{room.channel}", f"text {time}", at=time, key=room),
            ]
            await store.apply(some)

    async with asyncio.timeout(30):
        await asyncio.gather(*(write(store, n) for n, store in enumerate(two)))


async def test_the_losses_of_a_group_that_failed_are_not_its_servers(two: Two) -> None:
    """Another server's erasure gets their numbers; whoever took it for its own would store what went."""
    here, there = two
    await here.apply([append(message("a")), append(message("b"), key=OTHER_ROOM)])
    assert await here.new_losses(TENANT, 0) == []
    writing = here._connections.writing

    @asynccontextmanager
    async def failing() -> AsyncIterator[Connection]:
        async with writing() as connection:
            yield connection
            raise asyncpg.ConnectionDoesNotExistError

    here._connections.writing = failing  # type: ignore[method-assign]
    with pytest.raises(StoreUnavailable):
        await here.apply([EraseChange(OTHER_ROOM, (), "", NOON_MS)])
    here._connections.writing = writing  # type: ignore[method-assign]
    await there.apply([EraseChange(ROOM, (), "", NOON_MS)])
    assert [one.key for one in await here.new_losses(TENANT, 1)] == [ROOM]
    await here.apply([EraseChange(OTHER_ROOM, (), "", NOON_MS)])
    found: list[Loss] = [*await here.new_losses(TENANT, 2)]
    assert found == []


@pytest.mark.parametrize("are_lost", [True, False])
async def test_losses_that_a_crash_takes_hit_turns_of_whoever_was_told_of_them(
    two: Two, are_lost: bool
) -> None:
    """Their numbers are given again, so what comes under them would not be told. Else no paid answer is refused."""
    here, there = two
    await here.apply([append(message("a")), append(message("b"), key=OTHER_ROOM)])
    await here.new_losses(TENANT, (await here.versions(TENANT, [])).loss_count)
    await there.apply([EraseChange(OTHER_ROOM, (), "", NOON_MS)])
    before = await here.versions(TENANT, [])
    assert len(await here.new_losses(TENANT, before.loss_count)) == 1
    url = server().forget_lineages()
    if are_lost:
        server().psql(url, "DELETE FROM losses WHERE names = '[]'")
    assert (await there.versions(TENANT, [])).lineage not in (None, before.lineage)
    (answer,) = await here.apply([turn("t1")])
    assert isinstance(answer.error, Gone) == are_lost
    now = await here.versions(TENANT, [])
    hit = [one for one in await here.new_losses(TENANT, now.loss_count) if one.hits(ROOM, ())]
    assert bool(hit) == are_lost
    (answer,) = await here.apply([turn("t2")])
    assert answer.error is None


@pytest.mark.skipif(
    shutil.which("localedef") is None or not EN_US.exists(), reason="no locale can be made here"
)
async def test_groups_beside_what_ends_work_in_a_database_with_the_order_of_a_language(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Given names come in its order, keys by code points: rows locked in both would keep each other waiting."""
    monkeypatch.setattr(module, "TRIES", 1)
    keys = [ChannelKey(TENANT, f"{'aB'[n % 2]}{n}") for n in range(400)]
    with server_in("en_US") as apart:
        assert apart.rows(apart.url("postgres"), "SELECT 'a' < 'B'") == [(True,)]
        store = await PostgresStore.open(apart.new_database())

        async def come() -> None:
            for n in range(10):
                await store.apply([append(message(f"{key.channel}-{n}"), key=key) for key in keys])
            done.append(True)

        async def end() -> None:
            while not done:
                await store.end_work(TENANT, {key.channel: [1_000] for key in keys})

        done: list[bool] = []
        async with asyncio.timeout(60), asyncio.TaskGroup() as both:
            both.create_task(come())
            both.create_task(end())
            both.create_task(end())
        await store.close()
