"""Messages connected with the question by replies, over several steps."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from backscroll_scoring import NEAR, graph_scores, top_order
from backscroll_sidecar.channels import LIVE
from backscroll_sidecar.domain import Category, Role
from backscroll_sidecar.strategies.base import NOTHING, Messages, StrategyQuery, StrategyResult


class Graph:
    """Parents and siblings of the question, the bot's own recent lines, and what answers any of these."""

    name = "graph"

    def gather(self, query: StrategyQuery) -> StrategyResult:
        """At most `thread_limit` eligible live rows, those the fewest steps away first.

        Only rows near what the question or the bot said are looked at (`GraphParameters.reach`), whatever the
        channel's length.
        """
        found = graph_scores(
            query.parents,
            query.view.columns.author,
            question_parent=query.parent_row,
            end=query.end,
            question_row=query.trigger_row,
            own_authors=_own_authors(query),
        )
        live = query.eligible[found.rows]
        live &= query.view.state[found.rows] == LIVE
        rows, values = found.rows[live], found.values[live]
        best = top_order(values, rows, limit=max(0, query.thread_limit))
        return Messages(Category.RECENT, rows[best], scores=values[best]) if len(best) else NOTHING


def _own_authors(query: StrategyQuery) -> NDArray[np.int32]:
    """The bot's authors: those the request names, else recent authors with the role assistant."""
    view = query.view
    if query.self_ids:
        people = view.people.index
        own = [people[user] for user in query.self_ids if user in people]
        return np.array(own, np.int32)
    lately = slice(max(0, query.end - NEAR.reach), query.end)
    return np.unique(view.columns.author[lately][view.role[lately] == Role.ASSISTANT])
