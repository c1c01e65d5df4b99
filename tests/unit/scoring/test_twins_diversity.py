"""Shingles and their comparison in both engines, on whatever hypothesis finds. Also run with NUMBA_DISABLE_JIT=1."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from backscroll_scoring import (
    FeatureSets,
    kernels_diversity,
    mark_repeats,
    near_duplicates,
    reference_diversity,
    set_similarity,
    shingle_sets,
)

TWINS = settings(deadline=None, max_examples=200)
ENGINES = ("kernels", "reference")
letters = st.sampled_from("abAB 12,.?？！１ａ猫吃鱼，。\n\u200d😀ß\ud800")
texts = st.lists(st.text(letters, max_size=12) | st.text(max_size=6), max_size=6)


@TWINS
@given(texts, st.integers(1, 5))
@example(["İSTANBUL", "ﬁne", "12", "1 2", "", "\x00"], 3)
@example(["abc" * 100, "".join(map(chr, range(0x4E00, 0x5000))), "ab"], 3)
def test_shingles(given_texts, size):
    """P-05: the same sets and facts, ascending and unique, whatever the text."""
    fast, plain = (shingle_sets(given_texts, size=size, engine=engine) for engine in ENGINES)
    np.testing.assert_array_equal(fast.offsets, plain.offsets)
    np.testing.assert_array_equal(fast.ids, plain.ids)
    np.testing.assert_array_equal(fast.facts, plain.facts)
    for i in range(len(fast)):
        assert (np.diff(fast.ids[fast.offsets[i] : fast.offsets[i + 1]]) > 0).all()


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


@TWINS
@given(sets(), st.data())
def test_sets_come_back_from_bytes(made, data):
    """P-05: sets and facts are what they were, in whatever order they come; other bytes are refused."""
    facts = data.draw(
        st.lists(st.integers(-(2**63), 2**63 - 1), min_size=len(made), max_size=len(made))
    )
    made = FeatureSets(made.offsets, made.ids, np.array(facts, np.int64))
    packed, order = made.packed(), data.draw(st.permutations(range(len(made))))
    for engine in ENGINES:
        back = FeatureSets.unpacked([packed[i] for i in order], engine=engine)
        assert back.facts.tolist() == [facts[i] for i in order]
        for place, i in enumerate(order):
            ids = back.ids[back.offsets[place] : back.offsets[place + 1]]
            assert ids.tolist() == made.ids[made.offsets[i] : made.offsets[i + 1]].tolist()
        for wrong in (
            [*packed, b"\x01\0\0\0"],
            [*packed, bytes(8)],
            [b"", *packed],
            [*packed, b"\xff" * 12],
        ):
            with pytest.raises(ValueError, match="offsets"):
                FeatureSets.unpacked(wrong, engine=engine)


@TWINS
@given(sets(), st.data())
def test_collapse_and_similarity(made, data):
    """P-05: the same leaders and similarities, to the bit; a place is led by a kept, better one."""
    m = len(made)
    order = np.array(data.draw(st.permutations(range(m))), np.int32)
    authors = np.array(data.draw(st.lists(st.integers(-1, 2), min_size=m, max_size=m)), np.int32)
    options = {
        "authors": authors,
        "threshold": data.draw(st.floats(0.01, 1)),
        "across_authors": data.draw(st.integers(0, 6)),
    }
    fast, plain = (near_duplicates(made, order, **options, engine=engine) for engine in ENGINES)
    np.testing.assert_array_equal(fast, plain)
    in_order = near_duplicates(made, np.arange(m, dtype=np.int32), **options)
    for twin in (kernels_diversity, reference_diversity):
        marks = mark_repeats(made.packed(), **options, kernels=twin)
        np.testing.assert_array_equal(marks, in_order >= 0)
        with pytest.raises(ValueError, match="offsets"):
            mark_repeats(
                [*made.packed()[1:], bytes(8)] if m else [b"\1" * 4],
                options["authors"] if m else np.zeros(1, np.int32),
                kernels=twin,
            )
        with pytest.raises(IndexError):
            mark_repeats(made.packed(), np.zeros(m + 1, np.int32), kernels=twin)
    kept = [p for p, leader in zip(order.tolist(), fast.tolist(), strict=True) if leader < 0]
    for i, leader in enumerate(fast.tolist()):
        assert leader == -1 or (leader in kept and leader in order[:i])
    cut = data.draw(st.integers(0, m))
    np.testing.assert_array_equal(near_duplicates(made, order[:cut], **options), fast[:cut])
    for place in range(m):
        one, other = (set_similarity(made, engine=engine)(place) for engine in ENGINES)
        np.testing.assert_array_equal(one, other)
