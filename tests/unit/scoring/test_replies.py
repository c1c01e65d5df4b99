"""Whom a message answers, by hand."""

import time

import numpy as np
import pytest

from backscroll_scoring import ancestors, roots

#        0   1  2  3   4  5  6  7  8  9
TREE = [-1, 0, 0, 1, -1, 4, 7, 6, 7, 9]  # 6 and 7 are a cycle, 8 hangs on it, 9 replies to itself


def rows(*values):
    return np.array(values, np.int32)


def test_roots():
    """S5-13: the message everything goes back to; of a cycle its lowest row."""
    got = roots(rows(*TREE))
    assert got.dtype == np.int32
    assert got.tolist() == [0, 0, 0, 0, 4, 4, 6, 6, 6, 9]


def test_the_lowest_row_of_the_cycle_is_its_root_not_the_lowest_row():
    """S5-13: rows 0 and 1 lead into the cycle 2, 4, 3; they are not on it."""
    assert roots(rows(1, 3, 4, 2, 3)).tolist() == [2, 2, 2, 2, 2]


@pytest.mark.parametrize("parent", [-2, 3, 2**31 - 1, -(2**31)])
def test_a_parent_that_is_no_row_ends_the_way(parent):
    """S5-06: nothing outside the channel is read."""
    assert roots(rows(parent, 0, parent)).tolist() == [0, 0, 2]
    assert ancestors(rows(parent, 0, 1), 2, 9).tolist() == [1, 0]


@pytest.mark.parametrize(
    ("row", "depth", "expected"),
    [(3, 9, [1, 0]), (3, 1, [1]), (3, 0, []), (0, 9, []), (8, 9, [7, 6]), (6, 9, [7]), (9, 9, [])],
)
def test_ancestors(row, depth, expected):
    """S5-06: the nearest first, the row left out, each once."""
    got = ancestors(rows(*TREE), row, depth)
    assert got.dtype == np.int32
    assert got.tolist() == expected


def test_what_is_no_row_is_refused():
    for bad in (-1, 10):
        with pytest.raises(IndexError, match="outside a channel of 10"):
            ancestors(rows(*TREE), bad, 3)
    with pytest.raises(ValueError, match="max_depth"):
        ancestors(rows(*TREE), 0, -1)
    with pytest.raises(TypeError, match="parent must be int32"):
        roots(np.array(TREE))


@pytest.mark.slow
@pytest.mark.parametrize("step", [-1, 1], ids=["one chain down", "one cycle up"])
def test_a_million_rows_take_linear_time(step):
    """S5-06: no shape makes it quadratic. (Quadratic would be days.)"""
    n = 1_000_000
    parent = np.arange(n, dtype=np.int32) + np.int32(step)
    parent[-1] = n - 2 if step < 0 else 0
    begin = time.process_time()
    assert not roots(parent).any()
    assert ancestors(parent, n - 1, 15).size == 15
    assert time.process_time() - begin < 5
