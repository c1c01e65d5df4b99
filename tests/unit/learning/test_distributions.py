"""Quantiles, tails and intervals against tables and closed forms."""

import math

import numpy as np
import pytest

from backscroll_sidecar.learning.distributions import (
    chi_square_survival,
    mean_interval,
    normal_quantile,
    student_quantile,
    wilson_interval,
)


@pytest.mark.parametrize(
    ("probability", "degrees", "expected"),
    [
        (0.975, 1, 12.7062047362),
        (0.975, 2, 4.3026527297),
        (0.975, 5, 2.5705818356),
        (0.975, 30, 2.0422724563),
        (0.975, 31, 2.0395134464),
        (0.995, 10, 3.1692726726),
        (0.9995, 3, 12.9239786366),
        (0.95, 120, 1.6576508994),
        (0.025, 7, -2.3646242516),
        (0.5, 9, 0.0),
    ],
)
def test_students_quantiles_of_tables(probability, degrees, expected):
    assert student_quantile(probability, degrees) == pytest.approx(expected, rel=2e-8, abs=1e-12)


@pytest.mark.parametrize("tail", [1e-2, 1e-4, 1e-6])
def test_the_expansion_takes_over_where_it_is_as_good_as_the_series(tail):
    """Between 30 and 31 degrees the way of computing changes: the step must be no larger than the ones beside it."""
    near = [student_quantile(1.0 - tail, degrees) for degrees in (29, 30, 31, 32)]
    steps = -np.diff(near)
    assert steps[0] > steps[1] > steps[2] > 0.0


def test_many_degrees_are_nearly_normal():
    assert student_quantile(0.975, 10**7) == pytest.approx(normal_quantile(0.975), abs=1e-6)


@pytest.mark.parametrize(
    ("statistic", "degrees", "expected"),
    [
        (3.8414588207, 1, 0.05),
        (10.8275661707, 1, 0.001),
        (13.8155105580, 2, 0.001),
        (16.2662361962, 3, 0.001),
        (18.3070380533, 10, 0.05),
        (124.3421134, 100, 0.05),
        (0.0, 4, 1.0),
        (math.inf, 4, 0.0),
    ],
)
def test_chi_square_tails_of_tables(statistic, degrees, expected):
    assert chi_square_survival(statistic, degrees) == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("degrees", [1, 2, 3, 4, 7, 12])
def test_a_chi_square_tail_is_the_integral_of_the_density(degrees):
    at = np.linspace(2.0, 400.0, 2_000_001)
    density = np.exp(
        (degrees / 2 - 1) * np.log(at)
        - at / 2
        - degrees / 2 * math.log(2.0)
        - math.lgamma(degrees / 2)
    )
    assert chi_square_survival(2.0, degrees) == pytest.approx(np.trapezoid(density, at), rel=1e-6)


def test_a_far_tail_of_many_degrees_neither_overflows_nor_goes_below_nothing():
    assert 0.0 < chi_square_survival(1e4, 9_999) < 1.0
    assert chi_square_survival(1e6, 9_999) == 0.0


def test_wilson_by_hand():
    """8 of 10: middle (0.8 + z^2/20) / (1 + z^2/10), with z = 1.959964."""
    low, high = wilson_interval(0.8, 10)
    assert (low, high) == pytest.approx((0.490162, 0.943318), abs=1e-6)


def test_wilson_at_the_ends_stays_inside():
    assert 0.0 <= wilson_interval(0.0, 5).lower < 1e-12
    assert 0.4 < wilson_interval(0.0, 5).upper < 0.5
    assert 1.0 - 1e-12 < wilson_interval(1.0, 5).upper <= 1.0


def test_a_mean_without_degrees_of_freedom_may_be_anything():
    assert mean_interval(3.0, 1.0, 0) == (-math.inf, math.inf)


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda: student_quantile(1.0, 3), "probability"),
        (lambda: student_quantile(0.9, 0), "degrees_of_freedom"),
        (lambda: normal_quantile(math.nan), "probability"),
        (lambda: chi_square_survival(-1.0, 1), "statistic"),
        (lambda: chi_square_survival(math.nan, 1), "statistic"),
        (lambda: chi_square_survival(1.0, 0), "degrees_of_freedom"),
        (lambda: wilson_interval(1.2, 3), "share"),
        (lambda: wilson_interval(0.2, 0), "count"),
        (lambda: wilson_interval(0.2, 3, confidence=1.0), "confidence"),
        (lambda: mean_interval(0.2, 3, 4, confidence=0.0), "confidence"),
    ],
)
def test_what_is_outside_is_named(call, field):
    with pytest.raises(ValueError, match=rf"^{field}"):
        call()
