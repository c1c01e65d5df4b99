"""The words between deciding and storing: what must be looked up, what is known, what is to be written. No I/O."""

from __future__ import annotations

import hashlib
import sys
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from backscroll_sidecar.domain import (
    Embedding,
    Event,
    Member,
    Mention,
    Message,
    MessageState,
    Part,
    StoredMessage,
)
from backscroll_sidecar.ports import (
    EVERYWHERE,
    Applied,
    RecordChange,
    SegmentsChange,
    SignalChange,
    UsageChange,
)

PURGED_AT_ONCE = 16
"""Expired records of its tenant that every kept one removes: more than come in, few enough at once."""

Place = tuple[str, str]
"""(tenant, channel): a `ChannelKey` is one."""

Named = tuple[str, str, str]
"""(tenant, channel, name): the name is a message id, a user id or a dedupe key, as said where it is used."""


class Answer(NamedTuple):
    """A stored message as the answer of a build: that of `context_id`, or, where it is empty, the newest one for the
    message that it replies to.
    """

    here: Place
    message_id: str
    seq: int
    context_id: str
    trigger_message_id: str


RecordScope = tuple[str, str, str, str]
"""(tenant, channel, kind, owner): the records among which an id names one."""


RecordName = tuple[str, str, str, str, str]
"""A scope and the id of one record in it."""


class OldRevision(msgspec.Struct, frozen=True):
    """The content an edit replaced. After a retraction it is empty."""

    revision: int
    parts: tuple[Part, ...]
    mentions: tuple[Mention, ...]
    edited_at_ms: int


class MessageRow(NamedTuple):
    """A stored message with what only the store knows of it. `edited_at_ms` belongs to the current revision."""

    stored: StoredMessage
    received_at_ms: int
    edited_at_ms: int
    older: tuple[OldRevision, ...] = ()

    def contents(self) -> Iterator[OldRevision]:
        """The current content, then the replaced ones."""
        message = self.stored.message
        yield OldRevision(self.stored.revision, message.parts, message.mentions, self.edited_at_ms)
        yield from self.older


class Person(NamedTuple):
    """A member and when `member.name` was last seen to be the name."""

    member: Member
    named_at_ms: int


@dataclass(frozen=True, slots=True)
class Holder:
    """The message a dedupe key belongs to. `gone`: recalled or erased; `restorable`: erased with its whole channel."""

    message_id: str
    gone: bool
    restorable: bool = False


@dataclass(slots=True)
class Needs:
    """What a run of changes must know. Dictionaries serve as sets that keep their order.

    `replying` are appended ids with an edge of their own; `aliased` ids that may become aliases; `answered` the
    messages that turns reply to; `speaking` the authors of what may be the platform's copy of a turn's words,
    which were said after `since_ms`. No row of the run is sent later than `newest_ms`.
    """

    places: dict[Place, None] = field(default_factory=dict)
    ids: dict[Named, None] = field(default_factory=dict)
    parents: dict[Named, None] = field(default_factory=dict)
    replying: dict[Named, None] = field(default_factory=dict)
    dedupe_keys: dict[Named, None] = field(default_factory=dict)
    people: dict[Named, None] = field(default_factory=dict)
    scopes: dict[RecordScope, None] = field(default_factory=dict)
    versions: dict[RecordName, None] = field(default_factory=dict)
    aliased: dict[Named, None] = field(default_factory=dict)
    answered: dict[Named, None] = field(default_factory=dict)
    speaking: dict[Named, None] = field(default_factory=dict)
    since_ms: int = 2**62
    newest_ms: int = 0


