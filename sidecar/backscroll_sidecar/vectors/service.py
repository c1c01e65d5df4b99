"""The vectors of all channels: loaded on first use, told of every commit, dropped by bytes, searched.

A commit published while its channel is loading is kept and taken over after the load, as `channels.registry` does. An
erasure drops the channel's vectors, and what is loaded next has never seen the erased ones.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from backscroll_scoring.index import query_blocks
from backscroll_sidecar.domain import ChannelKey, MessageState
from backscroll_sidecar.ports import Applied, HistoryReader, Nearest, Similarities
from backscroll_sidecar.vectors.block import NO_SLOT, Block, Slots

IndexKind = Literal["auto", "exact", "hnsw"]

DEFAULT_MAX_BYTES = 512 * 1024 * 1024
SIGN_ROWS = 4_000
"""From here on signs are faster than looking at every row (bench/test_vectors.py)."""
INLINE_US = 300.0
US_PER_EXACT_ROW, US_PER_FAST_ROW = 0.06, 0.02
"""Predicted cost of a search: above `INLINE_US` it leaves the event loop (law 9; bench/test_vectors.py)."""

T = TypeVar("T")


@dataclass(slots=True)
class _Channel:
    """One channel's vectors, and the index published over them."""

    block: Block
    slots: Slots | None = None
    """The block as it stands; None after a change."""
    work: set[asyncio.Task[None]] = field(default_factory=set)


