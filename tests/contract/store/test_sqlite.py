"""The store in a SQLite file keeps the contract."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from backscroll_sidecar.ports import HistoryStore
from backscroll_sidecar.store.sqlite import SqliteStore
from tests.contract.store.store_contract import HistoryStoreContract


class TestSqliteStore(HistoryStoreContract):
    @pytest.fixture
    async def store(self, tmp_path: Path) -> AsyncIterator[HistoryStore]:
        opened = await SqliteStore.open(tmp_path / "history.db")
        yield opened
        await opened.close()
