"""What recorded builds say of a channel's weights: a proposal and whether it is adopted, or the way back. Pure.

Weights change by what people said in as many words, of builds whose last places were drawn. Equal input gives equal
output.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import msgspec
import numpy as np
from msgspec.structs import replace as replace_fields

from backscroll_scoring.arrays import Float64
from backscroll_sidecar.learning.adoption import (
    AdoptionDecision,
    GuardMetric,
    Reason,
    guard_refuses,
    judge,
    judge_adopted,
    usual_guards,
)
from backscroll_sidecar.learning.estimators import (
    Comparison,
    Estimate,
    effective_sample_size,
)
from backscroll_sidecar.learning.exploration import seed_of
from backscroll_sidecar.learning.missed_replies import NAME, Answering, factors_to_hold, guard_of
from backscroll_sidecar.learning.rated_builds import (
    RatedBuild,
    explored,
    rated,
    selections_of_builds,
)
from backscroll_sidecar.learning.weight_tuning import (
    Utilities,
    compared,
    fit,
    judged_by,
    tune,
)

Weights = tuple[float, ...]
P95, ONE_SIDED_95 = 0.95, 1.645
"""The level of the latency guard, and how many standard errors lie below a bound that holds in 95 of 100 cases."""


class GainEstimate(msgspec.Struct, frozen=True):
    """A gain and its 95 % interval; None: not known."""

    value: float
    lower: float | None
    upper: float | None


class Guard(msgspec.Struct, frozen=True):
    """A number that may not get worse, as `adoption.GuardMetric` has it; None: not measured."""

    name: str
    incumbent: float | None
    candidate: float | None
    most: float | None


class Evidence(msgspec.Struct, frozen=True):
    """What a decision is founded on. See `estimators.Comparison`."""

    direct: GainEstimate
    snips: GainEstimate
    doubly_robust: GainEstimate
    decisions: int
    effective_decisions: float
    largest_share: float
    guards: tuple[Guard, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a tuning.

    Attributes
    ----------
    decision : what is done, and why.
    proposed : weights that would be better, or the ones that come back; None: there are none.
    evidence : None: nothing could be compared.
    tests : how many times a part of the error was spent, see `adoption.judge`.
    """

    decision: AdoptionDecision
    proposed: Weights | None
    evidence: Evidence | None
    tests: int = 0


@dataclass(frozen=True, slots=True)
class TuningReport:
    """What was decided of one channel.

    Attributes
    ----------
    outcome : with `changed` false in a dry run, too, where `outcome.decision.changes`.
    version : that holds now; 0: the server's weights.
    current : the weights that held before.
    builds, rated_builds : how many of the profile are recorded; how many of those can teach something.
    """

    channel: str
    outcome: Outcome
    version: int
    factors: tuple[str, ...]
    current: Weights
    builds: int
    rated_builds: int


def fold_seed(channel: str) -> int:
    """What folds are made by: the same each time for one channel."""
    return seed_of("tuning", channel, "")


def report_of(
    channel: str, builds: Sequence[RatedBuild], factors: tuple[str, ...], shared: Weights
) -> TuningReport:
    """What tuning a channel that has the server's weights comes to by these builds alone."""
    outcome = tuned(builds, shared, shared, seed=fold_seed(channel), tests_before=0)
    outcome = _guarded(outcome, None, shared)
    return TuningReport(channel, outcome, 0, factors, shared, len(builds), len(rated(builds)))


def tuned(
    builds: Sequence[RatedBuild], shared: Weights, current: Weights, *, seed: int, tests_before: int,
    held: Sequence[int] = (),
) -> Outcome:  # fmt: skip
    """Propose weights and judge them.

    Parameters
    ----------
    builds : all that are recorded of the channel with the weighted profile.
    shared, current : the server's weights, and those that hold in the channel.
    seed : of the folds; the same each time for one channel.
    tests_before : as `adoption.judge` takes it.
    held : factors whose weights stay.
    """
    common, now = np.array(shared), _with_signs(shared, current)
    selections = selections_of_builds(rated(builds), len(shared))
    found = tune(selections, common, now, seed=seed, held=held)
    proposed = None if found.proposal is None else found.proposal.weights
    guards = _guards(builds, now if proposed is None else proposed, now, builds)
    decision = judge(
        found.gain, guards, tests_before=tests_before, is_proposed=proposed is not None
    )
    return Outcome(
        _told(decision, builds),
        None if proposed is None else tuple(proposed.tolist()),
        None if found.gain is None else evidence_of(found.gain, guards),
        int(decision.was_tested),
    )


def tuned_beside(
    outcome: Outcome,
    answering: Answering | None,
    builds: Sequence[RatedBuild],
    shared: Weights,
    current: Weights,
    *,
    seed: int,
    tests_before: int,
) -> Outcome:
    """The outcome of `tuned` with one more guard: weights to be adopted may not hide what lines of the channel answer.

    Where they would, what is proposed with some weights held is judged in their place: one more test. Where it is not
    known what lines answer, or of too few, the guard is left out, and the evidence says so: a channel may be small, or
    its records may be all there is of it. Parameters: see `tuned`.
    """
    guarded = _guarded(outcome, answering, shared)
    if guarded.decision.reason is not Reason.GUARD_WORSE or outcome.proposed is None:
        return guarded
    assert answering is not None
    held = factors_to_hold(
        answering, np.array(outcome.proposed), _with_signs(shared, current), np.array(shared)
    )
    if not held:
        return guarded
    again = tuned(builds, shared, current, seed=seed, tests_before=tests_before + 1, held=held)
    again = _guarded(again, answering, shared)
    if again.decision.reason is Reason.ADOPTED:
        return again
    return replace(guarded, tests=guarded.tests + again.tests)


