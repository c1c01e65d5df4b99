"""How long each stage took."""

from __future__ import annotations

from backscroll_sidecar.ports import Clock


class Stopwatch:
    """Laps by name, in microseconds."""

    __slots__ = ("_began_s", "_last_s", "_now_s", "laps_us")

    def __init__(self, clock: Clock) -> None:
        self._now_s = clock.monotonic_s
        self._began_s = self._last_s = self._now_s()
        self.laps_us: dict[str, int] = {}

    @property
    def total_s(self) -> float:
        """From the beginning to the last lap, in seconds."""
        return self._last_s - self._began_s

    def lap(self, stage: str) -> None:
        """The time since the last lap was that of `stage`, with what it took before."""
        now_s, laps_us = self._now_s(), self.laps_us
        laps_us[stage] = laps_us.get(stage, 0) + int((now_s - self._last_s) * 1e6)
        self._last_s = now_s
