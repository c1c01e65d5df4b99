"""Sources by people: who wrote a message, who is named in it, what is pinned. They search the whole history."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from backscroll_sidecar.channels import LIVE
from backscroll_sidecar.domain import Category
from backscroll_sidecar.strategies.base import NOTHING, Messages, StrategyQuery, StrategyResult

Bools = NDArray[np.bool_]


class Asker:
    """What the asker wrote."""

    name = "asker"

    def gather(self, query: StrategyQuery) -> StrategyResult:
        """The newest `recall_limit` eligible live rows by the asker; nothing when the asker is unknown."""
        asker = query.view.people.index.get(query.user_id)
        if asker is None:
            return NOTHING
        return _newest(query, query.view.columns.author[: query.end] == asker)


class Mention:
    """Messages that name the asker, and messages of the people the question names, except the bot."""

    name = "mention"

    def gather(self, query: StrategyQuery) -> StrategyResult:
        """The newest `recall_limit` eligible live rows of these, in all."""
        index, columns = query.view.people.index, query.view.columns
        named = {index[user] for user in query.mentioned if user in index}
        named -= {index[user] for user in (*query.self_ids, query.user_id) if user in index}
        found = np.isin(columns.author[: query.end], list(named))
        asker = index.get(query.user_id)
        if asker is not None:
            places = np.flatnonzero(columns.mention_ids == asker)
            rows = columns.mention_offsets.searchsorted(places, side="right") - 1
            found[rows[rows < query.end]] = True
        return _newest(query, found)


class Pinned:
    """Pinned messages of the channel; a reference where no other source proposes them."""

    name = "pinned"

    def gather(self, query: StrategyQuery) -> StrategyResult:
        """All eligible live rows among them."""
        view = query.view
        if not view.pinned:
            return NOTHING
        pinned = filter(
            query.may_be, (row for row in map(view.row_of, view.pinned) if 0 <= row < query.end)
        )
        rows = sorted(row for row in pinned if view.state[row] == LIVE)
        return Messages(Category.SEMANTIC, rows) if rows else NOTHING


def _newest(query: StrategyQuery, marks: Bools) -> StrategyResult:
    """The newest `recall_limit` eligible live rows of the marked ones."""
    rows = np.flatnonzero(marks & query.eligible)
    if not query.view.all_live:
        rows = rows[query.view.state[rows] == LIVE]
    rows = rows[max(0, len(rows) - max(0, query.recall_limit)) :]
    return Messages(Category.RECENT, rows.astype(np.int32)) if len(rows) else NOTHING
