"""How long work in a thread lets the event loop have the interpreter: by itself Python does so every 5 ms only."""

from __future__ import annotations

import time

PAUSE_S = 1e-5
"""Long enough that a thread that waits is woken; a pause of 0 s is over before that."""
SHORT_STEPS = 16


class GiveWay:
    """Called by work in a thread between its steps of less than a millisecond (law 9)."""

    def __init__(self) -> None:
        self._steps = 0

    def __call__(self) -> None:
        """After a step of some 100 µs or more."""
        time.sleep(PAUSE_S)

    def often(self) -> None:
        """After a step of some 20 µs: every 16th lets go."""
        self._steps += 1
        if self._steps % SHORT_STEPS == 0:
            time.sleep(PAUSE_S)
