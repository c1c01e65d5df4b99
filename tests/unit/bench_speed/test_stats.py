"""Medians of ratios, percentiles, and when a run is refused."""

import pytest

from backscroll_bench.speed.stats import Noise, Rounds, check_noise, percentile, spread


def test_a_ratio_is_the_median_of_the_rounds_ratios_and_not_the_ratio_of_the_medians():
    """A round in which both sides were slow counts as much as any other."""
    rounds = Rounds(values=(2.0, 30.0, 4.0), bases=(1.0, 10.0, 4.0))
    assert rounds.ratio == 2.0
    assert rounds.value / rounds.base == 1.0


@pytest.mark.parametrize(
    ("values", "bases"), [((), ()), ((1.0,), (1.0, 2.0)), ((1.0,), (0.0,)), ((1.0,), (-1.0,))]
)
def test_rounds_without_two_sides_are_refused(values, bases):
    with pytest.raises(ValueError, match=r"round|above 0"):
        Rounds(values, bases)


def test_a_percentile_is_one_of_the_values():
    values = [5.0, 1.0, 4.0, 2.0, 3.0]
    assert [percentile(values, share) for share in (0.0, 0.2, 0.5, 0.8, 0.81, 1.0)] == [
        1.0, 1.0, 3.0, 4.0, 5.0, 5.0,
    ]  # fmt: skip
    hundred = [float(n) for n in range(1, 101)]
    assert percentile(hundred, 0.99) == 99.0
    with pytest.raises(ValueError, match="nothing"):
        percentile([], 0.5)


def test_rounds_that_differ_by_more_than_two_are_noise():
    """A run whose R0 rounds differ by more than 2x is refused."""
    assert spread([3.0, 1.5, 2.0]) == 2.0
    check_noise("part", [3.0, 1.5, 2.0])
    check_noise("part", ())
    with pytest.raises(Noise, match=r"part is compared with differ by 2\.1x") as caught:
        check_noise("part", [2.1, 1.0, 2.0])
    assert (caught.value.part, caught.value.spread) == ("part", 2.1)
