"""Every statement that finds where something is to be erased, by the rules of `statements`."""

# ruff: noqa: S608 -- the only things put into these texts are the constants of this module

from __future__ import annotations

from backscroll_sidecar import ports

# Channels that hold anything; `channels` names those alone that got messages or members.
_PLACES = """
SELECT channel FROM channels WHERE tenant = :tenant
UNION SELECT channel FROM records INDEXED BY records_by_id WHERE tenant = :tenant AND channel <> ''
UNION SELECT channel FROM events INDEXED BY events_by_arrival WHERE tenant = :tenant
UNION SELECT channel FROM usage_records INDEXED BY usage_records_by_number WHERE tenant = :tenant
"""
_HELD = """
EXISTS (SELECT 1 FROM messages WHERE tenant = :tenant AND channel = place)
OR EXISTS (SELECT 1 FROM members WHERE tenant = :tenant AND channel = place)
OR EXISTS (SELECT 1 FROM records WHERE tenant = :tenant AND channel = place)
OR EXISTS (SELECT 1 FROM events INDEXED BY events_by_arrival WHERE tenant = :tenant AND channel = place)
OR EXISTS (SELECT 1 FROM usage_records INDEXED BY usage_records_by_number WHERE tenant = :tenant AND channel = place)
"""
_HELD_OF_USER = f"""
EXISTS (
    SELECT 1 FROM messages INDEXED BY messages_by_author
    WHERE tenant = :tenant AND channel = place AND author_id = :user_id
)
OR EXISTS (SELECT 1 FROM members WHERE tenant = :tenant AND channel = place AND user_id = :user_id)
OR EXISTS (SELECT 1 FROM record_names WHERE tenant = :tenant AND channel = place AND name = :about_user)
OR EXISTS (
    SELECT 1 FROM records INDEXED BY records_by_creation
    WHERE tenant = :tenant AND channel = place AND kind = '{ports.SESSION}'
        AND instr(CAST(body AS TEXT), :encoded_user) > 0
)
OR EXISTS (
    SELECT 1 FROM usage_records INDEXED BY usage_records_by_user
    WHERE tenant = :tenant AND channel = place AND user_id = :user_id
)
OR EXISTS (
    SELECT 1 FROM signals INDEXED BY signals_by_user
    WHERE tenant = :tenant AND channel = place AND user_id = :user_id
)
"""


def _to_erase(held: str) -> str:
    return f"""
WITH places (place) AS MATERIALIZED ({_PLACES})
SELECT place FROM places WHERE {held} ORDER BY place
"""


CHANNELS_TO_ERASE = _to_erase(_HELD)
CHANNELS_TO_ERASE_OF_USER = _to_erase(_HELD_OF_USER)
