"""What another policy would have earned, estimated from decisions that were logged with their probabilities.

A policy picks an action a for what is asked, x. Logged are n decisions with their reward r, the probability p of the
action by the policy that logged, and t, the probability of the same action by the policy that is judged. A model
predicts the reward of an action, q(x, a); its mean under the judged policy is v(x). With w = min(t / p, clip):

========= ================================================= =====================================================
DM        mean of v                                         Beygelzimer and Langford, KDD 2009
SNIPS     sum of w r / sum of w                             Swaminathan and Joachims, NeurIPS 2015
DR        mean of v + w (r - q)                             Dudik, Langford and Li, ICML 2011
========= ================================================= =====================================================

Standard errors are those of the estimates' influence functions: the deviations of the terms for means, and by the delta
method (Owen, "Monte Carlo theory, methods and examples", 9.2) for ratios. Decisions that hang together, by one person
or in one session, are summed up first (Liang and Zeger, "Longitudinal data analysis", Biometrika 1986). Clusters count
by how many of equal size they are worth (Carter, Schnepel and Steigerwald, "Asymptotic behavior of a t-test robust to
cluster heterogeneity", Review of Economics and Statistics 2017): nobody proves much alone, however often they rate.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from backscroll_scoring.arrays import Bool, Float64, Int64
from backscroll_sidecar.learning.distributions import mean_interval, student_quantile

CONFIDENCE = 0.95
"""Of the intervals that are told."""
CLIP = 10.0
"""Weights are cut here: a decision that was ten times less probable when logged counts no more than ten."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """An estimate and how far it may be off.

    Attributes
    ----------
    value : float
        In units of the rewards. NaN where nothing can be said: no weight at all.
    standard_error : float
        Not negative; infinite with a single decision or cluster, or where the value is NaN.
    degrees_of_freedom : int
        Decisions, or the effective number of their clusters, less one; 0: how far it may be off is not known.
    """

    value: float
    standard_error: float
    degrees_of_freedom: int

    @property
    def lower(self) -> float:
        """The lower end of the two-sided 95 % interval."""
        return self._interval()[0]

    @property
    def upper(self) -> float:
        """Its upper end."""
        return self._interval()[1]

    def lower_bound(self, error: float) -> float:
        """Return what the truth lies below with a probability of at most ``error``, in (0, 1); -inf if unknown."""
        if self.degrees_of_freedom < 1 or math.isnan(self.value):
            return -math.inf
        quantile = student_quantile(1.0 - error, self.degrees_of_freedom)
        return self.value - quantile * self.standard_error

    def _interval(self) -> tuple[float, float]:
        if math.isnan(self.value):
            return -math.inf, math.inf
        return mean_interval(self.value, self.standard_error, self.degrees_of_freedom, CONFIDENCE)


@dataclass(frozen=True, slots=True, eq=False)
class LoggedDecisions:
    """Decisions that were logged, as a policy that is judged looks at them. Entry i of each array is decision i.

    Attributes
    ----------
    rewards : float64[n]
        What each earned, finite; on whatever scale, usually 0 to 1.
    propensities : float64[n]
        p: the probability of what was chosen, by the policy that chose, in (0, 1].
    target_probabilities : float64[n]
        t: the probability of the same by the policy that is judged, in [0, 1].
    predicted : float64[n]
        q: the reward a model predicts for what was chosen. Fitted on other decisions, or on none: then zeros.
    predicted_target : float64[n]
        v: the mean of the model's predictions under the policy that is judged.
    clusters : int64[n], optional
        Which decisions hang together: equal numbers.
    clip : float
        The largest weight, positive. Weights that are cut make estimates conservative, no longer unbiased.
    weights : float64[n], not given
        min(t / p, clip).

    Raises
    ------
    ValueError
        No decisions, another length, or a number outside its range. A propensity that was not recorded (NaN, 0) is one;
        `explored` tells which decisions have one.
    """

    rewards: Float64
    propensities: Float64
    target_probabilities: Float64
    predicted: Float64
    predicted_target: Float64
    clusters: Int64 | None = None
    clip: float = CLIP
    weights: Float64 = field(init=False)

    def __post_init__(self) -> None:
        if not len(self.rewards):
            raise ValueError("rewards must have at least one decision")
        for name in (
            "rewards",
            "propensities",
            "target_probabilities",
            "predicted",
            "predicted_target",
        ):
            values = getattr(self, name)
            if values.shape != (len(self.rewards),):
                raise ValueError(f"{name} must have one entry a decision, not {values.shape}")
            if not np.isfinite(values).all():
                raise ValueError(f"{name} must be finite")
        p, t = self.propensities, self.target_probabilities
        if not ((p > 0.0) & (p <= 1.0)).all():
            raise ValueError("propensities must be in (0, 1]")
        if not ((t >= 0.0) & (t <= 1.0)).all():
            raise ValueError("target_probabilities must be in [0, 1]")
        if not self.clip > 0.0:
            raise ValueError(f"clip must be positive: {self.clip}")
        if self.clusters is not None:
            _check_clusters(self.clusters, len(self.rewards))
        object.__setattr__(self, "weights", np.minimum(t / p, self.clip))


def explored(propensities: Float64) -> Bool:
    """Return which decisions something can be learnt from, bool[n]: those left to chance, with a known probability.

    Parameters
    ----------
    propensities : float64[n]
        As recorded; NaN or 0 where nothing was, 1 where nothing was left to chance.
    """
    with np.errstate(invalid="ignore"):
        out: Bool = (propensities > 0.0) & (propensities < 1.0)
    return out


def effective_sample_size(weights: Float64) -> float:
    """Return (sum of w)^2 / sum of w^2, from 0 to n: as many decisions of equal weight would tell as much (Kish, 1965).

    Parameters
    ----------
    weights : float64[n]
        Not negative. 0 where all are 0.
    """
    squares = float(weights @ weights)
    return float(weights.sum()) ** 2 / squares if squares else 0.0


def largest_weight_share(weights: Float64) -> float:
    """Return the largest weight as a share of their sum, in [0, 1]; 1 where all are 0.

    Parameters
    ----------
    weights : float64[n]
        Not negative.
    """
    total = float(weights.sum())
    return float(weights.max()) / total if total else 1.0


class _Terms(NamedTuple):
    """A value and, for each decision, its influence: what the value's error is the mean of."""

    value: float
    influence: Float64


