"""History in dictionaries: `InMemoryStore`."""

from backscroll_sidecar.store.memory.store import InMemoryStore

__all__ = ["InMemoryStore"]
