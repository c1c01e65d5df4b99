"""Growable columns: numpy arrays and ragged integer lists that are appended to and read at the same time.

A writer appends behind the published length and never touches what lies before it, so a reader that holds a view
of that length needs no lock. When the capacity is used up the data moves to a larger array; old views stay valid.
`take` and `replace` return new columns and leave the old one to its readers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray

MIN_CAPACITY = 64


class Column:
    """One value a row.

    Parameters
    ----------
    dtype : the numpy type of the values.
    values : initial values, copied.
    """

    __slots__ = ("_data", "_length")

    def __init__(self, dtype: DTypeLike, values: Sequence[Any] | NDArray[Any] = ()) -> None:
        self._data = np.array(values, dtype=dtype)
        self._length = len(self._data)

    def __len__(self) -> int:
        return self._length

    @property
    def nbytes(self) -> int:
        """Bytes held, spare capacity included."""
        return int(self._data.nbytes)

    def extend(self, values: Sequence[Any] | NDArray[Any]) -> None:
        """Append `values` in amortised O(len(values))."""
        end = self._length + len(values)
        if end > len(self._data):
            grown = np.empty(max(MIN_CAPACITY, end + end // 2), self._data.dtype)
            grown[: self._length] = self._data[: self._length]
            self._data = grown
        self._data[self._length : end] = values
        self._length = end

    def view(self) -> NDArray[Any]:
        """A read-only view of what is there now; later appends do not change it."""
        out = self._data[: self._length]
        out.flags.writeable = False
        return out

    def take(self, order: NDArray[np.intp]) -> Self:
        """A new column with the rows `order` names, in that order."""
        return type(self)(self._data.dtype, self.view()[order])

    def replace(self, rows: NDArray[np.intp], values: Sequence[int]) -> Self:
        """A new column with the values of these rows changed; itself when they are what they were."""
        new = np.array(values, self._data.dtype)
        if np.array_equal(self.view()[rows], new):
            return self
        out = self.copy()
        out.raw()[rows] = new
        return out

    def copy(self) -> Self:
        """A new column with the same values."""
        return type(self)(self._data.dtype, self.view())

    def raw(self) -> NDArray[Any]:
        """The writable array of the published length: only for rows no reader has seen yet."""
        return self._data[: self._length]


class RaggedColumn:
    """A run of int32 values a row, as offsets and values (CSR). Runs are stored ascending and unique."""

    __slots__ = ("_offsets", "_values")

    def __init__(
        self, offsets: NDArray[np.int64] | None = None, values: NDArray[np.int32] | None = None
    ) -> None:
        self._offsets = Column(np.int64, [0] if offsets is None else offsets)
        self._values = Column(np.int32, () if values is None else values)

    @property
    def nbytes(self) -> int:
        """Bytes held, spare capacity included."""
        return self._offsets.nbytes + self._values.nbytes

    def extend(self, runs: Iterable[Iterable[int]]) -> None:
        """Append one run a row."""
        offsets: list[int] = []
        values: list[int] = []
        base = len(self._values)
        for run in runs:
            values.extend(sorted(set(run)))
            offsets.append(base + len(values))
        self._values.extend(values)
        self._offsets.extend(offsets)

    def view(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Read-only offsets (one entry a row and one more) and values."""
        return self._offsets.view(), self._values.view()

    def take(self, order: NDArray[np.intp]) -> RaggedColumn:
        """A new column with the rows `order` names, in that order."""
        offsets, values = self.view()
        starts, lengths = offsets[:-1][order], np.diff(offsets)[order]
        ends = np.cumsum(lengths)
        index = np.arange(ends[-1] if len(ends) else 0) + np.repeat(
            starts - (ends - lengths), lengths
        )
        return RaggedColumn(np.concatenate([np.zeros(1, np.int64), ends]), values[index])

    def replace(self, runs: Mapping[int, Iterable[int]]) -> RaggedColumn:
        """A new column with the runs of these rows changed; itself when they are what they were. One pass."""
        offsets, values = self.view()
        lengths, pieces, done = np.diff(offsets), [], 0
        is_changed = False
        for row in sorted(runs):
            start, end = int(offsets[row]), int(offsets[row + 1])
            new = np.array(sorted(set(runs[row])), np.int32)
            is_changed = is_changed or not np.array_equal(new, values[start:end])
            pieces += [values[done:start], new]
            lengths[row], done = len(new), end
        if not is_changed:
            return self
        moved = np.concatenate([offsets[:1], np.cumsum(lengths)])
        return RaggedColumn(moved, np.concatenate([*pieces, values[done:]]))
