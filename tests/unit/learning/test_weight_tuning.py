"""Tuning: what people like is found, and neither noise nor malice moves anything."""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from backscroll_sidecar.learning import adoption
from backscroll_sidecar.learning.adoption import Reason
from backscroll_sidecar.learning.exploration import draw_slots
from backscroll_sidecar.learning.logged_selections import (
    drawn_by,
    folds_of,
    selections_of,
    spread_of,
)
from backscroll_sidecar.learning.weight_tuning import (
    MOST_CHANGE,
    MOST_STEP,
    bounded_step,
    compared,
    fit,
    propose,
    tune,
)
from tests.unit.learning.worlds import CLASSIC, World, both

WORDS = np.array([0.15, 0.15, 0.2, 0.15, 0.35])
"""People for whom words in common count more than who answers whom."""
MENTIONS = np.array([0.2, 0.3, 0.1, 0.3, 0.1])


@pytest.mark.slow
@pytest.mark.parametrize("planted", [WORDS, MENTIONS], ids=["words", "mentions"])
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.proof)])
def test_steps_close_most_of_the_gap(planted, seed):
    """Fourteen windows of 2,000 rated builds, by yes and no: at least four fifths of the way, and hardly less hits."""
    world = World(planted, seed)
    decisions = world.live_through(14, 2_000)
    assert sum(one.reason is Reason.ADOPTED for one in decisions) >= 3
    assert world.closed >= 0.8
    assert world.hits(planted) - world.hits(world.current) < 0.01
    assert world.hits(world.current) > world.hits(CLASSIC) + 0.02


def test_noise_slows_but_harms_nobody():
    world = World(WORDS, seed=3, feedback="noisy")
    world.live_through(8, 2_000)
    assert world.hits(world.current) >= world.hits(CLASSIC) - 0.005
    assert world.closed > 0.2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("channels", "most"), [(40, 2), pytest.param(100, 5, marks=pytest.mark.proof)]
)
def test_random_feedback_moves_nothing(channels, most):
    """All of it, so many channels, five windows each."""
    worlds = [World(WORDS, seed, feedback="random") for seed in range(channels)]
    adopting = sum(any(d.changes for d in world.live_through(5, 250)) for world in worlds)
    assert adopting <= most
    assert sum(not np.array_equal(world.current, CLASSIC) for world in worlds) <= most


def test_feedback_turned_upside_down_is_not_believed():
    worlds = [World(CLASSIC, seed, feedback="inverted") for seed in range(10)]
    for world in worlds:
        decisions = world.live_through(4, 1_000)
        assert {one.reason for one in decisions} == {Reason.NOTHING_PROPOSED}
        assert np.array_equal(world.current, CLASSIC)


def test_who_likes_what_all_like_keeps_the_shared_weights():
    for seed in range(5):
        world = World(CLASSIC, seed)
        world.live_through(5, 1_000)
        assert np.abs(world.current - CLASSIC).sum() < 0.05
        assert world.hits(world.current) >= world.hits(CLASSIC) - 0.005


def adopted_against_all(seed, loud_cluster):
    """A person rates every third build and wants words alone; a hundred others like what all like."""
    theirs = World(CLASSIC, seed).window(2_000)
    theirs = replace(theirs, clusters=np.arange(2_000) % 100)
    loud = World(np.array([0.0, 0.0, 0.0, 0.0, 1.0]), seed + 50, strength=4.0).window(1_000)
    selections = both(theirs, replace(loud, clusters=loud_cluster))
    tuning = tune(selections, CLASSIC, CLASSIC, seed=seed)
    assert tuning.proposal is not None
    return adoption.judge(tuning.gain, (), tests_before=0).changes


def test_one_person_against_all_moves_nothing():
    """The same ratings by a thousand people would, in most channels."""
    assert not any(adopted_against_all(seed, np.full(1_000, -1)) for seed in range(5))
    assert sum(adopted_against_all(seed, np.arange(1_000) + 100) for seed in range(5)) >= 3


