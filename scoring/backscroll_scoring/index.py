"""Search among the vectors of one channel: compact rows, and the exact and the approximate way to look at them.

An index is a value: what it answers with is never changed once it is in it, so any thread may search it. Vectors are
unit vectors; a row's similarity is the cosine, to about 1 in 1,000.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from . import kernels_vectors
from .arrays import Bool, Float32, Int8, Int32, Int64, UInt64, require
from .intrinsics import BLOCK, WORDS
from .kernels_vectors import EXACT, NO_DIRECTION

SIGN_RERANK_SHARE = 0.0025
SIGN_RERANK_LEAST = 256
"""Rows looked at exactly behind the signs: recall@20 >= .98 on real vectors (bench/test_vectors.py)."""


GRAPH_FIRST = 64
GRAPH_WORTH = 4
"""A graph is asked for this many rows at first, and not for more than a quarter of all."""
GRAPH_MOST = 2_048
"""Nor for more than these: it takes the longer for each, the more are asked for, and a look at all is quicker."""


def normalised(vectors: Float32) -> Float32:
    """The rows of float32[n, d] scaled to length 1. Raises ValueError for a row that has no direction."""
    require("vectors", vectors, np.float32, ndim=2)
    largest = np.abs(vectors).max(axis=1, keepdims=True, initial=0.0).astype(np.float64)
    if not (np.isfinite(largest).all() and (largest > 0).all()):
        raise ValueError("a vector is zero or not finite")
    scaled = vectors / largest  # so that no square over- or underflows
    return (scaled / np.sqrt(np.einsum("ij,ij->i", scaled, scaled))[:, None]).astype(np.float32)


@dataclass(frozen=True, slots=True, eq=False)
class VectorRows:
    """Vectors as they are kept in memory: 9 bytes for 8 dimensions.

    Attributes
    ----------
    codes : int8[n, b, 64]
        b blocks of 64 dimensions, the last one filled up with zeros.
    scales : float32[n, b]
    """

    codes: Int8
    scales: Float32

    def __len__(self) -> int:
        return len(self.codes)

    @staticmethod
    def of(vectors: Float32) -> VectorRows:
        """From unit vectors, float32[n, d]."""
        wide = padded(require("vectors", vectors, np.float32, ndim=2))
        blocks = wide.reshape(len(wide), wide.shape[1] // BLOCK, BLOCK)
        scales = (np.abs(blocks).max(axis=2) / 127).astype(np.float32)
        steps = np.where(scales > 0, scales, np.float32(1))[:, :, None]
        return VectorRows(np.rint(blocks / steps).astype(np.int8), scales)

    def vectors(self) -> Float32:
        """float32[n, 64 b]: what the codes stand for."""
        blocks = self.codes.astype(np.float32) * self.scales[:, :, None]
        return blocks.reshape(len(blocks), blocks.shape[1] * BLOCK)


def padded(vectors: Float32) -> Float32:
    """float32[n, p]: the rows with zeros behind them, up to a multiple of 64 dimensions."""
    missing = -vectors.shape[1] % BLOCK
    return np.pad(vectors, ((0, 0), (0, missing))) if missing else vectors


@dataclass(frozen=True, slots=True, eq=False)
class Signs:
    """The sign bits of rows, dimension by dimension: a question looks at those of some dimensions only.

    Attributes
    ----------
    planes : uint64[p + 1, w], w a multiple of 8
        Bit i of word w of plane d says whether value d of row 64 w + i is above the centre's. The last plane is empty.
    centre : float32[p]
        Real embeddings share a large common part, which would decide most signs: it is taken away first.
    """

    planes: UInt64
    centre: Float32

    @staticmethod
    def empty(centre: Float32, capacity: int) -> Signs:
        """Room for so many rows, aligned so that no vector of words lies across two cache lines."""
        words = -(-capacity // (BLOCK * WORDS)) * WORDS
        size = (len(centre) + 1) * words
        spare = np.zeros(size + WORDS, np.uint64)
        start = -spare.ctypes.data % (8 * WORDS) // 8
        return Signs(spare[start : start + size].reshape(len(centre) + 1, words), centre)

    @staticmethod
    def of(vectors: Float32, centre: Float32) -> Signs:
        """The signs of float32[n, p]."""
        signs = Signs.empty(centre, len(vectors))
        signs.add(0, vectors)
        return signs

    def add(self, start: int, vectors: Float32) -> None:
        """Set the bits of float32[k, p], the rows from ``start`` on.

        Who searches the rows before them may go on meanwhile: no bit of theirs changes.
        """
        first, stop = start // BLOCK, -(-(start + len(vectors)) // BLOCK)
        above = np.zeros((vectors.shape[1], (stop - first) * BLOCK), np.bool_)
        above[:, start - first * BLOCK :][:, : len(vectors)] = (vectors > self.centre).T
        bits = np.packbits(above, axis=1, bitorder="little")
        self.planes[:-1, first:stop] |= bits.view(np.dtype(np.uint64).newbyteorder("<"))

    def with_room(self, capacity: int) -> Signs:
        """These, or a copy with room for so many rows."""
        if capacity <= self.planes.shape[1] * BLOCK:
            return self
        grown = Signs.empty(self.centre, capacity)
        grown.planes[:, : self.planes.shape[1]] = self.planes
        return grown


NO_SIGNS = Signs(np.empty((0, 0), np.uint64), np.empty(0, np.float32))


class Similar(NamedTuple):
    """How similar messages are: float32[m], NaN without a vector; how many have one; whether all values are exact."""

    values: Float32
    known: int
    exhaustive: bool


class VectorIndex(Protocol):
    """Looks for the messages most similar to a question, float32[d] of any length but zero.

    Messages are named by number, int64[m], each once; the *place* of one is where it stands in that array. A question
    that has no direction raises ValueError.
    """

    def search(self, query: Float32, limit: int, seqs: Int64) -> tuple[Int32, Float32, bool]:
        """The places of the ``limit`` most similar messages, best first, of equal ones the later place.

        Returns int32[k] places, float32[k] cosines, and whether every message was looked at exactly.
        """

    def similarities(self, query: Float32, seqs: Int64) -> Similar:
        """The cosine of every message; that of the best exactly, if not of all."""

    def near(self, query: Float32, count: int) -> tuple[Int64, Int64] | None:
        """int64[<= count], int64[t]: about the most similar of all, best first; those not looked at.

        None: there is no quicker way than a `search`. The question has a direction.
        """

    def exact(self, query: Float32, seqs: Int64) -> Float32:
        """float32[m]: the cosine of every message exactly, NaN without a vector."""


@dataclass(frozen=True, slots=True, eq=False)
class ScanIndex:
    """Looks at every row: exactly, or at the sign bits of each and exactly at those whose bits differ least.

    What it answers depends on the messages named and their order alone: not on others, nor on where their rows lie.

    Attributes
    ----------
    slot_of : int32[]
        The row of each message, -1 none. One behind the last row is none, too.
    signs : Signs
        Without them every row is looked at exactly.
    """

    rows: VectorRows
    slot_of: Int32
    signs: Signs = NO_SIGNS

    def search(self, query: Float32, limit: int, seqs: Int64) -> tuple[Int32, Float32, bool]:
        """See `VectorIndex`."""
        most = min(limit, len(seqs))
        places, values = np.empty(most, np.int32), np.empty(most, np.float32)
        status, found = kernels_vectors.nearest(*self._asked(query, seqs), places, values)
        return places[:found], values[:found], _is_exact(status)

    def similarities(self, query: Float32, seqs: Int64) -> Similar:
        """See `VectorIndex`. What is not looked at exactly is estimated from its bits, by a line through the rest."""
        values = np.empty(len(seqs), np.float32)
        status, known = kernels_vectors.similarities(*self._asked(query, seqs), values)
        return Similar(values, known, _is_exact(status))

    def near(self, query: Float32, count: int) -> tuple[Int64, Int64] | None:  # noqa: ARG002
        """See `VectorIndex`."""
        return None

    def exact(self, query: Float32, seqs: Int64) -> Float32:
        """See `VectorIndex`."""
        return ScanIndex(self.rows, self.slot_of).similarities(query, seqs).values

    def _asked(
        self, query: Float32, seqs: Int64
    ) -> tuple[Int8, Float32, UInt64, Float32, Int32, Float32, Int64, int, float]:
        rows, signs = self.rows, self.signs
        return (
            *(rows.codes, rows.scales, signs.planes, signs.centre, self.slot_of),
            *(query, seqs, SIGN_RERANK_LEAST, SIGN_RERANK_SHARE),
        )


def _is_exact(status: int) -> bool:
    if status == NO_DIRECTION:
        raise ValueError("the question is zero, not finite or too long")
    return status == EXACT


class Neighbours(Protocol):
    """What `hnsw.Graph` is: finds labels near a vector."""

    dims: int

    def __len__(self) -> int:
        """How many vectors it has."""

    def search(self, query: Float32, count: int) -> Int64:
        """int64[k]: labels of about the ``count`` nearest of float32[d]."""


@dataclass(frozen=True, slots=True, eq=False)
class GraphIndex:
    """Asks a graph for messages near the question, and looks exactly at those and at every one that the graph lacks.

    Attributes
    ----------
    graph : Neighbours
        Its labels are numbers of messages.
    covered : bool[n + 1]
        Whether the graph has the row as it is now. The others are the tail. The last one is false.
    tail : int64[t]
        The messages of the tail.
    scan : ScanIndex
        Looks exactly at what was found.
    rest : ScanIndex
        Answers what a graph cannot: similarities of all, and searches among very few.
    """

    graph: Neighbours
    covered: Bool
    tail: Int64
    scan: ScanIndex
    rest: ScanIndex

    def search(self, query: Float32, limit: int, seqs: Int64) -> tuple[Int32, Float32, bool]:
        """See `VectorIndex`. Asks for more and more until enough of what is found was asked about.

        Where few rows are asked about, so that many had to be found, each of them is looked at.
        """
        count = (GRAPH_FIRST + 2 * limit) * len(self.covered) // max(1, len(seqs))
        if count > GRAPH_MOST:
            return self.rest.search(query, limit, seqs)
        place_of = np.full(len(self.covered), -1, np.int32)  # by row; the last entry: of no row
        place_of[self._rows_of(seqs)] = np.arange(len(seqs), dtype=np.int32)
        place_of[-1] = -1
        is_asked = place_of >= 0
        tail = place_of[is_asked & ~self.covered]
        enough = min(limit, int(np.count_nonzero(is_asked)) - len(tail))
        if not (np.isfinite(query).all() and query.any()):
            raise ValueError("the question is zero or not finite")
        near = tail[:0]
        while enough:
            if count > GRAPH_MOST or count * GRAPH_WORTH > len(self.graph):
                return self.rest.search(query, limit, seqs)
            found = self._rows_of(self.graph.search(query, count))
            near = place_of[found[self.covered[found]]]
            near = near[near >= 0]
            if len(near) >= enough:
                break
            count *= 4
        places = np.sort(np.concatenate([near, tail]))
        best, values, _ = self.scan.search(query, limit, seqs[places])
        return places[best], values, enough == 0

    def near(self, query: Float32, count: int) -> tuple[Int64, Int64]:
        """See `VectorIndex`."""
        found = self.graph.search(query, count)
        return found[self.covered[self._rows_of(found)]], self.tail

    def exact(self, query: Float32, seqs: Int64) -> Float32:
        """See `VectorIndex`."""
        return self.scan.similarities(query, seqs).values

    def _rows_of(self, seqs: Int64) -> Int32:
        """The rows of messages, the last one of `covered` where there is none."""
        slot_of, none = self.scan.slot_of, len(self.covered) - 1
        known = np.minimum(seqs, len(slot_of) - 1)
        rows = np.where(known == seqs, slot_of[known], np.int32(none))
        return np.where((rows >= 0) & (rows < none), rows, np.int32(none))

    def similarities(self, query: Float32, seqs: Int64) -> Similar:
        """See `VectorIndex`."""
        return self.rest.similarities(query, seqs)
