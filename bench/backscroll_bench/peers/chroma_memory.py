"""chromadb in a directory, asked with a filter for the chat."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import chromadb
from chromadb.config import Settings

from backscroll_bench.peers.base import CHANNEL, LIMIT, Said, Stub

BATCH = 2_000


class Chroma:
    """One collection for all chats, as its filters are for."""

    def __init__(self, directory: str, stub: Stub) -> None:
        client = chromadb.PersistentClient(
            f"{directory}/chroma", Settings(anonymized_telemetry=False)
        )
        self._chat: Any = client.create_collection(
            "bench", embedding_function=None, metadata={"hnsw:space": "cosine"}
        )
        self._stub = stub

    def fill(self, messages: Sequence[Said]) -> None:
        """In large batches."""
        for start in range(0, len(messages), BATCH):
            some = messages[start : start + BATCH]
            self._chat.add(
                ids=[one.id for one in some],
                embeddings=[self._stub(one.text) for one in some],
                documents=[one.text for one in some],
                metadatas=[{"channel": CHANNEL, "user": one.user} for one in some],
            )

    def ask(self, question: str) -> int:
        """The nearest of the chat."""
        found = self._chat.query(
            query_embeddings=[self._stub(question)], n_results=LIMIT, where={"channel": CHANNEL}
        )
        return len(found["ids"][0])
