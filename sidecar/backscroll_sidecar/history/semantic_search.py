"""Search by meaning across channels: of one user, or of the whole tenant. Only where the configuration permits it.

Who may read which channel is the platform's knowledge, not ours. So nothing is found outside the channel asked about
unless the operator said, for this tenant, that it may be.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from backscroll_sidecar.allowed_channels import AllowedChannels
from backscroll_sidecar.concurrency.offload import INLINE_US
from backscroll_sidecar.concurrency.time_slicing import LoopSlices
from backscroll_sidecar.domain import ChannelKey, Member, MessageState, SearchScope, StoredMessage
from backscroll_sidecar.errors import (
    InvalidRequest,
    NotAllowed,
    NotImplementedYet,
    Reason,
    StoreUnavailable,
)
from backscroll_sidecar.history.reads import with_answered
from backscroll_sidecar.history.validate import check_id
from backscroll_sidecar.ports import (
    CatchUp,
    Embedder,
    HistoryReader,
    ListQuery,
    ModelError,
    NearestMessages,
    VectorSearch,
    WideHit,
    WideHits,
    nothing_to_catch_up,
)

CHANNELS_PAGE = 500
SLACK = 4
"""So many times what is wanted is looked at where some of it may not be shown."""


class SemanticSearch:
    """Finds messages by meaning. Safe to call from any task.

    Parameters
    ----------
    reader : the store.
    permitted : the widest scope of each tenant; a tenant that is not named may search single channels only.
    embedder, vectors : None where there is no semantic source.
    """

    def __init__(
        self,
        reader: HistoryReader,
        permitted: Mapping[str, SearchScope],
        embedder: Embedder | None = None,
        vectors: VectorSearch | None = None,
    ) -> None:
        self._reader = reader
        self._permitted = permitted
        self._embedder = embedder
        self._vectors = vectors
        self._catch_up: CatchUp = nothing_to_catch_up

    def follow(self, catch_up: CatchUp) -> None:
        """Bring caches up to what other servers wrote to channels before these are searched."""
        self._catch_up = catch_up

    async def find(
        self,
        tenant: str,
        scope: SearchScope,
        user_id: str,
        query: str,
        limit: int,
        allowed: AllowedChannels | None = None,
    ) -> WideHits:
        """The `limit` most similar live messages of the allowed channels, best first; a blank query finds none.

        Raises
        ------
        NotAllowed
            The tenant has no permission for this scope.
        InvalidRequest
            `user_id` is missing.
        NotImplementedYet
            There is no embedder.
        StoreUnavailable
            The store, or the embedder, cannot be reached now.
        """
        self.permit(tenant, scope)
        if scope is SearchScope.USER:
            if not user_id:
                raise InvalidRequest(
                    "user_id is empty", field="user_id", reason=Reason.MISSING_FIELD
                )
            check_id(user_id, "user_id")
        if self._embedder is None or self._vectors is None:
            raise NotImplementedYet("this server has no embedder", field="scope")
        if not query.strip():
            return WideHits([])
        try:
            vector = (await self._embedder.embed([query.strip()], is_query=True))[0]
        except ModelError as error:
            raise StoreUnavailable(
                f"the question cannot be embedded: {error.safe_reason}"
            ) from error
        return await self.nearest(
            tenant, scope, user_id, np.ascontiguousarray(vector), limit, allowed=allowed
        )

    def permit(self, tenant: str, scope: SearchScope) -> None:
        """Raise `NotAllowed` where the tenant has no permission for this scope."""
        if scope > self._permitted.get(tenant, SearchScope.CHANNEL):
            raise NotAllowed(
                f"the scope {scope.name} is not permitted: see the setting search_scopes",
                field="scope",
            )

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
        """The same for a vector of the question, float32[dims]. Permission is the caller's business (`permit`).

        `until_ms`: nothing later. `in_stays`: only what the user could see, being a member at that time.
        """
        if self._vectors is None:
            raise NotImplementedYet("this server has no embedder", field="scope")
        wanted = limit if until_ms is None and not in_stays else limit * SLACK
        found, slices = _Found(), LoopSlices()
        async for names in self._pages(tenant, scope, user_id, allowed):
            await self._catch_up(tenant, names)
            for channel in names:
                await slices.spend(INLINE_US)
                key = ChannelKey(tenant, channel)
                found.add(channel, await self._vectors.nearest_of_all(key, vector, wanted))
        may_see = _Visibility(self._reader, tenant, user_id, until_ms, in_stays)
        hits: list[WideHit] = []
        best = found.best()
        while len(hits) < limit and (next_ones := list(islice(best, limit - len(hits)))):
            rows = await asyncio.gather(*(self._row(tenant, *place) for place, _ in next_ones))
            for (_, score), row in zip(next_ones, rows, strict=True):
                if row is not None and await may_see.check(row):
                    hits.append(WideHit(row, score))
        told = await with_answered(self._reader, tenant, [hit.stored for hit in hits])
        scored = zip(told, hits, strict=True)
        return WideHits([WideHit(row, hit.score) for row, hit in scored], found.exhaustive)

    async def _row(self, tenant: str, channel: str, seq: int) -> StoredMessage | None:
        query = ListQuery(limit=1, after_seq=seq - 1, before_seq=seq + 1)
        found = await self._reader.list_messages(ChannelKey(tenant, channel), query)
        return found[0] if found else None

    async def _pages(
        self, tenant: str, scope: SearchScope, user_id: str, allowed: AllowedChannels | None
    ) -> AsyncIterator[Sequence[str]]:
        """The names of the allowed channels in scope, so many at a time."""
        if scope is SearchScope.USER:
            names = await self._reader.channels_of_user(tenant, user_id)
            yield names if allowed is None else allowed.among(names)
            return
        after = ""
        while names := await self._reader.channels_of_tenant(tenant, after, CHANNELS_PAGE):
            yield names if allowed is None else allowed.among(names)
            after = names[-1]


class _Found:
    """What was found in each channel, in the order of their names."""

    def __init__(self) -> None:
        self.exhaustive = True
        self._channels: list[str] = []
        self._near: list[NearestMessages] = []

    def add(self, channel: str, near: NearestMessages) -> None:
        self._channels.append(channel)
        self._near.append(near)
        self.exhaustive &= near.exhaustive

    def best(self) -> Iterator[tuple[tuple[str, int], float]]:
        """Channel, number and cosine, best first; of equal ones by channel, the later first."""
        if not self._near:
            return
        values = np.concatenate([near.values for near in self._near])
        seqs = np.concatenate([near.seqs for near in self._near])
        of = np.repeat(np.arange(len(self._near)), [len(near.seqs) for near in self._near])
        for place in np.lexsort((-seqs, of, -values)).tolist():
            yield (self._channels[of.item(place)], seqs.item(place)), values.item(place)


class _Visibility:
    """Which messages may be shown: live ones, not after `until_ms`; with `in_stays` what the user could see."""

    def __init__(
        self, reader: HistoryReader, tenant: str, user_id: str, until_ms: int | None, in_stays: bool
    ) -> None:
        self._reader = reader
        self._tenant = tenant
        self._user_id = user_id
        self._until_ms = until_ms
        self._in_stays = in_stays
        self._members: dict[str, Member | None] = {}

    async def check(self, row: StoredMessage) -> bool:
        """Whether this one may."""
        if row.state is not MessageState.LIVE:
            return False
        if self._until_ms is not None and row.rank_time_ms > self._until_ms:
            return False
        if not self._in_stays:
            return True
        channel = row.message.channel
        if channel not in self._members:
            everybody = await self._reader.members(ChannelKey(self._tenant, channel))
            self._members[channel] = next(
                (one for one in everybody if one.user_id == self._user_id), None
            )
        member = self._members[channel]
        return member is not None and member.was_there(row.rank_time_ms)
