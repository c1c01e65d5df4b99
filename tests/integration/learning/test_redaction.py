"""What is kept out of stored messages, by channel, over the wire and on the disk."""

import pytest

from backscroll import Author, Mention, Message
from backscroll.errors import InvalidRequest
from tests.kit.fake_model import STOP, FakeModel
from tests.kit.kept import kept_bytes
from tests.kit.served import served

NOON = 1_795_176_000_000
ANN = Author("u1", "Ann")
TEXT = "write to ann@example.com or call 13800138000"


def said(id_, text=TEXT, **fields):
    return Message(id_, ANN, text, NOON, **fields)


async def stored(client, channel="room"):
    return {
        one.message.id: one.message.parts[0].text.text
        async for one in client.list_messages(channel)
    }


@pytest.mark.row("P-15")
async def test_each_channel_has_its_own_set(tmp_path):
    """P-15: nothing of it reaches the disk; the server's set holds where a channel has none; equal texts stay equal."""
    database = tmp_path / "b.db"
    async with served(database, redaction=["phone"]) as (client, _):
        await client.set_channel_settings("room", redaction=["email", "phone"])
        await client.set_channel_settings("open", redaction=[])
        for channel in ("room", "other"):
            report = await client.append(channel, [said("m1"), said("m2", "hi")])
            assert (report.stored, report.duplicates) == (2, 0)
            again = await client.append(channel, said("m1"))
            assert (again.stored, again.duplicates) == (0, 1)
        assert await stored(client) == {"m1": "write to [email] or call [phone number]", "m2": "hi"}
        assert (await stored(client, "other"))[
            "m1"
        ] == "write to ann@example.com or call [phone number]"
        await client.edit_message("room", "m2", "我的邮箱 bob@example.com")
        assert (await stored(client))["m2"] == "我的邮箱 [邮箱]"
        told = await client.get_channel_settings("room")
        assert list(told.redaction.kinds) == [1, 2]
        assert not (await client.get_channel_settings("open")).redaction.kinds
        context = await client.build_context("room", "whom do I write to?", asker=ANN)
        assert "[email]" in str(context.payload)
    left = kept_bytes(tmp_path)
    assert b"bob@example.com" not in left
    assert b"13800138000" not in left
    async with served(database) as (client, _):
        await client.append("open", said("m1"))
        assert (await stored(client, "open"))["m1"] == TEXT


@pytest.mark.row("P-15")
async def test_imports_and_answers_too():
    async with served(model=FakeModel(["ask ann@example.com", STOP]), redaction=["email"]) as (
        client,
        _,
    ):
        await client.import_messages([said("m1", channel="room")])
        answer = await client.chat(
            "room", "who knows? bob@example.com?", asker=ANN, self_ids=["bot"]
        )
        assert answer.text == "ask ann@example.com"  # who asks sees it; it is not kept
        texts = (await stored(client)).values()
        assert "write to [email] or call 13800138000" in texts
        assert "ask [email]" in texts
        assert "who knows? [email]?" in texts


@pytest.mark.row("P-15")
async def test_what_is_said_of_an_answer_too(tmp_path):
    async with served(tmp_path / "b.db", redaction=["phone"]) as (client, _):
        await client.set_channel_settings("open", redaction=[])
        for channel, kept in (("room", "call [phone number]"), ("open", "call 13800138000")):
            await client.append(channel, said("m1", "hi"))
            built = await client.build_context(channel, "who?", asker=ANN)
            told = await client.record_feedback(built.id, user_id="u1", text="call 13800138000")
            assert told.user_feedback == kept
            assert (await client.get_usage_record(built.id)).user_feedback == kept


@pytest.mark.row("P-15")
async def test_mentions_keep_their_places():
    async with served(redaction=["email"]) as (client, _):
        text = "ann@example.com asks @Ben"
        start = text.index("@Ben")
        mention = Mention("u2", "Ben", start, start + 4)
        await client.append("room", said("m1", text, mentions=[mention]))
        (row,) = [one.message async for one in client.list_messages("room")]
        (kept,) = row.mentions
        assert row.parts[0].text.text[kept.start : kept.end] == "@Ben"


@pytest.mark.row("P-15")
async def test_a_kind_that_is_none_is_refused():
    async with served() as (client, _):
        with pytest.raises(InvalidRequest) as refused:
            await client.set_channel_settings("room", redaction=[99])
        assert refused.value.field == "settings.redaction.kinds[0]"
