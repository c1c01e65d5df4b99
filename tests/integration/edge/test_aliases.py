"""Other ids of messages, through gRPC and the client: told by the bot, and found by the server itself."""

import asyncio
import time
from pathlib import Path

import pytest

from backscroll import Author, Client, Message
from backscroll.errors import Conflict, Gone, InvalidRequest, NotFound
from backscroll.v1 import history_pb2 as pb
from backscroll_sidecar.domain import ToolCallPart
from backscroll_sidecar.ports import Finished, FinishReason, ToolCallDelta
from tests.integration.chat.talk import Bot, answers, talk, text_of, turn
from tests.kit.fake_model import STOP, FakeModel, Wait

ANN, BEN, CAT = Author("u1", "Ann"), Author("u2", "Ben"), Author("bot", "Cat", kind="bot")
SAID = "We meet on **Thursday**."
TRIGGER = {"question": "", "trigger_message_id": "q1"}


def line(id: str, author: Author, text: str, after_s: float = 0, **fields) -> Message:
    return Message(id, author, text, int((time.time() + after_s) * 1000), **fields)


async def answered(bot: Bot) -> str:
    """A question in the room and what the bot said to it."""
    await bot.tell(line("q1", ANN, "which day do we meet?", -5))
    return (await bot.ask(turn(context=TRIGGER))).end.reply_message_id


async def shown(bot: Bot, trigger: str = "q2") -> list[str]:
    built = await bot.client.build_context("room", trigger_message_id=trigger, self_ids=["bot"])
    return [one.content for one in built.raw.messages]


IN_CONTEXT = ["Ann <u1>: which day do we meet?", SAID, "Ben <u2>: why then?"]


@pytest.mark.parametrize("database", ["memory", "file"])
async def test_the_platforms_copy_of_a_reply(database: str, tmp_path: Path) -> None:
    """Its id becomes another one of the reply: one message in the context, and answers find it, after a restart too."""
    path = tmp_path / "history.db" if database == "file" else ":memory:"
    async with talk(FakeModel([SAID, STOP]), path) as bot:
        reply = await answered(bot)
        report = await bot.client.append(
            "room", line("p1", CAT, "We meet on Thursday.", role="assistant", reply_to="q1")
        )
        (result,) = report.results
        assert result.outcome == pb.APPEND_OUTCOME_DUPLICATE
        assert list(result.warnings) == [pb.APPEND_WARNING_OWN_REPLY_SEEN]
        assert (result.duplicate_of, result.sequence) == (reply, 2)
        await bot.tell(line("q2", BEN, "why then?", 3, reply_to="p1"))
        assert await shown(bot) == IN_CONTEXT
        _, stored, last = await bot.stored()
        assert list(stored.alias_ids) == ["p1"]
        assert last.message.reply.message_id == reply
    if database == "file":
        async with talk(database=path) as bot:
            assert await shown(bot) == IN_CONTEXT
            built = await bot.client.build_context("room", trigger_message_id="p1")
            assert built.raw.trigger.id == reply


async def test_an_alias_told_after_people_answered_it() -> None:
    """Every read knows both ids: lists, trees, triggers, edges of a request."""
    async with talk(FakeModel([SAID, STOP])) as bot:
        reply = await answered(bot)
        await bot.tell(line("q2", BEN, "why then?", 3, reply_to="p1"))
        await shown(bot)  # hot before the alias
        for _ in range(2):
            assert await bot.client.alias_message("room", reply, "p1") is None
        assert await shown(bot) == IN_CONTEXT
        for asked in ("p1", reply, "q2"):
            tree = await bot.client.get_thread("room", asked)
            assert tree.root_message_id == "q1"
            assert [row.message.id for row in tree.messages] == ["q1", reply, "q2"]
        named = bot.client.list_messages("room", message_ids=["p1", reply, "q1"])
        assert [row.message.id async for row in named] == [reply, "q1"]
        built = await bot.client.build_context(
            "room", "and where?", asker="u1", reply="p1", self_ids=["bot"]
        )
        assert SAID in [one.content for one in built.raw.messages]
        exported = [row async for row in bot.client.export_messages("room")]
        assert [list(row.alias_ids) for row in exported] == [[], ["p1"], []]


@pytest.mark.parametrize("database", ["memory", "file"])
async def test_a_reply_that_the_platform_shows_in_pieces(database: str, tmp_path: Path) -> None:
    """The bot tells the id of each piece before it appends the platform's events: they are one message."""
    halves = ("We meet on Thursday.", "Bring the frogs.")
    path = tmp_path / "history.db" if database == "file" else ":memory:"
    async with talk(FakeModel([" ".join(halves), STOP]), path) as bot:
        reply = await answered(bot)
        for piece in ("p1", "p2"):
            await bot.client.alias_message("room", reply, piece)
        for piece, half in zip(("p1", "p2"), halves, strict=True):
            echo = line(piece, CAT, half, 1, role="assistant", reply_to="q1")
            (result,) = (await bot.client.append("room", echo)).results
            assert (result.outcome, result.duplicate_of) == (pb.APPEND_OUTCOME_DUPLICATE, reply)
        await bot.tell(line("q2", BEN, "why then?", 3, reply_to="p2"))
        assert await shown(bot) == [IN_CONTEXT[0], " ".join(halves), IN_CONTEXT[2]]
        _, stored, last = await bot.stored()
        assert list(stored.alias_ids) == ["p1", "p2"]
        assert last.message.reply.message_id == reply


