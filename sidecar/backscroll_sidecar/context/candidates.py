"""What the sources propose, united: candidates, each once. A source that fails drops out, named."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Awaitable, Mapping, Sequence
from functools import lru_cache
from time import monotonic

import msgspec
import numpy as np
import structlog
from msgspec.structs import replace
from numpy.typing import NDArray

from backscroll_scoring import look_at_rows, unite
from backscroll_sidecar.concurrency.deadline import OWN_FAULTS, Deadline, is_call_ending
from backscroll_sidecar.context.history_search import HistoryHits
from backscroll_sidecar.context.profiles import Profile
from backscroll_sidecar.context.tool_exchanges import (
    NO_EXCHANGES,
    Exchanges,
    OrphanCalls,
    with_whole_exchanges,
)
from backscroll_sidecar.domain import Category, Degradation
from backscroll_sidecar.strategies import (
    NOTHING,
    Chain,
    Empty,
    Messages,
    Preferences,
    Recent,
    SourceFailed,
    Strategy,
    StrategyQuery,
)

log = structlog.get_logger(__name__)

RESULTS = (Messages, Preferences, Empty)
OLDER = ("asker", "mention")
"""The sources of older rows: of the asker; of who is named, and of who names the asker."""
HISTORY_SOURCES = ("lexical", "semantic", "recall")
"""The sources of rows of the history: found by words, by meaning, and what stands beside such a row."""
ADDED = (*OLDER, *HISTORY_SOURCES)
SOURCE_SHARE = 0.5
"""Of the time left, what one source that waits may take: the next ones and the ranking need some, too."""
MOST_HELD_S = 0.05
"""A source that takes longer before it waits is told of in the log: nobody else is served meanwhile."""
LONG_RUN_ROWS = 2048
"""So many candidates are a part of a longer run that is kept; fewer are put together each time."""
_SEMANTIC = Category.SEMANTIC
_NO_ROWS, _FOUND_BY_NOTHING = np.empty(0, np.int32), np.empty((2, 0), np.bool_)
NO_CANDIDATES = _NO_ROWS, np.empty(0, np.uint32), np.empty(0, np.bool_)
"""Rows, their sources and which are references, of none."""


class Proposed(msgspec.Struct, frozen=True, eq=False):
    """The messages one source proposed, as far as they may be candidates.

    Attributes
    ----------
    bit : int
        The source's place among those asked.
    rows : int32[k]
        Rows of the view, as the source gave them.
    scores : float64[k] or None
        How good each is in the source's own unit, finite; None: the newest is the best.
    reference : bool
        What nobody else proposes is shown as a reference.
    ascending : bool
        Whether the rows ascend without repeats.
    """

    bit: int
    source: str
    rows: NDArray[np.int32]
    scores: NDArray[np.float64] | None
    reference: bool
    ascending: bool


class Gathered(msgspec.Struct, frozen=True, eq=False):
    """Candidates, each once, with everything that proposed it.

    Attributes
    ----------
    rows : int32[m]
        Ascending rows of the view.
    source_bits : uint32[m]
        Bit i: proposed by the i-th of `sources`.
    semantic : bool[m]
        Shown as a reference; a row that any source proposed as recent is not.
    exchanges : Exchanges
        Tool exchanges among the candidates, each whole: a source that proposed one message of it proposed all.
    exhaustive : bool
        False when a source found its rows by an approximate search.
    proposed : tuple of Proposed
        What each source that was asked and had messages said, in their order.
    """

    rows: NDArray[np.int32]
    source_bits: NDArray[np.uint32]
    semantic: NDArray[np.bool_]
    sources: tuple[str, ...]
    preferences: tuple[str, ...] = ()
    degradations: tuple[Degradation, ...] = ()
    exchanges: Exchanges = NO_EXCHANGES
    exhaustive: bool = True
    proposed: tuple[Proposed, ...] = ()

    @property
    def lost_sources(self) -> frozenset[str]:
        """The sources that could not be asked."""
        return frozenset(one.source for one in self.degradations)

    def sources_in(self, bits: int) -> tuple[str, ...]:
        """The names of the sources that `source_bits` of this value stand for."""
        return _names(self.sources, bits)


@lru_cache(maxsize=1024)
def _names(sources: tuple[str, ...], bits: int) -> tuple[str, ...]:
    return tuple(name for i, name in enumerate(sources) if bits >> i & 1)


async def gather(
    profile: Profile,
    strategies: Mapping[str, Strategy],
    query: StrategyQuery,
    answered: int,
    deadline: Deadline,
) -> Gathered:
    """Ask the profile's sources in order. Raises nothing: what fails is named in `degradations`.

    What only `references` propose is shown as a reference, whatever they say themselves. `answered`: the row that the
    question replies to by the platform's edge, -1 none.
    """
    proposed: list[Proposed] = []
    preferences: list[str] = []
    degradations: list[Degradation] = []
    exhaustive, began_s = True, monotonic()
    for bit, name in enumerate(profile.sources):
        if name not in strategies:
            degradations.append(Degradation("gather", "NOT_CONFIGURED", name))
            continue
        try:
            result: object = strategies[name].gather(query)
            now_s = monotonic()
            held_s, began_s = now_s - began_s, now_s
            if held_s > MOST_HELD_S:
                log.warning("a source held up all calls", source=name, held_ms=int(held_s * 1e3))
            if result is NOTHING:  # most sources, of most questions
                continue
            if not isinstance(result, RESULTS) and isinstance(result, Awaitable):
                result = await deadline.bound(result, SOURCE_SHARE)
                began_s = monotonic()
            if isinstance(result, Messages):
                proposed.append(_proposed_by(bit, name, result, query, name in profile.references))
                exhaustive &= result.exhaustive
            elif isinstance(result, Preferences):
                preferences.extend(filter(None, map(str.strip, result.lines)))
            elif not isinstance(result, Empty):
                raise TypeError(f"{type(result).__name__} is no result of a strategy")
        except OWN_FAULTS as error:
            degradations.append(_fault_of(name, error))
    gathered = _united(proposed, profile.sources, tuple(preferences), tuple(degradations))
    if not exhaustive:
        gathered = replace(gathered, exhaustive=False)
    if profile.keep_answered and 0 <= answered < query.end and query.may_be(answered):
        gathered = _with_answered(gathered, answered)
    return gathered


def _fault_of(name: str, error: BaseException) -> Degradation:
    """What became of a source: anybody's code costs only itself. Raises `error` where the call itself ends."""
    if is_call_ending(error):
        raise error
    reason = "ERROR"
    if isinstance(error, TimeoutError):
        reason = "TIMEOUT"
    elif isinstance(error, SourceFailed):
        reason = error.reason
    else:
        log.warning("source failed", source=name, error=type(error).__name__, exc_info=error)
    return Degradation("gather", reason, name)


