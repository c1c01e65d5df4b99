"""What the core needs from outside, with the obligations of every implementation.

Adapters (`store`, `vectors`, `models`) implement these; only `wiring` knows which. One contract suite per port,
in `tests/contract`, is run on every implementation.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from backscroll_sidecar.domain import (
    Analysis,
    AppendResult,
    ChannelKey,
    Event,
    Member,
    Message,
    NeutralMessage,
    StoredMessage,
    ToolCallPart,
)
from backscroll_sidecar.errors import BackscrollError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Clock(Protocol):
    """Tells the time. Injected wherever a time is needed."""

    def now_ms(self) -> int:
        """Wall clock, milliseconds since the epoch."""

    def monotonic_s(self) -> float:
        """Seconds of a clock that never goes back."""


# --- changes: what the one writer is asked to make durable ---------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TurnMark:
    """What a turn of StreamChat read, told with everything it writes: the writer drops what would undo an erasure.

    `since` is the writer's `losses_seen` before the turn read its context. Dropped is what comes after a later erasure
    in the channel, and after a recall of one of the messages in `shown`.
    """

    since: int
    shown: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class AppendChange:
    """Store these messages of one channel. `analyses` and `rank_times_ms` run parallel to `messages`."""

    key: ChannelKey
    messages: tuple[Message, ...]
    analyses: tuple[Analysis, ...]
    rank_times_ms: tuple[int, ...]
    received_at_ms: int
    turn: TurnMark | None = None


@dataclass(frozen=True, slots=True)
class EditChange:
    """Replace parts, mentions and analysis of one message: a new revision. Author and time stay as they were."""

    key: ChannelKey
    message: Message
    analysis: Analysis
    edited_at_ms: int


@dataclass(frozen=True, slots=True)
class RecallChange:
    """Take one message back: its text is gone, its place in the reply tree stays, its id stays taken.

    Turns of the channel that name it go: they hold its text as it was.
    """

    key: ChannelKey
    message_id: str
    recalled_at_ms: int


@dataclass(frozen=True, slots=True)
class MembersChange:
    """Insert or update people of a channel. A changed name moves the old one to `former_names`."""

    key: ChannelKey
    members: tuple[Member, ...]
    at_ms: int


@dataclass(frozen=True, slots=True)
class EraseChange:
    """Delete rows for good and leave tombstones of the ids.

    With `message_ids` set: these messages; else with `user_id` set: everything that user wrote in the channel, and
    the user as a member; else: the whole channel. In each case the channel's turns go too: they hold frozen texts.
    """

    key: ChannelKey
    message_ids: tuple[str, ...]
    user_id: str
    at_ms: int


@dataclass(frozen=True, slots=True)
class EventsChange:
    """Record events (S3-16). Never part of what a caller waits for."""

    key: ChannelKey
    context_id: str
    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True)
class TurnChange:
    """Keep a turn of StreamChat: insert it, or replace what is kept of it.

    `body` is opaque to the store but for one thing: the id of each message whose text it holds stands in it as a JSON
    string. A few expired turns of the tenant, as of `at_ms`, are removed with it.
    """

    key: ChannelKey
    turn_id: str
    body: bytes
    expires_at_ms: int
    at_ms: int
    turn: TurnMark | None = None


@dataclass(frozen=True, slots=True)
class MessageVector:
    """The vector of one revision of a message. `values`: float32, little-endian."""

    message_id: str
    revision: int
    values: bytes


@dataclass(frozen=True, slots=True)
class VectorsChange:
    """Keep vectors that one embedder made of messages of one channel.

    A vector of a revision that is no longer the current one, or of a message that is recalled or gone, is left out.
    One of another size than the kept one of the same embedder replaces it; else the first stays.
    """

    key: ChannelKey
    embedder_id: str
    vectors: tuple[MessageVector, ...]


@dataclass(frozen=True, slots=True)
class IndexRecord:
    """Which file is the index of a channel's vectors: the one of this size and content."""

    embedder_id: str
    dims: int
    row_count: int
    sha256: str


@dataclass(frozen=True, slots=True)
class IndexChange:
    """Remember the file that was written as the index of a channel's vectors. It replaces the one before."""

    key: ChannelKey
    record: IndexRecord


