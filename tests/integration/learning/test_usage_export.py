"""Topic labels, and recorded builds as data to learn from, over the wire."""

from hashlib import blake2b

import pytest

from backscroll import Author, Message
from backscroll.errors import Gone, InvalidRequest, NotFound
from backscroll.v1 import context_pb2, learning_pb2
from backscroll_sidecar.learning.consented import ExportSummary
from backscroll_sidecar.ports import UsageQuery
from tests.kit.kept import rows
from tests.kit.served import served

NOON, MINUTE = 1_795_176_000_000, 60_000
ANN, BEN, CAT = Author("u1", "Ann"), Author("u2", "Ben"), Author("u3", "Cat")
BOT = Author("bot", "Helper", kind="bot")
CHAT = [
    Message("m1", BEN, "the train to the sea leaves at ten", NOON - 30 * MINUTE),
    Message("m2", CAT, "猫吃什么呢", NOON - 20 * MINUTE),
    Message("m3", BEN, "bring the tickets for the train", NOON - 10 * MINUTE),
    Message("q", ANN, "when does the train leave?", NOON, mentions=["bot"]),
]
ANSWER = Message("a", BOT, "at ten", NOON + MINUTE, reply_to="q", role="assistant")


async def asked(client, channel="room", **fields):
    await client.append(channel, CHAT)
    context = await client.build_context(
        channel, trigger_message_id="q", self_ids=["bot"], **fields
    )
    await client.append(channel, ANSWER, context_id=context.id)
    return context


async def exported(client, *args, **fields):
    found = [one async for one in client.export_usage_records(*args, **fields)]
    assert isinstance(found[-1], learning_pb2.ExportSummary)
    assert all(isinstance(one, learning_pb2.ExportedUsage) for one in found[:-1])
    return found[:-1], found[-1]


# --- labels --------------------------------------------------------------------------------------


@pytest.mark.row("S5-43")
async def test_labels_go_with_their_messages(tmp_path):
    async with served(tmp_path / "b.db") as (client, _):
        await client.append("room", CHAT)
        await client.alias_message("room", "m1", "other")
        set_ = await client.set_topic_labels("room", "旅行", ["other", "m3", "m1"], set_by="u3")
        assert [(one.message_id, one.label, one.set_by) for one in set_] == [
            ("m1", "旅行", "u3"),
            ("m3", "旅行", "u3"),
        ]
        assert set_[0].set_at_ms > 0
        await client.set_topic_labels("room", "cats", "m2")
        await client.set_topic_labels("room", "food", "m2")

    async def labels(client, label=""):
        found = client.list_topic_labels("room", label, page_size=2)
        return [(one.message_id, one.label) async for one in found]

    async with served(tmp_path / "b.db") as (client, _):
        every = [("m1", "旅行"), ("m3", "旅行"), ("m2", "cats"), ("m2", "food")]
        assert await labels(client) == every
        assert await labels(client, "cats") == [("m2", "cats")]
        assert await client.delete_topic_labels("room", "旅行", "other") == 1
        assert await client.delete_topic_labels("room", "旅行", "other") == 0
        assert await client.delete_topic_labels("room", "food") == 1
        await client.edit_message("room", "m2", "狗吃什么呢")
        assert await labels(client) == [("m3", "旅行"), ("m2", "cats")]
        await client.recall_message("room", "m2")
        assert await labels(client) == [("m3", "旅行")]
        with pytest.raises(Gone) as gone:
            await client.set_topic_labels("room", "cats", ["q", "m2"])
        assert gone.value.field == "message_ids[1]"
        await client.set_topic_labels("room", "cats", "q", set_by="u3")
        await client.erase("room", message_ids=["m3"])
        assert await labels(client) == [("q", "cats")]
        await client.erase("room", user_id="u3")  # who set it
        assert await labels(client) == []


