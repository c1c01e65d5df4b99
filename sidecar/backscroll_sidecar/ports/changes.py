"""Changes: what the one writer is asked to make durable, and what each one did."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from backscroll_sidecar.domain import (
    Analysis,
    AppendResult,
    ChannelKey,
    Event,
    Member,
    Message,
    StoredMessage,
)
from backscroll_sidecar.errors import BackscrollError
from backscroll_sidecar.ports.segments import Segment
from backscroll_sidecar.ports.usage import Signal, UsageRecord
from backscroll_sidecar.ports.vectors import KeptVector, MessageVector


class TurnMark(msgspec.Struct, frozen=True):
    """When a turn of StreamChat read, told with everything it writes: the writer drops what would undo an erasure.

    `since` is the writer's `erasures_seen` before the turn read its context. Dropped is what comes after a later
    erasure in the channel, and a record after the retraction of a message it names.
    """

    since: int


class AppendChange(msgspec.Struct, frozen=True):
    """Store these messages of one channel. `analyses` and `rank_times_ms` run parallel to `messages`."""

    key: ChannelKey
    messages: tuple[Message, ...]
    analyses: tuple[Analysis, ...]
    rank_times_ms: tuple[int, ...]
    received_at_ms: int
    turn: TurnMark | None = None
    restores_erased: bool = False
    """Store again what went because its whole channel was erased."""
    records: tuple[RecordChange, ...] = ()
    """Kept in the same transaction. Where one of them is refused nothing is stored; where a message is neither
    stored nor a duplicate they are left out. Each id once."""
    context_id: str = ""
    """The build that the last of the assistant's messages answers: its record gets the answer. Empty: the record of
    the newest build for the message it replies to, if that has none yet."""
    replaces: str = ""
    """The message that goes with what is stored, as if retracted: an earlier answer to the same question. It stays
    where a message is neither stored nor a duplicate."""


class EditChange(msgspec.Struct, frozen=True):
    """Replace parts, mentions and analysis of one message: a new revision. Author and time stay as they were."""

    key: ChannelKey
    message: Message
    analysis: Analysis
    edited_at_ms: int


class RetractChange(msgspec.Struct, frozen=True):
    """Take one message back: its text is gone, its place in the reply tree stays, its id stays taken.

    Records of the channel that name it go.
    """

    key: ChannelKey
    message_id: str
    retracted_at_ms: int


class AliasChange(msgspec.Struct, frozen=True):
    """Let `alias_id` be another id of a stored message. What answers the alias answers the message from then on."""

    key: ChannelKey
    message_id: str
    alias_id: str


class MembersChange(msgspec.Struct, frozen=True):
    """Insert or update people of a channel. A changed name moves the old one to `former_names`.

    With `only_adds` what is known of a person stays, and what `members` tell comes on top: they come from an export.
    """

    key: ChannelKey
    members: tuple[Member, ...]
    at_ms: int
    only_adds: bool = False


class EraseChange(msgspec.Struct, frozen=True):
    """Delete rows for good and leave tombstones of the ids.

    With `message_ids` set: these messages; else with `user_id` set: everything that user wrote in the channel, and
    the user as a member; else: the whole channel. Records that name what goes go with it.
    What goes with its whole channel, and was not recalled, an append that `restores_erased` may store again.
    With `is_expiry` the messages are merely old: as after a retraction of each, open turns that do not show them stay.
    Of `EVERYWHERE` what belongs to no channel goes, and turns of the whole tenant count as hit.
    With `is_of_many` what is elsewhere stays: it goes with other changes of the same erasure.
    With `is_dry_run` everything stays; the receipt tells what would go.
    """

    key: ChannelKey
    message_ids: tuple[str, ...]
    user_id: str
    at_ms: int
    is_expiry: bool = False
    is_of_many: bool = False
    is_dry_run: bool = False

    @property
    def is_of_channel(self) -> bool:
        """Whether the whole channel goes."""
        return not self.message_ids and not self.user_id


class EventsChange(msgspec.Struct, frozen=True):
    """Record events. Never part of what a caller waits for."""

    key: ChannelKey
    context_id: str
    events: tuple[Event, ...]
    turn: TurnMark | None = None


VERSION_FIELD = "version"
"""The field of a conflict about `RecordChange.if_version`."""


class RecordChange(msgspec.Struct, frozen=True):
    """Keep a record, or replace the one of the same key, kind, owner and id; with `body` None: delete it.

    Attributes
    ----------
    key
        Its channel; `EVERYWHERE` for what belongs to none.
    kind
        What sort of thing it is, such as `PIN` or `TURN`.
    id
        Names it among those of its key, kind and owner. Empty in a deletion: all of them.
    body
        Opaque to the store.
    named_ids
        What it is about: `about_message` and `about_text` of its channel, `about_user`, `about_chain`, `ANY_ERASURE`,
        `ANY_RETRACTION`. It is deleted in the transaction that erases or retracts one of them, or edits such a text; a
        user is erased of one channel at a time, or of `EVERYWHERE`. A record that names a message of its channel that
        is not there is refused (NotFound, Gone), but not one that a turn keeps: what a turn showed need not be stored.
    expires_at_ms
        From then on it is not read any more; 0: never. Every kept record takes a few expired ones of its tenant along.
    owner
        Whose it is, such as a user's id; empty where a kind has no owners.
    limit
        How many records its key, kind and owner may have at `at_ms`, itself included: one more is refused with
        CONFLICT. 0: any number.
    turn
        Set on what a turn keeps.
    after
        The id of a record of the same key, kind and owner without which this one is refused with `Gone`.
    if_version
        The version that the one it replaces must have, else it is refused with CONFLICT of `VERSION_FIELD`; 0: there
        must be none. None: whatever there is. Not for deletions without an id.
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
    turn: TurnMark | None = None
    after: str = ""
    if_version: int | None = None


