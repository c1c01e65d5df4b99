"""The order of scores."""

import numpy as np
import pytest

from backscroll_scoring import top_order


def test_best_first_and_the_later_of_equals():
    """S5-11: without rows the later position, with rows the later row, whatever its position."""
    scores = np.array([0.5, 0.9, 0.5, 0.1, 0.9, 0.5])
    assert top_order(scores).tolist() == [4, 1, 5, 2, 0, 3]
    rows = np.array([30, 5, 20, 1, 4, 10], np.int32)
    assert top_order(scores, rows).tolist() == [1, 4, 0, 2, 5, 3]
    assert top_order(scores, rows, limit=3).tolist() == [1, 4, 0]


def test_the_order_does_not_depend_on_where_a_row_stands():
    """Law 2: a permutation of the candidates selects the same rows in the same order."""
    rng = np.random.default_rng(3)
    rows = np.arange(400, dtype=np.int32)
    scores = rng.integers(0, 6, 400) / 8
    expected = rows[top_order(scores, rows, limit=50)]
    assert np.all(np.diff(scores[expected]) <= 0)
    for _ in range(5):
        shuffle = rng.permutation(400)
        order = top_order(scores[shuffle], rows[shuffle], limit=50)
        np.testing.assert_array_equal(rows[shuffle][order], expected)


def test_limits():
    scores = np.array([0.2, 0.4])
    assert top_order(scores, limit=0).tolist() == []
    assert top_order(scores, limit=9).tolist() == [1, 0]
    assert top_order(scores).dtype == np.int32
    with pytest.raises(ValueError, match="limit"):
        top_order(scores, limit=-1)


def test_what_has_no_order_is_refused():
    for scores in ([np.nan], [0.1, np.nan], [np.nan, 0.1, 0.2]):
        for limit in (None, 0, 1):
            with pytest.raises(ValueError, match="NaN"):
                top_order(np.array(scores), limit=limit)
    with pytest.raises(ValueError, match="one entry a score"):
        top_order(np.array([0.1]), np.array([1, 2], np.int32))
    with pytest.raises(TypeError, match="scores must be float64"):
        top_order(np.array([1]))