def test_no_decision_judges_what_it_was_fitted_on():
    """Where nothing can be gained, gains are below nothing in the mean. Judged by what they were fitted on: above."""
    found = []
    for seed in range(30):
        world = World(CLASSIC, seed)
        gain = tune(world.window(400), CLASSIC, CLASSIC, seed=seed).gain.doubly_robust
        if gain.standard_error:
            found.append(gain.value / gain.standard_error)
    assert len(found) >= 15
    assert np.mean(found) < 0.3


def test_feedback_that_is_not_believed_proposes_nothing():
    utilities = fit(World(WORDS, seed=1).window(2_000), CLASSIC)
    assert utilities.confidence > 0.999
    assert propose(replace(utilities, confidence=0.95), CLASSIC, CLASSIC) is not None
    assert propose(replace(utilities, confidence=0.949), CLASSIC, CLASSIC) is None
    believed = [
        fit(World(WORDS, seed, feedback="random").window(200), CLASSIC).confidence
        for seed in range(200)
    ]
    assert np.mean(np.array(believed) >= 0.95) == pytest.approx(0.05, abs=0.04)


def test_gains_are_those_of_clusters():
    selections = World(WORDS, seed=1).window(1_000)
    together = replace(selections, clusters=np.arange(1_000) // 50)
    gain = tune(together, CLASSIC, CLASSIC, seed=1).gain
    assert gain.doubly_robust.degrees_of_freedom == gain.snips.degrees_of_freedom == 19


def test_little_data_says_little():
    """Of 40 decisions the target hardly leaves the shared weights, of 4,000 it is near the planted ones."""
    apart = []
    for count in (40, 4_000):
        world = World(WORDS, seed=5)
        utilities = fit(world.window(count), CLASSIC)
        proposal = propose(replace(utilities, confidence=1.0), CLASSIC, CLASSIC)
        target = CLASSIC if proposal is None else proposal.target
        apart.append(np.abs(target - CLASSIC).sum())
    planted = np.abs(WORDS - CLASSIC).sum()
    assert apart[0] < 0.5 * planted < 0.8 * planted < apart[1] < 1.2 * planted


def test_utilities_are_the_rewards_of_features():
    """Without noise: a unit of a feature in a chosen line brings strength times its planted weight."""
    world = World(WORDS, seed=6)
    selections = world.window(6_000)
    liked = ((selections.features - 0.5) @ WORDS * selections.chosen).sum(axis=1)
    exact = replace(selections, rewards=np.clip(0.5 + 0.5 * liked, 0.0, 1.0))
    assert fit(exact, CLASSIC).utilities == pytest.approx(0.5 * WORDS, abs=0.01)


def test_how_hard_questions_are_does_not_matter():
    """Questions whose candidates all have much of a feature are the easy ones. That is no merit of the feature."""
    world = World(CLASSIC, seed=7)
    selections = world.window(4_000)
    easy = world.random.random(4_000)
    features = selections.features.copy()
    features[:, :, 3] = 0.3 * features[:, :, 3] + 0.7 * easy[:, None]
    liked = ((features - 0.5) @ np.array([0.4, 0.15, 0.2, 0.0, 0.1]) * selections.chosen).sum(axis=1)  # fmt: skip
    confounded = replace(
        selections, features=features, rewards=np.clip(0.2 + 0.6 * easy + 0.3 * liked, 0.0, 1.0)
    )
    found = fit(confounded, CLASSIC).utilities
    assert found[0] > 0.08
    assert abs(found[3]) < 0.05
    sums = (confounded.chosen[..., None] * features).sum(axis=1)
    naive = np.linalg.lstsq(np.column_stack((sums, np.ones(4_000))), confounded.rewards)[0]
    assert naive[3] > 0.2


@pytest.mark.slow
def test_columns_of_a_fitted_model():
    """Twenty-seven columns of either sign: every step is small, no sign turns, and most of the way is gone."""
    random = np.random.default_rng(0)
    shared = random.normal(0.0, 1.0, 27)
    planted = shared * np.exp(random.normal(0.0, 0.7, 27))
    planted *= np.abs(shared).sum() / np.abs(planted).sum()
    world = World(planted, 1, shared=shared, strength=0.3, temperature=0.7)
    world.live_through(9, 2_500)
    assert np.array_equal(np.sign(world.current), np.sign(shared))
    assert np.abs(world.current).sum() == pytest.approx(np.abs(shared).sum())
    assert world.closed > 0.6
    assert world.hits(world.current) > world.hits(shared) + 0.05


@pytest.mark.slow
def test_families_of_columns_are_scaled_by_weights_of_one():
    """The features are what families add to the score, so the shared weights are ones."""
    ones, planted = np.ones(8), np.array([0.4, 1.8, 1.0, 1.0, 1.0, 0.6, 1.2, 1.0])
    world = World(planted, 2, shared=ones, strength=0.3, temperature=0.5)
    world.live_through(9, 2_000)
    assert world.closed > 0.6
    assert world.current.sum() == pytest.approx(8.0)


def test_each_step_is_bounded():
    world = World(WORDS, seed=1)
    seen = [world.current]
    for _ in range(6):
        world.live_through(1, 2_000)
        seen.append(world.current)
    steps = [new / old for old, new in pairwise(seen)]
    assert np.max(steps) <= 1.0 + MOST_STEP + 1e-9
    assert np.min(steps) >= 1.0 - MOST_STEP - 1e-9
    assert len({one.tobytes() for one in seen}) > 1
    assert all(one.sum() == pytest.approx(1.0) for one in seen)


def test_a_channel_that_went_astray_is_led_back():
    astray = bounded_step(bounded_step(CLASSIC, WORDS), WORDS)
    world = World(CLASSIC, seed=8)
    world.current = astray
    world.live_through(6, 2_000)
    assert np.abs(world.current - CLASSIC).sum() < 0.5 * np.abs(astray - CLASSIC).sum()


def test_adopted_weights_that_do_harm_are_taken_back():
    """Nobody would adopt these. Somebody set them by hand, and the next window says so."""
    world = World(CLASSIC, seed=9)
    utilities = fit(world.window(3_000), CLASSIC)
    worse = bounded_step(bounded_step(bounded_step(CLASSIC, WORDS), WORDS), WORDS)
    world.current = worse
    found = compared(world.window(2_000), utilities, worse, CLASSIC)
    assert adoption.judge_adopted(found, ()).reason is Reason.ROLLED_BACK


def test_equal_input_gives_equal_output():
    one, again = (tune(World(WORDS, 4).window(2_000), CLASSIC, CLASSIC, seed=4) for _ in range(2))
    assert one.proposal.weights.tolist() == again.proposal.weights.tolist()
    assert one.gain == again.gain


def test_sharper_weights_are_no_better_weights():
    """Twice the weights draw more surely. That is no gain: the ranking is the same."""
    world = World(WORDS, seed=10)
    selections = world.window(2_000)
    utilities = fit(selections, CLASSIC)
    found = compared(selections, utilities, 2.0 * CLASSIC, CLASSIC)
    assert found.doubly_robust.value == pytest.approx(0.0, abs=1e-12)
    target, _ = drawn_by(selections, 2.0 * CLASSIC)
    assert not np.allclose(target, selections.probabilities)
    assert spread_of(selections, 2.0 * CLASSIC) == pytest.approx(
        2.0 * spread_of(selections, CLASSIC)
    )


def test_what_the_weights_that_held_would_draw_is_what_was_recorded():
    selections = World(WORDS, seed=11, slots=3).window(500)
    target, inclusion = drawn_by(selections, CLASSIC)
    assert target == pytest.approx(selections.probabilities, rel=1e-9)
    assert inclusion == pytest.approx(selections.inclusion, abs=1e-9)
    assert selections.surplus.mean(axis=0) == pytest.approx(np.zeros(5), abs=0.08)


def test_without_decisions_nothing_is_proposed():
    nobody = World(WORDS, seed=1).window(4).take(np.zeros(4, np.bool_))
    tuning = tune(nobody, CLASSIC, CLASSIC, seed=0)
    assert (tuning.proposal, tuning.gain) == (None, None)
    assert compared(nobody, fit(nobody, CLASSIC), CLASSIC, WORDS) is None
    assert adoption.judge(tuning.gain, (), tests_before=0).reason is Reason.NO_PROPENSITIES


@pytest.mark.parametrize("reward", [0.0, 0.5, 1.0])
def test_who_always_says_the_same_says_nothing(reward):
    selections = World(WORDS, seed=1).window(500)
    same = replace(selections, rewards=np.full(500, reward))
    tuning = tune(same, CLASSIC, CLASSIC, seed=0)
    assert tuning.proposal is None
    assert tuning.gain.doubly_robust.value == pytest.approx(0.0, abs=1e-9)


def test_a_feature_that_never_differs_stays_as_it_is_beside_others():
    world = World(WORDS, seed=2)
    selections = world.window(4_000)
    features = selections.features.copy()
    features[:, :, 2] = 1.0
    utilities = fit(replace(selections, features=features), CLASSIC)
    ratios = utilities.utilities / CLASSIC
    assert min(ratios) < ratios[2] < max(ratios)


def test_a_weight_of_nothing_stays_nothing():
    shared = np.array([0.5, 0.0, 0.2, 0.2, 0.1])
    world = World(WORDS, seed=3, shared=shared)
    tuning = tune(world.window(3_000), shared, shared, seed=1)
    assert tuning.proposal.weights[1] == 0.0
    assert tuning.proposal.weights.sum() == pytest.approx(1.0)


def test_no_target_lies_further_than_permitted():
    world = World(np.array([0.0, 0.0, 0.0, 0.0, 1.0]), seed=4)
    proposal = tune(world.window(6_000), CLASSIC, CLASSIC, seed=1).proposal
    ratios = proposal.target / CLASSIC
    assert ratios.max() / ratios.min() <= MOST_CHANGE**2 + 1e-9


# --- gathering what was logged ------------------------------------------------------------------


def logged(count=40, **changes):
    """Decisions as records hold them, drawn by `draw_slots`: nine candidates, five chosen, the last two by chance."""
    random = np.random.default_rng(3)
    features = random.random((count, 9, 5))
    selected, inclusion, probabilities = [], [], []
    for i in range(count):
        scores = features[i] @ CLASSIC
        ranking = np.argsort(-scores)
        drawn = draw_slots(ranking, scores, size=5, slots=2, pool=5, temperature=0.1, seed=i)
        chosen, included = np.zeros(9, np.bool_), np.zeros(9)
        chosen[drawn.order], included[ranking] = True, drawn.inclusion
        selected.append(chosen)
        inclusion.append(included)
        probabilities.append(drawn.probability)
    arrays = {
        "features": features.reshape(-1, 5),
        "offsets": np.arange(count + 1) * 9,
        "selected": np.concatenate(selected),
        "inclusion": np.concatenate(inclusion),
        "probabilities": np.array(probabilities),
        "temperatures": np.full(count, 0.1),
        "rewards": random.random(count),
        "clusters": np.arange(count),
    }
    return {**arrays, **changes}


def test_records_are_gathered_with_what_was_left_to_chance():
    found = selections_of(**logged())
    assert found.features.shape == (40, 5, 5)
    assert found.chosen.sum(axis=1).tolist() == [2] * 40
    assert found.live.all()
    target, inclusion = drawn_by(found, CLASSIC)
    assert target == pytest.approx(found.probabilities, rel=1e-9)
    assert inclusion == pytest.approx(found.inclusion, abs=1e-9)


def test_decisions_without_chance_or_probability_are_left_out():
    given = logged()
    given["probabilities"][[1, 2, 3]] = [math.nan, 0.0, 1.0]
    given["inclusion"][4 * 9 : 5 * 9] = math.nan
    given["inclusion"][5 * 9 : 6 * 9] = given["selected"][5 * 9 : 6 * 9]
    # Of what is left out nothing else need be right.
    given["rewards"][1], given["temperatures"][2] = math.nan, 0.0
    found = selections_of(**given)
    assert len(found) == 35
    assert found.clusters.tolist() == [0, *range(6, 40)]


def test_pools_of_other_sizes_are_padded():
    whole = selections_of(**logged(2))
    given = logged(2)
    keep = np.ones(18, np.bool_)
    keep[np.flatnonzero((given["inclusion"] == 0.0) | (given["inclusion"] == 1.0))[:4]] = False
    gone = np.flatnonzero((given["inclusion"] > 0) & (given["inclusion"] < 1) & ~given["selected"])[0]  # fmt: skip
    keep[gone] = False
    offsets = np.array([0, keep[:9].sum(), keep.sum()])
    for name in ("features", "selected", "inclusion"):
        given[name] = given[name][keep]
    found = selections_of(**{**given, "offsets": offsets})
    assert sorted(found.live.sum(axis=1).tolist()) == [4, 5]
    assert found.features.shape == whole.features.shape
    assert found.inclusion[~found.live].tolist() == [0.0]


def test_no_records_at_all():
    given = logged(1)
    empty = {
        "features": given["features"][:0],
        "offsets": np.zeros(1, np.int64),
        **{name: given[name][:0] for name in given if name not in {"features", "offsets"}},
    }
    assert len(selections_of(**empty)) == 0


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"features": np.zeros(360)}, "features"),
        ({"features": np.full((360, 5), 1e9)}, "features"),
        ({"features": np.full((360, 5), math.nan)}, "features"),
        ({"offsets": np.arange(40) * 9}, "offsets"),
        ({"offsets": np.arange(41) * 8}, "offsets"),
        ({"offsets": np.concatenate(([0, 18, 9], np.arange(3, 41) * 9))}, "offsets"),
        ({"selected": np.zeros(359, np.bool_)}, "selected"),
        ({"inclusion": np.zeros(361)}, "inclusion"),
        ({"probabilities": np.zeros(39)}, "probabilities"),
        ({"temperatures": np.zeros(40)}, "temperatures"),
        ({"temperatures": np.full(40, math.inf)}, "temperatures"),
        ({"rewards": np.full(40, 1.5)}, "rewards"),
        ({"rewards": np.full(40, math.nan)}, "rewards"),
        ({"clusters": np.zeros(3, np.int64)}, "clusters"),
    ],
)
def test_records_that_do_not_fit_are_named(changes, field):
    with pytest.raises(ValueError, match=rf"^{field}"):
        selections_of(**logged(**changes))


