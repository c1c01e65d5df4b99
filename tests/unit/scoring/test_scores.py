"""Kernels against the reference, on whatever hypothesis finds. Also run with NUMBA_DISABLE_JIT=1."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from backscroll_bench.speed.python_factors import reply_path
from backscroll_scoring import (
    ChannelColumns,
    QueryFeatures,
    ScoreParameters,
    ancestors,
    kernels_score,
    look_at_rows,
    roots,
    score_only,
    score_reaching,
    score_rows,
    top_order,
)
from backscroll_scoring.score import _arrays, _asked
from tests.kit.examples import examples
from tests.reference import scores as reference

TWINS = settings(deadline=None, max_examples=examples(150))
NEVER = np.zeros(0, np.int32)


def array(values, dtype, read_only):
    made = np.array(values, dtype)
    made.flags.writeable = not read_only
    return made


@st.composite
def csr(draw, n, ids, read_only):
    lists = [sorted(draw(st.sets(ids, max_size=12))) for _ in range(n)]
    offsets = np.cumsum([0] + [len(row) for row in lists])
    return (
        array(offsets, np.int64, read_only),
        array([i for row in lists for i in row], np.int32, read_only),
    )


@st.composite
def channels(draw):
    """Any length from 0, any parent (cycles, later rows, none, not stored), read-only or not."""
    n = draw(st.integers(0, 12) | st.integers(250, 300))
    if n > 12:  # a few blocks, and cheap to draw
        rng = np.random.default_rng(draw(st.integers(0, 2**32)))
        sizes = rng.integers(0, 6, (2, n)) * (rng.random((2, n)) < 0.7)
        lists = [[np.sort(rng.choice(30, k, replace=False)) for k in row] for row in sizes]
        sets = []
        for row, size in zip(lists, sizes, strict=True):
            sets += [
                np.r_[0, np.cumsum(size)].astype(np.int64),
                np.concatenate(row).astype(np.int32),
            ]
        return ChannelColumns(
            rng.integers(-(10**8), 10**8, n),
            rng.integers(-1, 30, n).astype(np.int32),
            rng.integers(-2, n + 2, n).astype(np.int32),
            *sets,
        )
    read_only = draw(st.booleans())
    rows = st.integers(-3, n + 2)
    times = st.integers(0, 10**7) | st.integers(-(2**53), 2**53)
    words = st.integers(0, 20) | st.integers(4090, 4110) | st.just(2**31 - 1)
    return ChannelColumns(
        array(draw(st.lists(times, min_size=n, max_size=n)), np.int64, read_only),
        array(draw(st.lists(st.integers(-2, 6), min_size=n, max_size=n)), np.int32, read_only),
        array(draw(st.lists(rows, min_size=n, max_size=n)), np.int32, read_only),
        *draw(csr(n, words, read_only)),
        *draw(csr(n, st.integers(0, 6), read_only)),
    )


@st.composite
def questions(draw):
    columns = draw(channels())
    n = len(columns)
    rows = draw(
        st.just(list(range(n)))
        | (st.lists(st.integers(0, n - 1), max_size=20) if n else st.just([]))
    )
    query = QueryFeatures(
        draw(st.integers(0, 10**7) | st.integers(-(2**53), 2**53)),
        draw(st.integers(-2, 6)),
        draw(st.integers(-3, n + 2)),
        array(sorted(draw(st.sets(st.integers(-5, 20) | st.integers(4090, 4110)))), np.int32, True),
        array(sorted(draw(st.sets(st.integers(-3, 6)))), np.int32, draw(st.booleans())),
    )
    share = st.floats(0, 1)
    parameters = draw(
        st.just(ScoreParameters())
        | st.builds(
            ScoreParameters,
            weights=st.tuples(*[st.floats(-50, 50) | st.floats(-1, 1)] * 5),
            decay_per_hour=st.floats(0, 1e4),
            continuity_window_ms=st.integers(1, 10**9),
            chain_decay=share,
            sibling_score=share,
            max_chain_depth=st.integers(0, 20),
            link=st.sampled_from(["identity", "logistic"]),
        )
    )
    return columns, query, array(rows, np.int32, draw(st.booleans())), parameters


@TWINS
@given(questions())
def test_scores(question):
    """S5-06 to S5-12: all factors but the exponential to the bit, the rest nearly; all in range."""
    fast = score_rows(*question)
    factors, shares, linear, scores = reference.score_rows(*question)
    for f in (0, 1, 3, 4):
        np.testing.assert_array_equal(fast.factors[:, f], factors[:, f])
    # 1e-300: where the exponential is a subnormal number, the kernel has 0
    np.testing.assert_allclose(fast.factors[:, 2], factors[:, 2], rtol=1e-15, atol=1e-300)
    np.testing.assert_allclose(fast.shares, shares, rtol=1e-14, atol=1e-298)
    np.testing.assert_allclose(fast.linear, linear, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(fast.scores, scores, rtol=1e-12, atol=1e-12)
    for values in (fast.factors, fast.scores):
        assert ((values >= 0) & (values <= 1)).all()
    np.testing.assert_array_equal(score_only(*question), fast.scores)


def check_reaching(question, scores, least, *, in_order=False):
    places, reached = score_reaching(*question, at_least=least, in_order=in_order)
    np.testing.assert_array_equal(places, np.flatnonzero(scores >= least))
    np.testing.assert_array_equal(reached, scores[places])


@TWINS
@given(questions(), st.data())
def test_scores_from_some_value_on(question, data):
    """S5-12: none that reaches it is missing, each to the bit, whatever is passed over."""
    scores = score_only(*question)
    reached = [score for score in scores.tolist() if score > 0]
    some = st.floats(0.01, 1)
    least = data.draw(st.sampled_from(reached) | some if reached else some)
    check_reaching(question, scores, least)


@pytest.mark.parametrize("mentioned", [(), (3,), (2, 3, 4)])
@pytest.mark.parametrize("step_ms", [1, 50, 700, 60_000])
@pytest.mark.parametrize("parent", [-1, 2_600])
def test_few_rows_of_a_long_channel_are_looked_at(mentioned, step_ms, parent):
    """S5-12: in blocks near and far, whoever answers, is answered, asks or is mentioned may reach it; nobody else."""
    rng = np.random.default_rng(7)
    n = 3_000
    sizes = (rng.random((2, n)) < 0.3).astype(np.int64)
    offsets = np.zeros((2, n + 1), np.int64)
    np.cumsum(sizes, axis=1, out=offsets[:, 1:])
    columns = ChannelColumns(
        np.arange(n) * step_ms,
        rng.integers(0, 40, n).astype(np.int32),
        np.where(rng.random(n) < 0.3, np.arange(n) - 3, -1).astype(np.int32),
        *(offsets[0], rng.integers(0, 50, offsets[0, -1]).astype(np.int32)),
        *(offsets[1], rng.integers(0, 40, offsets[1, -1]).astype(np.int32)),
    )
    named = np.array(mentioned, np.int32)
    asked = QueryFeatures(n * step_ms, 5, parent, np.arange(4, dtype=np.int32), named)
    rows = np.arange(n, dtype=np.int32)
    for some in (rows[::7].copy(), rows[700:2_000], np.delete(rows, 2_700), rows[:1], rows):
        scores = score_only(columns, asked, some)
        check_reaching((columns, asked, some), scores, 0.3, in_order=True)
    for least in (0.2, 0.25, 0.28, 0.3, 0.35, 0.5):
        check_reaching((columns, asked, rows), scores, least)
    places = np.empty(n, np.int32)
    found = kernels_score.may_reach(
        _arrays(columns), rows, *_asked(asked, ScoreParameters()), 0.3, False, places
    )
    assert found < (n if step_ms < 60_000 else n // 10)


@pytest.mark.parametrize("rows", [(-1, 0, 1), (1, 2, 3)])
def test_rows_outside_the_channel_are_refused_in_order_too(rows):
    """S5-12: what is not even read is inside the channel all the same."""
    columns = ChannelColumns(
        *(np.arange(3), np.zeros(3, np.int32), np.full(3, -1, np.int32)),
        *(np.zeros(4, np.int64), NEVER, np.zeros(4, np.int64), NEVER),
    )
    asked = QueryFeatures(3, 0, -1, NEVER, NEVER)
    with pytest.raises(IndexError):
        score_reaching(columns, asked, np.array(rows, np.int32), at_least=0.3, in_order=True)


def test_a_mention_counts_in_a_block_whose_last_row_is_new():
    """S5-12: hours lie between the rows of a block; the old ones need more than their time, the new ones do not."""
    n = 300
    columns = ChannelColumns(
        np.arange(n) * 60_000,
        np.full(n, 2, np.int32),
        np.full(n, -1, np.int32),
        *(np.zeros(n + 1, np.int64), NEVER),
        *(np.arange(n + 1, dtype=np.int64), np.full(n, 5, np.int32)),
    )
    asked = QueryFeatures(n * 60_000 + 400_000, 5, -1, NEVER, np.array([2], np.int32))
    rows = np.arange(n, dtype=np.int32)
    scores = score_only(columns, asked, rows)
    least = 0.285
    assert 0 < (scores >= least).sum() < n
    check_reaching((columns, asked, rows), scores, least)


parents = st.integers(0, 14).flatmap(
    lambda n: st.lists(st.integers(-2, n + 1), min_size=n, max_size=n)
).map(lambda values: np.array(values, np.int32))  # fmt: skip


@TWINS
@given(parents, st.data())
@example(np.array([1, 2, 0], np.int32), None)
@example(np.array([4, 0, 1, 2, 3], np.int32), None)
@example(np.array([0], np.int32), None)
def test_replies(parent, data):
    """S5-06, S5-13: paths and roots, cycles included."""
    for row, root in enumerate(roots(parent).tolist()):
        path = reply_path(parent, row, len(parent))
        end = int(parent[path[-1]])
        assert root == (min(path[path.index(end) :]) if end in path else path[-1])
    parent.flags.writeable = False
    for row in range(len(parent)):
        depth = data.draw(st.integers(0, 16)) if data else 10
        path = reply_path(parent, row, depth + 1)
        assert ancestors(parent, row, depth).tolist() == path[1:]


few = st.sampled_from([0.0, -0.0, 0.25, 0.5, 1.0, -1.0, float("inf"), float("-inf")])


@TWINS
@given(
    st.lists(st.tuples(few | st.floats(allow_nan=False), st.integers(-2, 5))), st.integers(0, 40)
)
def test_top(pairs, limit):
    """Ties and all: the heap gives what sorting gives."""
    scores = array([score for score, _ in pairs], np.float64, True)
    rows = array([row for _, row in pairs], np.int32, True)
    for given_rows in (rows, None):
        fast = top_order(scores, given_rows, limit=limit)
        of = np.zeros(len(scores)) if given_rows is None else rows
        best = sorted(range(len(scores)), key=lambda i: (-scores[i], -of[i], -i))
        assert fast.tolist() == best[:limit]
        np.testing.assert_array_equal(fast, top_order(scores, given_rows)[:limit])


@pytest.mark.parametrize("parameters", [ScoreParameters(), ScoreParameters(link="logistic")])
def test_nothing_to_score(parameters):
    """An empty channel, and no rows of one."""
    none, zero = np.empty(0, np.int64), np.zeros(1, np.int64)
    columns = ChannelColumns(none, NEVER, NEVER, zero, NEVER, zero, NEVER)
    query = QueryFeatures(0, 0, 0, NEVER, NEVER)
    scored = score_rows(columns, query, NEVER, parameters)
    assert scored.factors.shape == scored.shares.shape == (0, 5)
    assert scored.linear.shape == scored.scores.shape == top_order(scored.scores).shape == (0,)


@TWINS
@given(st.lists(st.integers(-2, 12)), st.lists(st.booleans(), max_size=12))
def test_one_look_at_rows(listed, flags):
    """S5-13 to S5-15: whether all that was proposed is eligible, and in order."""
    rows, eligible = array(listed, np.int32, True), array(flags, np.bool_, True)
    found = look_at_rows(rows, eligible)
    assert found[0] == all(0 <= row < len(flags) and flags[row] for row in listed)
    assert found[1] == (listed == sorted(set(listed)) and min(listed, default=0) >= 0)
