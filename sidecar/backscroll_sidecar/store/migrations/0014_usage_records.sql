-- What builds chose from and what came of it. Messages are named by `seq`: nothing of an erased one stays here, and the
-- text of an answer is kept once, where it was stored. `candidates` is a JSON object of parallel arrays: seq, score, fate.

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
) STRICT;

CREATE UNIQUE INDEX usage_records_by_context ON usage_records (tenant, context_id);
CREATE INDEX usage_records_by_user ON usage_records (tenant, channel, user_id, number);
CREATE INDEX usage_records_by_number ON usage_records (tenant, channel, number);
CREATE INDEX usage_records_by_tenant ON usage_records (tenant, number);
CREATE INDEX usage_records_by_time ON usage_records (tenant, created_at_ms, number);
CREATE INDEX usage_records_by_trigger ON usage_records (tenant, channel, trigger_message_id, number);
CREATE INDEX usage_records_by_reply ON usage_records (tenant, channel, reply_seq) WHERE reply_seq IS NOT NULL;
CREATE INDEX usage_records_elsewhere ON usage_records (tenant, number) WHERE other_channels IS NOT NULL;

-- What says how good an answer was. It goes with its record, with whoever gave it and with the message it was read from.
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

CREATE INDEX signals_by_user ON signals (tenant, channel, user_id);
CREATE INDEX signals_by_message ON signals (tenant, channel, message_id);

-- The same for people who look with SQL: ids, texts and scores by message id.
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
        JOIN messages AS m ON m.tenant = u.tenant AND m.channel = u.channel AND m.seq = one.value
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
        JOIN messages AS m ON m.tenant = u.tenant AND m.channel = u.channel AND m.seq = one.value
    ) AS relevance_scores,
    datetime(u.created_at_ms / 1000.0, 'unixepoch') AS created_at
FROM usage_records AS u;
