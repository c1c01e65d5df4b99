-- What builds chose from and what came of it. Messages are named by `seq`: nothing of an erased one stays here, and the
-- text of an answer is kept once, where it was stored.

CREATE TABLE usage_records (
    tenant             text COLLATE "C" NOT NULL,
    channel            text COLLATE "C" NOT NULL,
    number             bigint GENERATED ALWAYS AS IDENTITY, -- order of recording
    context_id         text COLLATE "C" NOT NULL,
    user_id            text COLLATE "C" NOT NULL, -- who asked; '': unknown
    trigger_message_id text COLLATE "C" NOT NULL, -- '': the question was not stored
    context            text NOT NULL,       -- JSON array: the shown messages, in their order
    candidates         text,                -- JSON object of parallel arrays: seq, score, fate
    details            text NOT NULL,       -- JSON object: how it was decided, tokens, times
    other_channels     text,                -- JSON array: channels named in `details`; NULL: none
    created_at_ms      bigint NOT NULL DEFAULT (extract(epoch FROM clock_timestamp()) * 1000)::bigint,
    experiment_id      text COLLATE "C",    -- NULL: of none
    arm                text COLLATE "C",
    shadow_of          text COLLATE "C",    -- the context id of the build that was answered; NULL: this one was
    reply_seq          bigint,              -- the answer, once it is stored
    user_feedback      text,
    success_indicator  double precision,    -- 0 to 1
    PRIMARY KEY (tenant, channel, number)
);

CREATE UNIQUE INDEX usage_records_by_context ON usage_records (tenant, context_id);
CREATE INDEX usage_records_by_user ON usage_records (tenant, channel, user_id, number);
CREATE INDEX usage_records_by_tenant ON usage_records (tenant, number);
CREATE INDEX usage_records_by_time ON usage_records (tenant, created_at_ms, number);
CREATE INDEX usage_records_by_trigger ON usage_records (tenant, channel, trigger_message_id, number);
CREATE INDEX usage_records_by_reply ON usage_records (tenant, channel, reply_seq) WHERE reply_seq IS NOT NULL;
CREATE INDEX usage_records_elsewhere ON usage_records (tenant, number) WHERE other_channels IS NOT NULL;
CREATE INDEX usage_records_by_experiment ON usage_records (tenant, experiment_id, number) WHERE experiment_id IS NOT NULL;

-- What says how good an answer was. It goes with its record, with whoever gave it and with the message it was read from.
CREATE TABLE signals (
    tenant     text COLLATE "C" NOT NULL,
    channel    text COLLATE "C" NOT NULL,
    context_id text COLLATE "C" NOT NULL,
    kind       text COLLATE "C" NOT NULL,
    user_id    text COLLATE "C" NOT NULL,
    message_id text COLLATE "C" NOT NULL,   -- '': of none
    value      double precision,            -- 0 to 1; NULL: only a text was given
    confidence double precision NOT NULL,
    rating     integer NOT NULL,            -- 1 to 5; 0: none
    text       text NOT NULL,
    at_ms      bigint NOT NULL,
    PRIMARY KEY (tenant, channel, context_id, kind, user_id, message_id)
);
CREATE INDEX signals_by_user ON signals (tenant, channel, user_id);
CREATE INDEX signals_by_message ON signals (tenant, channel, message_id);

-- For people with SQL: messages by their ids, the answer by its text. OFFSET 0 keeps each message of a record looked up
-- by its key; joined, all messages of the channel may be read.
CREATE VIEW context_usage_records AS
SELECT
    u.number AS id,
    u.tenant,
    u.context_id,
    u.channel AS group_id,
    u.user_id,
    u.trigger_message_id,
    (
        SELECT coalesce(json_agg(m.id ORDER BY one.place), '[]')
        FROM json_array_elements_text(u.context::json) WITH ORDINALITY AS one (seq, place)
        CROSS JOIN LATERAL (
            SELECT id FROM messages
            WHERE tenant = u.tenant AND channel = u.channel AND seq = one.seq::bigint OFFSET 0
        ) AS m
    ) AS context_message_ids,
    (
        SELECT m.text FROM messages AS m
        WHERE m.tenant = u.tenant AND m.channel = u.channel AND m.seq = u.reply_seq AND m.state <> 1
    ) AS llm_response,
    u.user_feedback,
    u.success_indicator,
    (
        SELECT coalesce(json_object_agg(m.id, one.score), '{}')
        FROM ROWS FROM (
            json_array_elements_text(u.candidates::json -> 'seq'), json_array_elements(u.candidates::json -> 'score')
        ) AS one (seq, score)
        CROSS JOIN LATERAL (
            SELECT id FROM messages
            WHERE tenant = u.tenant AND channel = u.channel AND seq = one.seq::bigint OFFSET 0
        ) AS m
    ) AS relevance_scores,
    to_timestamp(u.created_at_ms / 1000.0) AS created_at,
    u.experiment_id,
    u.arm
FROM usage_records AS u
WHERE u.shadow_of IS NULL;