@pytest.mark.row("S5-43")
async def test_labels_that_cannot_be():
    async with served() as (client, _):
        with pytest.raises(NotFound) as nowhere:
            await client.set_topic_labels("nowhere", "x", "m1")
        assert nowhere.value.field == "channel"
        await client.append("room", CHAT)
        with pytest.raises(NotFound) as never:
            await client.set_topic_labels("room", "x", ["m1", "never"])
        assert (never.value.field, never.value.reason) == ("message_ids[1]", "MESSAGE_NOT_FOUND")
        assert "message_ids[1]" in str(never.value)  # the command line shows the words alone
        assert [one async for one in client.list_topic_labels("room")] == []
        for fields, field in (
            ({"channel": "", "label": "x", "message_ids": "m1"}, "channel"),
            ({"channel": "room", "label": "", "message_ids": "m1"}, "label"),
            ({"channel": "room", "label": "x", "message_ids": []}, "message_ids"),
            ({"channel": "room", "label": "x", "message_ids": ["m1", ""]}, "message_ids[1]"),
            ({"channel": "room", "label": "x" * 513, "message_ids": "m1"}, "label"),
            ({"channel": "room", "label": "x", "message_ids": ["m1"] * 1_001}, "message_ids"),
        ):
            with pytest.raises(InvalidRequest) as refused:
                await client.set_topic_labels(**fields)
            assert refused.value.field == field


# --- exports -------------------------------------------------------------------------------------


@pytest.mark.row("S5-43")
async def test_a_build_with_scores_fates_outcome_and_labels():
    async with served() as (client, _):
        context = await asked(client, explain=True)
        await client.record_feedback(context.id, user_id="u1", rating=5, text="就是它")
        await client.set_topic_labels("room", "travel", ["m1", "q"])
        await client.set_topic_labels("room", "seaside", "m1")
        ((build,), summary) = await exported(client, "room")
        record = await client.get_usage_record(context.id)
        assert build.version == 1
        assert (build.record.context_id, build.record.channel) == (context.id, "room")
        assert build.record.candidates == record.candidates
        assert {one.fate for one in build.record.candidates} <= {*context_pb2.Fate.values()}
        assert build.record.success_indicator == 1.0
        assert [one.rating for one in build.record.signals] == [5]
        labels = {one.message_id: list(one.topic_labels) for one in build.messages}
        assert labels == {"m1": ["seaside", "travel"], "q": ["travel"]}
        assert summary == learning_pb2.ExportSummary(build_count=1)
        for words in ("就是它", "at ten", "train"):  # no word of anybody's without asking for it
            assert words.encode() not in build.SerializeToString()
        ((build,), _) = await exported(client, "room", with_texts=True)
        texts = {one.message_id: one.text for one in build.messages}
        assert texts["m1"] == CHAT[0].text
        assert texts["q"] == "when does the train leave?"
        assert build.record.llm_response == "at ten"
        assert build.record.user_feedback == "就是它"


@pytest.mark.row("S5-43")
async def test_only_what_was_asked_for():
    async with served() as (client, _):
        first = await asked(client, "one")
        second = await asked(client, "two")
        builds, _ = await exported(client)
        assert [one.record.context_id for one in builds] == [first.id, second.id]
        builds, _ = await exported(client, "two", user_id="u1")
        assert [one.record.context_id for one in builds] == [second.id]
        assert await exported(client, user_id="u9") == ([], learning_pb2.ExportSummary())
        at_ms = (await client.get_usage_record(second.id)).created_at_ms
        assert (await exported(client, since=at_ms + 1))[0] == []
        assert len((await exported(client, until=at_ms + 1))[0]) == 2
        with pytest.raises(InvalidRequest) as refused:
            await exported(client, "x" * 513)
        assert refused.value.field == "channel"


