"""Searching vectors: the exact index is exact, the others nearly so (law 2)."""

from __future__ import annotations

import numpy as np
import pytest

from backscroll_scoring import hnsw
from backscroll_scoring.index import (
    ExactIndex,
    GraphIndex,
    SignIndex,
    VectorRows,
    normalised,
    padded,
    query_blocks,
    sign_bits,
)

needs_hnswlib = pytest.mark.skipif(not hnsw.is_available(), reason="a slim install has no hnswlib")


def clustered(n: int, dims: int = 128, seed: int = 7) -> np.ndarray:
    """Unit vectors as embedders make them: a common part, a few strong directions, and a little of everything."""
    rng = np.random.default_rng(seed)
    strong = rng.normal(size=(n, 24)) * np.linspace(1.0, 0.3, 24)
    made = strong @ rng.normal(size=(24, dims)) + rng.normal(size=dims)
    return normalised((made + 0.1 * rng.normal(size=made.shape)).astype(np.float32))


def signs_of(vectors: np.ndarray, **options: bool) -> SignIndex:
    rows = VectorRows.of(vectors)
    centre = padded(vectors.mean(axis=0, keepdims=True))[0]
    return SignIndex(rows, sign_bits(padded(vectors), centre), centre, **options)


def recall(index, vectors: np.ndarray, queries: np.ndarray, allowed: np.ndarray) -> float:
    """Share of the true 20 nearest allowed rows that a search finds."""
    hits = 0
    for query in queries:
        truth = np.where(allowed, vectors @ query, -2.0)
        rows, values, _ = index.search(query_blocks(query), 20, allowed)
        assert np.all(np.diff(values) <= 0)
        assert allowed[rows].all()
        hits += len(set(np.argsort(-truth)[:20].tolist()) & set(rows.tolist()))
    return hits / (20 * len(queries))


def queries_for(vectors: np.ndarray, count: int = 25) -> np.ndarray:
    rng = np.random.default_rng(3)
    near = vectors[rng.integers(len(vectors), size=count)]
    return normalised((near + 0.04 * rng.normal(size=near.shape)).astype(np.float32))


def test_the_exact_index_finds_the_nearest() -> None:
    """int8 codes with a scale for every 64 dimensions lose next to nothing."""
    vectors = clustered(2_000, 512)
    everything = np.ones(len(vectors), np.bool_)
    assert (
        recall(ExactIndex(VectorRows.of(vectors)), vectors, queries_for(vectors), everything)
        >= 0.98
    )


@pytest.mark.parametrize("share", [1.0, 0.3])
def test_signs_find_nearly_all(share: float) -> None:
    """Law 2: recall@20 >= .98 of the exact search, also among some of the rows; and it says so."""
    vectors = clustered(12_000, 256)
    allowed = np.random.default_rng(1).random(len(vectors)) < share
    index = signs_of(vectors)
    assert recall(index, vectors, queries_for(vectors), allowed) >= 0.98
    assert not index.search(query_blocks(vectors[0]), 5, allowed)[2]


def test_estimates_stay_below_what_is_known() -> None:
    vectors = clustered(6_000, 128)
    index, query = signs_of(vectors), query_blocks(vectors[11])
    found = index.similarities(query, np.ones(6_000, np.bool_))
    true = vectors @ vectors[11]
    assert not found.exhaustive
    assert np.isfinite(found.values).all()
    assert int(np.argmax(found.values)) == 11
    assert np.corrcoef(found.values, true)[0, 1] > 0.8


@needs_hnswlib
@pytest.mark.parametrize("share", [1.0, 0.5, 0.01])
def test_the_graph_finds_nearly_all(share: float) -> None:
    """Law 2: with an exact tail behind it, and among few allowed rows, where the rest of the index takes over."""
    vectors = clustered(5_000, 64)
    rows = VectorRows.of(vectors)
    covered = np.arange(5_000) < 4_800
    labels = np.arange(4_800, dtype=np.int64)
    graph = hnsw.Graph.build(rows.vectors()[:4_800, :64].copy(), labels)
    slot_of = np.arange(5_000, dtype=np.int32)
    index = GraphIndex(rows, graph, 64, slot_of, covered, ExactIndex(rows))
    allowed = np.random.default_rng(1).random(5_000) < share
    assert recall(index, vectors, queries_for(vectors), allowed) >= 0.98
    tail = np.flatnonzero(allowed & ~covered)[:1]
    for row in tail:
        assert index.search(query_blocks(vectors[row]), 1, allowed)[0].tolist() == [row]


@needs_hnswlib
def test_the_same_vectors_make_the_same_graph(tmp_path) -> None:
    """Law 2: one thread, one seed, the order of the labels: equal files."""
    vectors, labels = clustered(300, 64), np.arange(300, dtype=np.int64)
    shuffled = np.random.default_rng(2).permutation(300)
    hnsw.Graph.build(vectors, labels).save(str(tmp_path / "a"))
    hnsw.Graph.build(vectors[shuffled].copy(), labels[shuffled].copy()).save(str(tmp_path / "b"))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    with pytest.raises(ValueError, match="number"):
        hnsw.Graph.load(str(tmp_path / "a"), 64, 299)
    assert hnsw.Graph.load(str(tmp_path / "a"), 64, 300).labels().tolist() == list(range(300))


@pytest.mark.parametrize("bad", [[0.0, 0.0], [np.nan, 1.0], [np.inf, 1.0]])
def test_what_has_no_direction_is_refused(bad: list[float]) -> None:
    with pytest.raises(ValueError, match="zero or not finite"):
        query_blocks(np.array(bad, np.float32))


def test_tiny_and_huge_vectors_have_a_direction() -> None:
    for scale in (1e-38, 1e38):
        assert np.allclose(normalised(np.full((1, 4), scale, np.float32)), 0.5)
