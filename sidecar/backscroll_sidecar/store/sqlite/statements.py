"""Every statement on stored data. Each names tenant and channel (a test reads this module).

Look-ups for a whole group go through one JSON array of [tenant, channel, [name, …]], whatever the group's size; what
comes of it is called in_tenant, in_channel, in_name, so that every other name is a column of a table. INDEXED BY stands
where the planner, which has no statistics, would rather walk the channel.
"""

# ruff: noqa: S608 -- the only things put into these texts are the constants of this module

from __future__ import annotations

import re
from functools import cache

WANTED = """
WITH RECURSIVE places (in_tenant, in_channel, in_names) AS MATERIALIZED (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]') FROM json_each(?)
), wanted (in_tenant, in_channel, in_name) AS (
    SELECT in_tenant, in_channel, value FROM places CROSS JOIN json_each(in_names)
)
"""

COLUMNS = """
seq, id, author_id, author_name, sent_at_ms, rank_time_ms,
author_kind | (role << 4) | (state << 8) | (message_type << 12)
    | (coalesce(reply_kind, 0) << 16) | (coalesce(reply_inferred, 0) << 20) | (moves << 24),
revision, token_count, text, keywords, reply_to, thread_id, session_id, dedupe_key, details
"""
"""What `codec.decode_rows` reads: small numbers share one column, fetching a column costs more than unpacking it."""

_CONTENT_COLUMNS = "state, revision, message_type, token_count, text, keywords, details"
_MEMBER_COLUMNS = """
user_id, name, kind, named_at_ms, joined_at_ms, left_at_ms, aliases, former_names, role, earlier_stays, name_times
"""

# --- what a group must know ----------------------------------------------------------------------

FIND_LAST_SEQS = f"""{WANTED}
SELECT tenant, channel, last_seq FROM wanted CROSS JOIN channels ON tenant = in_tenant AND channel = in_channel
"""

FIND_TAKEN = f"""{WANTED}
SELECT in_tenant, in_channel, in_name FROM wanted
WHERE EXISTS (SELECT 1 FROM messages WHERE tenant = in_tenant AND id = in_name AND channel = in_channel)
    OR EXISTS (SELECT 1 FROM tombstones WHERE tenant = in_tenant AND channel = in_channel AND message_id = in_name)
    OR EXISTS (SELECT 1 FROM messages WHERE tenant = in_tenant AND channel = in_channel AND reply_to = in_name)
    OR EXISTS (SELECT 1 FROM aliases WHERE tenant = in_tenant AND channel = in_channel AND alias_id = in_name)
"""

FIND_ROWS = f"""{WANTED}
SELECT tenant, channel, received_at_ms, edited_at_ms, {COLUMNS}
FROM wanted CROSS JOIN messages ON tenant = in_tenant AND channel = in_channel AND id = in_name
"""

FIND_REVISIONS = f"""{WANTED}
SELECT tenant, channel, message_id, revision, edited_at_ms, content
FROM wanted CROSS JOIN revisions ON tenant = in_tenant AND channel = in_channel AND message_id = in_name
ORDER BY tenant, channel, message_id, revision
"""

FIND_ERASED = f"""{WANTED}
SELECT tenant, channel, message_id, with_channel
FROM wanted CROSS JOIN tombstones ON tenant = in_tenant AND channel = in_channel AND message_id = in_name
"""

FIND_HOLDERS = f"""{WANTED}
SELECT tenant, channel, dedupe_key, id, state
FROM wanted CROSS JOIN messages ON tenant = in_tenant AND channel = in_channel AND dedupe_key = in_name
WHERE dedupe_key <> ''
"""

FIND_ERASED_HOLDERS = f"""{WANTED}
SELECT tenant, channel, dedupe_digest, message_id, with_channel
FROM wanted CROSS JOIN tombstones INDEXED BY tombstones_by_dedupe_digest
    ON tenant = in_tenant AND channel = in_channel AND dedupe_digest = in_name
WHERE dedupe_digest <> ''
"""

