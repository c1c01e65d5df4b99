"""Every statement on what changed in channels, by the rules of `statements`."""

# ruff: noqa: S608 -- the only things put into these texts are the constants of this module

from __future__ import annotations

from backscroll_sidecar.store.postgres.statements import COLUMNS, MEMBER_COLUMNS

# The row without a name is the number of losses; -1: the history moved to another database. Beside it: the lineage.
_VERSIONS = """
SELECT channel, version, NULL FROM channels WHERE tenant = $1 AND channel = ANY($2::text[])
UNION ALL
SELECT NULL, CASE WHEN EXISTS (SELECT FROM moves WHERE place = 1 AND phase = 'left') THEN -1
    ELSE coalesce(max(number), 0) END,
"""
VERSIONS = f"""{_VERSIONS}
    (SELECT number FROM lineages WHERE tenant = $1)
FROM losses WHERE tenant = $1
"""
# A standby refuses to look at lineages.
VERSIONS_ALONE = f"""{_VERSIONS}
    NULL::bigint
FROM losses WHERE tenant = $1
"""
BEGIN_LINEAGE = (
    "INSERT INTO lineages (tenant, number) VALUES ($1, $2) ON CONFLICT (tenant) DO NOTHING"
)

# $5: how many versions of a channel are kept.
PUT_CHANGES = """
WITH new (in_channel, in_version, in_body) AS (
    SELECT one COLLATE "C", two, three FROM unnest($2::text[], $3::bigint[], $4::text[]) AS given (one, two, three)
), dropped AS (
    DELETE FROM channel_changes USING new
    WHERE tenant = $1 AND channel = in_channel AND version <= in_version - $5::bigint
)
INSERT INTO channel_changes (tenant, channel, version, body) SELECT $1, in_channel, in_version, in_body FROM new
"""

FORGET_CHANGES = "DELETE FROM channel_changes WHERE tenant = $1 AND channel = ANY($2::text[])"

CHANGES_SINCE = """
SELECT version, body FROM channel_changes WHERE tenant = $1 AND channel = $2 AND version > $3 ORDER BY version
"""

ROWS_BY_SEQ = f"""
SELECT {COLUMNS} FROM messages WHERE tenant = $1 AND channel = $2 AND seq = ANY($3::bigint[]) ORDER BY seq
"""

MEMBERS_BY_ID = f"""
SELECT {MEMBER_COLUMNS}
FROM members WHERE tenant = $1 AND channel = $2 AND user_id = ANY($3::text[]) ORDER BY user_id
"""

VECTORS_BY_SEQ = """
SELECT embedder_id, seq, id, vector FROM messages JOIN vectors USING (tenant, channel, revision)
WHERE tenant = $1 AND channel = $2 AND seq = ANY($3::bigint[]) AND message_id = id ORDER BY seq, embedder_id
"""