def _guarded(outcome: Outcome, answering: Answering | None, shared: Weights) -> Outcome:
    if outcome.decision.reason is not Reason.ADOPTED:
        return outcome
    assert outcome.proposed is not None
    assert outcome.evidence is not None
    found = guard_of(answering, np.array(outcome.proposed), np.array(shared))
    guard = found or GuardMetric(NAME, math.nan, math.nan)
    evidence = replace_fields(
        outcome.evidence, guards=(*outcome.evidence.guards, *_told_guards([guard]))
    )
    refused = None if found is None else guard_refuses([found])
    return replace(outcome, decision=refused or outcome.decision, evidence=evidence)


def judged(
    before: Sequence[RatedBuild], since: Sequence[RatedBuild], shared: Weights, current: Weights, parent: Weights
) -> Outcome:  # fmt: skip
    """Say whether adopted weights stay, by builds since their adoption.

    Parameters
    ----------
    before, since : builds up to the adoption, and from then on.
    shared, current, parent : the server's weights, those that were adopted, and those that held before.
    """
    common = np.array(shared)
    held, former = _with_signs(shared, current), _with_signs(shared, parent)
    utilities = fit(selections_of_builds(rated(before), len(shared)), common)
    gain = compared(selections_of_builds(rated(since), len(shared)), utilities, held, former)
    guards = _guards(since, held, former, before)
    decision = _told(judge_adopted(gain, guards), since)
    if decision.reason not in (Reason.KEPT, Reason.ROLLED_BACK):
        decision = replace(decision, detail=f"adopted weights are on trial: {decision.detail}")
    return Outcome(
        decision,
        parent if decision.changes else None,
        None if gain is None else evidence_of(gain, guards),
    )


def evidence_of(gain: Comparison, guards: Sequence[GuardMetric]) -> Evidence:
    """A comparison as it is kept and told."""
    return Evidence(
        _estimate(gain.direct),
        _estimate(gain.snips),
        _estimate(gain.doubly_robust),
        gain.decisions,
        gain.effective_decisions,
        gain.largest_share,
        _told_guards(guards),
    )


def _told_guards(guards: Sequence[GuardMetric]) -> tuple[Guard, ...]:
    return tuple(
        Guard(one.name, _known(one.incumbent), _known(one.candidate), _known(one.most))
        for one in guards
    )


def _told(decision: AdoptionDecision, builds: Sequence[RatedBuild]) -> AdoptionDecision:
    """Draws that nobody rated are no lack of propensities."""
    if decision.reason is not Reason.NO_PROPENSITIES or not (drawn := explored(builds)):
        return decision
    words = f"{len(drawn)} builds have propensities, none of them has explicit feedback"
    return AdoptionDecision(False, Reason.TOO_FEW_DECISIONS, words)


def _with_signs(shared: Weights, current: Weights) -> Float64:
    """The current weights; where the server has set one to 0 since, or no longer, its own."""
    common, held = np.array(shared), np.array(current)
    return np.where(np.sign(common) == np.sign(held), held, common)


def _guards(
    builds: Sequence[RatedBuild], candidate: Float64, incumbent: Float64, before: Sequence[RatedBuild]
) -> tuple[GuardMetric, ...]:  # fmt: skip
    """What builds would cost with either weights: each counts by how probable they make what was drawn in it.

    Whether a build falls back no weights decide: that is as it was before, and as it is.
    """
    drawn = explored(builds)
    tokens = latency = (math.nan, math.nan)
    if drawn:
        selections = selections_of_builds(drawn, len(incumbent))
        nothing = Utilities(np.zeros(len(incumbent)), 0.0, 0.0, 0.0, 0)
        new, old = (
            judged_by(selections, nothing, weights, incumbent).weights
            for weights in (candidate, incumbent)
        )
        size = np.array([one.tokens for one in drawn], np.float64)
        took_ms = np.array([one.build_us for one in drawn], np.float64) / 1e3
        tokens = _mean(size, old), _mean(size, new)
        latency = _quantile(took_ms, old, P95), _quantile(took_ms, new, _surely_at_least(P95, new))
    fallbacks = _fallback_rate(before), _fallback_rate(builds)
    return usual_guards(tokens=tokens, latency_p95_ms=latency, fallback_rate=fallbacks)


def _mean(values: Float64, weights: Float64) -> float:
    total = float(weights.sum())
    return float(values @ weights) / total if total else math.nan


def _quantile(values: Float64, weights: Float64, level: float) -> float:
    """The least value that this share of the weight lies at or below."""
    order = np.argsort(values, kind="stable")
    summed = np.cumsum(weights[order])
    if not summed[-1]:
        return math.nan
    return float(values[order][np.searchsorted(summed, level * summed[-1])])


def _surely_at_least(level: float, weights: Float64) -> float:
    """The level whose quantile the true one of ``level`` is not below, with 95 %: a few slow builds prove nothing."""
    count = max(1.0, effective_sample_size(weights))
    return max(0.0, level - ONE_SIDED_95 * math.sqrt(level * (1.0 - level) / count))


def _fallback_rate(builds: Sequence[RatedBuild]) -> float:
    return sum(not one.is_ranked for one in builds) / len(builds) if builds else math.nan


def _estimate(one: Estimate) -> GainEstimate:
    return GainEstimate(one.value, _known(one.lower), _known(one.upper))


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None
