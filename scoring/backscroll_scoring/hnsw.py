"""The approximate graph for very large channels: hnswlib, used so that it cannot harm the process.

Adding and searching from threads at once crashes it, so a graph is built once, by one thread, and never changed. A
damaged file kills the process, so a caller loads only bytes whose hash it knows. Deleted vectors stay in memory, so an
erasure builds a new graph. One thread, a fixed seed and the order of the labels make the same vectors the same graph.
(Malkov, Yashunin: "Efficient and robust approximate nearest neighbor search using Hierarchical Navigable Small World
graphs", 2018.)
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np

from .arrays import Float32, Int64, require

SEED = 100
LINKS = 16
EF_CONSTRUCTION = 200
LEAST_EF = 200
"""Candidates a search keeps, or as many as it is asked for: recall@20 >= .98 (bench/test_vectors.py)."""


def is_available() -> bool:
    """Whether hnswlib is installed. It comes as source only: a slim install has none."""
    return find_spec("hnswlib") is not None


class Graph:
    """An immutable graph over labelled unit vectors. Any thread may search it."""

    def __init__(self, index: Any, dims: int) -> None:  # noqa: ANN401
        self._index = index
        self.dims = dims
        index.set_num_threads(1)
        index.set_ef(LEAST_EF)

    def __len__(self) -> int:
        return int(self._index.get_current_count())

    @staticmethod
    def build(vectors: Float32, labels: Int64) -> Graph:
        """Make a graph of float32[n, d] under int64[n] labels, each once, in their order. Takes seconds."""
        import hnswlib  # noqa: PLC0415

        require("vectors", vectors, np.float32, ndim=2)
        index = hnswlib.Index(space="ip", dim=vectors.shape[1])
        index.init_index(
            max_elements=max(1, len(vectors)),
            M=LINKS,
            ef_construction=EF_CONSTRUCTION,
            random_seed=SEED,
        )
        order = np.argsort(labels, kind="stable")
        index.add_items(vectors[order], labels[order], num_threads=1)
        return Graph(index, vectors.shape[1])

    @staticmethod
    def load(path: str, dims: int, count: int) -> Graph:
        """Read a file that `save` wrote. The caller has checked its hash: a damaged file kills the process.

        Raises ValueError when it holds another number of vectors, or of other dimensions.
        """
        import hnswlib  # noqa: PLC0415

        index = hnswlib.Index(space="ip", dim=dims)
        try:
            index.load_index(path)
        except RuntimeError as error:
            raise ValueError(str(error)) from None
        if index.get_current_count() != count:
            raise ValueError("the file holds another number of vectors")
        return Graph(index, dims)

    def save(self, path: str) -> None:
        """Write the graph to a file."""
        self._index.save_index(path)

    def labels(self) -> Int64:
        """int64[n]: all labels, ascending."""
        return np.sort(np.array(self._index.get_ids_list(), np.int64))

    def vectors(self, labels: Int64) -> Float32:
        """float32[k, d]: the vectors of some labels."""
        return np.asarray(self._index.get_items(labels, return_type="numpy"), np.float32)

    def search(self, query: Float32, count: int) -> Int64:
        """int64[k]: labels of about the ``count`` nearest, nearest first; ``query`` is float32[d]."""
        count = min(count, len(self))
        labels, _ = self._index.knn_query(query, k=count, num_threads=1)
        return labels[0].astype(np.int64)
