"""Names as vendors take them. Pure."""

from __future__ import annotations

import re
from functools import lru_cache

MAX_NAME_CHARS = 64
_NOT_ALLOWED = re.compile(r"[^a-zA-Z0-9_-]+")
_CALL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


@lru_cache(maxsize=4_096)
def safe_name(name: str) -> str:
    """Letters, digits, ``_`` and ``-``, at most 64; empty when nothing is left."""
    return _NOT_ALLOWED.sub("_", name).strip("_")[:MAX_NAME_CHARS]


def strict_call_name(name: str) -> str:
    """The name of a tool that a model called: letters, digits, ``_`` and ``-``, at most 64, as all vendors take it.

    Models make names up, and an API that refuses one refuses every later request of the turn.
    """
    return name if _CALL_NAME.fullmatch(name) else safe_name(name) or "tool"
