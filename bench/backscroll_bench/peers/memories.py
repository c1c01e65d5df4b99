"""The memories as they come, each holding one chat, and the embedder all of them share.

Each imports its own library when it is made, so that one venv may lack the others.
"""

from __future__ import annotations

import hashlib
import importlib
import sqlite3
import uuid
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
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
    """What the worker needs of a product, which has a database in an empty directory."""

    def fill(self, messages: Sequence[Said]) -> None:
        """Store the chat."""

    def ask(self, question: str) -> int:
        """Find what matters for a question; how many messages it gave."""


class Chroma:
    """chromadb in a directory: one collection for all chats, asked with a filter for the chat."""

    def __init__(self, directory: str, stub: Stub) -> None:
        import chromadb
        from chromadb.config import Settings

        client = chromadb.PersistentClient(
            f"{directory}/chroma", Settings(anonymized_telemetry=False)
        )
        self._chat: Any = client.create_collection(
            "bench", embedding_function=None, metadata={"hnsw:space": "cosine"}
        )
        self._stub = stub

    def fill(self, messages: Sequence[Said]) -> None:
        """In large batches."""
        for some in _batches(messages, 2_000):
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


class LangGraph:
    """LangGraph's SqliteStore with its index of vectors, one namespace a chat."""

    def __init__(self, directory: str, stub: Stub) -> None:
        from langgraph.store.sqlite import SqliteStore

        # Vectors are an extension: another SQLite where the standard library's takes none.
        takes_extensions = hasattr(sqlite3.Connection, "enable_load_extension")
        library: Any = sqlite3 if takes_extensions else importlib.import_module("pysqlite3")
        self._store: Any = SqliteStore(
            # As `SqliteStore.from_conn_string` connects.
            library.connect(f"{directory}/store.db", check_same_thread=False, isolation_level=None),
            index={
                "dims": stub.dims,
                "embed": lambda texts: [stub(text) for text in texts],
                "fields": ["text"],
            },
        )
        self._store.setup()

    def fill(self, messages: Sequence[Said]) -> None:
        """In batches, as its `put` does one by one."""
        from langgraph.store.base import PutOp

        for some in _batches(messages):
            self._store.batch(
                [PutOp((CHANNEL,), one.id, {"text": one.text, "user": one.user}) for one in some]
            )

    def ask(self, question: str) -> int:
        """The nearest of the chat."""
        return len(self._store.search((CHANNEL,), query=question, limit=LIMIT))


class Mem0:
    """mem0 over a store of its own choice, without a model: `infer=False` is its way to store what was said."""

    def __init__(self, directory: str, stub: Stub, *, store: str, **config: Any) -> None:  # noqa: ANN401
        from mem0 import Memory as Product

        place = {"collection_name": "bench", "path": f"{directory}/{store}"}
        never_called = {"provider": "openai", "config": {"api_key": "none"}}
        self._memory: Any = Product.from_config({
            "vector_store": {
                "provider": store,
                "config": {**place, "embedding_model_dims": stub.dims, **config},
            },
            "llm": never_called,
            "embedder": never_called,
            "history_db_path": f"{directory}/history.db",
        })  # fmt: skip
        self._memory.embedding_model = self
        self._stub = stub

    def embed(self, text: str, _action: str | None = None) -> list[float]:
        """As an embedder of mem0's."""
        return self._stub(text)

    def fill(self, messages: Sequence[Said]) -> None:
        """The first one through `add`; the rest as `add` writes them, together: alone each takes milliseconds."""
        first, *rest = messages
        asked = [{"role": "user", "name": first.user, "content": first.text}]
        self._memory.add(asked, user_id=CHANNEL, infer=False)
        now = datetime.now(UTC).isoformat()
        for some in _batches(rest):
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


MEMORIES: Mapping[str, Callable[[str, Stub], Memory]] = {
    "mem0-qdrant": partial(Mem0, store="qdrant", on_disk=True),
    "mem0-faiss": partial(Mem0, store="faiss", distance_strategy="cosine"),
    "chromadb": Chroma,
    "langgraph": LangGraph,
}
"""What makes each of them, from a directory and the embedder."""


def _batches(messages: Sequence[Said], size: int = 500) -> Iterator[Sequence[Said]]:
    return (messages[start : start + size] for start in range(0, len(messages), size))
