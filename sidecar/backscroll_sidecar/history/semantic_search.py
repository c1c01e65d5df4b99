"""Search by meaning across channels: of one user, or of the whole tenant. Only where the configuration permits it.

Who may read which channel is the platform's knowledge, not ours. So nothing is found outside the channel asked about
unless the operator said, for this tenant, that it may be.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping

import numpy as np
from numpy.typing import NDArray

from backscroll_sidecar.allowed_channels import AllowedChannels, is_allowed
from backscroll_sidecar.domain import ChannelKey, Member, MessageState, SearchScope
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
    Embedder,
    HistoryReader,
    ListQuery,
    ModelError,
    VectorSearch,
    WideHit,
    WideHits,
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
        is_narrowed = until_ms is not None or in_stays
        wanted = limit * SLACK if is_narrowed else limit
        found: list[tuple[float, str, int]] = []
        exhaustive = True
        async for key in self._channels(tenant, scope, user_id):
            if not is_allowed(key.channel, allowed):
                continue
            info = await self._reader.channel_info(key)
            seqs = np.arange(1, info.last_seq + 1 if info else 1, dtype=np.int64)
            near = await self._vectors.nearest(key, seqs, vector, wanted)
            exhaustive &= near.exhaustive
            pairs = zip(near.values.tolist(), seqs[near.positions].tolist(), strict=True)
            found += [(value, key.channel, seq) for value, seq in pairs]
        found.sort(key=lambda one: (-one[0], one[1], -one[2]))
        hits: list[WideHit] = []
        members: dict[str, Member | None] = {}
        for score, channel, seq in found:
            if len(hits) == limit:
                break
            here = ChannelKey(tenant, channel)
            query = ListQuery(limit=1, after_seq=seq - 1, before_seq=seq + 1)
            for row in await self._reader.list_messages(here, query):
                if row.state is not MessageState.LIVE or (
                    until_ms is not None and row.rank_time_ms > until_ms
                ):
                    continue
                if in_stays:
                    if channel not in members:
                        members[channel] = await self._member(here, user_id)
                    member = members[channel]
                    if member is None or not member.was_there(row.rank_time_ms):
                        continue
                hits.append(WideHit(row, score))
        rows = await with_answered(self._reader, tenant, [hit.stored for hit in hits])
        scored = zip(rows, hits, strict=True)
        return WideHits([WideHit(row, hit.score) for row, hit in scored], exhaustive)

    async def _member(self, key: ChannelKey, user_id: str) -> Member | None:
        everybody = await self._reader.members(key)
        return next((one for one in everybody if one.user_id == user_id), None)

    async def _channels(
        self, tenant: str, scope: SearchScope, user_id: str
    ) -> AsyncIterator[ChannelKey]:
        if scope is SearchScope.USER:
            for channel in await self._reader.channels_of_user(tenant, user_id):
                yield ChannelKey(tenant, channel)
            return
        after = ChannelKey(tenant, "")
        while page := await self._reader.channels(after, CHANNELS_PAGE):
            for key in page:
                if key.tenant != tenant:
                    return
                yield key
            after = page[-1]
