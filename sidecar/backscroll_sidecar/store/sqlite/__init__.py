"""History in one SQLite file. `SqliteStore.open` opens it, `Durability` names the choice it takes."""

from backscroll_sidecar.store.sqlite.files import Durability, StoreStats
from backscroll_sidecar.store.sqlite.store import SqliteStore

__all__ = ["Durability", "SqliteStore", "StoreStats"]