Change = (
    AppendChange
    | EditChange
    | RecallChange
    | MembersChange
    | EraseChange
    | EventsChange
    | TurnChange
    | VectorsChange
    | IndexChange
)


@dataclass(frozen=True, slots=True)
class EraseReceipt:
    """How many rows went, by store part (``messages``, ``revisions``, ``events``, ``members``, ``turns``)."""

    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class StoredVector:
    """A vector of the current revision of a message. `values`: float32, little-endian."""

    seq: int
    message_id: str
    values: bytes


@dataclass(frozen=True, slots=True)
class KeptVector:
    """A vector that a change brought: given with a message, or made by the server's embedder."""

    embedder_id: str
    vector: StoredVector


@dataclass(frozen=True, slots=True)
class Unembedded:
    """A live row with text but without a vector of the embedder asked about."""

    seq: int
    message_id: str
    revision: int
    author_name: str
    text: str


@dataclass(frozen=True, slots=True)
class UnembeddedPage:
    """What one look at a stretch of a channel found. `next_seq`: where the next look begins, None at the end."""

    rows: tuple[Unembedded, ...]
    next_seq: int | None


@dataclass(frozen=True, slots=True)
class Applied:
    """What one change did.

    `append_results` for appends; `stored` holds every row as it now stands that hot channels must take over (new
    and changed ones, in order of `seq`); `erased_ids` the rows that must leave them; `members` the people changed;
    `vectors` what was kept of vectors, whoever made them; `error` when this change alone was refused (others of the
    group are not affected).
    """

    append_results: tuple[AppendResult, ...] = ()
    stored: tuple[StoredMessage, ...] = ()
    erased_ids: tuple[str, ...] = ()
    members: tuple[Member, ...] = ()
    vectors: tuple[KeptVector, ...] = ()
    receipt: EraseReceipt | None = None
    error: BackscrollError | None = None

    @property
    def is_erasure(self) -> bool:
        """Whether something was deleted for good: rows, or a member without any, who leaves a receipt only."""
        return bool(self.erased_ids) or self.receipt is not None


@dataclass(frozen=True, slots=True)
class ChannelInfo:
    """Where a channel stands (P-26). `unembedded_count` is the backlog of the semantic source."""

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


class HistoryReader(Protocol):
    """Reads history. Every method is bound to one tenant through its key and sees only committed changes.

    All raise `StoreUnavailable` when the store cannot answer, and nothing else.
    """

    async def load_channel(
        self, key: ChannelKey
    ) -> tuple[Sequence[StoredMessage], Sequence[Member]]:
        """Every row of the channel, recalled ones included, in order of `seq`, and all its members."""

    async def latest(self, key: ChannelKey, limit: int) -> Sequence[StoredMessage]:
        """The newest `limit` live rows by (rank_time_ms, seq), oldest first (S3-08)."""

    async def list_messages(self, key: ChannelKey, query: ListQuery) -> Sequence[StoredMessage]:
        """A page ordered by `seq`, partial rows included; `newest_first` takes the end, newest first."""

    async def latest_of_user(
        self, tenant: str, user_id: str, channels: Sequence[str], limit: int
    ) -> Sequence[StoredMessage]:
        """The newest `limit` live rows of one author across these channels (none named: all), oldest first (S1-03)."""

    async def get_messages(
        self, key: ChannelKey, message_ids: Sequence[str]
    ) -> Mapping[str, StoredMessage]:
        """The rows that exist among these ids, recalled ones included."""

    async def reply_tree(
        self, key: ChannelKey, message_id: str, limit: int
    ) -> Sequence[StoredMessage]:
        """All rows connected to this one by reply edges as sent (not inferred), by `seq`; empty when unknown."""

    async def channel_info(self, key: ChannelKey) -> ChannelInfo | None:
        """Newest id and time, counts; None for a channel never heard of."""

    async def members(self, key: ChannelKey) -> Sequence[Member]:
        """All members, those who left included, authors seen included, ordered by user id."""

    async def last_message_ids(self, key: ChannelKey) -> Mapping[str, str]:
        """The id of the newest live row of each author."""

    async def events(self, key: ChannelKey, context_id: str = "") -> Sequence[Event]:
        """Recorded events of a channel, oldest first; of one context when named."""

    async def turn(self, tenant: str, turn_id: str, now_ms: int) -> tuple[ChannelKey, bytes] | None:
        """The channel and body of a turn that is kept and has not expired; None otherwise."""

    def export(self, key: ChannelKey) -> AsyncIterator[StoredMessage]:
        """Every row of the channel in order of `seq`, without holding them all."""

    async def vectors(self, key: ChannelKey, embedder_id: str) -> Sequence[StoredVector]:
        """The vectors of current revisions by one embedder, whoever sent them, in order of `seq`."""

    async def vector_index(self, key: ChannelKey, embedder_id: str) -> IndexRecord | None:
        """The file written last as index of these vectors; None after a recall or an erasure in the channel."""

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

    async def channels_of_user(self, tenant: str, user_id: str) -> Sequence[str]:
        """The channels of a tenant in which this user is a member, or was seen writing, by name."""