class UsageChange(msgspec.Struct, frozen=True):
    """Record a build of a channel; one of a known context id changes nothing. An answer that is there already is its
    own. Takes a few of the tenant's along that are older than `drops_before_ms`.
    """

    key: ChannelKey
    record: UsageRecord
    turn: TurnMark | None = None
    drops_before_ms: int = 0


class SignalChange(msgspec.Struct, frozen=True):
    """Keep what says how good an answer was, where the build of `context_id` is recorded; else nothing.

    One of the same kind, user and message replaces the one before. With `is_reading` they are all that was read from
    messages: what was read before goes.
    """

    key: ChannelKey
    context_id: str
    signals: tuple[Signal, ...]
    is_reading: bool = False
    turn: TurnMark | None = None


class VectorsChange(msgspec.Struct, frozen=True):
    """Keep vectors that one embedder made of messages of one channel.

    A vector of a revision that is no longer the current one, or of a message that is recalled or gone, is left out.
    One of another size than the kept one of the same embedder replaces it; else the first stays.
    """

    key: ChannelKey
    embedder_id: str
    vectors: tuple[MessageVector, ...]


class SegmentsChange(msgspec.Struct, frozen=True):
    """Keep segments of one channel, each in the place of those it overlaps.

    One whose rows are not what it says (see `Segment`) is left out. An edit, a retraction or an erasure drops the
    segments that hold one of its rows, in the same transaction. A store may keep none.
    """

    key: ChannelKey
    format: str
    segments: tuple[Segment, ...]


Change = (
    AppendChange
    | EditChange
    | RetractChange
    | AliasChange
    | MembersChange
    | EraseChange
    | EventsChange
    | VectorsChange
    | SegmentsChange
    | RecordChange
    | UsageChange
    | SignalChange
)


class EraseReceipt(msgspec.Struct, frozen=True):
    """How many rows went, by store: those of `RECEIPT_STORES`. With `is_dry_run`: how many would go.

    `files_clean_by_ms` is until when it goes from the files; 0: when their database comes to it; None: nothing of it is
    there.
    """

    counts: Mapping[str, int]
    is_dry_run: bool = False
    at_ms: int = 0
    files_clean_by_ms: int | None = None


class Applied(msgspec.Struct, frozen=True):
    """What one change did.

    `append_results` for appends; `stored` holds every row as it now stands that hot channels must take over (new
    and changed ones, in order of `seq`); `erased_ids` the rows that must leave them; `members` the people changed;
    `vectors` what was kept of vectors, whoever made them; `aliases` pairs of a new alias and the id of its message;
    `records` the changes of records that were made, and `deleted_records` how many those deleted; `error` when this
    change alone was refused (others of the group are not affected). `version`: which one of its channel this is, in a
    store that several servers share; 0 in others. `is_foreign`: another server did it, and what follows from it.
    """

    append_results: tuple[AppendResult, ...] = ()
    stored: tuple[StoredMessage, ...] = ()
    erased_ids: tuple[str, ...] = ()
    members: tuple[Member, ...] = ()
    vectors: tuple[KeptVector, ...] = ()
    receipt: EraseReceipt | None = None
    records: tuple[RecordChange, ...] = ()
    deleted_records: int = 0
    error: BackscrollError | None = None
    aliases: tuple[tuple[str, str], ...] = ()
    version: int = 0
    is_foreign: bool = False

    @property
    def is_erasure(self) -> bool:
        """Whether something was deleted for good: rows, or a member without any, who leaves a receipt only."""
        return bool(self.erased_ids) or (self.receipt is not None and not self.receipt.is_dry_run)
