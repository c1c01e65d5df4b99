"""An embedder without a model: texts are as similar as the words they share. `backscroll.testing` serves it."""

import hashlib
import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from backscroll_sidecar.models.faults import failed
from backscroll_sidecar.models.vectors import checked_vectors
from backscroll_sidecar.ports import ModelFault

_WORD = re.compile(r"[^\W\d_㐀-鿿]+|\d+|[㐀-鿿]")


class WordEmbedder:
    """`Embedder` that adds up a fixed random direction for each word."""

    def __init__(self, *, id: str = "words", dims: int = 64) -> None:
        self.id = id
        self.dims = dims
        self.closed = False

    async def start(self) -> None:
        """Nothing to load."""

    async def embed(self, texts: Sequence[str], *, is_query: bool = False) -> NDArray[np.float32]:  # noqa: ARG002
        if not texts:
            return np.empty((0, self.dims), np.float32)
        if self.closed:
            raise failed(ModelFault.CONNECTION)
        made = np.array([self.vector(text) for text in texts], np.float32)
        return checked_vectors(made.reshape(len(texts), self.dims), len(texts), self.dims)

    def vector(self, text: str) -> NDArray[np.float32]:
        """float32[dims], of length 1: what `embed` gives for this text."""
        words = [word.casefold() for word in _WORD.findall(text)] or ["nothing"]
        total = sum(self.direction(word) for word in words)
        return np.asarray(total / np.linalg.norm(total), np.float32)

    def direction(self, word: str) -> NDArray[np.float64]:
        """float64[dims]: the direction of a word in lower case, always the same one."""
        seed = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest(), "big")
        return np.random.default_rng(seed).standard_normal(self.dims)

    async def close(self) -> None:
        self.closed = True
