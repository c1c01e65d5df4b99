-- Every table starts with (tenant, channel): no key, index or statement can leave them out (law 6).
-- `messages` is clustered by (tenant, channel, seq): a cold channel is read from neighbouring pages however many
-- channels were written between its lines (5,000 rows among 60 channels: 36 ms, in a table by rowid 77 to 400; writing
-- costs the same). Reply edges name ids that may never arrive, so they are no foreign keys.

CREATE TABLE channels (
    tenant   TEXT NOT NULL,
    channel  TEXT NOT NULL,
    last_seq INTEGER NOT NULL,              -- the highest seq ever given: outlives the rows
    PRIMARY KEY (tenant, channel)
) STRICT, WITHOUT ROWID;

CREATE TABLE messages (
    tenant         TEXT NOT NULL,
    channel        TEXT NOT NULL,
    seq            INTEGER NOT NULL,
    id             TEXT NOT NULL,
    author_id      TEXT NOT NULL,
    author_name    TEXT NOT NULL,
    author_kind    INTEGER NOT NULL,
    role           INTEGER NOT NULL,
    sent_at_ms     INTEGER NOT NULL,        -- as sent
    rank_time_ms   INTEGER NOT NULL,        -- clamped for ranking
    received_at_ms INTEGER NOT NULL,
    thread_id      TEXT NOT NULL,
    session_id     TEXT NOT NULL,
    reply_to       TEXT,                    -- the edge as sent; the three are NULL together
    reply_kind     INTEGER,
    reply_inferred INTEGER,
    dedupe_key     TEXT NOT NULL,           -- '': none
    state          INTEGER NOT NULL,        -- 0 live, 1 recalled
    revision       INTEGER NOT NULL,
    edited_at_ms   INTEGER NOT NULL,        -- of this revision; sent_at_ms for revision 0
    message_type   INTEGER NOT NULL,
    token_count    INTEGER NOT NULL,
    text           TEXT NOT NULL,           -- as analysed
    keywords       TEXT,                    -- JSON array; NULL: none
    details        TEXT,                    -- JSON object: parts that are not just `text`, mentions, …; NULL: none
    PRIMARY KEY (tenant, channel, seq)
) STRICT, WITHOUT ROWID;

-- In this order it also answers "is this id known in another channel of the tenant?".
CREATE UNIQUE INDEX messages_by_id ON messages (tenant, id, channel);
CREATE INDEX messages_by_time ON messages (tenant, channel, state, rank_time_ms, seq);
CREATE INDEX messages_by_author ON messages (tenant, channel, author_id, rank_time_ms, seq);
CREATE INDEX messages_by_parent ON messages (tenant, channel, reply_to) WHERE reply_to IS NOT NULL;
CREATE UNIQUE INDEX messages_by_dedupe_key ON messages (tenant, channel, dedupe_key) WHERE dedupe_key <> '';

-- What edits replaced. A recall empties the contents and keeps the rows.
CREATE TABLE revisions (
    tenant       TEXT NOT NULL,
    channel      TEXT NOT NULL,
    message_id   TEXT NOT NULL,
    revision     INTEGER NOT NULL,
    edited_at_ms INTEGER NOT NULL,
    content      TEXT NOT NULL,             -- JSON array: parts, mentions
    PRIMARY KEY (tenant, channel, message_id, revision),
    FOREIGN KEY (tenant, channel, message_id) REFERENCES messages (tenant, channel, id)
) STRICT, WITHOUT ROWID;

-- Vectors are stored data, by message, revision and embedder.
CREATE TABLE vectors (
    tenant      TEXT NOT NULL,
    channel     TEXT NOT NULL,
    message_id  TEXT NOT NULL,
    revision    INTEGER NOT NULL,
    embedder_id TEXT NOT NULL,
    dims        INTEGER NOT NULL,
    vector      BLOB NOT NULL,              -- float32, little-endian
    PRIMARY KEY (tenant, channel, message_id, revision, embedder_id),
    FOREIGN KEY (tenant, channel, message_id) REFERENCES messages (tenant, channel, id)
) STRICT, WITHOUT ROWID;

-- Erased ids stay taken. Of a dedupe_key only a digest stays.
CREATE TABLE tombstones (
    tenant        TEXT NOT NULL,
    channel       TEXT NOT NULL,
    message_id    TEXT NOT NULL,
    erased_at_ms  INTEGER NOT NULL,
    dedupe_digest TEXT NOT NULL,            -- '': none
    PRIMARY KEY (tenant, channel, message_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX tombstones_by_dedupe_digest ON tombstones (tenant, channel, dedupe_digest) WHERE dedupe_digest <> '';

CREATE TABLE members (
    tenant       TEXT NOT NULL,
    channel      TEXT NOT NULL,
    user_id      TEXT NOT NULL,
    name         TEXT NOT NULL,
    kind         INTEGER NOT NULL,
    named_at_ms  INTEGER NOT NULL,          -- when `name` was last seen to be the name
    joined_at_ms INTEGER,
    left_at_ms   INTEGER,
    aliases      TEXT,                      -- JSON array; NULL: none
    former_names TEXT,                      -- JSON array, newest first; NULL: none
    PRIMARY KEY (tenant, channel, user_id)
) STRICT, WITHOUT ROWID;

-- "In which channels has this user written?"
CREATE INDEX members_by_user ON members (tenant, user_id, channel);

CREATE TABLE events (
    number     INTEGER PRIMARY KEY,         -- order of arrival
    tenant     TEXT NOT NULL,
    channel    TEXT NOT NULL,
    context_id TEXT NOT NULL,               -- '': of no context, e.g. an edit
    id         TEXT NOT NULL,
    parent_id  TEXT NOT NULL,
    type       TEXT NOT NULL,
    level      TEXT NOT NULL,
    at_ms      INTEGER NOT NULL,
    message_id TEXT NOT NULL,               -- of message.edited and message.recalled; '': none
    payload    TEXT NOT NULL                -- JSON object
) STRICT;

CREATE UNIQUE INDEX events_by_id ON events (tenant, channel, context_id, id);
CREATE INDEX events_by_time ON events (tenant, channel, at_ms, number);
CREATE INDEX events_by_message ON events (tenant, channel, message_id) WHERE message_id <> '';
