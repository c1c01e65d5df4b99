"""Run the strategies in their order and unite what they propose. A source that fails drops out, named."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import structlog
from numpy.typing import NDArray

from backscroll_sidecar.context.deadline import Deadline
from backscroll_sidecar.context.rounds import (
    NO_ROUNDS,
    OrphanCalls,
    Rounds,
    find_rounds,
    missing_members,
)
from backscroll_sidecar.domain import Category, Degradation
from backscroll_sidecar.strategies import (
    Empty,
    Messages,
    Preferences,
    SourceFailed,
    Strategy,
    StrategyQuery,
    StrategyResult,
)

log = structlog.get_logger(__name__)

SOURCE_SHARE = 0.5
"""Of the time left, what one source that waits may take: the next ones and the ranking need some, too."""


@dataclass(frozen=True, slots=True, eq=False)
class Gathered:
    """Candidates, each once, with everything that proposed it (S5-15).

    Attributes
    ----------
    rows : int32[m]
        Ascending rows of the view.
    source_bits : uint32[m]
        Bit i: proposed by the i-th of `sources`.
    semantic : bool[m]
        Shown as a reference; a row that any source proposed as recent is not (S1-05).
    exhaustive : bool
        False when a source found its rows by an approximate search.
    rounds : Rounds
        Tool rounds among the candidates, each whole: a source that proposed one message of it proposed all.
    """

    rows: NDArray[np.int32]
    source_bits: NDArray[np.uint32]
    semantic: NDArray[np.bool_]
    sources: tuple[str, ...]
    preferences: tuple[str, ...] = ()
    degradations: tuple[Degradation, ...] = ()
    exhaustive: bool = True
    rounds: Rounds = NO_ROUNDS

    def sources_of(self, place: int) -> tuple[str, ...]:
        """The names of the sources that proposed candidate `place`."""
        bits = int(self.source_bits[place])
        return tuple(name for i, name in enumerate(self.sources) if bits >> i & 1)


@dataclass(slots=True)
class _Union:
    rows: list[NDArray[np.int32]] = field(default_factory=list)
    bits: list[NDArray[np.uint32]] = field(default_factory=list)
    semantic: list[NDArray[np.bool_]] = field(default_factory=list)

    def add(self, bit: int, rows: NDArray[np.int32], category: Category) -> None:
        self.rows.append(rows)
        self.bits.append(np.full(len(rows), 1 << bit, np.uint32))
        self.semantic.append(np.full(len(rows), category is Category.SEMANTIC))


async def gather(
    sources: Sequence[str],
    strategies: Mapping[str, Strategy],
    query: StrategyQuery,
    deadline: Deadline,
    orphan_calls: OrphanCalls = OrphanCalls.SYNTHETIC,
) -> Gathered:
    """Ask every source in order. Raises nothing: what fails is named in `degradations`."""
    union = _Union()
    preferences: list[str] = []
    degradations: list[Degradation] = []
    exhaustive = True
    for bit, name in enumerate(sources):
        if name not in strategies:
            degradations.append(Degradation("gather", "NOT_CONFIGURED", name))
            continue
        try:
            result = await _ask(strategies[name], query, deadline)
            if isinstance(result, Messages):
                union.add(bit, _rows(result, query), result.category)
                exhaustive &= result.exhaustive
            elif isinstance(result, Preferences):
                preferences.extend(filter(None, map(str.strip, result.lines)))
            elif not isinstance(result, Empty):
                raise TypeError(f"{type(result).__name__} is no result of a strategy")
        except TimeoutError:
            degradations.append(Degradation("gather", "TIMEOUT", name))
        except SourceFailed as failed:
            degradations.append(Degradation("gather", failed.reason, name))
        except Exception as error:  # a strategy may be anybody's code; it costs only itself (law 5)
            log.warning("source failed", source=name, error=type(error).__name__, exc_info=True)
            degradations.append(Degradation("gather", "ERROR", name))
    united = _united(union, tuple(sources), tuple(preferences), tuple(degradations))
    united = united if exhaustive else replace(united, exhaustive=False)
    return _with_rounds(united, query, orphan_calls) if query.view.tool_rounds else united


def _with_rounds(gathered: Gathered, query: StrategyQuery, policy: OrphanCalls) -> Gathered:
    """The candidates with the rest of their tool rounds; without tool messages if these cannot be made out (law 5)."""
    try:
        return _completed(gathered, query, policy)
    except Exception as error:
        log.warning("tool rounds failed", error=type(error).__name__, exc_info=True)
        view = query.view
        tools = {p for p, row in enumerate(gathered.rows.tolist()) if view.is_tool_message(row)}
        lost = Degradation("gather", "ERROR", "rounds")
        return replace(
            gathered,
            rounds=Rounds(dict(zip(tools, tools, strict=True)), frozenset(tools)),
            degradations=(*gathered.degradations, lost),
        )


async def _ask(strategy: Strategy, query: StrategyQuery, deadline: Deadline) -> StrategyResult:
    result = strategy.gather(query)
    if inspect.isawaitable(result):
        return await deadline.bound(result, SOURCE_SHARE)
    return result


def _rows(result: Messages, query: StrategyQuery) -> NDArray[np.int32]:
    """The rows a source proposed, those that may not be candidates left out."""
    rows = np.asarray(result.rows, np.int32)
    if result.message_ids:
        named = [query.view.row_of(message_id) for message_id in result.message_ids]
        rows = np.concatenate([rows, np.array([r for r in named if r >= 0], np.int32)])
    rows = rows[(rows >= 0) & (rows < query.end)]
    return rows[query.eligible[rows]]


def _united(
    union: _Union,
    sources: tuple[str, ...],
    preferences: tuple[str, ...],
    degradations: tuple[Degradation, ...],
) -> Gathered:
    if not union.rows:
        none = np.empty(0, np.int32)
        return Gathered(
            none, none.astype(np.uint32), none.astype(np.bool_), sources, preferences, degradations
        )
    every = np.concatenate(union.rows)
    rows, place = np.unique(every, return_inverse=True)
    bits = np.zeros(len(rows), np.uint32)
    np.bitwise_or.at(bits, place, np.concatenate(union.bits))
    semantic = np.ones(len(rows), np.bool_)
    np.logical_and.at(semantic, place, np.concatenate(union.semantic))
    return Gathered(rows, bits, semantic, sources, preferences, degradations)


def _completed(gathered: Gathered, query: StrategyQuery, policy: OrphanCalls) -> Gathered:
    """The candidates with the rest of their tool rounds: what is missing comes from whoever proposed a part."""
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
        rounds=find_rounds(query.view, query.eligible, rows, policy),
    )
