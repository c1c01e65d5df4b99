"""Columns that grow while they are read."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll_sidecar.channels.batch import Runs
from backscroll_sidecar.channels.columns import MIN_CAPACITY, Column, RaggedColumn

numbers = st.lists(st.integers(-(2**31), 2**31 - 1), max_size=200)
runs = st.lists(st.lists(st.integers(0, 9), max_size=4), max_size=60)


@given(st.lists(numbers, max_size=6))
def test_a_view_is_what_was_there(batches):
    """Law 2: appending in batches equals one list; a view taken on the way stays what it was."""
    column, whole = Column(np.int32), []
    taken = []
    for batch in batches:
        column.extend(batch)
        whole += batch
        taken.append((column.view(), list(whole)))
    assert column.view().tolist() == whole
    assert len(column) == len(whole)
    for view, then in taken:
        assert view.tolist() == then


def test_views_are_read_only():
    column = Column(np.int32, [1, 2])
    with pytest.raises(ValueError, match="read-only"):
        column.view()[0] = 7
    column.raw()[0] = 7
    assert column.view().tolist() == [7, 2]


def test_growth_is_geometric():
    """Appending one by one moves the data a logarithmic number of times."""
    column, sizes = Column(np.int64), set()
    for n in range(10_000):
        column.extend([n])
        sizes.add(column.nbytes)
    assert min(sizes) == MIN_CAPACITY * 8
    assert len(sizes) < 15
    assert column.nbytes < 3 * 8 * 10_000


@given(runs, st.data())
def test_ragged_columns(given_runs, data):
    """Runs come back ascending and unique; taking and replacing give new columns and leave the old one alone."""
    column = RaggedColumn()
    half = len(given_runs) // 2
    wanted = [sorted(set(run)) for run in given_runs]
    extend(column, wanted[:half])
    before = column.view()
    extend(column, wanted[half:])
    assert listed(column) == wanted
    assert [before[1][a:b].tolist() for a, b in pairwise(before[0])] == wanted[:half]
    start = data.draw(st.integers(0, len(wanted)))
    order = np.array(data.draw(st.permutations(range(start, len(wanted)))), np.intp)
    assert listed(column.take(order, start)) == wanted[:start] + [wanted[i] for i in order]
    if wanted:
        rows = data.draw(st.sets(st.integers(0, len(wanted) - 1), min_size=1, max_size=3))
        changed = column.replace({key: np.array([3, 5], np.int32) for key in rows})
        assert listed(changed) == [[3, 5] if i in rows else run for i, run in enumerate(wanted)]
        same = {row: np.array(wanted[row], np.int32) for row in rows}
        assert column.replace(same) is column
    assert listed(column) == wanted
    assert listed(column.take(np.array([], np.intp))) == []


def extend(column: RaggedColumn, runs: list[list[int]]) -> None:
    given = Runs.of(runs)
    column.extend(given.offsets, given.values)


def listed(column: RaggedColumn) -> list[list[int]]:
    offsets, values = column.view()
    return [values[a:b].tolist() for a, b in pairwise(offsets)]
