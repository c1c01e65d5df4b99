"""Every statement on leases, by the rules of `statements`. Times are by the database's clock."""

# ruff: noqa: S608 -- the only things put into these texts are the constants of this module

from __future__ import annotations

_LATER = "clock_timestamp() + $4::bigint * interval '1 millisecond'"

TAKE = f"""
INSERT INTO leases AS held (tenant, name, holder, ends_at) VALUES ($1, $2, $3, {_LATER})
ON CONFLICT (tenant, name) DO UPDATE SET holder = excluded.holder, ends_at = excluded.ends_at
    WHERE held.ends_at < clock_timestamp() OR held.holder = excluded.holder
RETURNING 1
"""

PROLONG = f"""
UPDATE leases SET ends_at = {_LATER} WHERE tenant = $1 AND name = ANY($2::text[]) AND holder = $3 RETURNING name
"""

GIVE_BACK = "DELETE FROM leases WHERE tenant = $1 AND name = $2 AND holder = $3"
