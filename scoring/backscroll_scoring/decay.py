"""Time decay in the unit people think in."""

from __future__ import annotations

import math


def decay_per_hour(half_life_minutes: float) -> float:
    """Return the rate, per hour, at which time_decay halves every ``half_life_minutes``.

    exp(-rate * hours) = 1/2 at hours = half_life_minutes / 60, so rate = 60 ln 2 /
    half_life_minutes. `classic`'s .1 per hour is a half-life of 416 minutes.

    Parameters
    ----------
    half_life_minutes : float
        Positive; infinity means no decay.
    """
    if not half_life_minutes > 0:
        raise ValueError(f"half_life_minutes must be positive: {half_life_minutes}")
    rate = 60 * math.log(2) / half_life_minutes
    if not math.isfinite(rate):
        raise ValueError(f"half_life_minutes is too small: {half_life_minutes}")
    return rate
