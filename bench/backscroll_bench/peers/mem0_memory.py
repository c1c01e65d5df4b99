"""mem0 over a local Qdrant and over faiss, without a model: `infer=False` is its way to store what was said."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from mem0 import Memory

from backscroll_bench.peers.base import CHANNEL, LIMIT, Said, Stub

BATCH = 500


class _Embedder:
    def __init__(self, stub: Stub) -> None:
        self._stub = stub

    def embed(self, text: str, _action: str | None = None) -> list[float]:
        return self._stub(text)


class _Mem0:
    def __init__(self, directory: str, stub: Stub, store: str, **config: Any) -> None:  # noqa: ANN401
        place = {"collection_name": "bench", "path": f"{directory}/{store}"}
        never_called = {"provider": "openai", "config": {"api_key": "none"}}
        self._memory: Any = Memory.from_config({
            "vector_store": {
                "provider": store,
                "config": {**place, "embedding_model_dims": stub.dims, **config},
            },
            "llm": never_called,
            "embedder": never_called,
            "history_db_path": f"{directory}/history.db",
        })  # fmt: skip
        self._memory.embedding_model = _Embedder(stub)
        self._stub = stub

    def fill(self, messages: Sequence[Said]) -> None:
        """The first one through `add`; the rest as `add` writes them, together: alone each takes milliseconds."""
        first, *rest = messages
        asked = [{"role": "user", "name": first.user, "content": first.text}]
        self._memory.add(asked, user_id=CHANNEL, infer=False)
        now = datetime.now(UTC).isoformat()
        for start in range(0, len(rest), BATCH):
            some = rest[start : start + BATCH]
            self._memory.vector_store.insert(
                vectors=[self._stub(one.text) for one in some],
                ids=[str(uuid.uuid4()) for _ in some],
                payloads=[
                    {
                        "user_id": CHANNEL,
                        "role": "user",
                        "actor_id": one.user,
                        "data": one.text,
                        "hash": hashlib.md5(one.text.encode()).hexdigest(),
                        "created_at": now,
                        "updated_at": now,
                        "text_lemmatized": one.text,
                    }
                    for one in some
                ],
            )

    def ask(self, question: str) -> int:
        """The best of the chat."""
        found = self._memory.search(question, top_k=LIMIT, filters={"user_id": CHANNEL})
        return len(found["results"])


class Mem0Qdrant(_Mem0):
    """mem0, its default store in a directory."""

    def __init__(self, directory: str, stub: Stub) -> None:
        super().__init__(directory, stub, "qdrant", on_disk=True)


class Mem0Faiss(_Mem0):
    """mem0 over a flat faiss index."""

    def __init__(self, directory: str, stub: Stub) -> None:
        super().__init__(directory, stub, "faiss", distance_strategy="cosine")
