"""Weights learnt from feedback, over the wire: real chat, drawn places, simulated people."""

import asyncio
from contextlib import asynccontextmanager
from pathlib import Path

import numpy as np
import pytest

from backscroll import Author, Message, Overrides
from backscroll.errors import InvalidRequest
from backscroll.v1 import admin_pb2
from backscroll_sidecar.wiring import SystemClock
from bench.training.channel_tuning import (
    FACTORS,
    PLANTED,
    SHARED,
    SHOWN,
    People,
    SteppingClock,
    Trial,
    channels_of,
    rows_of,
)
from tests.kit.served import served

NOON = 1_795_176_000_000
DATA = Path(__file__).parents[2] / "data"
ADOPTED = admin_pb2.TUNING_REASON_ADOPTED


@asynccontextmanager
async def a_trial(
    feedback="honest", planted="addressed", seed=1, path=":memory:", lines=slice(None), **settings
):
    rows = list(rows_of(DATA / "irc_channel.messages.jsonl.gz"))[lines]
    stored = {row["message_id"] for row in rows}
    queries = rows_of(DATA / "irc_channel.queries.jsonl.gz")
    (channel,) = channels_of(rows, (one for one in queries if one["message_id"] in stored))
    clock = SteppingClock()
    async with served(path, clock=clock, **settings) as (client, app):
        trial = Trial(
            client, clock, channel, People(PLANTED[planted], feedback, seed, strength=8.0)
        )
        await trial.begin()
        yield trial, client, app, channel


async def weights_of(client, channel, **fields):
    """The weights that a build of the channel is scored by."""
    context = await client.build_context(
        channel.name, trigger_message_id=channel.asked[0].id, explain=True, **fields
    )
    return np.array(context.explanation.weights)


@pytest.mark.slow
@pytest.mark.row("S5-41", "N-12")
async def test_what_people_like_is_learnt_and_taken_back(tmp_path):
    """S5-41, N-12: adopted on evidence, bounded, a version; it holds after a restart, until it is rolled back."""
    async with a_trial(path=tmp_path / "b.db") as (trial, client, _, channel):
        await trial.window(400)
        tried = await client.tune_channel(channel.name, dry_run=True)
        assert tried.reason == ADOPTED, tried.detail
        assert tried.changed
        assert tried.version == 0
        assert [one async for one in client.list_weight_versions(channel.name)] == []
        assert (await weights_of(client, channel)).tolist() == SHARED.tolist()
        told = await client.tune_channel(channel.name, requested_by="ann")
        assert told.reason == ADOPTED
        assert (told.version, told.profile, told.rated_builds) == (1, "classic", 400)
        proposed = np.array(told.proposed_weights)
        assert proposed == pytest.approx(np.array(tried.proposed_weights))
        assert (np.abs(proposed / SHARED - 1) <= 0.2 + 1e-9).all()
        assert proposed.sum() == pytest.approx(SHARED.sum())
        assert (
            np.abs(proposed - PLANTED["addressed"]).sum()
            < np.abs(SHARED - PLANTED["addressed"]).sum()
        )
        evidence = told.evidence
        assert evidence.decisions == 400
        assert evidence.effective_decisions >= 200
        assert evidence.doubly_robust.lower > 0
        gains = [one.value for one in (evidence.direct, evidence.snips, evidence.doubly_robust)]
        assert min(gains) > 0
        assert {one.name for one in evidence.guards} == {
            "tokens",
            "latency_p95_ms",
            "fallback_rate",
            "missed_replies",
        }
        assert all(one.candidate <= one.most for one in evidence.guards)
        assert await weights_of(client, channel) == pytest.approx(proposed)
        await client.build_context(channel.name, trigger_message_id=channel.asked[0].id)
        waiting = await client.tune_channel(channel.name)
        assert (
            waiting.reason == admin_pb2.TUNING_REASON_NO_PROPENSITIES
            or "on trial" in waiting.detail
        )
        assert waiting.version == 1
    async with served(tmp_path / "b.db") as (client, _):
        assert await weights_of(client, channel) == pytest.approx(proposed)
        request = Overrides(weights=dict(zip(FACTORS, SHARED.tolist(), strict=True)))
        assert (await weights_of(client, channel, overrides=request)).tolist() == SHARED.tolist()
        by_hand = {"time_decay": 0.9}
        await client.set_channel_settings(
            channel.name, profile="classic", overrides=Overrides(weights=by_hand, **SHOWN)
        )
        assert (await weights_of(client, channel)).tolist() == [0.4, 0.15, 0.9, 0.15, 0.1]
        refused = await client.tune_channel(channel.name)
        assert refused.reason == admin_pb2.TUNING_REASON_SET_BY_HAND
        await client.set_channel_settings(channel.name, profile="classic", overrides=SHOWN)
        back = await client.roll_back_weights(channel.name, requested_by="ben")
        assert (back.version, back.parent, list(back.weights)) == (2, 1, [])
        assert (await weights_of(client, channel)).tolist() == SHARED.tolist()
        versions = [one async for one in client.list_weight_versions(channel.name, page_size=1)]
        assert [(one.version, one.parent, one.requested_by) for one in versions] == [
            (2, 1, "ben"), (1, 0, "ann"),
        ]  # fmt: skip
        assert list(versions[1].weights) == pytest.approx(list(proposed))
        assert versions[1].evidence == evidence
        again = await client.roll_back_weights(channel.name, 1)
        assert (again.version, list(again.weights)) == (3, list(proposed))
        await client.erase(user_id="ann", all_channels=True)
        kept = [one async for one in client.list_weight_versions(channel.name)]
        assert [one.requested_by for one in kept] == ["", "ben", ""]
        await client.set_channel_settings(channel.name, collect_usage=False)
        refused = await client.tune_channel(channel.name)
        assert refused.reason == admin_pb2.TUNING_REASON_NOT_COLLECTED
        await client.erase(channel.name, whole_channel=True)
        assert [one async for one in client.list_weight_versions(channel.name)] == []


