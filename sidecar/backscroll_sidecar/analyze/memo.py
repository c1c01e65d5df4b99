"""A cache for pure functions of a text. Chats repeat themselves, and a question is mostly a stored message as well."""

from __future__ import annotations

from functools import lru_cache, update_wrapper
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable

KNOWN_TEXTS, KNOWN_CHARS = 4_096, 512
"""How many texts a cache holds, and the longest of them: 8 MiB at most, at 4 bytes a character."""

P = ParamSpec("P")
T = TypeVar("T")


def remembered(function: Callable[Concatenate[str, P], T]) -> Callable[Concatenate[str, P], T]:
    """Cache a pure function's results for the newest short texts. Safe from any thread."""
    known = lru_cache(maxsize=KNOWN_TEXTS)(function)

    def of(text: str, *args: P.args, **kwargs: P.kwargs) -> T:
        if len(text) > KNOWN_CHARS:
            return function(text, *args, **kwargs)
        return known(text, *args, **kwargs)  # type: ignore[arg-type]

    return cast("Callable[Concatenate[str, P], T]", update_wrapper(of, function))
