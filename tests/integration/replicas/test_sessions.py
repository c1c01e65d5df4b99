"""Sessions and what is set for many channels, changed at one server and used at another (P-22)."""

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from backscroll import Author, ExperimentArm, Message
from backscroll.v1 import session_pb2 as pb
from tests.integration.rooms.room import PERSONA, CatModel, Room, room
from tests.integration.rooms.test_guards import WITH_TOOLS, answer_of, looks_up
from tests.kit.postgres import server

pytestmark = pytest.mark.row("P-22")
NOON, HOUR = 1_795_176_000_000, 3_600_000
NOW = time.time_ns() // 1_000_000
ANN, BEN = Author("u1", "Ann"), Author("u2", "Ben")
Two = tuple[Room, Room]


@pytest.fixture
async def two() -> AsyncIterator[Two]:
    """A caller at each of two servers on one database. The second knows of the first one's session by its id alone."""
    url = await server().emptied()
    async with room(CatModel(looks_up), url) as here, room(CatModel(looks_up), url) as there:
        session = await here.open()
        yield here, replace(there, session_id=session.session_id)


async def test_a_session_is_opened_here_and_used_there(two: Two) -> None:
    here, there = two
    assert (await there.say("@小白 在吗")).replies == ["小白好"]
    assert (await here.say("@小灰 你呢")).replies == ["小灰好"]
    assert "小白好" in here.model.prompt()
    assert [one.author.id for one in await there.history()] == ["u1", "white", "u1", "grey"]


async def test_personas_and_policy(two: Two) -> None:
    here, there = two
    await there.say("@小白 在吗")  # there it is in memory by now
    red = pb.Participant(id="red", kind=PERSONA, name="小红", persona="你是一只红猫。")
    await here.stub.PutParticipants(pb.PutParticipantsRequest(session=here.ref, participants=[red]))
    await here.stub.RemoveParticipants(
        pb.RemoveParticipantsRequest(session=here.ref, participant_ids=["black"])
    )
    heard = await there.say("@小红 @小黑 @小白 在吗")
    assert sorted(who for who, _ in heard.targets) == ["red", "white"]
    assert any("你是一只红猫" in there.model.prompt(n) for n in (-2, -1))


async def test_a_round_that_is_asked_at_both_is_had_once(two: Two) -> None:
    here, there = two
    asked = [
        chat.say(f"@小白 {number}", request_id=f"r{number}")
        for number in range(3)
        for chat in (here, there)
    ]
    heard = await asyncio.gather(*asked)
    assert {one.reason for one in heard} == {"COMPLETE"}
    assert len(here.model.calls) + len(there.model.calls) == 3
    said = [one.author.id for one in await here.history()]
    assert sorted(said) == ["u1"] * 3 + ["white"] * 3


async def test_interrupts_are_answered_once(two: Two) -> None:
    """The results come to both servers at once, right behind the calls."""
    here, there = two
    for number in range(20):
        name = f"r{number}"
        heard = await here.say(f"@小黑 {number}", request_id=name, **WITH_TOOLS)
        (interrupt,) = heard.of("interrupt")
        answers = [answer_of(interrupt)]
        done = await asyncio.gather(
            *(chat.resume(name, answers=answers) for chat in (here, there) for _ in range(2))
        )
        assert [(one.reason, one.said) for one in done] == [("COMPLETE", {"black": "晴天"})] * 4
        other = await there.resume(name, answers=[answer_of(interrupt, "雨")])
        assert other.refusal is not None
        assert other.refusal.reason == "CONFLICT"
    assert len(here.model.calls) + len(there.model.calls) == 2 * 20


async def test_a_session_that_is_ended_here_is_ended_there(two: Two) -> None:
    here, there = two
    await there.say("@小白 在吗")
    await here.stub.DeleteSession(pb.DeleteSessionRequest(session=here.ref))
    heard = await there.say("@小白 在吗")
    assert heard.refusal is not None
    assert heard.refusal.code.name == "NOT_FOUND"


async def test_channels_that_share(two: Two) -> None:
    """What is set and said at the other server is in the next build, and gone from the one behind."""
    here, there = (one.client for one in two)

    async def shown() -> bool:
        built = await there.build_context("inn", "where is the router manual?", asked_at=NOON)
        return "blue cabinet" in built.text

    await there.append("inn", [Message("a", BEN, "buy bread", NOON - HOUR)])
    assert not await shown()
    manual = Message("b", BEN, "the router manual lies in the blue cabinet", NOON - HOUR)
    await here.append("guild", [manual])
    await here.set_channel_settings("inn", sharing={"reads_from": ["guild"]})
    await here.set_channel_settings("guild", sharing={"shares_with": ["inn"]})
    assert await shown()
    await here.recall_message("guild", "b")
    assert not await shown()


async def test_an_experiment(two: Two) -> None:
    here, there = (one.client for one in two)

    async def arm() -> str:
        return (await there.build_context("inn", "alpha?", asked_at=NOON)).experiment.arm

    await there.append("inn", [Message("a", BEN, "alpha", NOON - HOUR)])
    assert await arm() == ""
    await here.put_experiment("roll", [ExperimentArm("new", profile="classic")], coverage=1.0)
    assert await arm() == "new"
    await here.stop_experiment("roll")
    assert await arm() == ""


async def test_consent(two: Two) -> None:
    """Who said no at one server is not recorded at another."""
    here, there = (one.client for one in two)

    async def recorded() -> int:
        await there.build_context("inn", "alpha?", asker=ANN, asked_at=NOON)
        return len([one async for one in there.list_usage_records("inn")])

    await there.append("inn", [Message("a", BEN, "alpha", NOON - HOUR)])
    assert await recorded() == 1
    await here.set_usage_consent("u1", collect_usage=False)
    assert await recorded() == 1
    await here.set_usage_consent("u1", collect_usage=True)
    assert await recorded() == 2


async def test_a_follow_up_comes_to_another_server_than_the_answer(two: Two) -> None:
    """What people write behind it is read all the same."""
    here, there = (one.client for one in two)
    await there.append("inn", [Message("m", BEN, "the train leaves at ten", NOW - 60_000)])
    await asyncio.sleep(2.0)  # it has looked at the channel: there was no answer
    await there.append("inn", [Message("q", ANN, "which train?", NOW - 50_000, mentions=["bot"])])
    context = await here.build_context("inn", trigger_message_id="q", self_ids=["bot"])
    bot = Author("bot", "Helper", kind="bot")
    reply = Message("a", bot, "the one at ten", NOW - 40_000, reply_to="q", role="assistant")
    await here.append("inn", reply, context_id=context.id)
    await there.append("inn", [Message("f", ANN, "thanks, that helps!", NOW, reply_to="a")])
    async with asyncio.timeout(60):
        while not (await there.get_usage_record(context.id)).signals:  # noqa: ASYNC110
            await asyncio.sleep(0.1)
