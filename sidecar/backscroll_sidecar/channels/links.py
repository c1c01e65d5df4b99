"""Reply edges of a channel: ids become rows, late parents are linked when they come.

The rule is the same for live appends and for a load: rows are linked in order of arrival; a row first looks for its
own parent, then the rows that waited for it are linked to it, in their order of arrival. An edge that would close
a circle is left out; but where the platform's own edge closes one with an inferred edge, that one is. A restart finds
the same edges.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

NO_PARENT = -1
NO_TARGET = -1
NO_ROW = -1


@dataclass(frozen=True, slots=True, eq=False)
class Edges:
    """What rows reply to, as sent or inferred.

    Attributes
    ----------
    seq : int64[n]
        When each row arrived.
    number : int32[n]
        The number of its id.
    target : int32[n]
        The number of the id it replies to, `NO_TARGET` for none.
    inferred : uint8[n]
        1 where the edge is inferred.
    row_of : int32[m]
        The row of an id by its number, `NO_ROW` when no such message has come.
    """

    seq: NDArray[np.int64]
    number: NDArray[np.int32]
    target: NDArray[np.int32]
    inferred: NDArray[np.uint8]
    row_of: NDArray[np.int32]

    def link(self, rows: NDArray[np.intp], parent: NDArray[np.int32]) -> list[int]:
        """Enter the parents of `rows`, which have none yet, in `parent`, int32[n]. Return the rows whose inferred edge
        gave way to one of the platform's.

        All earlier parents can be entered at once: a circle is closed by a late one only, and the way up from a row
        leads to such a parent only over rows that were linked before it came.
        """
        rows = rows[self.target[rows] != NO_TARGET]
        if len(rows) == 0:
            return []
        target = self.target[rows]
        found = self.row_of[target]
        known = (found != NO_ROW) & (target != self.number[rows])
        rows, found = rows[known], found[known]
        early = self.seq[found] < self.seq[rows]
        parent[rows[early]] = found[early]
        late, parents = rows[~early], found[~early]
        gave_way: list[int] = []
        for place in np.lexsort((self.seq[late], self.seq[parents])).tolist():
            child, above = int(late[place]), int(parents[place])
            way = _way(parent, above, child)
            if way and not self.inferred[child]:
                guess = next((row for row in way if self.inferred[row]), None)
                if guess is not None:
                    parent[guess] = NO_PARENT
                    gave_way.append(guess)
                    way = []
            if not way:
                parent[child] = above
        return gave_way

    def waiting_for(self, numbers: NDArray[np.int32]) -> NDArray[np.intp]:
        """The rows that reply to ids with these numbers."""
        if len(numbers) == 0:
            return np.empty(0, np.intp)
        return np.flatnonzero(np.isin(self.target, numbers))


def _way(parent: NDArray[np.int32], row: int, goal: int) -> list[int]:
    """The rows from `row` up to below `goal`, its ancestor; none if it is not. Ends: no circle is closed."""
    way = []
    while row >= 0 and row != goal:
        way.append(row)
        row = int(parent[row])
    return way if row == goal else []
