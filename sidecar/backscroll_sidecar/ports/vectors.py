"""Vectors: the rows a store keeps, what makes them, and what searches them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

from backscroll_sidecar.allowed_channels import AllowedChannels
from backscroll_sidecar.domain import ChannelKey, SearchScope, StoredMessage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class MessageVector:
    """The vector of one revision of a message. `values`: float32, little-endian."""

    message_id: str
    revision: int
    values: bytes


@dataclass(frozen=True, slots=True)
class StoredVector:
    """A vector of the current revision of a message. `values`: float32, little-endian."""

    seq: int
    message_id: str
    values: bytes


@dataclass(frozen=True, slots=True)
class VectorsPage:
    """Some of a channel's vectors. `last_id`: behind which the next page begins, None at the end."""

    rows: tuple[StoredVector, ...]
    last_id: str | None


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


class Similarities(NamedTuple):
    """How similar messages are to a question.

    Attributes
    ----------
    values : float32[n]
        The cosine of each message asked about, -1 to 1; NaN for one without a vector, and only for such.
    known : int
        How many of them have a vector.
    exhaustive : bool
        False when only the best of them are exact and the others estimated.
    """

    values: NDArray[np.float32]
    known: int
    exhaustive: bool


class Nearby(Protocol):
    """Says how similar single messages are to a question, without a look at all: plain computation, in any thread.

    They are named by their places among the n messages asked about.
    """

    def nearest(self, limit: int, counts: NDArray[np.bool_]) -> NDArray[np.int32]:
        """int32[<= limit]: about the most similar ones of those that count, bool[n], best first."""

    def least(self, limit: int, counts: NDArray[np.bool_]) -> NDArray[np.int32]:
        """int32[<= limit]: about the least similar ones of those that count."""

    def cosines(self, places: NDArray[np.int32]) -> NDArray[np.float32]:
        """float32[k]: how similar these, each once, are, exactly; NaN for one without a vector."""


class Comparison(NamedTuple):
    """All that is needed to say how similar messages are to a question.

    Attributes
    ----------
    us : float
        Microseconds `make` is predicted to take.
    make : says it: plain computation, in whatever thread.
    nearby : says it of single messages; None where they are of several channels.
    """

    us: float
    make: Callable[[], Similarities]
    nearby: Nearby | None = None


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


class NearestMessages(NamedTuple):
    """The best matches of a question in a whole channel, best first: int64[k], float32[k]; see `Nearest`."""

    seqs: NDArray[np.int64]
    values: NDArray[np.float32]
    exhaustive: bool


class VectorSearch(Protocol):
    """Compares questions with the stored vectors of one embedder. Only committed vectors are seen.

    `seqs` are arrival numbers of messages of one channel, int64[n] in any order, each once; `query` is float32[dims],
    finite and not zero. All raise `StoreUnavailable` when the vectors cannot be loaded, and nothing else.
    """

    async def compare(
        self, key: ChannelKey, seqs: NDArray[np.int64], query: NDArray[np.float32]
    ) -> Comparison:
        """How similar each of these messages is to a question, ready to be computed."""

    async def nearest(
        self, key: ChannelKey, seqs: NDArray[np.int64], query: NDArray[np.float32], limit: int
    ) -> Nearest:
        """The `limit` most similar of these messages; of equal ones the later. Those without a vector are none."""

    async def nearest_of_all(
        self, key: ChannelKey, query: NDArray[np.float32], limit: int
    ) -> NearestMessages:
        """The same of all messages of the channel."""


class WideHit(NamedTuple):
    """A message found, with its cosine to the question."""

    stored: StoredMessage
    score: float


class WideHits(NamedTuple):
    """What was found, best first, and whether every message was looked at exactly."""

    hits: Sequence[WideHit]
    exhaustive: bool = True


class WideSearch(Protocol):
    """Finds messages of several channels by meaning, where the operator permits it. Never of another tenant."""

    def permit(self, tenant: str, scope: SearchScope) -> None:
        """Raise `NotAllowed` where the tenant has no permission for this scope."""

    async def nearest(
        self,
        tenant: str,
        scope: SearchScope,
        user_id: str,
        vector: NDArray[np.float32],
        limit: int,
        *,
        until_ms: int | None = None,
        in_stays: bool = False,
        allowed: AllowedChannels | None = None,
    ) -> WideHits:
        """The `limit` most similar live messages of the allowed channels in scope; nothing after `until_ms`.

        `in_stays`: only what the user could see, being a member at that time. Raises `StoreUnavailable`.
        """


class Waited(NamedTuple):
    """Whether the semantic source finds what was asked for, and how many rows it cannot find yet.

    It is not ready either while questions cannot be embedded.
    """

    is_ready: bool
    unembedded_count: int


class EmbeddingProgress(Protocol):
    """How far the semantic source is behind what is stored."""

    async def count(self, key: ChannelKey, until_seq: int) -> int:
        """How many live rows with text up to this one (included) wait for their vector. Raises `StoreUnavailable`."""

    async def wait(self, key: ChannelKey, timeout_s: float) -> Waited:
        """Wait until the semantic source finds all that is stored now."""
