"""A lease of a server that lives stays its own, however long it is not heard of; one of a dead server is taken over."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import asyncpg
import pytest

from backscroll_sidecar.store.postgres import PostgresStore, presence
from backscroll_sidecar.store.postgres import store as module
from tests.kit.postgres import server

SHORT_MS = 20


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(presence, "SETTLES_S", 0.0)


@asynccontextmanager
async def two(url: str) -> AsyncIterator[tuple[PostgresStore, PostgresStore]]:
    """Servers of one database, both there."""
    one, other = await PostgresStore.open(url), await PostgresStore.open(url)
    for store in one, other:
        await until(lambda store=store: there(store))  # type: ignore[misc]
    yield one, other
    await one.close()
    await other.close()


async def there(store: PostgresStore) -> bool:
    return store._presence._session is not None


async def until(true: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(30):
        while not await true():  # noqa: ASYNC110 - nothing tells
            await asyncio.sleep(0.02)


async def test_of_a_server_that_stands_still_nothing_is_taken() -> None:
    async with two(await server().emptied()) as (one, other):
        assert await one.take("a", "turn", SHORT_MS, 1)
        await asyncio.sleep(0.2)  # ten times as long as it lasts
        assert not await other.take("a", "turn", SHORT_MS, 1)
        assert await one.prolong("a", ["turn"], SHORT_MS) == ["turn"]
        await one.give_back("a", "turn", 1)
        assert await other.take("a", "turn", SHORT_MS, 2)


async def test_of_a_server_that_is_gone_it_is_taken_once_it_ran_out() -> None:
    async with two(await server().emptied()) as (one, other):
        assert await one.take("a", "turn", 400, 1)
        await one.close()
        assert not await other.take("a", "turn", SHORT_MS, 1)
        await until(lambda: other.take("a", "turn", SHORT_MS, 2))


async def test_of_a_server_that_stands_still_for_long_it_is_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And who wakes up behind that has lost it."""
    async with two(await server().emptied()) as (one, other):
        assert await one.take("a", "turn", SHORT_MS, 1)
        monkeypatch.setattr(module, "SILENT_MS", 100)
        await until(lambda: other.take("a", "turn", 10_000, 1))
        assert await one.prolong("a", ["turn"], SHORT_MS) == []
        assert not await one.take("a", "turn", SHORT_MS, 2)
        await one.give_back("a", "turn", 1)
        assert await other.prolong("a", ["turn"], SHORT_MS) == ["turn"]


async def test_a_lease_of_before_the_clock_was_set_back() -> None:
    """Of a server that is gone it would stand for as long as the clock went back."""
    url = await server().emptied()
    async with two(url) as (one, other):
        assert await one.take("a", "turn", 5_000, 1)
        server().psql(url, "UPDATE leases SET ends_at = ends_at + interval '1 hour'")
        assert not await other.take("a", "turn", SHORT_MS, 2)
        await one.close()
        await until(lambda: other.take("a", "turn", SHORT_MS, 2))


async def test_who_has_come_just_now_takes_nothing_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """The database was away, so that no session stands: its holder may still come back."""
    monkeypatch.setattr(presence, "SETTLES_S", 60.0)
    async with two(await server().emptied()) as (one, other):
        assert await one.take("a", "turn", SHORT_MS, 1)
        await one.close()
        await asyncio.sleep(0.1)
        assert not await other.take("a", "turn", SHORT_MS, 1)


async def test_a_session_that_ended_is_made_anew() -> None:
    url = await server().emptied()
    async with two(url) as (one, other):
        assert await one.take("a", "turn", SHORT_MS, 1)
        session = one._presence._session
        assert session is not None
        server().psql(url, f"SELECT pg_terminate_backend({session.get_server_pid()})")
        await until(lambda: renewed(one, session))
        assert not await other.take("a", "turn", SHORT_MS, 1)


async def renewed(store: PostgresStore, before: object) -> bool:
    return store._presence._session not in (None, before)


async def test_whatever_fails_the_session_is_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """The driver has errors that are none of the store's; without a session a server looks as if it were gone."""
    failures = [asyncpg.InterfaceError("another operation is in progress"), ValueError("of ours")]
    looked = presence.is_pooled

    async def failing(session: asyncpg.Connection) -> bool:
        if failures:
            raise failures.pop()
        return await looked(session)

    monkeypatch.setattr(presence, "is_pooled", failing)
    monkeypatch.setattr(presence, "AGAIN_S", 0.01)
    async with two(await server().emptied()) as (one, other):
        assert not failures
        assert await there(one)
        assert await there(other)
