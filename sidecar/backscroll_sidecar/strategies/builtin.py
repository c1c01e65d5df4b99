"""The built-in sources that need only the channel in memory."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from backscroll_scoring import ancestors, roots
from backscroll_sidecar.channels import LIVE
from backscroll_sidecar.domain import Category
from backscroll_sidecar.scripts import shows_nothing
from backscroll_sidecar.strategies.base import (
    NOTHING,
    Messages,
    Preferences,
    Strategy,
    StrategyQuery,
    StrategyResult,
)
from backscroll_sidecar.strategies.graph import Graph
from backscroll_sidecar.strategies.people import Asker, Mention, Pinned
from backscroll_sidecar.strategies.recall import Lexical, Recall

MS_PER_HOUR = 3_600_000
_RECENT = Category.RECENT
NO_ROW = -1


class Recent:
    """The newest messages."""

    name = "recent"

    def gather(self, query: StrategyQuery) -> StrategyResult:
        """The last `recent_limit` eligible rows."""
        limit, excluded = query.recent_limit, query.excluded
        if excluded is None:
            return _messages(_last(query, limit))
        if limit <= 0 or query.end <= len(excluded):
            return NOTHING
        first = query.end - limit
        for row in reversed(excluded):
            first -= row >= first
        return Messages(_RECENT, range(max(0, first), query.end))


class Window:
    """The newest messages of a time window."""

    name = "window"

    def gather(self, query: StrategyQuery) -> StrategyResult:
        """The last `window_limit` eligible rows sent within `window_hours` before the question."""
        rows = _last(query, query.window_limit)
        oldest_ms = query.asked_at_ms - query.window_hours * MS_PER_HOUR
        return _messages(rows[query.view.columns.time_ms[rows] >= oldest_ms])


class Chain:
    """The question's parent and its ancestors."""

    name = "chain"

    def gather(self, query: StrategyQuery) -> StrategyResult:
        """At most `thread_limit` eligible rows; nothing when the question replies to nothing."""
        return _nearest(query, _chain(query)) if query.parent_row >= 0 else NOTHING


class Thread:
    """The thread the question belongs to: its chain first, then the newest others.

    That is its reply tree, whether the root of it is stored or not, and what stands in the platform's thread of the
    question, or in the one that is named after the root.
    """

    name = "thread"

    def gather(self, query: StrategyQuery) -> StrategyResult:
        """At most `thread_limit` eligible rows; nothing where a question replies to nothing and stands in no thread."""
        if query.parent_row < 0 and query.lost_parent < 0 and not query.thread_id:
            return NOTHING
        chain = _chain(query) if query.parent_row >= 0 else np.empty(0, np.int32)
        members = np.flatnonzero(_in_thread(query)).astype(np.int32)
        others = members[~np.isin(members, chain)][::-1]
        return _nearest(query, np.concatenate([chain, others]))


class GivenPreferences:
    """The preferences the request brings."""

    name = "preferences"

    def gather(self, query: StrategyQuery) -> StrategyResult:
        """The lines as given, blank ones left out."""
        if not query.preferences:
            return NOTHING
        lines = tuple(line.strip() for line in query.preferences if not shows_nothing(line))
        return Preferences(lines) if lines else NOTHING


BUILTIN: Mapping[str, Strategy] = {
    s.name: s
    for s in (
        Recent(), Window(), Chain(), Thread(), Graph(), Mention(), Asker(), Pinned(), Lexical(), Recall(),
        GivenPreferences(),
    )
}  # fmt: skip


def _chain(query: StrategyQuery) -> NDArray[np.int32]:
    """The parent of the question and its ancestors, nearest first."""
    beyond = ancestors(query.parents, query.parent_row, query.thread_limit)
    return np.append(np.int32(query.parent_row), beyond).astype(np.int32)


def _in_thread(query: StrategyQuery) -> NDArray[np.bool_]:
    """bool[n]: the rows of the question's reply tree and of its platform's thread. Linear in the channel."""
    view, top, lost = query.view, query.parent_row, query.lost_parent
    if (
        top < 0 and lost < 0
    ):  # no edge: platforms name a thread after the message that it began with
        top = view.row_of(query.thread_id)
        lost = view.ids.find(query.thread_id) if top < 0 else NO_ROW
    root_of = roots(query.parents)
    found = np.zeros(view.count, np.bool_)
    names = {query.thread_id} if query.thread_id else set()
    if top >= 0:
        root: int = root_of.item(top)
        found |= root_of == root
        names.add(view.message_ids[root])
        lost = view.lost_target(root)
    if lost >= 0:
        beside = (view.target == lost) & (view.inferred == 0)
        found |= np.isin(root_of, np.flatnonzero(beside & (query.parents < 0)))
        names.add(view.ids[lost])
    for name in names & view.thread_ids.keys():
        found |= view.thread == view.thread_ids[name]
    return found


def _nearest(query: StrategyQuery, rows: NDArray[np.int32]) -> StrategyResult:
    """The first `thread_limit` eligible rows of these. Rows that are not live do not count towards it."""
    rows = rows[rows < query.end]
    rows = rows[query.eligible[rows]]
    places = np.cumsum(query.view.state[rows] == LIVE)
    return _messages(np.sort(rows[places <= query.thread_limit]))


def newest_live_rows(query: StrategyQuery, limit: int) -> NDArray[np.int32]:
    """int32[k]: the last eligible live rows, ascending."""
    if limit <= 0 or query.end == 0:
        return np.empty(0, np.int32)
    start = max(0, query.end - limit)
    while len(places := _live_from(query, start)) < limit and start > 0:  # few tails have gaps
        start = max(0, query.end - 4 * (query.end - start))
    return (places[-limit:] + start).astype(np.int32)


def _last(query: StrategyQuery, limit: int) -> NDArray[np.int32]:
    """The last eligible live rows, with the other rows among them, whose fate is told but which do not count."""
    live = newest_live_rows(query, limit)
    if limit <= 0 or query.end == 0:
        return live
    first = live.item(0) if len(live) == limit else 0
    rows = query.eligible[first:].nonzero()[0] + first
    if len(rows) > len(live) + limit:
        others = np.setdiff1d(rows, live, assume_unique=True)
        rows = np.union1d(live, others[-limit:])
    return rows.astype(np.int32)


def _live_from(query: StrategyQuery, start: int) -> NDArray[np.intp]:
    """The eligible live rows from `start` on, counted from there."""
    marks = query.eligible[start:]
    if not query.view.all_live:
        marks = marks & (query.view.state[start : query.end] == LIVE)
    places: NDArray[np.intp] = marks.nonzero()[0]
    return places


def _messages(rows: NDArray[np.int32]) -> StrategyResult:
    return Messages(_RECENT, rows) if len(rows) else NOTHING