@pytest.mark.slow
@pytest.mark.row("N-12")
async def test_a_dry_run_leaves_weights_on_trial():
    """N-12: it says that they would stay; only a tuning ends the trial, and counts."""
    async with a_trial() as (trial, client, _, channel):
        await trial.window(400)
        assert (await trial.tune()).reason == ADOPTED
        await trial.window(800)
        await client.tune_channel(channel.name, dry_run=True)
        assert await counted(client, "kept") == 0
        await client.tune_channel(channel.name)
        assert await counted(client, "kept") == 1


@pytest.mark.slow
@pytest.mark.row("S5-41", "N-12")
@pytest.mark.parametrize("feedback", ["random", "inverted"])
async def test_what_means_nothing_moves_nothing(feedback):
    async with a_trial(feedback, planted="shared") as (trial, client, _, channel):
        await trial.window(400)
        told = await client.tune_channel(channel.name)
        assert not told.changed, told.detail
        assert (await weights_of(client, channel)).tolist() == SHARED.tolist()


@pytest.mark.slow
@pytest.mark.row("S5-41", "N-12")
async def test_what_people_like_does_not_hide_what_they_answer():
    """N-12: a proven gain is refused where lines would miss what they answer more often."""
    async with a_trial(planted="stale") as (trial, client, app, channel):
        await trial.window(400)
        counted_before = app.builder.build_count
        told = await client.tune_channel(channel.name)
        assert told.reason == admin_pb2.TUNING_REASON_GUARD_WORSE, told.detail
        assert told.detail.startswith("missed_replies")
        guard = told.evidence.guards[-1]
        assert (guard.name, guard.candidate > guard.most) == ("missed_replies", True)
        assert guard.candidate > guard.incumbent
        assert told.evidence.doubly_robust.lower > 0
        assert (await weights_of(client, channel)).tolist() == SHARED.tolist()
        assert app.builder.build_count == counted_before + 1  # looking is no build


@pytest.mark.slow
@pytest.mark.row("S5-41")
async def test_a_small_channel_is_tuned_without_that_guard():
    """S5-41: of fewer than 200 lines whose answered line is known nothing is measured, and the evidence says so."""
    async with a_trial(lines=slice(950, 1_190)) as (trial, client, _, channel):
        await trial.window(400)
        told = await client.tune_channel(channel.name)
        assert told.reason == ADOPTED, told.detail
        guard = told.evidence.guards[-1]
        assert guard.name == "missed_replies"
        assert not guard.HasField("incumbent")
        assert not guard.HasField("candidate")


