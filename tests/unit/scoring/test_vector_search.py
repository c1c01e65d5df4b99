"""The kernels that search vectors find what a look at all finds. Also run with the JIT off (test_compilation)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll_scoring import index as indexes
from backscroll_scoring.index import ScanIndex, Signs, VectorRows, normalised, padded
from tests.reference.vectors import similarities


@given(
    *(st.integers(0, 40), st.integers(1, 150), st.booleans(), st.integers(1, 60)),
    *(st.integers(1, 9), st.integers(0, 2**32 - 1)),
)
def test_what_is_most_similar(
    n: int, dims: int, by_signs: bool, limit: int, least: int, seed: int
) -> None:
    """Vectors that repeat, so that distances and cosines do; messages in any order, without a vector, out of range."""
    rng = np.random.default_rng(seed)
    few = normalised(rng.normal(size=(12, dims)).astype(np.float32))
    vectors = few[rng.integers(0, 12, size=n)]
    slot_of = np.full(n + 5, -1, np.int32)
    slot_of[rng.permutation(n + 5)[:n]] = np.arange(n)
    centre = padded(few.mean(axis=0, keepdims=True))[0]
    signs = Signs.of(padded(vectors), centre) if by_signs else indexes.NO_SIGNS
    seqs = rng.permutation(np.arange(-2, n + 8))[: rng.integers(0, n + 10)]
    query = rng.normal(size=dims).astype(np.float32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(indexes, "SIGN_RERANK_LEAST", least)
        index = ScanIndex(VectorRows.of(vectors), slot_of, signs)
        found, similar = index.search(query, limit, seqs), index.similarities(query, seqs)
    values, exact = similarities(index, query, seqs, least, indexes.SIGN_RERANK_SHARE)
    best = sorted(np.flatnonzero(exact), key=lambda place: -values[place])[:limit]
    assert np.allclose(found[1], values[best], atol=1e-5)
    assert found[2] == similar.exhaustive == (exact | np.isnan(values)).all()
    slots = [slot_of[seqs[place]] for place in found[0]]
    same = [slot_of[seqs[place]] for place in best]
    assert np.allclose(
        vectors[slots], vectors[same]
    )  # two whose cosines are equal but for rounding may change places
    assert np.allclose(similar.values, values, atol=1e-5, equal_nan=True)
    assert np.array_equal(similar.values[found[0]], found[1])
    inside = (seqs >= 0) & (seqs < len(slot_of))
    has_one = np.zeros(len(seqs), np.bool_)
    has_one[inside] = slot_of[seqs[inside]] >= 0
    assert similar.known == has_one.sum()
    assert np.array_equal(np.isnan(similar.values), ~has_one)
    assert similar.exhaustive or by_signs


@given(
    *(st.integers(500, 1_100), st.integers(1, 90), st.integers(1, 200)),
    *(st.sampled_from([0, 1, 40]), st.integers(0, 2**32 - 1)),
)
@settings(max_examples=10)
def test_messages_in_a_row_are_found_like_any_other(
    n: int, first: int, missing: int, moved: int, seed: int
) -> None:
    """Whole words of slots at once, from any slot on, with some that have none and some in another order between."""
    rng = np.random.default_rng(seed)
    vectors = normalised(rng.normal(size=(n, 24)).astype(np.float32))
    centre = padded(vectors.mean(axis=0, keepdims=True))[0]
    slot_of = np.full(n + first, -1, np.int32)
    slot_of[first:] = np.arange(n)
    slot_of[first + rng.integers(0, n, size=moved)] = -1
    seqs = np.arange(first, first + n)
    seqs = np.delete(seqs, rng.integers(0, n, size=moved))[missing:]
    seqs[: 2 * moved] = seqs[: 2 * moved][::-1]
    signs = Signs.empty(centre, 200)
    signs.add(0, padded(vectors[:100]))
    signs = signs.with_room(n)
    for start in range(100, n, 90):
        signs.add(start, padded(vectors[start : start + 90]))
    assert np.array_equal(signs.planes, Signs.of(padded(vectors), centre).planes)
    query = rng.normal(size=24).astype(np.float32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(indexes, "SIGN_RERANK_LEAST", 40)
        index = ScanIndex(VectorRows.of(vectors), slot_of, signs)
        found, similar = index.search(query, 15, seqs), index.similarities(query, seqs)
    values, exact = similarities(index, query, seqs, 40, indexes.SIGN_RERANK_SHARE)
    best = sorted(np.flatnonzero(exact), key=lambda place: -values[place])[:15]
    assert found[0].tolist() == best
    assert not any((found[2], similar.exhaustive))
    assert np.allclose(similar.values, values, atol=1e-5, equal_nan=True)


@given(st.integers(1, 150), st.integers(0, 2**32 - 1))
def test_codes_are_near_what_they_stand_for(dims: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    vectors = normalised(rng.normal(size=(20, dims)).astype(np.float32))
    one_a_row = np.arange(20)
    found = ScanIndex(VectorRows.of(vectors), one_a_row.astype(np.int32)).similarities(
        vectors[3] * 7, one_a_row
    )
    assert np.allclose(found.values, vectors @ vectors[3], atol=0.02)


def test_of_equal_ones_the_later_place_comes_first() -> None:
    """What decides is where a message is named, not where its vector lies."""
    vectors = normalised(np.array([[1, 0], [0, 1], [1, 0], [1, 0]], np.float32))
    slot_of = np.array([3, 1, 0, 2], np.int32)
    index = ScanIndex(VectorRows.of(vectors), slot_of)
    assert index.search(vectors[0], 2, np.array([2, 1, 0, 3]))[0].tolist() == [3, 2]
    assert index.search(vectors[0], 9, np.array([3, 0, 2, 1]))[0].tolist() == [2, 1, 0, 3]
    assert index.search(vectors[0], 0, np.array([3, 0]))[0].tolist() == []
