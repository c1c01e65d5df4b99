"""Every statement on usage records and signals, by the rules of `statements`."""

# ruff: noqa: S608 -- the only things put into these texts are the constants of this module

from __future__ import annotations

from backscroll_sidecar.domain import MessageState, Role
from backscroll_sidecar.store.sqlite.statements import WANTED

_COLUMNS = """
context_id, user_id, trigger_message_id, context, candidates, details, other_channels, created_at_ms,
experiment_id, arm, shadow_of
"""

# An answer may have been stored before the record of its build. A build behind the answers has none.
PUT_RECORD = f"""
INSERT INTO usage_records (tenant, channel, {_COLUMNS}, reply_seq)
SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, (
    SELECT max(seq) FROM messages INDEXED BY messages_by_parent
    WHERE tenant = ?1 AND channel = ?2 AND reply_to = ?5 AND ?5 <> ''
        AND role = {int(Role.ASSISTANT)} AND state = {int(MessageState.LIVE)} AND received_at_ms >= ?10 AND ?13 IS NULL
)
ON CONFLICT (tenant, context_id) DO NOTHING
"""

JOIN_ANSWER = """
UPDATE usage_records INDEXED BY usage_records_by_context SET reply_seq = ?4
WHERE tenant = ?1 AND channel = ?2 AND context_id = ?3
"""
JOIN_REPLY = """
UPDATE usage_records SET reply_seq = ?4 WHERE tenant = ?1 AND channel = ?2 AND reply_seq IS NULL AND number = (
    SELECT max(number) FROM usage_records INDEXED BY usage_records_by_trigger
    WHERE tenant = ?1 AND channel = ?2 AND trigger_message_id = ?3 AND shadow_of IS NULL
)
"""

PUT_SIGNAL = """
INSERT INTO signals (
    tenant, channel, context_id, kind, user_id, message_id, value, confidence, rating, text, at_ms
)
SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11
WHERE EXISTS (SELECT 1 FROM usage_records WHERE tenant = ?1 AND channel = ?2 AND context_id = ?3)
ON CONFLICT (tenant, channel, context_id, kind, user_id, message_id) DO UPDATE SET
    value = excluded.value, confidence = excluded.confidence, rating = excluded.rating, text = excluded.text,
    at_ms = excluded.at_ms
"""
DROP_READ_SIGNALS = """
DELETE FROM signals WHERE tenant = ? AND channel = ? AND context_id = ? AND kind <> 'feedback'
"""
# Of what was said in as many words: the newest text, the mean of the values.
SUM_UP = """
UPDATE usage_records INDEXED BY usage_records_by_context SET
    user_feedback = (
        SELECT text FROM signals
        WHERE tenant = ?1 AND channel = ?2 AND context_id = ?3 AND kind = 'feedback' AND text <> ''
        ORDER BY at_ms DESC, user_id LIMIT 1
    ),
    success_indicator = (
        SELECT avg(value) FROM signals WHERE tenant = ?1 AND channel = ?2 AND context_id = ?3 AND kind = 'feedback'
    )
WHERE tenant = ?1 AND channel = ?2 AND context_id = ?3
"""

# The oldest of a tenant that are over.
OVER = """
SELECT channel, context_id FROM usage_records INDEXED BY usage_records_by_time
WHERE tenant = ? AND created_at_ms < ? ORDER BY created_at_ms LIMIT ?
"""

# --- erasing -------------------------------------------------------------------------------------

_RECORD = "tenant = ? AND channel = ?"
ERASED_BY_USER = f"""
SELECT context_id FROM usage_records INDEXED BY usage_records_by_user WHERE {_RECORD} AND user_id = ?
"""
ERASED_BY_CHANNEL = (
    f"SELECT context_id FROM usage_records INDEXED BY usage_records_by_number WHERE {_RECORD}"
)
ERASED_BY_TRIGGER = f"""{WANTED}
SELECT context_id FROM wanted CROSS JOIN usage_records INDEXED BY usage_records_by_trigger
    ON tenant = in_tenant AND channel = in_channel AND trigger_message_id = in_name
"""
# Records of other channels that name this one.
NAMING_CHANNEL = """
SELECT channel, context_id FROM usage_records INDEXED BY usage_records_elsewhere
WHERE tenant = :tenant AND other_channels IS NOT NULL AND channel <> :channel
    AND EXISTS (SELECT 1 FROM json_each(other_channels) WHERE value = :channel)
"""
DELETE_USAGE = f"DELETE FROM usage_records WHERE {_RECORD} AND context_id = ?"
DELETE_SIGNALS = f"DELETE FROM signals WHERE {_RECORD} AND context_id = ?"
SIGNALS_OF_USER = f"""
DELETE FROM signals WHERE {_RECORD} AND user_id = ? RETURNING context_id
"""
SIGNALS_OF_MESSAGES = f"""{WANTED}
DELETE FROM signals INDEXED BY signals_by_message
WHERE (tenant, channel, message_id) IN (SELECT in_tenant, in_channel, in_name FROM wanted)
RETURNING tenant, channel, context_id
"""
FORGET_REPLY = f"UPDATE usage_records SET reply_seq = NULL WHERE {_RECORD} AND reply_seq = ?"

# --- reading -------------------------------------------------------------------------------------

_READ = f"number, channel, {_COLUMNS}, reply_seq, user_feedback, success_indicator"


