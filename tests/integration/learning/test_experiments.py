"""Rollouts and experiments over the wire."""

import pytest

from backscroll import Author, ExperimentArm, Message, NotFound, Overrides, Refused
from backscroll.errors import BackscrollError
from backscroll_sidecar.domain import ChannelKey
from backscroll_sidecar.errors import StoreUnavailable
from backscroll_sidecar.learning import experiment_numbers
from backscroll_sidecar.learning.buckets import Arm, Experiment, sample_ratio
from backscroll_sidecar.ports import EVERYWHERE, RecordChange
from tests.kit.chats import StillClock
from tests.kit.served import served

NOON, MINUTE = 1_795_176_000_000, 60_000
ANN, BEN = Author("u1", "Ann"), Author("u2", "Ben")
NEW = ExperimentArm("new", profile="classic")
A, B = ExperimentArm("a", profile="classic"), ExperimentArm("b", overrides=Overrides(max_context=1))
CHANNELS = [f"room-{n}" for n in range(30)] + ["猫咪群", "-1001234567890"]


async def built(client, channel="room", **fields):
    return await client.build_context(channel, "alpha beta?", asker=ANN, asked_at=NOON, **fields)


async def arms(client, channels=CHANNELS):
    """The arm of each channel; empty: in no experiment."""
    return {channel: (await built(client, channel)).experiment.arm for channel in channels}


def drawn(id_, names, coverage, channels=CHANNELS, **fields):
    draw = Experiment(id_, tuple(map(Arm, names)), coverage, **fields)
    return {channel: draw.assign(channel).arm for channel in channels}


@pytest.mark.row("S5-39")
async def test_a_rollout_widens_and_moves_nobody(tmp_path):
    """S5-39: some percent, then more: who is in stays in, after a restart too; the others are the control."""
    async with served(tmp_path / "b.db") as (client, _):
        await client.put_experiment("roll", [NEW], coverage=0.3)
        first = await arms(client)
        by_hash = drawn("roll", ["new"], 0.3)
        assert first == {name: arm or "control" for name, arm in by_hash.items()}
        assert set(first.values()) == {"new", "control"}
        put = await client.put_experiment("roll", [NEW], coverage=0.6)
        assert put.moved_share == 0
        second = await arms(client)
        assert all(second[name] == "new" for name, arm in first.items() if arm == "new")
        assert [*second.values()].count("new") > [*first.values()].count("new")
        profiles = {
            (await built(client, name)).profile for name, arm in second.items() if arm == "new"
        }
        assert profiles == {"classic"}
        control = next(name for name, arm in second.items() if arm == "control")
        assert (await built(client, control)).profile == "balanced"
    async with served(tmp_path / "b.db") as (client, _):
        assert await arms(client) == second
        await client.stop_experiment("roll")
        assert set((await arms(client)).values()) == {""}
        assert (await built(client, "room-1")).profile == "balanced"


@pytest.mark.row("S5-39")
async def test_lists_come_before_the_percentage():
    async with served() as (client, _):
        await client.put_experiment(
            "roll",
            [NEW],
            coverage=0.0,
            allowed_channels=["vip", "both"],
            denied_channels=["no", "both"],
        )
        found = await arms(client, ["vip", "both", "no", "other"])
        assert found == {"vip": "new", "both": "", "no": "", "other": "control"}
        await built(client, "no")
        records = [one async for one in client.list_usage_records("vip")]
        assert [(one.experiment_id, one.arm, one.is_listed) for one in records] == [
            ("roll", "new", True)
        ]
        records = [one async for one in client.list_usage_records("no")]
        assert {(one.experiment_id, one.arm) for one in records} == {("", "")}


@pytest.mark.row("S5-40")
async def test_two_variants_are_recorded():
    """S5-40: each channel keeps its variant, which its answer and its usage records name."""
    async with served() as (client, _):
        await client.append(
            "room-1", [Message(f"m{n}", BEN, f"alpha {n}", NOON - n) for n in range(9)]
        )
        await client.put_experiment("ab", [A, B], coverage=0.7, holdout=0.2)
        found = await arms(client)
        assert found == drawn("ab", ["a", "b"], 0.7, holdout=0.2)
        assert {"a", "b", "", "holdout"} == set(found.values())
        again = await arms(client)
        assert again == found
        for arm in ("a", "b", "holdout"):
            listed = [
                one
                async for one in client.list_usage_records(experiment_id="ab", arm=arm, page_size=3)
            ]
            channels = [name for name, its in found.items() if its == arm]
            assert [one.channel for one in listed] == channels * 2
            assert {(one.experiment_id, one.arm) for one in listed} == {("ab", arm)}
        policies = {
            (one.arm, one.policy_id.split("@")[0])
            async for one in client.list_usage_records(experiment_id="ab")
        }
        assert policies == {("a", "classic"), ("b", "balanced"), ("holdout", "balanced")}


