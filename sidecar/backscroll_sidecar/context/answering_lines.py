"""What the newest lines of a channel answer, and what `classic` would weigh for each: the guard of tuned weights.

Nothing is rendered, recorded or counted.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from backscroll_sidecar.channels import LIVE, ChannelView
from backscroll_sidecar.concurrency.deadline import Deadline
from backscroll_sidecar.context.candidates import gather
from backscroll_sidecar.context.model import BuildRequest
from backscroll_sidecar.context.opening import Opening
from backscroll_sidecar.context.profiles import Route, Routes
from backscroll_sidecar.context.ranking import rank
from backscroll_sidecar.context.replaying import ReplayParts
from backscroll_sidecar.context.reply_ranker import likeliest_answered
from backscroll_sidecar.domain import AuthorKind, ChannelKey, Overrides, Role
from backscroll_sidecar.learning.missed_replies import Answering
from backscroll_sidecar.learning.rated_builds import WEIGHTED_PROFILE
from backscroll_sidecar.ports import StoredChannelSettings

MOST_LINES = 1_000
"""So many of the newest lines are looked at, some half a millisecond each."""
SURE = 0.5
"""From this probability on a line answers what the reply model says."""
WEIGHED = Overrides(exploration_slots=1)
"""A ranking keeps what it weighs where places may be drawn."""
NOBODY = -1


class AnsweringLines:
    """Looks at channels as builds do. Safe for any number of channels at once on one event loop."""

    def __init__(self, parts: ReplayParts, channel_settings: StoredChannelSettings) -> None:
        self._opening = Opening(
            parts.views, parts.reader, parts.analyzer, parts.settings, parts.clock, None, None,
            parts.sessions, channel_settings,
        )  # fmt: skip
        self._strategies = parts.strategies
        self._timeout_s = parts.settings.timeout_s
        self._clock = parts.clock
        self._routes = Routes(parts.settings, lambda _: 0)

    async def of(self, key: ChannelKey) -> Answering | None:
        """The newest lines of people of which it is known what they answer; None without a channel.

        A line sees what was there before it, and is asked by its author as a trigger with what the channel is set to.
        After each it rests as long as that took. Raises `StoreUnavailable`.
        """
        view = await self._opening.views.view(key)
        if view is None:
            return None
        channel, _ = await self._opening.settings_of(key, self._deadline())
        asked = BuildRequest(key, profile=WEIGHTED_PROFILE, overrides=WEIGHED)
        route, found = self._routes.of(asked, channel), _Found()
        is_of_people = (view.state == LIVE) & (view.role == Role.USER)
        is_of_people &= view.kind == AuthorKind.HUMAN
        rows = np.flatnonzero(is_of_people)[-MOST_LINES:]
        answered = await asyncio.to_thread(_answered, view, rows)
        for row, parent in zip(rows.tolist(), answered.tolist(), strict=True):
            if parent != NOBODY:
                began_s = self._clock.monotonic_s()
                await self._look(view, row, parent, route, found)
                await asyncio.sleep(self._clock.monotonic_s() - began_s)
        return found.all()

    async def _look(
        self, view: ChannelView, row: int, parent: int, route: Route, found: _Found
    ) -> None:
        """Add a line; not where a source could not be asked."""
        request = BuildRequest(view.key, trigger_message_id=view.message_ids[row])
        deadline = self._deadline()
        question = await self._opening.question_of(request, route, view)
        _, query = await self._opening.query_of(request, route.profile, question, deadline)
        gathered = await gather(
            route.profile, self._strategies, query, question.explicit_parent_row, deadline
        )
        ranked = rank(query.view, question, gathered, route.profile)
        if ranked.features is not None and not gathered.degradations:
            found.add(ranked.features(), gathered.rows, parent)

    def _deadline(self) -> Deadline:
        return Deadline(self._clock, self._timeout_s, None)


@dataclass(slots=True)
class _Found:
    """Lines as they are found."""

    features: list[NDArray[np.float64]] = field(default_factory=list)
    offsets: list[int] = field(default_factory=lambda: [0])
    answered: list[int] = field(default_factory=list)

    def add(self, features: NDArray[np.float64], rows: NDArray[np.int32], parent: int) -> None:
        """One more line, with its candidates; `parent` is what it answers."""
        first, place = self.offsets[-1], int(rows.searchsorted(parent))
        is_there = place < len(rows) and rows.item(place) == parent
        self.features.append(features)
        self.offsets.append(first + len(rows))
        self.answered.append(first + place if is_there else NOBODY)

    def all(self) -> Answering | None:
        """All of them; None where there is none."""
        if not self.answered:
            return None
        return Answering(
            np.concatenate(self.features),
            np.array(self.offsets, np.int64),
            np.array(self.answered, np.int64),
        )


def _answered(view: ChannelView, rows: NDArray[np.intp]) -> NDArray[np.int64]:
    """int64[n]: what each of these rows answers: by the platform's edge, else surely by the reply model; -1 unknown."""
    if not len(rows):
        return np.empty(0, np.int64)
    first, last = int(rows[0]), int(rows[-1]) + 1
    likely, chances = likeliest_answered(view, first, last)
    by_model = np.where(chances >= SURE, likely, NOBODY)[rows - first]
    by_edge = view.explicit_columns.parent[rows]
    found = np.where(by_edge >= 0, by_edge, by_model).astype(np.int64)
    there = (found >= 0) & (found < rows)
    there[there] = view.state[found[there]] == LIVE
    return np.where(there, found, NOBODY)
