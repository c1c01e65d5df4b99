-- Every key begins with the tenant: no index or statement can leave it out, and a tenant can be moved as a whole.
-- Texts that are compared or ordered have the collation "C", which orders by code points as SQLite does.
-- `version` of a channel grows with every group that changes anything of it. The row is locked while a group writes, so
-- arrival numbers, versions and the numbers of records are in the order of commits.

CREATE TABLE channels (
    tenant   text COLLATE "C" NOT NULL,
    channel  text COLLATE "C" NOT NULL,     -- '': what belongs to no channel
    last_seq bigint,                        -- the highest seq ever given; NULL: no message and no member ever came
    version  bigint NOT NULL,
    holds    text[],                        -- of '': erasures under way that keep turns from writing; NULL: none
    PRIMARY KEY (tenant, channel)
);
CREATE INDEX channels_held ON channels (tenant) WHERE holds IS NOT NULL;

-- What the last groups changed of a channel, so that the caches of other servers take over just that. Of erasures nothing
-- stands here: who finds a version missing drops what it has of the channel.
CREATE TABLE channel_changes (
    tenant  text COLLATE "C" NOT NULL,
    channel text COLLATE "C" NOT NULL,
    version bigint NOT NULL,
    body    text NOT NULL,                  -- JSON object: numbers and ids of what changed, no texts
    PRIMARY KEY (tenant, channel, version)
);

-- What went of a tenant's channels lately, so that no turn of any server brings it back: of messages their ids, which stay
-- taken anyhow.
CREATE TABLE losses (
    tenant  text COLLATE "C" NOT NULL,
    number  bigint NOT NULL,                -- in the order of commits: the row of the channel '' is locked meanwhile
    channel text COLLATE "C" NOT NULL,
    names   text NOT NULL,                  -- JSON array, as in record_names; empty: whatever is of the channel
    PRIMARY KEY (tenant, number)
);

-- What one server at a time does. Of one that died it ends by itself.
CREATE TABLE leases (
    tenant  text COLLATE "C" NOT NULL,
    name    text COLLATE "C" NOT NULL,
    holder  bigint NOT NULL,                -- a server, by the advisory lock that its session has
    holding bigint NOT NULL,                -- which of the times that it held something
    ends_at timestamptz NOT NULL,           -- by the database's clock
    PRIMARY KEY (tenant, name)
);

-- A history may move to another database while servers go on: where that stands, and which rows changed meanwhile.
CREATE TABLE moves (
    place       integer PRIMARY KEY CHECK (place = 1),
    id          text NOT NULL,              -- of the migration, the same at both ends
    phase       text NOT NULL,              -- of the old database: leaving, closed, left; of the new one: arriving, arrived
    other       text NOT NULL,              -- the address of the other end, without its password
    began_at_ms bigint NOT NULL,
    progress    text NOT NULL               -- JSON object: what has been copied
);
CREATE TABLE moved_keys (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind   text NOT NULL,                   -- the table of the row
    key    text NOT NULL                    -- JSON array: its key
);

-- Rows that a server got and has not done yet what follows from them. Of one that died another takes them over.
CREATE TABLE unfinished (
    tenant  text COLLATE "C" NOT NULL,
    channel text COLLATE "C" NOT NULL,
    holder  text COLLATE "C" NOT NULL,      -- the server
    rows    int8multirange NOT NULL,        -- their `seq`; some may be of erased ones
    PRIMARY KEY (tenant, channel, holder)
);

CREATE TABLE messages (
    tenant         text COLLATE "C" NOT NULL,
    channel        text COLLATE "C" NOT NULL,
    seq            bigint NOT NULL,
    id             text COLLATE "C" NOT NULL,
    author_id      text COLLATE "C" NOT NULL,
    author_name    text COLLATE "C" NOT NULL,
    author_kind    integer NOT NULL,
    role           integer NOT NULL,
    sent_at_ms     bigint NOT NULL,         -- as sent
    rank_time_ms   bigint NOT NULL,         -- clamped for ranking
    received_at_ms bigint NOT NULL,
    thread_id      text COLLATE "C" NOT NULL,
    session_id     text COLLATE "C" NOT NULL,
    reply_to       text COLLATE "C",        -- the edge as sent; the three are NULL together
    reply_kind     integer,
    reply_inferred integer,
    dedupe_key     text COLLATE "C" NOT NULL, -- '': none
    edited_at_ms   bigint NOT NULL,         -- of this revision; sent_at_ms for revision 0
    state          integer NOT NULL,        -- 0 live, 1 recalled, 2 partial
    revision       integer NOT NULL,
    message_type   integer NOT NULL,
    token_count    integer NOT NULL,
    text           text COLLATE "C" NOT NULL, -- as analysed
    keywords       text,                    -- JSON array; NULL: none
    details        text,                    -- JSON object: parts that are not just `text`, mentions, …; NULL: none
    moves          bigint NOT NULL,         -- how often its rank time or its edge changed since it came
    PRIMARY KEY (tenant, channel, seq)
);

-- In this order it also answers "is this id known in another channel of the tenant?".
CREATE UNIQUE INDEX messages_by_id ON messages (tenant, id, channel);
CREATE INDEX messages_by_time ON messages (tenant, channel, state, rank_time_ms, seq);
CREATE INDEX messages_by_author ON messages (tenant, channel, author_id, rank_time_ms, seq);
CREATE INDEX messages_by_parent ON messages (tenant, channel, reply_to) WHERE reply_to IS NOT NULL;
CREATE UNIQUE INDEX messages_by_dedupe_key ON messages (tenant, channel, dedupe_key) WHERE dedupe_key <> '';

