"""The embedder of words, which records its calls and fails when told to."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from backscroll_sidecar.models.faults import failed
from backscroll_sidecar.models.word_embedder import WordEmbedder
from backscroll_sidecar.ports import ModelError, ModelFault


@dataclass(frozen=True, slots=True)
class EmbedCall:
    """One call as it came."""

    texts: tuple[str, ...]
    is_query: bool


class FakeEmbedder(WordEmbedder):
    """`WordEmbedder` for which words that `synonyms` maps to one word are that word: a paraphrase is found.

    Attributes
    ----------
    calls : every call, in order.
    errors : raised by the next calls, one each, instead of an answer.
    broken : raised by every call while it is set.
    refuses : texts that hold this are REJECTED.
    delay_s : seconds a call takes.
    """

    def __init__(
        self, *, id: str = "fake", dims: int = 64, synonyms: dict[str, str] | None = None
    ) -> None:
        super().__init__(id=id, dims=dims)
        self._synonyms = synonyms or {}
        self.calls: list[EmbedCall] = []
        self.errors: list[ModelError] = []
        self.broken: ModelError | None = None
        self.refuses = ""
        self.delay_s = 0.0

    @property
    def query_count(self) -> int:
        """How many questions were embedded."""
        return sum(len(call.texts) for call in self.calls if call.is_query)

    @property
    def text_count(self) -> int:
        """How many messages were embedded."""
        return sum(len(call.texts) for call in self.calls if not call.is_query)

    async def embed(self, texts: Sequence[str], *, is_query: bool = False) -> NDArray[np.float32]:
        if texts:
            self.calls.append(EmbedCall(tuple(texts), is_query))
            if self.delay_s:
                await asyncio.sleep(self.delay_s)
            if self.errors and not self.closed:
                raise self.errors.pop(0)
            if self.broken is not None and not self.closed:
                raise self.broken
            if self.refuses and any(self.refuses in text for text in texts):
                raise failed(ModelFault.REJECTED)
        return await super().embed(texts, is_query=is_query)

    def direction(self, word: str) -> NDArray[np.float64]:
        return super().direction(self._synonyms.get(word, word))