def test_folds_stay_while_decisions_are_added():
    few, many = folds_of(np.arange(100), 5, seed=3), folds_of(np.arange(10_000), 5, seed=3)
    assert few.tolist() == many[:100].tolist()
    assert np.bincount(many).tolist() == pytest.approx([2_000] * 5, abs=150)
    assert few.tolist() != folds_of(np.arange(100), 5, seed=4).tolist()
    assert len(set(folds_of(np.full(9, -7), 5, seed=3).tolist())) == 1
    with pytest.raises(ValueError, match="folds"):
        folds_of(np.arange(9), 1, seed=3)


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda s, u: fit(s, CLASSIC[:4]), "shared"),
        (lambda s, u: fit(s, np.zeros(5)), "shared"),
        (lambda s, u: fit(s, CLASSIC * math.nan), "shared"),
        (lambda s, u: propose(u, CLASSIC, -CLASSIC), "current"),
        (lambda s, u: propose(u, CLASSIC, np.ones(4)), "current"),
        (lambda s, u: compared(s, u, np.ones(4), CLASSIC), "weights"),
        (lambda s, u: compared(s, u, CLASSIC, np.ones(4)), "like"),
    ],
)
def test_weights_that_do_not_fit_are_named(call, field):
    selections = World(WORDS, seed=1).window(50)
    with pytest.raises(ValueError, match=rf"^{field}"):
        call(selections, fit(selections, CLASSIC))
