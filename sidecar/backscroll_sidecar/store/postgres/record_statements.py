"""Every statement on records, by the rules of `statements`."""

# ruff: noqa: S608 -- the only things put into these texts are the constants of this module

from __future__ import annotations

from backscroll_sidecar import ports
from backscroll_sidecar.store.postgres.statements import WANTED

_COLUMNS = "number, channel, owner, id, body, created_at_ms, updated_at_ms, expires_at_ms, version"
_SCOPE = "tenant = $1 AND channel = $2 AND kind = $3 AND owner = $4"

# --- what a group must know: arrays of channels, kinds, owners (and ids) ---------------------------

RECORDS_IN_SCOPES = """
SELECT channel, kind, owner, id, expires_at_ms
FROM unnest($2::text[], $3::text[], $4::text[]) AS scope (in_channel, in_kind, in_owner)
    JOIN records ON tenant = $1 AND channel = in_channel AND kind = in_kind AND owner = in_owner
"""

RECORD_VERSIONS = """
SELECT channel, kind, owner, id, version, expires_at_ms
FROM unnest($2::text[], $3::text[], $4::text[], $5::text[]) AS named (in_channel, in_kind, in_owner, in_id)
    JOIN records ON tenant = $1 AND channel = in_channel AND kind = in_kind AND owner = in_owner AND id = in_id
"""

# --- what a group writes -------------------------------------------------------------------------

TOUCH_SESSIONS = f"""
UPDATE records SET updated_at_ms = greatest(updated_at_ms, at_ms)
FROM unnest($2::text[], $3::text[], $4::bigint[]) AS touched (in_channel, in_owner, at_ms)
WHERE tenant = $1 AND channel = in_channel AND kind = '{ports.SESSION}' AND owner = in_owner
"""

DELETE_EXPIRED_IN_SCOPE = f"DELETE FROM records WHERE {_SCOPE} AND expires_at_ms BETWEEN 1 AND $5"

# $5 id, $6 body, $7 when, $8 until when, $9 what it is about
PUT_RECORD = """
WITH put AS (
    INSERT INTO records AS mine (
        tenant, channel, kind, owner, id, body, created_at_ms, updated_at_ms, expires_at_ms
    ) VALUES ($1, $2, $3, $4, $5, $6, $7, $7, $8)
    ON CONFLICT (tenant, channel, kind, owner, id) DO UPDATE
        SET body = excluded.body, updated_at_ms = excluded.updated_at_ms, expires_at_ms = excluded.expires_at_ms,
            version = mine.version + 1
    RETURNING number
), dropped AS (
    DELETE FROM record_names USING put
    WHERE tenant = $1 AND channel = $2 AND record_names.number = put.number AND name <> ALL($9::text[])
)
INSERT INTO record_names (tenant, channel, number, name)
SELECT DISTINCT $1, $2, number, name FROM put CROSS JOIN unnest($9::text[]) AS name
ON CONFLICT DO NOTHING
"""

# Other servers may purge, too: rows that they have locked are left to them.
PURGE_EXPIRED = """
WITH over AS MATERIALIZED (
    SELECT channel, number FROM records WHERE tenant = $1 AND expires_at_ms > 0 AND expires_at_ms <= $2
    ORDER BY expires_at_ms, number LIMIT $3 FOR UPDATE SKIP LOCKED
)
DELETE FROM records AS old USING over
WHERE tenant = $1 AND old.channel = over.channel AND old.number = over.number
"""

DELETE_ONE = f"DELETE FROM records WHERE {_SCOPE} AND id = $5"
DELETE_SCOPE = f"DELETE FROM records WHERE {_SCOPE}"
DELETE_OF_CHANNEL = "DELETE FROM records WHERE tenant = $1 AND channel = $2 RETURNING kind"

