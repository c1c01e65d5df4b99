"""Preferences read from what people say of themselves, by rules and by a model, with their sources."""

import asyncio
import itertools
import json

import pytest

from backscroll import Author, Message
from backscroll.v1 import preference_pb2 as pb
from backscroll_sidecar.preferences import extractor
from tests.integration.preferences.asking import ANN, BEN, NOON, shown, stored
from tests.kit.fake_model import STOP, FakeModel, Wait
from tests.kit.kept import kept_bytes
from tests.kit.served import served

MARKERS = itertools.count()
TEA = "用户偏好喝茶。"
RULES = {"preference_extraction": "rules"}
MODEL = {"preference_extraction": "model"}


def said(id_, text, author=ANN, at=NOON - 60_000, **more):
    return Message(id_, author, text, at, **more)


async def until(read, wanted, tries=200):
    """What is read once it is what is wanted, or at last."""
    for _ in range(tries):
        found = await read()
        if found == wanted:
            break
        await asyncio.sleep(0.05)
    return found


async def values(client, user="u1", **fields):
    return [(one.topic, one.value) for one in await client.list_preferences(user, **fields)]


async def settled(client, user="u1"):
    """All that came before has been read: a marker of the same channel is."""
    marker = said(f"marker-{next(MARKERS)}", "call me Marker", Author("marker"))
    await client.append("room", [marker])
    assert await until(lambda: values(client, "marker"), [("name", "Marker")])
    await client.delete_preference("marker", "", all_channels=True)
    return await values(client, user)


def answering(*found):
    return [json.dumps({"found": list(found)}, ensure_ascii=False), STOP]


@pytest.mark.row("S1-23")
async def test_a_fake_extractor_fills_the_line_of_preferences():
    """What the model finds stands in the build, with the message it is from."""
    model = FakeModel(answering({"message": 1, "topic": "likes", "value": "喝茶"}))
    async with served(model=model, **MODEL) as (client, _):
        await client.append("room", [said("m1", "我每天下午都要喝茶才有精神")])
        assert await until(lambda: shown(client, question="现在呢？"), [TEA]) == [TEA]
        context = await client.build_context(
            "room", "现在呢？", asker=ANN, asked_at=NOON, layout="single_user"
        )
        assert f"用户偏好: {TEA}" in context.text
        (one,) = await client.list_preferences("u1")
        assert (one.origin, one.source_message_ids, one.channel) == (
            pb.PREFERENCE_ORIGIN_MODEL, ["m1"], "room",
        )  # fmt: skip
        assert one.valid_from_ms == NOON - 60_000


@pytest.mark.row("S1-23", "P-08")
@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("我喜欢喝茶", TEA),
        ("call me Sam", "The user wants to be called Sam."),
        ("I like your idea", None),
        ("她说她喜欢喝茶", None),
        ("I moved to Berlin", "The user lives in Berlin."),
        ("别叫我老王", "用户不希望被叫作老王。"),
        ("以后用英文回答", "用户希望用英文回答。"),
    ],
)
async def test_rules_read_what_people_say(text, line):
    async with served(**RULES) as (client, _):
        await client.append("room", [said("m1", text)])
        wanted = [] if line is None else [line]
        await settled(client)
        assert await until(lambda: shown(client), wanted) == wanted
        assert await shown(client, asker=BEN) == []
        assert await shown(client, "other") == []


@pytest.mark.row("S1-23")
async def test_off_unless_somebody_turns_it_on():
    """By the server, or by a channel; a channel may also turn it off."""
    async with served() as (client, _):
        await client.set_channel_settings("room", preference_extraction="rules")
        await client.append("other", [said("m1", "I like tea")])
        await client.append("room", [said("m2", "I like coffee")])
        assert await settled(client) == [("likes", "coffee")]
        told = await client.get_channel_settings("room")
        assert told.HasField("preference_extraction")
        await client.set_channel_settings("room", preference_extraction="off")
        await client.append("room", [said("m3", "I like jazz")])
        await asyncio.sleep(0.4)
        assert await values(client) == [("likes", "coffee")]


@pytest.mark.row("S1-23", "N-10")
async def test_what_goes_takes_it_along():
    """Recall, erasure of the message, of the person; an edit is read anew."""
    async with served(**RULES) as (client, _):
        lines = ["I like tea", "I like coffee", "I like jazz", "I like chess"]
        await client.append("room", [said(f"m{n}", text) for n, text in enumerate(lines)])
        wanted = [("likes", one) for one in ("tea", "coffee", "jazz", "chess")]
        assert await until(lambda: values(client), wanted) == wanted
        await client.recall_message("room", "m0")
        await client.erase("room", message_ids=["m1"])
        await client.edit_message("room", "m2", "I hate jazz")
        wanted = [("likes", "chess"), ("dislikes", "jazz")]
        assert await until(lambda: values(client), wanted) == wanted
        assert await shown(client) == ["The user likes chess.", "The user does not like jazz."]
        await client.edit_message("room", "m2", "never mind")
        assert await values(client) == [("likes", "chess")]
        await client.erase("room", user_id="u1")
        assert await values(client, include_past=True) == []
        assert await shown(client) == []


