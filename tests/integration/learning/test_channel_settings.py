"""Settings and weights of one channel, over the wire."""

import pytest

from backscroll import Author, Message, Overrides
from backscroll.errors import BackscrollError, NotFound
from backscroll_sidecar.errors import StoreUnavailable
from tests.kit.served import served

NOON, MINUTE = 1_795_176_000_000, 60_000
ANN, BEN = Author("u1", "Ann"), Author("u2", "Ben")
CHAT = [
    Message("old", BEN, "alpha beta gamma", NOON - 300 * MINUTE),
    Message("fresh", BEN, "hello there", NOON - MINUTE),
]


async def best(client, channel="room", **fields):
    """The message that scores best by `classic`, and the profile that was used."""
    context = await client.build_context(
        channel, "alpha beta gamma", asker=ANN, asked_at=NOON, explain=True, **fields
    )
    ranked = sorted(context.explanation.candidates, key=lambda one: -one.score)
    return ranked[0].message_id, context.profile


FRESH = {"time_decay": 1.0, "keyword_overlap": 0.0}
WORDS = {"time_decay": 0.0, "keyword_overlap": 1.0}


@pytest.mark.row("S5-42")
async def test_weights_and_profile_of_one_channel(tmp_path):
    """S5-42: they hold in their channel alone, after a restart too; a request's come before them, one by one."""
    async with served(tmp_path / "b.db") as (client, _):
        for channel in ("room", "other"):
            await client.append(channel, CHAT)
        await client.set_channel_settings(
            "room", profile="classic", overrides={"weights": WORDS, "relevance_threshold": 0.0}
        )
        assert await best(client) == ("old", "classic")
        assert (await best(client, "other"))[1] == "balanced"
        overrides = Overrides(weights=FRESH)
        assert await best(client, overrides=overrides) == ("fresh", "classic")
        assert (await best(client, profile="chain_recent"))[1] == "chain_recent"
    async with served(tmp_path / "b.db") as (client, _):
        assert await best(client) == ("old", "classic")
        await client.set_channel_settings("room", profile="classic", overrides={"weights": FRESH})
        assert await best(client) == ("fresh", "classic")
        assert await client.delete_channel_settings("room")
        assert (await best(client))[1] == "balanced"


@pytest.mark.row("S5-42")
async def test_what_is_set_is_told():
    async with served() as (client, _):
        with pytest.raises(NotFound) as nothing:
            await client.get_channel_settings("room")
        assert nothing.value.reason == "CHANNEL_SETTINGS_NOT_FOUND"
        overrides = Overrides(max_context=3, sources=["recent"], weights={"reply_chain": 0.0})
        stored = await client.set_channel_settings("room", overrides=overrides, collect_usage=False)
        assert stored == await client.get_channel_settings("room")
        assert stored.overrides == overrides.to_proto()
        assert not stored.collect_usage
        assert stored.updated_at_ms > 0
        for name in ("b", "c", "b"):
            await client.set_channel_settings(name)
        listed = [one.channel async for one in client.list_channel_settings(page_size=2)]
        assert sorted(listed) == ["b", "c", "room"]
        await client.append("room", CHAT)
        await client.erase("room", whole_channel=True)
        with pytest.raises(NotFound):
            await client.get_channel_settings("room")


@pytest.mark.row("S5-42")
async def test_a_channel_may_stay_out_of_the_records():
    async with served() as (client, _):
        await client.append("room", CHAT)
        await client.set_channel_settings("room", collect_usage=False)
        await best(client)
        assert [one async for one in client.list_usage_records()] == []
        await client.set_channel_settings("room")
        await best(client)
        assert len([one async for one in client.list_usage_records()]) == 1


@pytest.mark.row("S5-42")
@pytest.mark.parametrize(
    ("given", "reason", "field"),
    [
        ({"channel": ""}, "MISSING_FIELD", "settings.channel"),
        ({"profile": "nope"}, "UNKNOWN_PROFILE", "settings.profile"),
        ({"overrides": {"max_context": 0}}, "INVALID_FIELD", "settings.overrides.max_context"),
        (
            {"overrides": {"weights": {"time_decay": 1.5}}},
            "INVALID_FIELD",
            "settings.overrides.weights.time_decay",
        ),
    ],
)
async def test_bad_settings_name_the_field(given, reason, field):
    async with served() as (client, _):
        with pytest.raises(BackscrollError) as refused:
            await client.set_channel_settings(**{"channel": "room", **given})
        assert (refused.value.reason, refused.value.field) == (reason, field)


@pytest.mark.injects_fault
@pytest.mark.row("S5-42")
async def test_settings_that_cannot_be_read_cost_only_themselves(monkeypatch):
    async with served() as (client, app):
        await client.append("room", CHAT)
        await client.set_channel_settings("room", profile="classic")

        async def broken(*args, **named):
            raise StoreUnavailable("no")

        monkeypatch.setattr(app.store, "updated_records", broken)
        context = await client.build_context("room", "alpha?", asker=ANN, asked_at=NOON)
        assert context.profile == "balanced"
        lost = [(one.stage, one.source, one.reason) for one in context.raw.degradations]
        assert lost == [
            ("route", "channel_settings", "STORE_UNAVAILABLE"),
            ("route", "experiments", "STORE_UNAVAILABLE"),
        ]
