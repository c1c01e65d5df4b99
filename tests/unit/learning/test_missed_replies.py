"""The guard of missed replies: what counts as missed, and how much is too much."""

import numpy as np
import pytest

from backscroll_sidecar.learning.adoption import Reason, guard_refuses
from backscroll_sidecar.learning.missed_replies import (
    FIRST,
    LEAST_LINES,
    Answering,
    factors_to_hold,
    guard_of,
)

NEW, OLD = np.array([1.0, 0.0]), np.array([0.0, 1.0])


def lines(*answered, count=FIRST + 1):
    """Lines with so many candidates each, the newer the higher by the first feature, the lower by the second.

    `answered`: the place of each line's answered one among them, None: none.
    """
    rising = np.linspace(0.1, 0.9, count)
    features = np.tile(np.column_stack((rising, rising[::-1])), (len(answered), 1))
    offsets = np.arange(len(answered) + 1) * count
    places = [-1 if one is None else n * count + one for n, one in enumerate(answered)]
    return Answering(features, offsets, np.array(places))


def test_a_line_misses_what_is_not_among_the_first():
    found = lines(0, 1, 5, None)
    assert found.misses(NEW).tolist() == [True, False, False, True]
    assert found.misses(OLD).tolist() == [False, False, True, True]


def test_of_equal_scores_the_newer_comes_first():
    found = lines(0, 1, 5)
    assert found.misses(np.zeros(2)).tolist() == [True, False, False]
    assert found.misses(np.array([20.0, 20.0])).tolist() == [True, False, False]  # all are 1


def test_a_line_without_candidates_misses():
    found = Answering(np.empty((0, 2)), np.zeros(2, np.int64), np.array([-1]))
    assert found.misses(NEW).tolist() == [True]


def test_too_few_lines_are_not_measured():
    assert guard_of(None, OLD, NEW) is None
    assert guard_of(lines(*[5] * (LEAST_LINES - 1)), OLD, NEW) is None
    assert guard_of(lines(*[5] * LEAST_LINES), OLD, NEW) is not None


@pytest.mark.parametrize(
    ("lost", "won", "is_refused"),
    [
        (0, 0, False),  # no line sees a difference
        (1, 0, False),  # .001 more, .0026 with chance
        (5, 0, True),  # .005 more
        (2, 0, False),
        (3, 0, True),  # .003 more, .0058 with chance
        (8, 8, True),  # as many, but chance may hide .0066
        (8, 14, False),
        (0, 40, False),
    ],
)
def test_growth_that_chance_may_hide_counts(lost, won, is_refused):
    """At most .005 more, with 95 % certainty."""
    found = lines(*[5] * lost, *[0] * won, *[3] * (1_000 - lost - won))
    guard = guard_of(found, OLD, NEW)
    assert (guard.name, guard.incumbent) == ("missed_replies", won / 1_000)
    assert guard.candidate == lost / 1_000
    refused = guard_refuses([guard])
    assert (refused is not None) == is_refused
    if refused is not None:
        assert refused.reason is Reason.GUARD_WORSE
        assert "missed_replies" in refused.detail


def test_a_factor_that_costs_is_held():
    """Lines answer the newest; the second weight moves old ones up, the other two say nothing."""
    found = lines(*[5] * 300)
    rest = np.zeros((len(found.features), 2))
    wide = Answering(np.hstack((found.features, rest)), found.offsets, found.answered)
    current, proposed = np.array([0.5, 0.45, 0.3, 0.3]), np.array([0.45, 0.54, 0.28, 0.28])
    refused = guard_of(wide, proposed, current)
    assert refused.candidate > refused.most
    assert factors_to_hold(wide, proposed, current, current) in {(0,), (1,)}


def test_nothing_is_held_where_that_does_not_do():
    found = lines(*[5] * 300)
    assert factors_to_hold(found, np.array([0.4, 0.6]), np.array([0.6, 0.4]), NEW) == ()
