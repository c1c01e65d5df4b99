"""Run the strategies in their order and unite what they propose. A source that fails drops out, named."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from functools import lru_cache, partial
from time import monotonic

import msgspec
import numpy as np
import structlog
from msgspec.structs import replace
from numpy.typing import NDArray

from backscroll_scoring import with_marked
from backscroll_sidecar.channels import ChannelView
from backscroll_sidecar.concurrency.deadline import OWN_FAULTS, Deadline, is_call_ending
from backscroll_sidecar.concurrency.offload import INLINE_US, run
from backscroll_sidecar.context.model import BuildRequest
from backscroll_sidecar.context.profiles import Profile
from backscroll_sidecar.context.proposals import Proposed, proposed_by
from backscroll_sidecar.context.question import Question
from backscroll_sidecar.context.tool_exchanges import (
    NO_EXCHANGES,
    Exchanges,
    OrphanCalls,
    find_exchanges,
    missing_members,
)
from backscroll_sidecar.domain import Degradation
from backscroll_sidecar.ports import HistoryReader
from backscroll_sidecar.strategies import (
    NOTHING,
    Chain,
    Empty,
    Messages,
    Preferences,
    SourceFailed,
    Strategy,
    StrategyQuery,
)

log = structlog.get_logger(__name__)

RESULTS = (Messages, Preferences, Empty)
ANSWERED = (Chain.name,)
"""The source of what the question replies to where none that was asked proposed it."""
SOURCE_SHARE = 0.5
"""Of the time left, what one source that waits may take: the next ones and the ranking need some, too."""
MOST_HELD_S = 0.05
"""A source that takes longer before it waits is told of in the log: nobody else is served meanwhile."""


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


def places_of(rows: NDArray[np.int32], among: NDArray[np.int32]) -> NDArray[np.intp]:
    """intp[k]: where each of `rows` stands among ascending rows, -1 where it does not."""
    places = among.searchsorted(rows)
    if len(among) == 0:
        return places - 1
    places[among[np.minimum(places, len(among) - 1)] != rows] = -1
    return places


def with_sources(
    gathered: Gathered, rows: NDArray[np.int32], marks: NDArray[np.uint8], names: tuple[str, ...]
) -> Gathered:
    """The candidates with ascending rows of more sources: bit i of a row's mark, `names[i]` proposed it.

    Sources without rows are left out.
    """
    sources, bits_of = _added(gathered.sources, names, int(np.bitwise_or.reduce(marks)))
    united, bits, semantic = with_marked(
        gathered.rows,
        gathered.source_bits,
        gathered.semantic,
        rows,
        bits_of[marks],
        flag=False,
    )
    return Gathered(
        united,
        bits,
        semantic,
        sources,
        gathered.preferences,
        gathered.degradations,
        gathered.exchanges,
        gathered.exhaustive,
        gathered.proposed,
    )


@lru_cache(maxsize=256)
def _added(
    sources: tuple[str, ...], names: tuple[str, ...], present: int
) -> tuple[tuple[str, ...], NDArray[np.uint32]]:
    """The sources with those of `names` that are present, each once, and the bits among them of every set of names."""
    out, bits_of = sources, np.zeros(1 << len(names), np.uint32)
    for i, name in enumerate(names):
        if present >> i & 1:
            having = np.arange(len(bits_of)) >> i & 1 != 0
            if name not in out:
                out += (name,)
            bits_of[having] |= np.uint32(1 << out.index(name))
    return out, bits_of


async def gather(
    sources: Sequence[str],
    strategies: Mapping[str, Strategy],
    query: StrategyQuery,
    deadline: Deadline,
    *,
    references: Collection[str] = (),
) -> Gathered:
    """Ask every source in order. Raises nothing: what fails is named in `degradations`.

    What only `references` propose is shown as a reference, whatever they say themselves.
    """
    proposed: list[Proposed] = []
    preferences: list[str] = []
    degradations: list[Degradation] = []
    exhaustive, began_s = True, monotonic()
    for bit, name in enumerate(sources):
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
                proposed.append(proposed_by(bit, name, result, query, name in references))
                exhaustive &= result.exhaustive
            elif isinstance(result, Preferences):
                preferences.extend(filter(None, map(str.strip, result.lines)))
            elif not isinstance(result, Empty):
                raise TypeError(f"{type(result).__name__} is no result of a strategy")
        except OWN_FAULTS as error:
            degradations.append(_fault_of(name, error))
    united = _united(proposed, tuple(sources), tuple(preferences), tuple(degradations))
    if not exhaustive:
        united = replace(united, exhaustive=False)
    return united


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


def with_answered(gathered: Gathered, query: StrategyQuery, row: int) -> Gathered:
    """The candidates with the row that the question replies to, -1 none: part of the talk, whoever proposed it."""
    if not 0 <= row < query.end or not query.may_be(row):
        return gathered
    at = np.array([row], np.int32)
    place = places_of(at, gathered.rows).item()
    if place >= 0 and not gathered.semantic[place]:
        return gathered
    gathered = with_sources(gathered, at, np.ones(1, np.uint8), ANSWERED)
    semantic = gathered.semantic.copy()
    semantic[places_of(at, gathered.rows)] = False
    return replace(gathered, semantic=semantic)


def with_exchanges(gathered: Gathered, query: StrategyQuery, policy: OrphanCalls) -> Gathered:
    """The candidates with the rest of their tool exchange; without tool messages if these cannot be made out."""
    try:
        if not query.view.tool_rows(gathered.rows):
            return gathered
        return _completed(gathered, query, policy)
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
        none = np.empty(0, np.int32)
        return Gathered(
            none, none.astype(np.uint32), none.astype(np.bool_), sources, preferences, degradations
        )
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


def _completed(gathered: Gathered, query: StrategyQuery, policy: OrphanCalls) -> Gathered:
    """The candidates with the rest of their tool exchanges: what is missing comes from whoever proposed a part."""
    place_of = {row: place for place, row in enumerate(gathered.rows.tolist())}
    missing = missing_members(query.view, query.eligible, gathered.rows)
    because = np.array([place_of[row] for row in missing.values()], np.intp)
    rows = np.concatenate([gathered.rows, np.array(list(missing), np.int32)])
    order = np.argsort(rows)
    rows = rows[order]
    return replace(
        gathered,
        rows=rows,
        source_bits=np.append(gathered.source_bits, gathered.source_bits[because])[order],
        semantic=np.append(gathered.semantic, gathered.semantic[because])[order],
        exchanges=find_exchanges(query.view, query.eligible, rows, policy),
    )


async def strategy_query(
    store: HistoryReader,
    request: BuildRequest,
    profile: Profile,
    view: ChannelView,
    question: Question,
    text: str | None = None,
) -> StrategyQuery:
    """What `strategies` are asked with; `text`: in the place of the question's own."""
    return StrategyQuery(
        store=store,
        key=request.key,
        view=view,
        end=question.end,
        excluded=question.excluded(view),
        make_eligible=await _eligible_rows(question, view),
        user_id=question.asker.id if question.asker else "",
        question=question.text if text is None else text,
        asked_at_ms=question.asked_at_ms,
        parent_row=question.parent_row if profile.follow_inferred else question.explicit_parent_row,
        preferences=request.preferences,
        recent_limit=profile.recent_limit,
        window_limit=profile.window_limit,
        window_hours=profile.window_hours,
        thread_limit=profile.thread_limit,
        semantic_limit=profile.semantic_limit,
        recall_limit=profile.recall_limit,
        follow_inferred=profile.follow_inferred,
        query_embedding=request.query_embedding,
        trigger_row=question.trigger_row,
        self_ids=request.self_ids,
        thread_id=question.thread_id,
        lost_parent=question.lost_parent,
        mentioned=question.mentioned,
    )


async def _eligible_rows(question: Question, view: ChannelView) -> Callable[[], NDArray[np.bool_]]:
    """Makes the marks of rows that may be candidates; they are made already, in a thread, where that takes long."""
    make = partial(question.eligible, view)
    cost_us = question.eligible_us(view)
    if cost_us <= INLINE_US:
        return make  # mostly nobody asks
    marks = await run(cost_us, make)
    return lambda: marks
