"""How long each stage took."""

from __future__ import annotations

from backscroll_sidecar.ports import Clock


class Stopwatch:
    """Laps by name, in microseconds."""

    __slots__ = ("_clock", "_last_s", "laps_us")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last_s = clock.monotonic_s()
        self.laps_us: dict[str, int] = {}

    @property
    def total_s(self) -> float:
        """All laps together, in seconds."""
        return sum(self.laps_us.values()) / 1e6

    def lap(self, stage: str) -> None:
        """The time since the last lap belongs to `stage`."""
        now_s = self._clock.monotonic_s()
        self.laps_us[stage] = self.laps_us.get(stage, 0) + int((now_s - self._last_s) * 1e6)
        self._last_s = now_s
