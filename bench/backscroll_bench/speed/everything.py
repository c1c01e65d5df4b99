"""A candidate source that proposes every message: with it the `classic` formula looks at a whole channel.

Loaded by the bench's own server as a strategy of the operator's; the profile `classic_full` of the tables is `classic`
with this as its only source.
"""

from __future__ import annotations

from backscroll_sidecar.domain import Category
from backscroll_sidecar.strategies.base import Messages, StrategyQuery

NAME = "everything"
PATH = f"{__name__}:Everything"


class Everything:
    """Every row that may be proposed."""

    name = NAME

    def gather(self, query: StrategyQuery) -> Messages:
        """All rows; those that may not be proposed are left out by who asked."""
        return Messages(Category.RECENT, range(query.end))
