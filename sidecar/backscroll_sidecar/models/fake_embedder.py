"""An embedder without a model, for tests: words become directions, so that shared words mean similar texts."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from backscroll_sidecar.models.faults import failed
from backscroll_sidecar.models.vectors import checked_vectors
from backscroll_sidecar.ports import ModelError, ModelFault

_WORD = re.compile(r"[^\W\d_㐀-鿿]+|\d+|[㐀-鿿]")


@dataclass(frozen=True, slots=True)
class EmbedCall:
    """One call as it came."""

    texts: tuple[str, ...]
    is_query: bool


class FakeEmbedder:
    """`Embedder` that adds up a fixed random direction for each word, and for what `synonyms` says is the same word.

    Parameters
    ----------
    synonyms
        Words and what they count as: how a paraphrase is made to be found.

    Attributes
    ----------
    calls : every call, in order.
    errors : raised by the next calls, one each, instead of an answer.
    broken : raised by every call while it is set.
    refuses : texts that hold this are REJECTED.
    delay_s : seconds a call takes.
    """

    def __init__(
        self,
        *,
        id: str = "fake",
        dims: int = 64,
        synonyms: dict[str, str] | None = None,
    ) -> None:
        self.id = id
        self.dims = dims
        self._synonyms = synonyms or {}
        self.calls: list[EmbedCall] = []
        self.errors: list[ModelError] = []
        self.broken: ModelError | None = None
        self.refuses = ""
        self.delay_s = 0.0
        self.started = self.closed = False

    @property
    def query_count(self) -> int:
        """How many questions were embedded."""
        return sum(len(call.texts) for call in self.calls if call.is_query)

    @property
    def text_count(self) -> int:
        """How many messages were embedded."""
        return sum(len(call.texts) for call in self.calls if not call.is_query)

    async def start(self) -> None:
        self.started = True

    async def embed(self, texts: Sequence[str], *, is_query: bool = False) -> NDArray[np.float32]:
        if not texts:
            return np.empty((0, self.dims), np.float32)
        self.calls.append(EmbedCall(tuple(texts), is_query))
        if self.delay_s:
            await asyncio.sleep(self.delay_s)
        if self.closed:
            raise failed(ModelFault.CONNECTION)
        if self.errors:
            raise self.errors.pop(0)
        if self.broken is not None:
            raise self.broken
        if self.refuses and any(self.refuses in text for text in texts):
            raise failed(ModelFault.REJECTED)
        made = np.array([self.vector(text) for text in texts], np.float32)
        return checked_vectors(made.reshape(len(texts), self.dims), len(texts), self.dims)

    def vector(self, text: str) -> NDArray[np.float32]:
        """float32[dims], of length 1: what `embed` gives for this text."""
        words = [word.casefold() for word in _WORD.findall(text)] or ["nothing"]
        total = sum(self._direction(self._synonyms.get(word, word)) for word in words)
        return np.asarray(total / np.linalg.norm(total), np.float32)

    def _direction(self, word: str) -> NDArray[np.float64]:
        seed = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest(), "big")
        return np.random.default_rng(seed).standard_normal(self.dims)

    async def close(self) -> None:
        self.closed = True
