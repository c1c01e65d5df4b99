"""A store is opened, and looked at, by its URL: ``sqlite:///path`` or ``memory:``."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

from backscroll_sidecar.errors import StoreUnavailable
from backscroll_sidecar.ports import Finding, HistoryStore
from backscroll_sidecar.store.memory import InMemoryStore
from backscroll_sidecar.store.sqlite import Durability, SqliteStore, examine

log = logging.getLogger(__name__)

MEMORY = "memory:"
SQLITE = "sqlite:///"


async def open_store(url: str, durability: Durability = "full") -> HistoryStore:
    """The store behind a URL; a database that is not there yet is made, its folder too.

    Raises
    ------
    StoreUnavailable
        There is no store for such a URL, or what `SqliteStore.open` says.
    """
    if url == MEMORY:
        return InMemoryStore()
    path = _path(url)
    is_new = not path.exists()
    path.parent.mkdir(parents=True, exist_ok=True)
    store = await SqliteStore.open(path, durability=durability)
    if is_new:
        log.info("made a new, empty database", extra={"database": str(path.resolve())})
    return store


def examine_store(url: str) -> Iterator[Finding]:
    """What can be learnt of a store without opening or changing it. Blocks: not for an event loop."""
    return examine.findings(Path(":memory:") if url == MEMORY else _path(url))


def _path(url: str) -> Path:
    if not url.startswith(SQLITE):
        scheme = url.partition("://")[0]
        raise StoreUnavailable(f"{scheme}:// is not there yet: use {SQLITE}path or {MEMORY}")
    return Path(url.removeprefix(SQLITE))
