"""Draws: their probabilities are those with which things happen, and a seed says everything."""

import math
from collections import Counter
from itertools import permutations

import numpy as np
import pytest

from backscroll_sidecar.learning.distributions import chi_square_survival
from backscroll_sidecar.learning.exploration import draw_slots, seed_of
from backscroll_sidecar.learning.plackett_luce import (
    LEAST_WORTH,
    MOST_SLOTS,
    inclusion_probabilities,
    order_probabilities,
    set_probabilities,
    worths,
)

SCORES = np.array([0.9, 0.8, 0.75, 0.3, 0.72, 0.6, 0.1])
RANKING = np.array([0, 1, 2, 4, 5, 3, 6])
DRAWN = {"size": 4, "slots": 2, "pool": 5, "temperature": 0.2}


def draw(seed, **changes):
    return draw_slots(RANKING, SCORES, **{**DRAWN, **changes}, seed=seed)


def fit_of(counts, expected):
    """The probability of counts at least as far from what was expected, by chi-square."""
    statistic = sum((counts[key] - value) ** 2 / value for key, value in expected.items())
    return chi_square_survival(statistic, len(expected) - 1)


@pytest.mark.slow
@pytest.mark.parametrize("draws", [4_000, pytest.param(10_000, marks=pytest.mark.proof)])
def test_orders_come_as_often_as_their_probabilities(draws):
    """Slots of two among five: twenty orders, ten sets."""
    drawn = [draw(seed) for seed in range(draws)]
    orders = {tuple(one.order): one.order_probability for one in drawn}
    assert len(orders) == 20
    assert math.fsum(orders.values()) == pytest.approx(1.0, abs=1e-12)
    counts = Counter(tuple(one.order) for one in drawn)
    assert fit_of(counts, {order: draws * p for order, p in orders.items()}) > 0.001
    sets = {frozenset(one.order): one.probability for one in drawn}
    assert len(sets) == 10
    assert math.fsum(sets.values()) == pytest.approx(1.0, abs=1e-12)
    counts = Counter(frozenset(one.order) for one in drawn)
    assert fit_of(counts, {chosen: draws * p for chosen, p in sets.items()}) > 0.001


@pytest.mark.slow
@pytest.mark.parametrize("draws", [3_000, pytest.param(6_000, marks=pytest.mark.proof)])
def test_each_candidate_is_in_as_often_as_its_probability(draws):
    drawn = [draw(seed, slots=3, pool=6) for seed in range(draws)]
    found = np.zeros(7)
    for one in drawn:
        found[one.order] += 1
    expected = drawn[0].inclusion
    assert expected.sum() == pytest.approx(4.0)
    deviations = np.sqrt(expected * (1 - expected) / draws)
    assert np.all(np.abs(found[RANKING] / draws - expected) <= 4 * deviations + 1e-12)


def test_only_the_last_slots_are_left_to_chance():
    for seed in range(200):
        one = draw(seed)
        assert one.order[:2].tolist() == [0, 1]
        assert set(one.order[2:].tolist()) <= {2, 4, 5, 3, 6}
        assert len(set(one.order.tolist())) == 4
        assert one.inclusion[:2].tolist() == [1.0, 1.0]
        assert one.is_explored
    narrow = draw(3, pool=3)
    assert narrow.inclusion[5:].tolist() == [0.0, 0.0]
    assert set(narrow.order[2:].tolist()) <= {2, 4, 5}


def test_the_same_seed_draws_the_same():
    one, again, other = draw(11), draw(11), draw(12)
    assert one.order.tolist() == again.order.tolist()
    assert (one.probability, one.order_probability) == (again.probability, again.order_probability)
    assert [draw(seed).order.tolist() for seed in range(20)] != [other.order.tolist()] * 20


def test_draws_are_the_same_in_every_release():
    """A replay years later gives the same: these values may never change."""
    assert seed_of("e1", "群聊", "2026-11-28", "r1") == 902446061243814377
    slots = [draw(seed).order[2:].tolist() for seed in range(6)]
    assert slots == [[2, 3], [4, 2], [2, 4], [4, 2], [2, 4], [2, 5]]


def test_the_colder_the_surer():
    """However cold, the better one is the likelier one, and the last is still possible."""
    surest = [draw(1, temperature=heat).inclusion[2:] for heat in (1e-9, 1e-3, 0.1, 1.0)]
    assert np.all(np.diff(surest, axis=1) < 0.0)
    assert surest[0].tolist() == surest[1].tolist()
    assert surest[0][0] > 0.95 > surest[2][0] > surest[3][0] > 0.4
    assert 1e-7 < surest[0][-1] < 1e-5


