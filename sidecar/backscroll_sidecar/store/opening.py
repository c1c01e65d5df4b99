"""A store is opened, and looked at, by its URL: ``sqlite:///path``, ``postgresql://…`` or ``memory:``."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

from backscroll_sidecar.errors import StoreUnavailable
from backscroll_sidecar.ports import Finding, HistoryStore
from backscroll_sidecar.store.durability import Durability
from backscroll_sidecar.store.memory import InMemoryStore
from backscroll_sidecar.store.moving.ends import Move, NewEnd, OldEnd
from backscroll_sidecar.store.sqlite import SqliteStore, examine, moves, moving

log = logging.getLogger(__name__)

MEMORY = "memory:"
SQLITE = "sqlite:///"
POSTGRES = ("postgresql://", "postgres://")


async def open_store(url: str, durability: Durability = "full") -> HistoryStore:
    """The store behind a URL; a database that is not there yet is made, its folder too.

    Raises
    ------
    StoreUnavailable
        There is no store for such a URL, or what `SqliteStore.open` says.
    """
    if url == MEMORY:
        return InMemoryStore()
    if url.startswith(POSTGRES):
        shared: HistoryStore = await _postgres("store").PostgresStore.open(
            url, durability=durability
        )
        return shared
    path = _path(url)
    is_new = not path.exists()
    path.parent.mkdir(parents=True, exist_ok=True)
    store = await SqliteStore.open(path, durability=durability)
    if is_new:
        log.info("made a new, empty database", extra={"database": str(path.resolve())})
    return store


def examine_store(url: str) -> Iterator[Finding]:
    """What can be learnt of a store without opening or changing it. Blocks: not for an event loop.

    Raises `StoreUnavailable`: the driver is missing.
    """
    if url.startswith(POSTGRES):
        return iter(_postgres("examine").findings(url))
    return examine.findings(Path(":memory:") if url == MEMORY else _path(url))


async def move_of(url: str) -> Move | None:
    """What this database says of a move: while it is arriving no server can have it. Changes nothing.

    Raises `StoreUnavailable`.
    """
    if url == MEMORY:
        return None
    if url.startswith(POSTGRES):
        found: Move | None = await _postgres("moves").look(url)
        return found
    return await asyncio.to_thread(moves.look, _path(url))


async def open_old_end(url: str, address: str) -> OldEnd:
    """A database that a history leaves, at its address without a password. Raises `StoreUnavailable`."""
    if url.startswith(POSTGRES):
        found: OldEnd = await _postgres("moving").PostgresOldEnd.open(url, address)
        return found
    return moving.SqliteOldEnd.open(_path(url))


async def open_new_end(url: str, address: str) -> NewEnd:
    """A database that a history comes to; made, or brought up to date. Raises `StoreUnavailable`."""
    if url.startswith(POSTGRES):
        found: NewEnd = await _postgres("moving").PostgresNewEnd.open(url, address)
        return found
    return moving.SqliteNewEnd.open(_path(url))


def _postgres(module: str) -> ModuleType:
    """A module of the store whose driver is an extra."""
    if find_spec("asyncpg") is None:
        raise StoreUnavailable(
            'PostgreSQL needs asyncpg, which is missing: in the source tree, pip install ".[postgres]"'
        )
    return import_module(f"backscroll_sidecar.store.postgres.{module}")


def _path(url: str) -> Path:
    if not url.startswith(SQLITE):
        scheme = url.partition("://")[0]
        raise StoreUnavailable(
            f"{scheme}:// is no kind of store: use {SQLITE}path, postgresql://… or {MEMORY}"
        )
    return Path(url.removeprefix(SQLITE))