FIND_PARENTS = f"""{WANTED}
SELECT in_tenant, in_channel, in_name,
    (SELECT rank_time_ms FROM messages WHERE tenant = in_tenant AND id = in_name AND channel = in_channel),
    EXISTS (SELECT 1 FROM messages WHERE tenant = in_tenant AND id = in_name AND channel < in_channel)
    OR EXISTS (SELECT 1 FROM messages WHERE tenant = in_tenant AND id = in_name AND channel > in_channel)
FROM wanted
"""

FIND_CHILDREN = f"""{WANTED}
SELECT in_tenant, in_channel, in_name FROM wanted
WHERE EXISTS (SELECT 1 FROM messages WHERE tenant = in_tenant AND channel = in_channel AND reply_to = in_name)
"""

FIND_EDGES = f"""{WANTED}
, above (up_tenant, up_channel, up_id) AS (
    SELECT in_tenant, in_channel, in_name FROM wanted
    UNION
    SELECT tenant, channel, reply_to FROM above
        CROSS JOIN messages ON tenant = up_tenant AND id = up_id AND channel = up_channel
    WHERE reply_to IS NOT NULL
)
SELECT tenant, channel, id, reply_to
FROM above CROSS JOIN messages ON tenant = up_tenant AND id = up_id AND channel = up_channel
WHERE reply_to IS NOT NULL
"""

FIND_PEOPLE = f"""{WANTED}
SELECT tenant, channel, {_MEMBER_COLUMNS}
FROM wanted CROSS JOIN members ON tenant = in_tenant AND channel = in_channel AND user_id = in_name
"""

# --- what a group writes -------------------------------------------------------------------------

# The values of the three that every group needs stand on a line of their own, so that `for_rows` can repeat it.

PUT_LAST_SEQ = """
INSERT INTO channels (tenant, channel, last_seq) VALUES
(?, ?, ?)
ON CONFLICT (tenant, channel) DO UPDATE SET last_seq = excluded.last_seq
"""

# Python's driver takes .6 µs over a None, a dozen times what it takes over anything else.
INSERT_MESSAGE = f"""
INSERT INTO messages (
    tenant, channel, seq, id, author_id, author_name, author_kind, role, sent_at_ms, rank_time_ms, received_at_ms,
    thread_id, session_id, reply_to, reply_kind, reply_inferred, dedupe_key, edited_at_ms, {_CONTENT_COLUMNS}, moves
) VALUES
({"?, " * 13} nullif(?, ''), nullif(?, 0), nullif(?, -1), {"?, " * 7} nullif(?, ''), nullif(?, ''), ?)
"""

PUT_MEMBER = f"""
INSERT INTO members (tenant, channel, {_MEMBER_COLUMNS}) VALUES
({", ".join("?" * 13)})
ON CONFLICT (tenant, channel, user_id) DO UPDATE SET
    name = excluded.name, kind = excluded.kind, named_at_ms = excluded.named_at_ms,
    joined_at_ms = excluded.joined_at_ms, left_at_ms = excluded.left_at_ms,
    aliases = excluded.aliases, former_names = excluded.former_names,
    role = excluded.role, earlier_stays = excluded.earlier_stays,
    name_times = excluded.name_times
"""


@cache
def for_rows(statement: str, count: int) -> str:
    """One of the three for so many rows at once."""
    head, values, tail = re.split(r"(?<=VALUES)\n(.+)\n", statement)
    return f"{head} {', '.join([values] * count)} {tail}"


UPDATE_MESSAGE = f"""
UPDATE messages SET (rank_time_ms, reply_to, moves, edited_at_ms, {_CONTENT_COLUMNS})
    = (?, nullif(?, ''), {"?, " * 7} nullif(?, ''), nullif(?, ''))
WHERE tenant = ? AND channel = ? AND seq = ?
"""