def test_a_hot_draw_is_even():
    assert draw(1, temperature=1e9).inclusion[2:] == pytest.approx(np.full(5, 0.4))


@pytest.mark.parametrize(
    "changes",
    [{"slots": 0}, {"size": 9, "slots": 3}, {"size": 7}, {"pool": 2}],
    ids=["no slots", "more places than candidates", "as many", "as many rivals as slots"],
)
def test_without_a_choice_nothing_is_left_to_chance(changes):
    one = draw(5, **changes)
    size = min(7, {**DRAWN, **changes}["size"])
    assert one.order.tolist() == RANKING[:size].tolist()
    assert (one.probability, one.order_probability) == (1.0, 1.0)
    assert one.inclusion.tolist() == [1.0] * size + [0.0] * (7 - size)
    assert not one.is_explored


def test_nobody_to_choose_from():
    one = draw_slots(RANKING[:0], SCORES, **DRAWN, seed=1)
    assert (len(one.order), one.probability) == (0, 1.0)


def test_what_nobody_asked_about_may_have_no_score():
    scores = SCORES.copy()
    scores[[0, 1]] = math.nan
    assert draw_slots(RANKING, scores, **DRAWN, seed=1).order[:2].tolist() == [0, 1]


def test_seeds_differ_by_each_part_and_by_where_a_part_ends():
    parts = ("e", "c", "d", "r")
    seeds = {seed_of(*parts)}
    for place in range(4):
        seeds.add(seed_of(*(part + "x" * (place == i) for i, part in enumerate(parts))))
    seeds |= {seed_of("ec", "", "d", "r"), seed_of("", "ec", "d", "r"), seed_of("e", "cd", "", "r")}
    seeds |= {
        seed_of("群", "聊", "d", "r"),
        seed_of("群聊", "", "d", "r"),
        seed_of("\ud800", "c", "d"),
    }
    assert len(seeds) == 11
    assert all(0 <= seed < 2**63 for seed in seeds)


@pytest.mark.parametrize("slots", range(1, MOST_SLOTS + 1))
def test_inclusion_is_the_sum_of_the_orders(slots):
    worth = np.array([[1.0, 0.5, 0.25, 0.125, 1e-6, 0.0]])
    expected = np.zeros(6)
    for order in permutations(range(5), slots):
        expected[list(order)] += order_probabilities(worth, np.array([order]))[0]
    assert inclusion_probabilities(worth, slots)[0] == pytest.approx(expected, abs=1e-12)


def test_pools_of_other_widths_do_not_disturb_each_other():
    worth = worths(
        np.array([[0.3, 0.1, 0.2, 7.0], [0.9, 0.1, 0.5, 0.2]]),
        np.array([0.1, 0.5]),
        np.array([[True, True, True, False], [True] * 4]),
    )
    alone = worths(np.array([[0.3, 0.1, 0.2]]), np.array([0.1]), np.ones((1, 3), np.bool_))
    drawn = np.array([[0, 2], [3, 1]])
    assert worth[0, :3] == pytest.approx(alone[0])
    assert worth[0, 3] == 0.0
    assert set_probabilities(worth, drawn)[0] == set_probabilities(alone, drawn[:1])[0]
    assert inclusion_probabilities(worth, 2)[0, :3] == pytest.approx(
        inclusion_probabilities(alone, 2)[0]
    )


def test_nothing_of_a_pool_is_impossible():
    worth = worths(np.array([[0.0, -2.0, -1e9]]), np.array([0.1]), np.ones((1, 3), np.bool_))
    assert worth[0, [0, 2]] == pytest.approx([1.0, LEAST_WORTH])
    assert LEAST_WORTH < worth[0, 1] < 1.0


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"size": 0}, "size"),
        ({"slots": -1}, "slots"),
        ({"slots": MOST_SLOTS + 1, "size": 5, "pool": 7}, "slots"),
        ({"slots": 2, "size": 1}, "slots"),
        ({"pool": 1}, "pool"),
        ({"temperature": 0.0}, "temperature"),
        ({"temperature": math.nan}, "temperature"),
    ],
)
def test_what_is_outside_is_named(changes, field):
    with pytest.raises(ValueError, match=rf"^{field}"):
        draw(1, **changes)


def test_a_pool_without_scores_is_refused():
    scores = SCORES.copy()
    scores[5] = math.nan
    with pytest.raises(ValueError, match=r"^scores"):
        draw_slots(RANKING, scores, **DRAWN, seed=1)


def test_pools_must_leave_a_choice():
    with pytest.raises(ValueError, match="more candidates"):
        inclusion_probabilities(np.array([[1.0, 0.5, 0.0]]), 2)
    with pytest.raises(ValueError, match="slots"):
        set_probabilities(np.ones((1, 9)), np.arange(4)[None])