@pytest.mark.row("S5-40")
async def test_who_comes_before_whom():
    """The request's settings, then the arm's, then the channel's own, one by one."""
    async with served() as (client, _):
        await client.append(
            "room", [Message(f"m{n}", BEN, f"alpha {n}", NOON - n) for n in range(9)]
        )
        await client.set_channel_settings(
            "room", profile="chain_recent", overrides={"max_context": 4, "relevance_threshold": 0.0}
        )
        assert (await built(client)).profile == "chain_recent"
        arm = ExperimentArm("a", 1, "classic", {"max_context": 2}, "single_user")
        await client.put_experiment("e", [arm])
        context = await built(client, explain=True)
        assert (context.profile, len(context.items), context.raw.layout) == ("classic", 2, 3)
        assert context.explanation.threshold == 0.0  # the channel's: the arm leaves it open
        # What the arms set a request may say itself; then it tells nothing of them, and takes no part.
        for own in (
            {"profile": "balanced"}, {"layout": "turns"}, {"overrides": Overrides(max_context=3)},
        ):  # fmt: skip
            context = await built(client, **own)
            assert context.experiment.arm == ""
            assert context.profile == own.get("profile", "chain_recent")
        context = await built(client, overrides=Overrides(relevance_threshold=0.9), explain=True)
        assert (context.experiment.arm, context.explanation.threshold) == ("a", 0.9)
        builds = await client.get_metrics("backscroll_experiment_builds")
        told = {(one.labels["experiment"], one.labels["arm"]): one.value for one in builds}
        assert told == {("e", "a"): 2, ("e", ""): 3}


@pytest.mark.row("S5-39")
async def test_numbers_of_what_is_over_are_forgotten():
    """However many experiments there were, those that run are told by their names."""
    clock = StillClock(NOON)
    async with served(clock=clock) as (client, _):

        async def told(what, by="experiment"):
            return {one.labels[by]: one.value for one in await client.get_metrics(what)}

        for n in range(35):  # with two arms each: more than are told apart at once
            await client.put_experiment(f"e{n}", [A, B], stops_at=clock.at_ms + 10 * MINUTE)
            await arms(client, CHANNELS[:8])
            clock.at_ms += 10 * MINUTE
        await client.put_experiment("later", [A, B], starts_at=clock.at_ms + MINUTE)
        assert await told("backscroll_experiment_sample_ratio_probability") == {}
        clock.at_ms += MINUTE
        await arms(client, CHANNELS[:8])
        assert sum((await told("backscroll_experiment_builds", "arm")).values()) == 8
        assert set(await told("backscroll_experiment_builds")) == {"later"}
        assert set(await told("backscroll_experiment_sample_ratio_probability")) == {"later"}
        await client.delete_experiment("later")
        assert await told("backscroll_experiment_sample_ratio_probability") == {}
        await built(client)
        assert await told("backscroll_experiment_builds") == {}


@pytest.mark.row("S5-39")
async def test_numbers_of_many_arms_are_told_together(monkeypatch):
    """Names are told of so many pairs of experiment and arm; builds of further ones are counted without a name."""
    monkeypatch.setattr(experiment_numbers, "MOST_TOLD", 1)
    async with served() as (client, _):
        await client.put_experiment("ab", [A, B])
        first, *others = (await arms(client)).values()
        assert {first, *others} == {"a", "b"}
        builds = await client.get_metrics("backscroll_experiment_builds")
        told = {(one.labels["experiment"], one.labels["arm"]): one.value for one in builds}
        count = 1 + others.count(first)
        assert told == {("ab", first): count, ("", ""): len(CHANNELS) - count}


@pytest.mark.row("S5-39")
async def test_who_is_in_by_a_list_is_in_no_ratio():
    """Nobody drew its arm: the ratio says whether those that were drawn are as many as the weights want."""
    name = "backscroll_experiment_sample_ratio_probability"
    listed, others = [f"vip-{n}" for n in range(20)], CHANNELS[:12]
    async with served() as (client, _):
        await client.put_experiment("ab", [A, B], allowed_channels=listed)
        found = await arms(client, listed)
        assert set(found.values()) <= {"a", "b"}
        assert await client.get_metrics(name) == []
        found = await arms(client, others)
        counts = [[*found.values()].count(arm) for arm in ("a", "b")]
        assert sum(counts) == len(others)
        (told,) = await client.get_metrics(name)
        assert told.value == pytest.approx(sample_ratio(counts, [0.5, 0.5]).probability)