INSERT_REVISION = """
INSERT INTO revisions (tenant, channel, message_id, revision, edited_at_ms, content) VALUES (?, ?, ?, ?, ?, ?)
"""

EMPTY_REVISIONS = f"""{WANTED}
UPDATE revisions SET content = '[[],[]]'
WHERE (tenant, channel, message_id) IN (SELECT in_tenant, in_channel, in_name FROM wanted)
"""

DELETE_VECTORS = f"""{WANTED}
DELETE FROM vectors WHERE (tenant, channel, message_id) IN (SELECT in_tenant, in_channel, in_name FROM wanted)
"""

PUT_VECTOR = """
INSERT INTO vectors (tenant, channel, message_id, revision, embedder_id, dims, vector) VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (tenant, channel, message_id, revision, embedder_id) DO NOTHING
"""

PUT_MADE_VECTOR = """
INSERT INTO vectors (tenant, channel, message_id, revision, embedder_id, dims, vector) VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (tenant, channel, message_id, revision, embedder_id) DO UPDATE
    SET dims = excluded.dims, vector = excluded.vector WHERE dims <> excluded.dims
"""

# --- segments ------------------------------------------------------------------------------------

STRETCH = """
SELECT count(*), coalesce(sum(revision + moves), 0), coalesce(sum(state = 1), 0) FROM messages
WHERE tenant = ? AND channel = ? AND seq BETWEEN ? AND ?
"""

# Of segments, which never overlap, only the first that ends behind the stretch may begin behind it.
DROP_SEGMENTS = """
DELETE FROM segments WHERE tenant = ? AND channel = ? AND last_seq >= ? AND first_seq <= ?
"""

PUT_SEGMENT = """
INSERT INTO segments (
    tenant, channel, format, first_seq, last_seq, row_count, revisions, recalled, columns, bodies
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""

# --- erasing -------------------------------------------------------------------------------------

VICTIMS_BY_ID = f"""{WANTED}
SELECT DISTINCT seq, id, dedupe_key, state
FROM wanted CROSS JOIN messages ON tenant = in_tenant AND id = in_name AND channel = in_channel ORDER BY seq
"""

VICTIMS_BY_AUTHOR = """
SELECT seq, id, dedupe_key, state FROM messages INDEXED BY messages_by_author
WHERE tenant = ? AND channel = ? AND author_id = ? ORDER BY seq
"""

VICTIMS_ALL = (
    "SELECT seq, id, dedupe_key, state FROM messages WHERE tenant = ? AND channel = ? ORDER BY seq"
)

INSERT_TOMBSTONE = """
INSERT INTO tombstones (tenant, channel, message_id, erased_at_ms, dedupe_digest, with_channel)
VALUES (?, ?, ?, ?, ?, ?)
"""
SEAL_TOMBSTONES = f"""{WANTED}
UPDATE tombstones SET with_channel = 0 WHERE (tenant, channel, message_id) IN (
    SELECT in_tenant, in_channel, in_name FROM wanted
)
"""
DROP_TOMBSTONE = "DELETE FROM tombstones WHERE tenant = ? AND channel = ? AND message_id = ?"

ERASE_REVISIONS = "DELETE FROM revisions WHERE tenant = ? AND channel = ? AND message_id = ?"
ERASE_VECTORS = "DELETE FROM vectors WHERE tenant = ? AND channel = ? AND message_id = ?"
ERASE_MESSAGE = "DELETE FROM messages WHERE tenant = ? AND channel = ? AND seq = ?"
ERASE_MEMBER = "DELETE FROM members WHERE tenant = ? AND channel = ? AND user_id = ?"
ERASE_ALL_MEMBERS = "DELETE FROM members WHERE tenant = ? AND channel = ?"

# --- reading -------------------------------------------------------------------------------------

_NEWEST = "rank_time_ms DESC, seq DESC"

LOAD_ROWS = f"""
SELECT {COLUMNS} FROM messages WHERE tenant = ? AND channel = ? AND seq BETWEEN ? AND ? ORDER BY seq
"""

LOAD_SEGMENTS = """
SELECT rowid, first_seq, last_seq, row_count, revisions, recalled FROM segments
WHERE tenant = ? AND channel = ? AND format = ? ORDER BY last_seq
"""

NEWEST_SEGMENTS = """
SELECT tenant, channel FROM segments
WHERE rowid > (SELECT max(rowid) FROM segments) - ? AND format = ? ORDER BY rowid DESC
"""

EXPORT_PAGE = f"""
SELECT {COLUMNS} FROM messages WHERE tenant = ? AND channel = ? AND seq > ? ORDER BY seq LIMIT ?
"""

LATEST = f"""
SELECT {COLUMNS} FROM messages WHERE tenant = ? AND channel = ? AND state = 0 ORDER BY {_NEWEST} LIMIT ?
"""

_LISTED = f"""
SELECT {COLUMNS} FROM messages
WHERE tenant = :tenant AND channel = :channel AND seq > :after_seq AND seq < :before_seq
    AND (:since_ms IS NULL OR sent_at_ms >= :since_ms) AND (:until_ms IS NULL OR sent_at_ms < :until_ms)
    AND (:author_id = '' OR author_id = :author_id) AND (:thread_id = '' OR thread_id = :thread_id)
    AND (:include_recalled OR state <> 1)
