"""Lines of channels that share with the one that is asked about: which there are, and which of them answer best.

Each is ranked as the history of its own channel is. Nothing is looked for where nothing is shared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple, Protocol

import numpy as np
import structlog
from msgspec.structs import replace
from numpy.typing import NDArray

from backscroll_scoring import MEMORY_FACTORS
from backscroll_sidecar.channels import ChannelView
from backscroll_sidecar.concurrency.deadline import Deadline
from backscroll_sidecar.concurrency.offload import INLINE_US, run
from backscroll_sidecar.concurrency.time_slicing import LoopSlices
from backscroll_sidecar.context.candidates import SOURCE_SHARE
from backscroll_sidecar.context.history_search import Meaning, search_history
from backscroll_sidecar.context.model import BuildRequest
from backscroll_sidecar.context.visibility import shared
from backscroll_sidecar.domain import (
    ChannelKey,
    Member,
    MessageState,
    Readable,
    SharedChannel,
    Sharing,
    StoredMessage,
    ToolCallPart,
)
from backscroll_sidecar.errors import BackscrollError
from backscroll_sidecar.ports import (
    CatchUp,
    HistoryReader,
    StoredChannelSettings,
    nothing_to_catch_up,
)
from backscroll_sidecar.strategies import SourceFailed, StrategyQuery
from backscroll_sidecar.strategies.memory import Memory, Sought, link, own_words, seek
from backscroll_sidecar.strategies.recall import RANK_US_PER_ROW, memory_question

log = structlog.get_logger(__name__)
SHARING = "sharing"
LEAST, LEAST_BY_WORDS = 0.5, 0.4
"""Scores below which a line of another channel is of no use: half of what answers clearly (`history_router.CLEAR`)."""
WORDS = MEMORY_FACTORS.index("words")
SLACK = 4
"""So many times what is wanted is looked at, since some of it may not be shown."""


class SharedLine(NamedTuple):
    """A line of another channel; its score as a probability, and what that is made of."""

    stored: StoredMessage
    group: str
    score: float
    linear: float
    shares: NDArray[np.float64]


class SharedLines(NamedTuple):
    """What was found, best first. `lost`: why not all was looked through; empty: it was."""

    lines: Sequence[SharedLine] = ()
    factors: tuple[str, ...] = ()
    weights: tuple[float, ...] = ()
    is_exhaustive: bool = True
    lost: str = ""


class _Hit(NamedTuple):
    """A row that was found."""

    linear: float
    channel: SharedChannel
    seq: int
    message_id: str
    shares: NDArray[np.float64]
    member: Member | None


class Views(Protocol):
    """Where channels are had from."""

    def hot_view(self, key: ChannelKey) -> ChannelView | None:
        """The channel if it is in memory."""

    async def view(self, key: ChannelKey) -> ChannelView | None:
        """The channel, loaded if need be; None when it was never heard of. Raises `StoreUnavailable`."""


class _Look:
    """One look through channels. What it has found by then is there whenever it ends."""

    def __init__(self) -> None:
        self.hits: list[_Hit] = []
        self.factors: tuple[str, ...] = ()
        self.weights: tuple[float, ...] = ()
        self.is_exhaustive = True

    def take(
        self,
        channel: SharedChannel,
        view: ChannelView,
        sought: Sought,
        memory: Memory,
        member: Member | None,
    ) -> None:
        """Keep what is good enough."""
        least = LEAST_BY_WORDS if memory.is_by_words else LEAST
        if not self.factors or not memory.is_by_words:
            self.factors, self.weights = memory.factors, memory.weights
        shares = memory.shares.copy()
        shares[:, WORDS] = memory.weights[WORDS] * _words_in(view, sought, memory.rows)
        linear = shares.sum(axis=1)
        for at in np.flatnonzero(linear >= least).tolist():
            row = memory.rows.item(at)
            seq, message_id = view.seq.item(row), view.message_ids[row]
            self.hits.append(
                _Hit(linear.item(at), channel, seq, message_id, shares[at], member)
            )  # fmt: skip

    def best(self, limit: int) -> list[_Hit]:
        """The best ones; of equal scores by channel, the later first."""
        return sorted(self.hits, key=lambda one: (-one.linear, one.channel, -one.seq))[:limit]


class SharedChannels:
    """Finds such lines. Safe to call from any task of the event loop."""

    def __init__(
        self, views: Views, store: HistoryReader, settings: StoredChannelSettings | None
    ) -> None:
        self._views = views
        self._store = store
        self._settings = settings
        self._catch_up: CatchUp = nothing_to_catch_up

    def follow(self, catch_up: CatchUp) -> None:
        """Bring caches up to what other servers wrote to channels before these are looked through."""
        self._catch_up = catch_up

    async def find(
        self,
        query: StrategyQuery,
        request: BuildRequest,
        sharing: Sharing,
        meaning: Meaning | None,
        deadline: Deadline,
    ) -> SharedLines:
        """At most `sharing.max_messages` lines for a question. Raises nothing."""
        look, lost, rows = _Look(), "", list[SharedLine]()
        try:
            work = self._look_through(look, query, request, sharing, meaning, deadline)
            await deadline.bound(work, SOURCE_SHARE)
        except Exception as error:  # noqa: BLE001 - what was found before stays
            lost = _reason(error)
        try:
            if look.hits:
                most = sharing.max_messages
                rows = await deadline.bound(self._rows(look, query.key, request, most))
        except Exception as error:  # noqa: BLE001 - it costs these lines only
            lost = _reason(error)
        exhaustive = look.is_exhaustive and not lost
        return SharedLines(rows, look.factors, look.weights, exhaustive, lost)

    async def _look_through(
        self,
        look: _Look,
        query: StrategyQuery,
        request: BuildRequest,
        sharing: Sharing,
        meaning: Meaning | None,
        deadline: Deadline,
    ) -> None:
        readable = Readable() if self._settings is None else await self._readable(query.key)
        look.is_exhaustive = readable.is_whole
        if not query.question or not readable.channels:
            return
        if request.visible_since_membership and not query.user_id:
            raise SourceFailed("NO_ASKER")
        names = [one.channel for one in readable.channels]
        await self._catch_up(query.key.tenant, names)
        slices = LoopSlices()
        for channel in readable.channels:
            await slices.spend(INLINE_US)
            key = ChannelKey(query.key.tenant, channel.channel)
            member = None
            if request.visible_since_membership:
                everybody = await self._store.members(key)
                member = next((one for one in everybody if one.user_id == query.user_id), None)
                if member is None:
                    continue
            view = self._views.hot_view(key) or await self._views.view(key)
            if view is None:
                continue
            there = _asked_there(query, key, view, request, SLACK * sharing.max_messages)
            sought = await run(
                RANK_US_PER_ROW * there.end,
                partial(seek, view, memory_question(there), there.eligible),
            )
            found = await search_history(there, sought, meaning, deadline)
            look.is_exhaustive &= found.exhaustive
            look.take(channel, view, sought, found.memory, member)

    async def _readable(self, key: ChannelKey) -> Readable:
        assert self._settings is not None
        return await self._settings.readable(key)

    async def _rows(
        self, look: _Look, key: ChannelKey, request: BuildRequest, most: int
    ) -> list[SharedLine]:
        """The best lines as they are stored now, without those that may not be shown, and without copies."""
        hits = look.best(SLACK * most)
        by_channel: dict[str, list[str]] = {}
        for hit in hits:
            by_channel.setdefault(hit.channel.channel, []).append(hit.message_id)
        stored = {
            channel: await self._store.get_messages(ChannelKey(key.tenant, channel), ids)
            for channel, ids in by_channel.items()
        }
        return list(_shown(hits, stored, request, most))


def _asked_there(
    query: StrategyQuery, key: ChannelKey, view: ChannelView, request: BuildRequest, limit: int
) -> StrategyQuery:
    """The question as it is put to another channel, as that was when it was asked."""
    end = int(view.columns.time_ms.searchsorted(query.asked_at_ms, side="right"))
    return replace(
        query,
        key=key,
        view=view,
        end=end,
        excluded=None,
        make_eligible=lambda: shared(view, request.viewer)[:end],
        recall_limit=limit,
        parent_row=-1,
        trigger_row=-1,
        lost_parent=-1,
        _eligible=[],
    )


def _words_in(view: ChannelView, sought: Sought, rows: NDArray[np.int32]) -> NDArray[np.float64]:
    """float64[k]: the share of the question's words that each row has, 0 to 1.

    It takes the place of BM25, which is larger in larger channels: so lines of several channels compare.
    """
    weights = dict(zip(sought.terms.tolist(), sought.boosts.tolist(), strict=True))
    weights.pop(-1, None)
    whole = max(len(own_words(sought.question, sought.named)), sum(weights.values()), 1.0)
    offsets, ids = view.columns.keyword_offsets, view.columns.keyword_ids
    found = [
        sum(weights.get(word, 0.0) for word in set(ids[offsets[row] : offsets[row + 1]].tolist()))
        for row in rows.tolist()
    ]
    return np.array(found, np.float64) / whole


def _shown(
    hits: Sequence[_Hit],
    stored: Mapping[str, Mapping[str, StoredMessage]],
    request: BuildRequest,
    most: int,
) -> Iterator[SharedLine]:
    seen: set[tuple[str, str]] = set()
    for hit in hits:
        row = stored[hit.channel.channel].get(hit.message_id)
        if row is None or len(seen) == most or not _may_be_shown(row, hit.member, request):
            continue
        copy = row.message.author.id, row.analysis.text.strip()
        if copy not in seen:
            seen.add(copy)
            score = link(np.array([hit.linear])).item()
            yield SharedLine(row, hit.channel.group, score, hit.linear, hit.shares)


def _may_be_shown(row: StoredMessage, member: Member | None, request: BuildRequest) -> bool:
    """Whether a row that its channel shares is there, and the viewer's and the asker's own rules let it be seen."""
    if row.state is not MessageState.LIVE or not request.viewer.may_see(row):
        return False
    if member is not None and not member.was_there(row.rank_time_ms):
        return False
    return not any(isinstance(part, ToolCallPart) for part in row.message.parts)


def _reason(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "TIMEOUT"
    if isinstance(error, SourceFailed):
        return error.reason
    if isinstance(error, BackscrollError):
        return error.reason.value
    log.warning("channels that share cannot be looked through", exc_info=error)
    return "ERROR"
