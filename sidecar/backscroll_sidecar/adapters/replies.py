"""What answers of all vendors have: texts, and counts of tokens. Pure; each value comes from outside and is checked."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

MAX_TOKENS_COUNTED = 2**32 - 1
"""Most tokens that are passed on: a larger count is a vendor's fault, and the contract holds no larger one."""
_MAX_DEPTH = 8


class Usage(NamedTuple):
    """Tokens as a vendor counted them."""

    prompt_tokens: int
    completion_tokens: int

    @classmethod
    def of(cls, prompt: float | None, completion: float | None) -> Usage | None:
        """Both within `MAX_TOKENS_COUNTED`, what was not counted as 0; None where nothing was."""
        if prompt is None and completion is None:
            return None
        return cls(_clamped(prompt), _clamped(completion))


def text_of(value: object, depth: int = 0) -> str:
    """A text, or the texts of a list of parts; anything else is none."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and depth < _MAX_DEPTH:
        return "".join(
            text_of(one.get("text"), depth + 1) for one in value if isinstance(one, Mapping)
        )
    return ""


def count_of(value: object) -> float | None:
    """A number of tokens; None for anything else."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _clamped(count: float | None) -> int:
    return min(max(int(count or 0), 0), MAX_TOKENS_COUNTED)
