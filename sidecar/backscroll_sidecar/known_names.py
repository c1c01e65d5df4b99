"""Who is meant by a name. Pure; below the layers: analysis and channels look people up alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache


def the_one(holders: Sequence[str], folded: str, name_now: Callable[[str], str]) -> str | None:
    """Who is meant by a name that these users have or had: the only one, else the only one who has it now."""
    if len(holders) > 1:
        holders = [user_id for user_id in holders if name_now(user_id) == folded]
    return holders[0] if len(holders) == 1 else None


@lru_cache(maxsize=4096)
def looked_up_by(name: str) -> str:
    """What a name is looked up by: never shorter than the name."""
    return name.strip().removeprefix("@").casefold()
