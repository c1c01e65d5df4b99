"""Rows as bits: what they say is what the postings say, and sums are sums. Also run with the JIT off."""

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll_scoring import LongHistory, Postings, bm25, history_candidates, kernels_bits
from backscroll_scoring.layout import BESIDE

TWINS = settings(deadline=None, max_examples=60)
TERMS, ROWS = 5, 200
rows_of_terms = st.lists(
    st.lists(st.integers(0, TERMS - 1), max_size=TERMS, unique=True), min_size=1, max_size=ROWS
)


def filled(texts):
    postings = Postings()
    terms = np.array([t for text in texts for t in text], np.int32)
    places = np.array([place for place, text in enumerate(texts) for _ in text], np.int32)
    postings.append(np.arange(len(texts), dtype=np.int32), terms, places)
    postings.reserve_terms(TERMS)
    return postings


def asked(postings, texts, eligible):
    offsets = np.cumsum([0] + [len(text) for text in texts]).astype(np.int64)
    given = (postings.view(), offsets, np.arange(TERMS, dtype=np.int32), np.ones(TERMS, np.float32))
    return LongHistory(*given, eligible), bm25(*given, eligible)


def set_of(bits, n):
    return {row for row in range(n) if int(bits[row // 64]) >> (row % 64) & 1}


@TWINS
@given(rows_of_terms, st.randoms(use_true_random=False))
def test_bits_and_scores_are_those_of_the_postings(texts, draw):
    """The rows of each term, the weights, and BM25 of every row that counts, to the last bit."""
    n = len(texts)
    eligible = np.array([draw.random() < 0.9 for _ in texts], np.uint8)
    history, scanned = asked(filled(texts), texts, eligible)
    for term in range(TERMS):
        has = set_of(history.having(np.array([term], np.int32)), n)
        assert has == {row for row, text in enumerate(texts) if term in text}
    assert np.array_equal(history.idf, scanned.idf)
    few = history.few(np.arange(n, dtype=np.int32))
    scores, cover = np.zeros(n, np.float32), np.zeros(n, np.uint64)
    known = scanned.rows()
    scores[known], cover[known] = scanned.scores[known], scanned.cover[known]
    there = few.rows >= 0
    assert few.rows[few.chosen != 0].tolist() == np.flatnonzero(eligible).tolist()
    assert np.array_equal(few.matches.scores[there], scores[few.rows[there]])
    assert np.array_equal(few.matches.cover[there], cover[few.rows[there]])
    assert np.array_equal(history.words(np.arange(n, dtype=np.int32)), scores)


@TWINS
@given(st.sets(st.integers(0, ROWS - 1), max_size=12), st.integers(1, ROWS))
def test_runs(rows, count):
    """Each row with all that stands beside it, and nothing between rows that are no neighbours."""
    bits = np.zeros(-(-ROWS // 64), np.uint64)
    kernels_bits.set_rows(np.array(sorted(rows), np.int32), ROWS, bits)
    out, chosen = np.empty(13 * len(rows) + 1, np.int32), np.empty(13 * len(rows) + 1, np.uint8)
    size = kernels_bits.runs(bits, count, out, chosen)
    assert size <= len(out)
    out, chosen = out[:size].tolist(), chosen[:size]
    wanted = {row for row in rows if row < count}
    assert {out[place] for place in np.flatnonzero(chosen)} == wanted
    beside = {
        near for row in wanted for near in range(max(0, row - BESIDE), min(count, row + BESIDE + 1))
    }
    there = [row for row in out if row >= 0]
    assert beside <= set(there)
    assert there == sorted(set(there))
    for first, second in pairwise(out):
        assert first < 0 or second < 0 or second == first + 1
    text = "".join("x" if row >= 0 else "." for row in out)
    assert all(len(gap) == BESIDE for gap in text.split("x") if gap)


@TWINS
@given(
    st.lists(st.integers(0, 40), min_size=1, max_size=ROWS),
    st.lists(st.integers(0, 9), min_size=1, max_size=3),
    st.integers(1, 20),
)
def test_the_highest_sums(values, more, limit):
    """As many as there is room for, of equal sums the later; rows whose sum is 0 are none of them."""
    n = len(values)
    sums = np.zeros((12, -(-n // 64)), np.uint64)
    totals = np.array(values)
    for bit in range(6):
        here = np.flatnonzero(totals >> bit & 1).astype(np.int32)
        bits = np.zeros(sums.shape[1], np.uint64)
        kernels_bits.set_rows(here, n, bits)
        kernels_bits.add_weight(bits, 1 << bit, sums)
    every = np.zeros(sums.shape[1], np.uint64)
    kernels_bits.set_range(0, n, every)
    for weight in more:
        kernels_bits.add_weight(every, weight, sums)
    totals = totals + sum(more)
    rows, found = np.empty(limit, np.int32), np.empty(limit, np.int32)
    count = kernels_bits.highest(sums, every, rows, found)
    best = sorted((row for row in range(n) if totals[row]), key=lambda row: (-totals[row], -row))
    assert count == min(limit, len(best))
    assert rows[limit - count :].tolist() == sorted(best[:limit])
    assert found[limit - count :].tolist() == totals[sorted(best[:limit])].tolist()


@TWINS
@given(rows_of_terms, st.lists(st.integers(0, 2), min_size=TERMS, max_size=TERMS))
def test_what_terms_give(texts, steps):
    """1 for standing near a row that has the term, 1 to 3 for having it, times a power of two."""
    n = len(texts)
    words = -(-n // 64)
    planes, marks = np.zeros((TERMS, words), np.uint64), np.zeros((2, words), np.uint64)
    for row, text in enumerate(texts):
        for term in text:
            planes[term, row // 64] |= np.uint64(1) << np.uint64(row % 64)
        for mark, most in enumerate((1, 3)):
            marks[mark, row // 64] |= np.uint64(len(text) <= most) << np.uint64(row % 64)
    sums = np.zeros((8, words), np.uint64)
    kernels_bits.add_terms(planes, np.array(steps, np.int64), marks[0], marks[1], sums)
    for row, text in enumerate(texts):
        near = [t for one in texts[max(0, row - BESIDE) : row + BESIDE + 1] for t in one]
        wanted = sum(
            (1 << steps[term])
            * ((term in near) + (term in text) * (1 + (len(text) <= 3) + (len(text) <= 1)))
            for term in range(TERMS)
        )
        got = sum((int(level[row // 64]) >> (row % 64) & 1) << n for n, level in enumerate(sums))
        assert got == wanted


def test_terms_kept_under_a_name_are_kept_once():
    """More terms of the same name, as numbers a channel gets, take the place of those before."""
    texts = [[0], [1], [0, 1], [2]]
    postings = filled(texts)
    history, _ = asked(postings, texts, np.ones(4, np.uint8))
    sizes = []
    for terms, rows in (
        ([0], {0, 2}),
        ([0, 1], {0, 1, 2}),
        ([0, 1, 2], {0, 1, 2, 3}),
        ([1], {1, 2}),
    ):
        assert set_of(history.having(np.array(terms, np.int32), "number"), 4) == rows
        sizes.append(postings.view().bits.nbytes)
    assert len(set(sizes)) == 1


def test_many_terms_are_read_by_one_call(monkeypatch):
    """However many terms stand under a name: no loop of the interpreter over them, at first and after each line."""
    calls = []
    kernel = kernels_bits.set_postings
    monkeypatch.setattr(
        kernels_bits, "set_postings", lambda *given: calls.append(given) or kernel(*given)
    )
    texts = [[0], [1], [0, 2], [3]]
    postings = filled(texts)
    terms = np.array([0, 1, 2], np.int32)
    history, _ = asked(postings, texts, np.ones(4, np.uint8))
    calls.clear()
    assert set_of(history.having(terms, "number"), 4) == {0, 1, 2}
    assert set_of(history.having(terms, "number"), 4) == {0, 1, 2}
    assert len(calls) == 1
    postings.append(np.array([4], np.int32), np.array([2], np.int32), np.array([0], np.int32))
    after, _ = asked(postings, [*texts, [2]], np.ones(5, np.uint8))
    calls.clear()
    assert set_of(after.having(terms, "number"), 5) == {0, 1, 2, 4}
    assert len(calls) == 1


def test_bits_take_in_what_comes_and_are_given_up_for_other_numbers(monkeypatch):
    """What is kept is longer the next time; rows that get other numbers begin anew, for those who see them."""
    monkeypatch.setattr(history_candidates, "KEPT_SHARE", 1_000)
    texts = [[0, 1], [1], [0]]
    postings = filled(texts)
    term = np.array([0], np.int32)
    before, _ = asked(postings, texts, np.ones(3, np.uint8))
    assert set_of(before.having(term), 3) == {0, 2}
    assert before.by(np.array([7, 8, 7], np.int32), 7).tolist() == [5]
    many = [[0]] * 200
    places = np.arange(200, dtype=np.int32)
    postings.append(places + 3, np.zeros(200, np.int32), places)
    after, _ = asked(postings, texts + many, np.ones(203, np.uint8))
    assert set_of(after.having(term), 203) == {0, *range(2, 203)}
    authors = np.array([7, 8, 7, *[7] * 200], np.int32)
    assert len(set_of(after.by(authors, 7), 203)) == 202
    assert postings.nbytes > filled(texts).nbytes
    view = postings.view()
    postings.renumber(np.array([1, 0], np.int32))
    moved, _ = asked(postings, texts + many, np.ones(203, np.uint8))
    assert set_of(moved.having(term), 203) == {1, *range(2, 203)}
    assert view.bits is not postings.view().bits
