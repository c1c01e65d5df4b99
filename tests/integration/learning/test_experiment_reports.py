"""What arms came to, and builds behind the answers, over the wire."""

import asyncio

import pytest

from backscroll import Author, ExperimentArm, Message, NotFound, Overrides
from backscroll_sidecar.context import shadows
from backscroll_sidecar.context.builder import ContextBuilder
from tests.integration.learning.test_experiments import A, B, arms, built
from tests.kit.served import served

NOON = 1_795_176_000_000
ANN, BEN, BOT = Author("u1", "Ann"), Author("u2", "Ben"), Author("bot", "Bot", kind="bot")
MANY = [f"c{n}" for n in range(60)]


def lines(count=9):
    return [Message(f"m{n}", BEN, f"alpha beta {n}", NOON - 1_000 * n) for n in range(count)]


def by_arm(report):
    return {(one.arm, one.is_shadow, one.is_listed): one for one in report.arms}


async def shadowed(client, count):
    """All records, once so many builds were made behind answers."""
    for _ in range(500):
        found = [
            one
            async for one in client.list_usage_records(experiment_id="e", with_shadows=True)
            if one.shadow_of
        ]
        if len(found) >= count:
            return found
        await asyncio.sleep(0.01)
    raise AssertionError("no builds behind the answers")


@pytest.mark.row("S5-55")
async def test_arms_are_compared():
    """S5-55: time, tokens and accuracy of each arm with intervals; what people meant without saying so is apart."""
    async with served() as (client, _):
        for name in MANY:
            await client.append(name, lines())
        await client.put_experiment("e", [A, B])
        there = await arms(client, MANY)
        first = {}
        async for record in client.list_usage_records(experiment_id="e"):
            first[record.channel] = record
        for name, arm in there.items():
            rating = 5 if arm == "a" else 1
            await client.record_feedback(first[name].context_id, user_id="u1", rating=rating)
        report = await client.get_experiment_report("e")
        assert [one.arm for one in report.arms] == ["a", "b"]
        a, b = report.arms
        for one in (a, b):
            of = [record for record in first.values() if record.arm == one.arm]
            assert one.builds == one.channels == len(of)
            assert one.tokens.mean == pytest.approx(sum(r.token_count for r in of) / len(of))
            took = sorted(r.build_microseconds / 1e3 for r in of)
            assert one.build_milliseconds.mean == pytest.approx(sum(took) / len(of))
            assert took[0] <= one.build_milliseconds_p95 <= took[-1]
            assert one.tokens.lower <= one.tokens.mean <= one.tokens.upper
            assert one.fallbacks.mean == 0
            assert not one.HasField("recall")
        assert (a.accuracy.mean, b.accuracy.mean) == (1.0, 0.0)
        assert a.accuracy.lower > 0.8 > 0.2 > b.accuracy.upper
        assert a.accuracy.count == a.builds
        assert not report.sample_ratio_alarm
        assert 0.001 < report.sample_ratio_probability <= 1
        told = " ".join(report.notes)
        assert "recall is unknown" in told
        assert "too little data" not in told
        assert "too little explicit feedback" in told or min(a.builds, b.builds) >= 30
        (gauge,) = await client.get_metrics("backscroll_experiment_sample_ratio_probability")
        assert gauge.value == pytest.approx(report.sample_ratio_probability)
        assert dict(gauge.labels) == {"experiment": "e"}


@pytest.mark.row("S5-55")
async def test_nothing_is_said_in_words():
    async with served() as (client, _):
        with pytest.raises(NotFound):
            await client.get_experiment_report("e")
        await client.put_experiment("e", [A, B])
        report = await client.get_experiment_report("e")
        assert [(one.arm, one.builds) for one in report.arms] == [("a", 0), ("b", 0)]
        assert report.notes == ["there is no data: no build of this experiment is recorded"]
        assert not report.HasField("sample_ratio_probability")
        for _ in range(3):
            await built(client)
        report = await client.get_experiment_report("e")
        one = next(one for one in report.arms if one.builds)
        assert (one.builds, one.channels) == (3, 1)
        assert not one.tokens.HasField("lower")  # a single channel says nothing of others
        told = " ".join(report.notes)
        assert f"{one.arm}: too little data, 1 of at least 20 channels" in told
        assert f"{one.arm}: too little explicit feedback, 0 of at least 30 builds are rated" in told
        later = await client.get_experiment_report("e", since=NOON * 2)
        assert [one.builds for one in later.arms] == [0, 0]


