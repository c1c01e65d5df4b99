"""The rules of adoption, one by one, and what they let through when feedback means nothing."""

import math
from dataclasses import replace

import numpy as np
import pytest

from backscroll_sidecar.learning.adoption import (
    RULES,
    AdoptionRules,
    GuardMetric,
    Reason,
    allowed_error,
    judge,
    judge_adopted,
    usual_guards,
)
from backscroll_sidecar.learning.estimators import Comparison, Estimate, LoggedDecisions, compare


def gain(value=0.05, error=0.01, **changes):
    """A gain that may be adopted: .05 by all three estimates, five standard errors above nothing."""
    one = Estimate(value, error, 999)
    values = Estimate(0.6, 0.02, 999), Estimate(0.55, 0.02, 999)
    known = Comparison(one, one, one, *values, 1_000, 800.0, 0.01)
    return replace(known, **changes)


FINE = usual_guards(tokens=(700.0, 720.0), latency_p95_ms=(3.0, 3.5), fallback_rate=(0.01, 0.015))


def decided(*given, tests_before=0, **more):
    return judge(*given, tests_before=tests_before, **more)


def test_a_proven_gain_is_adopted():
    decision = decided(gain(), FINE)
    assert (decision.changes, decision.reason, decision.was_tested) == (True, Reason.ADOPTED, True)
    assert decision.detail == "gain +0.0500, lower bound +0.0276 at error 0.013"


def test_without_propensities_nothing_is_adopted():
    decision = decided(None, FINE)
    assert (decision.changes, decision.reason) == (False, Reason.NO_PROPENSITIES)
    assert decision.detail == "replay only: no propensities"
    assert not decision.was_tested
    assert decided(None, FINE, is_proposed=False).reason is Reason.NO_PROPENSITIES


@pytest.mark.parametrize(
    ("evidence", "reason"),
    [
        (gain(effective_decisions=199.9), Reason.TOO_FEW_DECISIONS),
        (gain(largest_share=0.1), Reason.WEIGHT_CONCENTRATED),
        (gain(error=0.03), Reason.NOT_PROVEN),
        (gain(doubly_robust=Estimate(0.05, math.inf, 0)), Reason.NOT_PROVEN),
        (gain(value=-0.05), Reason.NOT_PROVEN),
        (gain(value=0.0, error=0.0), Reason.ESTIMATES_DISAGREE),
        (gain(direct=Estimate(-0.001, 0.01, 999)), Reason.ESTIMATES_DISAGREE),
        (gain(snips=Estimate(-0.001, 0.01, 999)), Reason.ESTIMATES_DISAGREE),
        (gain(snips=Estimate(0.101, 0.01, 999)), Reason.ESTIMATES_DISAGREE),
        (gain(snips=Estimate(math.nan, math.inf, 0)), Reason.ESTIMATES_DISAGREE),
    ],
)
def test_each_rule_forbids(evidence, reason):
    decision = decided(evidence, FINE)
    assert (decision.changes, decision.reason) == (False, reason)
    assert decision.detail


def test_at_the_edges_of_the_rules_it_is_adopted():
    assert decided(gain(effective_decisions=200.0), FINE).changes
    assert decided(gain(largest_share=0.0999), FINE).changes
    assert decided(gain(snips=Estimate(0.0999, 0.01, 999)), FINE).changes


def test_estimates_may_lie_as_far_apart_as_chance_permits():
    """.05 and .12 differ by more than .05, but the interval is .12 wide."""
    apart = gain(doubly_robust=Estimate(0.09, 0.03, 999), snips=Estimate(0.12, 0.03, 999))
    assert decided(apart, FINE).changes
    strict = AdoptionRules(most_disagreement=0.0)
    assert decided(apart, FINE, rules=strict).changes
    near = gain(snips=Estimate(0.1, 0.01, 999))
    assert decided(near, FINE, rules=strict).reason is Reason.ESTIMATES_DISAGREE


@pytest.mark.parametrize(
    "changes",
    [
        {"tokens": (700.0, 735.1)},
        {"latency_p95_ms": (3.0, 4.31)},
        {"fallback_rate": (0.01, 0.0201)},
    ],
    ids=["tokens", "latency", "fallbacks"],
)
def test_a_guard_that_gets_worse_forbids(changes):
    given = {"tokens": (700.0, 735.0), "latency_p95_ms": (3.0, 4.3), "fallback_rate": (0.01, 0.02)}
    assert decided(gain(), usual_guards(**given)).changes
    decision = decided(gain(), usual_guards(**{**given, **changes}))
    assert (decision.changes, decision.reason) == (False, Reason.GUARD_WORSE)
    assert decision.detail.startswith(next(iter(changes)))
    assert not decision.was_tested