class Vectors:
    """`VectorSearch` over what the store holds. Owned by the event loop; also a publisher of the writer.

    Parameters
    ----------
    reader : where vectors are loaded from.
    embedder_id : whose vectors these are.
    executor : takes searches over large channels and the making of indexes.
    index : ``auto``: by size; ``exact``: every row, always; ``hnsw``: the graph, always.
    max_bytes : memory of all channels' vectors together; the one in use always stays.
    """

    def __init__(
        self,
        reader: HistoryReader,
        embedder_id: str,
        executor: Executor | None = None,
        *,
        index: IndexKind = "auto",
        max_bytes: int = DEFAULT_MAX_BYTES,
    ) -> None:
        self._reader = reader
        self._embedder_id = embedder_id
        self._executor = executor
        self._index: IndexKind = index
        self._max_bytes = max_bytes
        self._hot: OrderedDict[ChannelKey, _Channel] = OrderedDict()
        self._loads: dict[ChannelKey, asyncio.Task[_Channel]] = {}
        self._meanwhile: dict[ChannelKey, list[Applied]] = {}

    @property
    def nbytes(self) -> int:
        """Memory of all vectors."""
        return sum(channel.block.nbytes for channel in self._hot.values())

    # --- being told --------------------------------------------------------------------------------

    def publish(self, key: ChannelKey, applied: Applied) -> None:
        """Take over a committed change. Does nothing for a channel whose vectors are not in memory."""
        if key in self._loads:
            self._meanwhile.setdefault(key, []).append(applied)
        elif key in self._hot:
            if applied.is_erasure:
                self.drop(key)
            else:
                self._take(self._hot[key], applied)

    def drop(self, key: ChannelKey) -> None:
        """Forget a channel's vectors; the next search loads them again."""
        channel = self._hot.pop(key, None)
        if channel is not None:
            for task in channel.work:
                task.cancel()

    def _take(self, channel: _Channel, applied: Applied) -> None:
        block = channel.block
        for stored in applied.stored:
            if stored.revision or stored.state is MessageState.RECALLED:
                block.drop(stored.seq)
        block.add([k.vector for k in applied.vectors if k.embedder_id == self._embedder_id])
        channel.slots = None
        self._improve(channel)

    # --- searching ---------------------------------------------------------------------------------

    async def similarities(
        self, key: ChannelKey, seqs: NDArray[np.int64], query: NDArray[np.float32]
    ) -> Similarities:
        channel = await self._channel(key, len(query))
        slots = channel.block.slots_of(seqs)
        known = slots != NO_SLOT
        values = np.zeros(len(seqs), np.float32)
        if not known.any():
            return Similarities(values, known, exhaustive=True)
        now, blocks = self._slots(channel), query_blocks(query)
        allowed = np.zeros(len(now.index), np.bool_)
        allowed[slots[known]] = True
        found = await self._run(
            channel, len(allowed), lambda: now.index.similarities(blocks, allowed)
        )
        values[known] = found.values[slots[known]]
        return Similarities(values, known, found.exhaustive)

    async def nearest(
        self, key: ChannelKey, seqs: NDArray[np.int64], query: NDArray[np.float32], limit: int
    ) -> Nearest:
        channel = await self._channel(key, len(query))
        slots = channel.block.slots_of(seqs)
        now, blocks = self._slots(channel), query_blocks(query)
        position = np.full(len(now.index), -1, np.int32)
        known = np.flatnonzero(slots != NO_SLOT).astype(np.int32)
        if len(known) == 0:
            return Nearest(known, np.empty(0, np.float32), exhaustive=True)
        position[slots[known]] = known
        allowed = position >= 0
        rows, values, exhaustive = await self._run(
            channel, len(allowed), lambda: now.index.search(blocks, limit, allowed)
        )
        return Nearest(position[rows], values, exhaustive)

    def _slots(self, channel: _Channel) -> Slots:
        if channel.slots is None:
            channel.slots = channel.block.slots()
        return channel.slots

    async def _run(self, channel: _Channel, rows: int, work: Callable[[], T]) -> T:
        per_row = US_PER_FAST_ROW if channel.block.has_signs else US_PER_EXACT_ROW
        if rows * per_row <= INLINE_US:
            return work()
        return await asyncio.get_running_loop().run_in_executor(self._executor, work)

    # --- loading -----------------------------------------------------------------------------------

    async def _channel(self, key: ChannelKey, dims: int) -> _Channel:
        channel = self._hot.get(key)
        if channel is not None:
            self._hot.move_to_end(key)
            return channel
        task = self._loads.get(key)
        if task is None:
            task = self._loads[key] = asyncio.create_task(self._load(key, dims))
            task.add_done_callback(_retrieve_exception)
        return await asyncio.shield(task)

    async def _load(self, key: ChannelKey, dims: int) -> _Channel:
        try:
            channel = await self._read(key, dims)
            meanwhile = self._meanwhile.pop(key, [])
            while any(applied.is_erasure for applied in meanwhile):
                channel = await self._read(key, dims)
                meanwhile = self._meanwhile.pop(key, [])
            for applied in meanwhile:
                self._take(channel, applied)
        finally:
            self._loads.pop(key, None)
            self._meanwhile.pop(key, None)
        self._hot[key] = channel
        while len(self._hot) > 1 and self.nbytes > self._max_bytes:
            self.drop(next(iter(self._hot)))
        return channel

    async def _read(self, key: ChannelKey, dims: int) -> _Channel:
        """The vectors as the store has them, put together in a thread."""
        stored = await self._reader.vectors(key, self._embedder_id)
        loop = asyncio.get_running_loop()

        def make() -> _Channel:
            block = Block(dims, stored)
            if self._wants_signs(block):
                block.take_signs(*block.make_signs())
            return _Channel(block)

        return await loop.run_in_executor(self._executor, make)

    def _wants_signs(self, block: Block) -> bool:
        return self._index == "auto" and len(block) >= SIGN_ROWS and not block.has_signs

    def _improve(self, channel: _Channel) -> None:
        """Begin to make in a thread what a grown block should have."""
        if self._wants_signs(channel.block) and not channel.work:
            task = asyncio.create_task(self._make_signs(channel))
            channel.work.add(task)
            task.add_done_callback(channel.work.discard)

    async def _make_signs(self, channel: _Channel) -> None:
        loop = asyncio.get_running_loop()
        centre, signs = await loop.run_in_executor(self._executor, channel.block.make_signs)
        channel.block.take_signs(centre, signs)
        channel.slots = None


def _retrieve_exception(task: asyncio.Task[_Channel]) -> None:
    """Every waiter may have given up; then nobody else would look at the load's error."""
    if not task.cancelled():
        task.exception()
