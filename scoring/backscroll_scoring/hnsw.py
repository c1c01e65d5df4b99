"""The graph over the vectors of a very large channel: found in it are rows near a question without a look at most.

It grows by one writer while any thread searches it, so no second copy is kept: what a reader holds are the arrays of
one moment, and of rows that came later it passes over the links. A vector takes its codes again, some 170 bytes of
links beside, and spare room. The same vectors in the same order make the same graph.
"""

from __future__ import annotations

from typing import Any, BinaryIO, NamedTuple

import numpy as np

from . import kernels_hnsw
from .arrays import Float32, Int8, Int32, Int64, require
from .index import VectorRows
from .intrinsics import BLOCK
from .kernels_hnsw import FAN, LINKS, LOWEST_LINKS, NONE

BREADTH = 96
"""Rows that are looked at for the links of a new one."""
GONE = -1
_LEAST_ROOM = 1_024


class _Arrays(NamedTuple):
    """A graph at one moment.

    Attributes
    ----------
    codes, scales : as in `VectorRows`, with room behind the last.
    lowest : int32[c, 32]
        Links of each node on the lowest layer, -1 none.
    upper : int32[u, 16]
        The same of the layers above: node n of layer l, every ``16 ** l``-th, has row ``bases[l] + n // 16 ** l``.
    bases : int64[layers]
    labels : int64[c]
    """

    codes: Int8
    scales: Float32
    lowest: Int32
    upper: Int32
    bases: Int64
    labels: Int64

    @property
    def links(self) -> tuple[Int8, Float32, Int32, Int32, Int64]:
        """What the kernels take."""
        return self.codes, self.scales, self.lowest, self.upper, self.bases

    @staticmethod
    def of(capacity: int, blocks: int) -> _Arrays:
        """Empty ones."""
        bases, step, above = [0], FAN, 0
        while capacity > step:
            bases.append(above)
            above, step = above - (-capacity // step), step * FAN
        return _Arrays(
            np.zeros((capacity, blocks, BLOCK), np.int8),
            np.zeros((capacity, blocks), np.float32),
            np.full((capacity, LOWEST_LINKS), NONE, np.int32),
            np.full((max(1, above), LINKS), NONE, np.int32),
            np.array(bases, np.int64),
            np.full(capacity, GONE, np.int64),
        )

    def grown(self, capacity: int, count: int) -> _Arrays:
        """Larger ones with what the first `count` nodes have."""
        out = _Arrays.of(capacity, self.codes.shape[1])
        for name in ("codes", "scales", "lowest", "labels"):
            getattr(out, name)[:count] = getattr(self, name)[:count]
        step = FAN
        for level in range(1, min(len(self.bases), len(out.bases))):
            size = -(-count // step)
            base, other = self.bases[level], out.bases[level]
            out.upper[other : other + size] = self.upper[base : base + size]
            step *= FAN
        return out


class Graph:
    """A graph over labelled unit vectors. One thread at a time adds and forgets; any thread may search it."""

    def __init__(self, dims: int) -> None:
        self.dims = dims
        self._arrays = _Arrays.of(_LEAST_ROOM, -(-dims // BLOCK))
        self._count = 0
        self._gone = 0

    def __len__(self) -> int:
        return self._count - self._gone

    @property
    def nbytes(self) -> int:
        """Bytes held, spare capacity included."""
        return sum(array.nbytes for array in self._arrays)

    @staticmethod
    def build(vectors: Float32, labels: Int64) -> Graph:
        """Make a graph of float32[n, d] under int64[n] labels, each once, in their order."""
        require("vectors", vectors, np.float32, ndim=2)
        graph, order = Graph(vectors.shape[1]), np.argsort(labels, kind="stable")
        graph.add(VectorRows.of(vectors[order]), labels[order])
        return graph

    def add(self, rows: VectorRows, labels: Int64) -> None:
        """Add rows, some .2 ms each. A label may come again: then both are found under it."""
        first, end = self._count, self._count + len(labels)
        arrays = self._arrays
        if end > len(arrays.labels):
            arrays = arrays.grown(end + end // 4, first)
        arrays.codes[first:end], arrays.scales[first:end] = rows.codes, rows.scales
        arrays.labels[first:end] = labels
        kernels_hnsw.insert(*arrays.links, first, end, BREADTH)
        self._arrays, self._count = arrays, end

    def forget(self, labels: Int64) -> None:
        """Take labels and their vectors out; their nodes stay as ways to others."""
        arrays = self._arrays
        nodes = np.flatnonzero(np.isin(arrays.labels[: self._count], labels))
        arrays.codes[nodes], arrays.scales[nodes], arrays.labels[nodes] = 0, 0, GONE
        self._gone += len(nodes)

    def save(self, path: str) -> None:
        """Write the graph to a file."""
        arrays, count = self._arrays, self._count
        whole = arrays.grown(max(1, count), count)
        with open(path, "wb") as file:  # noqa: PTH123
            for array in (*whole[:4], whole.labels):
                np.save(file, array, allow_pickle=False)

    @staticmethod
    def load(path: str, dims: int, count: int) -> Graph:
        """Read a file that `save` wrote.

        Raises ValueError when it holds anything else, another number of vectors, or of other dimensions.
        """
        graph = Graph(dims)
        with open(path, "rb") as file:  # noqa: PTH123
            try:
                codes, scales, lowest, upper, labels = (_read(file) for _ in range(5))
            except EOFError:
                raise ValueError("the file ends early") from None
        empty = _Arrays.of(len(labels), -(-dims // BLOCK))
        arrays = _Arrays(codes, scales, lowest, upper, empty.bases, labels)
        for name in _Arrays._fields:
            one, other = getattr(arrays, name), getattr(empty, name)
            if one.shape != other.shape or one.dtype != other.dtype:
                raise ValueError("the file holds something else")
        for links in (lowest, upper):
            if links.size and not NONE <= links.min() <= links.max() < len(labels):
                raise ValueError("the file holds links to nothing")
        graph._arrays, graph._count = arrays, len(labels)
        graph._gone = int((labels == GONE).sum())
        if len(graph) != count:
            raise ValueError("the file holds another number of vectors")
        return graph

    def labels(self) -> Int64:
        """int64[n]: all labels, ascending."""
        labels = self._arrays.labels[: self._count]
        return np.sort(labels[labels != GONE])

    def rows(self) -> tuple[Int64, VectorRows]:
        """int64[n]: the labels in the order of the nodes, `GONE` for those taken out; and their rows."""
        arrays, count = self._arrays, self._count
        return arrays.labels[:count], VectorRows(arrays.codes[:count], arrays.scales[:count])

    def search(self, query: Float32, count: int) -> Int64:
        """int64[k]: labels of about the ``count`` nearest, nearest first; ``query`` is float32[d].

        The first third of them is found with recall .98 (bench/test_vectors.py).
        """
        arrays, nodes = self._arrays, self._count
        near, values = np.empty(count, np.int32), np.empty(count, np.float32)
        found = kernels_hnsw.search(*arrays.links, nodes, query, near, values)
        labels = arrays.labels[near[:found]]
        return labels[labels != GONE]


def _read(file: BinaryIO) -> Any:  # noqa: ANN401 - what it is, `load` looks at
    return np.load(file, allow_pickle=False)