@pytest.mark.row("S5-45", "S1-23")
async def test_what_was_deleted_is_not_read_again(tmp_path):
    """Not from an edit of the same message; the tombstone has no text; another message may say it anew."""
    database = tmp_path / "history.db"
    async with served(database, **RULES) as (client, _):
        await client.append("room", [said("m1", "I like Kwyjibo tea")])
        await until(lambda: values(client), [("likes", "Kwyjibo tea")])
        (one,) = await client.list_preferences("u1")
        assert await client.delete_preference("u1", one.id, channel="room") == 1
        await client.edit_message("room", "m1", "I like Kwyjibo tea, I work at Siemens")
        assert await until(lambda: values(client), [("work", "Siemens")]) == [("work", "Siemens")]
        assert await client.delete_preference("u1", "", all_channels=True) == 1
        await client.edit_message("room", "m1", "I like coffee")
        assert await settled(client) == []
        await client.append("room", [said("m2", "I like Kwyjibo tea")])
        assert await settled(client) == [("likes", "Kwyjibo tea")]
        await client.erase("room", message_ids=["m1", "m2"])
    files = kept_bytes(tmp_path)
    assert b"Kwyjibo" not in files


@pytest.mark.row("S5-45", "P-07")
async def test_what_is_corrected_counts_as_set():
    """Under the same id; the message is not read for it again."""
    async with served(**RULES) as (client, _):
        await client.append("room", [said("m1", "call me Sam")])
        await until(lambda: values(client), [("name", "Sam")])
        (one,) = await client.list_preferences("u1")
        assert one.origin == pb.PREFERENCE_ORIGIN_RULES
        await client.set_preference(
            "u1", preference_id=one.id, topic="name", value="Samuel", channel="room"
        )
        (edited,) = await client.list_preferences("u1", include_past=True)
        assert (edited.id, edited.value, edited.origin) == (
            one.id, "Samuel", pb.PREFERENCE_ORIGIN_SET,
        )  # fmt: skip
        await client.edit_message("room", "m1", "call me Sammy")
        assert await settled(client) == [("name", "Samuel")]


@pytest.mark.row("P-07", "S1-23")
async def test_what_was_set_stands_before_what_was_read():
    """And a newer thing read before an older one; the past keeps what held then."""
    async with served(**RULES) as (client, _):
        await client.append("room", [said("m1", "I live in Berlin", at=NOON - 9_000_000)])
        await client.append("room", [said("m2", "I moved to Rome", at=NOON - 1_000_000)])
        wanted = [("place", "Berlin"), ("place", "Rome")]
        past = lambda: values(client, include_past=True)  # noqa: E731
        assert await until(past, wanted) == wanted
        assert await values(client) == [("place", "Rome")]
        assert await shown(client) == ["The user lives in Rome."]
        assert await shown(client, at=NOON - 2_000_000) == ["The user lives in Berlin."]
        await client.recall_message("room", "m2")
        assert await shown(client) == ["The user lives in Berlin."]
        await client.set_preference("u1", topic="place", value="Oslo", valid_from=NOON - 5_000)
        assert await shown(client) == ["The user lives in Oslo."]
        assert await shown(client, at=NOON - 6_000) == ["The user lives in Berlin."]
        found = await client.list_preferences("u1", include_past=True)
        assert [one.status for one in found] == [
            pb.PREFERENCE_STATUS_CURRENT, pb.PREFERENCE_STATUS_PAST,
        ]  # fmt: skip


@pytest.mark.row("S1-23")
async def test_only_what_people_say_to_everybody_is_read():
    """No bot, no assistant, no whisper; redaction comes first."""
    async with served(redaction="email", **RULES) as (client, _):
        bot = Author("u1", "Ann", "bot")
        await client.append(
            "room",
            [
                said("m1", "I like tea", bot),
                said("m2", "I like coffee", role="assistant"),
                said("m3", "I like jazz", audience=["u1", "u2"]),
                said("m4", "call me ann@example.org"),
                said("m5", "I like chess"),
            ],
        )
        assert await settled(client) == [("likes", "chess")]


@pytest.mark.row("S1-23")
async def test_who_does_not_want_to_be_learnt_from_is_not_read():
    """From then on, in every channel."""
    async with served(**RULES) as (client, _):
        await client.append("room", [said("m1", "I like tea")])
        assert await settled(client) == [("likes", "tea")]
        await client.set_usage_consent("u1", collect_usage=False)
        await client.append("room", [said("m2", "I like coffee"), said("m3", "I like jazz", BEN)])
        assert await settled(client, "u2") == [("likes", "jazz")]
        assert await values(client) == [("likes", "tea")]


