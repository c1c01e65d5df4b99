"""A preference as a value, and as the record that keeps it. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from enum import StrEnum

import msgspec

from backscroll_sidecar.ports import StoredRecord

SET = "preference"
"""The kind of the records of what was set. Their owner is the user."""
READ = "read_preference"
"""The kind of the records of what was read from messages of the channel."""
KINDS = (SET, READ)
_STRUCTURED = b"\0"
"""Before a body that is more than a text: no text has U+0000."""


class Origin(StrEnum):
    """Where a preference comes from."""

    SET = "set"
    RULES = "rules"
    MODEL = "model"


class Kept(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the body of a record says. `value` is as the topic's type keeps it; empty where there is no topic."""

    text: str
    topic: str = ""
    value: str = ""
    valid_from_ms: int | None = None
    valid_until_ms: int | None = None
    origin: Origin = Origin.SET
    source_ids: tuple[str, ...] = ()


class Preference(msgspec.Struct, frozen=True):
    """One line about a person. `channel` is empty where it holds everywhere; `number` grows in order of creation."""

    id: str
    user_id: str
    channel: str
    kept: Kept
    updated_at_ms: int
    number: int = 0

    @property
    def text(self) -> str:
        """As a model reads it."""
        return self.kept.text

    @property
    def is_set(self) -> bool:
        """Whether somebody set it, and no message was read for it."""
        return self.kept.origin is Origin.SET


_decode = msgspec.json.Decoder(Kept).decode


def encode(kept: Kept) -> bytes:
    """The body of its record: a text alone is kept as it is."""
    if kept == Kept(kept.text):
        return kept.text.encode()
    return _STRUCTURED + msgspec.json.encode(kept)


def preferences_of(user_id: str, records: Sequence[StoredRecord]) -> list[Preference]:
    """What records of a user hold."""
    return [
        Preference(one.id, user_id, one.channel, decode(one.body), one.updated_at_ms, one.number)
        for one in records
    ]


def decode(body: bytes) -> Kept:
    """What a body says."""
    if body.startswith(_STRUCTURED):
        return _decode(body[len(_STRUCTURED) :])
    return Kept(body.decode())


def id_of(*parts: str) -> str:
    """An id made of what a preference says: the same again has the same."""
    return hashlib.blake2b("\0".join(parts).encode(), digest_size=12).hexdigest()