def direct_method(logged: LoggedDecisions) -> Estimate:
    """DM. Its interval says how the decisions vary, nothing of how wrong the model may be."""
    return _estimate(_direct(logged), logged)


def snips(logged: LoggedDecisions) -> Estimate:
    """SNIPS. Consistent, within the range of the rewards, and moved by c where each reward is moved by c."""
    return _estimate(_snips(logged), logged)


def doubly_robust(logged: LoggedDecisions) -> Estimate:
    """DR. Unbiased, without clipping, where either the propensities or the model is right."""
    return _estimate(_doubly_robust(logged), logged)


@dataclass(frozen=True, slots=True)
class Comparison:
    """How much more a candidate would have earned than the incumbent, on the same decisions.

    Taken as differences decision by decision: what both policies share cancels out, and with it most of the noise.

    Attributes
    ----------
    direct, snips, doubly_robust : Estimate
        Of the difference of the two values, by three estimators.
    candidate, incumbent : Estimate
        The two values by DR, for whoever reads.
    decisions : int
        n.
    effective_decisions : float
        `effective_sample_size` of the candidate's weights.
    largest_share : float
        `largest_weight_share` of the candidate's weights.
    """

    direct: Estimate
    snips: Estimate
    doubly_robust: Estimate
    candidate: Estimate
    incumbent: Estimate
    decisions: int
    effective_decisions: float
    largest_share: float


