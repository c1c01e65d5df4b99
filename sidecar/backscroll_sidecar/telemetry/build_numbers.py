"""What builds came to: plain numbers, added to where things happen.

The metrics library's own counters take 22 to 45 µs a call, as much as a stage of a build; an addition takes none.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import add

import numpy as np
from numpy.typing import NDArray

from backscroll_scoring import no_scores
from backscroll_sidecar.domain import ChannelKey, Degradation, Rung
from backscroll_sidecar.telemetry.distinct import Distinct
from backscroll_sidecar.telemetry.minutes import Minutes

BUILD_BOUNDS_S = (
    0.00025, 0.0005, 0.001, 0.002, 0.003, 0.005, 0.0075, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0,
)  # fmt: skip
"""Upper bounds of the buckets of build times, in seconds; the last bucket has none."""
_RANKED = Rung.RANKED
STAGES = ("route", "open", "question", "pick", "write", "fit", "adapt", "record")
"""What `Stopwatch.lap` is told of a build, in this order."""
RANKING = ("rank", "select")
"""Stages that break a build's first rung, whatever was lost before them."""


@dataclass(slots=True, eq=False)
class BuildTally:
    """Builds of one profile, added up.

    Attributes
    ----------
    hits : builds whose channel was in memory.
    messages : shown ones. Of those `scored` have a score; `score` is the sum. `shared` are of channels that share.
    explored : builds whose last places were drawn.
    scores : int64[SCORE_BUCKETS]
        These scores in ranges of equal size from 0 to 1.
    shown_tokens, window_tokens : texts of the messages shown, with the summary; those of the newest messages that would
        have been pasted instead. Only of builds that looked at the newest messages.
    times : builds by the buckets of `BUILD_BOUNDS_S`.
    stage_us : microseconds of each of `STAGES`.
    rungs, fallbacks : builds by the number of the rung they stand on; those on a lower one by it and what led there.
    losses : what builds had to do without, by stage, source and reason.
    errors : builds that gave no context, by reason; `builds` does not count them.
    """

    builds: int = 0
    seconds: float = 0.0
    hits: int = 0
    messages: int = 0
    scored: int = 0
    shared: int = 0
    score: float = 0.0
    explored: int = 0
    shown_tokens: int = 0
    window_tokens: int = 0
    scores: NDArray[np.int64] = field(default_factory=no_scores)
    times: list[int] = field(default_factory=lambda: [0] * (len(BUILD_BOUNDS_S) + 1))
    stage_us: list[int] = field(default_factory=lambda: [0] * len(STAGES))
    rungs: list[int] = field(default_factory=lambda: [0] * (len(Rung) + 1))
    fallbacks: Counter[tuple[Rung, str]] = field(default_factory=Counter)
    losses: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)

    def add(self, other: BuildTally) -> None:
        """Take another's numbers on top."""
        self.builds += other.builds
        self.seconds += other.seconds
        self.hits += other.hits
        self.messages += other.messages
        self.scored += other.scored
        self.shared += other.shared
        self.score += other.score
        self.explored += other.explored
        self.shown_tokens += other.shown_tokens
        self.window_tokens += other.window_tokens
        self.scores += other.scores
        self.times = list(map(add, self.times, other.times))
        self.stage_us = list(map(add, self.stage_us, other.stage_us))
        self.rungs = list(map(add, self.rungs, other.rungs))
        self.fallbacks.update(dict(other.fallbacks))
        self.losses.update(dict(other.losses))
        self.errors.update(dict(other.errors))


class BuildNumbers:
    """What builds came to. Added to on the event loop; a scrape reads it from a thread of its own.

    Attributes
    ----------
    began_s : when counting began, on the clock of `Clock.monotonic_s`.
    tallies : by profile; errors under none.
    groups : the channels that got a context.
    """

    def __init__(self, began_s: float = 0.0) -> None:
        self.began_s = began_s
        self.tallies: Minutes[str, BuildTally] = Minutes(BuildTally)
        self.groups = Distinct()

    def add(
        self,
        key: ChannelKey,
        profile: str,
        now_s: float,
        took_s: float,
        stage_us: Mapping[str, int],
        rung: Rung,
        degradations: Sequence[Degradation],
        *,
        cache_hit: bool,
    ) -> BuildTally:
        """One more build, and how it ended. Returns where its other numbers are to be added.

        `stage_us` has all of `STAGES`, in their order.
        """
        tally = self.tallies.tally(profile, now_s)
        tally.builds += 1
        tally.seconds += took_s
        tally.hits += cache_hit
        tally.times[bisect_left(BUILD_BOUNDS_S, took_s)] += 1
        tally.stage_us = list(map(add, tally.stage_us, stage_us.values()))
        if key.channel:
            self.groups.add(hash(key), now_s)
        tally.rungs[rung] += 1
        if degradations:
            tally.losses.update((one.stage, one.source, one.reason) for one in degradations)
        if rung is not _RANKED:
            tally.fallbacks[rung, fell_for(degradations)] += 1
        return tally

    def fail(self, reason: str, now_s: float) -> None:
        """A build gave no context."""
        self.tallies.tally("", now_s).errors[reason] += 1


def fell_for(degradations: Sequence[Degradation]) -> str:
    """Why a build stands on a lower rung: what broke its ranking, else what was lost first of its sources."""
    ranking = [one.reason for one in degradations if one.stage in RANKING]
    sources = [one.reason for one in degradations if one.stage == "gather"]
    return next(iter(ranking + sources), "")