@pytest.mark.row("S5-39")
async def test_what_moves_channels_asks_first():
    async with served() as (client, _):
        await client.put_experiment("ab", [A, B])
        before = await arms(client)
        heavier = [ExperimentArm("a", 3.0, "classic"), B]
        with pytest.raises(Refused) as refused:
            await client.put_experiment("ab", heavier)
        assert (refused.value.reason, refused.value.field) == ("CHANNELS_WOULD_MOVE", "allow_moves")
        assert float(refused.value.metadata["moved_share"]) == 0.25
        assert await arms(client) == before
        looked = await client.put_experiment("ab", heavier, allow_moves=True, validate_only=True)
        assert looked.moved_share == 0.25
        assert await arms(client) == before
        put = await client.put_experiment("ab", heavier, allow_moves=True)
        assert put.moved_share == 0.25
        after = await arms(client)
        moved = {name for name in before if before[name] != after[name]}
        assert moved
        assert all((before[name], after[name]) == ("b", "a") for name in moved)
        with pytest.raises(Refused):
            await client.put_experiment("ab", heavier, coverage=0.5)
        with pytest.raises(Refused):
            await client.put_experiment("ab", heavier, bucket_version=2)


@pytest.mark.row("S5-40")
async def test_a_channel_is_in_one_experiment_at_a_time():
    clock = StillClock(NOON)
    async with served(clock=clock) as (client, _):
        await client.put_experiment("one", [A, B], stops_at=NOON + 10 * MINUTE)
        with pytest.raises(Refused) as refused:
            await client.put_experiment("two", [NEW])
        assert refused.value.reason == "EXPERIMENTS_OVERLAP"
        assert refused.value.metadata["experiment_id"] == "one"
        await client.put_experiment("two", [NEW], starts_at=NOON + 10 * MINUTE)
        assert (await client.get_experiment("two")).state == 1
        assert (await built(client)).experiment.experiment_id == "one"
        clock.at_ms += 10 * MINUTE - 1
        assert (await built(client)).experiment.experiment_id == "one"
        clock.at_ms += 1
        assert (await built(client)).experiment.experiment_id == "two"
        assert (await client.get_experiment("one")).state == 3
        await client.stop_experiment("two")
        assert (await built(client)).experiment.experiment_id == ""
        await client.put_experiment("three", [NEW])  # what is over keeps nobody out
        await client.delete_experiment("three")
        await client.put_experiment("one", [A, B])  # it goes on
        assert (await built(client)).experiment.experiment_id == "one"


@pytest.mark.row("S5-39")
async def test_what_is_kept_is_told():
    async with served() as (client, _):
        with pytest.raises(NotFound) as nothing:
            await client.get_experiment("e")
        assert nothing.value.reason == "EXPERIMENT_NOT_FOUND"
        arm = ExperimentArm(
            "甲", 2.0, "classic", Overrides(weights={"time_decay": 0.5}), "single_user"
        )
        put = await client.put_experiment(
            "e", [arm, B], coverage=0.25, holdout=0.125, allowed_channels=["x", "x"], denied_channels=["y"],
            shadow=ExperimentArm("next", profile="steady"), stops_at=NOON * 2, description="为什么",
        )  # fmt: skip
        kept = put.experiment
        assert kept == await client.get_experiment("e")
        assert kept.arms[0] == arm.to_proto()
        assert (kept.coverage, kept.holdout, list(kept.allowed_channels)) == (0.25, 0.125, ["x"])
        assert (kept.shadow.profile, kept.state, kept.description) == ("steady", 2, "为什么")
        assert kept.starts_at_ms == kept.comparable_since_ms <= kept.updated_at_ms
        await client.put_experiment("f", [NEW], starts_at=NOON * 2, stops_at=NOON * 3)
        await client.put_experiment("g", [NEW], starts_at=NOON * 3)
        listed = [one.experiment_id async for one in client.list_experiments(page_size=1)]
        assert listed == ["g", "f", "e"]
        assert await client.delete_experiment("g")
        assert not await client.delete_experiment("g")
        with pytest.raises(NotFound):
            await client.stop_experiment("g")


