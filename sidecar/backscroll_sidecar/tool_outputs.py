"""What tools gave, shown whole, by its ends, or not at all. Pure."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

import regex

MARK = "…"
_GRAPHEME = regex.compile(r"\X")
_LOOK_BACK = 64
"""Characters before a place in which a grapheme that reaches it begins; longer ones are cut."""


class OutputPolicy(StrEnum):
    """How results of tools are shown."""

    KEEP = "keep"
    HEAD_TAIL = "head_tail"
    SKIP = "skip"


class ToolOutputs(NamedTuple):
    """How results of tools are shown. `max_chars`: of one by its ends, the mark between them aside."""

    policy: OutputPolicy = OutputPolicy.KEEP
    max_chars: int = 2_000

    def shown(self, text: str) -> str:
        """What is shown of a result."""
        if self.policy is OutputPolicy.SKIP:
            return MARK if text else text
        if self.policy is OutputPolicy.KEEP:
            return text
        return head_and_tail(text, self.max_chars)


WHOLE = ToolOutputs()


def head_and_tail(text: str, max_chars: int) -> str:
    """A text of more than `max_chars` characters by its ends, with the number of those left out between them."""
    if len(text) <= max_chars:
        return text
    head = _boundary(text, max_chars - max_chars // 2)
    tail = max(head, _boundary(text, len(text) - max_chars // 2))
    return f"{text[:head]}\n[{MARK} {tail - head} {MARK}]\n{text[tail:]}"


def _boundary(text: str, at: int) -> int:
    """The last place up to `at` that is inside of no grapheme."""
    start = max(0, at - _LOOK_BACK)
    found = start
    for match in _GRAPHEME.finditer(text, start, min(len(text), at + _LOOK_BACK)):
        if match.end() > at:
            break
        found = match.end()
    return found if found > start else at
