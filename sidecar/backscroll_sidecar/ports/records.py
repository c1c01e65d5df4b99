"""Records: small things kept beside the messages, such as a pin or a preference."""

from __future__ import annotations

from dataclasses import dataclass

from backscroll_sidecar.domain import ChannelKey

PIN = "pin"
"""The kind of a pin: its id is that of the message."""
EVERYWHERE = ""
"""The channel of records that belong to no channel."""


@dataclass(frozen=True, slots=True)
class RecordChange:
    """Keep a record, or replace the one of the same key, kind, owner and id; with `body` None: delete it.

    Attributes
    ----------
    key
        Its channel; `EVERYWHERE` for what belongs to none.
    kind
        What sort of thing it is, such as ``pin``.
    id
        Names it among those of its key, kind and owner. Empty in a deletion: all of them.
    body
        Opaque to the store.
    named_ids
        What it is about: ``m:`` and the id of a message of its channel, ``u:`` and the id of a user. It is deleted in
        the transaction that erases one of them or retracts the message; a user is erased of a channel, and of what
        belongs to none, too. A record that names a message of its channel that is not there is refused (NotFound,
        Gone).
    expires_at_ms
        From then on it is not read any more; 0: never. Every kept record takes a few expired ones of its tenant along.
    owner
        Whose it is, such as a user's id; empty where a kind has no owners.
    limit
        How many records its key, kind and owner may have at `at_ms`, itself included: one more is refused with
        CONFLICT. 0: any number.
    """

    key: ChannelKey
    kind: str
    id: str
    body: bytes | None
    named_ids: tuple[str, ...] = ()
    at_ms: int = 0
    expires_at_ms: int = 0
    owner: str = ""
    limit: int = 0


@dataclass(frozen=True, slots=True)
class StoredRecord:
    """A record as it stands. `number` grows in order of creation, and stays when it is replaced."""

    number: int
    channel: str
    owner: str
    id: str
    body: bytes
    created_at_ms: int
    updated_at_ms: int
    expires_at_ms: int


def about_message(message_id: str) -> str:
    """How `named_ids` names a message."""
    return f"m:{message_id}"


def about_user(user_id: str) -> str:
    """How `named_ids` names a user."""
    return f"u:{user_id}"
