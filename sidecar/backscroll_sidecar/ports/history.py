"""History: the reads of the core, and the store that is the truth."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import msgspec

from backscroll_sidecar.domain import ChannelKey, Event, Member, MessageType, StoredMessage
from backscroll_sidecar.ports.changes import Applied, Change
from backscroll_sidecar.ports.leases import Leases
from backscroll_sidecar.ports.maintenance import Maintenance
from backscroll_sidecar.ports.records import StoredRecord
from backscroll_sidecar.ports.replicas import SharedWrites
from backscroll_sidecar.ports.segments import ChannelRows
from backscroll_sidecar.ports.usage import ANY_USAGE, Signal, StoredUsage, UsageQuery
from backscroll_sidecar.ports.vectors import UnembeddedPage, VectorsPage
from backscroll_sidecar.ports.work import SharedWork


class LastMessage(NamedTuple):
    """What must be known of an author's newest message so that a mention of the author can be read."""

    id: str
    message_type: MessageType


class ChannelInfo(msgspec.Struct, frozen=True):
    """Where a channel stands. `unembedded_count` is the backlog of the semantic source.

    `newest_sent_at_ms` is the time its newest message is ranked by: never later than it came.
    """

    key: ChannelKey
    newest_message_id: str
    newest_sent_at_ms: int
    message_count: int
    last_seq: int
    unembedded_count: int = 0


@dataclass(frozen=True, slots=True)
class ListQuery:
    """A page of a channel. All conditions must hold; empty or None means any. `before_seq`, `after_seq` exclusive."""

    limit: int = 100
    newest_first: bool = False
    before_seq: int | None = None
    after_seq: int | None = None
    since_ms: int | None = None
    until_ms: int | None = None
    author_id: str = ""
    thread_id: str = ""
    include_recalled: bool = False


@dataclass(frozen=True, slots=True)
class OverdueQuery:
    """What goes of a channel: what is ranked before a time or behind the `newest` live messages (0: any number), but
    not the `kept_ids`; at most `limit` at once.
    """

    before_ms: int
    newest: int
    kept_ids: tuple[str, ...]
    limit: int


@dataclass(frozen=True, slots=True)
class EventQuery:
    """A page of recorded events. All conditions must hold; empty means any. `before`, `after`: numbers, exclusive."""

    context_id: str = ""
    types: tuple[str, ...] = ()
    limit: int = 1_000
    newest_first: bool = False
    before: int | None = None
    after: int | None = None


@dataclass(frozen=True, slots=True)
class RecordedEvent:
    """An event, the context it belongs to, or '', and its number, which grows in the order of recording."""

    number: int
    context_id: str
    event: Event


ANY_EVENT = EventQuery()


