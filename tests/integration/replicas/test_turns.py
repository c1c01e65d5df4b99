"""What one server erased no turn of another brings back (P-22, N-10)."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from backscroll import AsyncClient, Message
from tests.integration.chat.talk import ROOM, talk, turn
from tests.kit.fake_model import STOP, FakeModel, Wait
from tests.kit.postgres import server
from tests.kit.served import served

pytestmark = pytest.mark.row("P-22")
SECRET = Message("m1", "u2", "my secret is 4711", 1_795_176_000_000)
LATER = Message("later", "u2", "the train is late", 1_795_176_001_000)
Act = Callable[[AsyncClient], Awaitable[object]]


@pytest.mark.parametrize(
    ("act", "is_kept"),
    [
        pytest.param(lambda there: there.erase(ROOM, whole_channel=True), False, id="channel"),
        pytest.param(lambda there: there.erase(ROOM, user_id="u2"), False, id="author"),
        pytest.param(lambda there: there.erase(ROOM, message_ids=["m1"]), False, id="message"),
        pytest.param(lambda there: there.append(ROOM, [LATER]), True, id="nothing"),
    ],
)
async def test_a_reply_about_what_another_server_erased(act: Act, *, is_kept: bool) -> None:
    go = asyncio.Event()
    model = FakeModel([Wait(go), "your secret: 4711", STOP])
    url = await server().emptied()
    async with talk(model, database=url) as bot, served(url) as (there, _):
        await bot.tell(SECRET)
        asking = asyncio.create_task(bot.ask(turn("what is it?", question_message_id="q1")))
        async with asyncio.timeout(60):
            while not model.calls or not any(  # noqa: ASYNC110 - the question's commit runs beside
                row.message.id == "q1" for row in await bot.stored()
            ):
                await asyncio.sleep(0.01)
        await act(there)
        go.set()
        heard = await asking
        said = [row for row in await bot.stored() if row.message.author.id == "bot"]
    assert (heard.text, heard.reason) == ("your secret: 4711", "COMPLETE")
    assert bool(said) == is_kept
    assert [one.reason for one in heard.errors] == ([] if is_kept else ["MESSAGE_GONE"])


async def test_a_question_is_answered_once() -> None:
    """A bot that asks another server again, while the first one still answers, waits for that answer."""
    go = asyncio.Event()
    first, second = FakeModel([Wait(go), "at nine", STOP]), FakeModel(["never", STOP])
    url = await server().emptied()
    async with talk(first, database=url) as here, talk(second, database=url) as there:
        await here.tell(SECRET)
        asked = turn("when?", question_message_id="q1")
        asking = asyncio.create_task(here.ask(asked))
        async with asyncio.timeout(60):
            while not first.calls:  # noqa: ASYNC110 - nothing else tells
                await asyncio.sleep(0.01)
        again = asyncio.create_task(there.ask(asked))
        await asyncio.sleep(0.3)
        assert not again.done()
        go.set()
        heard = [await asking, await again]
    assert [one.text for one in heard] == ["at nine", "at nine"]
    assert not second.calls