-- What edits replaced. A retraction empties the contents and keeps the rows.
CREATE TABLE revisions (
    tenant       text COLLATE "C" NOT NULL,
    channel      text COLLATE "C" NOT NULL,
    message_id   text COLLATE "C" NOT NULL,
    revision     integer NOT NULL,
    edited_at_ms bigint NOT NULL,
    content      text NOT NULL,             -- JSON array: parts, mentions
    PRIMARY KEY (tenant, channel, message_id, revision)
);

CREATE TABLE vectors (
    tenant      text COLLATE "C" NOT NULL,
    channel     text COLLATE "C" NOT NULL,
    message_id  text COLLATE "C" NOT NULL,
    revision    integer NOT NULL,
    embedder_id text COLLATE "C" NOT NULL,
    dims        integer NOT NULL,
    vector      bytea NOT NULL,             -- float32, little-endian
    PRIMARY KEY (tenant, channel, message_id, revision, embedder_id)
);
ALTER TABLE vectors ALTER COLUMN vector SET STORAGE EXTERNAL;

-- Erased ids stay taken. Of a dedupe_key only a digest stays.
CREATE TABLE tombstones (
    tenant        text COLLATE "C" NOT NULL,
    channel       text COLLATE "C" NOT NULL,
    message_id    text COLLATE "C" NOT NULL,
    erased_at_ms  bigint NOT NULL,
    dedupe_digest text COLLATE "C" NOT NULL, -- '': none
    with_channel  boolean NOT NULL,         -- it went with its whole channel: it may be imported again on purpose
    PRIMARY KEY (tenant, channel, message_id)
);
CREATE INDEX tombstones_by_dedupe_digest ON tombstones (tenant, channel, dedupe_digest) WHERE dedupe_digest <> '';

CREATE TABLE members (
    tenant        text COLLATE "C" NOT NULL,
    channel       text COLLATE "C" NOT NULL,
    user_id       text COLLATE "C" NOT NULL,
    name          text NOT NULL,
    kind          integer NOT NULL,
    named_at_ms   bigint NOT NULL,          -- when `name` was last seen to be the name
    joined_at_ms  bigint,
    left_at_ms    bigint,
    aliases       text,                     -- JSON array; NULL: none
    former_names  text,                     -- JSON array, newest first; NULL: none
    role          text NOT NULL,
    earlier_stays text,                     -- JSON array of [joined_at_ms, left_at_ms]; NULL: none
    name_times    text,                     -- since when `name`, or JSON array of [since_ms, name]; NULL: not known
    PRIMARY KEY (tenant, channel, user_id)
);
CREATE INDEX members_by_user ON members (tenant, user_id, channel);

-- Other ids of messages. They go with their message; of an erased one they stay as tombstones.
CREATE TABLE aliases (
    tenant     text COLLATE "C" NOT NULL,
    channel    text COLLATE "C" NOT NULL,
    alias_id   text COLLATE "C" NOT NULL,
    message_id text COLLATE "C" NOT NULL,
    number     bigint GENERATED ALWAYS AS IDENTITY, -- order of arrival
    PRIMARY KEY (tenant, channel, alias_id)
);
CREATE INDEX aliases_by_message ON aliases (tenant, channel, message_id, number);

CREATE TABLE events (
    tenant     text COLLATE "C" NOT NULL,
    channel    text COLLATE "C" NOT NULL,
    number     bigint GENERATED ALWAYS AS IDENTITY, -- order of arrival
    context_id text COLLATE "C" NOT NULL,   -- '': of no context, e.g. an edit
    id         text COLLATE "C" NOT NULL,
    parent_id  text NOT NULL,
    type       text COLLATE "C" NOT NULL,
    level      text NOT NULL,
    at_ms      bigint NOT NULL,
    message_id text COLLATE "C" NOT NULL,   -- of message.edited and message.recalled; '': none
    payload    text NOT NULL,               -- JSON object
    PRIMARY KEY (tenant, channel, number)
);
CREATE UNIQUE INDEX events_by_id ON events (tenant, channel, context_id, id);
CREATE INDEX events_by_message ON events (tenant, channel, message_id) WHERE message_id <> '';

-- Stretches of channels as the server keeps them in memory: a cache of `messages` that may be emptied at any time.
-- The transaction that changes or deletes a row deletes the segment that holds it.
CREATE TABLE segments (
    tenant    text COLLATE "C" NOT NULL,
    channel   text COLLATE "C" NOT NULL,
    format    text COLLATE "C" NOT NULL,    -- of the bytes; others are not read
    first_seq bigint NOT NULL,
    last_seq  bigint NOT NULL,
    row_count bigint NOT NULL,              -- of messages in between, and the sums that tell whether one changed
    revisions bigint NOT NULL,
    recalled  bigint NOT NULL,
    columns   bytea NOT NULL,
    bodies    bytea NOT NULL,
    number    bigint GENERATED ALWAYS AS IDENTITY, -- order of writing
    PRIMARY KEY (tenant, channel, last_seq)
);
CREATE INDEX segments_by_number ON segments (number);
ALTER TABLE segments ALTER COLUMN columns SET STORAGE EXTERNAL, ALTER COLUMN bodies SET STORAGE EXTERNAL;