class HistoryReader(Protocol):
    """Reads history. Every method is bound to one tenant through its key and sees only committed changes.

    All raise `StoreUnavailable` when the store cannot answer, and nothing else.
    """

    async def load_channel(self, key: ChannelKey, segment_format: str = "") -> ChannelRows:
        """Every row of the channel, recalled ones included, and all its members, as of one moment.

        Segments of this format stand for their rows; without a format, all is rows.
        """

    async def latest(self, key: ChannelKey, limit: int) -> Sequence[StoredMessage]:
        """The newest `limit` live rows by (rank_time_ms, seq), oldest first."""

    async def list_messages(self, key: ChannelKey, query: ListQuery) -> Sequence[StoredMessage]:
        """A page ordered by `seq`, partial rows included; `newest_first` takes the end, newest first."""

    async def latest_of_user(
        self, tenant: str, user_id: str, channels: Sequence[str], limit: int
    ) -> Sequence[StoredMessage]:
        """The newest `limit` live rows of one author across these channels (none named: all), oldest first."""

    async def get_messages(
        self, key: ChannelKey, message_ids: Sequence[str]
    ) -> Mapping[str, StoredMessage]:
        """The rows that exist among these ids, recalled ones included, by the ids given; an alias gives its message."""

    async def reply_tree(
        self, key: ChannelKey, message_id: str, limit: int
    ) -> Sequence[StoredMessage]:
        """All rows connected to this one by reply edges as sent (not inferred), by `seq`; empty when unknown."""

    async def answer_to(
        self, key: ChannelKey, message_id: str, author_id: str, mark: str
    ) -> StoredMessage | None:
        """The live whole reply that a turn stored to this message in this author's name; None: there is none.

        `mark`: of what was asked about the message (`turn_ids.mark_of`).
        """

    async def overdue(self, key: ChannelKey, query: OverdueQuery) -> Sequence[str]:
        """The ids of messages that are to go, in no order: recalled and partial ones, too."""

    async def channel_info(self, key: ChannelKey) -> ChannelInfo | None:
        """Newest id and time, counts; None for a channel never heard of."""

    async def channel_infos(
        self, tenant: str, after: str, limit: int, name_contains: str = ""
    ) -> Sequence[ChannelInfo]:
        """The first `limit` channels behind `after` that hold rows, by the code points of their names, at one moment.

        `name_contains`: only those whose name has it in it, letter case aside.
        """

    async def members(self, key: ChannelKey) -> Sequence[Member]:
        """All members, those who left included, authors seen included, ordered by user id."""

    async def last_messages(self, key: ChannelKey) -> Mapping[str, LastMessage]:
        """The newest live row of each author, by the author's id."""

    async def events(
        self, key: ChannelKey, query: EventQuery = ANY_EVENT
    ) -> Sequence[RecordedEvent]:
        """Recorded events of a channel in the order of recording; `newest_first` takes the end, newest first."""

    async def records(
        self,
        key: ChannelKey,
        kind: str,
        now_ms: int,
        *,
        owner: str | None = None,
        after: int = 0,
        limit: int = 1_000,
    ) -> Sequence[StoredRecord]:
        """A page of the records of one kind that have not expired, in order of creation; of one owner when named.

        `after` is the `number` of the last one of the page before.
        """

    async def newest_records(
        self, key: ChannelKey, kind: str, owner: str, now_ms: int, limit: int
    ) -> Sequence[StoredRecord]:
        """The last so many records of one kind and owner that have not expired, the newest first."""

    async def records_of_owner(
        self, tenant: str, kind: str, owner: str, now_ms: int
    ) -> Sequence[StoredRecord]:
        """The records of one kind and owner in all channels, by channel, `EVERYWHERE` first, in order of creation."""

    async def record(
        self, key: ChannelKey, kind: str, owner: str, id: str, now_ms: int
    ) -> StoredRecord | None:
        """The one of this name; None: there is none, or it has expired."""

    async def records_of_ids(
        self, key: ChannelKey, kind: str, owner: str, ids: Sequence[str], now_ms: int
    ) -> Sequence[StoredRecord]:
        """Those of one kind and owner that have one of these ids and have not expired, in order of creation."""

    async def records_about(
        self, key: ChannelKey, kind: str, names: Sequence[str], now_ms: int
    ) -> Sequence[StoredRecord]:
        """Those of one kind whose `named_ids` hold one of these and that have not expired, in order of creation."""

    async def updated_records(
        self,
        tenant: str,
        kind: str,
        now_ms: int,
        limit: int,
        *,
        before: tuple[int, int] | None = None,
        channel: str | None = None,
        id: str | None = None,
    ) -> Sequence[StoredRecord]:
        """The records of one kind in all channels that have not expired, the one updated last first.

        `before`: behind the one of this `updated_at_ms` and `number`. Of one channel, of one id, where they are named.
        """

    async def record_owners(
        self, tenant: str, kind: str, after: str | None, limit: int
    ) -> Sequence[str]:
        """A page of those who own records of a kind, in the tenant, by name; some may have expired."""

    async def usage_records(
        self, tenant: str, query: UsageQuery = ANY_USAGE
    ) -> Sequence[StoredUsage]:
        """Recorded builds in the order of recording; `newest_first` takes the end, newest first."""

    async def signals(
        self, tenant: str, context_ids: Sequence[str]
    ) -> Mapping[str, Sequence[Signal]]:
        """What says how good the answers of these builds were, by context id, in order of time."""

    async def ids_by_seq(self, key: ChannelKey, seqs: Sequence[int]) -> Mapping[int, str]:
        """The ids of the rows that exist among these arrival numbers, recalled ones included."""

    def export(self, key: ChannelKey) -> AsyncIterator[StoredMessage]:
        """Every row of the channel in order of `seq`, without holding them all."""

    async def vectors(
        self, key: ChannelKey, embedder_id: str, after_id: str, limit: int
    ) -> VectorsPage:
        """The vectors of current revisions by one embedder, whoever sent them, by message id, `limit` at most.

        On the way they take several times as much as in memory: so not all at once.
        """

    async def unembedded(
        self, key: ChannelKey, embedder_id: str, dims: int, from_seq: int, limit: int
    ) -> UnembeddedPage:
        """The live rows with text from `from_seq` on that have no vector of this embedder and size, by `seq`.

        Looks at `limit` rows at most, so that a long channel never holds up other readers. `dims` 0: of any size.
        """

    async def unembedded_count(
        self, key: ChannelKey, embedder_id: str, dims: int, until_seq: int
    ) -> int:
        """How many rows up to `until_seq` (included) `unembedded` would find."""

    async def channels(self, after: ChannelKey | None, limit: int) -> Sequence[ChannelKey]:
        """A page of all channels of all tenants, in order of (tenant, channel). For background work only."""

    async def lately_kept(self, segment_format: str, limit: int) -> Sequence[ChannelKey]:
        """Of the newest `limit` segments the channels of those of this format, newest first. For background work only.

        A segment is written a while after messages came to a channel that is asked about: these were in use last.
        """

    async def channels_of_tenant(self, tenant: str, after: str, limit: int) -> Sequence[str]:
        """The first `limit` channels of a tenant behind `after`, by the code points of their names."""

    async def channels_of_user(self, tenant: str, user_id: str) -> Sequence[str]:
        """The channels of a tenant in which this user is a member, or was seen writing, by name."""

    async def channels_to_erase(self, tenant: str, user_id: str) -> Sequence[str]:
        """The channels of a tenant that hold anything an erasure of this user takes, by name; of nobody: anything.

        What belongs to no channel is not among them.
        """