def _proposed_by(
    bit: int, source: str, result: Messages, query: StrategyQuery, reference: bool
) -> Proposed:
    """What a source proposed, what may not be a candidate left out. Raises `SourceFailed` for what is no proposal."""
    if not isinstance(result.category, Category):
        raise SourceFailed("BAD_CATEGORY")
    reference = reference or result.category is _SEMANTIC
    given = result.rows
    if (
        isinstance(given, range)
        and given.step == 1
        and result.scores is None
        and not result.message_ids
    ):
        rows = _eligible_between(query, given.start, given.stop)
        return Proposed(bit, source, rows, None, reference, ascending=True)
    rows = np.ascontiguousarray(result.rows, np.int32)
    if result.message_ids:
        named = [query.view.row_of(message_id) for message_id in result.message_ids]
        rows = np.concatenate([rows, np.array(named, np.int32)])
    scores = None if result.scores is None else np.asarray(result.scores, np.float64)
    if scores is not None and not (scores.shape == rows.shape and np.isfinite(scores).all()):
        raise SourceFailed("BAD_SCORES")
    allowed, ascending = look_at_rows(rows, query.eligible)
    if not allowed:
        places = np.flatnonzero((rows >= 0) & (rows < query.end))
        places = places[query.eligible[rows[places]]]
        rows, scores = rows[places], None if scores is None else scores[places]
    return Proposed(bit, source, rows, scores, reference, ascending)


