"""The score for long memory: what it comes to, and what each factor is for. Also run with the JIT off."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll_scoring import (
    MEMORY_FACTORS,
    Matches,
    MemoryCues,
    score_memory,
    top_order,
)
from backscroll_scoring.layout import BESIDE, CHUNK
from tests.kit.examples import examples
from tests.reference.memory import memory_factors

TWINS = settings(deadline=None, max_examples=examples(150))
HOUR = 3_600_000


def score(n, cues=None, *, scores=(), gap_ms=60_000, asks=(), eligible=None):
    """Rows a minute apart by users 0, 1, 0, 1 …; term 0 where `scores` is above 0."""
    values = np.zeros(n, np.float32)
    values[: len(scores)] = scores
    matches = known(values, (values > 0).astype(np.uint64), np.ones(1, np.float32))
    asked = np.zeros(n, np.uint8)
    asked[list(asks)] = 1
    rows = np.arange(n, dtype=np.int32)
    return score_memory(
        matches, rows * np.int64(gap_ms), rows % 2, asked,
        np.ones(n, np.uint8) if eligible is None else np.array(eligible, np.uint8),
        cues or MemoryCues(), rows=rows,
    )  # fmt: skip


def known(scores, cover, idf):
    """Matches of rows that are all told of."""
    return Matches(scores, cover, idf, np.ones(-(-len(scores) // CHUNK), np.bool_))


def part(scored, factor):
    """The shares of one factor, row by row."""
    return scored.shares[:, MEMORY_FACTORS.index(factor)]


@st.composite
def asked(draw):
    n = draw(st.integers(0, 40))

    def column(values, dtype, empty=False):
        size = 0 if empty and draw(st.booleans()) else n
        return np.array(draw(st.lists(values, min_size=size, max_size=size)), dtype)

    terms = draw(st.integers(0, 64))
    cover = column(st.integers(0, 2**terms - 1) | st.just(0), np.uint64)
    scores = column(st.floats(0, 30, width=32) | st.just(0.0), np.float32)
    weight = st.just(0.0) | st.floats(2**-10, 9, width=32)
    idf = draw(st.lists(weight, min_size=terms, max_size=terms))
    gaps = column(st.sampled_from([0, 60_000, HOUR - 1, HOUR, 9 * HOUR]), np.int64)
    spans = draw(st.lists(st.tuples(st.integers(-3, n + 3), st.integers(-3, n + 3)), max_size=3))
    flags = st.integers(0, 1)
    cues = MemoryCues(
        dense=column(st.floats(-1, 1, width=32) | st.just(np.nan), np.float32, empty=True),
        speakers=np.array(sorted(draw(st.sets(st.integers(0, 4), max_size=2))), np.int32),
        asker=draw(st.integers(-1, 4)),
        names_asker=column(flags, np.uint8, empty=True),
        date_spans=np.array(spans, np.int32).ravel(),
        date_values=np.array([0.5] * len(spans), np.float32),
        has_time=column(flags, np.uint8, empty=True),
        has_number=column(flags, np.uint8, empty=True),
    )
    return (
        known(scores, cover, np.array(idf, np.float32)),
        np.cumsum(gaps), column(st.integers(0, 4), np.int32), column(flags, np.uint8), column(flags, np.uint8), cues,
    )  # fmt: skip


@TWINS
@given(asked(), st.data())
def test_factors(question, data):
    """Shares and totals are those of the formula, and the shares of a row add up to its total."""
    n, eligible = len(question[4]), question[4]
    more = data.draw(st.lists(st.integers(0, n - 1), max_size=9) if n else st.just([]))
    wanted = np.array([*range(n), *more], np.int32)
    wanted.flags.writeable = False
    fast = score_memory(*question, rows=wanted)
    shares = memory_factors(*question)[wanted] * fast.weights
    totals = np.where(question[4][wanted] != 0, shares.sum(1), -np.inf)
    assert fast.shares.shape == (len(wanted), len(MEMORY_FACTORS))
    np.testing.assert_allclose(fast.shares, shares, rtol=2e-4, atol=2e-5)
    np.testing.assert_allclose(fast.shares[:, 5:], shares[:, 5:], rtol=1e-12)
    np.testing.assert_allclose(fast.totals, totals, rtol=2e-4, atol=1e-4)
    live = np.isfinite(fast.totals)
    np.testing.assert_array_equal(live, eligible[wanted] != 0)
    np.testing.assert_allclose(fast.shares.sum(1)[live], fast.totals[live], 1e-12, 1e-12)


@pytest.mark.parametrize("n", [511, 512, 513, 1031])
@pytest.mark.parametrize("terms", [3, 12])
def test_many_rows(n, terms):
    """Rows are looked at by blocks: what stands beside one may be in another."""
    draw = np.random.default_rng(n + terms)
    dense = draw.normal(0.3, 0.1, n).astype(np.float32)
    dense[draw.random(n) < 0.1] = np.nan
    cover = np.where(draw.random(n) < 0.2, draw.integers(0, 2**terms, n), 0).astype(np.uint64)
    marks = (draw.random((4, n)) < 0.3).astype(np.uint8)
    question = (
        known(cover.astype(np.float32) / 100, cover, draw.random(terms, np.float32)),
        np.cumsum(draw.choice([60_000, HOUR], n, p=[0.8, 0.2])),
        draw.integers(0, 4, n).astype(np.int32), marks[0], 1 - marks[1] * marks[2],
        MemoryCues(
            dense, np.array([2], np.int32), 1, marks[1],
            np.array([500, 600], np.int32), np.array([0.5], np.float32), marks[2], marks[3],
        ),
    )  # fmt: skip
    rows = np.arange(n, dtype=np.int32)
    fast = score_memory(*question, rows=rows)
    shares = memory_factors(*question)[rows] * fast.weights
    totals = np.where(question[4][rows] != 0, shares.sum(1), -np.inf)
    np.testing.assert_allclose(fast.shares, shares, rtol=2e-4, atol=2e-5)
    np.testing.assert_allclose(fast.totals, totals, rtol=2e-4, atol=1e-4)


@settings(TWINS, max_examples=60)
@given(st.sets(st.integers(-6, 6), max_size=4), st.integers(0, 2**32), st.sampled_from([3, 12]))
def test_rows_passed_over(beside, seed, terms):
    """Few rows have a term, beside the ends of what is passed over together: what they give others is not lost."""
    n, draw = 5 * CHUNK + 3, np.random.default_rng(seed)
    cover, scores = draw.integers(1, 2**terms, n, np.uint64), draw.random(n, np.float32) * 9
    ends = [CHUNK * end for end in (0, 1, 3, 4, 5)]
    matching = [row for end in ends for one in beside if 0 <= (row := end + one) < n]
    active = np.zeros(6, np.bool_)
    for row in matching:
        active[max(0, row - BESIDE) // CHUNK : min(n - 1, row + BESIDE) // CHUNK + 1] = True
    none = np.repeat(active, CHUNK)[:n]  # of the others the kernel may not read what stands there
    none[matching] = False
    cover[none], scores[none] = 0, 0
    question = (
        Matches(scores, cover, draw.random(terms, np.float32), active),
        np.cumsum(draw.choice([60_000, HOUR], n, p=[0.8, 0.2])),
        draw.integers(0, 3, n).astype(np.int32), (draw.random(n) < 0.3).astype(np.uint8),
        (draw.random(n) < 0.9).astype(np.uint8), MemoryCues(draw.random(n, np.float32)),
    )  # fmt: skip
    rows = np.arange(n, dtype=np.int32)
    fast = score_memory(*question, rows=rows)
    shares = memory_factors(*question)[rows] * fast.weights
    totals = np.where(question[4][rows] != 0, shares.sum(1), -np.inf)
    np.testing.assert_allclose(fast.shares, shares, rtol=2e-4, atol=2e-5)
    np.testing.assert_allclose(fast.totals, totals, rtol=2e-4, atol=1e-4)
    best = score_memory(*question, limit=40)
    order = top_order(fast.totals, rows, limit=40)
    assert best.rows.tolist() == order[np.isfinite(fast.totals[order])].tolist()
    assert best.found_by[0].tolist() == [row in matching and scores[row] > 0 for row in best.rows]


@settings(TWINS, max_examples=60)
@given(asked(), st.integers(0, 45))
def test_the_best(question, limit):
    """The best rows are those that a look at all of them finds, in the order of `top_order`."""
    every = np.arange(len(question[4]), dtype=np.int32)
    totals = score_memory(*question, rows=every).totals
    best = score_memory(*question, limit=limit)
    order = top_order(totals, every, limit=limit)
    order = order[np.isfinite(totals[order])]
    np.testing.assert_array_equal(best.rows, order)
    np.testing.assert_array_equal(best.totals, totals[order])
    again = score_memory(*question, rows=order)
    np.testing.assert_array_equal(best.shares, again.shares)


def long_history(n, levels):
    """Similarities of `n` rows, of few different values: many are as good as each other."""
    dense = np.random.default_rng(5).integers(0, levels, n).astype(np.float32)
    none = np.zeros(n, np.float32), np.zeros(n, np.uint64), np.ones(1, np.float32)
    eligible = (np.arange(n) % 7 > 0).astype(np.uint8)
    rows = np.arange(n, dtype=np.int32)
    return (
        known(*none), rows * np.int64(HOUR), rows % 2, np.zeros(n, np.uint8), eligible,
        MemoryCues(dense=dense),
    )  # fmt: skip


@pytest.mark.parametrize(("n", "levels"), [(64, 90), (650, 3), (650, 400)])
@pytest.mark.parametrize("limit", [1, 10, 64])
def test_the_best_of_many(n, levels, limit):
    """Most rows are passed over by a bound that enough rows reach: the best are the same."""
    question = long_history(n, levels)
    every = np.arange(n, dtype=np.int32)
    totals = score_memory(*question, rows=every).totals
    order = top_order(totals, every, limit=limit)
    best = score_memory(*question, limit=limit)
    np.testing.assert_array_equal(best.rows, order[np.isfinite(totals[order])])


@settings(TWINS, max_examples=20)
@given(st.sets(st.integers(0, 1_599), min_size=1, max_size=6), st.integers(1, 6))
def test_few_stand_out(high, limit):
    """A row that no other of its block comes near is not passed over with it, wherever it stands in it."""
    n = 1_600  # three blocks and a part of one
    dense = np.random.default_rng(len(high)).random(n, np.float32)
    dense[sorted(high)] = 10 + np.arange(len(high))
    question = (*long_history(n, 1)[:-1], MemoryCues(dense=dense))
    question[4][:] = 1
    every = np.arange(n, dtype=np.int32)
    best, totals = score_memory(*question, limit=limit), score_memory(*question, rows=every).totals
    np.testing.assert_array_equal(best.rows, top_order(totals, every, limit=limit))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("limit", [16, 32, 48])
def test_nearest_of_many_blocks(seed, limit):
    """Which of the best by words are among the nearest, where many are as near as each other, or have no vector."""
    n, draw = 1_600, np.random.default_rng(seed)
    dense = draw.integers(0, 12, n).astype(np.float32)
    dense[draw.random(n) < 0.3] = np.nan
    dense[512:1024] = np.nan
    hits = np.zeros(n, np.float32)
    near = np.flatnonzero(dense >= 10)
    hits[draw.choice(near, len(near) // 3, replace=False)] = 9
    question = (
        known(hits, (hits > 0).astype(np.uint64), np.ones(1, np.float32)),
        *(np.arange(n) * np.int64(HOUR), np.zeros(n, np.int32), np.zeros(n, np.uint8)),
        (draw.random(n) < 0.9).astype(np.uint8), MemoryCues(dense),
    )  # fmt: skip
    best = score_memory(*question, limit=limit)
    order = sorted(np.flatnonzero(~np.isnan(dense)), key=lambda row: (dense[row], row))
    nearest = order[len(order) - limit :]
    assert best.found_by[1].tolist() == [row in nearest for row in best.rows]
    assert 0 < np.count_nonzero(best.found_by[1]) < limit


@TWINS
@given(st.data())
def test_nearest(data):
    """By meaning are never more than the limit of all rows; of equal ones the later rows."""
    levels = st.sampled_from([0.0, 0.25, 0.5, 1.0, np.nan])
    dense = np.array(data.draw(st.lists(levels, min_size=1, max_size=30)), np.float32)
    n, limit = len(dense), data.draw(st.integers(0, 12))
    hits = np.array(
        data.draw(st.lists(st.sampled_from([0, 3]), min_size=n, max_size=n)), np.float32
    )
    rows = np.arange(n, dtype=np.int32)
    question = (
        known(hits, (hits > 0).astype(np.uint64), np.ones(1, np.float32)),
        *(rows * np.int64(HOUR), rows % 2, np.zeros(n, np.uint8), np.ones(n, np.uint8)),
        MemoryCues(dense),
    )
    found = score_memory(*question, limit=limit)
    nearest = sorted(np.flatnonzero(~np.isnan(dense)), key=lambda row: (dense[row], row))
    nearest = nearest[max(0, len(nearest) - limit) :]
    assert found.found_by[0].tolist() == [bool(hits[row]) for row in found.rows]
    assert found.found_by[1].tolist() == [row in nearest for row in found.rows]


class TestFactors:
    def test_how_high_all_similarities_are_counts_for_nothing(self):
        """Not for rows without neighbours either: the first and the last of a sitting."""
        low = np.array([0.1, -0.1, 0.3, 0.0, -0.2, 0.2], np.float32)
        for gap_ms in (60_000, HOUR):
            near, far = (
                part(score(6, MemoryCues(dense=dense), gap_ms=gap_ms), "meaning")
                for dense in (low, low + np.float32(0.8))
            )
            assert np.abs(near - far).max() < 1e-5
            assert int(np.argmax(far)) == 2

    def test_neighbours_within_a_sitting(self):
        """A hit lifts the lines around it, not those of another day."""
        words = part(score(7, scores=[0, 0, 0, 8]), "words")
        assert words[3] > words[2] == words[4] > words[1] == words[5] > words[0] == words[6] == 0
        apart = part(score(7, scores=[0, 0, 0, 8], gap_ms=HOUR), "words")
        assert np.flatnonzero(apart).tolist() == [3]

    def test_what_follows_a_matching_question(self):
        """The answer repeats no word of the question it answers."""
        statement, question = (part(score(3, scores=[8], asks=a), "words")[1] for a in ((), (0,)))
        assert question == pytest.approx(2.5 * statement)

    def test_words_are_absolute(self):
        """A weak best hit gets less than a strong one: nothing is stretched to 1."""
        weak, strong = (score(3, scores=[s]).totals[0] for s in (1, 20))
        assert strong > 2 * weak

    def test_the_words_carry_more_without_an_embedder(self):
        dense = MemoryCues(dense=np.zeros(3, np.float32))
        alone, beside = (part(score(3, cues, scores=[9]), "words")[0] for cues in (None, dense))
        assert alone == pytest.approx(1.6 * beside)

    def test_rows_without_a_vector_get_the_mean(self):
        cues = MemoryCues(dense=np.array([0.0, np.nan, 1.0], np.float32))
        meaning = part(score(3, cues, gap_ms=HOUR), "meaning")
        assert meaning.tolist() == pytest.approx([0.0, 0.3, 0.6])

    def test_questions_are_no_answers(self):
        scored = score(2, scores=[5, 5], asks=[1], gap_ms=HOUR)
        assert scored.totals[0] > scored.totals[1]

    def test_dates_speakers_and_the_asker(self):
        cues = MemoryCues(
            speakers=np.array([1], np.int32),
            date_spans=np.array([2, 4, 3, 9], np.int32),
            date_values=np.array([0.5, 0.5], np.float32),
            names_asker=np.array([1, 0, 0, 0, 0, 0], np.uint8),
            has_time=np.array([0, 0, 0, 0, 0, 1], np.uint8),
        )
        scored = score(6, cues)
        shares = dict(zip(MEMORY_FACTORS, scored.shares.T.tolist(), strict=True))
        assert shares["speaker"] == [0, 0.25, 0, 0.25, 0, 0.25]
        assert shares["date"] == [0, 0, 0.25, 0.5, 0.25, 0.25]
        assert np.flatnonzero(shares["asker"]).tolist() == [0]
        assert np.flatnonzero(shares["time_word"]).tolist() == [5]

    def test_what_is_refused(self):
        with pytest.raises(ValueError, match="dense"):
            score(3, MemoryCues(dense=np.zeros(2, np.float32)))
        with pytest.raises(ValueError, match="offsets"):
            score(3, MemoryCues(date_spans=np.zeros(1, np.int32)))
        with pytest.raises(IndexError):
            score(3, MemoryCues(has_time=np.zeros(4, np.uint8)))
        with pytest.raises(ValueError, match="limit"):
            score_memory(*long_history(3, 2), limit=-1)
        for row in (-1, 3):
            with pytest.raises(IndexError):
                score_memory(*long_history(3, 2), rows=np.array([row], np.int32))
