"""The vectors of all channels: loaded on first use, told of every commit, dropped by bytes, searched.

An erasure drops the channel's vectors, and what is loaded next has never seen the erased ones.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from backscroll_scoring.index import VectorIndex
from backscroll_sidecar.channel_cache import ChannelCache, retrieve_exception
from backscroll_sidecar.concurrency.offload import run
from backscroll_sidecar.concurrency.threads import patient_pool
from backscroll_sidecar.domain import ChannelKey, MessageState
from backscroll_sidecar.errors import BackscrollError
from backscroll_sidecar.ports import (
    Applied,
    Comparison,
    HistoryReader,
    Nearest,
    NearestMessages,
    RecordChange,
    Similarities,
    StoredVector,
)
from backscroll_sidecar.vectors.block import VectorBlock
from backscroll_sidecar.vectors.files import IndexFiles, IndexRecord
from backscroll_sidecar.vectors.looking import Looking
from backscroll_sidecar.vectors.sweep import sweep

log = logging.getLogger(__name__)

Submit = Callable[[RecordChange], Awaitable[Applied]]

IndexKind = Literal["auto", "signs", "exact", "hnsw"]

DEFAULT_MAX_BYTES = 512 * 1024 * 1024
PAGE_ROWS = 2_048
"""So many vectors are read at once: those of a whole channel would take several times what is kept of them."""
GRAPH_ROWS = 100_000
"""From here on a graph is made. Signs take some 3 us for 1,000 rows, a graph .35 ms at a million. A search for the
nearest makes tables of all rows beside, .6 ms at 100,000."""
SAVED_AGAIN = 1.05
"""Times as many rows as its file has: then a graph is saved again. What the file lacks is put in after a start."""
SAVED_AFTER_S = 300.0
"""So long after something was taken back the graph is saved again, at once with all that is taken back meanwhile."""
GRAPH_TAIL_ROWS = 256
"""So many rows are left beside a graph before they come into it."""
SIGN_ROWS = 2_000
"""From here on signs take less than half of a look at every row."""
SIGNS_US, US_PER_FAST_ROW, US_PER_EXACT_ROW, US_PER_ROW = 25.0, 0.004, 0.05, 0.004
"""Predicted cost of a search."""


@dataclass(slots=True)
class _Channel:
    """One channel's vectors, what is searched, and what is being made of them."""

    block: VectorBlock
    index: VectorIndex | None = None
    """What searches the block as it stands; None after a change."""
    signs: asyncio.Task[None] | None = None
    """Makes the signs that are missing: searches wait for it."""
    work: asyncio.Task[None] | None = None
    """Makes a graph; searches go on without it."""
    gone: list[int] = field(default_factory=list)
    """What was taken back or edited, and the graph may still have as it was."""
    saved_rows: int = 0
    """Rows of the graph in its file; 0 without one."""
    later: asyncio.TimerHandle | None = None
    """Begins to save the graph again, whose file went with something that was taken back."""


