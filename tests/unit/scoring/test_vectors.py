"""Searching vectors: the exact index is exact, the others nearly so (law 2)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from backscroll_scoring import hnsw
from backscroll_scoring.index import (
    GraphIndex,
    ScanIndex,
    Signs,
    VectorRows,
    normalised,
    padded,
)


def clustered(n: int, dims: int = 128, seed: int = 7) -> np.ndarray:
    """Unit vectors as embedders make them: a common part, a few strong directions, and a little of everything."""
    rng = np.random.default_rng(seed)
    strong = rng.normal(size=(n, 24)) * np.linspace(1.0, 0.3, 24)
    made = strong @ rng.normal(size=(24, dims)) + rng.normal(size=dims)
    return normalised((made + 0.1 * rng.normal(size=made.shape)).astype(np.float32))


def one_a_row(vectors: np.ndarray) -> np.ndarray:
    return np.arange(len(vectors), dtype=np.int32)


def exact_of(vectors: np.ndarray) -> ScanIndex:
    return ScanIndex(VectorRows.of(vectors), one_a_row(vectors))


def signs_of(vectors: np.ndarray) -> ScanIndex:
    centre = padded(vectors.mean(axis=0, keepdims=True))[0]
    signs = Signs.of(padded(vectors), centre)
    return ScanIndex(VectorRows.of(vectors), one_a_row(vectors), signs)


def recall(index, vectors: np.ndarray, queries: np.ndarray, seqs: np.ndarray) -> float:
    """Share of the true 20 nearest of the messages asked about that a search finds."""
    hits = 0
    for query in queries:
        places, values, _ = index.search(query, 20, seqs)
        assert np.all(np.diff(values) <= 0)
        truth = np.argsort(-(vectors[seqs] @ query))[:20]
        hits += len(set(truth.tolist()) & set(places.tolist()))
    return hits / (20 * len(queries))


def some_of(vectors: np.ndarray, share: float) -> np.ndarray:
    return np.flatnonzero(np.random.default_rng(1).random(len(vectors)) < share)


def queries_for(vectors: np.ndarray, count: int = 25) -> np.ndarray:
    rng = np.random.default_rng(3)
    near = vectors[rng.integers(len(vectors), size=count)]
    return normalised((near + 0.04 * rng.normal(size=near.shape)).astype(np.float32))


def test_the_exact_index_finds_the_nearest() -> None:
    """int8 codes with a scale for every 64 dimensions lose next to nothing."""
    vectors = clustered(2_000, 512)
    assert recall(exact_of(vectors), vectors, queries_for(vectors), some_of(vectors, 1.0)) >= 0.98


@pytest.mark.parametrize("share", [1.0, 0.3])
def test_signs_find_nearly_all(share: float) -> None:
    """Law 2: recall@20 >= .98 of the exact search, also among some of the rows; and it says so."""
    vectors = clustered(12_000, 256)
    index, asked = signs_of(vectors), some_of(vectors, share)
    assert recall(index, vectors, queries_for(vectors), asked) >= 0.98
    assert not index.search(vectors[0], 5, asked)[2]


def test_a_few_rows_are_looked_at_exactly() -> None:
    """Law 2: where signs would save nothing, an index that has them finds what the exact one finds, and says so."""
    vectors = clustered(6_000, 128)
    asked = some_of(vectors, 0.08)
    for query in queries_for(vectors, 5):
        found, exact = (
            one.search(query, 20, asked) for one in (signs_of(vectors), exact_of(vectors))
        )
        assert found[2]
        assert found[0].tolist() == exact[0].tolist()


def test_estimates_stay_below_what_is_known() -> None:
    vectors = clustered(6_000, 128)
    found = signs_of(vectors).similarities(vectors[11], np.arange(6_000))
    true = vectors @ vectors[11]
    assert not found.exhaustive
    assert np.isfinite(found.values).all()
    assert int(np.argmax(found.values)) == 11
    assert np.corrcoef(found.values, true)[0, 1] > 0.8


@pytest.mark.parametrize("share", [1.0, 0.5, 0.01])
def test_the_graph_finds_nearly_all(share: float) -> None:
    """Law 2: with an exact tail behind it, and among few allowed rows, where the rest of the index takes over."""
    vectors = clustered(5_000, 64)
    exact = exact_of(vectors)
    covered = np.arange(5_001) < 4_800
    labels = np.arange(4_800, dtype=np.int64)
    graph = hnsw.Graph.build(exact.rows.vectors()[:4_800, :64].copy(), labels)
    index = GraphIndex(graph, covered, np.arange(4_800, 5_000), exact, exact)
    asked = some_of(vectors, share)
    assert recall(index, vectors, queries_for(vectors), asked) >= 0.98
    last = int(asked[-1])
    assert last >= 4_800
    assert asked[index.search(vectors[last], 1, asked)[0]].tolist() == [last]
    unknown = np.array([7_000, 4_900, 6_000, 12])
    assert unknown[index.search(vectors[12], 9, unknown)[0]].tolist() == [12, 4_900]


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
    vector = np.array(bad, np.float32)
    with pytest.raises(ValueError, match="zero or not finite"):
        normalised(vector[None, :])
    for engine in (exact_of(np.eye(2, dtype=np.float32)), signs_of(np.eye(2, dtype=np.float32))):
        with pytest.raises(ValueError, match="zero, not finite"):
            engine.search(vector, 1, np.arange(2))
        with pytest.raises(ValueError, match="zero, not finite"):
            engine.similarities(vector, np.arange(2))


def test_a_question_longer_than_the_rows_is_refused() -> None:
    with pytest.raises(ValueError, match="too long"):
        exact_of(np.eye(3, dtype=np.float32)).search(np.ones(65, np.float32), 1, np.arange(2))


def test_tiny_and_huge_vectors_have_a_direction() -> None:
    for scale in (1e-38, 1e38):
        vector = np.full(4, scale, np.float32)
        assert np.allclose(normalised(vector[None, :]), 0.5)
        found = exact_of(np.eye(4, dtype=np.float32)).search(vector, 1, np.arange(4))
        assert found[1].tolist() == pytest.approx([0.5], abs=0.01)


def test_a_graph_is_searched_while_it_grows() -> None:
    """What was in it is found all the time, and what came is found behind; what is forgotten never again."""
    vectors = clustered(4_000, 64)
    rows, labels = VectorRows.of(vectors), np.arange(4_000, dtype=np.int64)
    graph = hnsw.Graph(64)
    missed = []

    def add() -> None:
        for start in range(1_000, 4_000, 100):
            part = slice(start, start + 100)
            graph.add(VectorRows(rows.codes[part], rows.scales[part]), labels[part])

    graph.add(VectorRows(rows.codes[:1_000], rows.scales[:1_000]), labels[:1_000])
    with ThreadPoolExecutor(1) as thread:
        growing = thread.submit(add)
        while not growing.done():
            missed += [n for n in range(0, 1_000, 97) if n not in graph.search(vectors[n], 32)]
        growing.result()
    assert len(graph) == 4_000
    assert not missed
    assert all(n in graph.search(vectors[n], 32) for n in range(0, 4_000, 97))
    graph.forget(np.arange(0, 4_000, 97))
    assert len(graph) == 4_000 - 42
    assert not any(n in graph.search(vectors[n], 32) for n in range(0, 4_000, 97))
    _, kept = graph.rows()
    assert not kept.codes[::97].any()


def test_a_graph_takes_what_it_is_said_to_take() -> None:
    """No second copy of float32: 6 KB a vector of 512 numbers are never reached."""
    graph = hnsw.Graph(512)
    vectors = clustered(2_000, 512)
    graph.add(VectorRows.of(vectors), np.arange(2_000, dtype=np.int64))
    assert graph.nbytes / 2_000 < 1_300
