"""Means over the questions of a set, with 95 % intervals by bootstrap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from backscroll_bench.quality.about import About
from backscroll_bench.quality.data import ChatSet
from backscroll_bench.quality.metrics import tokens_to_match
from backscroll_bench.quality.run import Judged

SEED, RESAMPLES = 0, 1_000
FEWEST_GROUPS = 4
"""With fewer groups than this, questions are drawn instead of groups."""
MOST_UNITS = 400
"""More questions than this are drawn in blocks of neighbours, which are alike."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A mean and its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Result:
    """One selector on one set.

    `match_share` and `match_messages`: the tokens with which it finds as much as the newest 50 messages, as a share
    of theirs, and how many messages that are; None: 50 of its own do not do. `without`: sources that the server lacked.
    """

    selector: str
    figures: Mapping[str, Figure]
    match_share: float | None
    match_messages: int | None
    without: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """A set, what was changed in it, the result of every selector, and what is told of the set."""

    data: str
    note: str
    task: str
    questions: int
    messages: int
    groups: int
    results: Sequence[Result]
    about: About

    def as_json(self) -> dict[str, Any]:
        """The report as JSON."""
        return asdict(self)


def summarise(chats: ChatSet, judged: Sequence[Judged]) -> Report:
    """Make the report of a set from what `judge` found; the first of `judged` is recency."""
    base = judged[0]
    units = units_of(base.groups)
    results = []
    for one in judged:
        match = tokens_to_match(one.scores, base.scores)
        names = sorted({name for each in one.scores for name in each.values})
        results.append(
            Result(
                one.selector,
                {name: figure(_column(one, name), units) for name in names},
                match[0] if match else None,
                match[1] if match else None,
                one.without,
            )
        )
    return Report(
        chats.name,
        chats.note,
        chats.task,
        len(base.scores),
        chats.message_count,
        len(chats.groups),
        results,
        chats.about,
    )


def _column(judged: Judged, name: str) -> NDArray[np.float64]:
    """One measure of every question; nan where a question has none."""
    return np.array([each.values.get(name, np.nan) for each in judged.scores])


def units_of(groups: Sequence[str]) -> NDArray[np.intp]:
    """What is drawn together, a number a question: its group, or itself where there are few groups."""
    known = {group: number for number, group in enumerate(dict.fromkeys(groups))}
    if len(known) >= FEWEST_GROUPS:
        return np.array([known[group] for group in groups], np.intp)
    block = -(-len(groups) // MOST_UNITS)
    return np.arange(len(groups), dtype=np.intp) // block


def figure(values: NDArray[np.float64], units: NDArray[np.intp]) -> Figure:
    """The mean of `values` (nan: absent) and its interval: units are drawn with replacement, 1,000 times.

    The percentile bootstrap (Efron 1979) with a fixed seed: the same values give the same interval.
    """
    present = ~np.isnan(values)
    count = int(units.max()) + 1
    sums = np.bincount(units, np.where(present, values, 0.0), count)
    sizes = np.bincount(units, present, count)
    drawn = np.random.default_rng(SEED).integers(0, count, (RESAMPLES, count))
    with np.errstate(invalid="ignore"):
        means = sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1)
    low, high = np.nanpercentile(means, (2.5, 97.5))
    return Figure(float(values[present].mean()), float(low), float(high))
