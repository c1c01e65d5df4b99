"""What can be learnt of a database without a store over it and without changing it. Loads nothing that computes."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from backscroll_sidecar.errors import StoreUnavailable
from backscroll_sidecar.store.sqlite import files, migrate
from backscroll_sidecar.store.sqlite.files import StoreStats
from backscroll_sidecar.store.sqlite.vacuum import REWRITE_BYTES

__all__ = ["REWRITE_BYTES", "DatabaseReport", "examine_database"]


@dataclass(frozen=True, slots=True)
class DatabaseReport:
    """What `doctor` learns of a database without changing it. `fault` says why it could not learn more."""

    sqlite_version: str
    exists: bool = False
    in_use: bool = False
    fault: str = ""
    damage: tuple[str, ...] = ()
    pending_migrations: int = 0
    stats: StoreStats | None = None


def examine_database(path: Path | None) -> DatabaseReport:
    """Look at a database: its schema, whether it is whole, whether a server has it. Blocks: not for an event loop.

    `path` is None where the history is kept in memory: then there is only SQLite to tell of.
    """
    if path is None or not path.exists():
        return DatabaseReport(sqlite3.sqlite_version)
    in_use = _is_in_use(path)
    try:
        with closing(files.connect_reader(path, sqlite3.Connection)) as connection:
            waiting = len(migrate.pending(connection, migrate.known()))
            found = connection.execute("PRAGMA quick_check(5)").fetchall()
            damage = tuple(text for (text,) in found if text != "ok")
            stats = None if waiting else files.read_stats(connection, path)
    except Exception as error:  # noqa: BLE001 - whatever is wrong with it is what the caller wants to know
        return DatabaseReport(sqlite3.sqlite_version, exists=True, in_use=in_use, fault=str(error))
    return DatabaseReport(sqlite3.sqlite_version, True, in_use, "", damage, waiting, stats)


def _is_in_use(path: Path) -> bool:
    try:
        files.FileLock(path).release()
    except StoreUnavailable:
        return True
    return False