def joined(parts: Sequence[LoggedDecisions]) -> LoggedDecisions:
    """Return the decisions of all parts, at least one, as one; each with the policy and model its part has.

    Clusters and clip are those of the parts, which are the same kind.
    """
    clusters = [part.clusters for part in parts if part.clusters is not None]
    return LoggedDecisions(
        np.concatenate([part.rewards for part in parts]),
        np.concatenate([part.propensities for part in parts]),
        np.concatenate([part.target_probabilities for part in parts]),
        np.concatenate([part.predicted for part in parts]),
        np.concatenate([part.predicted_target for part in parts]),
        np.concatenate(clusters) if clusters else None,
        parts[0].clip,
    )


def compare(candidate: LoggedDecisions, incumbent: LoggedDecisions) -> Comparison:
    """Compare two policies on the same logged decisions.

    Raises
    ------
    ValueError
        Other rewards, propensities or clusters: not the same decisions.
    """
    for name in ("rewards", "propensities", "clusters"):
        ours, theirs = getattr(candidate, name), getattr(incumbent, name)
        if not (ours is theirs or np.array_equal(ours, theirs)):
            raise ValueError(f"{name} of the two differ: they must be the same decisions")
    direct, ratio, robust = (
        _estimate(_difference(terms(candidate), terms(incumbent)), candidate)
        for terms in (_direct, _snips, _doubly_robust)
    )
    return Comparison(
        direct,
        ratio,
        robust,
        doubly_robust(candidate),
        doubly_robust(incumbent),
        len(candidate.rewards),
        effective_sample_size(candidate.weights),
        largest_weight_share(candidate.weights),
    )


def _direct(logged: LoggedDecisions) -> _Terms:
    return _mean(logged.predicted_target)


def _snips(logged: LoggedDecisions) -> _Terms:
    return _ratio(logged.weights, logged.rewards)


def _doubly_robust(logged: LoggedDecisions) -> _Terms:
    missed = logged.rewards - logged.predicted
    return _mean(logged.predicted_target + logged.weights * missed)


def _mean(terms: Float64) -> _Terms:
    value = float(terms.mean())
    return _Terms(value, terms - value)


def _ratio(weights: Float64, values: Float64) -> _Terms:
    mean = float(weights.mean())
    if not mean:
        return _Terms(math.nan, np.zeros(len(weights)))
    value = float(weights @ values) / (mean * len(weights))
    return _Terms(value, weights * (values - value) / mean)


def _difference(one: _Terms, other: _Terms) -> _Terms:
    return _Terms(one.value - other.value, one.influence - other.influence)


def _estimate(terms: _Terms, logged: LoggedDecisions) -> Estimate:
    if math.isnan(terms.value):
        return Estimate(terms.value, math.inf, 0)
    return Estimate(terms.value, *standard_error(terms.influence, logged.clusters))


def standard_error(influence: Float64, clusters: Int64 | None = None) -> tuple[float, int]:
    """Return the standard error of a mean and its degrees of freedom, from the deviations of its terms.

    Parameters
    ----------
    influence : float64[n]
        Deviations, which sum to 0. At least one.
    clusters : int64[n], optional
        Equal where terms hang together: their deviations are summed up first.

    Returns
    -------
    float
        Not negative; infinite for a single term or cluster.
    int
        Terms, or the effective number of clusters, less one.
    """
    sums, sizes = influence, np.ones(len(influence))
    if clusters is not None:
        _, places, counts = np.unique(clusters, return_inverse=True, return_counts=True)
        sums, sizes = np.zeros(len(counts)), counts.astype(np.float64)
        np.add.at(sums, places, influence)
    count = len(sums)
    if count < 2:
        return math.inf, 0
    degrees = math.floor(effective_sample_size(sizes) + 1e-9) - 1
    scale = math.sqrt(float(sums @ sums) * count / (count - 1))
    return scale / len(influence), degrees


def _check_clusters(clusters: Int64, count: int) -> None:
    if clusters.shape != (count,):
        raise ValueError(f"clusters must have one entry a decision, not {clusters.shape}")
    if not np.issubdtype(clusters.dtype, np.integer):
        raise ValueError(f"clusters must be whole numbers, not {clusters.dtype}")
