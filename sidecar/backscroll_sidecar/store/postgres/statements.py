"""Every statement on stored data. Each names one tenant, $1, so that it asks one shard (a test reads this module).

Look-ups for a whole group take two arrays, $2 and $3: a channel and a name each. What comes of them is called
in_channel, in_name, so that every other name is a column of a table. Whether there is something is asked by LATERAL and
LIMIT, never by EXISTS: that the planner answers from a hash of all rows of the tenant.
"""

# ruff: noqa: S608 -- the only things put into these texts are the constants of this module

from __future__ import annotations

WANTED = """
WITH wanted (in_channel, in_name) AS (
    SELECT one COLLATE "C", two COLLATE "C" FROM unnest($2::text[], $3::text[]) AS given (one, two)
)
"""
RECURSIVE_WANTED = WANTED.replace("WITH", "WITH RECURSIVE", 1)

COLUMNS = """
seq, id, author_id, author_name, sent_at_ms, rank_time_ms,
author_kind | (role << 4) | (state << 8) | (message_type << 12)
    | (coalesce(reply_kind, 0) << 16) | (coalesce(reply_inferred, 0) << 20) | (moves << 24),
revision, token_count, text, keywords, reply_to, thread_id, session_id, dedupe_key, details
"""
"""What `codec.decode_rows` reads: small numbers share one column, fetching a column costs more than unpacking it."""

_CONTENT_COLUMNS = "state, revision, message_type, token_count, text, keywords, details"
MEMBER_COLUMNS = """
user_id, name, kind, named_at_ms, joined_at_ms, left_at_ms, aliases, former_names, role, earlier_stays, name_times
"""

# --- what a group must know ----------------------------------------------------------------------

# Locks the channels of a group, in one order, until the commit. $3: 1 if something changes that caches hold.
LOCK_CHANNELS = """
INSERT INTO channels AS mine (tenant, channel, last_seq, version)
SELECT $1, one, NULL, changes FROM unnest($2::text[], $3::bigint[]) AS given (one, changes)
ORDER BY one COLLATE "C"
ON CONFLICT (tenant, channel) DO UPDATE SET version = mine.version + excluded.version
RETURNING channel, last_seq, version
"""

FIND_TAKEN = f"""{WANTED}
SELECT in_channel, in_name FROM wanted CROSS JOIN LATERAL (
    SELECT 1 FROM messages WHERE tenant = $1 AND id = in_name AND channel = in_channel
    UNION ALL SELECT 1 FROM tombstones WHERE tenant = $1 AND channel = in_channel AND message_id = in_name
    UNION ALL SELECT 1 FROM messages WHERE tenant = $1 AND channel = in_channel AND reply_to = in_name
    UNION ALL SELECT 1 FROM aliases WHERE tenant = $1 AND channel = in_channel AND alias_id = in_name
    LIMIT 1
) AS found
"""

FIND_ROWS = f"""{WANTED}
SELECT channel, received_at_ms, edited_at_ms, {COLUMNS}
FROM wanted JOIN messages ON tenant = $1 AND id = in_name AND channel = in_channel
"""

FIND_REVISIONS = f"""{WANTED}
SELECT channel, message_id, revision, edited_at_ms, content
FROM wanted JOIN revisions ON tenant = $1 AND channel = in_channel AND message_id = in_name
ORDER BY channel, message_id, revision
"""

FIND_ERASED = f"""{WANTED}
SELECT channel, message_id, with_channel
FROM wanted JOIN tombstones ON tenant = $1 AND channel = in_channel AND message_id = in_name
"""

FIND_HOLDERS = f"""{WANTED}
SELECT channel, dedupe_key, id, state
FROM wanted JOIN messages ON tenant = $1 AND channel = in_channel AND dedupe_key = in_name AND dedupe_key <> ''
"""

FIND_ERASED_HOLDERS = f"""{WANTED}
SELECT channel, dedupe_digest, message_id, with_channel
FROM wanted JOIN tombstones
    ON tenant = $1 AND channel = in_channel AND dedupe_digest = in_name AND dedupe_digest <> ''
"""

FIND_PARENTS = f"""{WANTED}
SELECT in_channel, in_name,
    (SELECT rank_time_ms FROM messages WHERE tenant = $1 AND id = in_name AND channel = in_channel),
    (SELECT TRUE FROM messages WHERE tenant = $1 AND id = in_name AND channel <> in_channel LIMIT 1)
FROM wanted
"""

