"""Which rows of a channel the segments hold, and which to write next."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class SegmentRange:
    """Rows by seq, both ends included."""

    first_seq: int
    last_seq: int

    def holds(self, seq: int) -> bool:
        """Whether a row is one of them."""
        return self.first_seq <= seq <= self.last_seq


def rows_for_segment(
    seqs: NDArray[np.int64], ranges: Iterable[SegmentRange], least: int, full: int, merged: int
) -> NDArray[np.intp] | None:
    """The rows of the segment to write next, in order of arrival; None when there is nothing worth one.

    From where no segment holds `least` rows in a row on: up to twice `merged` times `full`, if there are half of that,
    or else at most `full`; a shorter segment right before them is made again with them. Else those of `merged`
    segments of `full` rows in a row.

    Parameters
    ----------
    seqs : int64[n]
        Arrival number of each row.
    ranges : what segments hold already; they do not overlap.
    """
    order = np.argsort(seqs, kind="stable")
    seqs = seqs[order]
    ends = [(one.first_seq, one.last_seq + 1) for one in ranges]
    spans = sorted(map(tuple, np.searchsorted(seqs, np.array(ends).reshape(-1, 2)).tolist()))
    held, begins = np.zeros(len(seqs), np.bool_), {end: start for start, end in spans}
    for start, end in spans:
        held[start:end] = True
    turns = np.flatnonzero(np.diff(held, prepend=True, append=True))
    for start, end in turns.reshape(-1, 2).tolist():
        if end - start >= least:
            before = begins.get(start, start)
            first = before if start - before < full else start
            size = 2 * merged * full if end - first >= merged * full else full
            return order[first : min(end, first + size)]
    in_a_row = last = 0
    for start, end in spans:
        in_a_row = 0 if end - start != full else in_a_row + 1 if start == last else 1
        last = end
        if in_a_row == merged:
            return order[end - merged * full : end]
    return None
