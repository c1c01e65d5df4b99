"""What people said of contexts, added up."""

from __future__ import annotations

from dataclasses import dataclass

from backscroll_sidecar.telemetry.minutes import Minutes

EFFECTIVE = 0.5
"""From this success on a context was effective."""


@dataclass(slots=True, eq=False)
class FeedbackTally:
    """Ratings: how many, the sum of their success, how many were of effective contexts."""

    rated: int = 0
    success: float = 0.0
    effective: int = 0

    def add(self, other: FeedbackTally) -> None:
        """Take another's numbers on top."""
        self.rated += other.rated
        self.success += other.success
        self.effective += other.effective


class FeedbackNumbers:
    """Explicit feedback. Added to on the event loop, read from any thread."""

    def __init__(self) -> None:
        self.tallies: Minutes[str, FeedbackTally] = Minutes(FeedbackTally)

    def add(self, success: float, at_s: float) -> None:
        """Somebody said how well a context served, 0 to 1. `at_s` is on the clock of `Clock.monotonic_s`."""
        tally = self.tallies.tally("", at_s)
        tally.rated += 1
        tally.success += success
        tally.effective += success >= EFFECTIVE