# Records that name one of these, and records that build on them.
DELETE_NAMING = f"""{WANTED}
, naming AS (
    SELECT channel, number FROM wanted JOIN record_names ON tenant = $1 AND channel = in_channel AND name = in_name
), gone AS (
    SELECT channel, number FROM naming
    UNION
    SELECT later.channel, later.number
    FROM naming
    JOIN record_names AS mine ON mine.tenant = $1 AND mine.channel = naming.channel AND mine.number = naming.number
        AND starts_with(mine.name, '{ports.CHAIN_PREFIX}')
    JOIN record_names AS later ON later.tenant = $1 AND later.channel = mine.channel AND later.name = mine.name
        AND later.number > mine.number
)
DELETE FROM records USING gone
WHERE records.tenant = $1 AND records.channel = gone.channel AND records.number = gone.number RETURNING kind
"""

# --- what stays without a name -------------------------------------------------------------------


def _of_kinds(kinds: tuple[str, ...]) -> str:
    return ", ".join(f"'{one}'" for one in kinds)


NAMING_PEOPLE = f"""
SELECT body, channel, number FROM records
WHERE tenant = $1 AND channel = $2 AND kind IN ({_of_kinds(ports.NAMING_PEOPLE)}) FOR UPDATE
"""
NAMING_CHANNELS = f"""
SELECT body, channel, number FROM records WHERE tenant = $1 AND kind IN ({_of_kinds(ports.NAMING_CHANNELS)})
ORDER BY channel, number FOR UPDATE
"""
REPLACE_BODIES = """
UPDATE records SET body = after, version = version + 1
FROM unnest($2::bytea[], $3::text[], $4::bigint[]) AS changed (after, in_channel, in_number)
WHERE tenant = $1 AND channel = in_channel AND number = in_number
"""

# --- reading -------------------------------------------------------------------------------------


def _live(now_ms: str) -> str:
    return f"(expires_at_ms = 0 OR expires_at_ms > {now_ms})"


RECORDS = f"""
SELECT {_COLUMNS} FROM records
WHERE tenant = $1 AND channel = $2 AND kind = $3 AND ($4::text IS NULL OR owner = $4) AND number > $5 AND {_live("$6")}
ORDER BY number LIMIT $7
"""

NEWEST_RECORDS = f"""
SELECT {_COLUMNS} FROM records WHERE {_SCOPE} AND {_live("$5")} ORDER BY number DESC LIMIT $6
"""

RECORD = f"SELECT {_COLUMNS} FROM records WHERE {_SCOPE} AND id = $5 AND {_live('$6')}"

RECORDS_OF_IDS = f"""
SELECT {_COLUMNS} FROM records WHERE {_SCOPE} AND id = ANY($5::text[]) AND {_live("$6")} ORDER BY number
"""

RECORDS_ABOUT = f"""
SELECT {_COLUMNS} FROM records
WHERE tenant = $1 AND channel = $2 AND kind = $3 AND {_live("$4")} AND number IN (
    SELECT number FROM record_names WHERE tenant = $1 AND channel = $2 AND name = ANY($5::text[])
)
ORDER BY number
"""

UPDATED_RECORDS = f"""
SELECT {_COLUMNS} FROM records
WHERE tenant = $1 AND kind = $2 AND {_live("$3")} AND (updated_at_ms, number) < ($4, $5::bigint)
    AND ($6::text IS NULL OR channel = $6) AND ($7::text IS NULL OR id = $7)
ORDER BY updated_at_ms DESC, number DESC LIMIT $8
"""

RECORDS_OF_OWNER = f"""
SELECT {_COLUMNS} FROM records WHERE tenant = $1 AND kind = $2 AND owner = $3 AND {_live("$4")}
ORDER BY channel, number
"""

RECORD_OWNERS = """
SELECT DISTINCT owner FROM records
WHERE tenant = $1 AND kind = $2 AND ($3::text IS NULL OR owner > $3) ORDER BY owner LIMIT $4
"""
