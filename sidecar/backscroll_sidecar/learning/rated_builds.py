"""Recorded builds as tuning reads them: what was left to chance, what that earned, what it cost. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Protocol

import numpy as np

from backscroll_scoring.arrays import Bool, Float64, Int64
from backscroll_sidecar.learning.logged_selections import Selections, selections_of
from backscroll_sidecar.learning.plackett_luce import MOST_SLOTS
from backscroll_sidecar.times import day_of

WEIGHTED_PROFILE = "classic"
"""The profile whose score is a sum of weighted factors that a channel may have other weights of."""
MANY_RATERS = 20
"""From so many people on what one of them rated is one cluster; of fewer, what was rated in one day."""
_COMPLETE = 1e-3


class Weighed(Protocol):
    """A candidate of a record: see `ports.PackedCandidate`."""

    @property
    def features(self) -> Sequence[float]: ...

    @property
    def inclusion(self) -> float | None: ...

    @property
    def drawn(self) -> bool: ...


@dataclass(frozen=True, slots=True, eq=False)
class LoggedDraw:
    """What was left to chance in one build: a pool of p candidates, and which of them were drawn.

    Attributes
    ----------
    probability, temperature : of the draw.
    features : float64[p, k]
    inclusion : float64[p]
    drawn : bool[p]
    """

    probability: float
    temperature: float
    features: Float64
    inclusion: Float64
    drawn: Bool


@dataclass(frozen=True, slots=True, eq=False)
class RatedBuild:
    """One recorded build of the weighted profile.

    Attributes
    ----------
    reward : 0 to 1; None: nobody said anything in as many words.
    rater : who did; empty: unknown.
    is_ranked : whether it stands on the first rung.
    draw : None: nothing was left to chance, a request brought the seed, or not all of the pool is there any more.
    """

    created_at_ms: int
    reward: float | None
    rater: str
    tokens: int
    build_us: int
    is_ranked: bool
    draw: LoggedDraw | None


def draw_of(
    probability: float, temperature: float, candidates: Iterable[Weighed]
) -> LoggedDraw | None:
    """The draw of a build by the candidates that are still there; None where some of its pool are gone.

    What is left of a pool has not the probabilities that were recorded, and what is gone may not be guessed.
    """
    pool = [one for one in candidates if one.inclusion is not None and 0.0 < one.inclusion < 1.0]
    drawn = np.array([one.drawn for one in pool], np.bool_)
    inclusion = np.array([one.inclusion for one in pool], np.float64)
    count = int(drawn.sum())
    if not 1 <= count <= MOST_SLOTS or abs(float(inclusion.sum()) - count) > _COMPLETE:
        return None
    if not 0.0 < probability < 1.0 or not temperature > 0.0:
        return None
    features = np.array([one.features for one in pool], np.float64)
    return LoggedDraw(probability, temperature, features, inclusion, drawn)


def explored(builds: Sequence[RatedBuild]) -> list[RatedBuild]:
    """Those with a draw."""
    return [one for one in builds if one.draw is not None]


def rated(builds: Sequence[RatedBuild]) -> list[RatedBuild]:
    """Those with a draw and explicit feedback."""
    return [one for one in explored(builds) if one.reward is not None]


def selections_of_builds(builds: Sequence[RatedBuild], factor_count: int) -> Selections:
    """The draws of builds as arrays; a reward that is not there counts as 0."""
    draws = [one.draw for one in builds if one.draw is not None]
    sizes = np.array([len(one.drawn) for one in draws], np.int64)
    return selections_of(
        np.concatenate([np.empty((0, factor_count)), *(one.features for one in draws)]),
        np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes))),
        np.concatenate([np.empty(0, np.bool_), *(one.drawn for one in draws)]),
        np.concatenate([np.empty(0), *(one.inclusion for one in draws)]),
        np.array([one.probability for one in draws], np.float64),
        np.array([one.temperature for one in draws], np.float64),
        np.array([one.reward or 0.0 for one in builds if one.draw is not None], np.float64),
        clusters_of([one for one in builds if one.draw is not None]),
    )


def clusters_of(builds: Sequence[RatedBuild]) -> Int64:
    """int64[n]: what hangs together, by a hash that lasts. See `MANY_RATERS`."""
    raters = {one.rater for one in builds if one.rater}
    by_rater = len(raters) >= MANY_RATERS
    names = (
        f"u{one.rater}" if by_rater and one.rater else f"d{day_of(one.created_at_ms)}"
        for one in builds
    )
    return np.array([_hash(name) for name in names], np.int64)


def _hash(name: str) -> int:
    digest = blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1
