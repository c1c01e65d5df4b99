"""What follows from a text alone is remembered for the newest texts: chats repeat themselves, and a question is
mostly a message that was stored just before or will be just after.
"""

from __future__ import annotations

from functools import lru_cache, update_wrapper
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable

KNOWN_TEXTS, KNOWN_CHARS = 4_096, 512
"""How many texts a memo holds, and the longest such text: 8 MiB of text at most, at 4 bytes a character."""

P = ParamSpec("P")
T = TypeVar("T")


def remembered(function: Callable[Concatenate[str, P], T]) -> Callable[Concatenate[str, P], T]:
    """Remember what a pure function made of the newest texts; long ones it reads again. Safe from any thread."""
    known = lru_cache(maxsize=KNOWN_TEXTS)(function)

    def of(text: str, *args: P.args, **kwargs: P.kwargs) -> T:
        if len(text) > KNOWN_CHARS:
            return function(text, *args, **kwargs)
        return known(text, *args, **kwargs)  # type: ignore[arg-type]

    return cast("Callable[Concatenate[str, P], T]", update_wrapper(of, function))
