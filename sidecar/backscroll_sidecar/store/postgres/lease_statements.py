"""Every statement on leases, by the rules of `statements`. Times are by the database's clock."""

# ruff: noqa: S608 -- the only things put into these texts are the constants of this module

from __future__ import annotations

_LATER = "clock_timestamp() + $3::bigint * interval '1 millisecond'"

_RUN_OUT = "(ends_at < clock_timestamp() OR ends_at > clock_timestamp() + interval '1 minute')"
"""The second: the clock was set back since. None lasts so long."""

TAKE = f"""
INSERT INTO leases AS held (tenant, name, ends_at, holder, holding) VALUES ($1, $2, {_LATER}, $4, $5)
ON CONFLICT (tenant, name) DO UPDATE SET ends_at = excluded.ends_at, holding = excluded.holding
    WHERE held.holder = excluded.holder
RETURNING 1
"""
RUN_OUT = f"""
SELECT holder, ends_at < clock_timestamp() - $3::bigint * interval '1 millisecond' AS long_ago FROM leases
WHERE tenant = $1 AND name = $2 AND {_RUN_OUT}
"""
TAKE_OVER = f"""
UPDATE leases SET ends_at = {_LATER}, holder = $4, holding = $5
WHERE tenant = $1 AND name = $2 AND holder = $6 AND {_RUN_OUT} RETURNING 1
"""
PROLONG = f"""
UPDATE leases SET ends_at = {_LATER} WHERE tenant = $1 AND name = ANY($2::text[]) AND holder = $4 RETURNING name
"""
GIVE_BACK = "DELETE FROM leases WHERE tenant = $1 AND name = $2 AND holder = $3 AND holding = $4"

STAND = "SELECT pg_advisory_lock($1)"
STANDS = "SELECT NOT pg_try_advisory_xact_lock_shared($1)"
"""Whether any session has it."""
IS_POOLED = "SELECT pg_backend_pid() <> $1"
"""Whether the process that answers is not the one that the connection was told, because a pool is in between."""
ALIVE = "SELECT 1"
KEEP = """SET idle_session_timeout = 0; SET statement_timeout = 0; SET lock_timeout = 0;
SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 2; SET tcp_keepalives_count = 3
"""
"""The session of a machine that is gone ends after 11 s: 5 s idle, then three probes 2 s apart."""
