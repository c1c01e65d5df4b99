"""The inverted index and BM25: what is found, readers beside a writer. Also run with the JIT off."""

from itertools import pairwise
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll_scoring import (
    GONE,
    Postings,
    Worth,
    bm25,
    bound_bm25,
    count_rows,
    in_use,
    lexical,
    rows_alike,
    rows_of_pairs,
    rows_with,
)
from backscroll_scoring.layout import BESIDE, CHUNK
from backscroll_scoring.lexical import AMONG, COMMON, MOST_GONE, NEWEST_ALIKE, WALKED
from tests.kit.examples import examples
from tests.reference import lexical as reference

TWINS = settings(deadline=None, max_examples=examples(100))
TERMS = 12
run = st.lists(st.integers(0, TERMS - 1), max_size=6, unique=True)
runs = st.lists(run, max_size=30)


def add(postings, first, rows):
    terms = np.array([t for terms in rows for t in terms], np.int32)
    places = np.array([place for place, terms in enumerate(rows) for _ in terms], np.int32)
    postings.append(np.arange(first, first + len(rows), dtype=np.int32), terms, places)


def filled(rows):
    postings = Postings()
    add(postings, 0, rows)
    return postings


def lists_of(postings, n):
    """term: its rows below n, from the postings."""
    return rows_in(postings.view(), n)


def rows_in(view, n):
    known = {term: sorted(reference.rows_of(view, term)) for term in range(TERMS)}
    return {term: [row for row in rows if row < n] for term, rows in known.items()}


def inverted(rows):
    return {t: [row for row, terms in enumerate(rows) if t in terms] for t in range(TERMS)}


def offsets_of(rows):
    return np.cumsum([0] + [len(terms) for terms in rows]).astype(np.int64)


def found(view, rows, terms, eligible):
    boosts = np.linspace(0.5, 1, len(terms)).astype(np.float32)
    return bm25(view, offsets_of(rows), np.array(terms, np.int32), boosts, eligible)


