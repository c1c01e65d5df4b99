"""Off-policy estimates: by hand, by enumerating every outcome, and by how often their intervals hold the truth."""

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from backscroll_sidecar.learning.estimators import (
    LoggedDecisions,
    compare,
    direct_method,
    doubly_robust,
    effective_sample_size,
    explored,
    joined,
    largest_weight_share,
    snips,
    standard_error,
)


def ips(logged):
    """The mean of w r: what DR is where the model says nothing."""
    nothing = np.zeros(len(logged.rewards))
    return doubly_robust(replace(logged, predicted=nothing, predicted_target=nothing))


ALL = (direct_method, ips, snips, doubly_robust)


def floats(*values):
    return np.array(values, np.float64)


# Two questions, three actions. Rewards, and the probabilities of two policies.
REWARD = floats([0.2, 0.9, 0.4], [0.7, 0.1, 0.5])
LOGGING = floats([0.5, 0.3, 0.2], [0.25, 0.25, 0.5])
TARGET = floats([0.1, 0.8, 0.1], [0.6, 0.1, 0.3])
MODEL = floats([0.3, 0.5, 0.5], [0.4, 0.4, 0.6])
VALUE = float((TARGET * REWARD).sum(axis=1).mean())


def every_outcome(model=MODEL, recorded=LOGGING, policy=TARGET):
    """Each question with each action, as often as it is chosen: 40 decisions whose means are expectations."""
    rows = [
        (x, a)
        for x, a in product(range(2), range(3))
        for _ in range(round(LOGGING[x, a] * 20))
    ]  # fmt: skip
    x, a = np.array(rows).T
    return LoggedDecisions(
        REWARD[x, a], recorded[x, a], policy[x, a], model[x, a], (policy * model).sum(axis=1)[x]
    )


def test_by_hand():
    """Three decisions, weights 2, .5 and 1: each formula written out."""
    logged = LoggedDecisions(
        rewards=floats(1.0, 0.0, 0.5),
        propensities=floats(0.4, 0.4, 0.25),
        target_probabilities=floats(0.8, 0.2, 0.25),
        predicted=floats(0.5, 0.5, 0.5),
        predicted_target=floats(0.6, 0.3, 0.6),
    )
    assert logged.weights == pytest.approx([2.0, 0.5, 1.0])
    assert direct_method(logged).value == pytest.approx(0.5)
    assert ips(logged).value == pytest.approx(2.5 / 3)
    assert snips(logged).value == pytest.approx(2.5 / 3.5)
    assert doubly_robust(logged).value == pytest.approx((1.6 + 0.05 + 0.6) / 3)


def test_standard_errors_by_hand():
    logged = LoggedDecisions(
        floats(1.0, 0.0, 1.0, 0.0), floats(0.5, 0.5, 0.5, 0.5), floats(0.5, 0.25, 0.25, 0.5),
        floats(0.0, 0.0, 0.0, 0.0), floats(0.0, 0.0, 0.0, 0.0),
    )  # fmt: skip
    # w r = 1, 0, .5, 0: mean .375, deviations .625, -.375, .125, -.375.
    assert ips(logged).standard_error == pytest.approx(math.sqrt(0.6875 / 3 / 4))
    # w = 1, .5, .5, 1: ratio 1.5 / 3; w (r - ratio) = .5, -.25, .25, -.5, divided by the mean weight .75.
    squares = (2 * 0.5**2 + 2 * 0.25**2) / 0.75**2
    assert snips(logged).standard_error == pytest.approx(math.sqrt(squares * 4 / 3) / 4)
    assert snips(logged).degrees_of_freedom == 3


def test_expectations_by_enumeration():
    """IPS and DR give the judged policy's value exactly; DM gives what its model believes."""
    logged = every_outcome()
    assert ips(logged).value == pytest.approx(VALUE, abs=1e-12)
    assert snips(logged).value == pytest.approx(VALUE, abs=1e-12)
    assert doubly_robust(logged).value == pytest.approx(VALUE, abs=1e-12)
    believed = float((TARGET * MODEL).sum(axis=1).mean())
    assert direct_method(logged).value == pytest.approx(believed, abs=1e-12)
    assert abs(believed - VALUE) > 0.05


def test_doubly_robust_with_wrong_propensities_and_a_right_model():
    wrong = floats([0.2, 0.2, 0.6], [0.6, 0.2, 0.2])
    logged = every_outcome(model=REWARD, recorded=wrong)
    assert doubly_robust(logged).value == pytest.approx(VALUE, abs=1e-12)
    assert abs(ips(logged).value - VALUE) > 0.05
    assert abs(snips(logged).value - VALUE) > 0.01


def test_the_policy_that_logged_is_worth_what_it_earned():
    logged = every_outcome(policy=LOGGING)
    earned = float(logged.rewards.mean())
    for estimator in (ips, snips, doubly_robust):
        assert estimator(logged).value == pytest.approx(earned, abs=1e-12)


