"""The table as data: every row can be measured, and says what is better."""

import pytest

from backscroll_bench.speed.rows import ROWS, find_rows
from tests.unit.bench_speed.results import HIGHER, LOWER, TOLD


def test_names_are_unique_and_every_row_has_a_part():
    from backscroll_bench.speed.parts import PARTS

    assert len({row.name for row in ROWS}) == len(ROWS)
    assert {row.part for row in ROWS} == set(PARTS)


def test_the_table_is_whole():
    """What a build, a vector, a kernel, an answer, a search, ingest, a delta, a start and the peers cost."""
    assert {row.name for row in ROWS} >= {
        "classic-10k", "classic-10k-stages", "classic-10k-c8", "classic-10k-p99",
        "balanced-1k", "balanced-10k", "balanced-100k", "vector-1k", "vector-10k", "vector-10k-stages", "vector-100k",
        "long-ago-text", "lived-in-10k", "lived-in-cut-10k", "summary-10k", "steady-10k", "explain-10k",
        "cold-10k", "classic-c64", "balanced-c64", "vector-c64",
        "rooms-1m", "vector-1m", "long-ago-1m", "append-50-graph",
        "round", "route",
        "kernel-1m", "kernel-python", "kernel-numpy", "assembly",
        "semantic-10k", "semantic-30k", "semantic-100k", "semantic-filtered",
        "append-50", "append-50-rate", "append-single-normal", "append-single-full",
        "postgres-10k", "postgres-c64", "postgres-append-50", "postgres-cold-10k", "postgres-cold-100k",
        "postgres-1", "postgres-1-server", "postgres-1-database", "postgres-3", "postgres-3-append-database",
        "delta", "delta-burst", "first-delta", "gateway-first-delta", "ingest-p99", "start", "first-build",
        "recording", "recording-c64", "sink-slow", "sink-blocked-p99", "sink-dead",
        "memory", "memory-vectors",
        "peer-mem0-qdrant", "peer-mem0-faiss", "peer-chromadb", "peer-langgraph",
    }  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_goal_is_at_least_as_hard_as_its_gate(row):
    if row.gate is not None and row.goal is not None:
        assert row.holds(row.goal)
        assert row.gate == row.goal or not row.reaches(row.gate)


def test_a_bound_is_kept_on_its_own_side():
    assert (LOWER.holds(2.0), LOWER.holds(2.01), LOWER.reaches(1.6)) == (True, False, False)
    assert (HIGHER.holds(0.5), HIGHER.holds(0.49), HIGHER.reaches(0.7)) == (True, False, True)
    assert (TOLD.holds(1.0), TOLD.reaches(1.0)) == (None, None)


def test_rows_come_in_the_tables_order_whatever_the_calls():
    first, second = ROWS[0].name, ROWS[5].name
    assert [row.name for row in find_rows((second, first))] == [first, second]
    assert find_rows(()) == ROWS
    with pytest.raises(KeyError, match="nope"):
        find_rows((first, "nope"))
