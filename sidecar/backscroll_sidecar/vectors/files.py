"""Files of index graphs under the state directory: caches that are loaded only if the database vouches for every byte.

A file's hash must be the one in the database, its dimensions too; anything else (missing, empty, cut, changed, of a
later state of the database) means that the graph is made again. Blocking: for threads only.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
from dataclasses import dataclass
from pathlib import Path

import orjson

from backscroll_scoring.hnsw import Graph
from backscroll_sidecar.domain import ChannelKey
from backscroll_sidecar.ports import (
    ANY_ERASURE,
    ANY_RETRACTION,
    VECTOR_INDEX,
    HistoryReader,
    RecordChange,
)

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class IndexRecord:
    """Which file is the index of a channel's vectors: the one of this size and content."""

    embedder_id: str
    dims: int
    row_count: int
    sha256: str

    @classmethod
    async def read(
        cls, reader: HistoryReader, key: ChannelKey, embedder_id: str
    ) -> IndexRecord | None:
        """The file written last; None after a retraction or an erasure in the channel. Raises `StoreUnavailable`."""
        found = await reader.records(key, VECTOR_INDEX, 0, owner=embedder_id)
        return cls(embedder_id, *orjson.loads(found[0].body)) if found else None

    def change(self, key: ChannelKey) -> RecordChange:
        """What has the store remember it, in the place of the one before."""
        body = orjson.dumps([self.dims, self.row_count, self.sha256])
        names = (ANY_ERASURE, ANY_RETRACTION)
        return RecordChange(key, VECTOR_INDEX, "", body, names, owner=self.embedder_id)


class IndexFiles:
    """The files of one state directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def path(self, key: ChannelKey, embedder_id: str) -> Path:
        """Where the index of a channel lies: a digest, since names may hold anything."""
        name = f"{key.tenant}\0{key.channel}\0{embedder_id}".encode()
        return self._directory / f"{hashlib.blake2b(name, digest_size=16).hexdigest()}.hnsw"

    def save(self, key: ChannelKey, embedder_id: str, graph: Graph) -> IndexRecord | None:
        """Write a graph and return what the database must remember; None when it cannot be written."""
        path = self.path(key, embedder_id)
        part = path.with_suffix(".part")
        try:
            self._directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            part.touch(mode=0o600)
            graph.save(str(part))
            digest = _digest(part)
            with part.open("rb+") as file:
                os.fsync(file.fileno())
            part.replace(path)
        except (OSError, RuntimeError) as error:
            log.warning("an index cannot be written and is kept in memory only: %r", error)
            with contextlib.suppress(OSError):
                part.unlink(missing_ok=True)
            return None
        return IndexRecord(embedder_id, graph.dims, len(graph), digest)

    def load(
        self, key: ChannelKey, embedder_id: str, record: IndexRecord | None, dims: int
    ) -> Graph | None:
        """The graph the database knows; None, and no file any more, when it is not there as it was written."""
        if record is None:
            self.remove(key, embedder_id)
            return None
        path = self.path(key, embedder_id)
        try:
            good = record.dims == dims and _digest(path) == record.sha256
            graph = Graph.load(str(path), dims, record.row_count) if good else None
        except FileNotFoundError:
            return None
        except (OSError, ValueError, ImportError) as error:
            log.warning("an index cannot be loaded and is made again: %r", error)
            graph = None
        if graph is None:
            self.remove(key, embedder_id)
        return graph

    def found(self) -> set[Path]:
        """The files there are, half-written ones included."""
        with contextlib.suppress(OSError):
            return {p for p in self._directory.iterdir() if p.suffix in (".hnsw", ".part")}
        return set()

    def remove(self, key: ChannelKey, embedder_id: str) -> None:
        """Delete the file of a channel's index, if there is one."""
        with contextlib.suppress(OSError):
            self.path(key, embedder_id).unlink(missing_ok=True)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
