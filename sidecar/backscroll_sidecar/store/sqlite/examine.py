"""What can be learnt of a database without a store over it and without changing it. Loads nothing that computes."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from backscroll_sidecar.errors import StoreUnavailable
from backscroll_sidecar.ports import Finding
from backscroll_sidecar.store.moving import ends as moving
from backscroll_sidecar.store.sqlite import files, migrate
from backscroll_sidecar.store.sqlite.moves import found_move

WAL_RESET_FIXED = (3, 51, 3)


def findings(path: Path) -> Iterator[Finding]:
    """SQLite's version, whether the database is whole, its schema and size, and whether a server has it."""
    yield _version()
    if not path.exists():
        yield Finding("database", "ok", f"{path} is not there yet; serve makes it")
        return
    is_in_use = _is_in_use(path)
    try:
        with closing(files.connect_reader(path, sqlite3.Connection)) as connection:
            waiting = len(migrate.pending(connection, migrate.known()))
            found = connection.execute("PRAGMA quick_check(5)").fetchall()
            damage = [text for (text,) in found if text != "ok"]
            stats = None if waiting else files.read_stats(connection, path)
            move = None if waiting else found_move(connection)
        fault = "damaged: " + "; ".join(damage) if damage else ""
    except Exception as error:  # noqa: BLE001 - whatever is wrong with it is what the caller wants to know
        fault, stats, waiting, move = str(error), None, 0, None
    if fault:
        advice = "restore a backup (backscroll restore), or name another file with --database"
        yield Finding("database", "fail", f"{path}: {fault}", advice)
        return
    if stats is None:
        later = f"{path}; migrations that wait for the next serve: {waiting}"
        yield Finding("database", "ok", later)
    else:
        counts = stats.row_counts
        held = f"{counts['messages']:,} messages in {counts['channels']:,} channels"
        size = f"{stats.file_bytes / 2**20:.1f} MiB"
        whole = f"{path}: {held}, {size}, schema {stats.schema_version}, whole"
        yield Finding("database", "ok", whole)
    if stats is not None and not stats.is_wiped:
        yield Finding(
            "deletions",
            "ok",
            "what was erased or recalled may have left copies in the database's file",
            "a server clears them within a minute, and a moment after its start",
        )
    yield from moving.findings(move)
    yield Finding("lock", "ok", "a server has the database" if is_in_use else "free")


def _version() -> Finding:
    version = sqlite3.sqlite_version
    if sqlite3.sqlite_version_info < files.OLDEST_SQLITE:
        return Finding("sqlite", "fail", version, "3.37 or newer is needed: use a newer Python")
    if sqlite3.sqlite_version_info >= WAL_RESET_FIXED:
        return Finding("sqlite", "ok", version)
    note = "has the WAL-reset bug (fixed in 3.51.3), which one writing connection never meets"
    advice = "let no other program write to the database"
    return Finding("sqlite", "ok", f"{version}; {note}", advice)


def _is_in_use(path: Path) -> bool:
    try:
        files.FileLock(path).release()
    except StoreUnavailable:
        return True
    return False
