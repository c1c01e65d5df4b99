"""Records: things kept beside the messages, such as a pin, a preference or a turn of StreamChat."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

PIN = "pin"
"""The kind of a pin: its id is that of the message."""
TURN = "turn"
"""The kind of a turn of StreamChat. Its owner is its own id: it is found by that alone, whatever its channel."""
VECTOR_INDEX = "vector_index"
"""The kind of what is known of the file that holds the index of a channel's vectors. Its owner is the embedder."""
SESSION = "session"
"""The kind of a session. Its owner is its own id, its id the space it is in. A message of it makes it newer."""
SPACE = "space"
"""The kind of a space: what its sessions begin with."""
CHANNEL_SETTINGS = "channel_settings"
EXPERIMENT = "experiment"
NAMING_PEOPLE = (SESSION, SPACE)
NAMING_CHANNELS = (CHANNEL_SETTINGS, EXPERIMENT)
"""Kinds that name others than those they are of. They stay when these are erased, without the name."""
EVERYWHERE = ""
"""The channel of records that belong to no channel."""
ANY_ERASURE = "*"
"""Among `named_ids`: the record goes with whatever is erased of its channel."""
ANY_RETRACTION = "-"
"""Among `named_ids`: the record goes with whatever is retracted in its channel."""


@dataclass(frozen=True, slots=True)
class StoredRecord:
    """A record as it stands. `number` grows in order of creation, and stays when it is replaced.

    `version` counts from 1 and grows whenever it is replaced.
    """

    number: int
    channel: str
    owner: str
    id: str
    body: bytes
    created_at_ms: int
    updated_at_ms: int
    expires_at_ms: int
    version: int = 1


def about_message(message_id: str) -> str:
    """How `named_ids` names a message."""
    return f"m:{message_id}"


def about_text(message_id: str) -> str:
    """How `named_ids` names what a message says: the record goes with the message, and when that is edited."""
    return f"t:{message_id}"


CHAIN_PREFIX = "c:"


def about_chain(chain: str) -> str:
    """How `named_ids` names records that go on from each other: one that goes takes along those written after it.

    So it is for what is deleted by its names alone.
    """
    return f"{CHAIN_PREFIX}{chain}"


def about_user(user_id: str) -> str:
    """How `named_ids` names a user."""
    return f"u:{user_id}"


OF_TENANT = frozenset(
    {
        SESSION, "session_alias", SPACE, "participant", "session_state", "preference", "read_preference",
        "refused_preference", CHANNEL_SETTINGS, "tuning", EXPERIMENT, "usage_refusal", "salted_usage_refusal",
        "usage_refusal_salt",
    }
)  # fmt: skip
"""Kinds that caches hold by tenant, whatever channel they are of."""

_STORES_OF_KINDS = {
    TURN: "turns",
    PIN: "pins",
    VECTOR_INDEX: "index_files",
    SESSION: "sessions",
    "session_alias": "sessions",
    SPACE: "sessions",
    "participant": "participants",
    "session_state": "session_states",
    "session_state_log": "session_states",
    "round": "rounds",
    "move": "rounds",
    "loop_guard": "rounds",
    "preference": "preferences",
    "read_preference": "preferences",
    "refused_preference": "preferences",
    "summary": "summaries",
    CHANNEL_SETTINGS: "channel_settings",
    "topic_label": "topic_labels",
}
"""Where a receipt counts a record of this kind; of others among the records."""
_OF_RECORDS = frozenset({*_STORES_OF_KINDS.values(), "records"})
RECEIPT_STORES = frozenset(
    {
        "messages", "revisions", "aliases", "vectors", "segments", "members", "events", "usage_records", "signals",
        "names",
    }
) | _OF_RECORDS  # fmt: skip
"""What a receipt counts, each always; `names`: records of others that stay without the name of what went."""


def count_by_store(kinds: Iterable[str]) -> dict[str, int]:
    """How a receipt counts records of these kinds that went."""
    counts = dict.fromkeys(_OF_RECORDS, 0)
    for kind in kinds:
        counts[_STORES_OF_KINDS.get(kind, "records")] += 1
    return counts
