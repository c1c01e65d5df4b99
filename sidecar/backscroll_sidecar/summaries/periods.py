"""Summaries of a channel's past periods: which are due, and the records that keep them. Pure.

A period is a span of so many hours since the epoch, by the times that messages are ranked by. So a clock that jumps
makes none twice and loses none. A record names its messages, and goes with any of them that goes or changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from backscroll_sidecar.ports import StoredRecord
from backscroll_sidecar.summaries.compaction import KEPT_MESSAGES
from backscroll_sidecar.summaries.summary import SummaryKind, text_of

PERIOD_SUMMARY = "period_summary"
"""The kind of the records."""
MS_PER_HOUR = 3_600_000
MOST_MESSAGES = 10_000
"""Of a period with more the newest are summarised."""


class PeriodSummary(msgspec.Struct, frozen=True):
    """What a channel held in a period.

    Attributes
    ----------
    hours, start_ms : the period.
    message_ids : what it stands for; `upto_seq`, `newest_ms` are of the newest of them.
    notes, words, tokens : as in `Summary`.
    model_failure : why a model's notes were not taken; empty: they were, or none was asked.
    is_deleted : somebody deleted it, so it is not made again.
    """

    hours: int
    start_ms: int
    message_ids: tuple[str, ...]
    upto_seq: int
    newest_ms: int
    made_at_ms: int
    kind: SummaryKind = SummaryKind.KEY_LINES
    notes: str = ""
    words: str = ""
    tokens: int = 0
    model_failure: str = ""
    is_deleted: bool = False

    @property
    def id(self) -> str:
        """That of its record: one period has one."""
        return f"{self.hours}:{self.start_ms}"

    @property
    def end_ms(self) -> int:
        """When the period ends."""
        return self.start_ms + self.hours * MS_PER_HOUR

    @property
    def text(self) -> str:
        """All of it."""
        return text_of(self.notes, self.words)


class Due(NamedTuple):
    """A period to be summarised, and its rows of the view."""

    start_ms: int
    rows: NDArray[np.intp]


def due_periods(
    time_ms: NDArray[np.int64],
    counts: NDArray[np.bool_],
    hours: int,
    now_ms: int,
    known: Mapping[int, int],
) -> list[Due]:
    """The periods whose messages are not those of a summary, the oldest first.

    A period is due when it is over and none of the newest messages is in it.

    Parameters
    ----------
    time_ms : int64[n], ascending; `counts`: bool[n], rows that may be summarised.
    known : how many messages the summary of each period stands for, by its beginning.
    """
    rows = np.flatnonzero(counts)
    if len(rows) <= KEPT_MESSAGES:
        return []
    length_ms = hours * MS_PER_HOUR
    periods = time_ms[rows] // length_ms
    first_open = min(int(periods[-KEPT_MESSAGES]), now_ms // length_ms)
    found = []
    for period in np.unique(periods[periods < first_open]).tolist():
        first, end = np.searchsorted(periods, (period, period + 1)).tolist()
        of_period = rows[first:end][-MOST_MESSAGES:]
        if known.get(period * length_ms) != len(of_period):
            found.append(Due(period * length_ms, of_period))
    return found


def summaries_of(records: Sequence[StoredRecord]) -> list[PeriodSummary]:
    """What records hold."""
    return [msgspec.json.decode(one.body, type=PeriodSummary) for one in records]
