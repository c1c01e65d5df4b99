"""Topics have a schema, the operator's own too; the same in Chinese and English fills the same slots."""

import pytest

from backscroll.v1 import preference_pb2 as pb
from backscroll_sidecar.errors import StartRefused
from tests.integration.preferences.asking import LINES, shown, stored
from tests.kit.served import served

OWN = """
[topics.team]
words = {en = ["team", "club"], zh = ["球队"]}
sentence = {en = "The user supports {value}.", zh = "用户支持{value}。"}

[topics.plan]
type = "choice"
always_shown = true
words = {en = ["plan"], zh = ["套餐"]}
choices = {free = ["免费"], paid = ["premium", "付费"]}
"""
NOW = pb.PREFERENCE_STATUS_CURRENT


@pytest.mark.row("P-08")
@pytest.mark.parametrize(
    ("topic", "english", "chinese", "value"),
    [
        ("language", "English", "英文", "en"),
        ("language", "zh-TW", "zh-TW", "zh-TW"),
        ("time_zone", "utc+8", "东八区", "UTC+08:00"),
        ("time_zone", "europe/berlin", "Europe/Berlin", "Europe/Berlin"),
        ("tone", "Formally", "正式", "formal"),
        ("length", "concise", "简洁", "short"),
    ],
)
async def test_values_have_one_form(client, topic, english, chinese, value):
    for user, said in (("en", english), ("zh", chinese)):
        await client.set_preference(user, topic=topic, value=said)
        assert await stored(client, user) == [("", topic, value, NOW)]


@pytest.mark.row("P-08")
async def test_topics_are_listed_with_their_schema(client):
    topics = {one.name: one for one in await client.list_preference_topics()}
    assert {
        "name",
        "not_called",
        "language",
        "tone",
        "length",
        "likes",
        "dislikes",
        "diet",
    } <= topics.keys()
    assert {"work", "place", "time_zone", "project", "birthday"} <= topics.keys()
    assert topics["language"].type == pb.PREFERENCE_TOPIC_TYPE_LANGUAGE
    assert not topics["language"].has_many
    assert topics["likes"].has_many
    assert topics["likes"].opposite == "dislikes"
    assert "formal" in topics["tone"].choices
    for one in topics.values():
        assert any(word.isascii() for word in one.words)
        assert any(not word.isascii() for word in one.words)


@pytest.mark.row("P-08")
async def test_a_topic_that_nobody_knows_is_free(client):
    """Any number of values, told in the language of the value."""
    await client.append("room", LINES)
    await client.set_preference("u1", topic="shoe_size", value="42")
    await client.set_preference("u1", topic="shoe_size", value="四十二")
    await client.set_preference("u1", "takes a wide fit", topic="shoe_size")
    assert await shown(client) == [
        "The user's shoe size: 42.", "用户的shoe size：四十二。", "takes a wide fit",
    ]  # fmt: skip


@pytest.mark.row("P-08")
async def test_the_operators_own_topics(tmp_path):
    """One value at a time, choices by any of their names, sentences of their own."""
    path = tmp_path / "topics.toml"
    path.write_text(OWN, "utf-8")
    async with served(preference_topics=str(path)) as (client, _):
        await client.append("room", LINES)
        await client.set_preference("u1", topic="team", value="Ajax")
        await client.set_preference("u1", topic="team", value="申花")
        await client.set_preference("u1", topic="plan", value="付费")
        assert await stored(client) == [("", "team", "申花", NOW), ("", "plan", "paid", NOW)]
        names = [one.name for one in await client.list_preference_topics()]
        assert names[-2:] == ["team", "plan"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[topics.", "cannot be used"),
        ("", "at least one table"),
        ("[other]", "other: the only table"),
        ("[topics.likes]", "topics.likes: a built-in topic has this name"),
        ("[topics.Team]", "topics.Team: a name is of small letters"),
        ("[topics.team]\nkind = 1", "topics.team.kind: is none of type"),
        ('[topics.team]\ntype = "number"', "topics.team.type: is none of text"),
        ("[topics.team]", "topics.team.words"),
        ('[topics.team]\nwords = {en = ["team"]}', "topics.team.words"),
        ('[topics.team]\nwords = {en = ["team"], zh = []}', "topics.team.words.zh"),
        ('[topics.team]\nmany = 1\nwords = {en = ["a"], zh = ["b"]}', "topics.team.many"),
        ('[topics.team]\ntype = "choice"\nwords = {en = ["a"], zh = ["b"]}', "topics.team.choices"),
        ('[topics.team]\nwords = {en = ["a"], zh = ["b"]}\nsentence = {en = "x", zh = "{value}"}', "sentence.en"),
    ],
)  # fmt: skip
async def test_a_file_that_cannot_be_used_stops_the_start(tmp_path, text, said):
    path = tmp_path / "topics.toml"
    path.write_text(text, "utf-8")
    with pytest.raises(StartRefused, match=said):
        async with served(preference_topics=str(path)):
            pass


async def test_a_file_that_is_not_there_stops_the_start(tmp_path):
    with pytest.raises(StartRefused, match="No such file"):
        async with served(preference_topics=str(tmp_path / "none.toml")):
            pass


@pytest.mark.row("P-07", "P-08")
async def test_some_topics_are_shown_whatever_the_question(client):
    """Where there are more than are shown, before what the question speaks of."""
    await client.append("room", LINES)
    await client.set_preference("u1", topic="language", value="en")
    for n in range(25):
        await client.set_preference("u1", f"wants tea number {n}")
    found = await shown(client, question="which tea number now?")
    assert len(found) == 20
    assert found[0] == "The user wants answers in English."