class HistoryStore(HistoryReader, Protocol):
    """The truth (law 2). Everything else can be rebuilt from it."""

    async def apply(self, changes: Sequence[Change]) -> Sequence[Applied]:
        """Make a group of changes durable in one transaction and return what each did, in order.

        Must be durable when it returns. Must be idempotent: equal id, text, author and time as any revision is
        DUPLICATE, other content CONFLICT (first wins), only metadata differing DUPLICATE with METADATA_DIFFERS; ids
        recalled or erased are GONE; a seen `dedupe_key` is DUPLICATE with `duplicate_of`. Later items of the group see
        earlier ones. Assigns `seq`. Reply edges are stored as sent; REPLY_PARENT_UNKNOWN and the other reply warnings
        are reported. Raises `StoreReadOnly` (disk full, read-only) or `StoreUnavailable`; then nothing of the
        group is stored. Called by one task only, the writer.
        """

    async def close(self) -> None:
        """Flush and release the files. Idempotent."""


class FragmentCodec(Protocol):
    """Encodes at append what a reply will carry, so that a request only joins bytes."""

    def encode(self, stored: StoredMessage) -> bytes:
        """The wire form of one message: the serialised `backscroll.v1.Message`."""


class EventSink(Protocol):
    """Takes events and counts what it must drop; never blocks, never raises (S5-21)."""

    def emit(self, key: ChannelKey, context_id: str, events: Sequence[Event]) -> None:
        """Queue events to be recorded."""


# --- models: what answers -------------------------------------------------------------------------------------------


class FinishReason(StrEnum):
    """Why a model stopped, in the vendor's words reduced to these. NONE: the stream ended cleanly without a reason."""

    STOP = "stop"
    LENGTH = "length"
    CONTENT_FILTER = "content_filter"
    TOOL_CALLS = "tool_calls"
    NONE = "none"


class ModelFault(StrEnum):
    """What went wrong with a model call, by what can be done about it. LOADING: a local model is not ready yet."""

    LOADING = "loading"
    RATE_LIMITED = "rate_limited"
    REJECTED = "rejected"
    UNAUTHORIZED = "unauthorized"
    SERVER_ERROR = "server_error"
    TIMEOUT = "timeout"
    CONNECTION = "connection"
    BAD_RESPONSE = "bad_response"