FIND_CHILDREN = f"""{WANTED}
SELECT in_channel, in_name FROM wanted CROSS JOIN LATERAL (
    SELECT 1 FROM messages WHERE tenant = $1 AND channel = in_channel AND reply_to = in_name LIMIT 1
) AS found
"""

FIND_EDGES = f"""{RECURSIVE_WANTED}
, above (up_channel, up_id) AS (
    SELECT in_channel, in_name FROM wanted
    UNION
    SELECT channel, reply_to FROM above JOIN messages ON tenant = $1 AND id = up_id AND channel = up_channel
    WHERE reply_to IS NOT NULL
)
SELECT channel, id, reply_to FROM above JOIN messages ON tenant = $1 AND id = up_id AND channel = up_channel
WHERE reply_to IS NOT NULL
"""

FIND_PEOPLE = f"""{WANTED}
SELECT channel, {MEMBER_COLUMNS}
FROM wanted JOIN members ON tenant = $1 AND channel = in_channel AND user_id = in_name
"""

# --- what a group writes: arrays of columns, a row each ------------------------------------------

PUT_LAST_SEQS = """
UPDATE channels SET last_seq = given FROM unnest($2::text[], $3::bigint[]) AS new (in_channel, given)
WHERE tenant = $1 AND channel = in_channel
"""

INSERT_MESSAGES = f"""
INSERT INTO messages (
    tenant, channel, seq, id, author_id, author_name, author_kind, role, sent_at_ms, rank_time_ms, received_at_ms,
    thread_id, session_id, reply_to, reply_kind, reply_inferred, dedupe_key, edited_at_ms, {_CONTENT_COLUMNS}, moves
)
SELECT $1, channel, seq, id, author_id, author_name, author_kind, role, sent_at_ms, rank_time_ms, received_at_ms,
    thread_id, session_id, nullif(reply_to, ''), nullif(reply_kind, 0), nullif(reply_inferred, -1), dedupe_key,
    edited_at_ms, state, revision, message_type, token_count, text, nullif(keywords, ''), nullif(details, ''), moves
FROM unnest(
    $2::text[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::int[], $8::int[], $9::bigint[], $10::bigint[],
    $11::bigint[], $12::text[], $13::text[], $14::text[], $15::int[], $16::int[], $17::text[], $18::bigint[],
    $19::int[], $20::int[], $21::int[], $22::int[], $23::text[], $24::text[], $25::text[], $26::bigint[]
) AS new (
    channel, seq, id, author_id, author_name, author_kind, role, sent_at_ms, rank_time_ms, received_at_ms,
    thread_id, session_id, reply_to, reply_kind, reply_inferred, dedupe_key, edited_at_ms, {_CONTENT_COLUMNS}, moves
)
"""

UPDATE_MESSAGES = """
UPDATE messages AS old SET
    rank_time_ms = new.rank_time_ms, reply_to = nullif(new.reply_to, ''), moves = new.moves,
    edited_at_ms = new.edited_at_ms, state = new.state, revision = new.revision, message_type = new.message_type,
    token_count = new.token_count, text = new.text, keywords = nullif(new.keywords, ''),
    details = nullif(new.details, '')
FROM unnest(
    $2::bigint[], $3::text[], $4::bigint[], $5::bigint[], $6::int[], $7::int[], $8::int[], $9::int[], $10::text[],
    $11::text[], $12::text[], $13::text[], $14::bigint[]
) AS new (
    rank_time_ms, reply_to, moves, edited_at_ms, state, revision, message_type, token_count, text, keywords, details,
    channel, seq
)
WHERE old.tenant = $1 AND old.channel = new.channel AND old.seq = new.seq
"""

PUT_MEMBERS = f"""
INSERT INTO members (tenant, channel, {MEMBER_COLUMNS})
SELECT $1, * FROM unnest(
    $2::text[], $3::text[], $4::text[], $5::int[], $6::bigint[], $7::bigint[], $8::bigint[], $9::text[], $10::text[],
    $11::text[], $12::text[], $13::text[]
)
ON CONFLICT (tenant, channel, user_id) DO UPDATE SET
    name = excluded.name, kind = excluded.kind, named_at_ms = excluded.named_at_ms,
    joined_at_ms = excluded.joined_at_ms, left_at_ms = excluded.left_at_ms,
    aliases = excluded.aliases, former_names = excluded.former_names,
    role = excluded.role, earlier_stays = excluded.earlier_stays,
    name_times = excluded.name_times
"""

