PRAGMA application_id = 1114329955;
BEGIN TRANSACTION;
CREATE TABLE aliases (
    number     INTEGER PRIMARY KEY,         -- order of arrival
    tenant     TEXT NOT NULL,
    channel    TEXT NOT NULL,
    alias_id   TEXT NOT NULL,
    message_id TEXT NOT NULL
) STRICT;
INSERT INTO "aliases" VALUES(1,'default','room','p1','m1');
CREATE TABLE channels (
    tenant   TEXT NOT NULL,
    channel  TEXT NOT NULL,
    last_seq INTEGER NOT NULL,              -- the highest seq ever given: outlives the rows
    PRIMARY KEY (tenant, channel)
) STRICT, WITHOUT ROWID;
INSERT INTO "channels" VALUES('default','other room',1);
INSERT INTO "channels" VALUES('default','room',3);
CREATE TABLE events (
    number     INTEGER PRIMARY KEY AUTOINCREMENT,  -- order of arrival
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
INSERT INTO "events" VALUES(1,'default','room','','message.edited:m2:1','','message.edited','agent',1700000000500,'m2','{"message_id": "m2", "revision": 1}');
INSERT INTO "events" VALUES(2,'default','room','','message.recalled:m3:0','','message.recalled','agent',1700000000900,'m3','{"message_id": "m3", "revision": 0}');
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
    former_names TEXT, role TEXT NOT NULL DEFAULT '', earlier_stays TEXT, name_times TEXT,                      -- JSON array, newest first; NULL: none
    PRIMARY KEY (tenant, channel, user_id)
) STRICT, WITHOUT ROWID;
INSERT INTO "members" VALUES('default','other room','u-bot','Bot',2,1700000000000,NULL,NULL,NULL,NULL,'',NULL,'1700000000000');
INSERT INTO "members" VALUES('default','room','u-alice','Alice',1,1700000000000,NULL,NULL,NULL,NULL,'',NULL,'1700000000000');
INSERT INTO "members" VALUES('default','room','u-bob','Bob',1,1700000000000,NULL,NULL,NULL,NULL,'',NULL,'1700000000000');
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
    details        TEXT, moves INTEGER NOT NULL DEFAULT 0,                    -- JSON object: parts that are not just `text`, mentions, …; NULL: none
    PRIMARY KEY (tenant, channel, seq)
) STRICT, WITHOUT ROWID;
INSERT INTO "messages" VALUES('default','other room',1,'r1','u-bot','Bot',2,2,1700000000000,1700000000000,1700001000000,'','',NULL,NULL,NULL,'',2,0,1700000000000,3,3,'It is','["It","is"]',NULL,0);
INSERT INTO "messages" VALUES('default','room',1,'m1','u-alice','Alice',1,1,1700000000000,1700000000000,1700001000000,'','',NULL,NULL,NULL,'',0,0,1700000000000,3,2,'one','["one"]',NULL,0);
INSERT INTO "messages" VALUES('default','room',2,'m2','u-bob','Bob',1,1,1700000000000,1700000000000,1700001000000,'','',NULL,NULL,NULL,'',0,1,1700000000500,3,3,'zwei 猫','["zwei","猫"]',NULL,0);
INSERT INTO "messages" VALUES('default','room',3,'m3','u-alice','Alice',1,1,1700000000000,1700000000000,1700001000000,'','s1',NULL,NULL,NULL,'',1,0,1700000000000,3,0,'',NULL,'{"audience":["u-bob"],"parts":[]}',0);
CREATE TABLE moved_keys (
    number INTEGER PRIMARY KEY,             -- in the order of commits
    kind   TEXT NOT NULL,                   -- the table of the row
    key    TEXT NOT NULL                    -- JSON array: its key
) STRICT;
CREATE TABLE moves (
    place       INTEGER PRIMARY KEY CHECK (place = 1),
    id          TEXT NOT NULL,              -- of the migration, the same at both ends
    phase       TEXT NOT NULL,              -- of the old database: leaving, closed, left; of the new one: arriving, arrived
    other       TEXT NOT NULL,              -- the address of the other end, without its password
    began_at_ms INTEGER NOT NULL,
    progress    TEXT NOT NULL               -- JSON object: what has been copied
) STRICT;
CREATE TABLE record_names (
    tenant  TEXT NOT NULL,
    channel TEXT NOT NULL,
    number  INTEGER NOT NULL,
    name    TEXT NOT NULL,
    PRIMARY KEY (tenant, channel, number, name)
) STRICT, WITHOUT ROWID;
INSERT INTO "record_names" VALUES('default','other room',1,'*');
INSERT INTO "record_names" VALUES('default','room',2,'m:m1');
CREATE TABLE records (
    number        INTEGER PRIMARY KEY,
    tenant        TEXT NOT NULL,
    channel       TEXT NOT NULL,
    kind          TEXT NOT NULL,
    owner         TEXT NOT NULL,            -- whose it is, '': nobody's; an id names one record of its owner
    id            TEXT NOT NULL,
    body          BLOB NOT NULL,
    created_at_ms INTEGER NOT NULL,
    updated_at_ms INTEGER NOT NULL,
    expires_at_ms INTEGER NOT NULL          -- from then on it is not read any more; 0: never
, version INTEGER NOT NULL DEFAULT 1) STRICT;
INSERT INTO "records" VALUES(1,'default','other room','turn','t1','',X'00626F6479',1700000000000,1700000000000,1700000001000,1);
INSERT INTO "records" VALUES(2,'default','room','pin','','r1',X'0070696E',1700000000000,1700000000000,0,1);
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
INSERT INTO "revisions" VALUES('default','room','m2',0,1700000000000,'[[["text","two"]],[]]');
CREATE TABLE schema_migrations (
    number INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP
) STRICT
;
INSERT INTO "schema_migrations" VALUES(1,'messages','2026-11-29 10:45:28');
INSERT INTO "schema_migrations" VALUES(2,'turns','2026-11-29 10:45:28');
INSERT INTO "schema_migrations" VALUES(3,'vector_indexes','2026-11-29 10:45:28');
INSERT INTO "schema_migrations" VALUES(4,'segments','2026-11-29 10:45:28');
INSERT INTO "schema_migrations" VALUES(5,'stays','2026-11-29 10:45:28');
INSERT INTO "schema_migrations" VALUES(6,'tombstones','2026-11-29 10:45:28');
INSERT INTO "schema_migrations" VALUES(7,'records','2026-11-29 10:45:28');
INSERT INTO "schema_migrations" VALUES(8,'places','2026-11-29 10:45:28');
INSERT INTO "schema_migrations" VALUES(9,'events','2026-11-29 10:45:28');
INSERT INTO "schema_migrations" VALUES(10,'name_times','2026-11-29 10:45:28');
INSERT INTO "schema_migrations" VALUES(11,'records','2026-11-29 10:45:28');
INSERT INTO "schema_migrations" VALUES(12,'parts_with_states','2026-11-29 10:45:28');
INSERT INTO "schema_migrations" VALUES(13,'sessions','2026-11-29 10:45:28');
INSERT INTO "schema_migrations" VALUES(14,'usage_records','2026-11-29 10:45:28');
INSERT INTO "schema_migrations" VALUES(15,'experiments','2026-11-29 10:45:28');
INSERT INTO "schema_migrations" VALUES(16,'usage_view','2026-11-29 10:45:28');
INSERT INTO "schema_migrations" VALUES(17,'moves','2026-11-29 10:45:28');
CREATE TABLE segments (
    tenant    TEXT NOT NULL,
    channel   TEXT NOT NULL,
    format    TEXT NOT NULL,                -- of the bytes; others are not read
    first_seq INTEGER NOT NULL,
    last_seq  INTEGER NOT NULL,
    row_count INTEGER NOT NULL,             -- of messages in between, and the sums that tell whether one changed
    revisions INTEGER NOT NULL,
    recalled  INTEGER NOT NULL,
    columns   BLOB NOT NULL,
    bodies    BLOB NOT NULL
) STRICT;
CREATE TABLE signals (
    tenant     TEXT NOT NULL,
    channel    TEXT NOT NULL,
    context_id TEXT NOT NULL,
    kind       TEXT NOT NULL,
    user_id    TEXT NOT NULL,
    message_id TEXT NOT NULL,               -- '': of none
    value      REAL,                        -- 0 to 1; NULL: only a text was given
    confidence REAL NOT NULL,
    rating     INTEGER NOT NULL,            -- 1 to 5; 0: none
    text       TEXT NOT NULL,
    at_ms      INTEGER NOT NULL,
    PRIMARY KEY (tenant, channel, context_id, kind, user_id, message_id)
) STRICT, WITHOUT ROWID;
INSERT INTO "signals" VALUES('default','room','c1','feedback','u-bob','',1.0,1.0,0,'',1700000000000);
CREATE TABLE tombstones (
    tenant        TEXT NOT NULL,
    channel       TEXT NOT NULL,
    message_id    TEXT NOT NULL,
    erased_at_ms  INTEGER NOT NULL,
    dedupe_digest TEXT NOT NULL, with_channel INTEGER NOT NULL DEFAULT 0,            -- '': none
    PRIMARY KEY (tenant, channel, message_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE usage_records (
    number             INTEGER PRIMARY KEY, -- order of recording
    tenant             TEXT NOT NULL,
    channel            TEXT NOT NULL,
    context_id         TEXT NOT NULL,
    user_id            TEXT NOT NULL,       -- who asked; '': unknown
    trigger_message_id TEXT NOT NULL,       -- '': the question was not stored
    context            TEXT NOT NULL,       -- JSON array: the shown messages, in their order
    candidates         TEXT,
    reply_seq          INTEGER,             -- the answer, once it is stored
    user_feedback      TEXT,
    success_indicator  REAL,                -- 0 to 1
    details            TEXT NOT NULL,       -- JSON object: how it was decided, tokens, times
    other_channels     TEXT,                -- JSON array: channels named in `details`; NULL: none
    created_at_ms      INTEGER NOT NULL DEFAULT (CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER))
, experiment_id TEXT, arm TEXT, shadow_of TEXT) STRICT;
INSERT INTO "usage_records" VALUES(1,'default','room','c1','u-alice','m1','[2,1]','{"seq":[1,2],"score":[0.1235,1.0],"fate":[1,0]}',NULL,NULL,1.0,'{"profile":"balanced","policy_id":"balanced@1","asked_at_ms":1700000000005,"rung":2,"tokens":100,"token_budget":4096,"build_us":812,"degradations":[["rank","ERROR","semantic"]]}',NULL,1700000000000,NULL,NULL,NULL);
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
CREATE UNIQUE INDEX messages_by_id ON messages (tenant, id, channel);
CREATE INDEX messages_by_time ON messages (tenant, channel, state, rank_time_ms, seq);
CREATE INDEX messages_by_author ON messages (tenant, channel, author_id, rank_time_ms, seq);
CREATE INDEX messages_by_parent ON messages (tenant, channel, reply_to) WHERE reply_to IS NOT NULL;
CREATE UNIQUE INDEX messages_by_dedupe_key ON messages (tenant, channel, dedupe_key) WHERE dedupe_key <> '';
CREATE INDEX tombstones_by_dedupe_digest ON tombstones (tenant, channel, dedupe_digest) WHERE dedupe_digest <> '';
CREATE INDEX members_by_user ON members (tenant, user_id, channel);
CREATE UNIQUE INDEX segments_by_place ON segments (tenant, channel, last_seq);
CREATE UNIQUE INDEX records_by_id ON records (tenant, channel, kind, owner, id);
CREATE INDEX records_by_creation ON records (tenant, channel, kind, number);
CREATE INDEX records_by_owner ON records (tenant, kind, owner, channel, number);
CREATE INDEX records_by_expiry ON records (tenant, expires_at_ms, number) WHERE expires_at_ms > 0;
CREATE INDEX records_by_name ON record_names (tenant, channel, name);
CREATE UNIQUE INDEX aliases_by_id ON aliases (tenant, channel, alias_id);
CREATE INDEX aliases_by_message ON aliases (tenant, channel, message_id, number);
CREATE UNIQUE INDEX events_by_id ON events (tenant, channel, context_id, id);
CREATE INDEX events_by_arrival ON events (tenant, channel, number);
CREATE INDEX events_by_message ON events (tenant, channel, message_id) WHERE message_id <> '';
CREATE INDEX records_by_update ON records (tenant, kind, updated_at_ms, number);
CREATE UNIQUE INDEX usage_records_by_context ON usage_records (tenant, context_id);
CREATE INDEX usage_records_by_user ON usage_records (tenant, channel, user_id, number);
CREATE INDEX usage_records_by_number ON usage_records (tenant, channel, number);
CREATE INDEX usage_records_by_tenant ON usage_records (tenant, number);
CREATE INDEX usage_records_by_time ON usage_records (tenant, created_at_ms, number);
CREATE INDEX usage_records_by_trigger ON usage_records (tenant, channel, trigger_message_id, number);
CREATE INDEX usage_records_by_reply ON usage_records (tenant, channel, reply_seq) WHERE reply_seq IS NOT NULL;
CREATE INDEX usage_records_elsewhere ON usage_records (tenant, number) WHERE other_channels IS NOT NULL;
CREATE INDEX signals_by_user ON signals (tenant, channel, user_id);
CREATE INDEX signals_by_message ON signals (tenant, channel, message_id);
CREATE INDEX usage_records_by_experiment ON usage_records (tenant, experiment_id, number) WHERE experiment_id IS NOT NULL;
CREATE VIEW context_usage_records AS
SELECT
    u.number AS id,
    u.tenant,
    u.context_id,
    u.channel AS group_id,
    u.user_id,
    u.trigger_message_id,
    (
        SELECT json_group_array(m.id)
        FROM json_each(u.context) AS one
        CROSS JOIN messages AS m ON m.tenant = u.tenant AND m.channel = u.channel AND m.seq = one.value
    ) AS context_message_ids,
    (
        SELECT m.text FROM messages AS m
        WHERE m.tenant = u.tenant AND m.channel = u.channel AND m.seq = u.reply_seq AND m.state <> 1
    ) AS llm_response,
    u.user_feedback,
    u.success_indicator,
    (
        SELECT json_group_object(m.id, json_extract(u.candidates, '$.score[' || one.key || ']'))
        FROM json_each(u.candidates, '$.seq') AS one
        CROSS JOIN messages AS m ON m.tenant = u.tenant AND m.channel = u.channel AND m.seq = one.value
    ) AS relevance_scores,
    datetime(u.created_at_ms / 1000.0, 'unixepoch') AS created_at,
    u.experiment_id,
    u.arm
FROM usage_records AS u
WHERE u.shadow_of IS NULL;
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('events',2);
COMMIT;
