"""Every statement on aliases and on what rows answer them, by the rules of `statements`."""

# ruff: noqa: S608 -- the only things put into these texts are the constants of this module

from __future__ import annotations

from backscroll_sidecar.store.postgres.statements import COLUMNS, RECURSIVE_WANTED, WANTED

FIND_ALIASES = f"""{WANTED}
SELECT channel, alias_id, message_id
FROM wanted JOIN aliases ON tenant = $1 AND channel = in_channel AND alias_id = in_name
"""

# A row that is not stored is in no circle of stored edges, so this ends. $4: until when they are ranked.
FIND_FOLLOWERS = f"""{RECURSIVE_WANTED}
, below (up_channel, up_id, child_id, until_ms) AS (
    SELECT channel, in_name, id, $4::bigint + 1 FROM wanted
        JOIN messages ON tenant = $1 AND channel = in_channel AND reply_to = in_name
    WHERE rank_time_ms <= $4
    UNION
    SELECT channel, child_id, id, until_ms + 1 FROM below
        JOIN messages ON tenant = $1 AND channel = up_channel AND reply_to = child_id
    WHERE rank_time_ms <= until_ms
)
SELECT up_channel, up_id, child_id FROM below
"""

# Of turns, and not aliased: `turn_ids` says what such an id looks like. $4: since when they are ranked.
FIND_SAID = f"""{WANTED}
SELECT channel, received_at_ms, edited_at_ms, {COLUMNS}
FROM wanted JOIN messages
    ON tenant = $1 AND channel = in_channel AND author_id = in_name AND rank_time_ms >= $4
WHERE state = 0 AND role = 2 AND (id LIKE '%:reply' OR id LIKE '%:calls:%') AND NOT EXISTS (
    SELECT 1 FROM aliases WHERE aliases.tenant = $1 AND aliases.channel = in_channel AND message_id = id
)
ORDER BY seq
"""

FIND_ANSWERS = f"""{WANTED}
SELECT channel, reply_to, author_id, id
FROM wanted JOIN messages ON tenant = $1 AND channel = in_channel AND reply_to = in_name
WHERE state = 0 AND role = 2 ORDER BY seq
"""

PUT_ALIASES = """
INSERT INTO aliases (tenant, channel, alias_id, message_id)
SELECT $1, * FROM unnest($2::text[], $3::text[], $4::text[])
"""

ALIASES_OF = """
SELECT message_id, alias_id FROM aliases
WHERE tenant = $1 AND channel = $2 AND message_id = ANY($3::text[]) ORDER BY number
"""

HAS_ALIASES = "SELECT 1 FROM aliases WHERE tenant = $1 AND channel = $2 LIMIT 1"

LOAD_ALIASES = (
    "SELECT alias_id, message_id FROM aliases WHERE tenant = $1 AND channel = $2 ORDER BY alias_id"
)

TRUE_IDS = """
SELECT alias_id, message_id FROM aliases WHERE tenant = $1 AND channel = $2 AND alias_id = ANY($3::text[])
"""

ERASE_ALIASES = (
    "DELETE FROM aliases WHERE tenant = $1 AND channel = $2 AND message_id = ANY($3::text[])"
)

ANSWER_TO = f"""
SELECT {COLUMNS} FROM messages
WHERE tenant = $1 AND channel = $2 AND reply_to = $3 AND author_id = $4 AND state = 0 AND role = 2
ORDER BY seq
"""