def test_a_good_model_makes_doubly_robust_surer_than_weights_alone():
    near = every_outcome(model=REWARD + 0.02)
    assert doubly_robust(near).standard_error < 0.5 * ips(near).standard_error


def test_clipping_cuts_the_weights():
    logged = LoggedDecisions(
        floats(1.0, 1.0), floats(0.01, 0.5), floats(1.0, 0.5), floats(0.0, 0.0), floats(0.0, 0.0), clip=4.0
    )  # fmt: skip
    assert logged.weights.tolist() == [4.0, 1.0]
    assert ips(logged).value == pytest.approx(2.5)
    assert replace(logged, clip=math.inf).weights.tolist() == [100.0, 1.0]


@pytest.mark.parametrize("estimator", ALL)
@pytest.mark.parametrize(("size", "least"), [(60, 905), (400, 930)])
def test_intervals_hold_the_truth_as_often_as_they_say(estimator, size, least):
    """Of 1,000 logs 95 % hold it, give or take: three deviations of chance are 2 %. The right model makes DM honest.

    With few decisions skewed terms hold it less often: the rules ask for two hundred.
    """
    random = np.random.default_rng(7)
    x = random.integers(0, 2, (1_000, size))
    drawn = random.random((1_000, size))
    a = (drawn[..., None] > np.cumsum(LOGGING, axis=1)[x]).sum(axis=2)
    rewards = (random.random((1_000, size)) < REWARD[x, a]).astype(np.float64)
    target = (TARGET * REWARD).sum(axis=1)[x]
    held = 0
    for i in range(1_000):
        logged = LoggedDecisions(
            rewards[i], LOGGING[x[i], a[i]], TARGET[x[i], a[i]], REWARD[x[i], a[i]], target[i]
        )
        found = estimator(logged)
        held += found.lower <= VALUE <= found.upper
    assert least <= held <= 970


def test_decisions_that_hang_together_are_worth_less():
    """Ten people who each say the same ten times: the standard error is that of ten decisions, not of a hundred."""
    rewards = np.repeat(floats(1, 0, 1, 1, 0, 1, 0, 0, 1, 1), 10)
    ones, people = np.full(100, 0.5), np.repeat(np.arange(10), 10)
    apart = LoggedDecisions(rewards, ones, ones, 0 * ones, 0 * ones)
    together = replace(apart, clusters=people)
    assert ips(together).value == ips(apart).value
    deviation = np.std(rewards[::10], ddof=1) / math.sqrt(10)
    assert ips(together).standard_error == pytest.approx(deviation)
    assert ips(together).degrees_of_freedom == 9
    assert ips(apart).standard_error < 0.4 * deviation


def test_clusters_of_one_are_no_clusters():
    logged = every_outcome()
    apart = replace(logged, clusters=np.arange(40)[::-1].copy())
    for estimator in ALL:
        ours, plain = estimator(apart), estimator(logged)
        assert ours.standard_error == pytest.approx(plain.standard_error, rel=1e-12)
        assert ours.degrees_of_freedom == plain.degrees_of_freedom == 39


def test_one_loud_person_proves_nothing():
    """950 decisions of one person beside 50 of others: worth little more than one, so the interval is boundless."""
    people = np.concatenate((np.zeros(950, np.int64), np.arange(1, 51)))
    rewards = np.where(people == 0, 1.0, 0.0)
    half, none = np.full(1_000, 0.5), np.zeros(1_000)
    found = ips(LoggedDecisions(rewards, half, half, none, none, people))
    assert found.degrees_of_freedom == 0
    assert found.lower == found.lower_bound(0.025) == -math.inf


def test_effective_sample_size_and_largest_share():
    assert effective_sample_size(floats(1, 1, 1, 1)) == pytest.approx(4.0)
    assert effective_sample_size(floats(2, 0, 0, 0)) == pytest.approx(1.0)
    assert effective_sample_size(floats(1, 2, 3)) == pytest.approx(36 / 14)
    assert largest_weight_share(floats(1, 2, 3)) == pytest.approx(0.5)
    assert effective_sample_size(floats(0, 0)) == 0.0
    assert largest_weight_share(floats(0, 0)) == 1.0


def test_no_weight_at_all_says_nothing():
    half, none = np.full(4, 0.5), np.zeros(4)
    found = snips(LoggedDecisions(half, half, none, none, none))
    assert math.isnan(found.value)
    assert (found.lower, found.upper) == (-math.inf, math.inf)
    assert found.lower_bound(0.025) == -math.inf


def test_a_single_decision_may_be_anything():
    one = floats(1.0)
    found = ips(LoggedDecisions(one, one, one, one, one))
    assert (found.value, found.standard_error, found.lower) == (1.0, math.inf, -math.inf)


