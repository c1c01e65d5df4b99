"""What the worker needs of a memory, and the embedder all of them share."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

LIMIT = 20
"""Messages a question asks for."""
CHANNEL = "room"


@dataclass(frozen=True, slots=True)
class Said:
    """One message."""

    id: str
    user: str
    text: str


class Stub:
    """An embedder that looks texts up: it costs nothing and is the same for all.

    A text that is not in its table gets the vector of another one, picked by a checksum.

    Parameters
    ----------
    texts : those it knows.
    vectors : float32[n, d], in their order.
    """

    def __init__(self, texts: Sequence[str], vectors: Any) -> None:  # noqa: ANN401
        self._vectors: list[list[float]] = vectors.tolist()
        self._row = {text: row for row, text in enumerate(texts)}
        self.dims = int(vectors.shape[1])

    def __call__(self, text: str) -> list[float]:
        """The vector of a text."""
        row = self._row.get(text)
        if row is None:
            row = zlib.crc32(text.encode()) % len(self._vectors)
        return self._vectors[row]


class Memory(Protocol):
    """A product, as it comes, holding one chat."""

    def __init__(self, directory: str, stub: Stub) -> None:
        """With a database in an empty directory."""

    def fill(self, messages: Sequence[Said]) -> None:
        """Store the chat."""

    def ask(self, question: str) -> int:
        """Find what matters for a question; how many messages it gave."""
