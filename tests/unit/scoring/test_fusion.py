"""Rankings united: golden rankings by hand, and what holds for any."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll_scoring import (
    linear_fusion,
    reciprocal_rank_fusion,
    turns,
)


def rows(*values):
    return np.array(values, np.int32)


def scores(*values):
    return np.array(values, np.float64)


def plain_rrf(rankings, weights, k):
    """The formula, one row at a time."""
    total = {}
    for ranking, weight in zip(rankings, weights, strict=True):
        for rank, row in enumerate(dict.fromkeys(ranking), 1):
            total[row] = total.get(row, 0.0) + weight / (k + rank)
    return [(row, total[row]) for row in sorted(total, key=lambda row: (-total[row], -row))]


def plain_linear(lists, weights, normalisation):
    """The formula, one row at a time."""
    total = {}
    for pairs, weight in zip(lists, weights, strict=True):
        first = dict(reversed(pairs))
        low, high = min(first.values(), default=0), max(first.values(), default=0)
        for row, score in first.items():
            scaled = (score - low) / (high - low) if high > low else 1.0
            share = weight * (scaled if normalisation == "minmax" else score)
            total[row] = total.get(row, 0.0) + share
    return total


def test_reciprocal_ranks_by_hand():
    """P-05: golden ranking. 1/61 + 1/63 for 30, 1/62 + 1/61 for 20, 1/63 for 10, 1/62 for 40."""
    fused = reciprocal_rank_fusion([rows(30, 20, 10), rows(20, 40, 30)])
    assert fused.rows.tolist() == [20, 30, 40, 10]
    exact = [
        Fraction(1, 62) + Fraction(1, 61),
        Fraction(1, 61) + Fraction(1, 63),
        Fraction(1, 62),
        Fraction(1, 63),
    ]
    assert fused.scores == pytest.approx([float(one) for one in exact], rel=1e-15)
    assert fused.shares == pytest.approx(
        np.array([[1 / 62, 1 / 61], [1 / 61, 1 / 63], [0, 1 / 62], [1 / 63, 0]]), rel=1e-15
    )


def test_one_list_alone_can_win_a_slot():
    """N-03, P-05: what only one of three lists holds, at its top, beats what two hold far down."""
    deep = [rows(*range(10, 50)), rows(*range(30, 70))]
    fused = reciprocal_rank_fusion([*deep, rows(5)])
    assert fused.rows.tolist().index(5) < fused.rows.tolist().index(69)
    weighted = reciprocal_rank_fusion([*deep, rows(5)], weights=[1, 1, 3])
    assert weighted.rows[0] == 5


def test_ties_go_to_the_newer_row():
    """P-05: two rows with the same ranks in turn; one row per list at rank 1."""
    assert reciprocal_rank_fusion([rows(1, 2), rows(2, 1)]).rows.tolist() == [2, 1]
    assert reciprocal_rank_fusion([rows(7), rows(3), rows(5)]).rows.tolist() == [7, 5, 3]
    equal = linear_fusion([rows(1, 2), rows(2, 1)], [scores(1, 0), scores(1, 0)])
    assert equal.rows.tolist() == [2, 1]


def test_a_repeated_row_counts_at_its_first_place():
    assert reciprocal_rank_fusion([rows(4, 9, 4)]).scores == pytest.approx([1 / 61, 1 / 62])
    assert linear_fusion(
        [rows(4, 9, 4)], [scores(0.5, 1, 0)], normalisation="absolute"
    ).scores.tolist() == [1, 0.5]


def test_linear_by_hand():
    """P-05: golden ranking. min-max makes the best of each list 1; absolute keeps what scores mean."""
    lists = [rows(1, 2, 3), rows(3, 4)]
    values = [scores(8, 6, 4), scores(0.2, 0.1)]
    fused = linear_fusion(lists, values, weights=[0.6, 0.4])
    assert fused.rows.tolist() == [1, 3, 2, 4]
    assert fused.scores == pytest.approx([0.6, 0.4, 0.3, 0])
    assert fused.shares.tolist() == [[0.6, 0], [0, 0.4], [0.3, 0], [0, 0]]
    absolute = linear_fusion(
        lists, [scores(0.8, 0.6, 0.4), values[1]], weights=[0.6, 0.4], normalisation="absolute"
    )
    assert absolute.rows.tolist() == [1, 2, 3, 4]
    assert absolute.scores == pytest.approx([0.48, 0.36, 0.32, 0.04])


def test_a_list_whose_scores_are_all_equal_is_all_best():
    assert linear_fusion([rows(3)], [scores(0.01)]).scores.tolist() == [1]
    assert linear_fusion([rows(3, 4)], [scores(-2, -2)]).scores.tolist() == [1, 1]
    huge = linear_fusion([rows(3, 4)], [scores(-1.7e308, 1.7e308)])
    assert huge.scores.tolist() == [1, 0]


def test_nothing_to_fuse():
    assert reciprocal_rank_fusion([]).rows.shape == (0,)
    assert reciprocal_rank_fusion([rows(), rows(2)]).rows.tolist() == [2]
    assert linear_fusion([rows()], [scores()]).shares.shape == (0, 1)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: reciprocal_rank_fusion([rows(1)], k=-1), "k must be"),
        (lambda: reciprocal_rank_fusion([rows(1)], k=math.nan), "k must be"),
        (lambda: reciprocal_rank_fusion([rows(1)], weights=[]), "weights must be 1 numbers"),
        (lambda: reciprocal_rank_fusion([rows(1)], weights=[-1]), "weights must be finite"),
        (lambda: reciprocal_rank_fusion([rows(1)], limit=-1), "limit"),
        (lambda: linear_fusion([rows(1)], [scores(math.inf)]), "scores must be finite"),
        (lambda: linear_fusion([rows(1)], [scores(1, 2)]), "one entry a row"),
        (lambda: linear_fusion([rows(1)], [scores(1)], normalisation="z"), "normalisation"),
        (lambda: turns(3, 2), "of every 2 turns"),
        (lambda: turns(0, 0), "of every 0 turns"),
    ],
)
def test_arguments_are_checked(call, text):
    with pytest.raises(ValueError, match=text):
        call()


rankings = st.lists(st.integers(0, 12), max_size=12)
limits = st.integers(0, 30)
weights = st.floats(0, 10)


@given(st.lists(st.tuples(rankings, weights), max_size=5), st.floats(0, 100), limits)
def test_reciprocal_ranks_are_the_formula_and_can_be_cut(lists, k, limit):
    """P-05: equal to the plain twin to the bit; a smaller limit is a prefix; shares add up."""
    given_rows, given_weights = [rows(*one) for one, _ in lists], [w for _, w in lists]
    fused = reciprocal_rank_fusion(given_rows, weights=given_weights, k=k + 1)
    # The twin's ranks run over repeats removed, ours over the list: repeats only lower what follows.
    unique = [list(dict.fromkeys(one)) for one, _ in lists]
    clean = reciprocal_rank_fusion([rows(*one) for one in unique], weights=given_weights, k=k + 1)
    assert list(zip(clean.rows.tolist(), clean.scores.tolist(), strict=True)) == plain_rrf(
        unique, given_weights, k + 1
    )
    assert set(fused.rows.tolist()) == {row for one, _ in lists for row in one}
    assert len(set(fused.rows.tolist())) == len(fused.rows)
    assert fused.shares.sum(axis=1) == pytest.approx(fused.scores)
    cut = reciprocal_rank_fusion(given_rows, weights=given_weights, k=k + 1, limit=limit)
    assert cut.rows.tolist() == fused.rows.tolist()[:limit]


@given(
    st.lists(
        st.tuples(
            st.lists(st.tuples(st.integers(0, 12), st.integers(0, 8)), max_size=12, unique_by=lambda p: p[0]),
            st.integers(0, 4),
        ),
        max_size=4,
    ),
    st.sampled_from(["minmax", "absolute"]),
    limits,
)  # fmt: skip
def test_linear_is_the_formula_and_can_be_cut(lists, normalisation, limit):
    """P-05: equal to the plain twin; a smaller limit is a prefix; shares add up."""
    arguments = (
        [rows(*(row for row, _ in one)) for one, _ in lists],
        [scores(*(score for _, score in one)) for one, _ in lists],
    )
    given_weights = [weight for _, weight in lists]
    fused = linear_fusion(*arguments, weights=given_weights, normalisation=normalisation)
    plain = plain_linear([one for one, _ in lists], given_weights, normalisation)
    assert dict(zip(fused.rows.tolist(), fused.scores.tolist(), strict=True)) == pytest.approx(
        plain
    )
    assert (np.diff(fused.scores) <= 0).all()
    assert fused.shares.sum(axis=1) == pytest.approx(fused.scores)
    cut = linear_fusion(*arguments, weights=given_weights, normalisation=normalisation, limit=limit)
    assert cut.rows.tolist() == fused.rows.tolist()[:limit]


def test_turns():
    """Alternate where unsure, seven of ten where sure; the first list leads."""
    assert turns(1, 2) == (True, False)
    assert turns(7, 10) == (True, True, True, False, True, True, False, True, True, False)
    assert turns(0, 3) == (False, False, False)
    assert turns(3, 3) == (True, True, True)
    for of in range(1, 12):
        assert [sum(turns(first, of)) for first in range(of + 1)] == list(range(of + 1))
