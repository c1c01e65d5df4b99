"""Whether weights that were proposed are adopted, and whether those adopted last are taken back. Rules are data.

The bound is that of the gain over the incumbent on the same decisions: the candidate's lower bound beats the incumbent
when that is above 0.

Weights are tried again and again, so each test has only a part of the error of 2.5 % that a 95 % interval has on its
side: test number i since the last adoption, from 1, gets 2.5 % / (i (i + 1)). These sum to 2.5 %, so a channel whose
feedback means nothing ever adopts anything with at most that probability, however the tests depend on each other. An
adoption earns a fresh 2.5 % (Foster and Stine, "Alpha-investing", Journal of the Royal Statistical Society B 2008).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from backscroll_sidecar.learning.estimators import Comparison


@dataclass(frozen=True, slots=True)
class AdoptionRules:
    """What must hold before weights change by themselves.

    Attributes
    ----------
    error : float
        The probability, in (0, 1), of ever adopting where feedback means nothing: that of one side of a 95 % interval.
    least_effective_decisions : float
        n_eff must be at least that.
    most_weight_share : float
        Each decision's weight must be below this share of all, in (0, 1].
    most_disagreement : float
        By how much, in units of the rewards, the three estimates of the gain may differ, or by the width of the 95 %
        interval of the doubly robust one where that is wider.
    rollback_margin : float
        What was adopted stays while the lower bound of its gain is not below minus this, in units of the rewards.
        With 0 a true gain is taken back as often as a window is too small to prove it again.
    """

    error: float = 0.025
    least_effective_decisions: float = 200.0
    most_weight_share: float = 0.1
    most_disagreement: float = 0.05
    rollback_margin: float = 0.02

    def __post_init__(self) -> None:
        if not 0.0 < self.error < 1.0:
            raise ValueError(f"error must be in (0, 1): {self.error}")
        if not 0.0 < self.most_weight_share <= 1.0:
            raise ValueError(f"most_weight_share must be in (0, 1]: {self.most_weight_share}")
        for name in ("least_effective_decisions", "most_disagreement", "rollback_margin"):
            if not getattr(self, name) >= 0.0:
                raise ValueError(f"{name} must not be negative: {getattr(self, name)}")


RULES = AdoptionRules()


@dataclass(frozen=True, slots=True)
class GuardMetric:
    """A number that may not get worse while another one gets better. Less is better.

    Attributes
    ----------
    name : str
        With its unit, such as "tokens" or "latency_p95_ms".
    incumbent, candidate : float
        Its values, not negative, with the weights that hold and with those that are judged. NaN: not measured.
    relative_margin, absolute_margin : float
        The candidate's may be at most incumbent * (1 + relative_margin) + absolute_margin.
    """

    name: str
    incumbent: float
    candidate: float
    relative_margin: float = 0.0
    absolute_margin: float = 0.0

    @property
    def most(self) -> float:
        """The largest value that the candidate may have."""
        return self.incumbent * (1.0 + self.relative_margin) + self.absolute_margin


def usual_guards(
    *, tokens: tuple[float, float], latency_p95_ms: tuple[float, float], fallback_rate: tuple[float, float]
) -> tuple[GuardMetric, ...]:  # fmt: skip
    """Return the guards of every change: tokens +5 %, latency +10 % and 1 ms, fallbacks +1 of 100 builds.

    Parameters
    ----------
    tokens, latency_p95_ms, fallback_rate : pairs of floats
        Incumbent and candidate: tokens of a context in the mean, milliseconds, share of builds in [0, 1].
    """
    return (
        GuardMetric("tokens", *tokens, relative_margin=0.05),
        GuardMetric("latency_p95_ms", *latency_p95_ms, relative_margin=0.1, absolute_margin=1.0),
        GuardMetric("fallback_rate", *fallback_rate, absolute_margin=0.01),
    )


class Reason(StrEnum):
    """What decided."""

    ADOPTED = "adopted"
    NO_PROPENSITIES = "no_propensities"
    TOO_FEW_DECISIONS = "too_few_decisions"
    WEIGHT_CONCENTRATED = "weight_concentrated"
    NOTHING_PROPOSED = "nothing_proposed"
    GUARD_WORSE = "guard_worse"
    GUARD_UNKNOWN = "guard_unknown"
    ESTIMATES_DISAGREE = "estimates_disagree"
    NOT_PROVEN = "not_proven"
    KEPT = "kept"
    ROLLED_BACK = "rolled_back"
    SET_BY_HAND = "set_by_hand"
    NOT_WEIGHTED = "not_weighted"
    NOT_COLLECTED = "not_collected"


@dataclass(frozen=True, slots=True)
class AdoptionDecision:
    """What is done, and why.

    Attributes
    ----------
    changes : bool
        Whether weights change: those proposed are adopted, or those adopted last are taken back.
    reason : Reason
        The first rule that decided.
    detail : str
        The same as a sentence with its numbers, for whoever runs the server.
    was_tested : bool
        Whether a part of the error was spent: then it counts among the next call's ``tests_before``.
    """

    changes: bool
    reason: Reason
    detail: str
    was_tested: bool = False


def allowed_error(tests_before: int, rules: AdoptionRules = RULES) -> float:
    """Return the error that the next test may have: ``rules.error`` / (i (i + 1)) with i = ``tests_before`` + 1.

    Raises
    ------
    ValueError
        A negative number of tests.
    """
    if tests_before < 0:
        raise ValueError(f"tests_before must not be negative: {tests_before}")
    return rules.error / ((tests_before + 1) * (tests_before + 2))


def judge(
    gain: Comparison | None,
    guards: Sequence[GuardMetric],
    *,
    tests_before: int,
    is_proposed: bool = True,
    rules: AdoptionRules = RULES,
) -> AdoptionDecision:
    """Decide whether a candidate is adopted.

    Parameters
    ----------
    gain : Comparison or None
        Of the candidate over the incumbent, on decisions that it was not fitted on. None: no decision has a
        propensity.
    guards : GuardMetrics
        See `usual_guards`.
    tests_before : int
        How many earlier decisions of this channel, since it last adopted anything, say `was_tested`.
    is_proposed : bool
        Whether there is a candidate at all.

    Returns
    -------
    AdoptionDecision
        ADOPTED, or the first rule that forbids it. Rewards are looked at last: where decisions are too few or a guard
        got worse, no error is spent.
    """
    error = allowed_error(tests_before, rules)
    refused = _not_enough(gain, rules)
    if refused is None and not is_proposed:
        refused = AdoptionDecision(
            False, Reason.NOTHING_PROPOSED, "the feedback asks for no change"
        )
    refused = refused or guard_refuses(guards)
    if refused or gain is None:
        return refused or _replay_only()
    if not _agree(gain, rules):
        told = ", ".join(f"{name} {value:+.4f}" for name, value in _gains(gain).items())
        return AdoptionDecision(False, Reason.ESTIMATES_DISAGREE, f"gains differ: {told}", True)
    bound = gain.doubly_robust.lower_bound(error)
    told = f"gain {gain.doubly_robust.value:+.4f}, lower bound {bound:+.4f} at error {error:.2g}"
    is_proven = bound > 0.0
    return AdoptionDecision(
        is_proven, Reason.ADOPTED if is_proven else Reason.NOT_PROVEN, told, True
    )


def judge_adopted(
    gain: Comparison | None, guards: Sequence[GuardMetric], *, rules: AdoptionRules = RULES
) -> AdoptionDecision:
    """Decide, after the window that followed an adoption, whether the weights before come back.

    Parameters
    ----------
    gain : Comparison or None
        The adopted weights against those before, on decisions since the adoption.
    guards : GuardMetrics
        Before (``incumbent``) and since (``candidate``). One that was not measured takes nothing back.

    Returns
    -------
    AdoptionDecision
        ROLLED_BACK where a guard got worse, or where the lower 95 % bound of the gain is below minus
        ``rules.rollback_margin``. Where too little is known yet: that reason, and nothing changes.
    """
    for guard in guards:
        if guard.candidate > guard.most:
            return AdoptionDecision(True, Reason.ROLLED_BACK, _worse(guard))
    waiting = _not_enough(gain, rules)
    if waiting or gain is None:
        return waiting or _replay_only()
    bound = gain.doubly_robust.lower
    falls = bound < -rules.rollback_margin
    told = f"lower bound of the gain {bound:+.4f}, at least {-rules.rollback_margin:+.4f} wanted"
    return AdoptionDecision(falls, Reason.ROLLED_BACK if falls else Reason.KEPT, told)


def _replay_only() -> AdoptionDecision:
    return AdoptionDecision(False, Reason.NO_PROPENSITIES, "replay only: no propensities")


def _not_enough(gain: Comparison | None, rules: AdoptionRules) -> AdoptionDecision | None:
    if gain is None:
        return _replay_only()
    if gain.effective_decisions < rules.least_effective_decisions:
        return AdoptionDecision(
            False,
            Reason.TOO_FEW_DECISIONS,
            f"{gain.decisions} decisions are worth {gain.effective_decisions:.0f}, "
            f"{rules.least_effective_decisions:.0f} are needed",
        )
    if gain.largest_share >= rules.most_weight_share:
        return AdoptionDecision(
            False,
            Reason.WEIGHT_CONCENTRATED,
            f"one decision has {gain.largest_share:.0%} of the weight, "
            f"less than {rules.most_weight_share:.0%} is wanted",
        )
    return None


def guard_refuses(guards: Sequence[GuardMetric]) -> AdoptionDecision | None:
    """The first guard that forbids a change; None: all permit it."""
    for guard in guards:
        if math.isnan(guard.candidate) or math.isnan(guard.most):
            return AdoptionDecision(
                False, Reason.GUARD_UNKNOWN, f"{guard.name} was not measured for both"
            )
        if guard.candidate > guard.most:
            return AdoptionDecision(False, Reason.GUARD_WORSE, _worse(guard))
    return None


def _worse(guard: GuardMetric) -> str:
    return f"{guard.name} {guard.incumbent:g} becomes {guard.candidate:g}, at most {guard.most:g}"


def _gains(gain: Comparison) -> dict[str, float]:
    return {
        "DM": gain.direct.value,
        "SNIPS": gain.snips.value,
        "DR": gain.doubly_robust.value,
    }


def _agree(gain: Comparison, rules: AdoptionRules) -> bool:
    """All on one side of 0, and no further apart than the rules or chance permit."""
    values = _gains(gain).values()
    if not all(map(math.isfinite, values)):
        return False
    width = gain.doubly_robust.upper - gain.doubly_robust.lower
    is_near = max(values) - min(values) <= max(rules.most_disagreement, width)
    return is_near and (min(values) > 0.0 or max(values) < 0.0)
