"""What holds of the learning loop's arithmetic whatever is logged, proposed or rolled out."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from backscroll_sidecar.learning.buckets import Arm, Experiment, moved_share, sample_ratio
from backscroll_sidecar.learning.distributions import (
    chi_square_survival,
    student_quantile,
    wilson_interval,
)
from backscroll_sidecar.learning.estimators import (
    LoggedDecisions,
    compare,
    direct_method,
    doubly_robust,
    effective_sample_size,
    largest_weight_share,
    snips,
)
from backscroll_sidecar.learning.exploration import draw_slots, seed_of
from backscroll_sidecar.learning.plackett_luce import (
    MOST_SLOTS,
    inclusion_probabilities,
    order_probabilities,
    set_probabilities,
    worths,
)
from backscroll_sidecar.learning.weight_tuning import bounded_step

shares = st.floats(0.0, 1.0)
seeds = st.integers(0, 2**63 - 1)
texts = st.text(max_size=12)


@st.composite
def problems(draw):
    """Every outcome of a few questions and actions: how often each is chosen, rewards, a policy and a model."""
    questions, actions = draw(st.integers(1, 3)), draw(st.integers(2, 4))
    shape = (questions, actions)
    # Each question is asked 60 times, and every action is chosen at least once.
    cuts = [
        sorted(draw(st.lists(st.integers(1, 59), min_size=actions - 1, max_size=actions - 1, unique=True)))
        for _ in range(questions)
    ]  # fmt: skip
    counts = np.array([np.diff([0, *cut, 60]) for cut in cuts])
    size = questions * actions
    parts, numbers = (
        st.lists(one, min_size=size, max_size=size) for one in (st.integers(0, 20), shares)
    )
    wanted = np.array(draw(parts)).reshape(shape) + 1e-3
    rewards, model = (np.array(draw(numbers)).reshape(shape) for _ in range(2))
    return counts, wanted / wanted.sum(axis=1, keepdims=True), rewards, model


def every_outcome(problem, *, model=None, recorded=None):
    """The decisions of a problem, without clipping; its value."""
    counts, policy, rewards, guessed = problem
    guessed = guessed if model is None else model
    x, a = np.nonzero(counts)
    x, a = np.repeat(x, counts[x, a]), np.repeat(a, counts[x, a])
    propensities = counts / 60 if recorded is None else recorded
    logged = LoggedDecisions(
        rewards[x, a], propensities[x, a], policy[x, a], guessed[x, a],
        (policy * guessed).sum(axis=1)[x], clip=np.inf,
    )  # fmt: skip
    return logged, float((policy * rewards).sum(axis=1).mean())


@given(problems())
def test_right_propensities_are_enough(problem):
    """Whatever the model says, the mean over all outcomes, which is the expectation, is the value."""
    logged, value = every_outcome(problem)
    for estimator in (snips, doubly_robust):
        assert estimator(logged).value == pytest.approx(value, abs=1e-9)


@given(problems(), st.data())
def test_a_right_model_is_enough(problem, data):
    """Whatever propensities were recorded."""
    counts, _, rewards, _ = problem
    wrong = st.lists(st.floats(0.01, 1.0), min_size=counts.size, max_size=counts.size)
    recorded = np.array(data.draw(wrong)).reshape(counts.shape)
    logged, value = every_outcome(problem, model=rewards, recorded=recorded)
    for estimator in (direct_method, doubly_robust):
        assert estimator(logged).value == pytest.approx(value, abs=1e-9)


@given(problems(), st.floats(-100.0, 100.0))
def test_a_constant_more_for_everything_is_that_constant(problem, constant):
    """SNIPS moves with it, and DR where the model does; IPS on skewed weights does not."""
    logged, _ = every_outcome(problem)
    logged = replace(logged, propensities=np.minimum(1.0, logged.propensities * 1.5))
    more = replace(
        logged,
        rewards=logged.rewards + constant,
        predicted=logged.predicted + constant,
        predicted_target=logged.predicted_target + constant,
    )
    for estimator in (snips, doubly_robust, direct_method):
        one, other = estimator(logged), estimator(more)
        assert other.value - one.value == pytest.approx(constant, abs=1e-8)
        assert other.standard_error == pytest.approx(one.standard_error, abs=1e-8)


@given(problems())
def test_snips_stays_within_the_rewards(problem):
    logged, _ = every_outcome(problem)
    assert logged.rewards.min() - 1e-9 <= snips(logged).value <= logged.rewards.max() + 1e-9


@given(problems())
def test_a_gain_one_way_is_a_loss_the_other(problem):
    logged, _ = every_outcome(problem)
    same = replace(logged, target_probabilities=logged.propensities, predicted_target=logged.predicted)  # fmt: skip
    there, back = compare(logged, same), compare(same, logged)
    for name in ("direct", "snips", "doubly_robust"):
        one, other = getattr(there, name), getattr(back, name)
        assert one.value == pytest.approx(-other.value, abs=1e-9)
        assert one.standard_error == pytest.approx(other.standard_error, abs=1e-9)
        assert one.lower == pytest.approx(-other.upper, abs=1e-9)


@given(st.lists(st.floats(0.0, 1e6), min_size=1, max_size=50).map(np.array))
def test_weights_are_worth_between_one_and_all_decisions(weights):
    assume(weights.max() > 1e-3)
    found, largest = effective_sample_size(weights), largest_weight_share(weights)
    assert 1.0 - 1e-9 <= found <= len(weights) + 1e-9
    assert 1.0 / len(weights) - 1e-9 <= largest <= 1.0
    assert largest <= 1.0 / np.sqrt(found) + 1e-9


@st.composite
def pools(draw):
    """A pool's worths and a number of slots that leaves a choice."""
    slots = draw(st.integers(1, MOST_SLOTS))
    scores = draw(st.lists(st.floats(-50.0, 50.0), min_size=slots + 1, max_size=6))
    temperature = draw(st.floats(0.01, 10.0))
    live = np.ones((1, len(scores)), np.bool_)
    return worths(np.array([scores]), np.array([temperature]), live), slots