NOON, MINUTE = 1_795_176_000_000, 60_000
CHAT = [
    Message(f"m{n}", Author(f"u{n % 3}"), f"line {n} of words", NOON - (21 - n) * MINUTE)
    for n in range(20)
]
QUESTION = Message("q", "u0", "which line has words?", NOON)
ASKED = {"trigger_message_id": "q", "profile": "classic"}


@pytest.mark.row("S5-41")
async def test_without_propensities_nothing_is_adopted():
    """S5-41: the rule that forbids it is told, in words."""
    async with served() as (client, _):
        await client.append("room", [*CHAT, QUESTION])
        none = await client.tune_channel("room")
        assert (none.reason, none.detail) == (
            admin_pb2.TUNING_REASON_NO_PROPENSITIES, "replay only: no propensities",
        )  # fmt: skip
        for _ in range(3):
            context = await client.build_context("room", overrides=SHOWN, **ASKED)
            await client.record_feedback(context.id, user_id="u0", rating=5)
        told = await client.tune_channel("room")
        assert (told.detail, told.changed, told.recorded_builds, told.rated_builds) == (
            "replay only: no propensities", False, 3, 0,
        )  # fmt: skip
        draws = Overrides(exploration_slots=2, **SHOWN)
        drawn = await client.build_context("room", overrides=draws, **ASKED)
        reply = Message("r", Author("bot", kind="bot"), "line 3", NOON + 1, role="assistant")
        await client.append("room", [reply], context_id=drawn.id)
        await client.append("room", [Message("t", "u0", "thanks!", NOON + 2, reply_to="r")])

        async def thanked():
            return (await client.get_usage_record(drawn.id)).signals

        await until(thanked)  # which by itself moves nothing
        unrated = await client.tune_channel("room")
        assert unrated.reason == admin_pb2.TUNING_REASON_TOO_FEW_DECISIONS
        assert unrated.rated_builds == 0
        assert "explicit feedback" in unrated.detail
        await client.record_feedback(drawn.id, user_id="u0", rating=5)
        few = await client.tune_channel("room")
        assert few.reason == admin_pb2.TUNING_REASON_TOO_FEW_DECISIONS
        assert "200 are needed" in few.detail
        assert few.rated_builds == 1


@pytest.mark.row("S5-41", "S5-43")
async def test_nothing_is_learnt_from_who_refuses():
    """Neither from builds they asked for nor from what they said of those of others."""
    async with served() as (client, _):
        await client.append("room", [*CHAT, QUESTION])
        draws = Overrides(exploration_slots=2, **SHOWN)
        context = await client.build_context("room", overrides=draws, **ASKED)
        await client.record_feedback(context.id, user_id="u1", rating=5)

        async def learnt_from():
            told = await client.tune_channel("room", dry_run=True)
            return told.recorded_builds, told.rated_builds, told.reason

        few = admin_pb2.TUNING_REASON_TOO_FEW_DECISIONS
        assert await learnt_from() == (1, 1, few)
        await client.set_usage_consent("u1", collect_usage=False)
        assert await learnt_from() == (1, 0, few)
        await client.record_feedback(context.id, user_id="u2", rating=5)
        assert await learnt_from() == (1, 1, few)
        await client.set_usage_consent("u0", collect_usage=False)
        assert await learnt_from() == (0, 0, admin_pb2.TUNING_REASON_NO_PROPENSITIES)


@pytest.mark.row("S5-41", "N-10")
async def test_draws_that_prove_nothing_are_no_evidence():
    """Of a seed that the request brought, and of a pool that is not whole any more."""
    async with served() as (client, _):
        await client.append("room", [*CHAT, QUESTION])
        draws = Overrides(exploration_slots=2, **SHOWN)
        drawn = await client.build_context("room", overrides=draws, **ASKED)
        again = await client.build_context(
            "room", overrides=draws, exploration_seed=drawn.exploration.seed, **ASKED
        )
        for context in (drawn, again):
            await client.record_feedback(context.id, user_id="u1", rating=5)

        async def rated():
            return (await client.tune_channel("room", dry_run=True)).rated_builds

        assert await rated() == 1
        record = await client.get_usage_record(drawn.id)
        lost = next(one for one in record.candidates if 0 < one.inclusion_probability < 1)
        await client.erase("room", message_ids=[lost.message_id])
        assert await rated() == 0


