"""Every statement on events, by the rules of `statements`."""

# ruff: noqa: S608 -- the only things put into these texts are the constants of this module

from __future__ import annotations

_COLUMNS = "message_id, id, parent_id, type, level, at_ms, payload"

PUT_EVENT = f"""
INSERT INTO events (tenant, channel, context_id, {_COLUMNS}) VALUES ({", ".join("?" * 10)})
ON CONFLICT (tenant, channel, context_id, id) DO NOTHING
"""


def _events(index: str, condition: str, order: str) -> str:
    return f"""
SELECT number, context_id, {_COLUMNS} FROM events INDEXED BY {index}
WHERE tenant = :tenant AND channel = :channel {condition} AND number > :after AND number < :before
    AND (:types = '[]' OR type IN (SELECT value FROM json_each(:types)))
ORDER BY number {order} LIMIT :limit
"""


_OF_CONTEXT = "AND context_id = :context_id"
EVENTS_OLDEST_FIRST = _events("events_by_arrival", "", "ASC")
EVENTS_NEWEST_FIRST = _events("events_by_arrival", "", "DESC")
EVENTS_OF_CONTEXT_OLDEST_FIRST = _events("events_by_id", _OF_CONTEXT, "ASC")
EVENTS_OF_CONTEXT_NEWEST_FIRST = _events("events_by_id", _OF_CONTEXT, "DESC")

ERASE_EVENTS = (
    "DELETE FROM events WHERE tenant = ? AND channel = ? AND message_id = ? AND message_id <> ''"
)
ERASE_ALL_EVENTS = "DELETE FROM events WHERE tenant = ? AND channel = ?"
