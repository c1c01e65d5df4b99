"""What a figure is compared with does the same work: the same scores, the same rows, an answer of the same size."""

import sqlite3
from contextlib import closing

import numpy as np
import pytest

from backscroll_bench.speed import kernels, rooms
from backscroll_bench.speed.bare import insert_again
from backscroll_bench.speed.echo import LARGEST_REPLY, echo_server, method
from backscroll_bench.speed.load import open_channel, unary
from backscroll_bench.speed.numpy_factors import score_with_numpy
from backscroll_bench.speed.python_factors import score_with_python
from backscroll_bench.speed.stats import Wrong
from backscroll_scoring import ChannelColumns, QueryFeatures, score_only


@pytest.mark.parametrize("seed", [1, 2])
def test_numpy_and_python_give_the_kernels_scores(seed):
    columns, query = kernels.busy_channel(3_000, seed)
    rng = np.random.default_rng(seed)
    named = np.sort(rng.choice(200, 3_000)).astype(np.int32)
    mentioning = ChannelColumns(
        columns.time_ms, columns.author, columns.parent, columns.keyword_offsets, columns.keyword_ids,
        np.arange(3_001, dtype=np.int64), named,
    )  # fmt: skip
    asked = QueryFeatures(
        query.time_ms, 3, query.parent, query.keyword_ids, np.array([3, 7], np.int32)
    )
    rows = np.arange(3_000, dtype=np.int32)
    expected = score_only(mentioning, asked, rows)
    for scored in (score_with_numpy, score_with_python):
        np.testing.assert_allclose(scored(mentioning, asked), expected, atol=1e-12)
    assert len(np.unique(expected)) > 1_000


def test_the_bare_table_gets_the_rows_of_the_channel(tmp_path):
    source, target = tmp_path / "source.db", tmp_path / "bare.db"
    with closing(sqlite3.connect(source)) as made:
        made.execute(
            "CREATE TABLE messages (channel TEXT, seq INTEGER, text TEXT, PRIMARY KEY (channel, seq)) WITHOUT ROWID"
        )
        made.execute("CREATE INDEX by_text ON messages (text)")
        rows = [(channel, n, f"line {n}") for channel in "ab" for n in range(7)]
        made.executemany("INSERT INTO messages VALUES (?, ?, ?)", rows)
        made.commit()
    for _ in range(2):  # the second run begins with an empty table again
        count, taken_s = insert_again(source, target, "b", 3)
        assert count == 7
        assert taken_s > 0
    with closing(sqlite3.connect(target)) as read:
        assert read.execute("SELECT * FROM messages").fetchall() == rows[7:]
        names = read.execute("SELECT name FROM sqlite_master WHERE type = 'index'").fetchall()
        assert ("by_text",) in names


def test_a_copied_channel_has_the_rows_and_the_indexes_of_the_first(tmp_path):
    database = tmp_path / "rooms.db"
    with closing(sqlite3.connect(database)) as made:
        for table in rooms.TABLES:
            made.execute(
                f"CREATE TABLE {table} (text TEXT, channel TEXT, PRIMARY KEY (channel, text))"
            )
            rows = [(f"{table} {n}", channel) for channel in ("room0", "other") for n in range(3)]
            made.executemany(f"INSERT INTO {table} VALUES (?, ?)", rows)
        made.execute("CREATE UNIQUE INDEX by_text ON messages (text, channel) WHERE text <> ''")
        made.commit()
    rooms.copy_channels(database, {"room0": ["room1", "room2"], "other": []})
    with closing(sqlite3.connect(database)) as read:
        for table in rooms.TABLES:
            for channel in ("room0", "room1", "room2", "other"):
                found = read.execute(f"SELECT text FROM {table} WHERE channel = ?", (channel,))
                assert sorted(found) == [(f"{table} {n}",) for n in range(3)]
        plan = read.execute(
            "EXPLAIN QUERY PLAN SELECT 1 FROM messages INDEXED BY by_text WHERE text = 'a' AND text <> ''"
        )
        assert "by_text" in plan.fetchone()[3]
        assert read.execute("PRAGMA integrity_check").fetchone() == ("ok",)


async def test_the_echo_answers_with_as_many_bytes_as_asked_for():
    with echo_server() as address:
        async with open_channel(address) as channel:
            for size in (0, 7_000):
                assert len(await unary(channel, method(size))(b"hello")) == size
            with pytest.raises(Wrong, match="failed: UNIMPLEMENTED"):
                await unary(channel, method(LARGEST_REPLY + 1))(b"hello")