def _eligible_between(query: StrategyQuery, first: int, last: int) -> NDArray[np.int32]:
    """Of the rows from `first` to before `last` those that may be candidates: read-only where they are a run."""
    first, last = max(first, 0), max(first, 0, min(last, query.end))
    excluded = query.excluded
    if excluded is None:
        return np.flatnonzero(query.eligible[first:last]).astype(np.int32) + np.int32(first)
    while last > first and last - 1 in excluded:  # most often the question itself
        last -= 1
    missing = excluded[: bisect_left(excluded, last)]
    before = bisect_left(missing, first)
    if last - first >= LONG_RUN_ROWS and before < len(missing):
        return _counted(last.bit_length(), missing)[first - before : last - len(missing)]
    rows = _counted(last.bit_length())
    if before == len(missing):
        return rows[first:last]
    within = missing[before:]
    runs = zip((first, *(row + 1 for row in within)), (*within, last), strict=True)
    return np.concatenate([rows[begin:end] for begin, end in runs])


@lru_cache(maxsize=16)
def _counted(bits: int, missing: tuple[int, ...] = ()) -> NDArray[np.int32]:
    """0, 1, 2 … all numbers of so many bits without those missing: made once, read-only."""
    out = np.delete(np.arange(1 << bits, dtype=np.int32), missing)
    out.flags.writeable = False
    return out


def _with_answered(gathered: Gathered, row: int) -> Gathered:
    """The candidates with the row that the question replies to: part of the talk, whoever proposed it."""
    rows, bits, semantic = gathered.rows, gathered.source_bits, gathered.semantic
    place = int(rows.searchsorted(row))
    is_there = place < len(rows) and rows.item(place) == row
    if is_there and not semantic[place]:
        return gathered
    sources = gathered.sources
    if Chain.name not in sources:
        sources += (Chain.name,)
    bit = np.uint32(1 << sources.index(Chain.name))
    if is_there:
        bits, semantic = bits.copy(), semantic.copy()
        bits[place] |= bit
        semantic[place] = False
    else:
        rows, bits = np.insert(rows, place, row), np.insert(bits, place, bit)
        semantic = np.insert(semantic, place, False)
    return replace(gathered, rows=rows, source_bits=bits, semantic=semantic, sources=sources)


def with_found(
    gathered: Gathered,
    query: StrategyQuery,
    older: NDArray[np.int32],
    alike: NDArray[np.int32],
    hits: HistoryHits | None,
) -> Gathered:
    """The candidates with the older messages that the reply model looked at, and with the best of the history.

    The older ones are of the asker, of who is named, of who names the asker, or `alike`: of the same rare words. They
    are part of the talk, unless the history found them, too: what of it no source proposes is shown as a reference.
    """
    sources = gathered.sources
    if Recent.name not in sources:
        older = alike = _NO_ROWS
    far, found_by = _NO_ROWS, _FOUND_BY_NOTHING
    degradations, exhaustive = gathered.degradations, gathered.exhaustive
    if hits is not None:
        far, found_by = hits.memory.rows, hits.memory.found_by
        degradations += hits.degradations
        exhaustive = exhaustive and hits.exhaustive
    elif not len(older):
        return gathered
    rows, bits, semantic, present = unite(
        (gathered.rows, gathered.source_bits, gathered.semantic),
        query.view.columns.author,
        older,
        alike,
        far,
        found_by,
        _numbers_of_added(sources),
        query.view.people.index.get(query.user_id, -1),
        len(sources),
    )
    return Gathered(
        rows, bits, semantic, _with_added(sources, present), gathered.preferences, degradations,
        gathered.exchanges, exhaustive, gathered.proposed,
    )  # fmt: skip


