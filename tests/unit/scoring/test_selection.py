"""Steps of a selection in both engines. Also run with NUMBA_DISABLE_JIT=1."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll_scoring import (
    Interleaved,
    Rules,
    choose,
    choose_far,
    choose_near,
    give_places,
    kernels_fusion,
    kernels_selection,
    older_marks,
    spread,
)
from tests.reference import selection as reference_selection
from tests.reference import united as reference_united

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
        older_marks(author, asker, rows, first, bits, flags, engine=engine) for engine in ENGINES
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


@TWINS
@given(
    ranked(), st.floats(0, 1), st.integers(0, 10), st.integers(0, 10), st.integers(0, 9),
    st.integers(-1, 2), st.data(),
)  # fmt: skip
def test_choosing_of_the_last_lines(given_ranking, least_score, least, floor, older, asker, data):
    """One kernel comes to what the older rows' marks and the choice come to one after the other."""
    scores, order, stages = given_ranking
    m = len(scores)
    order = np.array([*order, *(set(range(m)) - set(order.tolist()))], np.int64)
    rows = np.arange(m, dtype=np.int32)
    author = np.array(data.draw(st.lists(st.integers(0, 2), min_size=m, max_size=m)), np.int32)
    n_older = min(older, m)
    fast, plain = (
        choose_near(
            scores, order, rows, author, Rules(n_older, asker, 1, 3, least_score, least, floor),
            engine=engine,
        )
        for engine in ENGINES
    )  # fmt: skip
    for one, other in zip(fast, plain, strict=True):
        np.testing.assert_array_equal(one, other)
    chosen, _, _ = choose(scores, order, stages, least_score, least=least, floor=floor)
    np.testing.assert_array_equal(fast[0], chosen)
    assert (fast[1][n_older:] == 2).all()
    assert set(fast[1][:n_older].tolist()) <= {8, 16}


@TWINS
@given(
    ranked(), st.lists(st.integers(0, 12), unique=True, max_size=8), st.floats(0, 1), st.integers(0, 10),
    st.integers(0, 10), st.integers(0, 9), st.integers(-1, 2),
    st.lists(st.booleans(), min_size=1, max_size=4), st.data(),
)  # fmt: skip
def test_choosing_of_both_lists(
    given_ranking, far, least_score, least, floor, older, asker, pattern, data
):
    """One kernel comes to what unions, turns and the choice come to one after the other."""
    scores, order, _ = given_ranking
    m, k = len(scores), len(far)
    order = np.array([*order, *(set(range(m)) - set(order.tolist()))], np.int64)
    near = np.arange(m, dtype=np.int32) + 2
    author = np.array(data.draw(st.lists(st.integers(0, 2), min_size=16, max_size=16)), np.int32)

    def marks():
        return np.array(data.draw(st.lists(st.booleans(), min_size=k, max_size=k)), np.bool_)

    linear = np.array(data.draw(st.lists(st.floats(-1, 4), min_size=k, max_size=k)))
    recalled = np.array(far, np.int32), linear, marks(), marks()
    fast, plain = (
        choose_far(
            (near, order, scores), recalled, author, (5.8, -9.1), np.array(pattern),
            Rules(min(older, m), asker, 1, 3, least_score, least, floor), kernel=engine.choose_far,
        )
        for engine in (kernels_fusion, reference_united)
    )  # fmt: skip
    np.testing.assert_allclose(fast.scores, plain.scores, rtol=1e-14)
    for one, other in zip(fast[:3] + fast[4:], plain[:3] + plain[4:], strict=True):
        np.testing.assert_array_equal(one, other)
    assert fast.rows.tolist() == sorted({*near.tolist(), *far})
    assert fast.references.tolist() == [row not in near for row in fast.rows]
    assert set(far) <= {
        row for row, bits in zip(fast.rows.tolist(), fast.bits.tolist(), strict=True) if bits >= 8
    }
    if not least_score:
        assert sorted(fast.chosen) == list(range(len(fast.rows)))


@TWINS
@given(ranked(), st.lists(st.floats(-1, 4), min_size=1, max_size=5), st.data())
def test_places_of_two_lists(given_ranking, linear, data):
    """Who has a place by the second list has its probability and its stage; the others keep theirs."""
    scores, order, stages = given_ranking
    by_first = np.array([data.draw(st.booleans()) for _ in order], np.bool_)
    places = np.array([data.draw(st.integers(0, len(linear) - 1)) for _ in order], np.int32)
    both = Interleaved(order.astype(np.int32), by_first, places)
    fast, plain = (
        give_places(both, np.array(linear), scores, stages, 9, (5.8, -9.1), engine=engine)
        for engine in ENGINES
    )
    np.testing.assert_array_equal(fast[0], order)
    np.testing.assert_allclose(fast[1], plain[1], rtol=1e-14)
    np.testing.assert_array_equal(fast[2], plain[2])
    kept = np.setdiff1d(np.arange(len(scores)), order[~by_first])
    np.testing.assert_array_equal(fast[1][kept], scores[kept])
    assert (fast[2][order[~by_first]] == 9).all()


@TWINS
@given(st.sets(st.integers(0, 12), max_size=9), st.sets(st.integers(0, 12), max_size=9), st.data())
def test_what_is_known_of_some(rows, some, data):
    """Scores come to their rows, the order to places; what is no candidate is told."""
    k = len(some)
    order = np.array(data.draw(st.permutations(range(k))), np.int64)
    scores = np.array(data.draw(st.lists(st.floats(0, 1), min_size=k, max_size=k)))
    stages = np.array(data.draw(st.lists(st.integers(0, 3), min_size=k, max_size=k)), np.uint8)
    listed, those = (np.array(sorted(one), np.int32) for one in (rows, some))
    fast, plain = (spread(listed, those, order, scores, stages, engine=one) for one in ENGINES)
    assert (fast is None) == (plain is None) == (not some <= rows)
    if fast is not None:
        for one, other in zip(fast, plain, strict=True):
            np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(listed[fast[0]], those[order])
        np.testing.assert_array_equal(fast[1][fast[0]], scores[order])
        assert np.count_nonzero(fast[1]) == np.count_nonzero(scores)
