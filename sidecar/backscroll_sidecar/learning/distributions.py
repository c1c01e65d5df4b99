"""Quantiles, tail probabilities and intervals, by closed forms and series. Floats in, floats out.

Sources: Abramowitz and Stegun, "Handbook of Mathematical Functions", chapter 26 (cited as A&S); E. B. Wilson, "Probable
inference, the law of succession, and statistical inference", JASA 1927.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from statistics import NormalDist
from typing import NamedTuple

_NORMAL = NormalDist()
_FEW_DEGREES = 30
"""Up to here Student's quantile is searched in the exact distribution; beyond, the expansion errs by less
than 1e-8 of probability."""
_HALVINGS = 60
"""Bisections of an angle: then a float cannot tell the two ends apart."""


class Interval(NamedTuple):
    """A closed interval."""

    lower: float
    upper: float


def normal_quantile(probability: float) -> float:
    """Return z with P(Z <= z) = ``probability``, which is in (0, 1).

    Raises
    ------
    ValueError
        A probability outside (0, 1).
    """
    _check_inside("probability", probability)
    return _NORMAL.inv_cdf(probability)


def student_quantile(probability: float, degrees_of_freedom: int) -> float:
    """Return t with P(T <= t) = ``probability`` for Student's T.

    Few degrees: bisection of the finite series A&S 26.7.3 and 26.7.4. More: the expansion around the normal quantile,
    A&S 26.7.5.

    Parameters
    ----------
    probability : float
        In (0, 1).
    degrees_of_freedom : int
        At least 1.

    Raises
    ------
    ValueError
        Either outside its range.
    """
    _check_inside("probability", probability)
    if degrees_of_freedom < 1:
        raise ValueError(f"degrees_of_freedom must be at least 1: {degrees_of_freedom}")
    if probability < 0.5:
        return -student_quantile(1.0 - probability, degrees_of_freedom)
    if degrees_of_freedom > _FEW_DEGREES:
        return _expanded(normal_quantile(probability), degrees_of_freedom)
    inside = 2.0 * probability - 1.0
    low, high = 0.0, 0.5 * math.pi
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        if _inside(middle, degrees_of_freedom) < inside:
            low = middle
        else:
            high = middle
    return math.sqrt(degrees_of_freedom) * math.tan(low)


def _inside(angle: float, degrees: int) -> float:
    """P(-t <= T <= t) with t = sqrt(degrees) * tan(angle): A&S 26.7.3 for odd degrees, 26.7.4 for even ones."""
    sine, cosine = math.sin(angle), math.cos(angle)
    is_odd = degrees % 2 == 1
    term = cosine if is_odd else 1.0
    total = 0.0
    for step in range(degrees // 2):
        total += term
        top = 2 * step + (2 if is_odd else 1)
        term *= top / (top + 1) * cosine * cosine
    if is_odd:
        return 2.0 / math.pi * (angle + sine * total)
    return sine * total


def _expanded(z: float, degrees: int) -> float:
    """A&S 26.7.5."""
    terms = (
        (z**3 + z) / 4.0,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96.0,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384.0,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92_160.0,
    )
    return z + sum(term / float(degrees) ** power for power, term in enumerate(terms, 1))


def chi_square_survival(statistic: float, degrees_of_freedom: int) -> float:
    """Return P(X > ``statistic``) of the chi-square distribution, by the finite series A&S 26.4.4 and 26.4.5.

    With h = statistic / 2: even degrees v give exp(-h) times the sum of h^i / i! for i below v / 2. Odd ones give
    erfc(sqrt(h)) plus exp(-h) times the sum of h^(i - 1/2) / gamma(i + 1/2) for i from 1 to (v - 1) / 2.

    Parameters
    ----------
    statistic : float
        Not negative; infinity gives 0.
    degrees_of_freedom : int
        At least 1.

    Raises
    ------
    ValueError
        Either outside its range, or NaN.
    """
    if not statistic >= 0.0:
        raise ValueError(f"statistic must not be negative: {statistic}")
    if degrees_of_freedom < 1:
        raise ValueError(f"degrees_of_freedom must be at least 1: {degrees_of_freedom}")
    if statistic == 0.0:
        return 1.0
    if math.isinf(statistic):
        return 0.0
    half, log_half = 0.5 * statistic, math.log(0.5 * statistic)
    shift = 0.5 * (degrees_of_freedom % 2)
    # In logarithms: large counts give terms far beyond what a float holds.
    terms: Iterable[float] = (
        math.exp((i + shift) * log_half - half - math.lgamma(i + shift + 1.0))
        for i in range(degrees_of_freedom // 2)
    )
    first = math.erfc(math.sqrt(half)) if shift else 0.0
    return min(1.0, first + math.fsum(terms))


def wilson_interval(share: float, count: float, confidence: float = 0.95) -> Interval:
    """Return Wilson's score interval of a share.

    For values in [0, 1] that are not just 0 and 1, with ``share`` their mean, it is wider than need be: their variance
    is at most that of zeros and ones of the same mean.

    Parameters
    ----------
    share : float
        In [0, 1].
    count : float
        How many values it is the mean of, at least 1; of values that hang together, how many independent ones they are
        worth (Korn and Graubard, "Confidence intervals for proportions with small expected number of positive counts
        estimated from survey data", Survey Methodology 1998).
    confidence : float
        In (0, 1).

    Raises
    ------
    ValueError
        Any of them outside its range.
    """
    if not 0.0 <= share <= 1.0:
        raise ValueError(f"share must be in [0, 1]: {share}")
    if count < 1:
        raise ValueError(f"count must be at least 1: {count}")
    _check_inside("confidence", confidence)
    z = normal_quantile(0.5 + 0.5 * confidence)
    spread = z * z / count
    middle = (share + 0.5 * spread) / (1.0 + spread)
    half = z * math.sqrt(share * (1.0 - share) / count + 0.25 * spread / count) / (1.0 + spread)
    return Interval(max(0.0, middle - half), min(1.0, middle + half))


def mean_interval(
    mean: float, standard_error: float, degrees_of_freedom: int, confidence: float = 0.95
) -> Interval:
    """Return Student's interval of a mean; from minus to plus infinity without degrees of freedom.

    Raises
    ------
    ValueError
        A confidence outside (0, 1).
    """
    _check_inside("confidence", confidence)
    if degrees_of_freedom < 1:
        return Interval(-math.inf, math.inf)
    half = student_quantile(0.5 + 0.5 * confidence, degrees_of_freedom) * standard_error
    return Interval(mean - half, mean + half)


def _check_inside(name: str, value: float) -> None:
    if not 0.0 < value < 1.0:
        raise ValueError(f"{name} must be in (0, 1): {value}")
