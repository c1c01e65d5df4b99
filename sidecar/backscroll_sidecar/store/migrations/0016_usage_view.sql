-- The view begins with the messages that a record names. Joined the other way round, as SQLite chose, it read each
-- message of the channel for every record.
DROP VIEW context_usage_records;
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
