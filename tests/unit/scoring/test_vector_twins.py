"""The kernels that compare vectors are their twins. Also run with the JIT off (test_compilation)."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from backscroll_scoring import kernels_vectors, reference_vectors
from backscroll_scoring.index import (
    ExactIndex,
    SignIndex,
    VectorRows,
    normalised,
    padded,
    query_blocks,
    sign_bits,
)


@given(st.integers(0, 40), st.integers(1, 150), st.integers(0, 2**32 - 1))
def test_kernels_and_twins_agree(n: int, dims: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    vectors = normalised(rng.normal(size=(n + 1, dims)).astype(np.float32))
    rows, query = VectorRows.of(vectors[:n]), query_blocks(vectors[n])
    fast, plain = np.empty(n, np.float32), np.empty(n, np.float32)
    kernels_vectors.dots(rows.codes, rows.scales, query, fast)
    reference_vectors.dots(rows.codes, rows.scales, query, plain)
    assert np.allclose(fast, plain, atol=1e-5)
    assert np.allclose(fast, vectors[:n] @ vectors[n], atol=0.02)
    some = rng.integers(0, max(n, 1), size=5 if n else 0).astype(np.int32)
    at_fast, at_plain = np.empty(len(some), np.float32), np.empty(len(some), np.float32)
    kernels_vectors.dots_at(rows.codes, rows.scales, query, some, at_fast)
    reference_vectors.dots_at(rows.codes, rows.scales, query, some, at_plain)
    assert np.allclose(at_fast, at_plain, atol=1e-5)
    assert np.array_equal(at_fast, fast[some])


@given(st.integers(0, 60), st.integers(1, 3), st.integers(1, 30), st.integers(0, 2**32 - 1))
def test_sign_candidates_and_their_twin_agree(n: int, words: int, limit: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    few = rng.integers(0, 2**64, size=(4, words), dtype=np.uint64)  # so that distances repeat
    signs = few[rng.integers(0, 4, size=n)]
    query = rng.integers(0, 2**64, size=words, dtype=np.uint64)
    allowed = rng.random(n) < 0.8
    found = []
    for engine in (kernels_vectors, reference_vectors):
        distances, out = np.empty(n, np.int16), np.empty(n, np.int32)
        count = engine.sign_candidates(signs, query, allowed, limit, distances, out)
        found.append((distances.tolist(), out[:count].tolist()))
    assert found[0] == found[1]
    near = found[0][1]
    assert near == sorted(set(near))
    assert (len(near) > 0) == bool(allowed.any())


def test_both_engines_of_an_index_agree() -> None:
    vectors = normalised(np.random.default_rng(5).normal(size=(60, 70)).astype(np.float32))
    rows, centre = VectorRows.of(vectors), padded(vectors.mean(axis=0, keepdims=True))[0]
    signs = sign_bits(padded(vectors), centre)
    allowed, query = np.ones(60, np.bool_), query_blocks(vectors[5])
    for fast, plain in (
        (ExactIndex(rows), ExactIndex(rows, use_reference=True)),
        (SignIndex(rows, signs, centre), SignIndex(rows, signs, centre, use_reference=True)),
    ):
        assert (
            fast.search(query, 7, allowed)[0].tolist()
            == plain.search(query, 7, allowed)[0].tolist()
        )
        values = fast.similarities(query, allowed).values, plain.similarities(query, allowed).values
        assert np.allclose(*values, atol=1e-5)
