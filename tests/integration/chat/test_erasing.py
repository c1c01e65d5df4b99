"""Erasing and recalling while a turn is open: nothing of what went comes back, in any row or any next round (N-10)."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from backscroll import Message
from tests.integration.chat.talk import ROOM, Bot, Heard, answers, refused, talk, text_of, turn
from tests.kit.fake_model import CALLS, STOP, FakeModel, Wait, call
from tests.kit.kept import kept_bytes

SECRET = Message("m1", "u2", "my secret is 4711", 1_795_176_000_000)
OTHER = Message("m2", "u2", "unrelated", 1_795_176_001_000)
GONE = ("NOT_FOUND", "TURN_NOT_FOUND", "turn_id")
Act = Callable[[Bot], Awaitable[object]]


async def meanwhile(bot: Bot, model: FakeModel, request, act: Act, go: asyncio.Event) -> Heard:
    """Ask, do something once the model is at work, let the model go on."""
    calls = len(model.calls)
    asking = asyncio.create_task(bot.ask(request))
    async with asyncio.timeout(120):
        while len(model.calls) == calls:  # noqa: ASYNC110 - nothing else tells
            await asyncio.sleep(0.005)
        while not await bot.stored():  # noqa: ASYNC110 - the question's commit runs beside
            await asyncio.sleep(0.005)
    await act(bot)
    go.set()
    return await asking


async def erase_channel(bot: Bot) -> None:
    await bot.client.erase(ROOM, whole_channel=True)


async def erase_question(bot: Bot) -> None:
    await bot.client.erase(ROOM, message_ids=["q1"])


async def erase_author(bot: Bot) -> None:
    await bot.client.erase(ROOM, user_id="u2")


async def recall_secret(bot: Bot) -> None:
    await bot.client.recall_message(ROOM, "m1")


async def recall_other(bot: Bot) -> None:
    await bot.client.recall_message(ROOM, "later")


ERASING = [erase_channel, erase_question, erase_author]


@pytest.mark.parametrize("act", [*ERASING, recall_secret])
async def test_a_turn_does_not_bring_back_what_was_erased_in_a_round(
    act: Act, tmp_path: Path
) -> None:
    """The model asks for another tool after the erasure: no row, no further round, and the bot is told."""
    go = asyncio.Event()
    model = FakeModel([call("c1"), CALLS], [Wait(go), call("c2"), CALLS])
    path = tmp_path / "b.db"
    async with talk(model, database=path) as bot:
        await bot.tell(SECRET)
        asked = turn("what is it?", tools=True, question_message_id="q1")
        turn_id = (await bot.ask(asked)).end.turn_id
        assert "4711" in str(model.requests[0].messages)
        heard = await meanwhile(bot, model, answers(turn_id, c1="4711!"), act, go)
        assert (heard.reason, heard.end.turn_id) == ("UPSTREAM_ERROR", "")
        assert [one.reason for one in heard.errors] == ["MESSAGE_GONE"]
        assert refused(await bot.ask(answers(turn_id, c2="x"))) == GONE
        assert await bot.app.store.records_of_owner("default", "turn", turn_id, 0) == []
        if act is erase_channel:
            assert await bot.stored() == []
            if bot.app.store.maintenance:
                await bot.app.store.maintenance.wipe()
    if act is erase_channel:
        assert b"4711" not in kept_bytes(tmp_path)
    assert len(model.calls) == 2


@pytest.mark.parametrize("act", ERASING)
async def test_a_reply_about_what_was_erased_is_not_stored(act: Act) -> None:
    """It was said, it is not kept: no row, no turn that says it again."""
    go = asyncio.Event()
    model = FakeModel([Wait(go), "your secret: 4711", STOP])
    async with talk(model) as bot:
        await bot.tell(SECRET)
        asked = turn("what is it?", question_message_id="q1")
        heard = await meanwhile(bot, model, asked, act, go)
        assert (heard.text, heard.reason) == ("your secret: 4711", "COMPLETE")
        assert [one.reason for one in heard.errors] == ["MESSAGE_GONE"]
        assert heard.end.reply_message_id == ""
        assert refused(await bot.ask(answers(heard.end.turn_id))) == GONE
        assert not [row for row in await bot.stored() if row.message.author.id == "bot"]


@pytest.mark.parametrize("act", [*ERASING, recall_secret])
async def test_a_waiting_turn_goes(act: Act, tmp_path: Path) -> None:
    """While the bot runs its tools: the turn is gone, nothing is sent to the model again."""
    model = FakeModel([call("c1"), CALLS])
    async with talk(model, database=tmp_path / "b.db") as bot:
        await bot.tell(SECRET)
        asked = turn("what is it?", tools=True, question_message_id="q1")
        turn_id = (await bot.ask(asked)).end.turn_id
        await act(bot)
        assert refused(await bot.ask(answers(turn_id, c1="x"))) == GONE
    assert len(model.calls) == 1


async def test_a_recalled_result_of_a_tool_ends_the_turn() -> None:
    """The rows of a round are messages like others."""
    model = FakeModel([call("c1"), CALLS], [call("c2"), CALLS])
    async with talk(model) as bot:
        turn_id = await bot.open_turn()
        await bot.ask(answers(turn_id, c1="4711"))
        (row,) = [one for one in await bot.stored() if one.message.parts[0].HasField("tool_result")]
        await bot.client.recall_message(ROOM, row.message.id)
        assert refused(await bot.ask(answers(turn_id, c2="x"))) == GONE


@pytest.mark.parametrize("waiting", [False, True])
async def test_what_a_turn_does_not_show_may_be_recalled(*, waiting: bool) -> None:
    """People take back typing errors all the time: turns and replies that never saw them go on."""
    go = asyncio.Event()
    model = FakeModel([call("c1"), CALLS], [Wait(go), call("c2"), CALLS], ["sunny", STOP])
    async with talk(model) as bot:
        turn_id = await bot.open_turn()
        await bot.tell(Message("later", "u2", "a typo", 1_795_176_002_000))
        if waiting:
            await recall_other(bot)
            go.set()
            heard = await bot.ask(answers(turn_id, c1="x"))
        else:
            heard = await meanwhile(bot, model, answers(turn_id, c1="x"), recall_other, go)
        assert (heard.reason, heard.errors) == ("TOOL_CALLS", [])
        heard = await bot.ask(answers(turn_id, c2="x"))
        assert (heard.text, heard.reason, heard.errors) == ("sunny", "COMPLETE", [])
        assert text_of((await bot.stored())[-1]) == "sunny"


async def test_an_erasure_elsewhere_changes_nothing() -> None:
    go = asyncio.Event()
    model = FakeModel([Wait(go), "six", STOP])
    async with talk(model) as bot:
        await bot.client.append("other", OTHER)

        async def erase_other(bot: Bot) -> None:
            await bot.client.erase("other", whole_channel=True)

        heard = await meanwhile(bot, model, turn(), erase_other, go)
        assert (heard.errors, bool(heard.end.reply_message_id)) == ([], True)