def test_a_comparison_is_of_differences():
    """Values are alike far beyond their own errors, so the difference is much surer than either value."""
    ours, theirs = every_outcome(), every_outcome(policy=0.9 * TARGET + 0.1 * LOGGING)
    gain = compare(ours, theirs)
    expected = VALUE - float(((0.9 * TARGET + 0.1 * LOGGING) * REWARD).sum(axis=1).mean())
    assert gain.snips.value == pytest.approx(snips(ours).value - snips(theirs).value)
    assert gain.doubly_robust.value == pytest.approx(expected, abs=1e-12)
    assert gain.direct.value == pytest.approx(
        direct_method(ours).value - direct_method(theirs).value
    )
    assert gain.doubly_robust.standard_error < 0.2 * gain.candidate.standard_error
    assert gain.decisions == 40
    assert gain.effective_decisions == pytest.approx(effective_sample_size(ours.weights))
    assert gain.largest_share == pytest.approx(ours.weights.max() / ours.weights.sum())


def test_a_policy_gains_nothing_over_itself():
    gain = compare(every_outcome(), every_outcome())
    assert (gain.snips.value, gain.snips.standard_error) == (0.0, 0.0)
    assert (gain.doubly_robust.value, gain.direct.value) == (0.0, 0.0)


def test_other_decisions_are_not_compared():
    other = replace(every_outcome(), rewards=np.zeros(40))
    with pytest.raises(ValueError, match="rewards"):
        compare(every_outcome(), other)
    with pytest.raises(ValueError, match="clusters"):
        compare(every_outcome(), replace(every_outcome(), clusters=np.arange(40)))


def test_an_arm_is_judged_by_its_own_decisions():
    """Arms drawn with .8 and .2: the second one's SNIPS is the mean of its rewards, and it has no more to say."""
    arm, rewards = np.array([0, 1, 0, 0, 1]), floats(0.0, 1.0, 0.5, 1.0, 0.0)
    p, none = np.where(arm, 0.2, 0.8), np.zeros(5)
    second, first = (
        LoggedDecisions(rewards, p, (arm == one).astype(np.float64), none, none) for one in (1, 0)
    )
    gain = compare(second, first)
    assert gain.snips.value == pytest.approx(0.5 - 0.5)
    assert snips(second).value == pytest.approx(0.5)
    assert ips(second).value == pytest.approx(1.0 / 0.2 / 5)
    assert gain.effective_decisions == pytest.approx(2.0)


def test_parts_are_joined():
    whole = every_outcome()
    names = ("rewards", "propensities", "target_probabilities", "predicted", "predicted_target")
    halves = (slice(7), slice(7, None))
    parts = [LoggedDecisions(*(getattr(whole, name)[one] for name in names)) for one in halves]
    assert doubly_robust(joined(parts)) == doubly_robust(whole)
    with_clusters = [replace(part, clusters=np.zeros(len(part.rewards), np.int64)) for part in parts]  # fmt: skip
    assert joined(with_clusters).clusters.tolist() == [0] * 40


def test_what_nothing_can_be_learnt_from():
    """Not recorded, not possible, nothing left to chance, and two that will do."""
    assert explored(floats(math.nan, 0.0, 1.0, 0.5, 1e-9)).tolist() == [False] * 3 + [True] * 2


def test_a_standard_error_alone():
    assert standard_error(floats(1.0, -1.0)) == (1.0, 1)
    assert standard_error(floats(0.0)) == (math.inf, 0)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"rewards": floats(0.1, math.nan)}, "rewards"),
        ({"rewards": floats(0.1, math.inf)}, "rewards"),
        ({"rewards": floats()}, "rewards"),
        ({"propensities": floats(0.5)}, "propensities"),
        ({"propensities": floats(0.5, 0.0)}, "propensities"),
        ({"propensities": floats(0.5, math.nan)}, "propensities"),
        ({"propensities": floats(0.5, 1.1)}, "propensities"),
        ({"target_probabilities": floats(0.5, -0.1)}, "target_probabilities"),
        ({"target_probabilities": floats(0.5, 1.1)}, "target_probabilities"),
        ({"predicted": floats(0.5, math.nan)}, "predicted"),
        ({"predicted_target": floats([0.5], [0.5])}, "predicted_target"),
        ({"clusters": np.array([1])}, "clusters"),
        ({"clusters": floats(1.0, 2.0)}, "clusters"),
        ({"clip": 0.0}, "clip"),
        ({"clip": math.nan}, "clip"),
    ],
)
def test_what_is_outside_is_named(change, field):
    two = floats(0.5, 0.5)
    with pytest.raises(ValueError, match=rf"^{field}"):
        replace(LoggedDecisions(two, two, two, two, two), **change)