@pytest.mark.row("S1-23")
async def test_a_model_is_believed_as_far_as_it_can_be_checked():
    """No message of that number, no such value, not said there, no topic's name: left out. No JSON: nothing."""
    model = FakeModel(
        *[
            answering(
                {"message": 1, "topic": "work", "value": "shipyard"},
                {"message": 9, "topic": "likes", "value": "tea"},
                {"message": 1, "topic": "likes", "value": "submarines"},
                {"message": 1, "topic": "language", "value": "shipyard"},
                {"message": 1, "topic": "Bad Topic", "value": "shipyard"},
                {"message": "1", "value": None},
                "nonsense",
            ),
            ["I found nothing, sorry.", STOP],
            answering({"message": 1, "topic": "hobby", "value": "origami"}),
        ]
    )
    async with served(model=model, **MODEL) as (client, _):
        for number, text in enumerate(
            ["my days at the shipyard are long", "I told you", "my evenings are for origami"]
        ):
            await client.append("room", [said(f"m{number}", text)])
            for _ in range(200):
                if len(model.requests) > number:
                    break
                await asyncio.sleep(0.05)
        wanted = [("work", "shipyard"), ("hobby", "origami")]
        assert await until(lambda: values(client), wanted) == wanted
        assert "shipyard" in model.requests[0].messages[-1].content


@pytest.mark.row("S1-23")
async def test_nobody_waits_for_the_model():
    """A model that hangs makes no append and no build late, and rules go on reading."""
    gate = asyncio.Event()
    model = FakeModel([Wait(gate), STOP], answering())
    async with served(model=model, **MODEL) as (client, _):
        await client.append("room", [said("m1", "I like tea")])
        for _ in range(200):
            if model.requests:
                break
            await asyncio.sleep(0.05)
        await client.append("room", [said("m2", "I like coffee")])
        wanted = [("likes", "tea"), ("likes", "coffee")]
        assert await until(lambda: values(client), wanted) == wanted
        assert await shown(client) == ["The user likes tea.", "The user likes coffee."]
        gate.set()


@pytest.mark.row("S1-23", "P-08")
async def test_own_topics_are_read_in_both_languages(tmp_path):
    path = tmp_path / "topics.toml"
    path.write_text('[topics.team]\nwords = {en = ["team"], zh = ["球队"]}\n', "utf-8")
    async with served(preference_topics=str(path), **RULES) as (client, _):
        await client.append(
            "room", [said("m1", "my team is Ajax"), said("m2", "我的球队是申花", BEN)]
        )
        assert await settled(client) == [("team", "Ajax")]
        assert await values(client, "u2") == [("team", "申花")]


@pytest.mark.row("S1-23")
async def test_two_hundred_of_one_person_and_no_more():
    """The oldest give way."""
    async with served(**RULES) as (client, _):
        lines = [said(f"m{n}", f"I like thing{n}", at=NOON - 900_000 + n) for n in range(210)]
        await client.append("room", lines)
        await settled(client)
        found = await values(client)
        assert len(found) == 200
        assert found[-1] == ("likes", "thing209")
        assert len(await shown(client)) == 20
        assert await stored(client, "u2") == []


@pytest.mark.row("S1-23")
async def test_what_is_edited_while_the_model_reads_is_not_kept():
    """The model read another text; it is asked about the new one."""
    gate, never = asyncio.Event(), asyncio.Event()
    old = json.dumps({"found": [{"message": 1, "topic": "work", "value": "shipyard"}]})
    model = FakeModel([Wait(gate), old, STOP], [Wait(never), STOP])
    async with served(model=model, **MODEL) as (client, _):
        await client.append("room", [said("m1", "my days at the shipyard are long")])
        assert await until(lambda: asked(model), 1) == 1
        await client.edit_message("room", "m1", "I like origami")
        now = [("likes", "origami")]
        assert await until(lambda: values(client), now) == now
        gate.set()
        assert await until(lambda: asked(model), 2) == 2
        assert await values(client) == now


async def asked(model):
    return len(model.requests)


@pytest.mark.row("S1-23")
async def test_a_server_that_stops_reads_what_waits(tmp_path, monkeypatch):
    """By rules; nothing is read again after the next start."""
    monkeypatch.setattr(extractor, "GATHER_S", 3_600.0)
    async with served(tmp_path / "b.db", **RULES) as (client, _):
        await client.append("room", [said("m1", "I like tea")])
        assert await values(client) == []
    async with served(tmp_path / "b.db", **RULES) as (client, _):
        assert await values(client) == [("likes", "tea")]


@pytest.mark.row("S1-23", "S5-45")
@pytest.mark.parametrize(
    "which", [{"channel": "room"}, {"all_channels": True}, {"channel": "other"}]
)
async def test_what_came_before_all_was_deleted_is_not_read(tmp_path, monkeypatch, which):
    """Though it waits to be read; what is said afterwards is read."""
    monkeypatch.setattr(extractor, "GATHER_S", 3_600.0)
    async with served(tmp_path / "b.db", **RULES) as (client, _):
        await client.append("room", [said("m1", "I like tea"), said("m2", "I like jazz", BEN)])
        await client.delete_preference("u1", "", **which)
        await client.append("room", [said("m3", "I like coffee")])
    before = [("likes", "tea")] if which.get("channel") == "other" else []
    async with served(tmp_path / "b.db", **RULES) as (client, _):
        assert await values(client) == [*before, ("likes", "coffee")]
        assert await values(client, "u2") == [("likes", "jazz")]
