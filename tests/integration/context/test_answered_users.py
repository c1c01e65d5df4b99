"""Who is answered, on every answer that carries messages: three platforms, renames, late parents, unknown ones."""

import pytest

from backscroll import Author, InvalidRequest, Member, Mention, Message, Reply
from backscroll.v1 import message_pb2 as pb
from tests.kit.served import served

NOON = 1_795_176_000_000
ANN, BEN, CAT = Author("u1", "Ann"), Author("u2", "Ben"), Author("u3", "小黑")

TELEGRAM = [
    Message("100", BEN, "who has the key?", NOON - 9_000),
    Message("101", ANN, "I have", NOON - 8_000, reply_to="100"),
]
"""A quote: `reply_to_message` of a Telegram update."""
IRC = [
    Message("l1", BEN, "who has the key?", NOON - 9_000),
    Message(
        "l2", ANN, "Ben: I have", NOON - 8_000,
        reply_to=Reply("l1", "mention", inferred=True), mentions=[Mention("u2", "Ben", 0, 3)],
    ),
]  # fmt: skip
"""IRC knows no replies: the bot concludes the edge from the name in front, and says so."""
SLACK = [
    Message("1795175991.1", CAT, "谁有钥匙？", NOON - 9_000),
    Message(
        "1795175992.2", ANN, "我有", NOON - 8_000, reply_to=Reply("1795175991.1", "thread"), thread_id="1795175991.1"
    ),
]  # fmt: skip
"""A thread reply: `thread_ts` names the root."""
FIXTURES = {
    "quote": (TELEGRAM, pb.REPLY_KIND_QUOTE, False, "u2"),
    "mention": (IRC, pb.REPLY_KIND_MENTION, True, "u2"),
    "thread": (SLACK, pb.REPLY_KIND_THREAD, False, "u3"),
}


async def everywhere(client, message_id: str, room: str = "room") -> list[pb.Reply]:
    """The edge of one message as each answer tells it."""
    rows = [
        row for row in [r async for r in client.list_messages(room)] if row.message.id == message_id
    ]
    rows += [
        row
        for row in (await client.get_thread(room, message_id)).messages
        if row.message.id == message_id
    ]
    rows += [
        row
        for row in [r async for r in client.export_messages(room)]
        if row.message.id == message_id
    ]
    rows += [r async for r in client.list_messages(room, message_ids=[message_id])]
    assert len(rows) == 4
    context = await client.build_context(room, "where is it now?", asker=CAT, asked_at=NOON)
    (item,) = [item for item in context.items if item.message.id == message_id]
    trigger = await client.build_context(room, trigger_message_id=message_id)
    explained = await client.build_context(room, "where?", asker=CAT, asked_at=NOON, explain=True)
    (again,) = [item for item in explained.items if item.message.id == message_id]
    messages = [item.message, again.message, trigger.raw.trigger, *(row.message for row in rows)]
    return [*(row.reply for row in rows), *(message.reply for message in messages)]


@pytest.mark.row("S5-02", "S5-58")
@pytest.mark.parametrize("platform", FIXTURES)
async def test_the_answered_user_is_named_on_every_answer(client, platform):
    """S5-02, S5-58: message, user, kind and whether it was concluded, for three platforms."""
    lines, kind, inferred, user_id = FIXTURES[platform]
    await client.append("room", lines)
    for reply in await everywhere(client, lines[1].id):
        assert (reply.message_id, reply.kind, reply.inferred, reply.user_id) == (
            lines[0].id, kind, inferred, user_id,
        )  # fmt: skip


@pytest.mark.row("S5-02", "S5-06")
async def test_an_edge_concluded_from_a_mention_is_ignored_by_the_reply_chain(client):
    """S5-02: marked inferred, and no share of `classic`'s reply chain; a platform's own has it."""
    for platform, share in (("quote", 0.4 * 0.8), ("mention", 0.0), ("thread", 0.4 * 0.8)):
        lines = FIXTURES[platform][0]
        await client.append(platform, lines)
        context = await client.build_context(
            platform,
            "and?",
            asker=CAT,
            asked_at=NOON,
            reply=lines[1].id,
            profile="classic",
            explain=True,
        )
        shares = {one.message_id: one.shares[0] for one in context.explanation.candidates}
        assert shares[lines[0].id] == pytest.approx(share)