@pytest.mark.parametrize("database", ["memory", "file"])
async def test_the_platforms_copy_comes_before_the_reply_is_stored(
    database: str, tmp_path: Path
) -> None:
    """The bot posted while the model still spoke: one message under both ids, and asked twice answered once."""
    path = tmp_path / "history.db" if database == "file" else ":memory:"
    release = asyncio.Event()
    async with talk(FakeModel([SAID, Wait(release), STOP]), path) as bot:
        await bot.tell(line("q1", ANN, "which day do we meet?", -5))
        asking = asyncio.create_task(bot.ask(turn(context=TRIGGER)))
        echo = line("p1", CAT, "We meet on Thursday.", role="assistant", reply_to="q1")
        assert (await bot.client.append("room", echo)).results[
            0
        ].outcome == pb.APPEND_OUTCOME_STORED
        release.set()
        reply = (await asking).end.reply_message_id
        for _ in range(2):
            await bot.client.alias_message("room", reply, "p1")
        again = await bot.ask(turn(context=TRIGGER))  # the model has no second answer
        assert again.errors == []
        assert "Thursday" in again.text
        await bot.tell(line("q2", BEN, "why then?", 3, reply_to=reply))
        assert await shown(bot) == [IN_CONTEXT[0], "We meet on Thursday.", IN_CONTEXT[2]]
        _, stored, last = await bot.stored()
        assert (stored.message.id, list(stored.alias_ids)) == ("p1", [reply])
        assert last.message.reply.message_id == "p1"


async def test_edit_and_recall_by_alias() -> None:
    """A message edited and taken back by the platform's id; what shows it goes with it."""
    call = ToolCallDelta(ToolCallPart("c1", "weather"))
    model = FakeModel([SAID, STOP], [call, Finished(FinishReason.TOOL_CALLS)])
    async with talk(model) as bot:
        reply = await answered(bot)
        await bot.client.alias_message("room", reply, "p1")
        edited = await bot.client.edit_message("room", "p1", "We meet on Friday.")
        assert (edited.message.id, edited.revision, list(edited.alias_ids)) == (reply, 1, ["p1"])
        await bot.tell(line("q2", BEN, "why then?", 3, reply_to="p1"))
        turn_id = await bot.open_turn(context={"question": "", "trigger_message_id": "q2"})
        await bot.client.recall_message("room", "p1")
        gone = await bot.ask(answers(turn_id, c1="sun"))
        assert gone.refusal is not None
        assert gone.refusal.reason == "TURN_NOT_FOUND"
        rows = [row async for row in bot.client.list_messages("room", include_recalled=True)]
        assert [row.recalled for row in rows] == [False, True, False]
        report = await bot.client.append("room", line("p1", CAT, SAID, role="assistant"))
        assert report.results[0].outcome == pb.APPEND_OUTCOME_GONE
        with pytest.raises(Gone):
            await bot.client.alias_message("room", reply, "p2")


async def test_an_erased_message_takes_its_aliases_with_it() -> None:
    """They stay taken as its own id does, and the receipt counts them."""
    async with talk(FakeModel([SAID, STOP])) as bot:
        reply = await answered(bot)
        await bot.client.alias_message("room", reply, "p1")
        counts = await bot.client.erase("room", message_ids=["p1"])
        assert (counts["messages"], counts["aliases"]) == (1, 1)
        assert [row.message.id for row in await bot.stored()] == ["q1"]
        report = await bot.client.append("room", line("p1", CAT, SAID, role="assistant"))
        assert report.results[0].outcome == pb.APPEND_OUTCOME_GONE


async def test_what_is_no_alias() -> None:
    """Refused with the field at fault."""
    async with talk(FakeModel([SAID, STOP])) as bot:
        reply = await answered(bot)
        for message_id, alias_id, error, field in (
            (reply, "q1", Conflict, "alias_id"),
            ("nobody", "p1", NotFound, "message_id"),
            ("", "p1", InvalidRequest, "message_id"),
            (reply, "", InvalidRequest, "alias_id"),
            (reply, "p" * 513, InvalidRequest, "alias_id"),
        ):
            with pytest.raises(error) as failure:
                await bot.client.alias_message("room", message_id, alias_id)
            assert failure.value.field == field
        with pytest.raises(NotFound):
            await bot.client.alias_message("elsewhere", reply, "p1")


async def test_the_sync_client_knows_it() -> None:
    """The same call."""
    async with talk(FakeModel([SAID, STOP])) as bot:
        reply = await answered(bot)
        with Client(bot.client._target) as client:
            await asyncio.to_thread(client.alias_message, "room", reply, "p1")
        assert [text_of(row) for row in await bot.stored() if row.alias_ids] == [SAID]