@lru_cache(maxsize=256)
def _numbers_of_added(sources: tuple[str, ...]) -> tuple[int, ...]:
    """The number among those asked of each source of `ADDED`, -1 for one that was not; of the history's always."""
    asked = [sources.index(name) if name in sources else -1 for name in OLDER]
    return (*asked, *[-1] * len(HISTORY_SOURCES))


@lru_cache(maxsize=256)
def _with_added(sources: tuple[str, ...], present: int) -> tuple[str, ...]:
    """The sources with those of `ADDED` that have rows."""
    added = [name for i, name in enumerate(ADDED) if present >> i & 1]
    return sources + tuple(one for one in added if one in HISTORY_SOURCES or one not in sources)


def with_rest_as_references(gathered: Gathered) -> Gathered:
    """The candidates of which only the newest messages, `Recent`'s, are part of the talk."""
    recent = np.uint32(1 << gathered.sources.index(Recent.name))
    return replace(gathered, semantic=gathered.source_bits & recent == 0)


def with_exchanges(gathered: Gathered, query: StrategyQuery, policy: OrphanCalls) -> Gathered:
    """The candidates with the rest of their tool exchange; without tool messages if these cannot be made out."""
    try:
        if not query.view.tool_rows(gathered.rows):
            return gathered
        rows, origins, exchanges = with_whole_exchanges(
            query.view, query.eligible, gathered.rows, policy
        )
        return replace(
            gathered,
            rows=rows,
            source_bits=gathered.source_bits[origins],
            semantic=gathered.semantic[origins],
            exchanges=exchanges,
        )
    except Exception as error:
        log.warning("tool exchange failed", error=type(error).__name__, exc_info=True)
        view = query.view
        tools = {p for p, row in enumerate(gathered.rows.tolist()) if view.is_tool_message(row)}
        lost = Degradation("gather", "ERROR", "rounds")
        return replace(
            gathered,
            exchanges=Exchanges(dict(zip(tools, tools, strict=True)), frozenset(tools)),
            degradations=(*gathered.degradations, lost),
        )


def _united(
    proposed: Sequence[Proposed],
    sources: tuple[str, ...],
    preferences: tuple[str, ...],
    degradations: tuple[Degradation, ...],
) -> Gathered:
    if not proposed:
        return Gathered(*NO_CANDIDATES, sources, preferences, degradations)
    if len(proposed) == 1 and proposed[0].ascending:
        (only,) = proposed
        rows = only.rows
        bits, semantic = _of_one_source(len(rows), only.bit, only.reference)
    else:
        marks = [np.full(len(p.rows), 1 << p.bit, np.uint32) for p in proposed]
        rows, bits = _each_once(np.concatenate([p.rows for p in proposed]), np.concatenate(marks))
        talk = sum(1 << p.bit for p in proposed if not p.reference)
        semantic = bits & np.uint32(talk) == 0
    return Gathered(
        rows, bits, semantic, sources, preferences, degradations, proposed=tuple(proposed)
    )


@lru_cache(maxsize=64)
def _of_one_source(
    count: int, bit: int, reference: bool
) -> tuple[NDArray[np.uint32], NDArray[np.bool_]]:
    """The bits and marks of rows that one source alone proposed: read-only, one value in so many places."""
    bits, marks = np.full(count, 1 << bit, np.uint32), np.full(count, reference)
    bits.flags.writeable = marks.flags.writeable = False
    return bits, marks


def _each_once(
    rows: NDArray[np.int32], marks: NDArray[np.uint32]
) -> tuple[NDArray[np.int32], NDArray[np.uint32]]:
    """The rows ascending, each once, with the marks of all its places."""
    if (rows[1:] > rows[:-1]).all():
        return rows, marks
    keys = rows.astype(np.int64) << 32 | marks
    keys.sort()
    rows = (keys >> 32).astype(np.int32)
    starts = np.flatnonzero(np.append(True, rows[1:] != rows[:-1]))
    return rows[starts], np.bitwise_or.reduceat(keys, starts).astype(np.uint32)
