"""SQLite alone: the rows a server has written, put into an empty table of the same schema by executemany."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from pathlib import Path

CHECKPOINT_PAGES = 4_000
"""As the server sets it, so that both copy their log back as often."""


def insert_again(source: Path, target: Path, channel: str, transaction: int) -> tuple[int, float]:
    """Insert the rows of a channel into a new database, `transaction` rows each, durability full.

    Parameters
    ----------
    source : the server's database; it is only read, also while the server runs.
    target : a file that is made anew each time.

    Returns
    -------
    tuple
        How many rows, and the seconds from the first BEGIN to the last COMMIT.
    """
    with closing(sqlite3.connect(f"file:{source}?mode=ro", uri=True)) as read:
        schema = [
            sql
            for (sql,) in read.execute(
                "SELECT sql FROM sqlite_master WHERE tbl_name = 'messages' AND sql IS NOT NULL ORDER BY rootpage"
            )
        ]
        rows = read.execute(
            "SELECT * FROM messages WHERE channel = ? ORDER BY seq", (channel,)
        ).fetchall()
    for path in (
        target,
        target.with_name(f"{target.name}-wal"),
        target.with_name(f"{target.name}-shm"),
    ):
        path.unlink(missing_ok=True)
    with closing(sqlite3.connect(target, isolation_level=None)) as write:
        write.execute("PRAGMA journal_mode = wal")
        write.execute("PRAGMA synchronous = full")
        write.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
        for sql in sorted(schema, key=lambda one: not one.startswith("CREATE TABLE")):
            write.execute(sql)
        began = time.perf_counter()
        _insert(write, rows, transaction)
        return len(rows), time.perf_counter() - began


def _insert(write: sqlite3.Connection, rows: list[tuple[object, ...]], transaction: int) -> None:
    marks = ", ".join("?" * len(rows[0])) if rows else ""
    for first in range(0, len(rows), transaction):
        write.execute("BEGIN IMMEDIATE")
        write.executemany(
            f"INSERT INTO messages VALUES ({marks})",  # question marks only
            rows[first : first + transaction],
        )
        write.execute("COMMIT")
