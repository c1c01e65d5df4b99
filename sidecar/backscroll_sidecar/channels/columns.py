"""Growable columns, flat and ragged, that may be read while they are appended to.

A writer appends behind the published length and never touches what lies before it, so a reader that holds a view
of that length needs no lock. When the capacity is used up the data moves to a larger array; old views stay valid.
`take` and `replace` return new columns and leave the old one to its readers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    capacity : room to begin with; no values then.
    """

    __slots__ = ("_data", "_length")

    def __init__(
        self, dtype: DTypeLike, values: Sequence[Any] | NDArray[Any] = (), *, capacity: int = 0
    ) -> None:
        self._data = np.empty(capacity, dtype) if capacity else np.array(values, dtype)
        self._length = len(values)

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
            grown = np.empty(max(MIN_CAPACITY, end + self._length // 2), self._data.dtype)
            grown[: self._length] = self._data[: self._length]
            self._data = grown
        self._data[self._length : end] = values
        self._length = end

    def view(self) -> NDArray[Any]:
        """A read-only view of what is there now; later appends do not change it."""
        out = self._data[: self._length]
        out.flags.writeable = False
        return out

    def take(self, order: NDArray[np.intp], start: int = 0) -> Self:
        """A new column: the first `start` rows as they are, then those that `order` names, in that order."""
        out = type(self)(self._data.dtype, capacity=len(self._data))
        out.extend(self._data[:start])
        out.extend(self._data[order])
        return out

    def replace(self, rows: NDArray[np.intp], values: NDArray[Any]) -> Self:
        """A new column with the values of these rows changed; itself when they are what they were."""
        if np.array_equal(self._data[rows], values):
            return self
        out = self.copy()
        out.raw()[rows] = values
        return out

    def copy(self) -> Self:
        """A new column with the same values."""
        return self.take(np.empty(0, np.intp), self._length)

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

    def __len__(self) -> int:
        return len(self._offsets) - 1

    @property
    def nbytes(self) -> int:
        """Bytes held, spare capacity included."""
        return self._offsets.nbytes + self._values.nbytes

    def extend(self, offsets: NDArray[np.int64], values: NDArray[np.int32]) -> None:
        """Append runs, ascending and unique; the first begins at the first of `values`."""
        self._offsets.extend(offsets[1:] + len(self._values))
        self._values.extend(values)

    def view(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Read-only offsets (one entry a row and one more) and values."""
        return self._offsets.view(), self._values.view()

    def take(self, order: NDArray[np.intp], start: int = 0) -> RaggedColumn:
        """A new column: the first `start` rows as they are, then those that `order` names, in that order."""
        offsets, values = self.view()
        starts, lengths = offsets[:-1][order], np.diff(offsets)[order]
        ends = np.cumsum(lengths)
        index = np.arange(ends[-1] if len(ends) else 0) + np.repeat(
            starts - (ends - lengths), lengths
        )
        head = offsets[start].item()
        return RaggedColumn(
            np.concatenate([offsets[: start + 1], head + ends]),
            np.concatenate([values[:head], values[index]]),
        )

    def replace(self, runs: Mapping[int, NDArray[np.int32]]) -> RaggedColumn:
        """A new column with the runs of these rows changed; itself when they are what they were. One pass."""
        offsets, values = self.view()
        lengths, pieces, done = np.diff(offsets), [], 0
        is_changed = False
        for row in sorted(runs):
            start, end = int(offsets[row]), int(offsets[row + 1])
            new = runs[row]
            is_changed = is_changed or not np.array_equal(new, values[start:end])
            pieces += [values[done:start], new]
            lengths[row], done = len(new), end
        if not is_changed:
            return self
        moved = np.concatenate([offsets[:1], np.cumsum(lengths)])
        return RaggedColumn(moved, np.concatenate([*pieces, values[done:]]))
