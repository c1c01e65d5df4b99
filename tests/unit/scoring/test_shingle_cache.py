"""Shingles and their comparison, on whatever hypothesis finds. Also run with NUMBA_DISABLE_JIT=1."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from backscroll_scoring import (
    FeatureSets,
    ShingleCache,
    set_similarity,
    shingle_sets,
)
from tests.kit.examples import examples
from tests.reference import diversity as reference

TWINS = settings(deadline=None, max_examples=examples(200))
NONE = np.empty(0, np.int32)
letters = st.sampled_from("abAB 12,.?？！１ａ猫吃鱼，。\n\u200d😀ß\ud800")
texts = st.lists(st.text(letters, max_size=12) | st.text(max_size=6), max_size=6)


@TWINS
@given(texts, st.integers(1, 5))
@example(["İSTANBUL", "ﬁne", "12", "1 2", "", "\x00"], 3)
@example(["abc" * 100, "".join(map(chr, range(0x4E00, 0x5000))), "ab"], 3)
def test_shingles(given_texts, size):
    """P-05: the same sets and facts, ascending and unique, whatever the text."""
    made = shingle_sets(given_texts, size=size)
    for i, text in enumerate(given_texts):
        ids = made.ids[made.offsets[i] : made.offsets[i + 1]].tolist()
        assert (ids, made.facts[i]) == reference.shingles(text, size)


@st.composite
def sets(draw):
    drawn = draw(st.lists(st.sets(st.integers(0, 9), max_size=8), max_size=8))
    m = len(drawn)
    facts = draw(st.lists(st.integers(0, 1), min_size=m, max_size=m))
    step = draw(st.sampled_from([1, (2**31 - 1) // 9]))  # alike in their first bits, or in none
    ids = np.array([i * step for one in drawn for i in sorted(one)], np.int32)
    offsets = np.cumsum([0] + [len(one) for one in drawn]).astype(np.int64)
    ids.flags.writeable = offsets.flags.writeable = draw(st.booleans())
    return FeatureSets(offsets, ids, np.array(facts, np.int64))


def sets_of(made):
    return [set(made.ids[one:end].tolist()) for one, end in pairwise(made.offsets)]


def kept(made, numbers, parts):
    """A store with these sets, put there in so many parts."""
    out = ShingleCache()
    for some in np.array_split(np.arange(len(made)), parts):
        ids = [made.ids[made.offsets[i] : made.offsets[i + 1]] for i in some]
        offsets = np.cumsum([0, *map(len, ids)])
        chosen = FeatureSets(offsets, np.concatenate([NONE, *ids]), made.facts[some])
        out.add(numbers[some], chosen)
    return out


@TWINS
@given(sets(), st.data())
def test_sets_come_back_by_their_numbers(made, data):
    """P-05: sets and facts are what they were, in whatever order they came and are asked for."""
    m = len(made)
    facts = data.draw(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=m, max_size=m))
    made = FeatureSets(made.offsets, made.ids, np.array(facts, np.int64))
    numbers = np.array(data.draw(st.permutations(range(5, 5 + m))), np.int64)
    store = kept(made, numbers, data.draw(st.integers(1, 3)))
    gone = data.draw(st.sets(st.integers(5, 5 + m)))
    for one, left in (
        (store, set(range(m))),
        (store.without(gone), {i for i in range(m) if numbers[i] not in gone}),
    ):
        asked = np.array(data.draw(st.permutations(sorted(left))), np.intp)
        assert one.lacks(numbers).tolist() == [i not in left for i in range(m)]
        back = one.of(numbers[asked])
        assert back.facts.tolist() == made.facts[asked].tolist()
        for place, i in enumerate(asked):
            ids = back.ids[back.offsets[place] : back.offsets[place + 1]]
            assert ids.tolist() == made.ids[made.offsets[i] : made.offsets[i + 1]].tolist()


@TWINS
@given(sets(), st.data())
def test_without_repeats(made, data):
    """P-05: what is marked and repeats a better one goes; a maximum changes nothing of what is inside it."""
    m = len(made)
    numbers = np.array(data.draw(st.permutations(range(m))), np.int64)
    seq, rows = numbers.copy(), np.array(data.draw(st.permutations(range(m))), np.int32)
    authors = np.array(data.draw(st.lists(st.integers(-1, 2), min_size=m, max_size=m)), np.int32)
    order = np.array(data.draw(st.permutations(range(m))), np.int64)[: data.draw(st.integers(0, m))]
    marks = np.array(
        data.draw(st.lists(st.booleans(), min_size=len(order), max_size=len(order))), np.bool_
    )
    options = {
        "threshold": data.draw(st.floats(0.01, 1)),
        "across_authors": data.draw(st.integers(0, 6)),
    }
    in_order = rows[order]
    repeated = reference.repeats(
        [sets_of(made)[row] for row in in_order], made.facts[in_order], authors[in_order], **options
    )
    gone = set(order[np.array(repeated, np.bool_) & marks].tolist())
    store = kept(made, numbers, 2)
    stay, go, complete = store.without_repeats(seq, authors, rows, order, marks, **options)
    assert complete
    assert stay.tolist() == [place for place in order.tolist() if place not in gone]
    assert go.tolist() == [place for place in order.tolist() if place in gone]
    maximum = data.draw(st.integers(0, m))
    few = store.without_repeats(seq, authors, rows, order, marks, maximum=maximum, **options)
    assert few.stay[:maximum].tolist() == stay[:maximum].tolist()
    lacking = store.without(data.draw(st.sets(st.integers(0, m), min_size=1)))
    part = lacking.without_repeats(seq, authors, rows, order, marks, **options)
    needed = order[: np.flatnonzero(marks)[-1] + 1] if marks.any() else order[:0]
    assert part.complete == (not lacking.lacks(seq[rows[needed]]).any())
    if part.complete:
        assert part.stay.tolist() == stay.tolist()
    else:
        assert part.stay.tolist() == needed.tolist()
        assert [*part.stay, *part.go] == order.tolist()


def test_what_points_outside_is_refused():
    """P-05: places and rows outside, arrays of another length, and words that no set is made of."""
    made = shingle_sets(("one line", "another line"))
    store = kept(made, np.arange(2), 1)
    seq, who, order = np.arange(2), np.zeros(2, np.int32), np.arange(2)
    rows, marks = np.arange(2, dtype=np.int32), np.ones(2, np.bool_)
    for bad_rows, bad_order in (
        (rows, order + 1),
        (rows, order - 1),
        (rows + 1, order),
        (rows - 1, order),
    ):
        with pytest.raises(IndexError):
            store.without_repeats(seq, who, bad_rows, bad_order, marks)
    for bad_seq, bad_who in ((seq[:1], who), (seq, who[:1])):
        with pytest.raises(IndexError):
            store.without_repeats(bad_seq, bad_who, rows, order, marks)
    with pytest.raises(ValueError, match="offsets"):
        store.without_repeats(seq, who, rows, order, marks[:1])
    for size in (-1, 10_000):
        store._words[0] = size
        with pytest.raises(ValueError, match="offsets"):
            store.without_repeats(seq, who, rows, order, marks)


@TWINS
@given(sets())
def test_similarity(made):
    """P-05: of each set to all others, to the bit."""
    every = sets_of(made)
    for place, own in enumerate(every):
        found = set_similarity(made)(place).tolist()
        assert found == [reference.jaccard(own, other) for other in every]
