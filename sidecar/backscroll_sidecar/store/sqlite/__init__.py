"""History in one SQLite file. `SqliteStore.open` opens it."""

from backscroll_sidecar.store.sqlite.files import StoreStats
from backscroll_sidecar.store.sqlite.store import SqliteStore

__all__ = ["SqliteStore", "StoreStats"]