BAD = [
    ({"experiment_id": ""}, "MISSING_FIELD", "experiment.experiment_id"),
    ({"experiment_id": "x" * 129}, "TOO_LARGE", "experiment.experiment_id"),
    ({"experiment_id": "a\nb"}, "INVALID_FIELD", "experiment.experiment_id"),
    ({"arms": []}, "MISSING_FIELD", "experiment.arms"),
    ({"arms": [NEW] * 21}, "INVALID_FIELD", "experiment.arms"),
    ({"arms": [NEW, NEW]}, "INVALID_FIELD", "experiment.arms[1].name"),
    ({"arms": [ExperimentArm("")]}, "MISSING_FIELD", "experiment.arms[0].name"),
    ({"arms": [ExperimentArm("holdout"), NEW]}, "INVALID_FIELD", "experiment.arms[0].name"),
    ({"arms": [ExperimentArm("control")]}, "INVALID_FIELD", "experiment.arms[0].name"),
    ({"arms": [ExperimentArm("a", 0.0)]}, "INVALID_FIELD", "experiment.arms[0].weight"),
    ({"arms": [ExperimentArm("a", float("nan"))]}, "INVALID_FIELD", "experiment.arms[0].weight"),
    (
        {"arms": [ExperimentArm("a", profile="nope")]},
        "UNKNOWN_PROFILE",
        "experiment.arms[0].profile",
    ),
    (
        {"arms": [ExperimentArm("a", overrides={"max_context": 0})]},
        "INVALID_FIELD",
        "experiment.arms[0].overrides.max_context",
    ),
    ({"arms": [ExperimentArm("a", layout=77)]}, "INVALID_FIELD", "experiment.arms[0].layout"),
    ({"coverage": 1.5}, "INVALID_FIELD", "experiment.coverage"),
    ({"coverage": float("nan")}, "INVALID_FIELD", "experiment.coverage"),
    ({"holdout": 1.0}, "INVALID_FIELD", "experiment.holdout"),
    ({"allowed_channels": ["a", ""]}, "MISSING_FIELD", "experiment.allowed_channels[1]"),
    ({"shadow": ExperimentArm("new")}, "INVALID_FIELD", "experiment.shadow.name"),
    ({"stops_at": NOON - 10**10}, "INVALID_FIELD", "experiment.stops_at_ms"),
    ({"assigned_by": "resolver"}, "INVALID_FIELD", "experiment.assigned_by"),
    ({"assigned_by": 9}, "INVALID_FIELD", "experiment.assigned_by"),
]


@pytest.mark.row("S5-39")
async def test_bad_experiments_name_the_field():
    async with served() as (client, _):
        for given, reason, field in BAD:
            fields = {"experiment_id": "e", "arms": [NEW], **given}
            with pytest.raises(BackscrollError) as refused:
                await client.put_experiment(**fields)
            assert (refused.value.reason, refused.value.field) == (reason, field), given
        assert [one async for one in client.list_experiments()] == []


@pytest.mark.injects_fault
@pytest.mark.row("S5-39")
async def test_experiments_that_cannot_be_read_cost_only_themselves(monkeypatch):
    """No store, a damaged record, a deleted experiment: builds are as without it, and say so."""
    async with served() as (client, app):
        await client.put_experiment("e", [NEW])

        async def broken(*args, **named):
            raise StoreUnavailable("no")

        with monkeypatch.context() as patch:
            patch.setattr(app.store, "updated_records", broken)
            context = await built(client)
        assert context.profile == "balanced"
        lost = {(one.stage, one.source, one.reason) for one in context.degradations}
        assert ("route", "experiments", "STORE_UNAVAILABLE") in lost
        assert (await built(client)).profile == "classic"
        key = ChannelKey("default", EVERYWHERE)
        for body in (b"{", b'{"arms":[]}', b'{"arms":[{"name":"x","weight":-1}]}'):
            await app.writer.submit(RecordChange(key, "experiment", "e", body, at_ms=NOON))
            context = await built(client)
            assert context.profile == "balanced"
            lost = [(one.stage, one.source, one.reason) for one in context.degradations]
            assert lost == [("route", "experiments", "DAMAGED_EXPERIMENT")]
            with pytest.raises(BackscrollError) as refused:
                await client.get_experiment("e")
            assert refused.value.field == "experiment_id"
            assert [one async for one in client.list_experiments()] == []
        assert await client.delete_experiment("e")
        assert not (await built(client)).degradations
