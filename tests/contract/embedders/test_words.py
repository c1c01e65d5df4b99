"""The embedder of words keeps the contract, and so does the fake that is made of it."""

from collections.abc import AsyncIterator

import numpy as np
import pytest

from backscroll_sidecar.models.word_embedder import WordEmbedder
from tests.contract.embedders.embedder_contract import Breaking, EmbedderContract
from tests.kit.fake_embedder import FakeEmbedder


class TestWordEmbedder(EmbedderContract):
    @pytest.fixture
    async def embedder(self) -> AsyncIterator[WordEmbedder]:
        made = WordEmbedder()
        await made.start()
        yield made
        await made.close()

    @pytest.fixture
    def unusable(self, embedder: WordEmbedder, monkeypatch: pytest.MonkeyPatch) -> Breaking:
        bad = np.full(embedder.dims, np.nan, np.float32)
        return lambda: monkeypatch.setattr(embedder, "vector", lambda _: bad)


class TestFakeEmbedder(TestWordEmbedder):
    @pytest.fixture
    async def embedder(self) -> AsyncIterator[FakeEmbedder]:
        made = FakeEmbedder(synonyms={"feline": "cat"})
        await made.start()
        yield made
        await made.close()

    async def test_synonyms_mean_the_same(self, embedder: FakeEmbedder) -> None:
        cat, feline, dog = await embedder.embed(["cat", "feline", "dog"])
        assert cat @ feline > 0.99 > 0.5 > cat @ dog
        assert (embedder.query_count, embedder.text_count) == (0, 3)
