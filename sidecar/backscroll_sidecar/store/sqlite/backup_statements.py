"""Statements on a whole file that no server has: of every tenant, since a backup holds them all."""

from __future__ import annotations

TABLES = "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name"

BODIES_OF_KIND = "SELECT body FROM records WHERE kind = ?"

RECEIVED_OF_CHANNEL = "SELECT id, received_at_ms FROM messages WHERE tenant = ? AND channel = ?"

RECEIVED_OF_USER = f"{RECEIVED_OF_CHANNEL} AND author_id = ?"


def count_of(table: str) -> str:
    """Counts the rows of a table, by a name that `TABLES` gave."""
    quoted = table.replace('"', '""')
    return f'SELECT count(*) FROM "{quoted}"'  # noqa: S608