@dataclass(frozen=True, slots=True)
class Facts:
    """What the store knows of the things a run of changes names, at the time the run begins.

    `parents` are the parents that have a row in their own channel, and when that is ranked; `strangers` those with a
    row in another channel of the tenant. `children` are the replying ids that some stored row names as its
    parent; where there are any, `edges` holds the stored edges on the way up from the parents: a circle through a
    stored edge comes back from the store through one of `children`, and a circle of the run's own edges needs no
    stored one.

    `followers` are the stored rows that name an id without a row as their parent, and those that answer these, by
    parent: all that may have to move when it comes. Where the id may become an alias it is all of them. Each of them is
    among `rows`, as are the messages of `aliases`. `answers`: the live whole reply of a turn by (tenant, channel,
    answered message, author, mark of what was asked). `said`: what turns said of late and no alias is known of, in
    order of arrival.
    """

    last_seqs: dict[Place, int] = field(default_factory=dict)
    rows: dict[Named, MessageRow] = field(default_factory=dict)
    erased: dict[Named, bool] = field(default_factory=dict)
    """Whether each may be restored: it went with its whole channel."""
    holders: dict[Named, Holder] = field(default_factory=dict)
    parents: dict[Named, int] = field(default_factory=dict)
    strangers: set[Named] = field(default_factory=set)
    children: set[Named] = field(default_factory=set)
    edges: dict[Named, str] = field(default_factory=dict)
    people: dict[Named, Person] = field(default_factory=dict)
    scopes: dict[RecordScope, dict[str, int]] = field(default_factory=dict)
    """The ids of the records in it, each with the time it expires."""
    versions: dict[RecordName, tuple[int, int]] = field(default_factory=dict)
    """The version of each that is there, and the time it expires."""
    followers: dict[Named, list[str]] = field(default_factory=dict)
    aliases: dict[Named, str] = field(default_factory=dict)
    answers: dict[tuple[str, str, str, str, str], str] = field(default_factory=dict)
    said: dict[Named, list[MessageRow]] = field(default_factory=dict)
    early: dict[tuple[str, str, str, str], list[MessageRow]] = field(default_factory=dict)
    """What may be the platform's copy of a reply that is not stored yet, by the same."""


@dataclass(slots=True)
class Plan:
    """What a run of changes does: one `Applied` a change, and what to write, each thing once and as it ends up."""

    applied: list[Applied] = field(default_factory=list)
    last_seqs: dict[Place, int] = field(default_factory=dict)
    inserted: dict[Named, MessageRow] = field(default_factory=dict)
    restored: dict[Named, None] = field(default_factory=dict)
    """Those inserted whose tombstones go."""
    updated: dict[Named, MessageRow] = field(default_factory=dict)
    old_revisions: dict[Named, list[OldRevision]] = field(default_factory=dict)
    emptied: dict[Named, None] = field(default_factory=dict)
    vectors: dict[Named, list[tuple[int, str, bytes]]] = field(default_factory=dict)
    """Vectors that came with messages: revision, embedder, values."""
    embedded: dict[Named, list[tuple[int, str, bytes]]] = field(default_factory=dict)
    """Those the server made."""
    people: dict[Named, Person] = field(default_factory=dict)
    events: list[tuple[Place, str, Event]] = field(default_factory=list)
    """Each with its place and its context id."""
    segments: list[SegmentsChange] = field(default_factory=list)
    aliases: dict[Named, str] = field(default_factory=dict)
    """By alias: the id of its message."""
    records: list[RecordChange] = field(default_factory=list)
    """In order: each is kept, then expired ones of its tenant go."""
    touched: dict[Named, int] = field(default_factory=dict)
    """Sessions by id to which messages came, and when."""
    usage: list[UsageChange] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    """Behind the usage: each gives a record its answer."""
    signals: list[SignalChange] = field(default_factory=list)

    def put(self, named: Named, record: MessageRow) -> None:
        """Write a known row as it now stands."""
        kept = self.inserted if named in self.inserted else self.updated
        kept[named] = record


def bare(message: Message, channel: str) -> Message:
    """The message as it is kept: vectors live in a table of their own and are read on their own."""
    if message.embeddings or message.channel != channel:
        return replace(message, channel=channel, embeddings=())
    return message


def float32_bytes(embedding: Embedding) -> bytes:
    """The vector as it is kept: float32, little-endian."""
    values = array("f", embedding.values)
    if sys.byteorder == "big":
        values.byteswap()
    return values.tobytes()


def is_embeddable(stored: StoredMessage) -> bool:
    """Whether a row should have a vector: live, and with something to say."""
    return stored.state is MessageState.LIVE and bool(stored.analysis.text.strip())


def dedupe_digest(dedupe_key: str) -> str:
    """What is kept of the dedupe key of an erased message: enough to know it again."""
    return hashlib.blake2b(dedupe_key.encode(), digest_size=16).hexdigest() if dedupe_key else ""


def named_among(taken: Iterable[Named], facts: Facts) -> list[Named]:
    """Of ids that something stored names: those that are of no row and no alias that is known."""
    return [one for one in taken if one not in facts.rows and one not in facts.aliases]


def scope_of(change: RecordChange) -> RecordScope:
    """Where its record lies."""
    return (*change.key, change.kind, change.owner)


def messages_named(change: RecordChange) -> Iterator[Named]:
    """The messages of its channel that must be there for a record to be kept."""
    if change.body is not None and change.turn is None and change.key.channel != EVERYWHERE:
        for name in change.named_ids:
            if name.startswith("m:"):
                yield (*change.key, name[2:])
