"""Every statement on what was taken away from channels, by the rules of `statements`."""

from __future__ import annotations

# Locked while a turn is written, so that no loss is committed meanwhile. True: an erasure holds turns up.
_HELD = "SELECT holds IS NOT NULL FROM channels WHERE tenant = $1 AND channel = ''"
SHARE_TENANT = f"{_HELD} FOR SHARE"
LOCK_TENANT = f"{_HELD} FOR NO KEY UPDATE"
BEGIN_TENANT = (
    "INSERT INTO channels (tenant, channel, version) VALUES ($1, '', 0) ON CONFLICT DO NOTHING"
)

# Both wait for turns that are being written.
HOLD_TURNS = """
INSERT INTO channels AS mine (tenant, channel, version, holds) VALUES ($1, '', 0, ARRAY[$2::text])
ON CONFLICT (tenant, channel) DO UPDATE SET holds = mine.holds || excluded.holds
"""
LET_TURNS = """
UPDATE channels SET holds = nullif(array_remove(holds, $2::text), '{}') WHERE tenant = $1 AND channel = ''
"""
LET_TURNS_OF = """
UPDATE channels SET holds = (SELECT array_agg(one) FROM unnest(holds) AS one WHERE NOT starts_with(one, $2))
WHERE tenant = $1 AND channel = ''
"""

LOSS_COUNT = "SELECT coalesce(max(number), 0) FROM losses WHERE tenant = $1"

LOSSES_SINCE = (
    "SELECT number, channel, names FROM losses WHERE tenant = $1 AND number > $2 ORDER BY number"
)

# A server that was told of later ones than there are misses the first, and counts everything as lost. Others miss none.
# $2: 1, and more than can have been lost. No turn keeps anything by an empty name.
SKIP_LOSSES = """
INSERT INTO losses (tenant, number, channel, names)
SELECT $1, last + step, '', '[""]'
FROM (SELECT coalesce(max(number), 0) AS last FROM losses WHERE tenant = $1) AS so_far, unnest($2::bigint[]) AS step
"""

# $5: how many are kept.
PUT_LOSSES = """
WITH dropped AS (DELETE FROM losses WHERE tenant = $1 AND number <= $2::bigint - $5::bigint)
INSERT INTO losses (tenant, number, channel, names)
SELECT $1, $2::bigint + place, one, two
FROM unnest($3::text[], $4::text[]) WITH ORDINALITY AS given (one, two, place)
"""