class Vectors(ChannelCache[_Channel]):
    """`VectorSearch` over what the store holds. Owned by the event loop; also a publisher of the writer.

    Parameters
    ----------
    reader : where vectors are loaded from.
    embedder_id : whose vectors these are.
    executor : takes searches for the nearest in large channels, and the making of indexes.
    index : ``auto``: by size; ``signs``: the same without graphs; ``exact``: every row, always; ``hnsw``: the graph,
        always.
    files, submit : where graphs are kept, and the writer's `submit`, which remembers their hashes. None: in memory.
    max_bytes : memory of all channels' vectors together; one larger alone stays beside the others.
    """

    setting: ClassVar[str] = "vector_bytes"

    def __init__(
        self,
        reader: HistoryReader,
        embedder_id: str,
        executor: Executor | None = None,
        *,
        index: IndexKind = "auto",
        files: IndexFiles | None = None,
        submit: Submit | None = None,
        max_bytes: int = DEFAULT_MAX_BYTES,
    ) -> None:
        super().__init__(max_bytes)
        self._reader = reader
        self._embedder_id = embedder_id
        self._executor = executor
        self._index: IndexKind = index
        self._has_graphs = index in ("auto", "hnsw")
        self._files = files
        self._submit = submit
        self._leaving: dict[ChannelKey, _Channel] = {}  # dropped, and saved just now
        self._closed = False
        self._sweep: asyncio.Task[None] | None = None
        self._builder = patient_pool("backscroll-index")

    @property
    def nbytes(self) -> int:
        """Memory of all vectors."""
        return self._size

    # --- being told --------------------------------------------------------------------------------

    def publish(self, key: ChannelKey, applied: Applied) -> None:
        """Take over a committed change. Vectors that are not in memory are read when they are needed."""
        recalled = any(stored.state is MessageState.RECALLED for stored in applied.stored)
        if applied.is_erasure or recalled:
            left = self._leaving.get(key)
            if left is not None and left.work is not None:
                left.work.cancel()
            self._remove_file(key)
        super().publish(key, applied)

    def _dropped(self, key: ChannelKey, kept: _Channel) -> None:
        """Its work ends. A graph that waits to be saved is saved first."""
        waited = self._stop_waiting(kept)
        if kept.work is not None:
            kept.work.cancel()
        elif waited and not self._closed and key not in self._leaving:
            self._leaving[key] = kept
            kept.work = asyncio.create_task(self._work(key, kept))
            kept.work.add_done_callback(lambda _: self._leaving.pop(key, None))

    def _size_of(self, kept: _Channel) -> int:
        return kept.block.nbytes

    def _take(self, key: ChannelKey, kept: _Channel, applied: Applied) -> bool:
        if applied.is_erasure:
            self._stop_waiting(kept)
            return False
        block, has_graph = kept.block, kept.block.has_graph or kept.work is not None
        for stored in applied.stored:
            if stored.state is MessageState.RECALLED or stored.revision:
                block.drop(stored.seq)
                if has_graph:
                    kept.gone.append(stored.seq)
            if stored.state is MessageState.RECALLED:
                kept.saved_rows = 0  # its file is removed
                self._save_later(key, kept)
        block.add([k.vector for k in applied.vectors if k.embedder_id == self._embedder_id])
        kept.index = None
        self._improve(key, kept)
        return True

    # --- searching ---------------------------------------------------------------------------------

    async def compare(
        self, key: ChannelKey, seqs: NDArray[np.int64], query: NDArray[np.float32]
    ) -> Comparison:
        channel, index = await self._ready(key, len(query))
        seqs = np.ascontiguousarray(seqs)
        return Comparison(
            self._us(channel.block, len(seqs)),
            lambda: Similarities._make(index.similarities(query, seqs)),
            Looking(index, query, seqs),
        )

    async def nearest(
        self, key: ChannelKey, seqs: NDArray[np.int64], query: NDArray[np.float32], limit: int
    ) -> Nearest:
        channel, index = await self._ready(key, len(query))
        return await self._search(channel, index, np.ascontiguousarray(seqs), query, limit)

    async def nearest_of_all(
        self, key: ChannelKey, query: NDArray[np.float32], limit: int
    ) -> NearestMessages:
        channel, index = await self._ready(key, len(query))
        seqs = channel.block.live_seqs()
        found = await self._search(channel, index, seqs, query, limit)
        return NearestMessages(seqs[found.positions], found.values, found.exhaustive)

    async def _search(
        self,
        channel: _Channel,
        index: VectorIndex,
        seqs: NDArray[np.int64],
        query: NDArray[np.float32],
        limit: int,
    ) -> Nearest:
        search = partial(index.search, query, limit, seqs)
        return Nearest(*await run(self._us(channel.block, len(seqs)), search, self._executor))

    async def _ready(self, key: ChannelKey, dims: int) -> tuple[_Channel, VectorIndex]:
        """A channel and what searches it: by signs from `SIGN_ROWS` vectors on, never exactly until they are made.

        Without a graph the same vectors are always searched in the same way: a restart, another server, or who asks
        first changes no answer. A graph has ways over what was taken back, and lacks what came last: one made anew may
        find other rows. Where there should be one, from `GRAPH_ROWS` on, signs answer until it is made: before and
        after a restart other rows may be found, and both answers are not exhaustive.
        """
        channel = await self._channel(key, dims)
        while self._lacks_signs(channel.block):
            await asyncio.shield(self._signs_task(key, channel))
            channel = await self._channel(key, dims)
        if channel.index is None:
            channel.index = channel.block.index(by_signs=self._goes_by_signs(channel.block))
        return channel, channel.index

    def _us(self, block: VectorBlock, rows: int) -> float:
        """What a look at so many rows of a block is predicted to take."""
        if self._goes_by_signs(block):
            return SIGNS_US + len(block) * US_PER_FAST_ROW
        return min(rows, len(block)) * US_PER_EXACT_ROW + rows * US_PER_ROW

    # --- loading -----------------------------------------------------------------------------------

    async def _channel(self, key: ChannelKey, dims: int) -> _Channel:
        kept = self._kept.get(key)
        if kept is not None and kept.block.dims != dims:
            self.drop(key)
        channel = await self._get(key, partial(self._read, key, dims))
        return channel if channel.block.dims == dims else _Channel(VectorBlock(dims))

    def _loaded(self, key: ChannelKey, kept: _Channel) -> None:
        self._improve(key, kept)

    async def _read(self, key: ChannelKey, dims: int) -> _Channel:
        """The vectors as the store has them, put together in a thread.

        What is committed between two pages is taken over behind the load, like all that comes meanwhile.
        """
        loop, block, last_id = asyncio.get_running_loop(), VectorBlock(dims), ""
        while True:
            page = await self._reader.vectors(key, self._embedder_id, last_id, PAGE_ROWS)
            if page.last_id is None:
                break
            await loop.run_in_executor(self._executor, block.add, page.rows)
            last_id = page.last_id
        record = None
        if self._files is not None:
            record = await IndexRecord.read(self._reader, key, self._embedder_id)
        return await loop.run_in_executor(self._executor, self._make, key, block, page.rows, record)

    def _make(
        self,
        key: ChannelKey,
        block: VectorBlock,
        last: Sequence[StoredVector],
        record: IndexRecord | None,
    ) -> _Channel:
        block.add(last)
        block.put_in_order()
        if self._lacks_signs(block):
            block.take_signs(block.signs_work()())
        channel = _Channel(block)
        if self._files is not None and self._wants_graph(channel):
            graph = self._files.load(key, self._embedder_id, record, block.dims)
            if graph is not None:
                covered, channel.gone = block.covered_by(graph)
                block.take_graph(graph, covered)
                channel.saved_rows = len(graph)
        return channel

    # --- indexes -----------------------------------------------------------------------------------

    def _goes_by_signs(self, block: VectorBlock) -> bool:
        return self._index != "exact" and len(block) >= SIGN_ROWS

    def _lacks_signs(self, block: VectorBlock) -> bool:
        return self._goes_by_signs(block) and not block.has_signs

    def _wants_graph(self, channel: _Channel) -> bool:
        """Whether there is work on a graph: none where there should be one, or one that lacks much, or has too much."""
        block = channel.block
        if not self._has_graphs:
            return False
        if block.has_graph and channel.gone:
            return True
        least = 1 if self._index == "hnsw" else GRAPH_ROWS
        longest = GRAPH_TAIL_ROWS if block.has_graph else 0
        return len(block) >= least and block.tail_rows > longest

    def _improve(self, key: ChannelKey, channel: _Channel) -> None:
        """Begin to make in threads what a block should have."""
        if self._lacks_signs(channel.block):
            self._signs_task(key, channel)
        if channel.work is None and self._wants_graph(channel):
            channel.work = asyncio.create_task(self._work(key, channel))

    def _signs_task(self, key: ChannelKey, channel: _Channel) -> asyncio.Task[None]:
        """The one task that makes a channel's signs; begun where there is none."""
        if channel.signs is None:
            channel.signs = asyncio.create_task(self._make_signs(key, channel))
            channel.signs.add_done_callback(retrieve_exception)
        return channel.signs

    async def _make_signs(self, key: ChannelKey, channel: _Channel) -> None:
        """Again where the block changed meanwhile in what decides their centre."""
        block, loop = channel.block, asyncio.get_running_loop()
        try:
            while self._lacks_signs(block):
                block.take_signs(await loop.run_in_executor(self._executor, block.signs_work()))
                channel.index = None
                self.weigh(key)
        finally:
            channel.signs = None

    async def _work(self, key: ChannelKey, channel: _Channel) -> None:
        """Make what the graph lacks, then save it if that is worth it."""
        try:
            is_done = False
            while not is_done:
                while self._wants_graph(channel):
                    await self._improve_graph(key, channel)
                if self._is_worth_saving(channel):
                    await self._save_graph(key, channel)
                is_done = not self._wants_graph(channel)
        except BackscrollError as error:
            log.warning("the index of a channel is kept in memory only: %s", error.message)
        except Exception:
            log.exception("an index could not be made; search goes on without it")
        finally:
            channel.work = None

    async def _improve_graph(self, key: ChannelKey, channel: _Channel) -> None:
        """Put some of what lacks into the graph, and take out what was taken back."""
        block, loop = channel.block, asyncio.get_running_loop()
        gone, channel.gone = channel.gone, []
        try:
            work = block.graph_work(gone)
            graph, covered = await loop.run_in_executor(self._builder, work)
        except BaseException:  # a cancelled one, too: the graph may still have them
            channel.gone = gone + channel.gone
            raise
        block.take_graph(graph, covered)
        channel.index = None
        self.weigh(key)

    def _is_worth_saving(self, channel: _Channel) -> bool:
        """Whether much would have to be made again without another file: it is as large as all vectors are."""
        graph = channel.block.graph
        return (
            graph is not None
            and channel.later is None
            and len(graph) >= max(1.0, SAVED_AGAIN * channel.saved_rows)
        )

    def _save_later(self, key: ChannelKey, channel: _Channel) -> None:
        """Save it in some minutes: a file takes as much as all vectors, and what is taken back often comes in rows."""
        if self._files is not None and channel.later is None and not self._closed:
            loop = asyncio.get_running_loop()
            channel.later = loop.call_later(SAVED_AFTER_S, self._save_now, key, channel)

    def _save_now(self, key: ChannelKey, channel: _Channel) -> None:
        channel.later = None
        if channel.work is None and self._kept.get(key) is channel:
            channel.work = asyncio.create_task(self._work(key, channel))

    @staticmethod
    def _stop_waiting(channel: _Channel) -> bool:
        """Whether it waited to be saved; it no longer does."""
        waited, channel.later = channel.later, None
        if waited is not None:
            waited.cancel()
        return waited is not None

    def _holds(self, key: ChannelKey, channel: _Channel) -> bool:
        """Whether the channel is in memory, or leaves it: what is taken back meanwhile cancels that."""
        return self._kept.get(key) is channel or self._leaving.get(key) is channel

    async def _save_graph(self, key: ChannelKey, channel: _Channel) -> None:
        """Save it, if nothing is taken back meanwhile. A channel that was dropped keeps nothing on the disk neither."""
        graph, loop = channel.block.graph, asyncio.get_running_loop()
        if self._files is None or self._submit is None or graph is None:
            return
        files = self._files
        record = await loop.run_in_executor(
            self._builder, files.save, key, self._embedder_id, graph
        )
        if record is not None and not channel.gone and self._holds(key, channel):
            channel.saved_rows = record.row_count
            try:
                await self._submit(record.change(key))
            except BaseException:
                channel.saved_rows = 0
                raise
        else:
            await loop.run_in_executor(self._builder, files.remove, key, self._embedder_id)

    def _remove_file(self, key: ChannelKey) -> None:
        """Something was taken back that a file may still hold: the file goes. The graph is made again."""
        if self._files is None:
            return
        if self._closed:
            self._files.remove(key, self._embedder_id)
        else:
            remove = self._files.remove
            asyncio.get_running_loop().run_in_executor(
                self._builder, remove, key, self._embedder_id
            )

    # --- what a crash left -------------------------------------------------------------------------

    async def start(self) -> None:
        """Begin to remove files that the database does not know (`sweep`)."""
        if self._files is not None and self._sweep is None:
            removing = sweep(self._files, self._reader, self._embedder_id, self._builder)
            self._sweep = asyncio.create_task(removing)

    async def swept(self) -> None:
        """Return when that is done."""
        if self._sweep is not None:
            await asyncio.wait({self._sweep})

    async def settled(self) -> None:
        """Return when no index is being made."""
        while tasks := self._tasks():
            await asyncio.wait(tasks)

    def _tasks(self) -> list[asyncio.Task[None]]:
        return [
            task
            for channel in (*self._kept.values(), *self._leaving.values())
            for task in (channel.signs, channel.work)
            if task is not None
        ]

    async def close(self) -> None:
        """Stop making indexes, and save the graphs that have no file. Idempotent."""
        if self._closed:
            return
        self._closed = True
        tasks = [*self._tasks(), *([self._sweep] if self._sweep is not None else [])]
        saving = [channel.work for channel in self._leaving.values()]
        for task in tasks:
            if task not in saving:
                task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        for key, channel in list(self._kept.items()):
            await self._save_last(key, channel)
        await asyncio.to_thread(self._builder.shutdown, cancel_futures=True)

    async def _save_last(self, key: ChannelKey, channel: _Channel) -> None:
        graph = channel.block.graph
        self._stop_waiting(channel)
        if self._files is None or not graph or channel.saved_rows:
            return
        try:
            gone, loop = np.array(channel.gone, np.int64), asyncio.get_running_loop()
            await loop.run_in_executor(self._builder, graph.forget, gone)
            channel.gone = []
            await self._save_graph(key, channel)
        except BackscrollError as error:
            log.warning("the index of a channel is not saved: %s", error.message)
        except Exception:
            log.exception("an index could not be saved; the next start makes it again")
