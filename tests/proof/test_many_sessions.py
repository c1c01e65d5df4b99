"""Ten thousand sessions are listed and found, and thirty-two writers share one."""

import asyncio
import random
from itertools import pairwise
from pathlib import Path

import pytest

from backscroll import AsyncClient, Message
from backscroll.v1 import session_pb2 as pb
from tests.integration.rooms.room import Room, human, room
from tests.kit.chats import NOON_MS, StillClock

SESSIONS, SPACES, PAGE = 10_000, 7, 1_000
WRITERS, EACH = 32, 100


def space_of(number: int) -> str:
    """Every seventh is in none."""
    return f"space{number % SPACES}" if number % SPACES else ""


async def pages(chat: Room, **wanted: object) -> list[list[pb.Session]]:
    """All pages of a list."""
    found, token = [], ""
    while True:
        asked = pb.ListSessionsRequest(limit=PAGE, page_token=token, **wanted)
        answer = await chat.stub.ListSessions(asked)
        found.append(list(answer.sessions))
        token = answer.next_page_token
        if not token:
            return found


@pytest.mark.proof
@pytest.mark.row("S4-01", "S4-04", "S4-05")
@pytest.mark.timeout(900)
async def test_ten_thousand_sessions(tmp_path: Path) -> None:
    clock = StillClock()
    async with room(database=tmp_path / "history.db", clock=clock, durability="normal") as chat:
        for number in range(SESSIONS):
            clock.at_ms += number % 3  # some begin in the same millisecond
            session = pb.Session(
                session_id=f"s{number}", aliases=[f"old/{number}"], space=space_of(number),
                owner_id=f"o{number % 2}", participants=[human("u1", "Ann")],
            )  # fmt: skip
            await chat.stub.CreateSession(pb.CreateSessionRequest(session=session))

        newest_first = [f"s{number}" for number in reversed(range(SESSIONS))]
        listed = await pages(chat)
        assert [len(one) for one in listed if one] == [PAGE] * (SESSIONS // PAGE)
        assert [one.session_id for page in listed for one in page] == newest_first
        times = [one.updated_at_ms for page in listed for one in page]
        assert all(newer >= older for newer, older in pairwise(times))

        for slug in ["", *(f"space{number}" for number in range(1, SPACES))]:
            found = [one.session_id for page in await pages(chat, space=slug) for one in page]
            assert found == [one for one in newest_first if space_of(int(one[1:])) == slug]
        found = [one.session_id for page in await pages(chat, owner_id="o1") for one in page]
        assert found == newest_first[::2]

        rng = random.Random(0)
        for number in rng.sample(range(SESSIONS), 300):
            ref = pb.SessionRef(
                session_id=f"old/{number}", space=rng.choice(["", space_of(number)])
            )
            got = (await chat.stub.GetSession(pb.GetSessionRequest(session=ref))).session
            assert (got.session_id, got.space) == (f"s{number}", space_of(number))

        # What is written to comes first.
        clock.at_ms += 1_000
        late = (
            await chat.stub.GetSession(pb.GetSessionRequest(session={"session_id": "s17"}))
        ).session
        message = Message("m1", "u1", "still here", NOON_MS, session_id="s17")
        await chat.client.append(late.channel, message)
        again = await pages(chat)
        ids = [one.session_id for page in again for one in page]
        assert ids == ["s17", *(one for one in newest_first if one != "s17")]


@pytest.mark.proof
@pytest.mark.row("S4-07")
@pytest.mark.timeout(600)
async def test_thirty_two_writers_of_one_session(tmp_path: Path) -> None:
    """3,200 messages, each acknowledged before the writer's next: all are there, each writer's in its order."""
    async with room(database=tmp_path / "history.db", durability="full") as chat:
        made = await chat.open(session_id="one")
        updated: list[int] = []

        async def write(writer: int) -> None:
            async with AsyncClient(chat.client._target, timeout_s=120.0) as client:
                for number in range(EACH):
                    text = f"{writer} says {number}"
                    message = Message(f"w{writer}-{number}", f"u{writer}", text, session_id="one")
                    report = await client.append(made.channel, message)
                    assert report.stored == 1, report

        async def look() -> None:
            while True:
                listed = await pages(chat)
                updated.append(listed[0][0].updated_at_ms)
                await asyncio.sleep(0.05)

        looking = asyncio.create_task(look())
        await asyncio.gather(*(write(writer) for writer in range(WRITERS)))
        looking.cancel()
        stored = [one async for one in chat.client.list_messages(made.channel)]
        assert len(stored) == WRITERS * EACH
        sequences = [one.sequence for one in stored]
        assert sequences == sorted(set(sequences))
        assert {one.message.session_id for one in stored} == {"one"}
        for writer in range(WRITERS):
            own = [one.message.id for one in stored if one.message.author.id == f"u{writer}"]
            assert own == [f"w{writer}-{number}" for number in range(EACH)]
        updated.append((await chat.session()).updated_at_ms)
        assert updated == sorted(updated)
        assert made.updated_at_ms <= updated[0] < updated[-1]
