"""Reply edges: late parents, circles, other orders. (The random histories are in tests/property.)"""

from __future__ import annotations

import numpy as np
import pytest

from backscroll_sidecar.channels.links import Links


def linked(*edges: str) -> list[list[int]]:
    """Parents after appending rows one by one; ``"ab"`` is row a replying to b, ``"a?b"`` by an inferred edge."""
    links, rows = Links(), {}
    for edge in edges:
        child, target, inferred = edge[0], edge[-1] if len(edge) > 1 else "", "?" in edge
        links.append([child], [(target, inferred)], rows)
    return [column.tolist() for column in links.parents()]


@pytest.mark.parametrize(
    ("edges", "parents", "explicit"),
    [
        (["a", "ba", "cb"], [-1, 0, 1], [-1, 0, 1]),
        (["ba", "a"], [1, -1], [1, -1]),  # the parent comes late
        (["ba", "ca", "a"], [2, 2, -1], [2, 2, -1]),
        (["a", "b?a"], [-1, 0], [-1, -1]),  # inferred: one of the two only
        (["b?a", "a"], [1, -1], [-1, -1]),
        (["aa"], [-1], [-1]),  # to itself
        (["az"], [-1], [-1]),  # to nothing
        (
            ["ab", "ba"],
            [-1, 0],
            [-1, 0],
        ),  # a circle of two: the edge that would close it is left out
        (["ab", "bc", "ca"], [1, -1, 0], [1, -1, 0]),
    ],
)
def test_edges(edges, parents, explicit):
    """S5-02, S5-06, N-02: rows in order of arrival find their parents, early or late; circles stay open."""
    assert linked(*edges) == [parents, explicit]


@pytest.mark.parametrize(
    "edges",
    [["ab", "bc", "ca"], ["ba", "ca", "a", "db"], ["ab", "ba", "ca", "ac"], ["b?a", "ab", "cb"]],
)
def test_one_by_one_or_at_once(edges):
    """Law 2: a batch, a load and single appends find the same edges."""
    one_by_one = linked(*edges)
    ids = [edge[0] for edge in edges]
    sent = [(edge[-1] if len(edge) > 1 else "", "?" in edge) for edge in edges]
    at_once = Links()
    at_once.append(ids, sent, {})
    assert [column.tolist() for column in at_once.parents()] == one_by_one
    rebuilt = at_once.rebuilt(ids, np.arange(len(ids)), sent)
    assert [column.tolist() for column in rebuilt.parents()] == one_by_one


def test_published_parents_never_change():
    """Law 2: a late parent is entered in a copy."""
    links, rows = Links(), {}
    links.append(["b"], [("a", False)], rows)
    before, _ = links.parents()
    assert links.append(["a"], [("", False)], rows) is True
    assert before.tolist() == [-1]
    assert links.parents()[0].tolist() == [1, -1]
