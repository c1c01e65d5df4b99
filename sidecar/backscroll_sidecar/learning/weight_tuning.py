"""Better weights for one channel, from decisions whose last slots were drawn and that earned a reward.

A candidate's linear score is ``features @ weights``. Where lines were drawn, each decision is a small experiment: what
the chosen lines have beyond what was to be expected, z = sum over the pool of (chosen - probability) * features, is
independent of the question, so a regression of the rewards on z says what a line's features are worth, undisturbed by
how hard the questions were.

The utility of feature j is weight_j * (c + g_j), with the weights that all channels share: c is how much the
shared score is worth, g_j how this channel differs. Both have normal priors, g_j a narrow one around 0, and how
narrow is chosen by the marginal likelihood (empirical Bayes: Morris, JASA 1983; MacKay, "Bayesian interpolation",
Neural Computation 1992). So a channel with little or noisy feedback stays with the shared weights. Where c is not
clearly positive the feedback contradicts the score as a whole: it is noise or malice, and nothing is proposed.

Equal input gives equal output. `tune` is all of it: `fit` finds utilities, `propose` makes a bounded step towards them,
and what the step gains is estimated for `adoption.judge`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from backscroll_scoring.arrays import Float64
from backscroll_sidecar.learning.estimators import (
    CLIP,
    Comparison,
    LoggedDecisions,
    compare,
    joined,
)
from backscroll_sidecar.learning.logged_selections import Selections, drawn_by, folds_of, spread_of

MOST_STEP = 0.2
"""By so much of itself a weight changes at most in one step."""
MOST_CHANGE = 5.0
"""So many times its shared value a weight is worth at most, and no less than the shared one divided by this."""
LEAST_CONFIDENCE = 0.95
"""So surely the shared score must be worth something, else the feedback is not believed."""
FOLDS = 5
_SPREADS = (0.0, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2)
"""How far the utilities of a channel may lie from the shared ones, as a share of c: standard deviations of g / c."""
_SCALES = tuple(10.0 ** (step / 4) for step in range(-8, 9))
"""How large c may be, as multiples of its least-squares value."""
_ENOUGH_CHANGE = 1e-3
"""A step that changes all weights together by less than this share of them is none."""
_LEAST_TARGET = 1e-9
"""A target of 0 counts as this share of the current weight: it falls by a whole step."""
_HALVINGS = 80


@dataclass(frozen=True, slots=True, eq=False)
class Utilities:
    """What a line's features are worth in one channel.

    Attributes
    ----------
    utilities : float64[k]
        Reward that one unit of a feature in one chosen line brings; 0 where the shared weight is 0.
    base : float
        The mean reward.
    spread : float
        How far the channel was found to lie from the shared weights, a standard deviation as a share of them; 0: it was
        not told apart from them.
    confidence : float
        How surely the shared score is worth something, in [0, 1].
    decisions : int
        How many it was fitted on.
    """

    utilities: Float64
    base: float
    spread: float
    confidence: float
    decisions: int


def fit(selections: Selections, shared: Float64) -> Utilities:
    """Fit what features are worth, drawn towards the shared weights as far as the data do not say otherwise.

    Ridge regression of the centred rewards on the surplus, in units of the shared weights. See the module for priors.

    Parameters
    ----------
    selections : Selections
    shared : float64[k]
        The weights that all channels share. What has a weight of 0 is left out.

    Raises
    ------
    ValueError
        Another number of weights than of features, or weights that are not finite or all 0.
    """
    _check_weights("shared", shared, selections.features.shape[2])
    n = len(selections)
    columns = selections.surplus * shared
    base = float(selections.rewards.mean()) if n else 0.0
    centred = selections.rewards - base
    gram, right = columns.T @ columns, columns.T @ centred
    total, along = float(gram.sum()), float(right.sum())
    if n <= len(shared) or total <= 1e-12 * n:
        return Utilities(np.zeros(len(shared)), base, 0.0, 0.0, n)
    noise = _noise(centred, gram, right)
    scale = along / total
    confidence = 0.5 * math.erfc(-along / math.sqrt(2.0 * noise * total))
    likeliest = max(
        (_with_prior(gram, right, noise, spread, abs(scale)) for spread in _SPREADS),
        key=lambda found: found[0],
    )
    return Utilities(likeliest[1] * shared, base, likeliest[2], confidence, n)


def _noise(centred: Float64, gram: Float64, right: Float64) -> float:
    """The variance of a reward around its least-squares prediction."""
    best = np.linalg.lstsq(gram, right, rcond=None)[0]
    left = float(centred @ centred) - float(right @ best)
    return max(1e-12, left / max(1, len(centred) - len(right) - 1))


def _with_prior(
    gram: Float64, right: Float64, noise: float, spread: float, scale: float
) -> tuple[float, Float64, float]:
    """The log of the marginal likelihood with the likeliest size of c, up to a constant; utilities; the spread again.

    The utilities, float64[k], are s R e, with e of independent standard normals, R = [1 | spread I] and s the deviation
    of c. In the eigenvectors of R' gram R likelihood and posterior mean are sums, for all s at once.
    """
    count = len(right)
    root = np.hstack((np.ones((count, 1)), spread * np.eye(count)))
    values, vectors = np.linalg.eigh(root.T @ gram @ root)
    along = vectors.T @ (root.T @ right)
    sizes = (scale * np.array(_SCALES)) ** 2
    scaled = noise + sizes[:, None] * np.maximum(0.0, values)
    logs = 0.5 * (
        (sizes[:, None] * along**2 / (noise * scaled)).sum(axis=1)
        - np.log(scaled / noise).sum(axis=1)
    )
    best = int(logs.argmax())
    found: Float64 = root @ (vectors @ (sizes[best] * along / scaled[best]))
    return float(logs[best]), found, spread


@dataclass(frozen=True, slots=True, eq=False)
class Proposal:
    """Weights that may be better.

    Attributes
    ----------
    weights : float64[k]
        One bounded step from the current ones.
    target : float64[k]
        Where the steps lead, if the data go on saying the same.
    utilities : Utilities
        What it is founded on.
    """

    weights: Float64
    target: Float64
    utilities: Utilities


def propose(
    utilities: Utilities, shared: Float64, current: Float64, held: Sequence[int] = ()
) -> Proposal | None:
    """Propose one step from the current weights.

    Each keeps its sign and changes by at most `MOST_STEP` of itself. All keep the sum of their absolute values, so
    that thresholds keep their meaning. Nothing is proposed where the feedback is not believed or says nothing.

    Parameters
    ----------
    utilities : Utilities
        Of `fit`.
    shared, current : float64[k]
        The weights that all channels share, and those that hold in this one. Of the same signs.
    held : ints
        Factors whose weights stay.

    Raises
    ------
    ValueError
        Weights of another number or other signs, that are not finite, or all 0.
    """
    _check_weights("shared", shared, len(utilities.utilities))
    _check_weights("current", current, len(utilities.utilities))
    if not np.array_equal(np.sign(shared), np.sign(current)):
        raise ValueError("current must have the signs of shared")
    if utilities.confidence < LEAST_CONFIDENCE:
        return None
    target = _target(utilities.utilities, shared)
    weights = bounded_step(current, target, held=held)
    if float(np.abs(weights - current).sum()) < _ENOUGH_CHANGE * float(np.abs(current).sum()):
        return None
    return Proposal(weights, target, utilities)


def _target(utilities: Float64, shared: Float64) -> Float64:
    """float64[k]: in proportion to the utilities, within `MOST_CHANGE` of the shared, of the same absolute sum."""
    size = np.abs(shared)
    ratios = np.divide(utilities, shared, out=np.zeros(len(shared)), where=shared != 0.0)
    mean = float(size @ ratios) / float(size.sum())
    if mean <= 0.0:
        return shared.copy()
    ratios = np.clip(ratios / mean, 1.0 / MOST_CHANGE, MOST_CHANGE)
    out: Float64 = shared * ratios
    return out * (float(size.sum()) / float(np.abs(out).sum()))


def bounded_step(
    current: Float64, target: Float64, most: float = MOST_STEP, held: Sequence[int] = ()
) -> Float64:
    """Return the weights nearest to ``target`` in proportions that one step reaches.

    They are s * |target| cut to [1 - most, 1 + most] times |current|, with the s for which the sum stays that of the
    current ones: found by bisection, since the sum grows with s.

    Parameters
    ----------
    current, target : float64[k]
        Finite; the current ones not all 0, and their signs are kept.
    most : float
        In (0, 1).
    held : ints
        Weights that stay.

    Returns
    -------
    float64[k]
        Of the same absolute sum as the current ones; 0 where those are.
    """
    size = np.abs(current)
    wanted = np.maximum(np.abs(target), _LEAST_TARGET * size)
    low, high = (1.0 - most) * size, (1.0 + most) * size
    low[list(held)] = high[list(held)] = size[list(held)]
    total, is_moving = float(size.sum()), size > 0.0
    wanted[~is_moving] = 0.0
    least, largest = 0.0, float((high[is_moving] / wanted[is_moving]).max())
    for _ in range(_HALVINGS):
        scale = 0.5 * (least + largest)
        if float(np.clip(scale * wanted, low, high).sum()) < total:
            least = scale
        else:
            largest = scale
    out: Float64 = np.sign(current) * np.clip(largest * wanted, low, high)
    return out


@dataclass(frozen=True, slots=True, eq=False)
class Tuning:
    """What came of tuning one channel.

    Attributes
    ----------
    proposal : Proposal or None
        None: nothing to propose.
    gain : Comparison or None
        What such a proposal gains, for `adoption.judge`; None: no decision was left to chance.
    """

    proposal: Proposal | None
    gain: Comparison | None


def tune(
    selections: Selections, shared: Float64, current: Float64, *, seed: int, held: Sequence[int] = (),
    folds: int = FOLDS, clip: float = CLIP,
) -> Tuning:  # fmt: skip
    """Propose weights from all decisions, and estimate their gain where no decision judges what it was fitted on.

    Cross-fitting (Chernozhukov et al., "Double/debiased machine learning", Econometrics Journal 2018): for each fold
    weights are proposed from the others and judged on this one; the estimate is over all folds together. It is about
    the way weights are proposed, of which the proposal from all decisions is one more, better founded instance.

    Parameters
    ----------
    selections : Selections
        All that is known of the channel, whatever weights held at the time.
    shared, current : float64[k]
        See `propose`.
    seed : int
        Not negative; of the folds. The same each time for one channel.
    held : ints
        See `propose`.
    folds : int
        At least 2.
    clip : float
        See `LoggedDecisions`.

    Raises
    ------
    ValueError
        As `propose` and `judged_by`.
    """
    proposal = propose(fit(selections, shared), shared, current, held)
    if not len(selections):
        return Tuning(None, None)
    fold = folds_of(selections.clusters, folds, seed)
    candidates, incumbents = [], []
    for one in np.unique(fold).tolist():
        utilities, left_out = (
            fit(selections.take(fold != one), shared),
            selections.take(fold == one),
        )
        found = propose(utilities, shared, current, held)
        candidate = current if found is None else found.weights
        candidates.append(judged_by(left_out, utilities, candidate, current, clip))
        incumbents.append(judged_by(left_out, utilities, current, current, clip))
    return Tuning(proposal, compare(joined(candidates), joined(incumbents)))


def compared(
    selections: Selections, utilities: Utilities, candidate: Float64, incumbent: Float64, *, clip: float = CLIP
) -> Comparison | None:  # fmt: skip
    """Compare two weights on decisions that neither was fitted on: those since an adoption, for a way back.

    Parameters
    ----------
    selections : Selections
        Drawn by `exploration.draw_slots`.
    utilities : Utilities
        Of other decisions: the model of the direct and doubly robust estimates.
    candidate, incumbent : float64[k]
    clip : float
        See `LoggedDecisions`.

    Returns
    -------
    Comparison or None
        For `adoption.judge_adopted`; None without any decision that was left to chance.

    Raises
    ------
    ValueError
        As `judged_by`.
    """
    if not len(selections):
        return None
    return compare(
        judged_by(selections, utilities, candidate, incumbent, clip),
        judged_by(selections, utilities, incumbent, incumbent, clip),
    )


def judged_by(
    selections: Selections,
    utilities: Utilities,
    weights: Float64,
    like: Float64,
    clip: float = CLIP,
) -> LoggedDecisions:
    """Return the decisions as weights are judged by them: what would they have drawn into the last slots?

    Weights are looked at as a policy that keeps what was fixed and draws from the same pools by its own scores. These
    are stretched until they lie as far apart as those of the weights ``like``: a draw by scores that lie further apart
    is surer of the best, which would count as a gain that a ranking without draws does not have.

    Parameters
    ----------
    selections : Selections
    utilities : Utilities
        Of other decisions.
    weights, like : float64[k]
    clip : float
        See `LoggedDecisions`.

    Raises
    ------
    ValueError
        Weights of another number, not finite or all 0, or decisions with more slots than `draw_slots` draws.
    """
    for name, given in (("weights", weights), ("like", like)):
        _check_weights(name, given, selections.features.shape[2])
    wanted, spread = spread_of(selections, like), spread_of(selections, weights)
    target, inclusion = drawn_by(selections, weights, wanted / spread if spread else 1.0)
    lines = selections.features @ utilities.utilities
    expected = ((inclusion - selections.inclusion) * lines).sum(axis=1)
    found = ((selections.chosen - selections.inclusion) * lines).sum(axis=1)
    return LoggedDecisions(
        selections.rewards,
        selections.probabilities,
        target,
        utilities.base + found,
        utilities.base + expected,
        selections.clusters,
        clip,
    )


def _check_weights(name: str, weights: Float64, count: int) -> None:
    if weights.shape != (count,):
        raise ValueError(f"{name} must have {count} weights, not {weights.shape}")
    if not np.isfinite(weights).all() or not weights.any():
        raise ValueError(f"{name} must be finite and not all 0")
