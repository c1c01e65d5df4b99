"""Times: their day, and their unit by their size, since some platforms send seconds or microseconds."""

from __future__ import annotations

LEAST_S, LEAST_MS, LEAST_US = 10**8, 10**10, 10**14
"""Seconds from 1973 to 2286 lie between the first two, and so do the milliseconds of January to April 1970;
microseconds from 1973 on are above the third, and so are the milliseconds of the year 5138 and later. What is smaller
than all may be the clock of a test.
"""


DAY_MS = 86_400_000


def day_of(at_ms: int) -> str:
    """The day of a time by the calendar of Greenwich, as a number of days since the epoch."""
    return str(at_ms // DAY_MS)


def looks_like_seconds(at: int) -> bool:
    """Whether a time that should be milliseconds since the epoch holds seconds."""
    return LEAST_S <= at < LEAST_MS


def looks_like_microseconds(at: int) -> bool:
    """Whether a time that should be milliseconds since the epoch holds microseconds, or smaller units."""
    return at >= LEAST_US