"""
LIST_OLDEST_FIRST = _LISTED + "ORDER BY seq LIMIT :limit"
LIST_NEWEST_FIRST = _LISTED + "ORDER BY seq DESC LIMIT :limit"

RANK_OF_NTH_NEWEST = f"""
SELECT rank_time_ms, seq FROM messages INDEXED BY messages_by_time
WHERE tenant = :tenant AND channel = :channel AND state = 0 ORDER BY {_NEWEST} LIMIT 1 OFFSET :newer
"""
RANKED_BEFORE = """
SELECT id FROM messages INDEXED BY messages_by_time
WHERE tenant = :tenant AND channel = :channel AND state IN (0, 1, 2) AND rank_time_ms <= :rank_time_ms
    AND (rank_time_ms, seq) < (:rank_time_ms, :seq) AND id NOT IN (SELECT value FROM json_each(:kept)) LIMIT :limit
"""

_LATEST_OF_USER = f"""
SELECT {COLUMNS}, channel FROM places CROSS JOIN messages
ON tenant = :tenant AND channel = place AND seq IN (
    SELECT seq FROM messages
    WHERE tenant = :tenant AND channel = place AND author_id = :user_id AND state = 0
    ORDER BY {_NEWEST} LIMIT :limit
)
ORDER BY rank_time_ms DESC, channel DESC, seq DESC LIMIT :limit
"""
LATEST_OF_USER_IN = (
    f"WITH places (place) AS (SELECT DISTINCT value FROM json_each(:channels)) {_LATEST_OF_USER}"
)
LATEST_OF_USER = f"""
WITH places (place) AS (SELECT channel FROM members WHERE tenant = :tenant AND user_id = :user_id) {_LATEST_OF_USER}
"""

GET_MESSAGES = f"""{WANTED}
SELECT {COLUMNS} FROM wanted CROSS JOIN messages ON tenant = in_tenant AND id = in_name AND channel = in_channel
"""

REPLY_TREE = f"""
WITH RECURSIVE tree (node) AS (
    SELECT id FROM messages WHERE tenant = :tenant AND channel = :channel AND id = :id
    UNION
    SELECT reply_to FROM tree CROSS JOIN messages ON tenant = :tenant AND channel = :channel AND id = node
    WHERE reply_to IS NOT NULL AND reply_inferred = 0
    UNION
    SELECT id FROM tree CROSS JOIN messages INDEXED BY messages_by_parent
        ON tenant = :tenant AND channel = :channel AND reply_to = node
    WHERE reply_inferred = 0
)
SELECT {COLUMNS} FROM tree CROSS JOIN messages ON tenant = :tenant AND channel = :channel AND id = node
ORDER BY seq LIMIT :limit
"""

CHANNEL_INFO = f"""
SELECT last_seq,
    (SELECT count(*) FROM messages INDEXED BY messages_by_time
     WHERE tenant = :tenant AND channel = :channel AND state = 0),
    (SELECT json_array(id, rank_time_ms) FROM messages WHERE tenant = :tenant AND channel = :channel AND state = 0
     ORDER BY {_NEWEST} LIMIT 1)
