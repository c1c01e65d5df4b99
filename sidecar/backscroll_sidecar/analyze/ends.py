"""The two ends of a long text: what it is about stands there, and reading no more bounds the work. Pure."""

from __future__ import annotations

QUESTION_CHARS = 1_000
"""Of a longer question as much is read from its two ends: for its words, for the people and times it names. A paste has
the question before or after it. Twice as long as the longest of 200,000 real lines; 1,000 Chinese characters cost .8 ms
to cut into words."""


def ends_of(text: str, chars: int) -> str:
    """`text`, or the first and the last ``chars / 2`` characters of a longer one, on two lines. O(chars)."""
    if len(text) <= chars:
        return text
    half = chars // 2
    return f"{text[:half]}\n{text[-half:]}"