_CONDITIONS = """(:user_id = '' OR user_id = :user_id)
    AND (:since_ms IS NULL OR created_at_ms >= :since_ms) AND (:until_ms IS NULL OR created_at_ms < :until_ms)
    AND (:experiment_id = '' OR experiment_id = :experiment_id) AND (:arm = '' OR arm = :arm)
    AND (:with_shadows OR shadow_of IS NULL) AND number > :after AND number < :before"""


def _page(index: str, condition: str, order: str) -> str:
    return f"""
SELECT {_READ} FROM usage_records INDEXED BY {index}
WHERE tenant = :tenant AND {condition} AND {_CONDITIONS}
ORDER BY number {order} LIMIT :limit
"""


def _merged(nearest: str, beyond: str, bound: str, order: str) -> str:
    """Records of some channels in one order. `merged` is a queue in which the next record of each channel waits.

    So a page reads a row of each channel and those it returns, and nothing of other channels. SQLite keeps the order of
    what is joined to something only where that has a limit.
    """

    def following(channel: str, place: str) -> str:
        return f"""(
        SELECT {nearest}(number) FROM usage_records INDEXED BY usage_records_by_number
        WHERE tenant = :tenant AND channel = {channel} AND number {beyond} {place}
    )"""

    return f"""
WITH RECURSIVE merged(of, place) AS (
    SELECT value, {following("value", bound)} FROM json_each(:channels)
    UNION ALL
    SELECT of, {following("of", "place")} FROM merged WHERE place IS NOT NULL
    ORDER BY 2 {order} LIMIT -1
)
SELECT {_READ} FROM merged CROSS JOIN usage_records NOT INDEXED ON number = place
WHERE tenant = :tenant AND channel = of AND {_CONDITIONS} LIMIT :limit
"""


_TRIGGER = (
    "usage_records_by_trigger",
    "channel = :channel AND trigger_message_id = :trigger_message_id",
)
_REPLY = ("usage_records_by_reply", "channel = :channel AND reply_seq = :reply_seq")
_USER = ("usage_records_by_user", "channel = :channel AND user_id = :user_id")
_CHANNEL = ("usage_records_by_number", "channel = :channel")
_EXPERIMENT = (
    "usage_records_by_experiment",
    "experiment_id = :experiment_id AND experiment_id IS NOT NULL",
)
RECORD_OF_CONTEXT = f"""
SELECT {_READ} FROM usage_records INDEXED BY usage_records_by_context
WHERE tenant = :tenant AND context_id = :context_id
"""
RECORDS_OF_TRIGGER_OLDEST_FIRST = _page(*_TRIGGER, "ASC")
RECORDS_OF_TRIGGER_NEWEST_FIRST = _page(*_TRIGGER, "DESC")
RECORDS_OF_REPLY_OLDEST_FIRST = _page(*_REPLY, "ASC")
RECORDS_OF_REPLY_NEWEST_FIRST = _page(*_REPLY, "DESC")
RECORDS_OF_USER_OLDEST_FIRST = _page(*_USER, "ASC")
RECORDS_OF_USER_NEWEST_FIRST = _page(*_USER, "DESC")
RECORDS_OF_CHANNEL_OLDEST_FIRST = _page(*_CHANNEL, "ASC")
RECORDS_OF_CHANNEL_NEWEST_FIRST = _page(*_CHANNEL, "DESC")
RECORDS_OF_TENANT_OLDEST_FIRST = _page("usage_records_by_tenant", "TRUE", "ASC")
RECORDS_OF_TENANT_NEWEST_FIRST = _page("usage_records_by_tenant", "TRUE", "DESC")
RECORDS_OF_EXPERIMENT_OLDEST_FIRST = _page(*_EXPERIMENT, "ASC")
RECORDS_OF_EXPERIMENT_NEWEST_FIRST = _page(*_EXPERIMENT, "DESC")
RECORDS_OF_CHANNELS_OLDEST_FIRST = _merged("min", ">", ":after", "ASC")
RECORDS_OF_CHANNELS_NEWEST_FIRST = _merged("max", "<", ":before", "DESC")
# The channels with records that begin so, one step in the index each.
CHANNELS_BEGINNING = """
WITH RECURSIVE found(start, name) AS (
    SELECT value, (
        SELECT min(channel) FROM usage_records INDEXED BY usage_records_by_number
        WHERE tenant = :tenant AND channel >= value
    ) FROM json_each(:starts)
    UNION ALL
    SELECT start, (
        SELECT min(channel) FROM usage_records INDEXED BY usage_records_by_number
        WHERE tenant = :tenant AND channel > name
    ) FROM found WHERE substr(name, 1, length(start)) = start
)
SELECT name FROM found WHERE substr(name, 1, length(start)) = start
"""
SIGNALS = """
SELECT context_id, kind, signals.user_id, message_id, value, confidence, at_ms, rating, text
FROM usage_records INDEXED BY usage_records_by_context CROSS JOIN signals USING (tenant, channel, context_id)
WHERE tenant = ? AND context_id IN (SELECT value FROM json_each(?))
ORDER BY at_ms, kind, signals.user_id, message_id
"""
IDS_BY_SEQ = """
SELECT seq, messages.id FROM json_each(:seqs) CROSS JOIN messages
    ON tenant = :tenant AND channel = :channel AND seq = value
"""
