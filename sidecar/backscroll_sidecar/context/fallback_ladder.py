"""The ladder: ranked context, else the last messages, else nothing. Each rung is a value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache

import msgspec
import numpy as np
import structlog
from msgspec.structs import replace
from numpy.typing import NDArray

from backscroll_scoring import unite
from backscroll_scoring.links import NO_ROWS, Ranking
from backscroll_sidecar.channels import ChannelView
from backscroll_sidecar.concurrency.deadline import Deadline
from backscroll_sidecar.context.candidates import (
    Gathered,
    gather,
    with_answered,
    with_exchanges,
)
from backscroll_sidecar.context.history_router import Reach
from backscroll_sidecar.context.history_search import (
    Meaning,
    Recalled,
    look_up,
    recall,
)
from backscroll_sidecar.context.profiles import Profile, plain
from backscroll_sidecar.context.question import Question
from backscroll_sidecar.context.ranking import (
    Ranked,
    rank,
    rank_by_recency,
    rank_by_replies,
    rank_fused,
)
from backscroll_sidecar.context.reply_ranker import catch_up, linked_already, rank_replies
from backscroll_sidecar.context.selected_lines import Elsewhere
from backscroll_sidecar.context.selection import Selection, select, select_nothing
from backscroll_sidecar.context.tool_exchanges import OrphanCalls
from backscroll_sidecar.domain import Degradation, Rung
from backscroll_sidecar.strategies import BUILTIN, GivenPreferences, Recent, Strategy, StrategyQuery
from backscroll_sidecar.strategies.memory import Sought

log = structlog.get_logger(__name__)

RANK_REPLIES_US = 300.0
"""What ranking by the reply model costs at most when its links are known: less time left, and it is skipped."""

Ranker = Callable[[ChannelView, Question, NDArray[np.int32], Profile], Ranked]
OLDER = ("asker", "mention")
"""The sources of older rows: of the asker; of who is named, and of who names the asker."""
RECALLED_BY = ("lexical", "semantic", "recall")
"""The sources of rows of the history: found by words, by meaning, and what stands beside such a row."""
ADDED = (*OLDER, *RECALLED_BY)
_FOUND_BY_NOTHING = np.empty((2, 0), np.bool_)
_RANKED, _NEAR = Rung.RANKED, Reach.NEAR


class Picked(msgspec.Struct, frozen=True, eq=False):
    """What a rung came up with; rows behind those of the view are those of `elsewhere`."""

    rung: Rung
    gathered: Gathered
    ranked: Ranked
    selection: Selection
    profile: Profile
    degradations: tuple[Degradation, ...] = ()
    elsewhere: Elsewhere | None = None

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
        fallback_messages: int = 20,
        orphan_calls: OrphanCalls = OrphanCalls.SYNTHETIC,
        now_us: Callable[[], float],
    ) -> None:
        self._strategies = strategies
        semantic: object = strategies.get("semantic")
        self._semantic = semantic if isinstance(semantic, Meaning) else None  # costs 20 us a look
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
    ) -> Picked:
        """The best rung that works. Raises nothing."""
        view = query.view
        gathered = await gather(
            profile.sources, self._strategies, query, deadline, references=profile.references
        )
        if missing := self._missing(profile):
            gathered = replace(gathered, degradations=gathered.degradations + missing)
        if profile.keep_answered:
            gathered = with_answered(gathered, query, question.explicit_parent_row)
        stage = "rank"
        failed: tuple[Degradation, ...] = ()
        try:
            if profile.falls_back and gathered.lost_sources.issuperset(profile.message_sources):
                raise NoSourceLeft
            if profile.replies and self._ranker is rank:  # another ranker ranks everything
                gathered, ranked = await self._unite(query, question, gathered, profile, deadline)
            else:
                gathered = with_exchanges(gathered, query, self._orphan_calls)
                ranked = self._rank(view, question, gathered, profile, deadline)
            stage = "select"
            selection = select(view, question, gathered, ranked, profile)
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
                return await self._recent(query, question, profile, deadline, lost)
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
        if profile.fusion and self._ranker is rank:
            ranked = rank_fused(view, question, gathered, profile)
        else:
            ranked = self._ranker(view, question, gathered.rows, profile)
        self._cost.observe(count, self._now_us() - started_us)
        return ranked

    async def _unite(
        self,
        query: StrategyQuery,
        question: Question,
        gathered: Gathered,
        profile: Profile,
        deadline: Deadline,
    ) -> tuple[Gathered, Ranked]:
        """The reply model's ranking and, where the gate opens, that of the whole history; with what they found."""
        replies, far, sought = await self._found(query, question, gathered.rows, profile, deadline)
        recalled = None
        if sought is not None and far is not _NEAR:
            recalled = await recall(query, sought, self._semantic, deadline, profile.memory_sources)
        gathered, places = _united(gathered, query, replies, recalled)
        whole = with_exchanges(gathered, query, self._orphan_calls)
        if recalled is None:
            return whole, rank_by_replies(whole.rows, replies)
        memory = recalled.memory
        if whole is not gathered:
            places = whole.rows.searchsorted(memory.rows).astype(np.int32)
        return whole, rank_by_replies(whole.rows, replies, far, memory, places)

    async def _found(
        self,
        query: StrategyQuery,
        question: Question,
        more: NDArray[np.int32],
        profile: Profile,
        deadline: Deadline,
    ) -> tuple[Ranking, Reach, Sought | None]:
        """The reply model's ranking of the newest rows and `more`, and how far the question reaches."""
        if not deadline.allows(RANK_REPLIES_US):
            raise OutOfTime
        view = query.view
        state = linked_already(view, question.end)
        if state is None:
            state = await deadline.bound(catch_up(view, question.end))
        replies = rank_replies(view, question, query.eligible, more, state)
        is_gated = not profile.asks_memory_alone
        answers = question.explicit_parent_row >= 0 and is_gated
        if not (profile.memory_sources and question.text) or answers:
            return replies, _NEAR, None
        far, sought = await look_up(
            query, question, replies.starts_new, deadline, is_gated=is_gated
        )
        return replies, far, sought

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
        profile: Profile,
        deadline: Deadline,
        lost: tuple[Degradation, ...],
    ) -> Picked:
        """Rung two: the last messages and the preferences, unranked."""
        last = plain(profile, min(profile.max_context, self._fallback_messages))
        query = replace(query, recent_limit=last.recent_limit)
        gathered = await gather(last.sources, BUILTIN, query, deadline)
        if last.keep_answered:
            gathered = with_answered(gathered, query, question.explicit_parent_row)
        gathered = with_exchanges(gathered, query, self._orphan_calls)
        ranked = rank_by_recency(gathered.rows)
        selection = select(query.view, question, gathered, ranked, last)
        lost += gathered.degradations
        return Picked(Rung.RECENT, gathered, ranked, selection, last, lost)


