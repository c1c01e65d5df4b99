"""API keys: whose they are, what they permit, in which channels, until when. Pure.

A key is known by its digest alone. Everything that a call asks of it is worked out when the keys are read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, time
from enum import StrEnum
from hashlib import sha256
from typing import Any

import msgspec

from backscroll_sidecar.allowed_channels import AllowedChannels
from backscroll_sidecar.domain import DEFAULT_TENANT
from backscroll_sidecar.errors import StartRefused

HASH_PREFIX = "sha256:"
ID_DIGITS = 12
"""Of the digest: enough to tell the keys of a file apart, too few to find the key."""
Table = Mapping[str, object]
"""The table ``[tokens]`` of a tokens file: a tenant, or what a key permits, by key or digest."""
_FIELDS = frozenset({"tenant", "name", "channels", "rights", "expires", "created"})


class Right(StrEnum):
    """What a key may permit. `rights.NEEDS` says which one an RPC needs."""

    READ = "read"
    WRITE = "write"
    CHAT = "chat"
    ERASE = "erase"
    ADMIN = "admin"


class Key(msgspec.Struct, frozen=True):
    """One key; None: no such limit.

    Attributes
    ----------
    id : the first digits of its digest.
    name : what people call it; may be empty.
    channels, patterns : which channels it may name and see, and as the file says it.
    expires_at_ms, created_at_ms : milliseconds since the epoch.
    """

    tenant: str
    id: str = ""
    name: str = ""
    rights: frozenset[Right] | None = None
    channels: AllowedChannels | None = None
    patterns: tuple[str, ...] = ()
    expires_at_ms: int | None = None
    created_at_ms: int | None = None

    def has_expired(self, now_ms: int) -> bool:
        """Whether its time is over."""
        return self.expires_at_ms is not None and now_ms >= self.expires_at_ms


ANYBODY = Key(DEFAULT_TENANT)
"""Who reaches a server that asks for no key."""


def keys_of(tokens: Table) -> dict[bytes, Key]:
    """The keys of a tokens file by digest.

    Raises
    ------
    StartRefused
        A line is none, or two keys have one name.
    """
    found: dict[bytes, Key] = {}
    names: set[str] = set()
    for token, given in tokens.items():
        digest = digest_of(token)
        key = _key(digest, given)
        if found.get(digest, key) != key:
            raise _refused(f"has the key {key.id} twice, and each permits something else")
        if key.name and key.name in names and digest not in found:
            raise _refused(f"has two keys of the name {key.name!r}")
        names.add(key.name)
        found[digest] = key
    return found


def digest_of(token: str) -> bytes:
    """The digest of a key, or the one that stands for it. Raises `StartRefused`."""
    if token.startswith(HASH_PREFIX):
        try:
            digest = bytes.fromhex(token.removeprefix(HASH_PREFIX))
        except ValueError:
            digest = b""
        if len(digest) != sha256().digest_size:
            raise _refused("has a digest that is not 64 hexadecimal digits")
        return digest
    if not token or token.strip() != token or not (token.isascii() and token.isprintable()):
        raise _refused("has a token that no header can carry")
    return sha256(token.encode()).digest()


def rights_of(words: Iterable[str]) -> frozenset[Right]:
    """Rights by their words. Raises `ValueError`, which says what is wrong."""
    known = [one.value for one in Right]
    for word in words:
        if word not in known:
            raise ValueError(f"{word!r} is no right: rights are {', '.join(known)}")
    return frozenset(map(Right, words))


def _key(digest: bytes, given: object) -> Key:
    """A key as its line has it: a tenant alone permits all in it."""
    id_ = digest.hex()[:ID_DIGITS]
    if isinstance(given, str):
        given = {"tenant": given}
    if not isinstance(given, Mapping):
        raise _refused(f"names no tenant for the key {id_}")
    # A misspelt limit must never be no limit.
    if unknown := sorted(given.keys() - _FIELDS):
        raise _refused(
            f"has the key {id_} with {', '.join(unknown)}: fields are {', '.join(sorted(_FIELDS))}"
        )
    tenant, name = given.get("tenant"), given.get("name", "")
    if not isinstance(tenant, str) or not tenant.strip():
        raise _refused("has a token without a tenant")
    if not isinstance(name, str):
        raise _refused(f"has the key {id_} with a name that is no text")
    try:
        patterns = _words(given, "channels")
        words = _words(given, "rights")
        return Key(
            tenant,
            id_,
            name,
            None if words is None else rights_of(words),
            None if patterns is None else AllowedChannels.of(patterns),
            tuple(patterns or ()),
            _time_ms(given, "expires"),
            _time_ms(given, "created"),
        )
    except ValueError as error:
        raise _refused(f"has the key {id_} where {error}") from None


def _words(given: Mapping[str, Any], name: str) -> Sequence[str] | None:
    """A list of words that must not be empty: an empty one could be meant as none or as all."""
    words = given.get(name)
    if words is None:
        return None
    if not isinstance(words, list) or not all(isinstance(one, str) and one for one in words):
        raise ValueError(f"{name} is no list of words")
    if not words:
        raise ValueError(f"{name} is empty: leave it out to permit all")
    return words


def _time_ms(given: Mapping[str, Any], name: str) -> int | None:
    """A time of TOML in milliseconds; a date begins at midnight, UTC."""
    at = given.get(name)
    if at is None:
        return None
    if isinstance(at, date) and not isinstance(at, datetime):
        at = datetime.combine(at, time(), UTC)
    if not isinstance(at, datetime) or at.tzinfo is None:
        raise ValueError(f"{name} is no time with its zone, such as 2027-01-31T00:00:00Z")
    return int(at.timestamp() * 1_000)


def _refused(why: str) -> StartRefused:
    return StartRefused("tokens_file", why)