INSERT_REVISIONS = """
INSERT INTO revisions (tenant, channel, message_id, revision, edited_at_ms, content)
SELECT $1, * FROM unnest($2::text[], $3::text[], $4::int[], $5::bigint[], $6::text[])
"""

EMPTY_REVISIONS = f"""{WANTED}
UPDATE revisions SET content = '[[],[]]' FROM wanted
WHERE tenant = $1 AND channel = in_channel AND message_id = in_name
"""

DELETE_VECTORS = f"""{WANTED}
DELETE FROM vectors USING wanted WHERE tenant = $1 AND channel = in_channel AND message_id = in_name
"""

_PUT_VECTORS = """
INSERT INTO vectors AS mine (tenant, channel, message_id, revision, embedder_id, dims, vector)
SELECT $1, * FROM unnest($2::text[], $3::text[], $4::int[], $5::text[], $6::int[], $7::bytea[])
ON CONFLICT (tenant, channel, message_id, revision, embedder_id)
"""
PUT_VECTORS = f"{_PUT_VECTORS} DO NOTHING"
PUT_MADE_VECTORS = f"""{_PUT_VECTORS} DO UPDATE
    SET dims = excluded.dims, vector = excluded.vector WHERE mine.dims <> excluded.dims
"""

# --- segments ------------------------------------------------------------------------------------

STRETCH = """
SELECT count(*), coalesce(sum(revision + moves), 0)::bigint, count(*) FILTER (WHERE state = 1) FROM messages
WHERE tenant = $1 AND channel = $2 AND seq BETWEEN $3 AND $4
"""

# Those that meet the stretch. Segments never overlap, so at most one row too many is read.
DROP_SEGMENTS = """
DELETE FROM segments WHERE tenant = $1 AND channel = $2 AND last_seq >= $3 AND first_seq <= $4
"""
DROP_SEGMENTS_OF_ROWS = """
DELETE FROM segments USING unnest($2::text[], $3::bigint[]) AS changed (in_channel, seq)
WHERE tenant = $1 AND channel = in_channel AND last_seq >= seq AND first_seq <= seq
"""

PUT_SEGMENT = """
INSERT INTO segments (
    tenant, channel, format, first_seq, last_seq, row_count, revisions, recalled, columns, bodies
) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
"""

# --- erasing -------------------------------------------------------------------------------------

_VICTIMS = "SELECT seq, id, dedupe_key, state FROM messages WHERE tenant = $1 AND channel = $2"
VICTIMS_BY_ID = f"{_VICTIMS} AND id = ANY($3::text[]) ORDER BY seq"
VICTIMS_BY_AUTHOR = f"{_VICTIMS} AND author_id = $3 ORDER BY seq"
VICTIMS_ALL = f"{_VICTIMS} ORDER BY seq"

INSERT_TOMBSTONES = """
INSERT INTO tombstones (tenant, channel, message_id, erased_at_ms, dedupe_digest, with_channel)
SELECT $1, * FROM unnest($2::text[], $3::text[], $4::bigint[], $5::text[], $6::boolean[])
"""
SEAL_TOMBSTONES = """
UPDATE tombstones SET with_channel = FALSE WHERE tenant = $1 AND channel = $2 AND message_id = ANY($3::text[])
"""
DROP_TOMBSTONES = f"""{WANTED}
DELETE FROM tombstones USING wanted WHERE tenant = $1 AND channel = in_channel AND message_id = in_name
"""

_OF_MESSAGES = "WHERE tenant = $1 AND channel = $2 AND message_id = ANY($3::text[])"
ERASE_REVISIONS = f"DELETE FROM revisions {_OF_MESSAGES}"
ERASE_VECTORS = f"DELETE FROM vectors {_OF_MESSAGES}"
ERASE_MESSAGES = (
    "DELETE FROM messages WHERE tenant = $1 AND channel = $2 AND seq = ANY($3::bigint[])"
)
ERASE_MEMBER = "DELETE FROM members WHERE tenant = $1 AND channel = $2 AND user_id = $3"
ERASE_ALL_MEMBERS = "DELETE FROM members WHERE tenant = $1 AND channel = $2"

# --- reading -------------------------------------------------------------------------------------