@pytest.mark.row("S5-55")
async def test_signals_are_apart_and_gold_is_an_edge_that_came_later():
    async with served() as (client, _):
        await client.append("room", lines())
        await client.put_experiment("e", [ExperimentArm("a", overrides=Overrides(max_context=500))])
        await client.append("room", [Message("q", ANN, "alpha beta?", NOON)])
        context = await client.build_context("room", trigger_message_id="q")
        reply = Message("r", BOT, "gamma", NOON + 1_000, role="assistant", reply_to="q")
        await client.append("room", [reply], context_id=context.id)
        await client.append("room", [Message("t", ANN, "thanks!", NOON + 2_000, reply_to="r")])
        # Of this question the edge comes with a message that is stored behind its build.
        await client.build_context("room", "and then?", trigger_message_id="late", asker=ANN)
        await client.append(
            "room", [Message("late", ANN, "and then?", NOON + 3_000, reply_to="m3")]
        )
        for _ in range(300):
            (arm, *_) = (await client.get_experiment_report("e")).arms
            if arm.signals:
                break
            await asyncio.sleep(0.01)
        assert [(one.kind, one.count) for one in arm.signals] == [(4, 1)]
        assert not arm.HasField("accuracy")
        assert (arm.recall.mean, arm.recall.count) == (1.0, 1)
        notes = (await client.get_experiment_report("e")).notes
        assert any("reply edge was stored after the build" in note for note in notes)


@pytest.mark.row("S5-55")
async def test_what_listed_people_write_is_no_signal_of_the_drawn():
    async with served() as (client, _):
        await client.put_experiment("e", [A], allowed_channels=["vip"])
        for channel in ("vip", "drawn"):
            await client.append(channel, [*lines(), Message("q", ANN, "alpha beta?", NOON)])
            context = await client.build_context(channel, trigger_message_id="q")
            reply = Message("r", BOT, "gamma", NOON + 1_000, role="assistant", reply_to="q")
            await client.append(channel, [reply], context_id=context.id)
            thanks = Message("t", ANN, "thanks!", NOON + 2_000, reply_to="r")
            await client.append(channel, [thanks])
            for _ in range(300):
                if (await client.get_usage_record(context.id)).signals:
                    break
                await asyncio.sleep(0.01)
        told = by_arm(await client.get_experiment_report("e"))
        assert [(one.kind, one.count) for one in told[("a", False, False)].signals] == [(4, 1)]


@pytest.mark.row("S5-55")
async def test_a_build_that_knew_what_is_answered_has_no_recall():
    """Of one question asked twice, once before its reply edge was stored, only the first build counts."""
    async with served() as (client, _):
        await client.append("room", lines())
        await client.put_experiment("e", [ExperimentArm("a", overrides=Overrides(max_context=500))])
        await client.build_context("room", "and then?", trigger_message_id="late", asker=ANN)
        late = Message("late", ANN, "and then?", NOON + 3_000, reply_to="m3")
        await client.append("room", [late])
        await client.build_context("room", trigger_message_id="late")
        (arm, *_) = (await client.get_experiment_report("e")).arms
        assert (arm.builds, arm.recall.count) == (2, 1)


@pytest.mark.row("S5-39", "S5-55")
async def test_listed_channels_and_older_arms_are_told_apart():
    async with served() as (client, _):
        listed = MANY[:3]
        await client.put_experiment("e", [A], coverage=0.5, holdout=0.1, allowed_channels=listed)
        await arms(client, MANY)
        report = await client.get_experiment_report("e")
        names = [(one.arm, one.is_listed) for one in report.arms]
        assert names == [("a", False), ("control", False), ("holdout", False), ("a", True)]
        assert report.arms[-1].builds == 3
        assert sum(one.builds for one in report.arms) == len(MANY)
        assert not report.sample_ratio_alarm
        # A wider rollout goes on counting; the ratio is of the channels as they are drawn now.
        await client.put_experiment("e", [A], coverage=0.9, holdout=0.1)
        await arms(client, MANY)
        report = await client.get_experiment_report("e")
        assert sum(one.builds for one in report.arms) == 2 * len(MANY)
        assert not report.sample_ratio_alarm
        # Other settings of the arm: older builds say nothing of it.
        since = report.since_ms
        await asyncio.sleep(0.002)
        changed = ExperimentArm("a", profile="steady")
        await client.put_experiment("e", [changed], coverage=0.9, holdout=0.1)
        report = await client.get_experiment_report("e")
        assert sum(one.builds for one in report.arms) == 0
        report = await client.get_experiment_report("e", since=since)
        assert sum(one.builds for one in report.arms) == 2 * len(MANY)
        assert "older builds were made by other settings" in " ".join(report.notes)


@pytest.mark.row("S5-40")
async def test_a_skewed_assignment_is_an_alarm(caplog):
    """Channels that ask nothing in one arm, as a bot that dies of it: the report and the metric say so."""
    async with served() as (client, _):
        await client.put_experiment("e", [A, B])
        there = await arms(client, MANY)
        broken = [name for name, arm in there.items() if arm == "a"]
        await client.delete_experiment("e")
        await asyncio.sleep(0.002)
        await client.put_experiment("e", [A, B])
        await arms(client, broken)
        report = await client.get_experiment_report("e")
        assert report.sample_ratio_alarm
        assert report.sample_ratio_probability < 0.001
        assert report.notes[0].startswith("sample ratio alarm")
        (gauge,) = await client.get_metrics("backscroll_experiment_sample_ratio_probability")
        assert gauge.value < 0.001


