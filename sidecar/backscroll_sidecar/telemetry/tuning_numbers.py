"""What tunings came to since the start."""

from __future__ import annotations

from collections import Counter


class TuningNumbers:
    """Counts tunings by the rule that decided. Added to on the event loop; a scrape reads it from its own thread."""

    def __init__(self) -> None:
        self.reasons: Counter[str] = Counter()

    def add(self, reason: str) -> None:
        """One more."""
        self.reasons[reason] += 1
