"""Reply edges of a channel: ids as sent become rows, late parents are linked when they come, circles stay open.

The rule is the same for live appends and for a load: rows are linked in order of arrival; a row first looks for its
own parent, then the rows that waited for it are linked to it, in their order of arrival. An edge that would close
a circle is left out. So a restart finds the same edges (law 2).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from backscroll_sidecar.channels.columns import Column

Edge = tuple[str, bool]
"""The id a row replies to (empty: none), and whether the edge was inferred."""

NO_PARENT = -1


class Links:
    """Parents of all rows. `append` changes in place; `take`, `with_edges` and `rebuilt` return new links."""

    __slots__ = ("_edges", "_explicit", "_parent", "_waiting")

    def __init__(self) -> None:
        self._edges: list[Edge] = []
        self._parent = Column(np.int32)
        self._explicit = Column(np.int32)
        self._waiting: dict[str, list[int]] = {}

    def parents(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """int32[n] each: the parent row of every row by any edge, and by the platform's own edges; -1 none."""
        return self._parent.view(), self._explicit.view()

    def append(self, ids: Sequence[str], edges: Sequence[Edge], rows: dict[str, int]) -> bool:
        """Add new rows in order of arrival and enter them in `rows`. True when a published row got its parent."""
        first = len(self._edges)
        self._edges.extend(edges)
        self._parent.extend([NO_PARENT] * len(ids))
        self._explicit.extend([NO_PARENT] * len(ids))
        adopted = self._link(zip(range(first, first + len(ids)), ids, strict=True), rows, first)
        return bool(adopted)

    def take(self, order: NDArray[np.intp], start: int = 0) -> Links:
        """The same links with the rows in another order (no row lost); the first `start` rows stay where they are."""
        inverse = np.empty(len(order), np.int32)
        inverse[order] = np.arange(len(order), dtype=np.int32)
        out = Links()
        out._edges = self._edges[:start] + [self._edges[i] for i in order[start:].tolist()]
        for name in ("_parent", "_explicit"):
            old = getattr(self, name).view()[order]
            setattr(out, name, Column(np.int32, np.where(old < 0, NO_PARENT, inverse[old])))
        out._waiting = {
            target: children if max(children) < start else inverse[children].tolist()
            for target, children in self._waiting.items()
        }
        return out

    def edge(self, row: int) -> Edge:
        """The edge of a row as it was sent or inferred."""
        return self._edges[row]

    def rebuilt(self, ids: Sequence[str], seq: NDArray[np.int64], edges: Sequence[Edge]) -> Links:
        """Links of these rows from nothing, in order of arrival: what a load would make of them."""
        out = Links()
        out._edges = list(edges)
        out._parent.extend([NO_PARENT] * len(ids))
        out._explicit.extend([NO_PARENT] * len(ids))
        arrival = np.argsort(seq, kind="stable").tolist()
        out._link(((row, ids[row]) for row in arrival), {}, len(ids))
        return out

    def with_edges(
        self, new: Mapping[int, Edge], ids: Sequence[str], seq: NDArray[np.int64]
    ) -> Links:
        """The links after the edges of some rows changed; the same object when they did not."""
        changed = {row: edge for row, edge in new.items() if edge != self._edges[row]}
        if not changed:
            return self
        edges = self._edges.copy()
        for row, edge in changed.items():
            edges[row] = edge
        return self.rebuilt(ids, seq, edges)

    @property
    def edges(self) -> Sequence[Edge]:
        """All edges, by row."""
        return self._edges

    def _link(
        self, new: Iterable[tuple[int, str]], rows: dict[str, int], published: int
    ) -> list[int]:
        """Link rows in order of arrival; rows below `published` may be read by others and are changed in copies."""
        parent, explicit = self._parent.raw(), self._explicit.raw()
        adopted: list[int] = []
        for row, message_id in new:
            rows[message_id] = row
            target, inferred = self._edges[row]
            if target and target != message_id:
                found = rows.get(target, NO_PARENT)
                if found >= 0:
                    parent[row] = found
                    explicit[row] = NO_PARENT if inferred else found
                else:
                    self._waiting.setdefault(target, []).append(row)
            for child in self._waiting.pop(message_id, ()):
                if _reaches(parent, row, child):
                    continue
                if child < published and not adopted:
                    self._parent, self._explicit = self._parent.copy(), self._explicit.copy()
                    parent, explicit = self._parent.raw(), self._explicit.raw()
                    adopted.append(child)
                parent[child] = row
                explicit[child] = NO_PARENT if self._edges[child][1] else row
        return adopted


def _reaches(parent: NDArray[np.int32], row: int, goal: int) -> bool:
    """Whether `goal` is an ancestor of `row`. Ends, since edges never close a circle."""
    while row >= 0:
        if row == goal:
            return True
        row = int(parent[row])
    return False
