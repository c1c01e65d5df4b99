"""SQLite's errors become the port's: two kinds, no text of the driver."""

from __future__ import annotations

import sqlite3

from backscroll_sidecar.errors import StoreMoved, StoreReadOnly, StoreUnavailable

MOVED = "this history moved"
"""What triggers say that refuse every write (`sqlite/move_statements.py`)."""

_CANNOT_WRITE = {
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_READONLY: "the database is read-only",
    sqlite3.SQLITE_PERM: "the database must not be written",
    sqlite3.SQLITE_IOERR_WRITE: "the disk takes no more writes",
    sqlite3.SQLITE_IOERR_FSYNC: "the disk does not confirm writes",
    sqlite3.SQLITE_IOERR_TRUNCATE: "the disk takes no more writes",
}
_CANNOT_ANSWER = {
    sqlite3.SQLITE_BUSY: "the database is locked by another program",
    sqlite3.SQLITE_LOCKED: "the database is locked",
    sqlite3.SQLITE_IOERR: "the database file cannot be read or written",
    sqlite3.SQLITE_CANTOPEN: "the database file cannot be opened",
    sqlite3.SQLITE_CORRUPT: "the database file is damaged: restore a backup",
    sqlite3.SQLITE_NOTADB: "the file is no database",
    sqlite3.SQLITE_NOMEM: "out of memory",
    sqlite3.SQLITE_INTERRUPT: "the statement was interrupted",
}
_OUR_FAULT = (
    sqlite3.IntegrityError,
    sqlite3.ProgrammingError,
    sqlite3.DataError,
    sqlite3.InterfaceError,
)
_PASSES_BY_ITSELF = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_PRIMARY = 0xFF


def typed(error: sqlite3.Error) -> Exception:
    """The error to raise instead: `StoreReadOnly`, `StoreUnavailable`, or the same if it is a mistake of ours."""
    if getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_CONSTRAINT_TRIGGER:
        return StoreMoved()
    if isinstance(error, _OUR_FAULT):
        return error
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
    metadata = {"sqlite_error": getattr(error, "sqlite_errorname", "SQLITE_ERROR")}
    for known in (code, code & _PRIMARY):
        if known in _CANNOT_WRITE:
            return StoreReadOnly(_CANNOT_WRITE[known], metadata=metadata)
    reason = _CANNOT_ANSWER.get(code & _PRIMARY, "the database failed")
    return StoreUnavailable(reason, metadata=metadata)


def is_connection_usable_after(error: sqlite3.Error) -> bool:
    """Whether the same connection may go on, or a new one is safer."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
    return isinstance(error, _OUR_FAULT) or code & _PRIMARY in _PASSES_BY_ITSELF
