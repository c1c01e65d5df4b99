"""Edits, recalls and erasures: what is kept of a round beside its messages goes with them, and with nothing else."""

import asyncio
import json

import pytest

from backscroll.v1 import session_pb2 as pb
from backscroll_sidecar.domain import ChannelKey
from backscroll_sidecar.rooms.round_record import MOVE, ROUND
from tests.integration.rooms.room import BOB, CATS, CatModel, Room, human, room, text_of

ROLES = {"role_map": {"coder": "black", "reviewer": "white", "tester": "grey"}}
WORKFLOW = json.dumps(ROLES)
BY_STEPS = json.dumps({**ROLES, "advance": "step"})


class Held:
    """A model's answer that waits until it is let go."""

    def __init__(self) -> None:
        self.asked, self.go = asyncio.Event(), asyncio.Event()

    async def __call__(self, name: str, _: object) -> str:
        self.asked.set()
        await self.go.wait()
        return f"{name}说喵"


async def kept(chat: Room, kind: str) -> str:
    """Everything that is kept of rounds or moves."""
    key = ChannelKey("default", (await chat.session()).channel)
    stored = await chat.app.store.records(key, kind, 0, owner=chat.session_id)
    return "\n".join(one.body.decode() for one in stored)


async def test_an_edit_while_the_question_is_answered_costs_no_answer() -> None:
    held = Held()
    async with room(CatModel(held)) as chat:
        session = await chat.open()
        asking = asyncio.create_task(chat.say("@小黑 秘密", request_id="r", message={"id": "q"}))
        await held.asked.wait()
        await chat.client.edit_message(session.channel, "q", "@小黑 公开")
        held.go.set()
        heard = await asking
        assert heard.ended == {"black": "COMPLETE"}
        assert [text_of(one) for one in await chat.history()] == ["@小黑 公开", "小黑说喵"]
        again = await chat.say("@小黑 秘密", request_id="r", message={"id": "q"})
        assert again.replies == heard.replies
        assert len(chat.model.calls) == 1
        assert "秘密" not in await kept(chat, ROUND)


async def test_after_an_edit_a_round_gives_what_is_stored_of_it() -> None:
    async with room() as chat:
        session = await chat.open()
        first = await chat.say("@小黑 @小白 秘密", request_id="r", message={"id": "q"})
        assert first.started.route.user_text == "秘密"
        resumed = await chat.resume("r")
        assert resumed.started.route == first.started.route
        await chat.client.edit_message(session.channel, "q", "@小黑 @小白 公开")
        for again in (
            await chat.resume("r"),
            await chat.say("@小黑 @小白 秘密", request_id="r", message={"id": "q"}),
        ):
            assert again.replies == first.replies
            assert again.started.route.user_text == "公开"
        assert len(chat.model.calls) == 2
        assert "秘密" not in await kept(chat, ROUND)


async def test_the_texts_of_a_burst_are_made_again() -> None:
    async with room() as chat:
        await chat.open(policy=pb.RoomPolicy(burst_window_ms=1_000))
        rounds = await asyncio.gather(
            chat.say("@小黑 喂", request_id="r1"), chat.say("吃饭了", BOB, request_id="r2")
        )
        (leader,) = (one for one in rounds if one.reason == "COMPLETE")
        again = await chat.resume(leader.started.request_id)
        assert again.replies == leader.replies
        assert again.started.route.user_text == "Ann: 喂\nBob: 吃饭了"
        assert "喂" not in await kept(chat, ROUND)


@pytest.mark.parametrize("way", ["recalled", "erased", "erased with its author"])
async def test_what_is_gone_is_in_no_round(way: str) -> None:
    held = Held()
    async with room(CatModel(held)) as chat:
        session = await chat.open()
        asking = asyncio.create_task(chat.say("@小黑 秘密", request_id="r", message={"id": "q"}))
        await held.asked.wait()
        if way == "recalled":
            await chat.client.recall_message(session.channel, "q")
        elif way == "erased":
            await chat.client.erase(session.channel, message_ids=["q"])
        else:
            await chat.client.erase(session.channel, user_id="u1")
        held.go.set()
        heard = await asking
        assert heard.replies == []
        assert not any(text_of(one) for one in await chat.history())
        assert "秘密" not in await kept(chat, ROUND)
        again = await chat.resume("r")
        assert again.refusal is not None


async def test_a_move_goes_with_who_made_it() -> None:
    async with room() as chat:
        session = await chat.open(
            mode="workflow", role_config_json=WORKFLOW, participants=[human("u1", "Ann"), *CATS]
        )
        await chat.act("task", actor_id="u1", argument="MY PRIVATE", request_id="m1")
        assert await kept(chat, MOVE)
        assert "MY PRIVATE" not in await kept(chat, MOVE)
        await chat.client.erase(session.channel, user_id="u1")
        states = await chat.stub.ListStates(pb.ListStatesRequest(session=chat.ref))
        assert "u1" not in [one.actor_id for one in states.states]
        assert await kept(chat, MOVE) == ""


async def test_an_older_task_is_not_told_where_the_newer_ones_begin_is_gone() -> None:
    async with room() as chat:
        session = await chat.open(mode="workflow", role_config_json=BY_STEPS)
        await chat.say("OLD TASK")
        await chat.act("stop")
        await chat.say("NEW TASK", message={"id": "new"})
        await chat.client.erase(session.channel, message_ids=["new"])
        heard = await chat.say("go on")
        assert heard.targets
        assert chat.model.calls[-1][1].messages[-1].content.endswith("\n铲屎官说：go on")
