"""Rendered lines of a channel, kept for later builds.

The lines that matter for one question mostly matter for the next one, too, so a message is rendered, counted
and encoded when a build first shows it, or a moment before (`precompute`), not when it comes in: most are never
shown.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from backscroll_scoring import FeatureSets, LineTable, ShingleCache

MAX_SETS_BYTES = 1_048_576
"""Of one channel's shingle sets."""
MAX_TABLE_BYTES = 2_097_152
"""Of its tables: some 1,000 ordinary messages in one style."""

MOST_MARKS, MARK_NUMBERS = 100_000, 500_000
"""Before lines, that are neither none nor a date: how long ago something was said. Their numbers come round: those of
one table are all different, also where it is still read while the others began anew.
"""

SetsOf = Callable[[NDArray[np.intp]], FeatureSets]
"""Makes shingle sets of the messages at these places."""


class LineCache:
    """Rendered lines by style: a cache of a view's rows, no part of its value.

    When it is full it begins anew. What changes a message, or how it is rendered, makes another, which the old
    views do not see: a build that still reads one of those cannot bring back what was.

    Attributes
    ----------
    wanted : the style of the last question, which precomputing uses too
    sets : shingle sets by arrival number; `sets_with` adds to them
    """

    __slots__ = ("_last", "_mark_count", "_marks", "_table_bytes", "_tables", "sets", "wanted")

    def __init__(self, wanted: Any = None) -> None:  # noqa: ANN401 - its style, of whatever kind
        self.wanted = wanted
        self._tables: dict[Hashable, LineTable] = {}
        self._table_bytes = 0
        self._last: tuple[Hashable, LineTable | None] = (None, None)
        self._marks: dict[str, int] = {}
        self._mark_count = count()
        self.sets = ShingleCache()

    @property
    def nbytes(self) -> int:
        """Bytes held, roughly."""
        return self.sets.nbytes + self._table_bytes

    def sets_with(self, seqs: NDArray[np.int64], make: SetsOf) -> ShingleCache:
        """The shingle sets, completed for these messages; `make` makes missing ones."""
        if self.sets.nbytes > MAX_SETS_BYTES:
            self.sets = ShingleCache()
        new = np.flatnonzero(self.sets.lacks(seqs))
        if len(new):
            self.sets.add(seqs[new], make(new))
        return self.sets

    def table(self, style: Hashable) -> LineTable:
        """The lines in this style; others are entered by `keep`."""
        last, table = self._last
        if table is not None and last == style:  # sooner told than hashed
            return table
        found = self._tables.get(style)
        if found is None:
            found = self._tables[style] = LineTable()
            self._table_bytes += found.nbytes
        self._last = style, found
        return found

    def keep(
        self,
        style: Hashable,
        keys: Sequence[int],
        forms: Sequence[Sequence[bytes]],
        numbers: Sequence[Sequence[int]],
    ) -> range:
        """Enter lines in the table of a style; their slots. Where that is too much, all tables begin anew."""
        table = self.table(style)
        before = table.nbytes
        slots = table.add(keys, forms, numbers)
        self._table_bytes += table.nbytes - before
        if self._table_bytes > MAX_TABLE_BYTES:
            self._begin_anew()
        return slots

    def mark_number(self, mark: str) -> int:
        """What stands in keys for a mark before a line that is neither none (0) nor a date (1)."""
        number = self._marks.get(mark)
        if number is None:
            if len(self._marks) >= MOST_MARKS:
                self.forget()
            number = self._marks.setdefault(mark, 2 + next(self._mark_count) % MARK_NUMBERS)
        return number

    def forget(self) -> None:
        """Begin anew, for those, too, who hold it and are not done: they go on with names as they are now."""
        self._begin_anew()
        self._marks, self.sets = {}, ShingleCache()

    def _begin_anew(self) -> None:
        self._tables, self._table_bytes, self._last = {}, 0, (None, None)

    def without(self, seqs: Iterable[int]) -> LineCache:
        """What is left after these messages changed."""
        gone = tuple(seqs)
        out = LineCache(self.wanted)
        out.sets = self.sets.without(gone)
        out._tables = {style: table.without(gone) for style, table in self._tables.items()}
        out._table_bytes = self._table_bytes
        out._marks, out._mark_count = self._marks.copy(), self._mark_count
        return out