@pytest.mark.row("S5-58")
async def test_an_edge_that_the_server_infers_names_its_user(client):
    """S5-58: the row says whom, the message stays as it was sent."""
    await client.append("room", [TELEGRAM[0], Message("m", ANN, "@Ben here it is", NOON - 8_000)])
    rows = {row.message.id: row async for row in client.list_messages("room")}
    assert (rows["m"].reply.user_id, rows["m"].reply.inferred) == ("u2", True)
    assert not rows["m"].message.HasField("reply")
    context = await client.build_context("room", "where?", asker=CAT, asked_at=NOON)
    (item,) = [item for item in context.items if item.message.id == "m"]
    assert not item.message.HasField("reply")


@pytest.mark.row("S5-58")
async def test_a_rename_a_late_parent_and_an_edit_keep_it_right(client):
    """S5-58: before the parent is there it is what the sender said, then the parent's author, whatever the name."""
    said = Message("101", ANN, "I have", NOON - 8_000, reply_to=Reply("100", user_id="somebody"))
    await client.append("room", said)
    assert {reply.user_id for reply in await everywhere(client, "101")} == {"somebody"}
    await client.append("room", TELEGRAM[0])
    assert {reply.user_id for reply in await everywhere(client, "101")} == {"u2"}
    await client.upsert_members("room", Member("u2", "Benjamin"))
    await client.edit_message("room", "100", "who has my key?")
    assert {reply.user_id for reply in await everywhere(client, "101")} == {"u2"}
    await client.recall_message("room", "100")
    assert {reply.user_id for reply in await everywhere(client, "101")} == {"u2"}
    await client.erase("room", message_ids=["100"])
    assert {reply.user_id for reply in await everywhere(client, "101")} == {"somebody"}


@pytest.mark.row("S5-58")
async def test_what_the_sender_said_is_kept(tmp_path):
    """S5-58: over a restart, an edit and the same append again, which is a duplicate whether it says so or not."""
    said = Message("101", ANN, "I have", NOON - 8_000, reply_to=Reply("100", user_id="u2"))
    async with served(tmp_path / "h.db") as (client, _):
        await client.append("room", said)
        await client.edit_message("room", "101", "I have it")
    async with served(tmp_path / "h.db") as (client, _):
        assert {reply.user_id for reply in await everywhere(client, "101")} == {"u2"}
        for reply in (Reply("100", user_id="u2"), Reply("100")):
            again = await client.append(
                "room", Message("101", ANN, "I have", NOON - 8_000, reply_to=reply)
            )
            assert (again.duplicates, again.warnings) == (1, ())


@pytest.mark.row("S5-58", "S2-18")
async def test_a_question_that_answers_the_bot_addresses_it_even_where_the_answer_is_unknown(
    client,
):
    """S2-18: by the stored message's author, else by whom the request names."""
    await client.append("room", TELEGRAM)
    asked = {"asker": ANN, "asked_at": NOON, "self_ids": ["bot"]}
    for reply, addressed in (
        (Reply("unknown", user_id="bot"), True),
        (Reply("unknown"), False),
        (Reply("100", user_id="bot"), False),
    ):
        context = await client.build_context("room", "really?", reply=reply, **asked)
        assert context.raw.addressed is addressed


async def test_too_long_a_user_id_is_refused(client):
    """By name, in a message and in a request."""
    long = Reply("100", user_id="u" * 513)
    report = await client.append("room", Message("m", ANN, "x", NOON, reply_to=long))
    assert [one.field for one in report.problems] == ["reply.user_id"]
    with pytest.raises(InvalidRequest) as refused:
        await client.build_context("room", "x", reply=long)
    assert refused.value.field == "reply.user_id"
