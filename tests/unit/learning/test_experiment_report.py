"""Reports of arms, worked out by hand."""

import math

import numpy as np
import pytest

from backscroll_sidecar.learning.distributions import wilson_interval
from backscroll_sidecar.learning.experiment_report import report

NAN = math.nan


def builds(**changes):
    """Arm 0: four builds in two channels; arm 1: three in three; the third arm got none."""
    given = {
        "names": ("control", "memory", "late"),
        "weights": (1.0, 1.0, 1.0),
        "arm": np.array([0, 0, 0, 0, 1, 1, 1]),
        "channel": np.array([1, 1, 2, 2, 3, 4, 5]),
        "response_ms": np.array([1.0, 2.0, 3.0, 10.0, 5.0, NAN, 7.0]),
        "tokens": np.array([100.0, 200.0, 300.0, 400.0, 50.0, 60.0, 70.0]),
        "accuracy": np.array([1.0, 1.0, 0.0, NAN, NAN, NAN, NAN]),
        "recall": np.array([NAN, 0.5, 1.0, NAN, 1.0, 1.0, 1.0]),
    }
    return {**given, **changes}


def test_each_arm_by_hand():
    control, memory, _ = report(**builds()).arms
    assert (control.name, control.builds, control.channels) == ("control", 4, 2)
    assert (control.response_ms_median, control.response_ms_p95) == pytest.approx((2.5, 8.95))
    assert (memory.response_ms_median, memory.response_ms_p95) == pytest.approx((6.0, 6.9))
    assert (control.tokens.mean, control.tokens.count) == (250.0, 4)
    assert (control.accuracy.mean, control.accuracy.count) == (pytest.approx(2 / 3), 3)
    assert (control.recall.mean, memory.recall.mean) == (0.75, 1.0)


def test_tokens_vary_by_channel():
    """Sums of deviations of the two channels: -200 and 200; error sqrt(2 * 80,000) / 4 = 100; t(1) = 12.7062."""
    control, memory, _ = report(**builds()).arms
    assert control.tokens.interval == pytest.approx((250 - 1270.62, 250 + 1270.62), rel=1e-5)
    # Each build a channel of its own: 60 and 10 / sqrt(3) with t(2) = 4.30265.
    half = 4.302653 * 10 / math.sqrt(3)
    assert memory.tokens.interval == pytest.approx((60 - half, 60 + half), rel=1e-5)


def test_what_was_not_measured_is_absent():
    _, memory, late = report(**builds()).arms
    assert memory.accuracy is None
    assert (late.builds, late.channels) == (0, 0)
    assert (late.response_ms_median, late.response_ms_p95) == (None, None)
    assert (late.tokens, late.accuracy, late.recall) == (None, None, None)


def test_all_the_same_counts_a_channel_once():
    """Three channels of memory with full recall: as sure as three values."""
    _, memory, _ = report(**builds()).arms
    assert memory.recall.interval == wilson_interval(1.0, 3)


def test_shares_of_channels_that_differ_are_less_sure():
    """Ten builds each in ten channels, all good or all bad by channel: worth about ten builds, not a hundred."""
    channel = np.repeat(np.arange(10), 10)
    good = (channel % 2).astype(np.float64)
    mixed = np.tile([0.0, 1.0], 50)
    intervals = []
    for accuracy in (good, mixed):
        nothing = np.full(100, NAN)
        found = report(("a",), (1.0,), 0 * channel, channel, nothing, nothing, accuracy, nothing)
        intervals.append(found.arms[0].accuracy.interval)
    assert intervals[0] == pytest.approx(wilson_interval(0.5, 9.0), abs=1e-9)
    assert intervals[1] == pytest.approx(wilson_interval(0.5, 10.0), abs=1e-9)


def test_channels_not_builds_are_counted_against_the_weights():
    """A busy channel is one channel; two, three and none of three arms is no alarm, nor is it of one busy channel."""
    found = report(**builds())
    assert found.ratio.chi_square == pytest.approx(14 / 5)
    assert not found.ratio.is_alarming
    channel = np.concatenate((np.arange(900), np.full(9_000, 900), 901 + np.arange(850)))
    arm = (channel > 900).astype(np.int64)
    nothing = np.full(len(arm), NAN)
    even = report(("a", "b"), (1.0, 1.0), arm, channel, nothing, nothing, nothing, nothing)
    assert not even.ratio.is_alarming
    uneven = report(("a", "b"), (1.0, 2.0), arm, channel, nothing, nothing, nothing, nothing)
    assert uneven.ratio.is_alarming


def test_no_builds_at_all():
    none, nothing = np.zeros(0, np.int64), np.zeros(0)
    found = report(("a", "b"), (1.0, 1.0), none, none, nothing, nothing, nothing, nothing)
    assert [arm.builds for arm in found.arms] == [0, 0]
    assert not found.ratio.is_alarming


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"arm": np.array([0, 0, 0, 0, 1, 1, 3])}, "arm"),
        ({"arm": np.array([0, 0, 0, 0, 1, 1, -1])}, "arm"),
        ({"channel": np.zeros(6, np.int64)}, "channel"),
        ({"tokens": np.zeros(8)}, "tokens"),
        ({"response_ms": np.full(7, -1.0)}, "response_ms"),
        ({"response_ms": np.full(7, math.inf)}, "response_ms"),
        ({"accuracy": np.full(7, 1.1)}, "accuracy"),
        ({"recall": np.full(7, -0.1)}, "recall"),
        ({"weights": (1.0, 1.0)}, "weights"),
    ],
)
def test_what_does_not_fit_is_named(changes, field):
    with pytest.raises(ValueError, match=rf"^{field}"):
        report(**builds(**changes))