@pytest.mark.row("S5-41")
async def test_profiles_without_weights_are_told():
    async with served() as (client, _):
        await client.append("room", [*CHAT, QUESTION])
        for profile in ("balanced", "hybrid"):
            await client.build_context("room", trigger_message_id="q", profile=profile)
        told = await client.tune_channel("room")
        assert told.reason == admin_pb2.TUNING_REASON_NOT_WEIGHTED
        assert told.detail == (
            "all recorded builds are of balanced, hybrid: only classic has weights to tune"
        )


@pytest.mark.row("S5-41")
async def test_bad_requests_name_the_field():
    async with served() as (client, _):
        for call in (client.tune_channel, client.roll_back_weights):
            with pytest.raises(InvalidRequest) as refused:
                await call("")
            assert refused.value.field == "channel"
        with pytest.raises(InvalidRequest) as refused:
            await client.roll_back_weights("room", 1)
        assert refused.value.field == "channel"
        with pytest.raises(InvalidRequest) as refused:
            await client.tune_channel("room", requested_by="a" * 300)
        assert refused.value.field == "requested_by"
        assert [one async for one in client.list_weight_versions("never heard of")] == []


async def until(found, seconds=60):
    """What `found` returns once it is something."""
    async with asyncio.timeout(seconds):
        while not (value := await found()):  # noqa: ASYNC110
            await asyncio.sleep(0.2)
        return value


async def counted(client, reason):
    return sum(
        one.value
        for one in await client.get_metrics("backscroll_weight_tunings")
        if one.labels["reason"] == reason
    )


@pytest.mark.slow
@pytest.mark.row("S5-41", "N-12")
async def test_the_server_tunes_and_takes_back_by_itself():
    """N-12: every so many hours; what was adopted is judged by what was said since. Both are counted."""
    often = {"tune_hours": 1 / 3_600, "tuning_check_hours": 1 / 3_600}
    async with a_trial(**often) as (trial, client, _, channel):
        await trial.window(400)

        async def version():
            listed = client.list_weight_versions(channel.name, limit=1)
            return [one async for one in listed]

        (first,) = await until(version)
        assert (first.version, first.requested_by, first.reason) == (1, "", ADOPTED)
        assert await counted(client, "adopted") == 1
        trial._people.feedback = "inverted"
        for _ in range(4):
            await trial.window(200)

        async def second():
            return [one for one in await version() if one.version > 1]

        (back,) = await until(second)
        assert back.reason == admin_pb2.TUNING_REASON_ROLLED_BACK
        assert (back.parent, list(back.weights)) == (1, [])
        assert await counted(client, "rolled_back") == 1
        (drawn,) = await client.get_metrics("backscroll_context_builds_explored_total")
        assert drawn.value == 1_200


class Later(SystemClock):
    """The machine's time, some hours on."""

    def __init__(self, hours):
        self._ms = hours * 3_600_000

    def now_ms(self):
        return super().now_ms() + self._ms


@pytest.mark.row("S5-41")
async def test_a_server_that_is_restarted_often_tunes_in_time(tmp_path):
    """Every 24 hours, though no server runs so long."""

    async def begun(hours, is_due):
        """A server starts then, and is soon stopped."""
        clock, often = Later(hours), {"tune_hours": 24, "tuning_check_hours": 0}
        async with served(tmp_path / "b.db", clock=clock, **often) as (client, _):

            async def count():
                return sum(
                    one.value for one in await client.get_metrics("backscroll_weight_tunings")
                )

            if is_due:
                await until(count)
            for n in range(5):  # the schedule runs between
                await client.append("room", Message(f"m{hours}-{n}", Author("u1"), "hello", NOON))
            assert await count() == is_due

    await begun(0, is_due=False)  # no channel is known
    for hours, is_due in ((1, True), (20, False), (24, False), (40, True), (50, False)):
        await begun(hours, is_due)
