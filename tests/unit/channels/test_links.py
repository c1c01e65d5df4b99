"""Reply edges: late parents, circles, other orders. (The random histories are in tests/property.)"""

import pytest
from msgspec.structs import replace

from backscroll_sidecar.channels import HotChannel
from backscroll_sidecar.domain import Reply, StoredMessage
from backscroll_sidecar.ports import Applied
from tests.kit.chats import KEY, PlainCodec, say, stored_in_order


def sent(*edges: str) -> list[StoredMessage]:
    """``"ab"`` is row a replying to b, ``"a?b"`` by an inferred edge; in this order of arrival and time."""
    rows = stored_in_order([say(edge[0], ago_ms=99 - n) for n, edge in enumerate(edges)])
    replies = [Reply(edge[-1], inferred="?" in edge) if len(edge) > 1 else None for edge in edges]
    return [
        replace(row, analysis=replace(row.analysis, reply=reply))
        for row, reply in zip(rows, replies, strict=True)
    ]


def parents(channel: HotChannel) -> list[list[int]]:
    """By any edge, and by the platform's own."""
    view = channel.view()
    return [columns.parent.tolist() for columns in (view.columns, view.explicit_columns)]


def linked(*edges: str) -> list[list[int]]:
    """Parents after appending rows one by one."""
    channel = HotChannel(KEY, PlainCodec())
    for row in sent(*edges):
        channel.publish(Applied(stored=(row,)))
    return parents(channel)


@pytest.mark.parametrize(
    ("edges", "expected", "explicit"),
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
        (["ab", "b?a"], [1, -1], [1, -1]),  # what is inferred gives way to the platform's own
        (["a?b", "ba"], [-1, 0], [-1, 0]),
        (["c", "ac", "xy", "z?x", "yz"], [-1, 0, 4, -1, 3], [-1, 0, 4, -1, 3]),
    ],
)
def test_edges(edges, expected, explicit):
    """S5-02, S5-06, N-02: rows in order of arrival find their parents, early or late; circles stay open."""
    assert linked(*edges) == [expected, explicit]


@pytest.mark.parametrize(
    "edges",
    [
        ["ab", "bc", "ca"],
        ["ba", "ca", "a", "db"],
        ["ab", "ba", "ca", "dc"],
        ["b?a", "ab", "cb"],
        ["ab", "b?a", "cb"],
        ["c", "xy", "z?x", "yz", "dy"],
    ],
)
def test_one_by_one_or_at_once(edges):
    """Law 2: a batch, a load and single appends find the same edges."""
    one_by_one = linked(*edges)
    rows = sent(*edges)
    assert parents(HotChannel(KEY, PlainCodec(), rows)) == one_by_one
    bare = [replace(row, analysis=replace(row.analysis, reply=None)) for row in rows]
    edited = HotChannel(KEY, PlainCodec(), bare)
    edited.publish(Applied(stored=tuple(rows)))
    assert parents(edited) == one_by_one


def test_published_parents_never_change():
    """Law 2: a late parent is entered in a copy, under another generation."""
    channel = HotChannel(KEY, PlainCodec())
    child, parent = sent("ba", "a")
    channel.publish(Applied(stored=(child,)))
    before = channel.view()
    channel.publish(Applied(stored=(parent,)))
    assert before.columns.parent.tolist() == [-1]
    assert channel.view().columns.parent.tolist() == [1, -1]
    assert channel.generation == before.generation + 1
