"""Every statement that finds where something is to be erased, by the rules of `statements`."""

# ruff: noqa: S608 -- the only things put into these texts are the constants of this module

from __future__ import annotations

from backscroll_sidecar import ports


def _held(table: str, condition: str = "TRUE") -> str:
    return f"EXISTS (SELECT 1 FROM {table} WHERE tenant = $1 AND channel = place AND {condition})"


def _to_erase(*held: str) -> str:
    """Every channel that ever held anything has its row in `channels`."""
    return f"""
SELECT place FROM (SELECT channel FROM channels WHERE tenant = $1 AND channel <> '') AS places (place)
WHERE {" OR ".join(held)} ORDER BY place
"""


CHANNELS_TO_ERASE = _to_erase(
    _held("messages"),
    _held("members"),
    _held("records"),
    _held("events"),
    _held("usage_records"),
)
# $2 the user, $3 how a record names the user, $4 how a body spells it
CHANNELS_TO_ERASE_OF_USER = _to_erase(
    _held("messages", "author_id = $2"),
    _held("members", "user_id = $2"),
    _held("record_names", "name = $3"),
    _held("records", f"kind = '{ports.SESSION}' AND position($4::bytea in body) > 0"),
    _held("usage_records", "user_id = $2"),
    _held("signals", "user_id = $2"),
)
