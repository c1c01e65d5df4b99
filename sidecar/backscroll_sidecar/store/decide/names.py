"""Whoever is erased goes from records of others that only name them, such as a session somebody owns. Pure."""

from __future__ import annotations

from typing import Any

import msgspec

from backscroll_sidecar.ports import EraseChange

_NAMES = frozenset(
    {"default_id", "preferred_ids", "allowed_author_ids", "shares_with", "reads_from", "allowed", "denied"}
)  # fmt: skip
"""Fields that name people or channels, one or several."""


_decode = msgspec.json.Decoder(dict[str, Any]).decode


def taken_from(body: bytes, change: EraseChange) -> bytes | None:
    """The body of a record without the person or the channel of an erasure; None: it does not name them.

    An owner goes, with the title, which is the owner's words; so do a participant, and a configuration that names one.
    Elsewhere a name that means nobody takes the place: a list of who may do something must not become empty, for then
    everybody may.
    """
    try:
        held = _decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError):  # damaged: an erasure does not fail for that
        return None
    after = _without(held, change.user_id or change.key.channel, f"erased-{change.at_ms}")
    return None if after == held else msgspec.json.encode(after)


def _without(held: dict[str, Any], name: str, nobody: str) -> dict[str, Any]:
    if held.get("owner_id") == name:
        held = {key: one for key, one in held.items() if key not in ("owner_id", "title")}
    return {key: _field_without(key, one, name, nobody) for key, one in held.items()}


def _field_without(key: str, held: Any, name: str, nobody: str) -> Any:  # noqa: ANN401 - what JSON holds
    if key in _NAMES and isinstance(held, list):
        return [nobody if one == name else one for one in held]
    if key in _NAMES:
        return nobody if held == name else held
    if key == "participants":
        return [one for one in held if one["id"] != name]
    if key == "role_config_json":
        return "" if msgspec.json.encode(name).decode() in held else held
    return _without(held, name, nobody) if isinstance(held, dict) else held
