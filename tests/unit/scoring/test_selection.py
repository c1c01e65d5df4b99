"""Steps of a selection in both engines. Also run with NUMBA_DISABLE_JIT=1."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll_scoring import choose, kernels_selection, reference_selection, with_older

ENGINES = (kernels_selection, reference_selection)
TWINS = settings(deadline=None, max_examples=150)


@TWINS
@given(
    st.lists(st.integers(0, 2), min_size=1, max_size=9),
    st.sets(st.integers(0, 8), max_size=9),
    st.integers(-1, 2),
    st.integers(0, 30),
    st.lists(st.tuples(st.integers(0, 2**31), st.booleans()), max_size=4),
)
def test_older_rows(authors, older, asker, first, there):
    """The asker's rows are the first source's; with none, the others are."""
    rows = np.array(sorted(row for row in older if row < len(authors)), np.int32)
    author = np.array(authors, np.int32)
    bits = np.array([bit for bit, _ in there], np.uint32)
    flags = np.array([flag for _, flag in there], np.bool_)
    fast, plain = (
        with_older(author, asker, rows, first, bits, flags, engine=engine) for engine in ENGINES
    )
    for one, other in zip(fast, plain, strict=True):
        np.testing.assert_array_equal(one, other)
    own = [authors[row] == asker for row in rows]
    assert fast[2:] == (any(own), not all(own))
    assert [bit == 1 << first for bit in fast[0][: len(rows)]] == (
        own if any(own) else [True] * len(own)
    )


@st.composite
def ranked(draw):
    m = draw(st.integers(0, 9))
    scores = draw(st.lists(st.floats(0, 1), min_size=m, max_size=m))
    order = draw(st.permutations(range(m)))[: draw(st.integers(0, m))]
    stages = draw(st.lists(st.integers(0, 3), min_size=m, max_size=m))
    return np.array(scores), np.array(order, np.int64), np.array(stages, np.uint8)


@TWINS
@given(ranked(), st.floats(0, 1), st.integers(0, 10), st.integers(0, 10), st.sampled_from([-1, 3]))
def test_choosing(given_ranking, least_score, least, floor, kept_stage):
    """Nobody weak is chosen, everybody else is, once; a higher bar takes nobody more."""
    fast, plain = (
        choose(
            *given_ranking, least_score, least=least, floor=floor, kept_stage=kept_stage,
            engine=engine,
        )
        for engine in ENGINES
    )  # fmt: skip
    for one, other in zip(fast, plain, strict=True):
        np.testing.assert_array_equal(one, other)
    chosen, below, weak = fast
    assert sorted(chosen) == np.flatnonzero(~weak).tolist()
    assert not (weak & ~below).any()
