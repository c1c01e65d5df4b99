"""The fake keeps the contract, and counts."""

from __future__ import annotations

from collections.abc import AsyncIterator

import numpy as np
import pytest

from backscroll_sidecar.models.fake_embedder import FakeEmbedder
from tests.contract.embedders.embedder_contract import Breaking, EmbedderContract


class TestFakeEmbedder(EmbedderContract):
    @pytest.fixture
    async def embedder(self) -> AsyncIterator[FakeEmbedder]:
        made = FakeEmbedder(synonyms={"feline": "cat"})
        await made.start()
        yield made
        await made.close()

    @pytest.fixture
    def unusable(self, embedder: FakeEmbedder, monkeypatch: pytest.MonkeyPatch) -> Breaking:
        bad = np.full(embedder.dims, np.nan, np.float32)
        return lambda: monkeypatch.setattr(embedder, "vector", lambda _: bad)

    async def test_synonyms_mean_the_same(self, embedder: FakeEmbedder) -> None:
        cat, feline, dog = await embedder.embed(["cat", "feline", "dog"])
        assert cat @ feline > 0.99 > 0.5 > cat @ dog
        assert (embedder.query_count, embedder.text_count) == (0, 3)
