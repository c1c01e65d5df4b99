"""Every statement on events, by the rules of `statements`."""

# ruff: noqa: S608 -- the only things put into these texts are the constants of this module

from __future__ import annotations

_COLUMNS = "message_id, id, parent_id, type, level, at_ms, payload"

PUT_EVENTS = f"""
INSERT INTO events (tenant, channel, context_id, {_COLUMNS})
SELECT $1, * FROM unnest(
    $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::bigint[], $10::text[]
)
ON CONFLICT (tenant, channel, context_id, id) DO NOTHING
"""

# $3 context (empty: any), $4 and $5 numbers, $6 types (empty: any)
_EVENTS = f"""
SELECT number, context_id, {_COLUMNS} FROM events
WHERE tenant = $1 AND channel = $2 AND ($3 = '' OR context_id = $3) AND number > $4 AND number < $5
    AND ($6::text[] = '{{}}' OR type = ANY($6))
"""
EVENTS_OLDEST_FIRST = f"{_EVENTS} ORDER BY number LIMIT $7"
EVENTS_NEWEST_FIRST = f"{_EVENTS} ORDER BY number DESC LIMIT $7"

ERASE_EVENTS = """
DELETE FROM events WHERE tenant = $1 AND channel = $2 AND message_id = ANY($3::text[]) AND message_id <> ''
"""
ERASE_ALL_EVENTS = "DELETE FROM events WHERE tenant = $1 AND channel = $2"
