"""What was deleted goes from the files, too: out of the log, and out of pages that were split.

That rows went stands in the database's header, in the transaction in which they went, until it was rewritten.
"""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
from pathlib import Path

from backscroll_sidecar.errors import StoreUnavailable

REWRITE_BYTES = 128 * 1024 * 1024
"""A larger database is not rewritten while it serves: writes would wait for more than a second, and it is copied in
memory, so that nothing of it lies in a folder for temporary files."""
_TO_REWRITE = 1
READERS_MS = 200
"""Who reads the log, such as a backup, is waited for so long: writes wait meanwhile."""


def note_deletion(connection: sqlite3.Connection) -> None:
    """Have it rewritten. In the transaction that deletes."""
    if is_rewritten(connection):
        connection.execute(f"PRAGMA user_version = {_TO_REWRITE}")


def is_rewritten(connection: sqlite3.Connection) -> bool:
    """Whether the database was rewritten since rows were deleted."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return bool(version != _TO_REWRITE)


def empty_log(connection: sqlite3.Connection) -> None:
    """Write the log into the database and empty it. What was deleted is overwritten with zeros there.

    Raises
    ------
    StoreUnavailable
        Somebody reads what stands in the log.
    """
    (usual_ms,) = connection.execute("PRAGMA busy_timeout").fetchone()
    connection.execute(f"PRAGMA busy_timeout = {READERS_MS}")
    try:
        ((is_read, *_),) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    finally:
        connection.execute(f"PRAGMA busy_timeout = {usual_ms}")
    if is_read:
        raise StoreUnavailable("the database's log is being read by another program")


def rewrite(connection: sqlite3.Connection, path: Path) -> None:
    """Leave out of the database what deleted rows left in it; nothing where there is no such thing, or too much else.

    Raises
    ------
    StoreUnavailable
        The log is being read, or the disk has too little room.
    """
    if is_rewritten(connection):
        return
    empty_log(connection)  # one that is read would grow by the whole database, try after try
    size_bytes = used_bytes(connection)
    if size_bytes > REWRITE_BYTES:
        return
    if shutil.disk_usage(path.parent).free < 2 * size_bytes:
        raise StoreUnavailable("the disk has too little room for the database to be rewritten")
    connection.execute("PRAGMA temp_store = MEMORY")
    try:
        connection.execute("VACUUM")
        empty_log(connection)
    except BaseException:
        with contextlib.suppress(sqlite3.Error, StoreUnavailable):
            empty_log(connection)
        raise
    finally:
        connection.execute("PRAGMA temp_store = DEFAULT")
    connection.execute("PRAGMA user_version = 0")


def used_bytes(connection: sqlite3.Connection) -> int:
    """What a copy of the database would take, without its free pages."""
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    (free,) = connection.execute("PRAGMA freelist_count").fetchone()
    (page_bytes,) = connection.execute("PRAGMA page_size").fetchone()
    return int((pages - free) * page_bytes)