def _united(
    gathered: Gathered, query: StrategyQuery, found: Ranking, recalled: Recalled | None
) -> tuple[Gathered, NDArray[np.int32]]:
    """The candidates with the older messages that the reply model looked at, and with the best of the history.

    The older ones are of the asker, of who is named, and of who names the asker: part of the talk. What of the history
    nobody else proposes is shown as a reference. And where each of its rows is among the candidates.
    """
    older = found.older if Recent.name in gathered.sources else NO_ROWS
    if recalled is None and not len(older):
        return gathered, NO_ROWS
    far, found_by = NO_ROWS, _FOUND_BY_NOTHING
    degradations, exhaustive = gathered.degradations, gathered.exhaustive
    if recalled is not None:
        far, found_by = recalled.memory.rows, recalled.memory.found_by
        degradations += recalled.degradations
        exhaustive = exhaustive and recalled.exhaustive
    view, sources = query.view, gathered.sources
    rows, bits, semantic, places, present = unite(
        (
            gathered.rows,
            gathered.source_bits,
            gathered.semantic,
        ),
        view.columns.author,
        older,
        far,
        found_by,
        _numbers_of_added(sources),
        view.people.index.get(query.user_id, -1),
        len(sources),
    )
    united = Gathered(
        rows,
        bits,
        semantic,
        _with_added(sources, present),
        gathered.preferences,
        degradations,
        gathered.exchanges,
        exhaustive,
        gathered.proposed,
    )
    return united, places


@lru_cache(maxsize=256)
def _numbers_of_added(sources: tuple[str, ...]) -> tuple[int, ...]:
    """The number among those asked of each source of `ADDED`, -1 for one that was not; of the history's always."""
    asked = [sources.index(name) if name in sources else -1 for name in OLDER]
    return (*asked, *[-1] * len(RECALLED_BY))


@lru_cache(maxsize=256)
def _with_added(sources: tuple[str, ...], present: int) -> tuple[str, ...]:
    """The sources with those of `ADDED` that have rows."""
    added = [name for i, name in enumerate(ADDED) if present >> i & 1]
    return sources + tuple(one for one in added if one in RECALLED_BY or one not in sources)


def nothing(profile: Profile, *lost: Degradation) -> Picked:
    """Rung three: no history."""
    none = np.empty(0, np.int32)
    gathered = Gathered(none, none.astype(np.uint32), none.astype(np.bool_), profile.sources)
    return Picked(Rung.EMPTY, gathered, rank_by_recency(none), select_nothing(), profile, lost)


async def without_history(query: StrategyQuery, profile: Profile, deadline: Deadline) -> Picked:
    """Rung three for a history that cannot be read: what the request itself brings is still there."""
    given = tuple(name for name in profile.sources if name == GivenPreferences.name)
    gathered = await gather(given, BUILTIN, query, deadline)
    return replace(nothing(profile), gathered=gathered)
