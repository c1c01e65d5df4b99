"""Time zones by their IANA names. Pure but for the system's calendar files."""

from __future__ import annotations

from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError


@lru_cache(maxsize=1_024)
def zone_named(name: str) -> ZoneInfo | None:
    """The zone of that name, such as Asia/Shanghai; None where the calendar knows none.

    Remembered, since looking for an unknown one reads the disk.
    """
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None