@pytest.mark.row("S5-40")
async def test_a_shadow_is_built_behind_the_answer_and_only_recorded():
    async with served() as (client, _):
        await client.append("room", [*lines(), Message("q", ANN, "alpha beta?", NOON)])
        a = ExperimentArm("a", profile="classic")
        await client.put_experiment("e", [a], shadow=ExperimentArm("next", profile="chain_recent"))
        context = await client.build_context("room", trigger_message_id="q")
        assert (context.profile, context.experiment.arm) == ("classic", "a")
        (shadow,) = await shadowed(client, 1)
        assert (shadow.arm, shadow.profile, shadow.shadow_of) == (
            "next",
            "chain_recent",
            context.id,
        )
        shown = [one async for one in client.list_usage_records("room")]
        assert [one.context_id for one in shown] == [context.id]
        # The answer is that of the build that was sent, whichever was recorded last.
        await client.append(
            "room", [Message("r", BOT, "yes", NOON + 9, role="assistant", reply_to="q")]
        )
        assert (await client.get_usage_record(context.id)).reply_message_id == "r"
        assert (await client.get_usage_record(shadow.context_id)).reply_message_id == ""
        report = await client.get_experiment_report("e")
        told = by_arm(report)[("next", True, False)]
        assert (told.builds, told.channels) == (1, 1)
        both = set(shadow.context_message_ids) | set(shown[0].context_message_ids)
        same = set(shadow.context_message_ids) & set(shown[0].context_message_ids)
        assert told.same_messages.mean == pytest.approx(len(same) / len(both))
        (count,) = await client.get_metrics("backscroll_experiment_shadow_builds")
        assert (dict(count.labels), count.value) == ({"outcome": "built"}, 1)
        builds = await client.get_metrics("backscroll_context_builds")
        assert sum(one.value for one in builds) == 1
        await client.erase("room", user_id="u1")
        left = [one async for one in client.list_usage_records("room", with_shadows=True)]
        assert left == []


@pytest.mark.row("S5-40")
async def test_a_shadow_sees_what_the_answer_saw():
    """The same settings choose the same, though more was said meanwhile; control and holdout have no shadow."""
    async with served() as (client, app):
        await client.append("room", lines(30))
        await client.put_experiment("e", [A], shadow=ExperimentArm("same", profile="classic"))
        app.builder._shadows.begins()  # somebody waits for an answer all the time
        context = await built(client)
        await client.append(
            "room", [Message(f"n{n}", ANN, "alpha beta", NOON - n) for n in range(9)]
        )
        records = client.list_usage_records("room", with_shadows=True)
        assert [one.context_id async for one in records] == [context.id]
        app.builder._shadows.ends()
        (built_behind,) = await shadowed(client, 1)
        record = await client.get_usage_record(context.id)
        assert built_behind.context_message_ids == record.context_message_ids
        assert built_behind.token_count == record.token_count
        shadow = ExperimentArm("same", profile="classic")
        await client.put_experiment("e", [A], coverage=0.0, shadow=shadow, allow_moves=True)
        await built(client)
        control = await built(client)
        assert control.experiment.arm == "control"
        await client.put_experiment("e", [A], shadow=shadow, allow_moves=True)
        behind = await built(client)
        found = {one.shadow_of for one in await shadowed(client, 2)}
        assert found == {context.id, behind.id}


@pytest.mark.row("S5-40")
async def test_shadows_are_dropped_and_fail_for_themselves(monkeypatch):
    async with served() as (client, app):
        await client.put_experiment("e", [A], shadow=ExperimentArm("next", profile="balanced"))
        app.builder._shadows.begins()
        for _ in range(shadows.MOST_QUEUED + 3):
            await built(client)

        async def outcomes():
            found = await client.get_metrics("backscroll_experiment_shadow_builds")
            return {one.labels["outcome"]: one.value for one in found}

        assert await outcomes() == {"dropped": 3}
        behind = ContextBuilder._build_behind
        failed = []

        async def broken(self, request, one):
            if not failed:
                failed.append(one)
                raise RuntimeError("no")
            await behind(self, request, one)

        monkeypatch.setattr(ContextBuilder, "_build_behind", broken)
        await app.builder._shadows.close()
        app.builder._shadows._queued.clear()
        app.builder._shadows.ends()
        for _ in range(2):
            await built(client)
        for _ in range(300):
            if (await outcomes()).get("built"):
                break
            await asyncio.sleep(0.01)
        assert await outcomes() == {"dropped": 3, "failed": 1, "built": 1}
