"""Recency as a bounded multiplier: it breaks near ties, it does not decide."""

from __future__ import annotations

import math

import numpy as np

from .arrays import Float64, Int64, require

MS_PER_HOUR = 3_600_000


def recency_multipliers(
    time_ms: Int64, now_ms: int, *, share: float, decay_per_hour: float
) -> Float64:
    """Return 1 - share + share * exp(-decay_per_hour * hours since), float64[m] in [1 - share, 1].

    Multiplying scores that are not negative by this **cannot overturn a lead of more than
    ``share``**: if a's score times (1 - share) is above b's, a stays in front, whatever their ages.
    (With share = .2, a lead of more than 20 % of the leader's score holds.) A share of 0 changes
    nothing.

    Parameters
    ----------
    time_ms : int64[m]
        When each was said, milliseconds since the epoch. What is later than ``now_ms`` counts as
        said now.
    share : float
        In [0, 1].
    decay_per_hour : float
        Rate per hour, not negative; `backscroll_scoring.decay_per_hour` makes one of a half-life.

    Raises
    ------
    ValueError
        share or decay_per_hour outside their ranges.
    """
    if not 0 <= share <= 1:
        raise ValueError(f"share must be in [0, 1]: {share}")
    if not (math.isfinite(decay_per_hour) and decay_per_hour >= 0):
        raise ValueError(f"decay_per_hour must be finite and not negative: {decay_per_hour}")
    ago_ms = float(now_ms) - require("time_ms", time_ms, np.int64).astype(np.float64)
    decay = np.exp(-decay_per_hour * (np.maximum(0.0, ago_ms) / MS_PER_HOUR))
    # In this form 1 stays 1 and no rounding leads below 1 - share.
    return 1.0 - share * (1.0 - decay)
