"""What one server erased no turn of another brings back (P-22, N-10)."""

import asyncio
import itertools
from collections.abc import Awaitable, Callable

import pytest

from backscroll import AsyncClient, Message
from backscroll_sidecar.history import unfinished
from backscroll_sidecar.ports import EVERYWHERE, Applied, Change, EraseChange
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


async def test_an_erasure_under_way_elsewhere_keeps_turns_from_writing() -> None:
    """Only what is of no channel is left to erase when the turn ends, in a channel that held nothing of the person."""
    go, erased, may_end = asyncio.Event(), asyncio.Event(), asyncio.Event()
    model = FakeModel([Wait(go), "your secret: 4711", STOP], ["hello", STOP])
    url = await server().emptied()
    async with talk(model, database=url) as bot, served(url) as (there, app):
        for channel in ("elsewhere", "afar"):
            await there.append(channel, SECRET)
        asking = asyncio.create_task(bot.ask(turn("what is it?", question_message_id="q1")))
        async with asyncio.timeout(60):
            while not model.calls:  # noqa: ASYNC110 - nothing else tells
                await asyncio.sleep(0.01)
        submit = app.history._writer.submit

        async def last_of_all(change: Change, deadline_s: float | None = None) -> Applied:
            if isinstance(change, EraseChange) and change.key.channel == EVERYWHERE:
                erased.set()
                await may_end.wait()
            return await submit(change, deadline_s)

        app.history._writer.submit = last_of_all  # type: ignore[method-assign]
        erasing = asyncio.create_task(there.erase(user_id="u2", all_channels=True))
        await erased.wait()
        await asyncio.sleep(0.2)
        go.set()
        heard = await asking
        may_end.set()
        await erasing
        assert [one.reason for one in heard.errors] == ["MESSAGE_GONE"]
        assert not [row for row in await bot.stored() if row.message.author.id == "bot"]
        again = await bot.ask(turn("hello?", question_message_id="q2"))
        assert (again.text, again.errors) == ("hello", [])


async def test_turns_write_again_once_who_erased_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unfinished, "ENDED_S", 0.2)
    model = FakeModel(*[["hello", STOP]] * 1_000)
    url = await server().emptied()
    async with talk(model, database=url) as bot:
        async with served(url) as (_, app):
            await app.store.shared.hold_turns("default", "an erasure that never ends")
            held = await bot.ask(turn("hello?", question_message_id="q"))
            assert [one.reason for one in held.errors] == ["MESSAGE_GONE"]
        async with asyncio.timeout(60):
            for n in itertools.count():
                if not (await bot.ask(turn("hello?", question_message_id=f"q{n}"))).errors:
                    break
                await asyncio.sleep(0.1)
