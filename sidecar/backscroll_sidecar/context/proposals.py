"""What one source proposed, as far as it may be candidates. Pure."""

from __future__ import annotations

from bisect import bisect_left
from functools import lru_cache

import msgspec
import numpy as np
from numpy.typing import NDArray

from backscroll_scoring import look_at_rows
from backscroll_sidecar.domain import Category
from backscroll_sidecar.strategies import Messages, SourceFailed, StrategyQuery

_SEMANTIC = Category.SEMANTIC
LONG_RUN_ROWS = 2048
"""So many candidates are a part of a longer run that is kept; fewer are put together each time."""


class Proposed(msgspec.Struct, frozen=True, eq=False):
    """The messages one source proposed, as far as they may be candidates.

    Attributes
    ----------
    bit : int
        The source's place among those asked.
    rows : int32[k]
        Rows of the view, as the source gave them.
    scores : float64[k] or None
        How good each is in the source's own unit, finite; None: the newest is the best.
    reference : bool
        What nobody else proposes is shown as a reference.
    ascending : bool
        Whether the rows ascend without repeats.
    """

    bit: int
    source: str
    rows: NDArray[np.int32]
    scores: NDArray[np.float64] | None
    reference: bool
    ascending: bool


def proposed_by(
    bit: int, source: str, result: Messages, query: StrategyQuery, reference: bool
) -> Proposed:
    """What a source proposed, what may not be a candidate left out. Raises `SourceFailed` for what is no proposal."""
    if not isinstance(result.category, Category):
        raise SourceFailed("BAD_CATEGORY")
    reference = reference or result.category is _SEMANTIC
    given = result.rows
    if (
        isinstance(given, range)
        and given.step == 1
        and result.scores is None
        and not result.message_ids
    ):
        rows = _eligible_between(query, given.start, given.stop)
        return Proposed(bit, source, rows, None, reference, ascending=True)
    rows = np.asarray(result.rows, np.int32)
    if result.message_ids:
        named = [query.view.row_of(message_id) for message_id in result.message_ids]
        rows = np.concatenate([rows, np.array(named, np.int32)])
    scores = None if result.scores is None else np.asarray(result.scores, np.float64)
    if scores is not None and not (scores.shape == rows.shape and np.isfinite(scores).all()):
        raise SourceFailed("BAD_SCORES")
    allowed, ascending = look_at_rows(np.ascontiguousarray(rows), query.eligible)
    if not allowed:
        places = np.flatnonzero((rows >= 0) & (rows < query.end))
        places = places[query.eligible[rows[places]]]
        rows, scores = rows[places], None if scores is None else scores[places]
    return Proposed(bit, source, rows, scores, reference, ascending)


def _eligible_between(query: StrategyQuery, first: int, last: int) -> NDArray[np.int32]:
    """Of the rows from `first` to before `last` those that may be candidates: read-only where they are a run."""
    first, last = max(first, 0), max(first, 0, min(last, query.end))
    excluded = query.excluded
    if excluded is None:
        return np.flatnonzero(query.eligible[first:last]).astype(np.int32) + np.int32(first)
    while last > first and last - 1 in excluded:  # most often the question itself
        last -= 1
    missing = excluded[: bisect_left(excluded, last)]
    before = bisect_left(missing, first)
    if last - first >= LONG_RUN_ROWS and before < len(missing):
        return _counted(last.bit_length(), missing)[first - before : last - len(missing)]
    rows = _counted(last.bit_length())
    if before == len(missing):
        return rows[first:last]
    within = missing[before:]
    runs = zip((first, *(row + 1 for row in within)), (*within, last), strict=True)
    return np.concatenate([rows[begin:end] for begin, end in runs])


@lru_cache(maxsize=16)
def _counted(bits: int, missing: tuple[int, ...] = ()) -> NDArray[np.int32]:
    """0, 1, 2 … all numbers of so many bits without those missing: made once, read-only."""
    out = np.delete(np.arange(1 << bits, dtype=np.int32), missing)
    out.flags.writeable = False
    return out
