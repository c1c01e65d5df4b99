"""How often the features of a text were known."""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING

from backscroll_sidecar.telemetry.minutes import Minutes

if TYPE_CHECKING:
    from backscroll_sidecar.ports import Clock


@dataclass(slots=True, eq=False)
class FeatureTally:
    """Texts whose features were known, and texts that were analysed."""

    hits: int = 0
    misses: int = 0

    def add(self, other: FeatureTally) -> None:
        """Take another's numbers on top."""
        self.hits += other.hits
        self.misses += other.misses


class FeatureNumbers:
    """Texts that an analyzer was asked about. Added to and read from any thread.

    Parameters
    ----------
    clock : what the last hour is told by.
    """

    def __init__(self, clock: Clock) -> None:
        self.tallies: Minutes[str, FeatureTally] = Minutes(FeatureTally)
        self._clock = clock
        self._lock = Lock()  # texts come on the event loop, questions on threads of builds

    def add(self, is_known: bool) -> None:
        """One more."""
        with self._lock:
            tally = self.tallies.tally("", self._clock.monotonic_s())
            tally.hits += is_known
            tally.misses += not is_known
