"""The ladder: ranked context, else the last messages, else nothing (law 5, S5-24). Each rung is a value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import structlog
from numpy.typing import NDArray

from backscroll_sidecar.channels import ChannelView
from backscroll_sidecar.context.deadline import Deadline
from backscroll_sidecar.context.gather import Gathered, gather
from backscroll_sidecar.context.profiles import Profile, plain
from backscroll_sidecar.context.question import Question
from backscroll_sidecar.context.rank import Ranked, rank, rank_by_recency
from backscroll_sidecar.context.rounds import OrphanCalls
from backscroll_sidecar.context.select import Selection, select
from backscroll_sidecar.domain import Degradation, Rung
from backscroll_sidecar.strategies import BUILTIN, GivenPreferences, Strategy, StrategyQuery

log = structlog.get_logger(__name__)

Ranker = Callable[[ChannelView, Question, NDArray[np.int32], Profile], Ranked]


@dataclass(frozen=True, slots=True, eq=False)
class Picked:
    """What a rung came up with."""

    rung: Rung
    gathered: Gathered
    ranked: Ranked
    selection: Selection
    profile: Profile
    degradations: tuple[Degradation, ...] = ()


class RankCost:
    """What ranking has cost lately, so that it can be skipped when the time left is too short."""

    def __init__(self) -> None:
        self._us_per_row = 0.05
        self._fixed_us = 50.0

    def estimate_us(self, row_count: int) -> float:
        """Usual microseconds for so many candidates."""
        return self._fixed_us + self._us_per_row * row_count

    def observe(self, row_count: int, took_us: float) -> None:
        """Learn from one ranking; slow outliers fade with the next fast ones."""
        per_row = max(0.0, took_us - self._fixed_us) / max(1, row_count)
        self._us_per_row += 0.1 * (per_row - self._us_per_row)

    def forget(self) -> None:
        """A ranking was skipped, so nothing was learnt: after some of these one is tried again."""
        self._us_per_row *= 0.9


class OutOfTime(Exception):
    """A stage was skipped because its usual cost no longer fits."""


class Picker:
    """Picks the candidates of one question. Safe to call from any task of the loop."""

    def __init__(
        self,
        strategies: Mapping[str, Strategy],
        *,
        ranker: Ranker = rank,
        fallback_on_error: bool = True,
        fallback_messages: int = 20,
        orphan_calls: OrphanCalls = OrphanCalls.SYNTHETIC,
        now_us: Callable[[], float],
    ) -> None:
        self._strategies = strategies
        self._ranker = ranker
        self._fallback_on_error = fallback_on_error
        self._fallback_messages = fallback_messages
        self._orphan_calls = orphan_calls
        self._now_us = now_us
        self._cost = RankCost()

    async def pick(
        self,
        query: StrategyQuery,
        question: Question,
        profile: Profile,
        deadline: Deadline,
        *,
        membership_only: bool,
    ) -> Picked:
        """The best rung that works. Raises nothing."""
        view = query.view
        gathered = await gather(
            profile.sources, self._strategies, query, deadline, self._orphan_calls
        )
        stage = "rank"
        try:
            ranked = self._rank(view, question, gathered, profile, deadline)
            stage = "select"
            selection = select(
                view, question, gathered, ranked, profile, membership_only=membership_only
            )
            return Picked(Rung.RANKED, gathered, ranked, selection, profile, gathered.degradations)
        except OutOfTime:
            failed = Degradation(stage, "DEADLINE")
        except Exception as error:  # whatever broke, the bot gets an answer (law 5)
            log.warning("picking failed", stage=stage, error=type(error).__name__, exc_info=True)
            failed = Degradation(stage, "ERROR")
        lost = (*gathered.degradations, failed)
        if self._fallback_on_error:
            try:
                return await self._recent(query, question, profile, deadline, lost, membership_only)
            except Exception as error:
                log.warning("recent fallback failed", error=type(error).__name__, exc_info=True)
        return nothing(profile, *lost)

    def _rank(
        self,
        view: ChannelView,
        question: Question,
        gathered: Gathered,
        profile: Profile,
        deadline: Deadline,
    ) -> Ranked:
        count = len(gathered.rows)
        if not deadline.allows(self._cost.estimate_us(count)):
            self._cost.forget()
            raise OutOfTime
        started_us = self._now_us()
        ranked = self._ranker(view, question, gathered.rows, profile)
        self._cost.observe(count, self._now_us() - started_us)
        return ranked

    async def _recent(
        self,
        query: StrategyQuery,
        question: Question,
        profile: Profile,
        deadline: Deadline,
        lost: tuple[Degradation, ...],
        membership_only: bool,
    ) -> Picked:
        """Rung two: the last messages and the preferences, unranked."""
        last = plain(profile, min(profile.max_context, self._fallback_messages))
        query = replace(query, recent_limit=last.recent_limit)
        gathered = await gather(last.sources, BUILTIN, query, deadline, self._orphan_calls)
        ranked = rank_by_recency(gathered.rows)
        selection = select(
            query.view, question, gathered, ranked, last, membership_only=membership_only
        )
        lost += gathered.degradations
        return Picked(Rung.RECENT, gathered, ranked, selection, last, lost)


def nothing(profile: Profile, *lost: Degradation) -> Picked:
    """Rung three: no history."""
    none = np.empty(0, np.int32)
    gathered = Gathered(none, none.astype(np.uint32), none.astype(np.bool_), profile.sources)
    return Picked(Rung.EMPTY, gathered, rank_by_recency(none), Selection([], [], []), profile, lost)


async def without_history(query: StrategyQuery, profile: Profile, deadline: Deadline) -> Picked:
    """Rung three for a history that cannot be read: what the request itself brings is still there."""
    given = tuple(name for name in profile.sources if name == GivenPreferences.name)
    gathered = await gather(given, BUILTIN, query, deadline)
    return replace(nothing(profile), gathered=gathered)