FROM channels WHERE tenant = :tenant AND channel = :channel
"""

CHANNEL_NAMES = """
SELECT channel FROM channels WHERE tenant = :tenant AND channel > :after
    AND EXISTS (SELECT 1 FROM messages WHERE messages.tenant = :tenant AND messages.channel = channels.channel)
ORDER BY channel
"""

MEMBERS = f"SELECT {_MEMBER_COLUMNS} FROM members WHERE tenant = ? AND channel = ? ORDER BY user_id"

LAST_MESSAGES = f"""
SELECT author_id, id, message_type FROM (
    SELECT author_id, id, message_type, row_number() OVER (PARTITION BY author_id ORDER BY {_NEWEST}) AS place
    FROM messages WHERE tenant = ? AND channel = ? AND state = 0
) WHERE place = 1
"""

# By id, as they lie: by `seq` each would be looked for.
VECTORS = """
SELECT seq, message_id, vector FROM vectors
CROSS JOIN messages ON messages.tenant = vectors.tenant AND messages.channel = vectors.channel
    AND messages.id = vectors.message_id AND messages.revision = vectors.revision
WHERE vectors.tenant = ? AND vectors.channel = ? AND message_id > ? AND embedder_id = ? ORDER BY message_id LIMIT ?
"""

_LACKS_VECTOR = """
state = 0 AND trim(text, :blanks) <> '' AND NOT EXISTS (
    SELECT 1 FROM vectors WHERE vectors.tenant = stretch.tenant AND vectors.channel = stretch.channel
        AND vectors.message_id = stretch.id AND vectors.revision = stretch.revision
        AND embedder_id = :embedder_id AND (:dims = 0 OR dims = :dims)
)
"""

UNEMBEDDED = f"""
WITH stretch AS (
    SELECT * FROM messages WHERE tenant = :tenant AND channel = :channel AND seq >= :from_seq ORDER BY seq LIMIT :limit
)
SELECT seq, id, revision, author_name, CASE WHEN {_LACKS_VECTOR} THEN text END FROM stretch ORDER BY seq
"""

UNEMBEDDED_COUNT = f"""
SELECT count(*) FROM messages AS stretch
WHERE tenant = :tenant AND channel = :channel AND seq <= :until_seq AND {_LACKS_VECTOR}
"""

CHANNELS = """
SELECT tenant, channel FROM channels WHERE (tenant, channel) > (?, ?) ORDER BY tenant, channel LIMIT ?
"""

CHANNELS_OF_TENANT = (
    "SELECT channel FROM channels WHERE tenant = ? AND channel > ? ORDER BY channel LIMIT ?"
)
CHANNELS_OF_USER = "SELECT channel FROM members WHERE tenant = ? AND user_id = ? ORDER BY channel"

# --- for `doctor`: counts over everything, and nothing else --------------------------------------

COUNT_ROWS = """
SELECT (SELECT count(*) FROM channels), (SELECT count(*) FROM messages), (SELECT count(*) FROM revisions),
    (SELECT count(*) FROM vectors), (SELECT count(*) FROM tombstones), (SELECT count(*) FROM members),
    (SELECT count(*) FROM events),
    (SELECT count(*) FROM records WHERE kind = 'turn'),
    (SELECT count(*) FROM records WHERE kind NOT IN ('turn', 'vector_index'))
"""
