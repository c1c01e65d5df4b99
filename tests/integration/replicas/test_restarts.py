"""PostgreSQL starts again beneath a server: calls fail while it is away, and the server recovers by itself."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Literal, TypeVar

import pytest

from backscroll import AsyncClient, BackscrollError, Message
from tests.integration.chat.talk import ROOM, talk, turn
from tests.kit.fake_model import STOP, FakeModel, Wait
from tests.kit.postgres import PostgresServer
from tests.kit.served import served

pytestmark = pytest.mark.row("P-22")
T = TypeVar("T")


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    own = PostgresServer()  # others share the one of the process
    yield own
    own.stop()


def line(name: str) -> Message:
    return Message(name, "u1", f"this is {name}", 1_795_176_000_000)


async def until_done(work: Callable[[], Awaitable[T]], errors: list[str]) -> T:
    async with asyncio.timeout(60):
        while True:
            try:
                return await work()
            except BackscrollError as error:
                errors.append(error.reason)
                await asyncio.sleep(0.05)


@pytest.mark.parametrize("how", ["fast", "immediate"])
async def test_a_server_recovers_by_itself(
    how: Literal["fast", "immediate"], postgres: PostgresServer
) -> None:
    errors: list[str] = []
    async with served(postgres.new_database()) as (client, _):
        await client.append(ROOM, [line("m1")])
        ended, working = asyncio.Event(), asyncio.create_task(asyncio.sleep(0))

        async def work() -> None:
            number = 0
            while not ended.is_set():
                number += 1
                await until_done(lambda n=number: client.append(ROOM, [line(f"w{n}")]), errors)  # type: ignore[misc]

        working = asyncio.create_task(work())
        await asyncio.sleep(0.1)
        await asyncio.to_thread(postgres.restart, how)
        await until_done(lambda: client.append(ROOM, [line("m2")]), errors)
        ended.set()
        await working
        before = len(errors)
        for n in range(20):  # more than there are connections, at once
            await asyncio.gather(*(seen(client, f"m{n}-{m}") for m in range(4)))
        stored = [row.message.id async for row in client.list_messages(ROOM)]
    assert errors[before:] == []
    assert set(errors) <= {"STORE_UNAVAILABLE"}
    assert len(stored) == len(set(stored))
    assert {"m1", "m2"} <= set(stored)


async def seen(client: AsyncClient, name: str) -> None:
    await client.append(ROOM, [line(name)])
    built = await client.build_context(ROOM, f"what is {name}?", asker="u2")
    assert name in {item.message.id for item in built.items}


async def test_an_answer_waits_for_the_database(postgres: PostgresServer) -> None:
    """It was paid for."""
    go = asyncio.Event()
    model = FakeModel([Wait(go), "at nine", STOP])
    async with talk(model, database=postgres.new_database()) as bot:
        await bot.tell(line("m1"))
        asking = asyncio.create_task(bot.ask(turn("when?", question_message_id="q1")))
        async with asyncio.timeout(60):
            while not model.calls:  # noqa: ASYNC110 - nothing else tells
                await asyncio.sleep(0.01)
        postgres.halt()
        go.set()
        await asyncio.sleep(0.5)
        assert not asking.done()
        await asyncio.to_thread(postgres.go_on)
        heard = await asking
        again = await bot.ask(turn("when?", question_message_id="q1"))
    assert (heard.text, heard.reason, heard.errors) == ("at nine", "COMPLETE", [])
    assert (again.text, len(model.calls)) == ("at nine", 1)


async def test_what_a_failover_lost_no_server_answers_with() -> None:
    """Versions are given again then: a server that kept what it knew would not see what others store under them."""
    errors: list[str] = []
    own = PostgresServer()
    url = own.new_database()
    async with served(url) as (here, _), served(url) as (there, _):
        await here.append(ROOM, [line("m1"), line("m2")])
        await there.append("other", [line("o1")])
        for client in (here, there):
            assert await known(client) == ["m1", "m2"]
            assert await known(client, "other") == ["o1"]
        copy = await asyncio.to_thread(own.copied)
        await here.append(ROOM, [line("lost")])
        await here.append("new", [line("lost2")])
        assert await known(there) == ["lost", "m1", "m2"]
        assert await known(there, "new") == ["lost2"]
        await asyncio.to_thread(own.fail_over, copy)
        await until_done(lambda: here.append(ROOM, [line("m3")]), errors)
        await until_done(lambda: here.append("new", [line("n1"), line("n2")]), errors)
        for client in (there, here):
            assert await until_done(lambda one=client: known(one), errors) == ["m1", "m2", "m3"]  # type: ignore[misc]
            assert await known(client, "new") == ["n1", "n2"]
            assert await known(client, "other") == ["o1"]
    own.stop()
    assert set(errors) <= {"STORE_UNAVAILABLE"}


async def known(client: AsyncClient, room: str = ROOM) -> list[str]:
    """What a context of all that is there is made of."""
    built = await client.build_context(room, "what is there?", asker="u2", profile="naive")
    return sorted(item.message.id for item in built.items)


async def test_a_database_that_became_a_standby_still_answers() -> None:
    """It refuses what is written, and to say what a crash lost."""
    own, errors = PostgresServer(), list[str]()
    async with served(own.new_database()) as (client, _):
        await client.append(ROOM, [line("m1")])
        own.halt()
        (own.folder / "data" / "standby.signal").touch()
        await asyncio.to_thread(own.go_on)
        assert await until_done(lambda: known(client), errors) == ["m1"]
        with pytest.raises(BackscrollError) as refused:
            await client.append(ROOM, [line("m2")])
    own.stop()
    assert refused.value.reason == "STORE_READ_ONLY"
    assert set(errors) <= {"STORE_UNAVAILABLE"}
