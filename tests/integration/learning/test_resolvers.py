"""A team's own assignment of channels to arms, over the wire."""

import asyncio
import sys
import time
import types

import pytest

from backscroll import ExperimentArm
from backscroll_sidecar.errors import StartRefused
from backscroll_sidecar.learning import resolver
from tests.integration.learning.test_experiments import NEW, B, built
from tests.kit.served import served

RESOLVER = "resolver_of_tests:Flags"


@pytest.fixture
def flags(monkeypatch):
    """Makes a server whose resolver is this class."""

    def use(kind):
        module = types.ModuleType("resolver_of_tests")
        module.Flags = kind
        monkeypatch.setitem(sys.modules, "resolver_of_tests", module)
        return served(experiment_resolver=RESOLVER)

    return use


async def placed(client, channel):
    context = await built(client, channel)
    lost = [(one.stage, one.source, one.reason) for one in context.degradations]
    return context.experiment.arm, context.profile, lost


ASKED = []


class Plain:
    def arm(self, tenant, experiment_id, channel, arms):
        ASKED.append((tenant, experiment_id, channel, tuple(arms)))
        return {"beta": "new", "odd": "nope", "wrong": 7}.get(channel)


class Waiting:
    async def arm(self, tenant, experiment_id, channel, arms):
        if channel == "broken":
            raise RuntimeError("no")
        return "new"


class Slow:
    def arm(self, tenant, experiment_id, channel, arms):
        time.sleep(0.4)
        return "new"


@pytest.mark.row("S5-39")
async def test_a_resolver_says_who_is_in_which_arm(flags):
    """It is asked once; who is in none is built as usual; what it says wrong costs the arm alone; denied stays out."""
    ASKED.clear()
    async with flags(Plain) as (client, _):
        await client.put_experiment(
            "e", [NEW, B], assigned_by="resolver", denied_channels=["out"], stops_at=2_000_000_000_000
        )  # fmt: skip
        assert await placed(client, "beta") == ("new", "classic", [])
        assert await placed(client, "beta") == ("new", "classic", [])
        assert ASKED == [("default", "e", "beta", ("new", "b"))]
        assert await placed(client, "other") == ("", "balanced", [])
        assert await placed(client, "out") == ("", "balanced", [])
        for channel, reason in (("odd", "UNKNOWN_ARM"), ("wrong", "RESOLVER_FAILED")):
            assert await placed(client, channel) == (
                "",
                "balanced",
                [("route", "experiments", reason)],
            )
        assert {one[2] for one in ASKED} == {"beta", "other", "odd", "wrong"}
        records = [one async for one in client.list_usage_records(experiment_id="e")]
        assert [one.channel for one in records] == ["beta", "beta"]
        with pytest.raises(Exception, match="resolver"):
            await client.put_experiment("e", [NEW, B], assigned_by="resolver", coverage=0.5)


@pytest.mark.row("S5-39")
async def test_one_that_waits_and_one_that_hangs(flags):
    async with flags(Waiting) as (client, _):
        await client.put_experiment("e", [NEW, B], assigned_by="resolver")
        assert await placed(client, "room") == ("new", "classic", [])
        lost = [("route", "experiments", "RESOLVER_FAILED")]
        assert await placed(client, "broken") == ("", "balanced", lost)
    async with flags(Slow) as (client, _):
        await client.put_experiment("e", [NEW, B], assigned_by="resolver")
        lost = [("route", "experiments", "RESOLVER_TIMEOUT")]
        for channel in "abcdef":
            assert await placed(client, channel) == ("", "balanced", lost)


class Brief:
    def arm(self, tenant, experiment_id, channel, arms):
        time.sleep(0.01)
        return "new"


@pytest.mark.row("S5-39")
async def test_a_burst_of_new_channels_waits_for_a_thread(flags, monkeypatch):
    """More channels at once than threads ask: each gets its arm, none is left out for want of one."""
    monkeypatch.setattr(resolver, "ANSWER_S", 30.0)
    async with flags(Brief) as (client, _):
        await client.put_experiment("e", [NEW, B], assigned_by="resolver")
        found = await asyncio.gather(*(placed(client, f"room-{n}") for n in range(24)))
        assert found == [("new", "classic", [])] * 24


class Odd:
    def arm(self):
        return ""


@pytest.mark.parametrize(("kind", "words"), [(object, "no method arm"), (Odd, "cannot be called")])
async def test_a_wrong_class_ends_the_start(flags, kind, words):
    with pytest.raises(StartRefused, match=words):
        async with flags(kind):
            pass


@pytest.mark.row("S5-39")
async def test_a_provider_of_openfeature(flags):
    """The real package with its provider in memory: by targeting key, an unknown flag, a variant that is no arm."""
    pytest.importorskip("openfeature")
    from openfeature.flag_evaluation import FlagResolutionDetails
    from openfeature.provider.in_memory_provider import InMemoryFlag, InMemoryProvider

    from backscroll_sidecar.openfeature import OpenFeatureResolver

    def by_channel(flag, context):
        variant = "treated" if context.targeting_key == "beta" else "out"
        variant = "odd" if context.targeting_key == "odd" else variant
        assert context.attributes == {"tenant": "default"}
        return FlagResolutionDetails(flag.variants[variant], variant=variant)

    variants = {"treated": "new", "out": "", "odd": "nope"}
    provider = InMemoryProvider({"e": InMemoryFlag("out", variants, context_evaluator=by_channel)})

    class Flags(OpenFeatureResolver):
        def __init__(self):
            super().__init__(provider)

    async with flags(Flags) as (client, _):
        await client.put_experiment("e", [NEW, ExperimentArm("now")], assigned_by="resolver")
        assert await placed(client, "beta") == ("new", "classic", [])
        assert await placed(client, "other") == ("", "balanced", [])
        lost = [("route", "experiments", "UNKNOWN_ARM")]
        assert await placed(client, "odd") == ("", "balanced", lost)
        await client.delete_experiment("e")
        await client.put_experiment("unknown", [NEW], assigned_by="resolver")
        lost = [("route", "experiments", "RESOLVER_FAILED")]
        assert await placed(client, "beta") == ("", "balanced", lost)