_NEWEST = "rank_time_ms DESC, seq DESC"

LOAD_ROWS = f"""
SELECT {COLUMNS} FROM messages WHERE tenant = $1 AND channel = $2 AND seq BETWEEN $3 AND $4 ORDER BY seq
"""

LOAD_SEGMENTS = """
SELECT first_seq, last_seq, row_count, revisions, recalled, columns, bodies FROM segments
WHERE tenant = $1 AND channel = $2 AND format = $3 ORDER BY last_seq
"""

EXPORT_PAGE = f"""
SELECT {COLUMNS} FROM messages WHERE tenant = $1 AND channel = $2 AND seq > $3 ORDER BY seq LIMIT $4
"""

LATEST = f"""
SELECT {COLUMNS} FROM messages WHERE tenant = $1 AND channel = $2 AND state = 0 ORDER BY {_NEWEST} LIMIT $3
"""

_LISTED = f"""
SELECT {COLUMNS} FROM messages
WHERE tenant = $1 AND channel = $2 AND seq > $3 AND seq < $4
    AND ($5::bigint IS NULL OR sent_at_ms >= $5) AND ($6::bigint IS NULL OR sent_at_ms < $6)
    AND ($7 = '' OR author_id = $7) AND ($8 = '' OR thread_id = $8) AND ($9::boolean OR state <> 1)
"""
LIST_OLDEST_FIRST = f"{_LISTED} ORDER BY seq LIMIT $10"
LIST_NEWEST_FIRST = f"{_LISTED} ORDER BY seq DESC LIMIT $10"

RANK_OF_NTH_NEWEST = f"""
SELECT rank_time_ms, seq FROM messages
WHERE tenant = $1 AND channel = $2 AND state = 0 ORDER BY {_NEWEST} LIMIT 1 OFFSET $3
"""
RANKED_BEFORE = """
SELECT id FROM messages
WHERE tenant = $1 AND channel = $2 AND state IN (0, 1, 2) AND rank_time_ms <= $3
    AND (rank_time_ms, seq) < ($3, $4::bigint) AND id <> ALL($5::text[]) LIMIT $6
"""

_LATEST_OF_USER = f"""
SELECT {COLUMNS}, channel FROM places CROSS JOIN LATERAL (
    SELECT * FROM messages WHERE tenant = $1 AND channel = place AND author_id = $2 AND state = 0
    ORDER BY {_NEWEST} LIMIT $3
) AS newest
ORDER BY rank_time_ms DESC, channel DESC, seq DESC LIMIT $3
"""
LATEST_OF_USER_IN = (
    f"WITH places (place) AS (SELECT DISTINCT * FROM unnest($4::text[])) {_LATEST_OF_USER}"
)
LATEST_OF_USER = f"""
WITH places (place) AS (SELECT channel FROM members WHERE tenant = $1 AND user_id = $2) {_LATEST_OF_USER}
"""

GET_MESSAGES = f"""
SELECT {COLUMNS} FROM messages WHERE tenant = $1 AND channel = $2 AND id = ANY($3::text[])
"""

REPLY_TREE = f"""
WITH RECURSIVE tree (node) AS (
    SELECT id FROM messages WHERE tenant = $1 AND channel = $2 AND id = $3
    UNION
    SELECT next_node FROM tree CROSS JOIN LATERAL (
        SELECT reply_to FROM messages
        WHERE tenant = $1 AND channel = $2 AND id = node AND reply_to IS NOT NULL AND reply_inferred = 0
        UNION ALL
        SELECT id FROM messages WHERE tenant = $1 AND channel = $2 AND reply_to = node AND reply_inferred = 0
    ) AS beside (next_node)
)
SELECT {COLUMNS} FROM tree JOIN messages ON tenant = $1 AND channel = $2 AND id = node ORDER BY seq LIMIT $4
"""

CHANNEL_INFO = f"""
SELECT last_seq, (
    SELECT count(*) FROM messages AS live WHERE live.tenant = $1 AND live.channel = $2 AND state = 0
), newest.id, newest.rank_time_ms
FROM channels LEFT JOIN LATERAL (
    SELECT id, rank_time_ms FROM messages WHERE tenant = $1 AND channel = $2 AND state = 0 ORDER BY {_NEWEST} LIMIT 1
) AS newest ON TRUE
WHERE channels.tenant = $1 AND channels.channel = $2 AND last_seq IS NOT NULL
"""

