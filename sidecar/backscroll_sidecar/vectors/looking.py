"""Looks for single rows of a channel by meaning, without a look at all of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from backscroll_scoring.index import GRAPH_MOST, VectorIndex

MORE = 4
"""So many times as many are asked for where too few of those that were found count."""


@dataclass(frozen=True, slots=True, eq=False)
class Looking:
    """`Nearby` over an index.

    Attributes
    ----------
    seqs : int64[n]
        The messages of the rows.
    """

    index: VectorIndex
    query: NDArray[np.float32]
    seqs: NDArray[np.int64]

    def nearest(self, limit: int, counts: NDArray[np.bool_]) -> NDArray[np.int32]:
        """int32[<= limit]: about the most similar rows of those that count, bool[n], best first."""
        counted = int(np.count_nonzero(counts))
        asked = (limit + limit // 4) * len(counts) // max(1, counted)
        while True:
            found = self.index.near(self.query, asked) if asked <= GRAPH_MOST else None
            if found is None:
                rows = np.flatnonzero(counts).astype(np.int32)
                places, _, _ = self.index.search(self.query, limit, self.seqs[rows])
                return rows[places]
            near, tail = found
            rows = self._rows_of(near)
            rows = rows[counts[rows]]
            if len(rows) >= limit:
                break
            asked *= MORE
        rows = rows[:limit]
        if len(tail):
            later = self._rows_of(tail)
            rows = np.concatenate((rows, later[counts[later]]))
            values = np.nan_to_num(self.cosines(rows), nan=-2.0)
            rows = rows[np.argsort(-values, kind="stable")[:limit]]
        return rows

    def least(self, limit: int, counts: NDArray[np.bool_]) -> NDArray[np.int32]:
        """int32[<= limit]: the same of the least similar rows."""
        return Looking(self.index, -self.query, self.seqs).nearest(limit, counts)

    def cosines(self, rows: NDArray[np.int32]) -> NDArray[np.float32]:
        """float32[k]: how similar rows, each once, are, exactly; NaN without a vector."""
        values: NDArray[np.float32] = self.index.exact(self.query, self.seqs[rows])
        return values

    def _rows_of(self, seqs: NDArray[np.int64]) -> NDArray[np.int32]:
        """The rows of messages; those that are no row are left out. Mostly rows are in the order of arrival."""
        places = np.minimum(np.searchsorted(self.seqs, seqs), len(self.seqs) - 1)
        known = self.seqs[places] == seqs
        if not known.all():
            row_of = np.full(max(int(self.seqs.max()), int(seqs.max())) + 1, -1, np.int32)
            row_of[self.seqs] = np.arange(len(self.seqs), dtype=np.int32)
            places = row_of[seqs]
            known = places >= 0
        rows: NDArray[np.int32] = places[known].astype(np.int32)
        return rows
