"""What the arms of an experiment or rollout came to: how fast, how many tokens, how well.

Channels are assigned, not builds: so intervals are of channels, whose builds hang together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from backscroll_scoring.arrays import Bool, Float64, Int64
from backscroll_sidecar.learning.buckets import SampleRatio, sample_ratio
from backscroll_sidecar.learning.distributions import Interval, mean_interval, wilson_interval
from backscroll_sidecar.learning.estimators import standard_error


@dataclass(frozen=True, slots=True)
class Measured:
    """A mean over what was measured, with its 95 % interval.

    Attributes
    ----------
    mean : float
    interval : Interval
        Of shares Wilson's, of others Student's, which is infinite for a single channel.
    count : int
        Of how many values, at least 1.
    """

    mean: float
    interval: Interval
    count: int


@dataclass(frozen=True, slots=True)
class ArmReport:
    """What one arm came to. None: nothing was measured.

    Attributes
    ----------
    name : str
    builds : int
    channels : int
    response_ms : Measured or None
    response_ms_median, response_ms_p95 : float or None
        Milliseconds, interpolated between the two nearest builds (Hyndman and Fan's definition 7).
    tokens : Measured or None
        Of a context.
    accuracy : Measured or None
        Explicit feedback, from 0, no help, to 1: of the builds that got some.
    recall : Measured or None
        Of builds for which it is known what should have been found: the share that was.
    fallbacks : Measured or None
        The share of builds on a lower rung.
    same_messages : Measured or None
        What a build behind an answer has in common with it.
    """

    name: str
    builds: int
    channels: int
    response_ms_median: float | None
    response_ms_p95: float | None
    tokens: Measured | None
    accuracy: Measured | None
    recall: Measured | None
    response_ms: Measured | None = None
    fallbacks: Measured | None = None
    same_messages: Measured | None = None


@dataclass(frozen=True, slots=True)
class ExperimentReport:
    """All arms, and whether they may be compared.

    Attributes
    ----------
    arms : ArmReports
        In the order of the names given.
    ratio : SampleRatio
        Of the arms' channels against their weights. Where it is alarming, differences between arms mean nothing.
    """

    arms: tuple[ArmReport, ...]
    ratio: SampleRatio


def report(
    names: Sequence[str], weights: Sequence[float], arm: Int64, channel: Int64, response_ms: Float64,
    tokens: Float64, accuracy: Float64, recall: Float64, *, fallbacks: Float64 | None = None,
    same_messages: Float64 | None = None, is_drawn: Bool | None = None,
) -> ExperimentReport:  # fmt: skip
    """Sum up the builds of an experiment. Channels of its allow list do not belong in: nobody drew their arm.

    Parameters
    ----------
    names : texts
        Of the arms, at least one.
    weights : floats
        One an arm: what share of the channels each should have. 0: none is drawn into it.
    arm : int64[n]
        The arm of each build, its place among the names.
    channel : int64[n]
        A number of each build's channel.
    response_ms, tokens, accuracy, recall : float64[n]
        Of each build, not negative; NaN where not measured or not given. The last two in [0, 1].
    fallbacks, same_messages : float64[n], optional
        In [0, 1], or NaN.
    is_drawn : bool[n], optional
        Whose channel was put into its arm by these weights; without it all were.

    Raises
    ------
    ValueError
        Arrays of other lengths, an arm that has no name, or a number outside its range.
    """
    n = len(arm)
    measured = {
        "response_ms": response_ms,
        "tokens": tokens,
        "accuracy": accuracy,
        "recall": recall,
        "fallbacks": np.full(n, math.nan) if fallbacks is None else fallbacks,
        "same_messages": np.full(n, math.nan) if same_messages is None else same_messages,
    }
    for name, values in (("channel", channel), *measured.items()):
        if values.shape != (n,):
            raise ValueError(f"{name} must have one entry a build, {n}, not {values.shape}")
    for name, values in measured.items():
        most = math.inf if name in {"response_ms", "tokens"} else 1.0
        if (values < 0.0).any() or (values > most).any() or np.isinf(values).any():
            raise ValueError(f"{name} must be in [0, {most}], or NaN")
    if n and not 0 <= int(arm.min()) <= int(arm.max()) < len(names):
        raise ValueError(f"arm must be from 0 to {len(names) - 1}")
    reports = tuple(
        _arm(name, channel[arm == place], {key: values[arm == place] for key, values in measured.items()})
        for place, name in enumerate(names)
    )  # fmt: skip
    drawn = np.ones(n, np.bool_) if is_drawn is None else is_drawn
    counts = [len(np.unique(channel[drawn & (arm == place)])) for place in range(len(names))]
    return ExperimentReport(reports, _ratio(counts, weights))


def _ratio(counts: Sequence[int], weights: Sequence[float]) -> SampleRatio:
    """Of the arms that channels are drawn into."""
    if len(counts) != len(weights):
        raise ValueError(f"weights must be one an arm, {len(counts)}: {list(weights)}")
    pairs = [pair for pair in zip(counts, weights, strict=True) if pair[1] != 0.0]
    if not pairs:
        return SampleRatio(0.0, 1.0)
    return sample_ratio([count for count, _ in pairs], [weight for _, weight in pairs])


def _arm(name: str, channel: Int64, measured: dict[str, Float64]) -> ArmReport:
    is_known = {key: ~np.isnan(values) for key, values in measured.items()}
    of = {key: (measured[key][is_it], channel[is_it]) for key, is_it in is_known.items()}
    times, _ = of["response_ms"]
    median, p95 = np.percentile(times, [50, 95]).tolist() if len(times) else (None, None)
    return ArmReport(
        name,
        len(channel),
        len(np.unique(channel)),
        median,
        p95,
        _mean(*of["tokens"]),
        share_of(*of["accuracy"]),
        share_of(*of["recall"]),
        _mean(*of["response_ms"]),
        share_of(*of["fallbacks"]),
        share_of(*of["same_messages"]),
    )


def _mean(values: Float64, channel: Int64) -> Measured | None:
    if not len(values):
        return None
    mean = float(values.mean())
    error, degrees = standard_error(values - mean, channel)
    return Measured(mean, mean_interval(mean, error, degrees), len(values))


def share_of(values: Float64, channel: Int64) -> Measured | None:
    """The mean of numbers from 0 to 1 with its interval, which stays between them; None: there are none.

    Numbers of one channel count as one where they say the same.
    """
    count = len(values)
    if not count:
        return None
    mean = min(1.0, float(values.mean()))
    error, _ = standard_error(values - mean, channel)
    # So many independent values would vary as much. All the same says nothing of that: then a channel counts once.
    worth = mean * (1.0 - mean) / error**2 if error else float(len(np.unique(channel)))
    return Measured(mean, wilson_interval(mean, min(float(count), max(1.0, worth))), count)
