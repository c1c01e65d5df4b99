"""The store in memory keeps the contract."""

import pytest

from backscroll_sidecar.ports import HistoryStore
from backscroll_sidecar.store.memory import InMemoryStore
from tests.contract.store.store_contract import HistoryStoreContract


class TestMemoryStore(HistoryStoreContract):
    keeps_segments = False

    @pytest.fixture
    async def store(self) -> HistoryStore:
        return InMemoryStore()