@pytest.mark.parametrize("values", [(math.nan, 1.0), (1.0, math.nan)])
def test_a_guard_that_was_not_measured_forbids(values):
    decision = decided(gain(), [GuardMetric("tokens", *values)])
    assert (decision.changes, decision.reason) == (False, Reason.GUARD_UNKNOWN)


def test_nothing_proposed_is_nothing_adopted():
    decision = decided(gain(), FINE, is_proposed=False)
    assert (decision.changes, decision.reason) == (False, Reason.NOTHING_PROPOSED)
    assert not decision.was_tested


def test_the_error_of_all_tests_together_is_that_of_one_side():
    spent = math.fsum(allowed_error(tests) for tests in range(100_000))
    assert spent == pytest.approx(0.025, rel=1e-4)
    assert spent < 0.025
    assert allowed_error(0) == pytest.approx(0.0125)
    with pytest.raises(ValueError, match="tests_before"):
        allowed_error(-1)


def test_what_is_tried_again_and_again_must_be_surer():
    """Three standard errors are enough at first, not after ten tests."""
    sure = gain(error=0.05 / 3)
    assert decided(sure, FINE).changes
    assert decided(sure, FINE, tests_before=10).reason is Reason.NOT_PROVEN


@pytest.mark.parametrize(
    ("evidence", "changes", "reason"),
    [
        (gain(value=0.01, error=0.01), False, Reason.KEPT),
        (gain(value=0.0, error=0.01), False, Reason.KEPT),
        (gain(value=-0.01, error=0.01), True, Reason.ROLLED_BACK),
        (gain(value=0.01, error=0.03), True, Reason.ROLLED_BACK),
        (gain(value=-0.5, effective_decisions=150.0), False, Reason.TOO_FEW_DECISIONS),
        (gain(value=-0.5, largest_share=0.2), False, Reason.WEIGHT_CONCENTRATED),
        (None, False, Reason.NO_PROPENSITIES),
    ],
)
def test_the_way_back(evidence, changes, reason):
    decision = judge_adopted(evidence, FINE)
    assert (decision.changes, decision.reason) == (changes, reason)


def test_a_guard_takes_back_at_once():
    worse = usual_guards(tokens=(700.0, 900.0), latency_p95_ms=(3, 3), fallback_rate=(0, 0))
    assert judge_adopted(gain(effective_decisions=1.0), worse).reason is Reason.ROLLED_BACK
    assert judge_adopted(None, worse).changes
    assert not judge_adopted(gain(), [GuardMetric("tokens", 700.0, math.nan)]).changes


def test_without_a_margin_the_bound_itself_must_hold():
    strict = AdoptionRules(rollback_margin=0.0)
    assert judge_adopted(gain(value=0.01, error=0.01), FINE, rules=strict).changes
    assert not judge_adopted(gain(value=0.03, error=0.01), FINE, rules=strict).changes


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"error": 0.0}, "error"),
        ({"error": math.nan}, "error"),
        ({"most_weight_share": 1.1}, "most_weight_share"),
        ({"least_effective_decisions": -1.0}, "least_effective_decisions"),
        ({"most_disagreement": math.nan}, "most_disagreement"),
        ({"rollback_margin": -0.1}, "rollback_margin"),
    ],
)
def test_rules_outside_their_ranges_are_named(changes, field):
    with pytest.raises(ValueError, match=rf"^{field}"):
        AdoptionRules(**changes)


def random_evidence(random, known, count):
    """A policy that was fixed beforehand, judged by `count` more decisions whose rewards mean nothing."""
    p = np.full(count, 0.5)
    t = np.clip(random.normal(0.5, 0.15, count), 0.05, 0.95)
    rewards = (random.random(count) < 0.5).astype(np.float64)
    new = np.stack((rewards, p, t, np.full(count, 0.5), np.full(count, 0.5)))
    known = new if known is None else np.concatenate((known, new), axis=1)
    candidate = LoggedDecisions(*known)
    incumbent = replace(candidate, target_probabilities=candidate.propensities)
    found = compare(candidate, incumbent)
    # A model that says what the others say: it is not what must stop chance here.
    return known, replace(found, direct=found.snips)


def channels_that_adopt(spending):
    adopted = 0
    for seed in range(100):
        random, known, tests = np.random.default_rng(seed), None, 0
        for _ in range(25):
            known, evidence = random_evidence(random, known, 300)
            decision = judge(evidence, (), tests_before=tests if spending else 0)
            tests += decision.was_tested
            if decision.changes:
                adopted += 1
                break
    return adopted


@pytest.mark.slow
def test_random_feedback_adopts_in_few_of_a_hundred_channels():
    """Twenty-five looks at growing data, each with the same rules: with a fresh bound each time a fifth would adopt."""
    assert channels_that_adopt(spending=True) <= 5
    assert channels_that_adopt(spending=False) > 5


def test_the_usual_rules():
    assert AdoptionRules(0.025, 200.0, 0.1, 0.05, 0.02) == RULES
