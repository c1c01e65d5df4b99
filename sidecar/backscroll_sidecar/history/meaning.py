"""Search by meaning across channels: of one user, or of the whole tenant. Only where the configuration permits it.

Who may read which channel is the platform's knowledge, not ours. So nothing is found outside the channel asked about
unless the operator said, for this tenant, that it may be.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from backscroll_sidecar.domain import ChannelKey, MessageState, StoredMessage
from backscroll_sidecar.errors import (
    InvalidRequest,
    NotAllowed,
    NotImplementedYet,
    Reason,
    StoreUnavailable,
)
from backscroll_sidecar.history.requests import check_id
from backscroll_sidecar.ports import Embedder, HistoryReader, ListQuery, ModelError, VectorSearch

CHANNELS_PAGE = 500


class Scope(IntEnum):
    """How far a search reaches, each one further than those before."""

    CHANNEL = 1
    USER = 2
    TENANT = 3


@dataclass(frozen=True, slots=True)
class MeaningHit:
    """A message found, with its cosine to the question."""

    stored: StoredMessage
    score: float


@dataclass(frozen=True, slots=True)
class MeaningHits:
    """What was found, best first, and whether every message was looked at exactly."""

    hits: list[MeaningHit]
    exhaustive: bool = True


class MeaningSearch:
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
        permitted: Mapping[str, Scope],
        embedder: Embedder | None = None,
        vectors: VectorSearch | None = None,
    ) -> None:
        self._reader = reader
        self._permitted = permitted
        self._embedder = embedder
        self._vectors = vectors

    async def find(
        self, tenant: str, scope: Scope, user_id: str, query: str, limit: int
    ) -> MeaningHits:
        """The `limit` most similar live messages, best first; a blank query finds none.

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
        if scope > self._permitted.get(tenant, Scope.CHANNEL):
            raise NotAllowed(
                f"the scope {scope.name} is not permitted: see the setting search_scopes",
                field="scope",
            )
        if scope is Scope.USER:
            if not user_id:
                raise InvalidRequest(
                    "user_id is empty", field="user_id", reason=Reason.MISSING_FIELD
                )
            check_id(user_id, "user_id")
        if self._embedder is None or self._vectors is None:
            raise NotImplementedYet("this server has no embedder", field="scope")
        if not query.strip():
            return MeaningHits([])
        try:
            vector = (await self._embedder.embed([query.strip()], is_query=True))[0]
        except ModelError as error:
            raise StoreUnavailable(
                f"the question cannot be embedded: {error.safe_reason}"
            ) from error
        found: list[tuple[float, str, int]] = []
        exhaustive = True
        async for key in self._channels(tenant, scope, user_id):
            info = await self._reader.channel_info(key)
            seqs = np.arange(1, info.last_seq + 1 if info else 1, dtype=np.int64)
            near = await self._vectors.nearest(key, seqs, np.ascontiguousarray(vector), limit)
            exhaustive &= near.exhaustive
            pairs = zip(near.values.tolist(), seqs[near.positions].tolist(), strict=True)
            found += [(value, key.channel, seq) for value, seq in pairs]
        found.sort(key=lambda one: (-one[0], one[1], -one[2]))
        return MeaningHits(await self._read(tenant, found[:limit]), exhaustive)

    async def _channels(self, tenant: str, scope: Scope, user_id: str) -> AsyncIterator[ChannelKey]:
        if scope is Scope.USER:
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

    async def _read(self, tenant: str, found: list[tuple[float, str, int]]) -> list[MeaningHit]:
        hits: list[MeaningHit] = []
        for score, channel, seq in found:
            query = ListQuery(limit=1, after_seq=seq - 1, before_seq=seq + 1)
            rows = await self._reader.list_messages(ChannelKey(tenant, channel), query)
            hits += [MeaningHit(row, score) for row in rows if row.state is MessageState.LIVE]
        return hits
