"""Every statement on usage records and signals, by the rules of `statements`."""

# ruff: noqa: S608 -- the only things put into these texts are the constants of this module

from __future__ import annotations

from backscroll_sidecar.domain import MessageState, Role
from backscroll_sidecar.store.postgres.statements import WANTED

_COLUMNS = """
context_id, user_id, trigger_message_id, context, candidates, details, other_channels, created_at_ms,
experiment_id, arm, shadow_of
"""

# An answer may have been stored before the record of its build. A shadow build has none.
PUT_RECORD = f"""
INSERT INTO usage_records (tenant, channel, {_COLUMNS}, reply_seq)
SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10::bigint, $11, $12, $13, (
    SELECT max(seq) FROM messages
    WHERE tenant = $1 AND channel = $2 AND reply_to = $5 AND $5 <> ''
        AND role = {int(Role.ASSISTANT)} AND state = {int(MessageState.LIVE)} AND received_at_ms >= $10
        AND $13::text IS NULL
)
ON CONFLICT (tenant, context_id) DO NOTHING
"""

JOIN_ANSWER = (
    "UPDATE usage_records SET reply_seq = $4 WHERE tenant = $1 AND channel = $2 AND context_id = $3"
)
JOIN_REPLY = """
UPDATE usage_records SET reply_seq = $4 WHERE tenant = $1 AND channel = $2 AND reply_seq IS NULL AND number = (
    SELECT max(number) FROM usage_records
    WHERE tenant = $1 AND channel = $2 AND trigger_message_id = $3 AND shadow_of IS NULL
)
"""

PUT_SIGNALS = """
INSERT INTO signals (
    tenant, channel, context_id, kind, user_id, message_id, value, confidence, rating, text, at_ms
)
SELECT $1, new.* FROM unnest(
    $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::float8[], $8::float8[], $9::int[], $10::text[],
    $11::bigint[]
) AS new (channel, context_id, kind, user_id, message_id, value, confidence, rating, text, at_ms)
WHERE EXISTS (
    SELECT 1 FROM usage_records AS of
    WHERE of.tenant = $1 AND of.channel = new.channel AND of.context_id = new.context_id
)
ON CONFLICT (tenant, channel, context_id, kind, user_id, message_id) DO UPDATE SET
    value = excluded.value, confidence = excluded.confidence, rating = excluded.rating, text = excluded.text,
    at_ms = excluded.at_ms
"""
DROP_READ_SIGNALS = f"""{WANTED}
DELETE FROM signals USING wanted
WHERE tenant = $1 AND channel = in_channel AND context_id = in_name AND kind <> 'feedback'
"""
# Of explicit signals: the newest text, the mean of the values.
SUM_UP = f"""{WANTED}
UPDATE usage_records SET user_feedback = (
    SELECT text FROM signals
    WHERE tenant = $1 AND channel = in_channel AND context_id = in_name AND kind = 'feedback' AND text <> ''
    ORDER BY at_ms DESC, user_id LIMIT 1
), success_indicator = (
    SELECT avg(value ORDER BY user_id, message_id) FROM signals
    WHERE tenant = $1 AND channel = in_channel AND context_id = in_name AND kind = 'feedback'
)
FROM wanted WHERE tenant = $1 AND channel = in_channel AND context_id = in_name
"""

# The oldest of a tenant that expired. Other servers may do the same: rows that they have locked are left to them.
DROP_OLD = """
WITH over AS MATERIALIZED (
    SELECT channel, number FROM usage_records WHERE tenant = $1 AND created_at_ms < $2
    ORDER BY created_at_ms, number LIMIT $3 FOR UPDATE SKIP LOCKED
), gone AS (
    DELETE FROM usage_records AS old USING over
    WHERE tenant = $1 AND old.channel = over.channel AND old.number = over.number
    RETURNING old.channel, context_id
)
DELETE FROM signals USING gone
WHERE tenant = $1 AND signals.channel = gone.channel AND signals.context_id = gone.context_id
"""

# --- erasing -------------------------------------------------------------------------------------

_CONTEXTS = "SELECT channel, context_id FROM usage_records WHERE tenant = $1"
ERASED_BY_USER = f"{_CONTEXTS} AND channel = $2 AND user_id = $3"
ERASED_BY_CHANNEL = f"{_CONTEXTS} AND channel = $2"
ERASED_BY_TRIGGER = f"{_CONTEXTS} AND channel = $2 AND trigger_message_id = ANY($3::text[])"
# Records of other channels that name this one.
NAMING_CHANNEL = (
    f"{_CONTEXTS} AND other_channels IS NOT NULL AND channel <> $2 AND other_channels::jsonb ? $2"
)
DELETE_USAGE = f"""{WANTED}
DELETE FROM usage_records USING wanted WHERE tenant = $1 AND channel = in_channel AND context_id = in_name
"""
DELETE_SIGNALS = f"""{WANTED}
DELETE FROM signals USING wanted WHERE tenant = $1 AND channel = in_channel AND context_id = in_name
"""
SIGNALS_OF_USER = """
DELETE FROM signals WHERE tenant = $1 AND channel = $2 AND user_id = $3 RETURNING channel, context_id
"""
SIGNALS_OF_MESSAGES = f"""{WANTED}
DELETE FROM signals USING wanted WHERE tenant = $1 AND channel = in_channel AND message_id = in_name
RETURNING channel, context_id
"""
FORGET_REPLIES = """
UPDATE usage_records SET reply_seq = NULL WHERE tenant = $1 AND channel = $2 AND reply_seq = ANY($3::bigint[])
"""

# --- reading -------------------------------------------------------------------------------------

_READ = f"number, channel, {_COLUMNS}, reply_seq, user_feedback, success_indicator"

# $2 before, $3 after, $4 since, $5 until, $6 user, $7 experiment, $8 arm, $9 with shadows, $10 channel, $11 trigger,
# $12 reply, $13 and $14 allowed channels and beginnings of such, $15 limit
_PAGE = f"""
SELECT {_READ} FROM usage_records
WHERE tenant = $1 AND number < $2 AND number > $3
    AND ($4::bigint IS NULL OR created_at_ms >= $4) AND ($5::bigint IS NULL OR created_at_ms < $5)
    AND ($6 = '' OR user_id = $6) AND ($7 = '' OR experiment_id = $7) AND ($8 = '' OR arm = $8)
    AND ($9::boolean OR shadow_of IS NULL) AND ($10 = '' OR channel = $10)
    AND ($11 = '' OR trigger_message_id = $11) AND ($12::bigint IS NULL OR reply_seq = $12)
    AND ($13::text[] IS NULL OR channel = ANY($13) OR EXISTS (
        SELECT 1 FROM unnest($14::text[]) AS beginning WHERE starts_with(channel, beginning)
    ))
"""
RECORDS_OLDEST_FIRST = f"{_PAGE} ORDER BY number LIMIT $15"
RECORDS_NEWEST_FIRST = f"{_PAGE} ORDER BY number DESC LIMIT $15"
RECORD_OF_CONTEXT = f"SELECT {_READ} FROM usage_records WHERE tenant = $1 AND context_id = $2"
SIGNALS = """
SELECT signals.context_id, kind, signals.user_id, message_id, value, confidence, at_ms, rating, text
FROM usage_records JOIN signals USING (tenant, channel, context_id)
WHERE tenant = $1 AND context_id = ANY($2::text[])
ORDER BY at_ms, kind, signals.user_id, message_id
"""
IDS_BY_SEQ = (
    "SELECT seq, id FROM messages WHERE tenant = $1 AND channel = $2 AND seq = ANY($3::bigint[])"
)
