"""The score for long memory: kernel against reference, and what each factor is for. Also run with the JIT off."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll_scoring import (
    MEMORY_FACTORS,
    Matches,
    MemoryCues,
    among_nearest,
    kernels_memory,
    reference_memory,
    score_memory,
)

TWINS = settings(deadline=None, max_examples=150)
HOUR = 3_600_000


def score(
    n, kernels=kernels_memory, cues=None, *, scores=(), gap_ms=60_000, asks=(), eligible=None
):
    """Rows a minute apart by users 0, 1, 0, 1 …; term 0 where `scores` is above 0."""
    values = np.zeros(n, np.float32)
    values[: len(scores)] = scores
    matches = Matches(values, (values > 0).astype(np.uint64), np.ones(1, np.float32))
    asked = np.zeros(n, np.uint8)
    asked[list(asks)] = 1
    rows = np.arange(n)
    return score_memory(
        matches, rows * gap_ms, (rows % 2).astype(np.int32), asked,
        np.ones(n, np.uint8) if eligible is None else np.array(eligible, np.uint8),
        cues or MemoryCues(), kernels=kernels,
    )  # fmt: skip


@st.composite
def asked(draw):
    n = draw(st.integers(0, 40))

    def column(values, dtype, empty=False):
        size = 0 if empty and draw(st.booleans()) else n
        return np.array(draw(st.lists(values, min_size=size, max_size=size)), dtype)

    terms = draw(st.integers(0, 64))
    cover = column(st.integers(0, 2**terms - 1) | st.just(0), np.uint64)
    scores = column(st.floats(0, 30, width=32) | st.just(0.0), np.float32)
    idf = draw(st.lists(st.floats(0, 9, width=32), min_size=terms, max_size=terms))
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
        Matches(scores, cover, np.array(idf, np.float32)),
        np.cumsum(gaps), column(st.integers(0, 4), np.int32), column(flags, np.uint8), column(flags, np.uint8), cues,
    )  # fmt: skip


@TWINS
@given(asked())
def test_twins(question):
    """Kernel and reference give the same parts, flags and totals, and the shares of a row add up to its total."""
    fast, plain = (score_memory(*question, kernels=k) for k in (kernels_memory, reference_memory))
    np.testing.assert_allclose(fast.parts, plain.parts, rtol=2e-4, atol=2e-5)
    np.testing.assert_array_equal(fast.flags, plain.flags)
    np.testing.assert_allclose(fast.totals, plain.totals, rtol=2e-4, atol=1e-4)
    rows = np.flatnonzero(np.isfinite(fast.totals)).astype(np.int32)
    shares = fast.shares(rows)
    assert shares.shape == (len(rows), len(MEMORY_FACTORS))
    np.testing.assert_allclose(shares.sum(1), fast.totals[rows], rtol=1e-12, atol=1e-12)
    assert np.isneginf(fast.totals[question[4] == 0]).all()


@TWINS
@given(st.data())
def test_nearest_twins(data):
    """The same rows in both, never more than the limit of all rows; of equal ones the later rows."""
    levels = st.sampled_from([0.0, 0.25, 0.5, 1.0, np.nan])
    dense = np.array(data.draw(st.lists(levels, min_size=1, max_size=30)), np.float32)
    some = st.sets(st.integers(0, len(dense) - 1))
    rows = np.array(sorted(data.draw(some)), np.int32)
    limit = data.draw(st.integers(0, 12))
    fast, plain = (
        among_nearest(dense, rows, limit, kernels=k) for k in (kernels_memory, reference_memory)
    )
    np.testing.assert_array_equal(fast, plain)
    every = among_nearest(dense, np.arange(len(dense), dtype=np.int32), limit)
    assert every.sum() == min(limit, np.count_nonzero(~np.isnan(dense)))
    np.testing.assert_array_equal(fast, every[rows])


@pytest.mark.parametrize("kernels", [kernels_memory, reference_memory])
class TestFactors:
    def test_neighbours_within_a_sitting(self, kernels):
        """A hit lifts the lines around it, not those of another day."""
        words = score(7, kernels, scores=[0, 0, 0, 8]).parts[0]
        assert words[3] > words[2] == words[4] > words[1] == words[5] > words[0] == words[6] == 0
        apart = score(7, kernels, scores=[0, 0, 0, 8], gap_ms=HOUR).parts[0]
        assert np.flatnonzero(apart).tolist() == [3]

    def test_what_follows_a_matching_question(self, kernels):
        """The answer repeats no word of the question it answers."""
        statement, question = (
            score(3, kernels, scores=[8], asks=a).parts[0, 1] for a in ((), (0,))
        )
        assert question == pytest.approx(2.5 * statement)

    def test_words_are_absolute(self, kernels):
        """A weak best hit gets less than a strong one: nothing is stretched to 1."""
        weak, strong = (score(3, kernels, scores=[s]).totals[0] for s in (1, 20))
        assert strong > 2 * weak

    def test_the_words_carry_more_without_an_embedder(self, kernels):
        dense = MemoryCues(dense=np.zeros(3, np.float32))
        alone, beside = (score(3, kernels, cues, scores=[9]).parts[0, 0] for cues in (None, dense))
        assert alone == pytest.approx(1.6 * beside)

    def test_rows_without_a_vector_get_the_mean(self, kernels):
        cues = MemoryCues(dense=np.array([0.0, np.nan, 1.0], np.float32))
        meaning = score(3, kernels, cues, gap_ms=HOUR).parts[3]
        assert meaning.tolist() == pytest.approx([0.0, 0.3, 0.6])

    def test_questions_are_no_answers(self, kernels):
        scored = score(2, kernels, scores=[5, 5], asks=[1], gap_ms=HOUR)
        assert scored.totals[0] > scored.totals[1]

    def test_dates_speakers_and_the_asker(self, kernels):
        cues = MemoryCues(
            speakers=np.array([1], np.int32),
            date_spans=np.array([2, 4, 3, 9], np.int32),
            date_values=np.array([0.5, 0.5], np.float32),
            names_asker=np.array([1, 0, 0, 0, 0, 0], np.uint8),
            has_time=np.array([0, 0, 0, 0, 0, 1], np.uint8),
        )
        scored = score(6, kernels, cues)
        shares = dict(
            zip(MEMORY_FACTORS, scored.shares(np.arange(6, dtype=np.int32)).T.tolist(), strict=True)
        )
        assert shares["speaker"] == [0, 0.25, 0, 0.25, 0, 0.25]
        assert shares["date"] == [0, 0, 0.25, 0.5, 0.25, 0.25]
        assert np.flatnonzero(shares["asker"]).tolist() == [0]
        assert np.flatnonzero(shares["time_word"]).tolist() == [5]

    def test_what_is_refused(self, kernels):
        with pytest.raises(ValueError, match="dense"):
            score(3, kernels, MemoryCues(dense=np.zeros(2, np.float32)))
        with pytest.raises(ValueError, match="offsets"):
            score(3, kernels, MemoryCues(date_spans=np.zeros(1, np.int32)))
        with pytest.raises(IndexError):
            among_nearest(np.ones(2, np.float32), np.array([2], np.int32), 1, kernels=kernels)
        with pytest.raises(IndexError):
            score(3, kernels, MemoryCues(has_time=np.zeros(4, np.uint8)))
