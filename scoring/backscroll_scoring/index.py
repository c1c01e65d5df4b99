"""Search among the vectors of one channel: compact rows, and the exact and the approximate way to look at them.

An index is a value: rows are never changed once they are in it, so any thread may search it. Vectors are unit vectors;
a row's similarity is the cosine, to about 1 in 1,000.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from . import kernels_vectors, reference_vectors
from .arrays import Bool, Float32, Int8, Int16, Int32, Int64, UInt64, require
from .kernels_vectors import BLOCK
from .top_k import top_order

SIGN_RERANK_SHARE = 0.025
SIGN_RERANK_LEAST = 600
"""Rows looked at exactly behind the signs: recall@20 >= .98 on real vectors (bench/test_vectors.py)."""


GRAPH_FIRST = 64
GRAPH_WORTH = 4
"""A graph is asked for this many rows at first, and not for more than a quarter of all."""


def normalised(vectors: Float32) -> Float32:
    """The rows of float32[n, d] scaled to length 1. Raises ValueError for a row that has no direction."""
    require("vectors", vectors, np.float32, ndim=2)
    largest = np.abs(vectors).max(axis=1, keepdims=True, initial=0.0).astype(np.float64)
    if not (np.isfinite(largest).all() and (largest > 0).all()):
        raise ValueError("a vector is zero or not finite")
    scaled = vectors / largest  # so that no square over- or underflows
    return (scaled / np.sqrt(np.einsum("ij,ij->i", scaled, scaled))[:, None]).astype(np.float32)


def query_blocks(vector: Float32) -> Float32:
    """A question as the kernels take it: float32[b, 64], of length 1, from float32[d] of any length but zero."""
    unit = normalised(require("query", vector, np.float32)[None, :])
    return padded(unit).reshape(-1, BLOCK)


@dataclass(frozen=True, slots=True, eq=False)
class VectorRows:
    """Vectors as they are kept in memory: 9 bytes for 8 dimensions.

    Attributes
    ----------
    codes : int8[n, b, 64]
        b blocks of 64 dimensions, the last one filled up with zeros.
    scales : float32[n, b]
    arrival : int32[n], optional
        Which of two equally similar rows is the later one, where that is not the order of the rows. All different.
    """

    codes: Int8
    scales: Float32
    arrival: Int32 | None = None

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

    def in_order(self, rows: Int32) -> Int32:
        """Ascending row numbers, put in order of arrival: so that sums over them do not depend on where rows lie."""
        return rows if self.arrival is None else rows[np.argsort(self.arrival[rows])]

    def best(self, rows: Int32, values: Float32, limit: int) -> tuple[Int32, Float32]:
        """The ``limit`` highest of some rows, int32[k] with float32[k] values, of equal ones the later first."""
        later = rows if self.arrival is None else self.arrival[rows]
        order = top_order(values.astype(np.float64), later, limit=limit)
        return rows[order], values[order]

    def vectors(self) -> Float32:
        """float32[n, 64 b]: what the codes stand for."""
        blocks = self.codes.astype(np.float32) * self.scales[:, :, None]
        return blocks.reshape(len(blocks), blocks.shape[1] * BLOCK)


def padded(vectors: Float32) -> Float32:
    """float32[n, p]: the rows with zeros behind them, up to a multiple of 64 dimensions."""
    missing = -vectors.shape[1] % BLOCK
    return np.pad(vectors, ((0, 0), (0, missing))) if missing else vectors


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """Similarities of all rows: float32[n], and whether each of them is exact."""

    values: Float32
    exhaustive: bool


class VectorIndex(Protocol):
    """Looks for the rows most similar to a question, given as `query_blocks` makes it."""

    def __len__(self) -> int:
        """How many rows it has."""

    def search(self, query: Float32, limit: int, allowed: Bool) -> tuple[Int32, Float32, bool]:
        """The ``limit`` most similar rows among ``allowed`` (bool[n]), best first, of equal ones the later row.

        Returns int32[k] rows, float32[k] cosines, and whether every row was looked at exactly.
        """

    def similarities(self, query: Float32, allowed: Bool) -> Found:
        """The cosine of every row; the best of ``allowed`` exactly, if not all."""


@dataclass(frozen=True, slots=True, eq=False)
class ExactIndex:
    """Looks at every row: right up to some thousand rows."""

    rows: VectorRows
    use_reference: bool = False

    def __len__(self) -> int:
        return len(self.rows)

    def search(self, query: Float32, limit: int, allowed: Bool) -> tuple[Int32, Float32, bool]:
        """See `VectorIndex`."""
        rows = np.flatnonzero(allowed).astype(np.int32)
        values = self.similarities(query, allowed).values[rows]
        return (*self.rows.best(rows, values, limit), True)

    def similarities(self, query: Float32, allowed: Bool) -> Found:  # noqa: ARG002
        """See `VectorIndex`."""
        out = np.empty(len(self.rows), np.float32)
        engine = reference_vectors if self.use_reference else kernels_vectors
        engine.dots(self.rows.codes, self.rows.scales, query, out)
        return Found(out, exhaustive=True)


@dataclass(frozen=True, slots=True, eq=False)
class SignIndex:
    """Looks at the sign bits of every row, and exactly at the rows whose bits differ least.

    Attributes
    ----------
    signs : uint64[n, p / 64]
        Bit i of a row: whether its value i is above the centre's.
    centre : float32[p]
        Real embeddings share a large common part, which would decide most signs: it is taken away first.
    """

    rows: VectorRows
    signs: UInt64
    centre: Float32
    use_reference: bool = False

    def __len__(self) -> int:
        return len(self.rows)

    def search(self, query: Float32, limit: int, allowed: Bool) -> tuple[Int32, Float32, bool]:
        """See `VectorIndex`."""
        near, values, _, exhaustive = self._near(query, allowed)
        return (*self.rows.best(near, values, limit), exhaustive)

    def similarities(self, query: Float32, allowed: Bool) -> Found:
        """See `VectorIndex`. What is not looked at exactly is estimated from its bits, by a line through the rest."""
        near, values, distances, exhaustive = self._near(query, allowed)
        if len(near) == 0:
            return Found(np.zeros(len(self.rows), np.float32), exhaustive=True)
        out = _estimated(distances, near, values)
        out[near] = values
        return Found(out, exhaustive)

    def _near(self, query: Float32, allowed: Bool) -> tuple[Int32, Float32, Int16, bool]:
        """The allowed rows looked at exactly, their cosines, the distances of all rows, whether these are all allowed.

        Depends on the allowed rows and their arrival alone: not on others, nor on where they lie.
        """
        engine = reference_vectors if self.use_reference else kernels_vectors
        n, count = len(self.rows), int(np.count_nonzero(allowed))
        limit = max(SIGN_RERANK_LEAST, int(count * SIGN_RERANK_SHARE))
        distances, near = np.empty(n, np.int16), np.empty(n, np.int32)
        bits = sign_bits(query.reshape(1, -1), self.centre)[0]
        near = near[: engine.sign_candidates(self.signs, bits, allowed, limit, distances, near)]
        rows = self.rows
        near = rows.in_order(near)
        values = np.empty(len(near), np.float32)
        engine.dots_at(rows.codes, rows.scales, query, near, values)
        return near, values, distances, len(near) == count


def _estimated(distances: Int16, near: Int32, values: Float32) -> Float32:
    """float32[n]: similarity as a falling line of the distance, fitted to the rows known exactly."""
    known = distances[near].astype(np.float64)
    spread = known - known.mean()
    slope = min(0.0, float((spread * values).sum() / max((spread**2).sum(), 1.0)))
    line = values.mean() + slope * (distances - known.mean())
    return np.clip(line, -1.0, values.min()).astype(np.float32)


def sign_bits(vectors: Float32, centre: Float32) -> UInt64:
    """uint64[n, p / 64]: bit i of a row says whether ``vectors[:, i] > centre[i]``."""
    bits = np.packbits(vectors > centre, axis=1, bitorder="little")
    return bits.view(np.dtype(np.uint64).newbyteorder("<")).astype(np.uint64)


class Neighbours(Protocol):
    """What `hnsw.Graph` is: finds labels near a vector."""

    def __len__(self) -> int:
        """How many vectors it has."""

    def search(self, query: Float32, count: int) -> Int64:
        """int64[k]: labels of about the ``count`` nearest of float32[d]."""


@dataclass(frozen=True, slots=True, eq=False)
class GraphIndex:
    """Asks a graph for rows near the question, and looks exactly at those and at every row the graph lacks.

    Attributes
    ----------
    graph : Neighbours
        Its labels are indices into ``row_of_label``.
    row_of_label : int32[m]
        The row each label stands for, -1 none.
    covered : bool[n]
        Whether the graph has the row as it is now. The others are the exact tail.
    rest : VectorIndex
        Answers what a graph cannot: similarities of all rows, and searches among very few.
    """

    rows: VectorRows
    graph: Neighbours
    dims: int
    row_of_label: Int32
    covered: Bool
    rest: VectorIndex

    def __len__(self) -> int:
        return len(self.rows)

    def search(self, query: Float32, limit: int, allowed: Bool) -> tuple[Int32, Float32, bool]:
        """See `VectorIndex`. Asks for more and more until enough of the rows are allowed ones."""
        within = allowed & self.covered
        enough = min(limit, int(within.sum()))
        count = GRAPH_FIRST + 2 * limit
        near = np.empty(0, np.int32)
        while enough:
            if count * GRAPH_WORTH > len(self.graph):
                return self.rest.search(query, limit, allowed)
            labels = self.graph.search(query.reshape(-1)[: self.dims], count)
            rows = self.row_of_label[labels]
            near = rows[(rows >= 0) & within[rows]]
            if len(near) >= enough:
                break
            count *= 4
        tail = np.flatnonzero(allowed & ~self.covered).astype(np.int32)
        rows = np.concatenate([near, tail])
        values = np.empty(len(rows), np.float32)
        kernels_vectors.dots_at(self.rows.codes, self.rows.scales, query, rows, values)
        return (*self.rows.best(rows, values, limit), enough == 0)

    def similarities(self, query: Float32, allowed: Bool) -> Found:
        """See `VectorIndex`."""
        return self.rest.similarities(query, allowed)
