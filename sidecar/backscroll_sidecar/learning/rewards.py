"""What an answer was worth: what people said of it, and what the lines behind it tell. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum

from backscroll_sidecar.ports import Signal, SignalKind

MAX_IMPLICIT_WEIGHT = 0.3
"""The most that implicit feedback counts beside explicit feedback, which counts 1."""


@dataclass(frozen=True, slots=True)
class Reward:
    """What an answer was worth, and how much that counts.

    Attributes
    ----------
    value : 0, of no use, to 1, all that was needed.
    weight : 1 with explicit feedback; else at most `MAX_IMPLICIT_WEIGHT`.
    is_explicit : whether somebody said so in as many words. Only then is it evidence for changing weights: rewards of
        implicit feedback alone are for reports.
    """

    value: float
    weight: float
    is_explicit: bool


def reward_of(signals: Sequence[Signal]) -> Reward | None:
    """The reward by all signals of an answer, as they are stored; None where none has a value.

    Explicit feedback counts as its mean, with weight 1. Implicit feedback counts as its mean by confidence, with the
    weight ``MAX_IMPLICIT_WEIGHT * confidence`` of the surest. Both together are the mean by these weights.
    """
    rated = [
        one.value for one in signals if one.kind is SignalKind.FEEDBACK and one.value is not None
    ]
    implied = [
        (one.value, one.confidence)
        for one in signals
        if one.kind is not SignalKind.FEEDBACK and one.value is not None and one.confidence > 0
    ]
    value, weight = 0.0, 0.0
    if implied:
        value = fsum(value * sure for value, sure in implied) / fsum(sure for _, sure in implied)
        weight = MAX_IMPLICIT_WEIGHT * max(sure for _, sure in implied)
    if rated:
        mean = fsum(rated) / len(rated)
        return Reward((mean + weight * value) / (1 + weight), 1.0, is_explicit=True)
    return Reward(value, weight, is_explicit=False) if implied else None
