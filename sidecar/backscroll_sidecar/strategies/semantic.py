"""Messages of any age with a meaning similar to the question."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from backscroll_sidecar.allowed_channels import AllowedChannels
from backscroll_sidecar.channels import LIVE
from backscroll_sidecar.domain import Category, ChannelKey, SearchScope
from backscroll_sidecar.ports import (
    Comparison,
    Embedder,
    ModelError,
    ModelFault,
    Similarities,
    VectorSearch,
    WideHits,
    WideSearch,
)
from backscroll_sidecar.strategies.base import (
    NOTHING,
    Messages,
    SourceFailed,
    StrategyQuery,
    StrategyResult,
)

_NOTE = "semantic.questions"
_LOADING = "EMBEDDER_LOADING"
_REASONS = {ModelFault.LOADING: _LOADING, ModelFault.TIMEOUT: "TIMEOUT"}


class Semantic:
    """Source of candidates by meaning.

    Parameters
    ----------
    embedder : embeds the question when the request has no vector.
    vectors : the stored vectors of the same embedder.
    wide : searches other channels; None: only the question's own.
    """

    name = "semantic"

    def __init__(
        self,
        embedder: Embedder,
        vectors: VectorSearch,
        *,
        wide: WideSearch | None = None,
    ) -> None:
        self._embedder = embedder
        self._vectors = vectors
        self._wide = wide

    async def gather(self, query: StrategyQuery) -> StrategyResult:
        """The `semantic_limit` eligible live rows most similar to the question.

        Raises `SourceFailed` when the question cannot be embedded.
        """
        rows = _live_rows(query)
        if query.semantic_limit <= 0 or len(rows) == 0:
            return NOTHING
        vector = await self._vector_to_compare(query)
        if vector is None:
            return NOTHING
        limit, parts = query.semantic_limit, _by_channel(query, rows)
        found = [await self._vectors.nearest(p.key, p.seqs, vector, limit) for p in parts]
        positions = [p.places[one.positions] for p, one in zip(parts, found, strict=True)]
        places, values = np.concatenate(positions), np.concatenate([one.values for one in found])
        if len(parts) > 1:  # of equal ones the later
            best = np.lexsort((-places, -values))[:limit]
            places, values = places[best], values[best]
        if len(places) == 0:
            return NOTHING
        return Messages(
            Category.SEMANTIC,
            rows[places],
            exhaustive=all(one.exhaustive for one in found),
            scores=values.astype(np.float64),
        )

    async def question_vector(self, query: StrategyQuery) -> NDArray[np.float32] | None:
        """float32[dims]: the vector of what is asked, made at most once a build and text; None without a text to embed.

        A vector that came with the request is taken as it is. Raises `SourceFailed`.
        """
        made: dict[str, NDArray[np.float32] | SourceFailed | None] = query.notes.setdefault(
            _NOTE, {}
        )
        if query.question not in made:
            made[query.question] = await self._make_vector(query)
        vector = made[query.question]
        if isinstance(vector, SourceFailed):
            raise vector
        return vector

    async def compare(self, query: StrategyQuery) -> Comparison | None:
        """The cosine of the question to each of the first `end` rows of the view, ready to be computed; None without a
        question's vector.

        For ranking: values are NaN where a row has no vector. Raises `SourceFailed`.
        """
        vector = await self._vector_to_compare(query)
        if vector is None:
            return None
        if not query.view.origins:
            return await self._vectors.compare(query.key, query.view.seq[: query.end], vector)
        parts = _by_channel(query, np.arange(query.end, dtype=np.int32))
        compared = [await self._vectors.compare(p.key, p.seqs, vector) for p in parts]
        return _united(parts, compared, query.end)

    async def elsewhere(
        self,
        query: StrategyQuery,
        scope: SearchScope,
        *,
        in_stays: bool,
        allowed: AllowedChannels | None = None,
    ) -> WideHits:
        """Of the `semantic_limit` messages in scope most similar to the question, those of other allowed channels.

        With USER, or `in_stays`, only what the asker could see. Raises `SourceFailed`, `NotAllowed` and
        `StoreUnavailable`.
        """
        if self._wide is None:
            raise SourceFailed("NOT_CONFIGURED")
        tenant, user_id, limit = query.key.tenant, query.user_id, query.semantic_limit
        self._wide.permit(tenant, scope)
        in_stays |= scope is SearchScope.USER
        if in_stays and not user_id:
            raise SourceFailed("NO_ASKER")
        vector = await self.question_vector(query) if limit > 0 else None
        if vector is None:
            return WideHits(())
        found = await self._wide.nearest(
            tenant, scope, user_id, vector, limit,
            until_ms=query.asked_at_ms, in_stays=in_stays, allowed=allowed,
        )  # fmt: skip
        hits = [hit for hit in found.hits if hit.stored.message.channel != query.key.channel]
        return found._replace(hits=hits)

    async def _vector_to_compare(self, query: StrategyQuery) -> NDArray[np.float32] | None:
        """As `question_vector`, but None while the embedder loads and the view has no vectors anyway."""
        try:
            return await self.question_vector(query)
        except SourceFailed as failed:
            if failed.reason != _LOADING or await self._has_vectors(query):
                raise
            return None

    async def _has_vectors(self, query: StrategyQuery) -> bool:
        """Whether a row of the view has a vector; true while that is unknown."""
        if not self._embedder.dims:
            return True
        anything = np.ones(self._embedder.dims, np.float32)
        for part in _by_channel(query, np.arange(query.end, dtype=np.int32)):
            compared = await self._vectors.compare(part.key, part.seqs, anything)
            if (await asyncio.to_thread(compared.make)).known:
                return True
        return False

    async def _make_vector(self, query: StrategyQuery) -> NDArray[np.float32] | SourceFailed | None:
        text = query.question.strip()
        if not text:
            return None
        given = query.query_embedding
        if given is not None and given.embedder_id == self._embedder.id:
            if isinstance(given.values, memoryview):  # as it came: no copy
                return np.frombuffer(given.values, np.float32)
            return np.array(given.values, np.float32)
        try:
            vectors = await self._embedder.embed([text], is_query=True)
        except ModelError as error:
            return SourceFailed(_REASONS.get(error.fault, "EMBEDDER_FAILED"))
        return np.ascontiguousarray(vectors[0])


class _Part(NamedTuple):
    """Rows of one channel: their places among those asked about, intp[k], and their arrival numbers, int64[k]."""

    key: ChannelKey
    places: NDArray[np.intp]
    seqs: NDArray[np.int64]


def _by_channel(query: StrategyQuery, rows: NDArray[np.int32]) -> list[_Part]:
    """The rows by the channel they are of: vectors are numbered within one. One part at least."""
    seqs, origins = query.view.seq[rows], query.view.origins
    if not origins:
        return [_Part(query.key, np.arange(len(rows)), seqs)]
    places: dict[str, list[int]] = {}
    for place, seq in enumerate(seqs.tolist()):
        places.setdefault(origins[seq - 1][0], []).append(place)
    return [
        _Part(
            ChannelKey(query.key.tenant, channel),
            np.array(some),
            np.array([origins[seqs.item(place) - 1][1] for place in some], np.int64),
        )
        for channel, some in places.items()
    ]


def _united(parts: Sequence[_Part], compared: Sequence[Comparison], count: int) -> Comparison:
    """One comparison of `count` rows out of those of their channels."""

    def make() -> Similarities:
        values = np.full(count, np.nan, np.float32)
        made = [one.make() for one in compared]
        for part, one in zip(parts, made, strict=True):
            values[part.places] = one.values
        known = sum(one.known for one in made)
        return Similarities(values, known, exhaustive=all(one.exhaustive for one in made))

    return Comparison(sum(one.us for one in compared), make)


def _live_rows(query: StrategyQuery) -> NDArray[np.int32]:
    """int32[m]: the rows that may be candidates and are neither recalled nor partial."""
    live = query.eligible
    if not query.view.all_live:
        live = live & (query.view.state[: query.end] == LIVE)
    return np.flatnonzero(live).astype(np.int32)