def check(matches, rows, terms, eligible):
    """Scores, weights and terms are those of BM25; what is not told is 0."""
    boosts = np.linspace(0.5, 1, len(terms)).astype(np.float32)
    scores, cover, idf = reference.bm25(rows, terms, boosts, eligible)
    here = np.repeat(matches.active, CHUNK)[: len(eligible)]
    np.testing.assert_allclose(matches.scores[here], scores[here], rtol=1e-5)
    np.testing.assert_allclose(matches.idf, idf, rtol=1e-6)
    assert matches.cover[here].tolist() == np.array(cover, np.uint64)[here].tolist()
    assert not scores[~here].any()
    assert matches.rows().tolist() == np.flatnonzero(scores).tolist()
    for cut in (0, len(scores) // 3, len(scores)):
        halves = scores[:cut], scores[cut:]
        assert matches.best(cut) == pytest.approx(
            [half.max(initial=0.0) for half in halves], rel=1e-5
        )


@TWINS
@given(runs, run, st.data())
def test_bm25(rows, terms, data):
    """N-06: scores, idf and matches; rows that are not eligible get nothing."""
    terms = [*terms, *data.draw(st.lists(st.just(-1), max_size=2))]  # words that nobody said
    n = data.draw(st.integers(0, len(rows)))
    flags = data.draw(st.lists(st.booleans(), min_size=n, max_size=n))
    eligible = np.array(flags, np.uint8)
    view = filled(rows).view()
    check(found(view, rows, terms, eligible), rows, terms, eligible)
    known = [term for term in terms if term >= 0]
    marks = rows_with(view, np.array(known, np.int32), eligible).tolist()
    assert marks == [len(set(rows[row]) & set(known)) * flags[row] for row in range(n)]
    has = {term for row in range(n) if flags[row] for term in rows[row]}
    used = in_use(view, np.array(terms, np.int32), eligible)
    assert used.tolist() == [term in has for term in terms]


@pytest.mark.parametrize("seed", range(8))
def test_rows_with_the_same_rare_terms(seed):
    """The best before the cut, whatever is common, edited or not eligible; and how many rows have a term."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 600))
    often = np.array([0.3, 0.15, 0.08, *np.full(TERMS - 3, 0.01)])
    rows = [np.flatnonzero(rng.random(TERMS) < often).tolist() for _ in range(n)]
    postings = filled(rows)
    gone = int(rng.integers(n))
    postings.remove(np.array([gone], np.int32))
    rows[gone] = []
    for edited in rng.integers(n, size=20).tolist():  # its postings come behind those of newer rows
        postings.remove(np.array([edited], np.int32))
        rows[edited] = np.flatnonzero(rng.random(TERMS) < often).tolist()
        add(postings, edited, [rows[edited]])
    eligible = (rng.random(n) < 0.9).astype(np.uint8)
    terms = np.array([-1, *rng.permutation(TERMS)[: rng.integers(1, TERMS)]], np.int32)
    boosts = rng.choice([1.0, 2.0], len(terms)).astype(np.float32)
    for cut in (0, n // 2, n):
        for most in (1, 4):
            found = rows_alike(postings.view(), terms, boosts, eligible, cut, most)
            assert found.tolist() == reference.rows_alike(
                rows, terms, boosts, eligible, cut, most, COMMON, NEWEST_ALIKE, AMONG
            )
    counts = [
        sum(term in one for one, may in zip(rows, eligible, strict=True) if may)
        for term in terms.tolist()
    ]
    for most in (1, 5):
        counted = count_rows(postings.view(), terms, eligible, most)
        assert counted.tolist() == [min(most, count) for count in counts]


@TWINS
@given(runs, st.lists(st.integers(-1, TERMS - 1), max_size=8), st.integers(1, 4), st.data())
def test_rows_of_words_and_their_neighbours(rows, terms, most, data):
    n = data.draw(st.integers(0, len(rows)))
    eligible = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)), np.uint8)
    ids = np.array([term for row in rows for term in sorted(row)], np.int32)
    counts, pairs = rows_of_pairs(
        filled(rows).view(), np.array(terms, np.int32), offsets_of(rows), ids, eligible, most
    )
    having = [{row for row in range(n) if eligible[row] and term in rows[row]} for term in terms]
    assert counts.tolist() == [len(found) for found in having]
    both = [one & other for one, other in pairwise(having)]
    assert [sorted(found.tolist()) for found in pairs] == [
        sorted(found) if len(found) <= most else [] for found in both
    ]


def test_of_a_word_that_is_everywhere_a_bounded_number_of_postings_is_read():
    """Where few rows are eligible and all have it, it would be read to its end."""
    rows = [[0, 1, 2 + row % 2] for row in range(WALKED)]
    for n in (WALKED, WALKED + 1):
        postings, (eligible, terms) = (
            filled(rows),
            (np.zeros(n, np.uint8), np.arange(2, dtype=np.int32)),
        )
        eligible[:3] = 1
        offsets, ids = offsets_of(rows), np.array([term for row in rows for term in row], np.int32)
        counts, pairs = rows_of_pairs(postings.view(), terms, offsets, ids, eligible, 4)
        alike = rows_alike(postings.view(), terms, np.ones(2, np.float32), eligible, n, 4)
        is_read = n <= WALKED
        assert counts.tolist() == ([3, 3] if is_read else [-1, -1])
        assert sorted(pairs[0].tolist()) == ([0, 1, 2] if is_read else [])
        assert alike.tolist() == ([0, 1, 2] if is_read else [])
        assert count_rows(postings.view(), terms, eligible, 5).tolist() == (
            [3, 3] if is_read else [5, 5]
        )
        rows.append([0, 1])


def test_a_word_of_a_text_that_was_edited_very_often_is_as_rare_as_before():
    """Taken-out texts are no postings to who counts, and are given up once they are the most."""
    rows = [[0, 1], *[[2]] * (2 * WALKED)]
    postings, once = filled(rows), filled(rows)
    for _ in range(2 * WALKED):
        postings.remove(np.zeros(1, np.int32))
        add(postings, 0, [[0, 1]])
    terms, eligible = np.arange(3, dtype=np.int32), np.ones(len(rows), np.uint8)
    offsets, ids = offsets_of(rows), np.array([term for row in rows for term in row], np.int32)
    for one in (postings.view(), once.view()):
        assert count_rows(one, terms, eligible, 5).tolist() == [1, 1, 5]
        alike = rows_alike(one, terms[:2], np.ones(2, np.float32), eligible, len(rows), 4)
        assert alike.tolist() == [0]
        counts, pairs = rows_of_pairs(one, terms, offsets, ids, eligible, 4)
        assert counts.tolist() == [1, 1, -1]
        assert [rows.tolist() for rows in pairs] == [[0], []]
    assert count_rows(once.view(), terms, eligible, 4 * WALKED, 3 * WALKED)[2] == 2 * WALKED


@TWINS
@given(runs, st.lists(st.tuples(st.integers(0, 29), run), max_size=60), st.booleans())
def test_texts_that_were_taken_out_are_given_up(rows, edits, moves):
    """There are never many more than of the others; what is found is the same, and readers keep what they hold."""
    texts = [*rows]
    with patch.object(lexical, "MOST_GONE", 3):
        postings = filled(rows)
        for row, terms in [(row, terms) for row, terms in edits if row < len(rows)]:
            held, before = postings.view(), inverted(texts)
            postings.remove(np.array([row], np.int32))
            add(postings, row, [terms])
            texts[row] = terms
            assert lists_of(postings, len(texts)) == inverted(texts)
            assert rows_in(held, len(texts)) == before
            assert len(postings) <= 2 * max(3, len(texts)) + 1
        if moves:
            postings.renumber(np.full(len(texts), GONE, np.int32))
            texts = [[] for _ in texts]
            add(postings, 0, [[0, 1]])
            texts[:1] = [[0, 1]]
    assert lists_of(postings, len(texts)) == inverted(texts)


def test_one_text_edited_again_and_again_takes_no_more_room():
    postings = filled([[0, 1]])
    for _ in range(3 * MOST_GONE):
        postings.remove(np.zeros(1, np.int32))
        add(postings, 0, [[0, 1]])
    assert len(postings) <= MOST_GONE + 2
    assert lists_of(postings, 1) == inverted([[0, 1]])


@pytest.mark.parametrize("n", [AMONG, 20_000])
def test_one_word_that_no_other_row_has_is_enough(n):
    """However long the history; one that two rows have is not, nor is any in a short one."""
    postings = filled([[0], [1], [1], *[[]] * (n - 3)])
    eligible, one = np.ones(n, np.uint8), np.ones(1, np.float32)
    assert rows_alike(postings.view(), np.array([0], np.int32), one, eligible, n, 4).tolist() == [0]
    assert not len(rows_alike(postings.view(), np.array([1], np.int32), one, eligible, n, 4))
    short = eligible[: AMONG - 1]
    assert not len(rows_alike(postings.view(), np.array([0], np.int32), one, short, len(short), 4))


def test_terms_outside_the_postings_are_refused():
    view, outside = filled([[0]]).view(), np.array([10_000], np.int32)
    one = np.ones(1, np.uint8)
    with pytest.raises(ValueError, match="postings"):
        rows_alike(view, outside, np.ones(1, np.float32), one, 1, 1)
    with pytest.raises(ValueError, match="postings"):
        count_rows(view, outside, one, 1)
    with pytest.raises(ValueError, match="postings"):
        rows_of_pairs(view, outside, np.zeros(2, np.int64), outside, one, 1)
    with pytest.raises(ValueError, match="at most"):
        rows_alike(view, outside, np.ones(2, np.float32), one, 1, 1)


def as_block(rows):
    """Rows' terms as `Postings.append_block` takes them: how many postings each term has, and their places."""
    lists = inverted(rows)
    counts = np.array([len(lists[term]) for term in range(TERMS)], np.int32)
    return counts, np.array([n for one in lists.values() if one for n in (-1, *one)], np.int32)


@TWINS
@given(runs, st.lists(st.integers(0, 20), unique=True), run, st.data())
def test_bounds_of_the_best_bm25(rows, edited, terms, data):
    """They bound it, whatever was edited or moved."""
    postings, texts = filled(rows), list(rows)
    for row in [row for row in edited if row < len(rows)]:
        texts[row] = data.draw(run)
        postings.remove(np.array([row], np.int32))
        add(postings, row, [texts[row]])
    if data.draw(st.booleans()):
        postings.renumber(np.arange(len(rows), dtype=np.int32)[::-1].copy())
        texts.reverse()
    n = data.draw(st.integers(0, len(rows)))
    eligible = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)), np.uint8)
    terms = [*terms, *data.draw(st.lists(st.just(-1), max_size=2))]
    ids, boosts = np.array(terms, np.int32), np.linspace(0.5, 1, len(terms)).astype(np.float32)
    cut = data.draw(st.integers(0, n))

    asked = (postings.view(), offsets_of(texts), ids, boosts, eligible)
    exact = bm25(*asked).best(cut)
    bounds = bound_bm25(*asked, cut)
    expected = reference.bounds(asked[0], texts, terms, boosts, eligible, cut)
    assert bounds == pytest.approx(expected, rel=1e-5)
    assert bounds[0] >= exact[0]
    assert bounds[1] <= exact[1]
    worth = Worth(3.0, 0.7, data.draw(st.floats(-2, 4)))
    assert not worth.is_beyond(*bounds) or worth.is_beyond(*exact)


