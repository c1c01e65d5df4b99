"""Every statement on records, by the rules of `statements`."""

# ruff: noqa: S608 -- the only things put into these texts are the constants of this module

from __future__ import annotations

from backscroll_sidecar import ports
from backscroll_sidecar.store.sqlite.statements import WANTED

_COLUMNS = "number, channel, owner, id, body, created_at_ms, updated_at_ms, expires_at_ms, version"
_LIVE = "(expires_at_ms = 0 OR expires_at_ms > :now_ms)"

RECORDS_IN_SCOPE = """
SELECT id, expires_at_ms FROM records WHERE tenant = ? AND channel = ? AND kind = ? AND owner = ?
"""

RECORD_VERSION = """
SELECT version, expires_at_ms FROM records WHERE tenant = ? AND channel = ? AND kind = ? AND owner = ? AND id = ?
"""

TOUCH_SESSION = f"""
UPDATE records SET updated_at_ms = max(updated_at_ms, ?)
WHERE tenant = ? AND channel = ? AND kind = '{ports.SESSION}' AND owner = ?
"""

PUT_RECORD = """
INSERT INTO records (tenant, channel, kind, owner, id, body, created_at_ms, updated_at_ms, expires_at_ms)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (tenant, channel, kind, owner, id) DO UPDATE
    SET body = excluded.body, updated_at_ms = excluded.updated_at_ms, expires_at_ms = excluded.expires_at_ms,
        version = version + 1
RETURNING number
"""

PUT_RECORD_NAME = (
    "INSERT OR IGNORE INTO record_names (tenant, channel, number, name) VALUES (?, ?, ?, ?)"
)

# --- what goes: tenant, channel, number and kind of each record ----------------------------------

EXPIRED_IN_SCOPE = """
SELECT tenant, channel, number, kind FROM records
WHERE tenant = ? AND channel = ? AND kind = ? AND owner = ? AND expires_at_ms BETWEEN 1 AND ?
"""

EXPIRED_RECORDS = """
SELECT tenant, channel, number, kind FROM records WHERE tenant = ? AND expires_at_ms > 0 AND expires_at_ms <= ?
ORDER BY expires_at_ms, number LIMIT ?
"""

ONE_RECORD = """
SELECT tenant, channel, number, kind FROM records WHERE tenant = ? AND channel = ? AND kind = ? AND owner = ? AND id = ?
"""

RECORDS_OF_SCOPE = """
SELECT tenant, channel, number, kind FROM records WHERE tenant = ? AND channel = ? AND kind = ? AND owner = ?
"""

RECORDS_NAMING = f"""{WANTED}
SELECT DISTINCT tenant, channel, number, kind
FROM wanted CROSS JOIN record_names CROSS JOIN records USING (tenant, channel, number)
WHERE tenant = in_tenant AND channel = in_channel AND name = in_name
"""

LATER_IN_CHAIN = f"""
SELECT later.tenant, later.channel, later.number, records.kind
FROM record_names AS mine
JOIN record_names AS later
    ON later.tenant = mine.tenant AND later.channel = mine.channel AND later.name = mine.name
    AND later.number > mine.number
JOIN records
    ON records.tenant = later.tenant AND records.channel = later.channel AND records.number = later.number
WHERE mine.tenant = ? AND mine.channel = ? AND mine.number = ?
    AND substr(mine.name, 1, {len(ports.CHAIN_PREFIX)}) = '{ports.CHAIN_PREFIX}'
"""

RECORDS_OF_CHANNEL = (
    "SELECT tenant, channel, number, kind FROM records WHERE tenant = ? AND channel = ?"
)

# --- what stays without a name -------------------------------------------------------------------


def _of_kinds(kinds: tuple[str, ...]) -> str:
    return ", ".join(f"'{one}'" for one in kinds)


NAMING_PEOPLE = f"""
SELECT body, tenant, channel, number FROM records INDEXED BY records_by_creation
WHERE tenant = ? AND channel = ? AND kind IN ({_of_kinds(ports.NAMING_PEOPLE)})
"""
NAMING_CHANNELS = f"""
SELECT body, tenant, channel, number FROM records INDEXED BY records_by_update
WHERE tenant = ? AND kind IN ({_of_kinds(ports.NAMING_CHANNELS)})
"""
REPLACE_BODY = "UPDATE records SET body = ?, version = version + 1 WHERE tenant = ? AND channel = ? AND number = ?"

DELETE_RECORD = "DELETE FROM records WHERE tenant = ? AND channel = ? AND number = ? AND kind = ?"
DELETE_RECORD_NAMES = "DELETE FROM record_names WHERE tenant = ? AND channel = ? AND number = ?"

# --- reading -------------------------------------------------------------------------------------

RECORDS = f"""
SELECT {_COLUMNS} FROM records INDEXED BY records_by_creation
WHERE tenant = :tenant AND channel = :channel AND kind = :kind AND number > :after AND {_LIVE}
ORDER BY number LIMIT :limit
"""

RECORDS_OF_ONE = f"""
SELECT {_COLUMNS} FROM records INDEXED BY records_by_owner
WHERE tenant = :tenant AND kind = :kind AND owner = :owner AND channel = :channel AND number > :after AND {_LIVE}
ORDER BY number LIMIT :limit
"""

NEWEST_RECORDS = f"""
SELECT {_COLUMNS} FROM records INDEXED BY records_by_owner
WHERE tenant = :tenant AND kind = :kind AND owner = :owner AND channel = :channel AND {_LIVE}
ORDER BY number DESC LIMIT :limit
"""

RECORD = f"""
SELECT {_COLUMNS} FROM records
WHERE tenant = :tenant AND channel = :channel AND kind = :kind AND owner = :owner AND id = :id AND {_LIVE}
"""

RECORDS_OF_IDS = f"""
SELECT {_COLUMNS} FROM records INDEXED BY records_by_id
WHERE tenant = :tenant AND channel = :channel AND kind = :kind AND owner = :owner
    AND id IN (SELECT value FROM json_each(:ids)) AND {_LIVE}
ORDER BY number
"""

RECORDS_ABOUT = f"""
SELECT {_COLUMNS} FROM records
WHERE tenant = :tenant AND channel = :channel AND kind = :kind AND {_LIVE} AND number IN (
    SELECT number FROM json_each(:names) CROSS JOIN record_names INDEXED BY records_by_name
        ON tenant = :tenant AND channel = :channel AND name = value
)
ORDER BY number
"""

UPDATED_RECORDS = f"""
SELECT {_COLUMNS} FROM records INDEXED BY records_by_update
WHERE tenant = :tenant AND kind = :kind AND (updated_at_ms, number) < (:before_ms, :before_number)
    AND (:channel IS NULL OR channel = :channel) AND (:id IS NULL OR id = :id) AND {_LIVE}
ORDER BY updated_at_ms DESC, number DESC LIMIT :limit
"""

RECORDS_OF_OWNER = f"""
SELECT {_COLUMNS} FROM records WHERE tenant = :tenant AND kind = :kind AND owner = :owner AND {_LIVE}
ORDER BY channel, number
"""

RECORD_OWNERS = """
SELECT DISTINCT owner FROM records INDEXED BY records_by_owner
WHERE tenant = :tenant AND kind = :kind AND (:after IS NULL OR owner > :after) ORDER BY owner LIMIT :limit
"""