@pytest.mark.row("S5-43")
async def test_an_export_ends_where_it_began():
    """Builds that are made while it runs are not in it, so it ends."""
    async with served() as (client, app):
        first = await asked(client)
        await client.get_usage_record(first.id)
        seen = []
        async for one in app.learning.export.export("default", UsageQuery(), ExportSummary()):
            seen.append(one.usage.record.context_id)
            assert len(seen) < 9
            await client.build_context("room", "and back?", asker=CAT)
        assert seen == [first.id]
        assert len((await exported(client))[0]) == 2


@pytest.mark.row("S5-43")
async def test_a_channel_without_consent_is_left_out():
    async with served() as (client, _):
        await asked(client, "open")
        await asked(client, "closed")
        await exported(client)  # both are recorded by now
        await client.set_channel_settings("closed", collect_usage=False)
        builds, summary = await exported(client)
        assert [one.record.channel for one in builds] == ["open"]
        assert (summary.build_count, summary.left_out_by_channel) == (1, 1)


@pytest.mark.row("S5-43", "S5-44")
async def test_lines_of_a_channel_without_consent_are_in_no_build_of_another():
    """Neither their ids nor their texts, where the build showed them because the channels share."""
    async with served() as (client, _):
        await client.append("closed", [Message("far", CAT, "the train to the sea is blue", NOON)])
        for channel in ("room", "closed"):
            await client.set_channel_settings(channel, sharing={"groups": ["guild"]})
        context = await asked(client)
        assert "closed" in {one.channel for one in context.items}
        ((build,), _) = await exported(client, "room", with_texts=True)
        assert b"far" in build.SerializeToString()
        await client.set_channel_settings(
            "closed", sharing={"groups": ["guild"]}, collect_usage=False
        )
        ((build,), summary) = await exported(client, "room", with_texts=True)
        for name in ("far", "closed", "blue"):
            assert name.encode() not in build.SerializeToString(), name
        assert summary.left_out_message_count == 1


@pytest.mark.row("S5-43")
async def test_a_question_of_somebody_without_consent_is_left_out_whoever_asks():
    async with served() as (client, _):
        await asked(client, asker=CAT)
        assert [one.record.user_id for one in (await exported(client))[0]] == ["u3"]
        await client.set_usage_consent("u1", collect_usage=False)  # who wrote the question
        builds, summary = await exported(client)
        assert (builds, summary.left_out_by_user) == ([], 1)


@pytest.mark.row("S5-43")
async def test_a_person_without_consent_is_in_no_export(tmp_path):
    """Neither messages nor what they said of answers; what others said counts alone."""
    async with served(tmp_path / "b.db") as (client, _):
        context = await asked(client)
        await client.record_feedback(context.id, user_id="u1", rating=5)
        await client.record_feedback(context.id, user_id="u2", rating=1, text="nonsense")
        await client.set_topic_labels("room", "travel", ["m1", "m2"])
        await client.set_usage_consent("u2", collect_usage=False)
        assert await client.get_usage_consent("u2") is False
        assert await client.get_usage_consent("u1") is True
    async with served(tmp_path / "b.db") as (client, _):  # it outlasts a restart
        ((build,), summary) = await exported(client, with_texts=True)
        whole = build.SerializeToString()
        for name in ("m1", "m3", "u2", "nonsense", "ten at the sea", CHAT[0].text):
            assert name.encode() not in whole, name
        assert [one.message_id for one in build.record.candidates] == ["m2"]
        assert build.record.success_indicator == 1.0
        assert summary.left_out_message_count == 2
        assert {one.message_id for one in build.messages} == {"m2", "q", "a"}
        await client.set_usage_consent("u2", collect_usage=True)
        ((build,), _) = await exported(client)
        assert {one.message_id for one in build.record.candidates} >= {"m1", "m3"}


