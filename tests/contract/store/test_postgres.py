"""The store in a PostgreSQL database keeps the contract."""

from collections.abc import AsyncIterator

import pytest

from backscroll_sidecar.ports import HistoryStore
from backscroll_sidecar.store.postgres import PostgresStore
from tests.contract.store.store_contract import HistoryStoreContract
from tests.kit.postgres import server


class TestPostgresStore(HistoryStoreContract):
    @pytest.fixture
    async def store(self) -> AsyncIterator[HistoryStore]:
        opened = await PostgresStore.open(await server().emptied())
        yield opened
        await opened.close()
