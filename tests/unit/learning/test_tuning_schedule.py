"""What is tuned when nobody asks: which channels, in what way, and what a failure of one costs the others."""

import asyncio
from types import SimpleNamespace

import pytest

from backscroll_sidecar.domain import ChannelKey
from backscroll_sidecar.learning.tuning_schedule import TuningSchedule

CHANNELS = ("a", "b", "c")
NEVER, AT_ONCE = 0.0, 1e-9


class Parts:
    """A tuner, its versions, a reader, a writer and a clock that know three channels of one tenant."""

    def __init__(self):
        self.versions = self
        self.tuned = []
        self.is_done = asyncio.Event()

    async def on_trial(self, _):
        return ["a", "b"]

    async def tune(self, key, *, proposes):
        self.tuned.append((key.channel, proposes))
        if key.channel == "a":
            raise RuntimeError("this one fails")
        if key.channel == "c" or not proposes:
            self.is_done.set()
        nothing = SimpleNamespace(changes=False)
        return SimpleNamespace(outcome=SimpleNamespace(decision=nothing), version=0)

    async def channels(self, after, _):
        return [ChannelKey("", one) for one in CHANNELS] if after is None else []

    async def record(self, *_):
        return None

    async def submit(self, _):
        pass

    def now_ms(self):
        return 0


@pytest.mark.injects_fault
@pytest.mark.parametrize(
    ("hours", "first"),
    [
        ({"check_hours": AT_ONCE, "tune_hours": NEVER}, [("a", False), ("b", False)]),
        ({"check_hours": NEVER, "tune_hours": AT_ONCE}, [(one, True) for one in CHANNELS]),
    ],
    ids=["check", "tune"],
)
async def test_each_channel_is_done_whatever_another_one_costs(hours, first):
    """A check only judges what is on trial; a tuning proposes weights for all."""
    parts = Parts()
    schedule = TuningSchedule(parts, parts, parts, parts, **hours)
    await schedule.start()
    async with asyncio.timeout(30):
        await parts.is_done.wait()
    await schedule.close()
    assert parts.tuned[: len(first)] == first
    assert {proposes for _, proposes in parts.tuned} == {first[0][1]}
