"""LlamaIndex's Memory: the last messages from its SQL store, older ones by meaning from a block over Chroma."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import chromadb
from chromadb.config import Settings
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory import Memory, VectorMemoryBlock
from llama_index.vector_stores.chroma import ChromaVectorStore
from pydantic import PrivateAttr

from backscroll_bench.peers.base import CHANNEL, LIMIT, Said, Stub

TOKEN_LIMIT = 4_096
"""As Backscroll's own default."""
FLUSH_TOKENS = 256
BATCH = 500


class _Embedder(BaseEmbedding):
    _stub: Any = PrivateAttr()

    def __init__(self, stub: Stub) -> None:
        super().__init__()
        self._stub = stub

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._stub(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._stub(query)

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._stub(text)


class LlamaIndex:
    """One session a chat."""

    def __init__(self, directory: str, stub: Stub) -> None:
        client = chromadb.PersistentClient(
            f"{directory}/chroma", Settings(anonymized_telemetry=False)
        )
        block = VectorMemoryBlock(
            vector_store=ChromaVectorStore(client.create_collection("bench")),
            embed_model=_Embedder(stub),
            similarity_top_k=LIMIT,
        )
        self._loop = asyncio.new_event_loop()
        self._memory: Any = Memory.from_defaults(
            session_id=CHANNEL,
            token_limit=TOKEN_LIMIT,
            token_flush_size=FLUSH_TOKENS,
            memory_blocks=[block],
            async_database_uri=f"sqlite+aiosqlite:///{directory}/chat.db",
        )

    def fill(self, messages: Sequence[Said]) -> None:
        """In batches; what goes beyond the token limit flows into the block."""
        for start in range(0, len(messages), BATCH):
            some = [
                ChatMessage(role="user", content=one.text)
                for one in messages[start : start + BATCH]
            ]
            self._loop.run_until_complete(self._memory.aput_messages(some))

    def ask(self, question: str) -> int:
        """The messages a model would be sent."""
        return len(self._loop.run_until_complete(self._memory.aget(input=question)))
