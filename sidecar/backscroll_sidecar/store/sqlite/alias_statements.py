"""Every statement on aliases and on what rows answer them, by the rules of `statements`."""

# ruff: noqa: S608 -- the only things put into these texts are the constants of this module

from __future__ import annotations

from backscroll_sidecar.store.sqlite.statements import COLUMNS, WANTED

FIND_ALIASES = f"""{WANTED}
SELECT tenant, channel, alias_id, message_id
FROM wanted CROSS JOIN aliases ON tenant = in_tenant AND channel = in_channel AND alias_id = in_name
"""

# A row that is not stored is in no circle of stored edges, so this ends.
FIND_FOLLOWERS = f"""{WANTED}
, bound (until_ms) AS (SELECT ?), below (up_tenant, up_channel, up_id, child_id, until_ms) AS (
    SELECT tenant, channel, in_name, id, until_ms + 1 FROM bound CROSS JOIN wanted
        CROSS JOIN messages INDEXED BY messages_by_parent
        ON tenant = in_tenant AND channel = in_channel AND reply_to = in_name
    WHERE rank_time_ms <= until_ms
    UNION
    SELECT tenant, channel, child_id, id, until_ms + 1 FROM below
        CROSS JOIN messages INDEXED BY messages_by_parent
        ON tenant = up_tenant AND channel = up_channel AND reply_to = child_id
    WHERE rank_time_ms <= until_ms
)
SELECT up_tenant, up_channel, up_id, child_id FROM below
"""

# Of turns, and not aliased: `turn_ids` says what such an id looks like.
FIND_SAID = f"""{WANTED}
SELECT tenant, channel, received_at_ms, edited_at_ms, {COLUMNS}
FROM wanted CROSS JOIN messages INDEXED BY messages_by_author
    ON tenant = in_tenant AND channel = in_channel AND author_id = in_name AND rank_time_ms >= ?
WHERE state = 0 AND role = 2 AND (id GLOB '*[:]reply' OR id GLOB '*[:]calls[:]*') AND NOT EXISTS (
    SELECT 1 FROM aliases WHERE aliases.tenant = in_tenant AND aliases.channel = in_channel AND message_id = id
)
ORDER BY seq
"""

FIND_ANSWERS = f"""{WANTED}
SELECT tenant, channel, reply_to, author_id, id
FROM wanted CROSS JOIN messages INDEXED BY messages_by_parent
    ON tenant = in_tenant AND channel = in_channel AND reply_to = in_name
WHERE state = 0 AND role = 2 ORDER BY seq
"""

PUT_ALIAS = "INSERT INTO aliases (tenant, channel, alias_id, message_id) VALUES (?, ?, ?, ?)"

ALIASES_OF = f"""{WANTED}
SELECT message_id, alias_id
FROM wanted CROSS JOIN aliases ON tenant = in_tenant AND channel = in_channel AND message_id = in_name
ORDER BY number
"""

HAS_ALIASES = "SELECT 1 FROM aliases WHERE tenant = ? AND channel = ? LIMIT 1"

LOAD_ALIASES = (
    "SELECT alias_id, message_id FROM aliases WHERE tenant = ? AND channel = ? ORDER BY alias_id"
)

ERASE_ALIASES = "DELETE FROM aliases WHERE tenant = ? AND channel = ? AND message_id = ?"

ANSWER_TO = f"""
SELECT {COLUMNS} FROM messages INDEXED BY messages_by_parent
WHERE tenant = ? AND channel = ? AND reply_to = ? AND author_id = ? AND state = 0 AND role = 2
ORDER BY seq
"""
