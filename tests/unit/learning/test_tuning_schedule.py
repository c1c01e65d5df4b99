"""What is tuned when nobody asks: which channels, in what way, and what a failure of one costs the others."""

import asyncio
from types import SimpleNamespace

import pytest

from backscroll_sidecar.concurrency import jobs
from backscroll_sidecar.concurrency.jobs import Jobs
from backscroll_sidecar.concurrency.locks import Locks
from backscroll_sidecar.domain import ChannelKey
from backscroll_sidecar.learning.tuning_schedule import TuningSchedule
from tests.unit.concurrency.test_locks import FakeLeases

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


async def test_of_two_servers_one_tunes_until_it_is_gone(monkeypatch):
    """What it reads is brought up to date before."""
    monkeypatch.setattr(jobs, "TRIED_S", 0.001)
    held, caught_up = {}, []

    async def catch_up(tenant, channels):
        caught_up.append((tenant, *channels))

    servers = []
    for name in ("one", "two"):
        parts, mine = Parts(), Jobs(Locks(FakeLeases(held, name)), catch_up)
        schedule = TuningSchedule(
            parts, parts, parts, parts, check_hours=NEVER, tune_hours=AT_ONCE, jobs=mine
        )
        servers.append((parts, schedule, mine))
        await schedule.start()
        await asyncio.sleep(0)
    (first, its, jobs_of_it), (second, others, jobs_of_other) = servers
    async with asyncio.timeout(30):
        await first.is_done.wait()
        assert not second.tuned
        assert caught_up[:3] == [("", one) for one in CHANNELS]
        await its.close()
        await jobs_of_it.locks.close()
        await second.is_done.wait()
    await others.close()
    await jobs_of_other.locks.close()
