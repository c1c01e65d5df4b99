"""The parts of the semantic source, put together."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from dataclasses import dataclass

from backscroll_sidecar.concurrency.jobs import Jobs
from backscroll_sidecar.config.settings import Settings
from backscroll_sidecar.domain import SearchScope
from backscroll_sidecar.history.semantic_search import SemanticSearch
from backscroll_sidecar.history.writer import Writer
from backscroll_sidecar.ports import Embedder, HistoryStore
from backscroll_sidecar.strategies import Semantic
from backscroll_sidecar.vectors.backlog import Backlog
from backscroll_sidecar.vectors.files import IndexFiles
from backscroll_sidecar.vectors.service import IndexKind, Vectors


@dataclass(frozen=True, slots=True)
class SemanticParts:
    """The parts of the semantic source."""

    embedder: Embedder
    vectors: Vectors
    backlog: Backlog
    semantic: Semantic
    semantic_search: SemanticSearch

    @classmethod
    def over(
        cls,
        embedder: Embedder,
        store: HistoryStore,
        writer: Writer,
        executor: ThreadPoolExecutor,
        settings: Settings,
        jobs: Jobs,
    ) -> SemanticParts:
        """Put them together. Nothing runs before `start`.

        Of a store that others share no vectors lie here in files: nobody would remove what another server erased.
        Nor is a graph made there unless it is asked for: each server would have another one, and answer otherwise.
        """
        is_shared = store.shared is not None
        index: IndexKind = settings.vector_index
        if index == "auto" and is_shared:
            index = "signs"
        vectors = Vectors(
            store,
            embedder.id,
            executor,
            index=index,
            files=None if is_shared or settings.in_memory else IndexFiles(settings.index_path),
            submit=writer.submit,
            max_bytes=settings.vector_bytes,
        )
        backlog = Backlog(store, writer.submit, embedder, jobs)
        semantic_search = SemanticSearch(store, permitted_scopes(settings), embedder, vectors)
        semantic = Semantic(embedder, vectors, wide=semantic_search)
        return cls(embedder, vectors, backlog, semantic, semantic_search)

    def close_with(self, stack: AsyncExitStack) -> None:
        """Have it closed when the stack is: the backlog first, the embedder last."""
        stack.push_async_callback(self.embedder.close)
        stack.push_async_callback(self.vectors.close)
        stack.push_async_callback(self.backlog.close)

    async def start(self) -> None:
        """Begin to load the model, and to embed what has no vector yet."""
        await self.embedder.start()
        await self.vectors.start()
        await self.backlog.start()

    def dims_of(self, embedder_id: str) -> int:
        """The size of an embedder's vectors, 0 when it is not known."""
        return self.embedder.dims if embedder_id == self.embedder.id else 0


def permitted_scopes(settings: Settings) -> Mapping[str, SearchScope]:
    """How far each tenant may search."""
    return {t: SearchScope[name.upper()] for t, name in settings.search_scopes.items()}
