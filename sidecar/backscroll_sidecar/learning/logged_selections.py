"""Logged decisions as arrays: what was left to chance in each, and what other weights would have drawn there."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from backscroll_scoring.arrays import Bool, Float64, Int64
from backscroll_sidecar.learning.plackett_luce import (
    inclusion_probabilities,
    set_probabilities,
    worths,
)

MOST_FEATURE = 1e6
_SPLIT_MIX = (
    (np.uint64(30), np.uint64(0xBF58476D1CE4E5B9)),
    (np.uint64(27), np.uint64(0x94D049BB133111EB)),
    (np.uint64(31), np.uint64(1)),
)
"""Shifts and factors of SplitMix64: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014."""


@dataclass(frozen=True, slots=True, eq=False)
class Selections:
    """Decisions with what was left to chance in each: a pool of candidates, padded to the widest. See `selections_of`.

    Attributes
    ----------
    features : float64[n, p, k]
        0 where padded.
    live : bool[n, p]
        False where padded.
    chosen : bool[n, p]
    inclusion : float64[n, p]
        The probability of each to be chosen, in (0, 1); 0 where padded.
    probabilities : float64[n]
        Of the set that was chosen, in (0, 1).
    temperatures : float64[n]
        Those of the draws, in units of the linear score.
    rewards : float64[n]
        In [0, 1].
    clusters : int64[n]
        Equal where decisions hang together.
    surplus : float64[n, k], not given
        The sum of the features of the chosen, less what was to be expected; its mean is 0 whatever was asked.
    """

    features: Float64
    live: Bool
    chosen: Bool
    inclusion: Float64
    probabilities: Float64
    temperatures: Float64
    rewards: Float64
    clusters: Int64
    surplus: Float64 = field(init=False)

    def __post_init__(self) -> None:
        beyond = (self.chosen - self.inclusion)[:, None, :]
        object.__setattr__(self, "surplus", np.matmul(beyond, self.features)[:, 0])

    def __len__(self) -> int:
        return len(self.rewards)

    def take(self, which: Bool) -> Selections:
        """Those decisions alone; `which` is bool[n]."""
        return Selections(
            self.features[which],
            self.live[which],
            self.chosen[which],
            self.inclusion[which],
            self.probabilities[which],
            self.temperatures[which],
            self.rewards[which],
            self.clusters[which],
        )


def selections_of(
    features: Float64, offsets: Int64, selected: Bool, inclusion: Float64, probabilities: Float64,
    temperatures: Float64, rewards: Float64, clusters: Int64,
) -> Selections:  # fmt: skip
    """Gather logged decisions, of which those without chance or without a recorded probability are left out.

    Parameters
    ----------
    features : float64[c, k]
        A row a candidate, the decisions one after the other: whatever the linear score is made of. For five weights the
        five factors; for a fitted model its columns, or the shares of its families with a weight of 1 each. From -1e6
        to 1e6.
    offsets : int64[n + 1]
        Decision i has the rows from ``offsets[i]`` to ``offsets[i + 1]``.
    selected : bool[c]
        Which candidates were chosen.
    inclusion : float64[c]
        The probability of each to be chosen, as `exploration.SlotDraw` tells it; NaN where not recorded.
    probabilities : float64[n]
        Of the chosen set; NaN or 0 where not recorded, 1 where nothing was left to chance.
    temperatures : float64[n]
        Positive where anything was left to chance.
    rewards : float64[n]
        In [0, 1].
    clusters : int64[n]
        Equal where decisions hang together: those that one person rated or, in a channel of a few, those of one session
        day. They should last, so that a decision has the same today and tomorrow.

    Raises
    ------
    ValueError
        An array of another length, offsets that are not offsets, a reward, temperature or feature outside its range.
    """
    n = len(rewards)
    _check_lengths(features, offsets, selected, inclusion, probabilities, temperatures, clusters, n)
    with np.errstate(invalid="ignore"):
        is_left = (inclusion > 0.0) & (inclusion < 1.0)
        is_known = (probabilities > 0.0) & (probabilities < 1.0)
    decision = np.repeat(np.arange(n), np.diff(offsets))
    is_left &= is_known[decision]
    sizes = np.bincount(decision[is_left], minlength=n)
    kept = np.flatnonzero(sizes)
    if not (np.isfinite(temperatures[kept]) & (temperatures[kept] > 0.0)).all():
        raise ValueError("temperatures must be positive")
    if not ((rewards[kept] >= 0.0) & (rewards[kept] <= 1.0)).all():
        raise ValueError("rewards must be in [0, 1]")
    if not (np.abs(features[is_left]) <= MOST_FEATURE).all():
        raise ValueError(f"features must be from {-MOST_FEATURE:g} to {MOST_FEATURE:g}")
    sizes = sizes[kept]
    row = np.repeat(np.arange(len(kept)), sizes)
    column = np.arange(len(row)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    shape = (len(kept), int(sizes.max(initial=0)))
    pools = np.zeros((*shape, features.shape[1]), np.float64)
    live, chosen, included = np.zeros(shape, np.bool_), np.zeros(shape, np.bool_), np.zeros(shape)
    pools[row, column] = features[is_left]
    live[row, column], chosen[row, column] = True, selected[is_left]
    included[row, column] = inclusion[is_left]
    return Selections(
        pools, live, chosen, included, probabilities[kept], temperatures[kept], rewards[kept],
        clusters[kept],
    )  # fmt: skip


def folds_of(clusters: Int64, folds: int, seed: int) -> Int64:
    """Return the fold of each decision, int64[n] from 0 to ``folds`` - 1: a hash of its cluster and the seed alone.

    So what hangs together is on one side, and a decision stays in its fold while others are added.

    Parameters
    ----------
    clusters : int64[n]
    folds : int
        At least 2.
    seed : int
        Not negative.

    Raises
    ------
    ValueError
        Fewer than 2 folds.
    """
    if folds < 2:
        raise ValueError(f"folds must be at least 2: {folds}")
    mixed = clusters.view(np.uint64) ^ np.random.SeedSequence(seed).generate_state(1, np.uint64)
    for shift, factor in _SPLIT_MIX:
        mixed = (mixed ^ (mixed >> shift)) * factor
    return (mixed % np.uint64(folds)).astype(np.int64)


def spread_of(selections: Selections, weights: Float64) -> float:
    """Return how far linear scores lie apart within their pools: the square root of their mean variance there."""
    scores = np.where(selections.live, selections.features @ weights, 0.0)
    counts = np.maximum(1, selections.live.sum(axis=1, keepdims=True))
    apart = np.where(selections.live, scores - scores.sum(axis=1, keepdims=True) / counts, 0.0)
    return math.sqrt(float((apart * apart).sum()) / max(1, int(selections.live.sum())))


def drawn_by(
    selections: Selections, weights: Float64, stretch: float = 1.0
) -> tuple[Float64, Float64]:
    """Return what weights would have drawn: float64[n], the probability of the chosen set; float64[n, p], of each line.

    Parameters
    ----------
    weights : float64[k]
    stretch : float
        What the linear scores are multiplied by; the temperatures stay those of the log.

    Raises
    ------
    ValueError
        More slots than `plackett_luce.MOST_SLOTS`.
    """
    slots = selections.chosen.sum(axis=1)
    worth = worths(
        stretch * (selections.features @ weights), selections.temperatures, selections.live
    )
    target, inclusion = np.empty(len(selections)), np.empty(worth.shape)
    for count in np.unique(slots).tolist():
        same = slots == count
        drawn = np.nonzero(selections.chosen[same])[1].reshape(-1, count)
        target[same] = set_probabilities(worth[same], drawn)
        inclusion[same] = inclusion_probabilities(worth[same], count)
    return target, inclusion


def _check_lengths(
    features: Float64, offsets: Int64, selected: Bool, inclusion: Float64, probabilities: Float64,
    temperatures: Float64, clusters: Int64, n: int,
) -> None:  # fmt: skip
    if features.ndim != 2:
        raise ValueError(f"features must have two dimensions, not {features.ndim}")
    if len(offsets) != n + 1 or offsets[0] != 0 or offsets[-1] != len(features):
        raise ValueError(f"offsets must lead from 0 to {len(features)} in {n} steps")
    if (np.diff(offsets) < 0).any():
        raise ValueError("offsets must not fall")
    for name, values in (("selected", selected), ("inclusion", inclusion)):
        if values.shape != (len(features),):
            raise ValueError(f"{name} must have one entry a candidate, not {values.shape}")
    for name, numbers in (
        ("probabilities", probabilities), ("temperatures", temperatures), ("clusters", clusters),
    ):  # fmt: skip
        if numbers.shape != (n,):
            raise ValueError(f"{name} must have one entry a decision, not {numbers.shape}")
