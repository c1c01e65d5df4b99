"""The ladder: ranked context, else the last messages, else nothing. Each rung is a value."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping

import msgspec
import numpy as np
import structlog
from msgspec.structs import replace
from numpy.typing import NDArray

from backscroll_scoring.links import Ranking
from backscroll_sidecar.channels import ChannelView
from backscroll_sidecar.concurrency.deadline import Deadline
from backscroll_sidecar.context.candidates import (
    NO_CANDIDATES,
    Gathered,
    gather,
    with_exchanges,
    with_found,
    with_rest_as_references,
)
from backscroll_sidecar.context.history_search import HistoryHits, Meaning, look_up, search_history
from backscroll_sidecar.context.model import Draw
from backscroll_sidecar.context.profiles import PREFERENCES, Profile, Route
from backscroll_sidecar.context.question import Question
from backscroll_sidecar.context.ranking import (
    UNRANKED,
    Ranked,
    rank,
    rank_by_recency,
    rank_by_replies,
)
from backscroll_sidecar.context.reply_ranker import catch_up, rank_replies
from backscroll_sidecar.context.selection import Selection, select, select_nothing
from backscroll_sidecar.context.tool_exchanges import OrphanCalls
from backscroll_sidecar.domain import Degradation, Rung
from backscroll_sidecar.lines.line_source import Elsewhere
from backscroll_sidecar.strategies import BUILTIN, Strategy, StrategyQuery
from backscroll_sidecar.strategies.history_router import Reach, settled
from backscroll_sidecar.strategies.memory import Sought
from backscroll_sidecar.strategies.recall import Lexical

log = structlog.get_logger(__name__)

RANK_REPLIES_US = 400.0
"""What ranking by the reply model costs at most when its links are known, but for reading the question once more: less
time left, and it is skipped."""

Ranker = Callable[[ChannelView, Question, Gathered, Profile], Ranked]
_RANKED = Rung.RANKED


class Picked(msgspec.Struct, frozen=True, eq=False):
    """What a rung came up with; rows behind those of the view are those of `elsewhere`.

    `draw`: how the last places were drawn; None: nothing was left to chance.
    """

    rung: Rung
    gathered: Gathered
    ranked: Ranked
    selection: Selection
    profile: Profile
    degradations: tuple[Degradation, ...] = ()
    elsewhere: Elsewhere | None = None
    draw: Draw | None = None

    @property
    def is_plain(self) -> bool:
        """Whether nothing is shown beside the selected, each as it was said: no preferences, no tool exchange."""
        return not self.gathered.preferences and not self.gathered.exchanges.members


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


class NoSourceLeft(Exception):
    """None of the sources could be asked."""


class Picker:
    """Picks the candidates of one question. Safe to call from any task of the loop."""

    def __init__(
        self,
        strategies: Mapping[str, Strategy],
        *,
        ranker: Ranker = rank,
        fallback_on_error: bool = True,
        orphan_calls: OrphanCalls = OrphanCalls.SYNTHETIC,
        now_us: Callable[[], float],
    ) -> None:
        self._strategies = strategies
        semantic: object = strategies.get("semantic")
        self._semantic = semantic if isinstance(semantic, Meaning) else None  # costs 20 us a look
        self._ranker = ranker
        self._fallback_on_error = fallback_on_error
        self._orphan_calls = orphan_calls
        self._now_us = now_us
        self._cost = RankCost()

    async def pick(
        self,
        query: StrategyQuery,
        question: Question,
        route: Route,
        deadline: Deadline,
        *,
        has_history: bool = True,
    ) -> Picked:
        """The best rung that works. Raises nothing.

        The lowest where the history cannot be read: what the request itself brings is still there.
        """
        profile, answered = route.profile, question.explicit_parent_row
        missing = self._missing(profile)
        if not has_history:
            given = tuple(name for name in profile.sources if name == PREFERENCES)
            profile = dataclasses.replace(profile, sources=given)
            gathered = await gather(profile, BUILTIN, query, answered, deadline)
            return Picked(Rung.EMPTY, gathered, UNRANKED, select_nothing(), route.profile)
        gathered = await gather(profile, self._strategies, query, answered, deadline)
        if missing:
            gathered = replace(gathered, degradations=gathered.degradations + missing)
        stage = "rank"
        failed: tuple[Degradation, ...] = ()
        try:
            if profile.falls_back and gathered.lost_sources.issuperset(profile.message_sources):
                raise NoSourceLeft
            if not profile.replies or self._ranker is not rank:  # another ranker ranks everything
                gathered = with_exchanges(gathered, query, self._orphan_calls)
                ranked = self._rank(query, question, gathered, profile, deadline)
            else:
                replies, reach, hits = await self._found(
                    query, question, gathered.rows, profile, deadline
                )
                gathered = with_found(gathered, query, replies.older, replies.alike, hits)
                if profile.is_steady:
                    gathered = with_rest_as_references(gathered)
                gathered = with_exchanges(gathered, query, self._orphan_calls)
                memory = None if hits is None else hits.memory
                ranked = rank_by_replies(gathered.rows, replies, reach, memory)
            stage = "select"
            selection = select(query.view, question, gathered, ranked, profile)
            return Picked(_RANKED, gathered, ranked, selection, profile, gathered.degradations)
        except NoSourceLeft:
            pass  # each is named
        except (OutOfTime, TimeoutError):
            failed = (Degradation(stage, "DEADLINE"),)
        except Exception as error:  # whatever broke, the bot gets an answer
            log.warning("picking failed", stage=stage, error=type(error).__name__, exc_info=True)
            failed = (Degradation(stage, "ERROR"),)
        lost = (*gathered.degradations, *failed)
        if self._fallback_on_error:
            try:
                return await self._recent(query, question, route.fallback, deadline, lost)
            except Exception as error:
                log.warning("recent fallback failed", error=type(error).__name__, exc_info=True)
        gathered = Gathered(*NO_CANDIDATES, profile.sources)
        return Picked(Rung.EMPTY, gathered, UNRANKED, select_nothing(), profile, lost)

    def _rank(
        self,
        query: StrategyQuery,
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
        ranked = self._ranker(query.view, question, gathered, profile)
        self._cost.observe(count, self._now_us() - started_us)
        return ranked

    async def _found(
        self,
        query: StrategyQuery,
        question: Question,
        rows: NDArray[np.int32],
        profile: Profile,
        deadline: Deadline,
    ) -> tuple[Ranking, Reach, HistoryHits | None]:
        """The reply model's ranking of the newest rows and these, how far the question reaches, and what is there."""
        if not deadline.allows(RANK_REPLIES_US + question.read_us):
            raise OutOfTime
        looking = _looked(query, question, rows, profile)
        replies, reach, sought = await deadline.bound(looking)
        if sought is None or reach is Reach.NEAR:
            return replies, reach, None
        sources = profile.memory_sources
        hits = await search_history(query, sought, self._semantic, deadline, sources)
        memory = hits.memory
        best = memory.scores.item(0) if len(memory.scores) else 0.0
        return replies, settled(reach, best, by_words=memory.is_by_words), hits

    def _missing(self, profile: Profile) -> tuple[Degradation, ...]:
        """What the request asked for by name, and the server does not have; `gather` names the other sources."""
        is_named = profile.names_sources and "semantic" in profile.memory_sources
        if self._semantic is not None or not is_named:
            return ()
        return (Degradation("gather", "NOT_CONFIGURED", "semantic"),)

    async def _recent(
        self,
        query: StrategyQuery,
        question: Question,
        last: Profile,
        deadline: Deadline,
        lost: tuple[Degradation, ...],
    ) -> Picked:
        """Rung two: the last messages and the preferences, unranked."""
        query = replace(query, recent_limit=last.recent_limit)
        gathered = await gather(last, BUILTIN, query, question.explicit_parent_row, deadline)
        gathered = with_exchanges(gathered, query, self._orphan_calls)
        ranked = rank_by_recency(gathered.rows)
        selection = select(query.view, question, gathered, ranked, last)
        lost += gathered.degradations
        return Picked(Rung.RECENT, gathered, ranked, selection, last, lost)


async def _looked(
    query: StrategyQuery, question: Question, more: NDArray[np.int32], profile: Profile
) -> tuple[Ranking, Reach, Sought | None]:
    """The reply model's ranking of the newest rows and `more`, how far the question reaches, its words out there."""
    state = await catch_up(query.view, question.end)
    by_words = Lexical.name in profile.sources or not profile.names_sources
    replies = rank_replies(query.view, question, query.eligible, more, state, by_words=by_words)
    far, sought = await look_up(query, question, replies, profile)
    return replies, far, sought
