"""Every statement on what went of channels, by the rules of `statements`."""

from __future__ import annotations

# Held by whoever writes for a turn, so that no loss is committed meanwhile.
HOLD_TENANT = "SELECT 1 FROM channels WHERE tenant = $1 AND channel = '' FOR SHARE"
BEGIN_TENANT = (
    "INSERT INTO channels (tenant, channel, version) VALUES ($1, '', 0) ON CONFLICT DO NOTHING"
)

LOSS_COUNT = "SELECT coalesce(max(number), 0) FROM losses WHERE tenant = $1"

LOSSES_SINCE = (
    "SELECT number, channel, names FROM losses WHERE tenant = $1 AND number > $2 ORDER BY number"
)

# $5: so many are kept.
PUT_LOSSES = """
WITH dropped AS (DELETE FROM losses WHERE tenant = $1 AND number <= $2::bigint - $5::bigint)
INSERT INTO losses (tenant, number, channel, names)
SELECT $1, $2::bigint + place, one, two
FROM unnest($3::text[], $4::text[]) WITH ORDINALITY AS given (one, two, place)
"""
