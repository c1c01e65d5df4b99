"""Every statement on what servers have begun and not done yet, by the rules of `statements`.

Arrays are stretches of arrival numbers: a channel, the first and the last. Rows are locked in the order of their
channels, so that a group and what ends work never wait for each other.
"""

# ruff: noqa: S608 -- the only things put into these texts are the constants of this module

from __future__ import annotations

_PUT = """
ON CONFLICT (tenant, channel, holder) DO UPDATE SET rows = mine.rows + excluded.rows
"""

BEGIN_WORK = f"""
INSERT INTO unfinished AS mine (tenant, channel, holder, rows)
SELECT $1, one, $2, range_agg(int8range(two, three, '[]'))
FROM unnest($3::text[], $4::bigint[], $5::bigint[]) AS given (one, two, three) GROUP BY one
ORDER BY one COLLATE "C"
{_PUT}
"""

END_WORK = """
WITH given (in_channel, in_rows) AS (
    SELECT one COLLATE "C", range_agg(int8range(two, three, '[]'))
    FROM unnest($3::text[], $4::bigint[], $5::bigint[]) AS done (one, two, three) GROUP BY one
), held (in_channel, in_rows) AS (
    SELECT channel, rows - in_rows
    FROM given JOIN unfinished ON tenant = $1 AND channel = in_channel AND holder = $2
    ORDER BY channel FOR UPDATE OF unfinished
), ended AS (
    DELETE FROM unfinished USING held
    WHERE tenant = $1 AND channel = in_channel AND holder = $2 AND isempty(in_rows)
)
UPDATE unfinished SET rows = in_rows FROM held
WHERE tenant = $1 AND channel = in_channel AND holder = $2 AND NOT isempty(in_rows)
"""

# What a server left, locked against it.
LEFT_BY = """
SELECT channel, lower(stretch), upper(stretch) - 1
FROM (SELECT channel, rows FROM unfinished WHERE tenant = $1 AND holder = $2 ORDER BY channel FOR UPDATE) AS held,
    unnest(rows) AS stretch
"""
# $3: whose it was. $4: the channels that were locked.
ADOPT = f"""
INSERT INTO unfinished AS mine (tenant, channel, holder, rows)
SELECT $1, channel, $2, rows FROM unfinished AS theirs
WHERE tenant = $1 AND channel = ANY($4::text[]) AND holder = $3 ORDER BY channel
{_PUT}
"""
DROP_ADOPTED = (
    "DELETE FROM unfinished WHERE tenant = $1 AND holder = $2 AND channel = ANY($3::text[])"
)

# Also those that hold turns up.
OTHERS_AT_WORK = """
SELECT holder, tenant FROM unfinished WHERE holder <> $1
UNION
SELECT split_part(one, ':', 1), tenant FROM channels, unnest(holds) AS one
WHERE holds IS NOT NULL AND split_part(one, ':', 1) <> $1
"""
