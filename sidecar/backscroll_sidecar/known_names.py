"""The user meant by a name, and names over time. Pure; below the layers, so that all look people up alike."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import lru_cache
from operator import itemgetter

NameTimes = tuple[tuple[int, str], ...]
"""Names of one user, each with the time in ms from which it was seen; oldest first, neighbours differ."""

MAX_NAME_TIMES = 64
"""Changes of name that are remembered with their times: of more, the newest."""
_FROM_MS = itemgetter(0)


def the_one(holders: Sequence[str], folded: str, name_of: Callable[[str], str]) -> str | None:
    """Who is meant by a name that these users have or had: the only one, else the only one who goes by it.

    `name_of` tells the name of a user at the moment that counts.
    """
    if len(holders) > 1:
        holders = [user_id for user_id in holders if name_of(user_id) == folded]
    return holders[0] if len(holders) == 1 else None


def name_at(times: NameTimes, at_ms: int) -> str:
    """The name somebody had then, as far as it is known; else empty."""
    place = bisect_right(times, at_ms, key=_FROM_MS)
    return times[place - 1][1] if place else ""


def with_name_seen(times: NameTimes, at_ms: int, name: str, last_seen_ms: int) -> NameTimes:
    """The same after somebody was seen under a name at a time, which may lie before others.

    `last_seen_ms` is when the newest name was last seen: it holds again from then on.
    """
    place = bisect_right(times, at_ms, key=_FROM_MS)
    before, behind = times[:place], times[place:]
    if before and before[-1][1] == name:
        return times
    if behind and behind[0][1] == name:
        behind = behind[1:]
    elif before and not behind and last_seen_ms > at_ms:
        behind = ((last_seen_ms, before[-1][1]),)
    return (*before, (at_ms, name), *behind)[-MAX_NAME_TIMES:]


@lru_cache(maxsize=4096)
def looked_up_by(name: str) -> str:
    """What a name is looked up by: never shorter than the name."""
    return name.strip().removeprefix("@").casefold()