class HistoryStore(HistoryReader, Protocol):
    """The truth. Everything else can be rebuilt from it."""

    @property
    def maintenance(self) -> Maintenance | None:
        """What its files need done behind the answers; None where it has none."""

    @property
    def keeps_segments(self) -> bool:
        """Whether it gives back the segments that it was given."""

    @property
    def shared(self) -> SharedWrites | None:
        """What other servers write to it; None where it is this one's alone."""

    @property
    def leases(self) -> Leases | None:
        """What one of them at a time does; None where it is this one's alone."""

    async def moved_to(self) -> str:
        """Where the history is by now, without a password; '': here. Raises `StoreUnavailable`."""

    def let_go(self) -> None:
        """Nothing is answered from it any more: a migration that waits for that may open the other database."""

    @property
    def work(self) -> SharedWork | None:
        """What follows from messages and is not done yet; None where it is this one's alone."""

    async def apply(self, changes: Sequence[Change]) -> Sequence[Applied]:
        """Make a group of changes durable in one transaction and return what each did, in order.

        Must be durable when it returns. Must be idempotent: equal id, text, author and time as any revision is
        DUPLICATE, other content CONFLICT (first wins), only metadata differing DUPLICATE with METADATA_DIFFERS; ids
        recalled or erased are GONE; a seen `dedupe_key` is DUPLICATE with `duplicate_of`. Later items of the group see
        earlier ones. Assigns `seq`. Reply edges are stored as sent; REPLY_PARENT_UNKNOWN and the other reply warnings
        are reported. A row is ranked behind the row it answers, also where that comes late; an alias resolves (see
        `AliasChange`), and a message that is the platform's copy of what a turn said becomes one. Raises
        `StoreReadOnly` (disk full, read-only) or `StoreUnavailable`; then nothing of the group is stored. Called by
        one task only, the writer.
        """

    async def close(self) -> None:
        """Flush and release the files. Idempotent."""
