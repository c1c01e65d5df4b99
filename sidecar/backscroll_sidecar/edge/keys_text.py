"""API keys in words: lines of a tokens file, and what should be known of them. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from backscroll_sidecar.edge.keys import HASH_PREFIX, Key, Table, keys_of
from backscroll_sidecar.ports import Finding

SOON_MS = 14 * 24 * 3_600_000
"""Of a key that ends within this people are told."""


def findings_of(tokens: Table, path: Path, now_ms: int, *, is_private: bool) -> Iterator[Finding]:
    """What whoever runs the server should know of its keys; `is_private`: nobody else may read the file.

    Raises `StartRefused` where it cannot be used.
    """
    keys = list(keys_of(tokens).values())
    well = True
    for key in keys:
        named = f"the key {key.name or key.id} of {key.tenant}"
        if key.expires_at_ms is None or key.expires_at_ms > now_ms + SOON_MS:
            continue
        well = False
        at = datetime.fromtimestamp(key.expires_at_ms / 1_000, UTC)
        has_expired = key.has_expired(now_ms)
        yield Finding(
            "keys",
            "warn",
            f"{named} {'expired' if has_expired else 'expires'} at {at:%Y-%m-%d %H:%M} UTC",
            f"backscroll keys revoke {key.name or key.id}"
            if has_expired
            else "make the next one with: backscroll keys create",
        )
    if not is_private:
        well = False
        yield Finding("keys", "warn", f"others may read {path}", f"chmod 600 {path}")
    clear = sum(not one.startswith(HASH_PREFIX) for one in tokens)
    if clear:
        well = False
        advice = "the next backscroll keys create or revoke makes digests of them"
        yield Finding("keys", "warn", f"{clear} of {len(keys)} keys are in the clear", advice)
    if well:
        yield Finding("keys", "ok", f"{len(keys)} in {path}")


def toml_of(digest: bytes, key: Key) -> str:
    """A key as the file has it, with its limits alone."""
    fields = [("tenant", _text(key.tenant))]
    if key.name:
        fields.append(("name", _text(key.name)))
    if key.patterns:
        fields.append(("channels", _list(key.patterns)))
    if key.rights is not None:
        fields.append(("rights", _list(sorted(key.rights))))
    for name, at_ms in (("expires", key.expires_at_ms), ("created", key.created_at_ms)):
        if at_ms is not None:
            at = datetime.fromtimestamp(at_ms / 1_000, UTC)
            fields.append((name, f"{at:%Y-%m-%dT%H:%M:%S}Z"))
    lines = "".join(f"{name} = {value}\n" for name, value in fields)
    return f'\n[tokens."{HASH_PREFIX}{digest.hex()}"]\n{lines}'


def _list(words: Iterable[str]) -> str:
    return f"[{', '.join(map(_text, words))}]"


def _text(text: str) -> str:
    """A basic string of TOML: JSON's, with the one control that JSON leaves as it is."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