class ModelError(Exception):
    """A model call that failed. `safe_reason` may be shown to users: no driver text, no address, no key (S5-32).

    `told` holds the vendor's own short words, by the name of their field, as far as they are fit for a log.
    """

    def __init__(
        self,
        fault: ModelFault,
        safe_reason: str,
        *,
        retry_after_s: float | None = None,
        told: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(safe_reason)
        self.fault = fault
        self.safe_reason = safe_reason
        self.retry_after_s = retry_after_s
        self.told = told or {}


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One call of a model. `timeout_s` bounds the whole call; None: only the model's own gaps between deltas.

    The chat leaves it unset: it watches its caller's time itself, so that only one of the two can name the end.

    `with_names` sends the speakers' names beside the messages that have one, as `BuildRequest.include_names` asks.
    """

    messages: tuple[NeutralMessage, ...]
    model: str
    temperature: float | None = None
    tools_json: str = ""
    max_output_tokens: int | None = None
    timeout_s: float | None = None
    with_names: bool = False


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the answer, never empty."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCallDelta:
    """A whole call the model asks for, once its arguments are complete."""

    call: ToolCallPart


@dataclass(frozen=True, slots=True)
class UsageDelta:
    """What the vendor counted."""

    prompt_tokens: int
    completion_tokens: int


@dataclass(frozen=True, slots=True)
class Finished:
    """The last event of every stream that did not raise."""

    reason: FinishReason


ModelEvent = TextDelta | ToolCallDelta | UsageDelta | Finished


class Embedder(Protocol):
    """Something that turns texts into vectors. One instance serves all requests; safe to call from any task.

    Attributes
    ----------
    id : str
        Names the model. Vectors of different ids are never compared.
    dims : int
        Numbers a vector; 0 while it is not known yet.
    """

    @property
    def id(self) -> str:
        """See the class."""

    @property
    def dims(self) -> int:
        """See the class."""

    async def start(self) -> None:
        """Begin to load what has to be loaded, and return without waiting for it."""

    async def embed(self, texts: Sequence[str], *, is_query: bool = False) -> NDArray[np.float32]:
        """One unit vector a text, in order: float32[n, dims], C-contiguous, every value finite.

        Equal texts alone in a call give equal vectors. A query goes before messages that wait. Never retries by
        itself. Raises `ModelError`, and nothing else: LOADING for a query that would have to wait for the model,
        REJECTED when a text can never be embedded, BAD_RESPONSE for vectors that cannot be used.
        """

    async def close(self) -> None:
        """Release threads and connections. Idempotent."""


@dataclass(frozen=True, slots=True, eq=False)
class Similarities:
    """How similar messages are to a question.

    Attributes
    ----------
    values : float32[n]
        The cosine of each message asked about, -1 to 1, 0 for one without a vector. Never NaN.
    known : bool[n]
        Whether there is a vector.
    exhaustive : bool
        False when only the best of them are exact and the others estimated.
    """

    values: NDArray[np.float32]
    known: NDArray[np.bool_]
    exhaustive: bool


@dataclass(frozen=True, slots=True, eq=False)
class Nearest:
    """The best matches of a question, best first.

    Attributes
    ----------
    positions : int32[k]
        Places in the array of messages asked about.
    values : float32[k]
        Their cosines.
    exhaustive : bool
        Whether every one of them was looked at exactly.
    """

    positions: NDArray[np.int32]
    values: NDArray[np.float32]
    exhaustive: bool


class VectorSearch(Protocol):
    """Compares questions with the stored vectors of one embedder. Only committed vectors are seen.

    `seqs` are arrival numbers of messages of one channel, int64[n] in any order, each once; `query` is float32[dims],
    finite and not zero. Both raise `StoreUnavailable` when the vectors cannot be loaded, and nothing else.
    """

    async def similarities(
        self, key: ChannelKey, seqs: NDArray[np.int64], query: NDArray[np.float32]
    ) -> Similarities:
        """How similar each of these messages is to a question."""

    async def nearest(
        self, key: ChannelKey, seqs: NDArray[np.int64], query: NDArray[np.float32], limit: int
    ) -> Nearest:
        """The `limit` most similar of these messages; of equal ones the later. Those without a vector are none."""


class EmbeddingProgress(Protocol):
    """How far the semantic source is behind what is stored."""

    async def count(self, key: ChannelKey, until_seq: int) -> int:
        """How many live rows with text up to this one (included) wait for their vector. Raises `StoreUnavailable`."""

    async def wait(self, key: ChannelKey, timeout_s: float) -> int:
        """Wait until the semantic source finds all that is stored now; returns how many rows it cannot find yet."""


class ChatModel(Protocol):
    """Something that answers messages. One instance serves all requests; safe to call from any task of the loop."""

    def stream(
        self, request: ModelRequest
    ) -> AbstractAsyncContextManager[AsyncIterator[ModelEvent]]:
        """Stream one answer.

        Leaving the block closes the upstream at once, whatever is still to come. Events come in the order of the
        vendor; texts that are there together may come as one; the last is `Finished`, once. Raises `ModelError`, and
        nothing else, on entering or between events; never retries by itself.
        """

    async def complete(self, request: ModelRequest) -> Sequence[ModelEvent]:
        """One answer without streaming, as the events a stream would have had.

        For models and servers that do not stream. `Chat` streams all the same: both RPCs send the same body, and what
        was said before a deadline is not lost.
        """

    async def close(self) -> None:
        """Release connections. Idempotent."""