@given(pools())
def test_probabilities_of_draws_sum_to_one(pool):
    """Over all orders; and the set's and the candidates' are sums of them."""
    worth, slots = pool
    count = worth.shape[1]
    orders = np.array(list(permutations(range(count), slots)))
    each = order_probabilities(np.repeat(worth, len(orders), axis=0), orders)
    assert each.sum() == pytest.approx(1.0, abs=1e-8)
    assert each.min() > 0.0
    included = [each[(orders == i).any(axis=1)].sum() for i in range(count)]
    assert inclusion_probabilities(worth, slots)[0] == pytest.approx(included, abs=1e-8)
    same = each[(np.sort(orders, axis=1) == np.arange(slots)).all(axis=1)].sum()
    assert set_probabilities(worth, np.arange(slots)[None])[0] == pytest.approx(same, abs=1e-8)


@given(
    st.lists(st.floats(-5.0, 5.0), max_size=12),
    st.integers(1, 8), st.integers(0, MOST_SLOTS), st.integers(0, 6), st.floats(1e-3, 10.0), seeds,
)  # fmt: skip
def test_a_drawn_selection_is_a_selection(scores, size, slots, more, temperature, seed):
    slots = min(slots, size)
    ranking = np.argsort(-np.array(scores), kind="stable")
    given_ = {"size": size, "slots": slots, "pool": slots + more, "temperature": temperature}
    one = draw_slots(ranking, np.array(scores), **given_, seed=seed)
    assert len(set(one.order.tolist())) == len(one.order) == min(size, len(scores))
    fixed = max(0, size - slots)
    assert one.order[:fixed].tolist() == ranking[:fixed].tolist()
    assert 0.0 < one.order_probability <= one.probability <= 1.0
    assert one.inclusion.sum() == pytest.approx(len(one.order), abs=1e-8)
    chosen = np.isin(ranking, one.order)
    assert np.all(one.inclusion[chosen] > 0.0)
    assert np.all(one.inclusion[~chosen] < 1.0)
    again = draw_slots(ranking, np.array(scores), **given_, seed=seed)
    assert again.order.tolist() == one.order.tolist()


@given(st.tuples(texts, texts, texts, texts), st.tuples(texts, texts, texts, texts))
def test_other_requests_have_other_seeds(one, other):
    assert (seed_of(*one) == seed_of(*other)) == (one == other)


@given(
    st.lists(st.tuples(st.floats(-10.0, 10.0), st.floats(0.0, 10.0)), min_size=1, max_size=27),
    st.floats(0.01, 0.5),
)
def test_a_step_is_bounded_and_keeps_signs_and_sum(pairs, most):
    current, target = np.array(pairs).T
    assume(np.abs(current).max() > 1e-6)
    stepped = bounded_step(current, target, most)
    assert np.array_equal(np.sign(stepped), np.sign(current))
    assert np.all(np.abs(stepped - current) <= (most + 1e-9) * np.abs(current))
    assert np.abs(stepped).sum() == pytest.approx(np.abs(current).sum(), rel=1e-9)