@pytest.mark.row("S5-43")
async def test_builds_of_a_person_without_consent():
    """What was recorded is left out, what they ask from then on is not recorded; their erasure changes neither."""
    async with served() as (client, app):
        await asked(client)
        assert len((await exported(client))[0]) == 1
        await client.set_usage_consent("u1", collect_usage=False)
        builds, summary = await exported(client)
        assert (builds, summary.left_out_by_user) == ([], 1)
        await client.build_context("room", "and back?", asker=ANN)
        assert len([one async for one in client.list_usage_records("room")]) == 1
        dropped = app.learning.recorder.dropped_count
        await client.build_context("room", "and back?", asker=CAT)
        assert len([one async for one in client.list_usage_records("room")]) == 2
        assert dropped == 0
        await client.erase("room", user_id="u1")
        assert await client.get_usage_consent("u1") is False


@pytest.mark.row("S5-43")
async def test_digests_of_refusals_are_salted(tmp_path):
    """Nobody has them ready for ids that are easily guessed, and two databases have others."""
    kept = []
    for name in ("a.db", "b.db"):
        async with served(tmp_path / name) as (client, _):
            await client.set_usage_consent("u1", collect_usage=False)
            await client.set_usage_consent("u2", collect_usage=False)
            await client.set_usage_consent("u2", collect_usage=True)
            assert await client.get_usage_consent("u1") is False
            assert await client.get_usage_consent("u2") is True
        kept.append(_refusals(tmp_path / name))
    (one,), (other,) = kept
    assert one != other
    plain = blake2b(b"default\0u1", digest_size=16).hexdigest()
    assert plain not in {*one, *other}


@pytest.mark.row("S5-43")
async def test_refusals_of_older_servers_go_on_holding(tmp_path):
    """Their digests are salted, and the old ones are gone once the tenant's refusals were read."""
    path = tmp_path / "b.db"
    async with served(path):
        pass
    old = [blake2b(f"default\0{one}".encode(), digest_size=16).hexdigest() for one in ("u1", "u2")]
    for one in old:
        rows(
            path,
            "INSERT INTO records (tenant, channel, kind, owner, id, body, created_at_ms, updated_at_ms, expires_at_ms)"
            " VALUES ('default', '', 'usage_refusal', $1, '', $2, 1, 1, 0)",
            one,
            b"",
        )
    async with served(path) as (client, _):
        said = [await client.get_usage_consent(one) for one in ("u1", "u2", "u3")]
        assert said == [False, False, True]
        await client.set_usage_consent("u2", collect_usage=True)
    async with served(path) as (client, _):
        said = [await client.get_usage_consent(one) for one in ("u1", "u2", "u3")]
        assert said == [False, True, True]
    ((_, kept),) = _refusals(path)
    assert kept not in old


def _refusals(path):
    return rows(path, "SELECT kind, owner FROM records WHERE kind LIKE '%usage_refusal'")


@pytest.mark.row("S5-43", "N-10")
async def test_erased_and_recalled_messages():
    async with served() as (client, _):
        await asked(client)
        await client.set_topic_labels("room", "travel", ["m1", "m3"])
        await exported(client)
        await client.erase("room", message_ids=["m1"])
        await client.recall_message("room", "m3")
        ((build,), _) = await exported(client, with_texts=True)
        assert b"m1" not in build.SerializeToString()
        assert b"train leaves" not in build.SerializeToString()
        assert b"tickets" not in build.SerializeToString()
        assert "m3" not in {one.message_id for one in build.messages}


@pytest.mark.row("S5-43")
async def test_a_build_with_very_long_texts_fits_an_answer():
    async with served() as (client, _):
        long = [
            Message(f"l{n}", BEN, f"{n} 山" * 10_000, NOON - 60 * MINUTE + n) for n in range(60)
        ]
        for half in (long[:30], long[30:]):
            assert not (await client.append("room", half)).problems
        await client.build_context("room", "where?", asker=ANN)
        ((build,), _) = await exported(client, with_texts=True)
        named = {one.message_id for one in build.record.candidates}
        assert sum(len(one.text.encode()) for one in long if one.id in named) > 3 * 2**20
        assert build.ByteSize() < 2.5 * 2**20
        assert len(build.messages) == len(named)
        assert all(one.text.startswith(one.message_id[1:]) for one in build.messages)
