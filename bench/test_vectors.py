"""Vector search by index and size: how long, and how much of the exact answer is found. `make bench-parts` answers.

Vectors are made up, like an embedder's: few strong directions, a common part, noise. With BACKSCROLL_VECTORS naming a
``.npy`` file of float32[n, d] they are real ones. Every line checks recall@20 >= .98 against float32 brute force.
"""

from __future__ import annotations

import os
from functools import lru_cache

import numpy as np
import pytest
from numpy.typing import NDArray
from pytest_benchmark.fixture import BenchmarkFixture

from backscroll_scoring import hnsw
from backscroll_scoring.index import (
    GraphIndex,
    ScanIndex,
    Signs,
    VectorIndex,
    VectorRows,
    normalised,
    padded,
)

DIMS, LIMIT, QUERIES = 512, 20, 40
SIZES = (1_000, 4_000, 10_000, 30_000)
GRAPH_SIZES = (4_000, 10_000)


@lru_cache(1)
def vectors() -> NDArray[np.float32]:
    """float32[at least the largest size, d]: unit vectors, the last `QUERIES` of them questions."""
    count = max(SIZES) + QUERIES
    if path := os.environ.get("BACKSCROLL_VECTORS"):
        return normalised(np.load(path)[:count].astype(np.float32))
    rng = np.random.default_rng(1)
    strong = rng.normal(size=(count, 48)) * np.linspace(1.0, 0.2, 48)
    made = strong @ rng.normal(size=(48, DIMS)) + rng.normal(size=DIMS)
    return normalised((made + 0.3 * rng.normal(size=made.shape)).astype(np.float32))


def index_of(kind: str, rows: VectorRows, made: NDArray[np.float32]) -> VectorIndex:
    """An index over these rows."""
    n = len(made)
    slots = np.arange(n, dtype=np.int32)
    exact = ScanIndex(rows, slots)
    if kind == "exact":
        return exact
    centre = padded(made[:1_024].mean(axis=0, keepdims=True))[0]
    signs = ScanIndex(rows, slots, Signs.of(padded(made), centre))
    if kind == "signs":
        return signs
    graph = hnsw.Graph.build(made, np.arange(n, dtype=np.int64))
    return GraphIndex(graph, np.arange(n + 1) < n, np.empty(0, np.int64), exact, signs)


@pytest.mark.parametrize(
    ("kind", "size"),
    [("exact", n) for n in SIZES]
    + [("signs", n) for n in SIZES[1:]]
    + [("hnsw", n) for n in GRAPH_SIZES],
)
@pytest.mark.benchmark(group="vectors")
def test_search(benchmark: BenchmarkFixture, kind: str, size: int) -> None:
    """Top 20 of a channel of `size` messages."""
    everything = vectors()
    made, questions = everything[:size].copy(), everything[-QUERIES:]
    index = index_of(kind, VectorRows.of(made), made)
    everything_asked = np.arange(size)
    hits = 0
    for question in questions:
        truth = set(np.argsort(-(made @ question), kind="stable")[:LIMIT].tolist())
        rows, _, exhaustive = index.search(question, LIMIT, everything_asked)
        assert exhaustive == (kind == "exact")
        hits += len(truth & set(rows.tolist()))
    recall = hits / (LIMIT * QUERIES)
    benchmark.extra_info["recall@20"] = recall
    assert recall >= 0.98, recall
    benchmark(index.search, questions[0], LIMIT, everything_asked)
