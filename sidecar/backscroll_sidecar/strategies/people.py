"""The sources that go by who wrote a message and who is named in it, however long ago."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from backscroll_sidecar.domain import Category, MessageState
from backscroll_sidecar.strategies.base import NOTHING, Messages, StrategyQuery, StrategyResult

Bools = NDArray[np.bool_]


class Asker:
    """What the asker wrote."""

    name = "asker"

    def gather(self, query: StrategyQuery) -> StrategyResult:
        """The newest `recall_limit` eligible live rows by the asker; nothing when nobody is known to ask."""
        asker = query.view.people.index.get(query.user_id)
        if asker is None:
            return NOTHING
        return _newest(query, query.view.columns.author[: query.end] == asker)


class Mention:
    """What names the asker, and what the people wrote whom the question names; the bot itself is none of them."""

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


def _newest(query: StrategyQuery, marks: Bools) -> StrategyResult:
    """Of the marked rows the newest `recall_limit` that may be candidates and are live."""
    rows = np.flatnonzero(marks & query.eligible)
    if not query.view.all_live:
        rows = rows[query.view.state[rows] == MessageState.LIVE]
    rows = rows[max(0, len(rows) - max(0, query.recall_limit)) :]
    return Messages(Category.RECENT, rows.astype(np.int32)) if len(rows) else NOTHING