@settings(max_examples=20)
@given(st.lists(st.floats(0.1, 10.0), min_size=2, max_size=8), st.floats(0.1, 0.3))
def test_steps_arrive(current, most):
    """Enough of them reach the target's proportions, whatever they begin with."""
    start = np.array(current)
    target = start[::-1].copy()
    weights = start
    for _ in range(120):
        weights = bounded_step(weights, target, most)
    assert weights == pytest.approx(target, rel=1e-6)


@st.composite
def experiments(draw):
    """Any experiment whose arms have names of any script."""
    name = st.text(min_size=1, max_size=6)  # too short for "holdout"
    names = draw(st.lists(name, min_size=1, max_size=4, unique=True))
    arms = tuple(Arm(name, draw(st.floats(0.01, 100.0))) for name in names)
    return Experiment(
        draw(st.text(min_size=1, max_size=8)), arms, draw(shares), draw(st.floats(0.0, 0.99)), salt=draw(texts)
    )  # fmt: skip


@given(experiments(), shares, st.lists(st.text(max_size=20), max_size=20))
def test_widening_keeps_everybody_in(experiment, coverage, channels):
    """With Chinese ids, emoji or nothing at all; who is held out stays so, too."""
    wider = experiment.widened(max(coverage, experiment.coverage))
    assert moved_share(experiment, wider) == 0.0
    for channel in [*channels, "群聊", "oc_张三@work", "👩‍👩‍👧"]:
        before, after = experiment.assign(channel), wider.assign(channel)
        assert before == experiment.assign(channel)
        assert 0 <= before.step < 10_000
        if before.arm:
            assert after == before


@given(experiments())
def test_ranges_lie_apart_and_have_the_arms_shares(experiment):
    whole = replace(experiment, coverage=1.0)
    size = whole.ranges[-1][1]
    weights = [arm.weight for arm in experiment.arms]
    behind = 0
    for (start, end), (_, most), weight in zip(
        experiment.ranges, whole.ranges, weights, strict=True
    ):
        assert behind == start <= end <= most
        assert most - start == pytest.approx(size * weight / sum(weights), abs=1.0)
        assert end - start == pytest.approx(experiment.coverage * (most - start), abs=0.5)
        behind = most
    assert behind == size == 10_000 - round(experiment.holdout * 10_000)


@given(st.lists(st.integers(0, 10**6), min_size=2, max_size=6), st.integers(2, 9))
def test_the_sample_ratio_looks_at_proportions_and_at_how_many(counts, times):
    assume(sum(counts))
    weights = [1.0 + i for i in range(len(counts))]
    one = sample_ratio(counts, weights)
    assert one.probability == sample_ratio(counts, [7.0 * weight for weight in weights]).probability
    many = sample_ratio([count * times for count in counts], weights)
    assert many.chi_square == pytest.approx(one.chi_square * times, rel=1e-9, abs=1e-9)
    assert many.probability <= one.probability + 1e-12


@given(st.floats(0.0, 2_000.0), st.floats(0.0, 100.0), st.integers(1, 300))
def test_a_chi_square_tail_falls(statistic, more, degrees):
    near, far = (chi_square_survival(one, degrees) for one in (statistic, statistic + more))
    assert 0.0 <= far <= near + 1e-9 <= 1.0 + 1e-9
    assert chi_square_survival(statistic, degrees + 1) >= near - 1e-9


@given(st.floats(0.5, 1.0 - 1e-7, exclude_min=True), st.integers(1, 400))
def test_students_quantiles_fall_with_degrees_and_mirror(probability, degrees):
    here, next_ = student_quantile(probability, degrees), student_quantile(probability, degrees + 1)
    assert 0.0 <= next_ <= here * (1.0 + 1e-7) + 1e-9
    assert student_quantile(1.0 - probability, degrees) == pytest.approx(-here, rel=1e-6, abs=1e-9)


@given(shares, st.floats(1.0, 1e6))
def test_wilsons_interval_holds_the_share(share, count):
    low, high = wilson_interval(share, count)
    assert 0.0 <= low <= share + 1e-12
    assert share - 1e-12 <= high <= 1.0
