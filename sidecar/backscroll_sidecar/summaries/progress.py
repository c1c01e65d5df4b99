"""Whether a compaction gets anywhere: the rule that keeps it from running again and again for nothing. Pure."""

from __future__ import annotations

LEAST_GAIN_TOKENS = 1_024
LEAST_GAIN_SHARE = 0.10
NEXT_SHARE = 0.25
"""Of the threshold so much must be new before the next one is begun by itself."""


def most_after(tokens_before: int) -> int:
    """The most tokens that summary and messages may take behind a compaction, by the same counter as before it."""
    gain = max(LEAST_GAIN_TOKENS, -(-tokens_before * LEAST_GAIN_SHARE // 1))
    return tokens_before - int(gain)