@TWINS
@given(st.dictionaries(st.integers(0, 3 * CHUNK + 9), run, max_size=8), run, st.data())
def test_a_long_history_of_which_few_rows_match(said, terms, data):
    """Chunks of rows are active as far as rows beside a match reach, and no further; of others nothing is told."""
    n = data.draw(st.integers(1, 3 * CHUNK + 10))
    rows = [said.get(row, []) for row in range(n)]
    eligible = np.ones(n, np.uint8)
    fast = found(filled(rows).view(), rows, terms, eligible)
    check(fast, rows, terms, eligible)
    matching = [row for row, has in enumerate(rows) if set(has) & set(terms)]
    near = {
        (row + step) // CHUNK
        for row in matching
        for step in (-BESIDE, BESIDE)
        if 0 <= row + step < n
    }
    near |= {row // CHUNK for row in matching}
    assert np.flatnonzero(fast.active).tolist() == sorted(near)
    here = np.repeat(fast.active, CHUNK)[:n]
    fast.scores[~here], fast.cover[~here] = 1e30, 2**64 - 1  # whoever reads them reads nonsense
    check(fast, rows, terms, eligible)


@TWINS
@given(st.lists(run, max_size=200), st.integers(1, 7))
def test_append(rows, batch):
    """In whatever batches rows come, every posting is there."""
    postings = Postings()
    for first in range(0, len(rows), batch):
        add(postings, first, rows[first : first + batch])
    assert lists_of(postings, len(rows)) == inverted(rows)


@TWINS
@given(block=runs, behind=runs)
def test_an_index_that_begins_with_a_block_is_what_its_rows_one_by_one_are(block, behind):
    """Its words are 0, 1, …; rows behind it may have more words. Only an empty index can begin."""
    postings, together = Postings(), filled(block)
    postings.begin(np.arange(len(block), dtype=np.int32), *as_block(block))
    assert len(postings) == len(block)
    for one in (postings, together):
        add(one, len(block), behind)
    n = len(block) + len(behind)
    assert lists_of(postings, n) == lists_of(together, n) == inverted(block + behind)
    assert (postings.view().counts[:TERMS] == together.view().counts[:TERMS]).all()
    if n:
        with pytest.raises(ValueError, match="already"):
            postings.begin(np.arange(1, dtype=np.int32), *as_block([[0]]))


@TWINS
@given(before=runs, block=runs, behind=runs)
def test_a_block_is_what_its_rows_one_by_one_are(before, block, behind):
    """Behind other rows, before other rows, and when a word of the block comes again."""
    postings, together = filled(before), filled(before)
    rows = np.arange(len(before), len(before) + len(block), dtype=np.int32)
    postings.append_block(rows, np.arange(TERMS, dtype=np.int32), *as_block(block))
    add(together, len(before), block)
    for one in (postings, together):
        add(one, len(before) + len(block), behind)
    n = len(before) + len(block) + len(behind)
    assert lists_of(postings, n) == lists_of(together, n) == inverted(before + block + behind)
    view = postings.view()
    assert (view.counts[:TERMS] == together.view().counts[:TERMS]).all()


@TWINS
@given(st.lists(run, min_size=1, max_size=30), st.data())
def test_rows_leave_and_move(rows, data):
    """What is taken out is gone, what is renumbered is found under its new number, and the old postings stay."""
    postings, other = filled(rows), filled(rows)
    views = [postings.view(), other.view()]
    row = data.draw(st.integers(0, len(rows) - 1))
    left = [[] if place == row else terms for place, terms in enumerate(rows)]
    postings.remove(np.array([row], np.int32))
    assert lists_of(postings, len(rows)) == inverted(left)
    add(postings, row, [[0, 1]])  # another text in its place, and one behind
    add(postings, len(rows), [[1]])
    left[row] = [0, 1]
    assert lists_of(postings, len(rows)) == inverted(left)
    order = data.draw(st.permutations(range(len(rows))))
    kept = order[: data.draw(st.integers(0, len(rows)))]
    new_rows = np.full(len(rows), GONE, np.int32)
    new_rows[kept] = np.arange(len(kept))
    other.renumber(new_rows)
    assert lists_of(other, len(rows)) == inverted([rows[place] for place in kept])
    add(other, len(kept), [[0, 1]])
    assert [rows_in(view, len(rows)) for view in views] == [inverted(rows)] * 2


@TWINS
@given(runs, st.lists(run, min_size=1, max_size=300), run)
def test_a_reader_beside_a_writer(rows, later, terms):
    """A view gives the same answer before and after whatever is appended behind its rows."""
    postings = filled(rows)
    view = postings.view()
    eligible = np.ones(len(rows), np.uint8)
    before = found(view, rows, terms, eligible)
    for place, more in enumerate(later, len(rows)):
        add(postings, place, [more])
    after = found(view, rows, terms, eligible)
    np.testing.assert_array_equal(before.rows(), after.rows())
    np.testing.assert_array_equal(before.scores[before.rows()], after.scores[after.rows()])
    np.testing.assert_array_equal(before.idf, after.idf)
    known = np.arange(TERMS, dtype=np.int32)
    has = {term for row in rows for term in row}
    assert in_use(view, known, eligible).tolist() == [term in has for term in known.tolist()]


def test_rare_words_count_more_and_long_rows_less():
    """The two things BM25 is for."""
    rows = [[0, 1], [0], [0], [0], [2, 3, 4, 5, 6, 7, 1]]
    scores = found(filled(rows).view(), rows, [0, 1], np.ones(5, np.uint8)).scores
    assert scores[0] > scores[4] > scores[1] == scores[2] > 0


def test_what_is_refused():
    postings = filled([[0]])
    with pytest.raises(ValueError, match="numbered from 0"):
        add(postings, 1, [[-1]])
    many, one = np.zeros(65, np.int32), np.ones(1, np.uint8)
    with pytest.raises(ValueError, match="at most 64"):
        bm25(postings.view(), np.zeros(2, np.int64), many, many.astype(np.float32), one)
    out_of_table = np.array([10_000], np.int32)
    with pytest.raises(ValueError, match="postings"):
        rows_with(postings.view(), out_of_table, np.ones(1, np.uint8))
    with pytest.raises(ValueError, match="postings"):
        in_use(postings.view(), out_of_table, np.ones(1, np.uint8))
    with pytest.raises(ValueError, match="postings"):
        bm25(
            postings.view(), np.array([0, 1], np.int64), out_of_table,
            np.ones(1, np.float32), np.ones(1, np.uint8),
        )  # fmt: skip
    with pytest.raises(ValueError, match="postings"):
        bound_bm25(
            postings.view(), np.array([0, 1], np.int64), out_of_table,
            np.ones(1, np.float32), np.ones(1, np.uint8), 0,
        )  # fmt: skip


@pytest.mark.parametrize("terms", [[], [-1], [-1, -1]])
@pytest.mark.parametrize("n", [0, 1, 70])
def test_an_index_without_words_matches_nothing(terms, n):
    """Rows of which none has a word, as a channel of greetings is loaded: nothing is found and nothing breaks."""
    postings = Postings()
    postings.append(np.arange(n, dtype=np.int32), np.empty(0, np.int32), np.empty(0, np.int32))
    postings.trim(0)
    sought = np.array(terms, np.int32)
    asked = (postings.view(), np.zeros(n + 1, np.int64), sought, np.ones(len(terms), np.float32))
    eligible = np.ones(n, np.uint8)
    assert not len(bm25(*asked, eligible).rows())
    assert bound_bm25(*asked, eligible, n // 2) == (0, 0)
    assert not rows_with(postings.view(), sought[:0], eligible).any()
    assert not in_use(postings.view(), sought, eligible).any()
