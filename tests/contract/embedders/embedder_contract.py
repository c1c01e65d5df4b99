"""The contract of `Embedder`: every implementation runs all of it (S2-16). A bug found in one becomes a test here."""

import asyncio
from collections.abc import Callable

import numpy as np
import pytest

from backscroll_sidecar.ports import Embedder, ModelError, ModelFault

Breaking = Callable[[], None]
TEXTS = ["the cat eats fish", "猫吃鱼", "see you at six", "the train is late"]


class EmbedderContract:
    """A test file brings two fixtures: `embedder`, started and ready; `unusable`, which makes it answer with NaN."""

    async def test_one_unit_vector_a_text_in_order(self, embedder: Embedder) -> None:
        vectors = await embedder.embed(TEXTS)
        assert vectors.shape == (len(TEXTS), embedder.dims)
        assert vectors.dtype == np.float32
        assert vectors.flags.c_contiguous
        assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
        alone = await embedder.embed([TEXTS[2]])
        assert int(np.argmax(vectors @ alone[0])) == 2

    async def test_equal_texts_give_equal_vectors(self, embedder: Embedder) -> None:
        """Law 2: the same question is the same vector, to the last bit."""
        first = await embedder.embed(["is it late?"], is_query=True)
        again = await embedder.embed(["is it late?"], is_query=True)
        assert first.tobytes() == again.tobytes()

    async def test_many_at_once_and_none(self, embedder: Embedder) -> None:
        assert (await embedder.embed([])).shape[0] == 0
        many = await embedder.embed([f"line {n}" for n in range(70)])
        assert many.shape == (70, embedder.dims)
        answers = await asyncio.gather(
            *(embedder.embed([text], is_query=True) for text in TEXTS), embedder.embed(TEXTS)
        )
        together = answers.pop()
        for text, vector in enumerate(answers):
            assert int(np.argmax(together @ vector[0])) == text

    async def test_odd_texts_have_vectors_too(self, embedder: Embedder) -> None:
        odd = ["", " ", "?", "👩‍🚀", "a" * 20_000, "\u202e", "１２３", "[image]"]
        vectors = await embedder.embed(odd)
        assert np.isfinite(vectors).all()
        assert (np.abs(vectors).max(axis=1) > 0).all()

    async def test_an_unusable_vector_is_an_error(
        self, embedder: Embedder, unusable: Breaking
    ) -> None:
        """Vectors with NaN never leave the port."""
        unusable()
        with pytest.raises(ModelError) as caught:
            await embedder.embed(["cat"])
        assert caught.value.fault is ModelFault.BAD_RESPONSE

    async def test_closed_twice_and_used_after(self, embedder: Embedder) -> None:
        await embedder.close()
        await embedder.close()
        with pytest.raises(ModelError):
            await embedder.embed(["cat"])