CHANNEL_NAMES = """
SELECT channel FROM channels WHERE tenant = $1 AND channel > $2 AND last_seq IS NOT NULL
    AND EXISTS (SELECT 1 FROM messages WHERE messages.tenant = $1 AND messages.channel = channels.channel)
ORDER BY channel
"""

MEMBERS = (
    f"SELECT {MEMBER_COLUMNS} FROM members WHERE tenant = $1 AND channel = $2 ORDER BY user_id"
)

LAST_MESSAGES = f"""
SELECT DISTINCT ON (author_id) author_id, id, message_type FROM messages
WHERE tenant = $1 AND channel = $2 AND state = 0 ORDER BY author_id, {_NEWEST}
"""

# By id, as they lie: by `seq` each would be looked for. OFFSET keeps the planner from reading all messages beside.
VECTORS = """
SELECT seq, message_id, vector FROM vectors CROSS JOIN LATERAL (
    SELECT seq FROM messages WHERE messages.tenant = $1 AND messages.channel = $2
        AND messages.id = vectors.message_id AND messages.revision = vectors.revision OFFSET 0
) AS current
WHERE tenant = $1 AND channel = $2 AND message_id > $4 AND embedder_id = $3 ORDER BY message_id LIMIT $5
"""

# $3 embedder, $4 dims, $5 blanks
_LACKS_VECTOR = """
state = 0 AND btrim(text, $5) <> '' AND NOT EXISTS (
    SELECT 1 FROM vectors WHERE vectors.tenant = $1 AND vectors.channel = $2
        AND vectors.message_id = stretch.id AND vectors.revision = stretch.revision
        AND embedder_id = $3 AND ($4::int = 0 OR dims = $4)
)
"""

UNEMBEDDED = f"""
WITH stretch AS (
    SELECT * FROM messages WHERE tenant = $1 AND channel = $2 AND seq >= $6 ORDER BY seq LIMIT $7
)
SELECT seq, id, revision, author_name, CASE WHEN {_LACKS_VECTOR} THEN text END FROM stretch ORDER BY seq
"""

UNEMBEDDED_COUNT = f"""
SELECT count(*) FROM messages AS stretch
WHERE tenant = $1 AND channel = $2 AND seq <= $6 AND {_LACKS_VECTOR}
"""

CHANNELS_OF_TENANT = """
SELECT channel FROM channels WHERE tenant = $1 AND channel > $2 AND last_seq IS NOT NULL ORDER BY channel LIMIT $3
"""
CHANNELS_OF_USER = "SELECT channel FROM members WHERE tenant = $1 AND user_id = $2 ORDER BY channel"

# --- of the server and its schema ----------------------------------------------------------------

SETTINGS = "SELECT name, setting FROM pg_settings"
WAIT_FOR_DISK = """
SELECT set_config('synchronous_commit', 'on', FALSE) WHERE current_setting('synchronous_commit') = 'off'
"""
"""For the rest of the session, whatever its user has."""
MAY_MAKE_TABLES = "SELECT coalesce(has_schema_privilege(current_schema(), 'CREATE'), FALSE)"
TABLES_AMONG = (
    "SELECT name FROM unnest($1::text[]) AS name WHERE to_regclass(name) IS NOT NULL ORDER BY name"
)
LOCK_SCHEMA = "SELECT pg_advisory_xact_lock($1)"

# --- for background work over all tenants --------------------------------------------------------

CHANNELS = """
SELECT tenant, channel FROM channels WHERE (tenant, channel) > ($1, $2) AND last_seq IS NOT NULL
ORDER BY tenant, channel LIMIT $3
"""

NEWEST_SEGMENTS = """
SELECT tenant, channel FROM segments
WHERE number > (SELECT max(number) FROM segments) - $1 AND format = $2 ORDER BY number DESC
"""

COUNT_ROWS = """
SELECT (SELECT count(*) FROM channels WHERE last_seq IS NOT NULL), (SELECT count(*) FROM messages),
    (SELECT count(*) FROM revisions), (SELECT count(*) FROM vectors), (SELECT count(*) FROM tombstones),
    (SELECT count(*) FROM members), (SELECT count(*) FROM events),
    (SELECT count(*) FROM records WHERE kind = 'turn'),
    (SELECT count(*) FROM records WHERE kind NOT IN ('turn', 'vector_index'))
"""
