"""The vectors of one channel in memory: compact rows in slots, appended to and read at the same time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from backscroll_scoring.hnsw import GONE, Graph
from backscroll_scoring.index import (
    GraphIndex,
    ScanIndex,
    Signs,
    VectorIndex,
    VectorRows,
    normalised,
)
from backscroll_sidecar.ports import StoredVector

T = TypeVar("T", bound=np.generic)
NOTHING = np.iinfo(np.int64).max

CENTRE_ROWS = 1_024
PART_ROWS = 4_096
GRAPH_ROWS_AT_ONCE = 1_024
"""Rows that come into a graph together, in some .2 s: so soon does a thread look for what was taken back."""
MOST_TAIL_ROWS = 4_096
"""Rows looked at exactly beside a graph, some .2 ms. With more of them signs are searched."""
NO_SLOT = -1


@dataclass(frozen=True, slots=True, eq=False)
class MadeSigns:
    """Sign bits of a block's slots.

    Attributes
    ----------
    signs : Signs
        Their centre is the mean of the first `CENTRE_ROWS` live vectors by `seq`: the store alone decides it.
    count : int
        Of the slots.
    until_seq : int
        The `seq` of the last of these: no change behind it moves the centre.
    """

    signs: Signs
    count: int
    until_seq: int


class VectorBlock:
    """Vectors by slot. Owned by the event loop; what `index` returned never changes.

    Parameters
    ----------
    dims : numbers a vector.
    """

    def __init__(self, dims: int) -> None:
        self.dims = dims
        self._width = -(-dims // 64)
        self._count = 0
        self._codes = np.empty((0, self._width, 64), np.int8)
        self._scales = np.empty((0, self._width), np.float32)
        self._signs: Signs | None = None
        self._centre_until = -1
        self._changed_from = NOTHING
        self._live_count = 0
        self._last_seq = -1
        self._graph: Graph | None = None
        self._covered = np.empty(0, np.bool_)
        self._holes = np.empty(0, np.int32)
        self._seqs = np.empty(0, np.int64)
        self._live = np.empty(0, np.bool_)
        self._slot_of = np.full(64, NO_SLOT, np.int32)

    def __len__(self) -> int:
        """Vectors that count."""
        return self._live_count

    @property
    def nbytes(self) -> int:
        """Bytes held, spare capacity included."""
        arrays = (self._codes, self._scales, self._seqs, self._live, self._slot_of)
        signs = 0 if self._signs is None else self._signs.planes.nbytes
        graph = 0 if self._graph is None else self._graph.nbytes
        return signs + graph + sum(array.nbytes for array in arrays)

    def add(self, stored: Sequence[StoredVector]) -> None:
        """Take over new vectors. A message that has one keeps it.

        Those of another size or without a direction are left out.
        """
        fresh: dict[int, bytes] = {}
        for one in stored:
            if len(one.values) == 4 * self.dims and self.slot_of(one.seq) == NO_SLOT:
                fresh.setdefault(one.seq, one.values)
        raw = np.frombuffer(b"".join(fresh.values()), "<f4").astype(np.float32)
        vectors = raw.reshape(len(fresh), self.dims)
        with np.errstate(over="ignore", invalid="ignore"):
            lengths = np.abs(vectors).max(axis=1, initial=0.0)
        good = np.isfinite(lengths) & (lengths > 0)
        seqs = np.array(list(fresh), np.int64)[good]
        if len(seqs):
            self._append(seqs, normalised(vectors[good]))

    def put_in_order(self) -> None:
        """Order what was just loaded by `seq`, as searches go through it, and give up spare room."""
        seqs = self._seqs[: self._count]
        order = np.argsort(seqs)
        self._codes, self._scales = self._codes[order], self._scales[order]
        self._seqs, self._live = seqs[order], self._live[order]
        self._slot_of[self._seqs] = np.arange(self._count, dtype=np.int32)

    def drop(self, seq: int) -> None:
        """The message's vector no longer counts."""
        slot = self.slot_of(seq)
        if slot != NO_SLOT:
            self._live, self._slot_of = self._live.copy(), self._slot_of.copy()
            self._live[slot], self._slot_of[seq] = False, NO_SLOT
            self._live_count -= 1
            self._changed(seq)

    def slot_of(self, seq: int) -> int:
        """The slot of one message, -1 without a vector."""
        return int(self._slot_of[seq]) if 0 <= seq < len(self._slot_of) else NO_SLOT

    def slots_of(self, seqs: NDArray[np.int64]) -> NDArray[np.int32]:
        """int32[n]: the slots of messages, -1 without a vector."""
        known = np.minimum(seqs, len(self._slot_of) - 1)
        return np.where(known == seqs, self._slot_of[known], np.int32(NO_SLOT))

    def live_seqs(self) -> NDArray[np.int64]:
        """int64[n]: the messages that have a vector, in order."""
        return np.flatnonzero(self._slot_of != NO_SLOT)

    def index(self, *, by_signs: bool) -> VectorIndex:
        """What searches the block as it stands.

        With `by_signs`, which needs `has_signs`, not every row is looked at exactly.
        """
        n = self._count
        rows = VectorRows(_frozen(self._codes[:n]), _frozen(self._scales[:n]))
        slot_of = _frozen(self._slot_of)
        scan = rest = ScanIndex(rows, slot_of)
        if by_signs:
            assert self._signs is not None
            rest = ScanIndex(rows, slot_of, self._signs)
        if self._graph is None or self.tail_rows > MOST_TAIL_ROWS:
            return rest
        covered = np.zeros(n + 1, np.bool_)
        covered[: len(self._covered)] = self._covered
        tail = self._seqs[self._tail()]
        return GraphIndex(self._graph, covered, tail, scan, rest)

    # --- signs -------------------------------------------------------------------------------------

    def signs_work(self) -> Callable[[], MadeSigns]:
        """The making of signs of what is there now. It reads only: may run in a thread while the block changes."""
        n, live, seqs = self._count, self._live, self._seqs
        codes, scales = self._codes, self._scales
        self._changed_from = NOTHING

        def make() -> MadeSigns:
            counted = np.flatnonzero(live[:n])
            first = counted[np.argsort(seqs[counted])[:CENTRE_ROWS]]
            centre = VectorRows(codes[first], scales[first]).vectors().mean(axis=0)
            signs = Signs.empty(centre, len(codes))
            for start in range(0, n, PART_ROWS):
                part = slice(start, min(n, start + PART_ROWS))
                signs.add(start, VectorRows(codes[part], scales[part]).vectors())
            return MadeSigns(signs, n, int(seqs[first[-1]]))

        return make

    def take_signs(self, made: MadeSigns) -> bool:
        """Search by signs from now on; what was added meanwhile gets its own.

        False when a change since `signs_work` moves their centre: then they are of no use.
        """
        if self._changed_from <= made.until_seq:
            return False
        late = slice(made.count, self._count)
        self._signs = made.signs.with_room(len(self._codes))
        self._signs.add(made.count, VectorRows(self._codes[late], self._scales[late]).vectors())
        self._centre_until = made.until_seq
        return True

    def _changed(self, seq: int) -> None:
        """A vector went, or came behind later ones. Signs are of no use once their centre is another."""
        self._changed_from = min(self._changed_from, seq)
        if seq <= self._centre_until:
            self._signs, self._centre_until = None, -1

    @property
    def has_signs(self) -> bool:
        """Whether there are signs of what is there now."""
        return self._signs is not None

    # --- graph -------------------------------------------------------------------------------------

    def _tail(self) -> NDArray[np.int32]:
        """int32[k]: live slots that the graph lacks."""
        later = np.arange(len(self._covered), self._count, dtype=np.int32)
        slots = np.concatenate((self._holes, later))
        return slots[self._live[slots]]

    @property
    def tail_rows(self) -> int:
        """How many live rows the graph lacks; all of them without one."""
        return len(self._tail())

    @property
    def has_graph(self) -> bool:
        """Whether there is a graph: search goes by it as long as few rows lack in it."""
        return self._graph is not None

    @property
    def graph(self) -> Graph | None:
        """The graph."""
        return self._graph

    def graph_work(self, gone: Sequence[int]) -> Callable[[], tuple[Graph, NDArray[np.bool_]]]:
        """Some of what the graph lacks put into it, what is `gone` taken out. For a thread, one at a time.

        Gives the graph and which slots it covers. The block may change meanwhile, and the graph be searched.
        """
        graph, slots, count = self._graph, self._tail()[:GRAPH_ROWS_AT_ONCE], self._count
        codes, scales, seqs = self._codes, self._scales, self._seqs
        covered = np.zeros(count, np.bool_)
        covered[: len(self._covered)] = self._covered
        covered[slots] = True

        def work() -> tuple[Graph, NDArray[np.bool_]]:
            made = Graph(self.dims) if graph is None else graph
            if gone:
                made.forget(np.array(gone, np.int64))
            if len(slots):
                made.add(VectorRows(codes[slots], scales[slots]), seqs[slots])
            return made, covered

        return work

    def covered_by(self, graph: Graph) -> tuple[NDArray[np.bool_], list[int]]:
        """bool[n]: which slots a loaded graph has as they are; the messages that it has otherwise."""
        labels, rows = graph.rows()
        known = np.flatnonzero(labels != GONE)
        slots = self.slots_of(labels[known])
        covered, same = np.zeros(self._count, np.bool_), slots != NO_SLOT
        for start in range(0, len(known), PART_ROWS):
            part = slice(start, start + PART_ROWS)
            alike = (rows.codes[known[part]] == self._codes[slots[part]]).all(axis=(1, 2))
            same[part] &= alike
            covered[slots[part][same[part]]] = True
        return covered, labels[known[~same]].tolist()

    def take_graph(self, graph: Graph, covered: NDArray[np.bool_]) -> None:
        """Search by this graph from now on; what it does not cover is looked at exactly."""
        self._graph, self._covered = graph, covered
        self._holes = np.flatnonzero(~covered & self._live[: len(covered)]).astype(np.int32)

    # --- growing -----------------------------------------------------------------------------------

    def _append(self, seqs: NDArray[np.int64], vectors: NDArray[np.float32]) -> None:
        start, end = self._count, self._count + len(seqs)
        if end > len(self._codes):
            self._grow(max(64, end + start // 2))
        rows = VectorRows.of(vectors)
        if seqs[0] < self._last_seq or (np.diff(seqs) < 0).any():
            self._changed(int(seqs.min()))
        self._last_seq = max(self._last_seq, int(seqs.max()))
        self._codes[start:end], self._scales[start:end] = rows.codes, rows.scales
        if self._signs is not None:
            self._signs.add(start, rows.vectors())
        self._seqs[start:end] = seqs
        self._live[start:end] = True
        top = int(seqs.max())
        if top >= len(self._slot_of):
            grown = np.full(top + 1 + len(self._slot_of) // 2, NO_SLOT, np.int32)
            grown[: len(self._slot_of)] = self._slot_of
            self._slot_of = grown
        self._slot_of[seqs] = np.arange(start, end, dtype=np.int32)
        self._count, self._live_count = end, self._live_count + len(seqs)

    def _grow(self, capacity: int) -> None:
        n = self._count
        for name in ("_codes", "_scales", "_seqs", "_live"):
            old = getattr(self, name)
            grown = np.empty((capacity, *old.shape[1:]), old.dtype)
            grown[:n] = old[:n]
            setattr(self, name, grown)
        if self._signs is not None:
            self._signs = self._signs.with_room(capacity)


def _frozen(array: NDArray[T]) -> NDArray[T]:
    out = array.view()
    out.flags.writeable = False
    return out
