"""Reply edges of a channel: ids become rows, late parents are linked when they come.

The rule is the same for live appends and for a load: rows are linked in order of arrival; a row first looks for its
own parent, then the rows that waited for it are linked to it, in their order of arrival. An edge that would close
a circle is left out. A restart finds the same edges.
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
    row_of : int32[m]
        The row of an id by its number, `NO_ROW` when no such message has come.
    """

    seq: NDArray[np.int64]
    number: NDArray[np.int32]
    target: NDArray[np.int32]
    row_of: NDArray[np.int32]

    def link(self, rows: NDArray[np.intp], parent: NDArray[np.int32]) -> None:
        """Enter the parents of `rows`, which have none yet, in `parent`, int32[n].

        All earlier parents can be entered at once: a circle is closed by a late one only, and the way up from a row
        leads to such a parent only over rows that were linked before it came.
        """
        rows = rows[self.target[rows] != NO_TARGET]
        if len(rows) == 0:
            return
        target = self.target[rows]
        found = self.row_of[target]
        known = (found != NO_ROW) & (target != self.number[rows])
        rows, found = rows[known], found[known]
        early = self.seq[found] < self.seq[rows]
        parent[rows[early]] = found[early]
        late, parents = rows[~early], found[~early]
        for place in np.lexsort((self.seq[late], self.seq[parents])).tolist():
            child, above = int(late[place]), int(parents[place])
            if not _reaches(parent, above, child):
                parent[child] = above

    def waiting_for(self, numbers: NDArray[np.int32]) -> NDArray[np.intp]:
        """The rows that reply to ids with these numbers."""
        if len(numbers) == 0:
            return np.empty(0, np.intp)
        return np.flatnonzero(np.isin(self.target, numbers))


def _reaches(parent: NDArray[np.int32], row: int, goal: int) -> bool:
    """Whether `goal` is an ancestor of `row`. Ends, since edges never close a circle."""
    while row >= 0:
        if row == goal:
            return True
        row = int(parent[row])
    return False
