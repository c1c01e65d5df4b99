"""The store behind a pool that hands sessions around (PgBouncer in transaction mode) keeps the core of the contract."""

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

from backscroll_sidecar.errors import StoreUnavailable
from backscroll_sidecar.ports import HistoryStore
from backscroll_sidecar.store.postgres import PostgresStore
from tests.contract.store.append_contract import AppendContract
from tests.contract.store.erasure_contract import ErasureContract
from tests.contract.store.record_contract import RecordContract
from tests.kit.pgbouncer import PROGRAM, PgBouncer
from tests.kit.postgres import server

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="pgbouncer is not installed")


@pytest.fixture(scope="module")
def pool() -> Iterator[PgBouncer]:
    with PgBouncer(server()) as running:
        yield running


class TestPooledPostgresStore(AppendContract, ErasureContract, RecordContract):
    @pytest.fixture
    async def store(self, pool: PgBouncer) -> AsyncIterator[HistoryStore]:
        opened = await PostgresStore.open(pool.url(await server().emptied()))
        yield opened
        await opened.close()


async def test_time_alone_decides_about_leases(pool: PgBouncer) -> None:
    """A lock that a session has would stay with the pool's session when its server died."""
    url = await server().emptied()
    one, other = await PostgresStore.open(pool.url(url)), await PostgresStore.open(pool.url(url))
    assert await one.take("a", "turn", 60_000, 1)
    assert not await other.take("a", "turn", 60_000, 1)
    assert await one.prolong("a", ["turn"], 10) == ["turn"]
    async with asyncio.timeout(30):
        while not await other.take("a", "turn", 60_000, 2):  # noqa: ASYNC110 - nothing tells
            await asyncio.sleep(0.02)
    locks = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted"
    assert server().psql(url, locks).strip() == "0"
    await one.close()
    await other.close()


async def test_a_size_that_is_no_number(pool: PgBouncer) -> None:
    with pytest.raises(StoreUnavailable, match="statement_cache_size"):
        await PostgresStore.open(pool.url(await server().emptied()).replace("=0", "=no"))
