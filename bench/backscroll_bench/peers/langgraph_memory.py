"""LangGraph's SqliteStore with its index of vectors."""

from __future__ import annotations

import importlib
import sqlite3
from collections.abc import Sequence
from typing import Any

from langgraph.store.base import PutOp
from langgraph.store.sqlite import SqliteStore

from backscroll_bench.peers.base import CHANNEL, LIMIT, Said, Stub

BATCH = 500


def _sqlite() -> Any:  # noqa: ANN401
    """The standard library's SQLite, or another one where it was built without extensions: vectors are one."""
    if hasattr(sqlite3.Connection, "enable_load_extension"):
        return sqlite3
    return importlib.import_module("pysqlite3")


class LangGraph:
    """One namespace a chat."""

    def __init__(self, directory: str, stub: Stub) -> None:
        self._store: Any = SqliteStore(
            # As `SqliteStore.from_conn_string` connects.
            _sqlite().connect(
                f"{directory}/store.db", check_same_thread=False, isolation_level=None
            ),
            index={
                "dims": stub.dims,
                "embed": lambda texts: [stub(text) for text in texts],
                "fields": ["text"],
            },
        )
        self._store.setup()

    def fill(self, messages: Sequence[Said]) -> None:
        """In batches, as its `put` does one by one."""
        for start in range(0, len(messages), BATCH):
            self._store.batch([
                PutOp((CHANNEL,), one.id, {"text": one.text, "user": one.user})
                for one in messages[start : start + BATCH]
            ])  # fmt: skip

    def ask(self, question: str) -> int:
        """The nearest of the chat."""
        return len(self._store.search((CHANNEL,), query=question, limit=LIMIT))
