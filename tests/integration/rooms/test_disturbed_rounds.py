"""Rounds that something comes between: a move, a removal, a deletion, a caller who leaves, a mode that fails."""

import asyncio
import json
from typing import Any

import grpc
import pytest

from backscroll.v1 import message_pb2
from backscroll.v1 import session_pb2 as pb
from backscroll_sidecar.ports import ModelRequest
from tests.integration.rooms.room import (
    ANN,
    BOB,
    CATS,
    CatModel,
    Round,
    human,
    room,
    said,
    text_of,
)

ROLES = {"coder": "black", "reviewer": "white", "tester": "grey"}
CHAIN = json.dumps({"role_map": ROLES})
STEPS = json.dumps({"role_map": ROLES, "advance": "step"})
PLAYERS = (human("u1", "Ann"), human("u2", "Bob"), *CATS)
VILLAGE = {"u1": "werewolf", "u2": "villager", "black": "villager", "white": "villager"}


def night(talk_rounds: int) -> str:
    return json.dumps({"assign": {**VILLAGE, "grey": "villager"}, "talk_rounds": talk_rounds})


def reasons(heard: Round) -> list[str]:
    return [one.error.message for one in heard.of("target_ended")]


@pytest.mark.row("S4-21")
async def test_a_move_beside_a_round_costs_no_answer() -> None:
    is_asked, may_answer = asyncio.Event(), asyncio.Event()

    async def answer(_name: str, _request: ModelRequest) -> str:
        is_asked.set()
        await may_answer.wait()
        return "/vote nobody"

    model = CatModel(answer)
    async with room(model) as chat:
        await chat.open(mode="werewolf", participants=PLAYERS, role_config_json=night(0))
        await chat.act("start")
        asked = asyncio.create_task(chat.say("/kill Bob", ANN))
        await is_asked.wait()
        await chat.act("vote", "u1", "nobody")
        may_answer.set()
        heard = await asked
        assert set(heard.ended.values()) == {"COMPLETE"}
        assert len(model.calls) == len(CATS)
        assert (await chat.state())["phase"] == "night"  # every vote counted, the next night begins


@pytest.mark.row("S4-22")
async def test_a_state_set_beside_a_chain_is_what_the_chain_goes_on_from() -> None:
    async with room() as chat:
        await chat.open(mode="workflow", role_config_json=CHAIN)

        async def answer(name: str, _request: ModelRequest) -> str:
            if name == "小白":
                state = {"current_node": "tester", "status": "working", "task": 1}
                await chat.stub.UpdateSession(
                    pb.UpdateSessionRequest(
                        session=chat.ref,
                        mode_state_json=json.dumps({**state, "task_message_id": "q"}),
                    )
                )
            return f"work of {name}"

        chat.model.answers = answer
        heard = await chat.say("make tea", message={"id": "q"})
        assert heard.ended == {"black": "COMPLETE", "white": "COMPLETE", "grey": "COMPLETE"}
        assert (await chat.state())["status"] == "done"


@pytest.mark.row("S4-20")
async def test_a_caller_who_leaves_while_the_reply_is_stored_gets_that_reply() -> None:
    async with room(CatModel(lambda _name, _request: f"answer {len(chat.model.calls)}")) as chat:
        await chat.open()
        store = chat.app.chat._turn_writer._turn_store
        save_reply = store.save_reply

        async def slowly(*given: object, **named: object) -> object:
            await asyncio.sleep(0.3)
            return await save_reply(*given, **named)

        store.save_reply = slowly
        message = message_pb2.Message(author=ANN, parts=[said("@小黑 hi")])
        request = pb.StartRoundRequest(session=chat.ref, request_id="r", message=message)
        call = chat.stub.StartRound(request)
        async for one in call:
            if one.event.HasField("delta"):
                await asyncio.sleep(0.1)
                call.cancel()
                break
        heard = await chat.run(chat.stub.StartRound(request))
        assert heard.replies == ["answer 1"]
        assert len(chat.model.calls) == 1
        assert [text_of(one) for one in await chat.history()] == ["@小黑 hi", "answer 1"]


@pytest.mark.row("S4-19")
async def test_a_removed_role_is_a_named_error_and_ends_the_round() -> None:
    async with room() as chat:
        await chat.open(mode="workflow", role_config_json=STEPS)
        await chat.say("make tea")
        await chat.stub.RemoveParticipants(
            pb.RemoveParticipantsRequest(session=chat.ref, participant_ids=["grey"])
        )
        heard = await asyncio.wait_for(chat.say("go on"), 5)  # the reviewer is told who comes next
        assert heard.ended == {"white": "FAILED"}
        assert "tester" in reasons(heard)[0]
        await chat.stub.RemoveParticipants(
            pb.RemoveParticipantsRequest(session=chat.ref, participant_ids=["white"])
        )
        heard = await chat.say("go on")
        assert heard.refusal is not None
        assert heard.refusal.code is grpc.StatusCode.FAILED_PRECONDITION
        assert "reviewer" in str(heard.refusal)


async def test_who_leaves_while_others_answer_is_not_asked() -> None:
    async with room() as chat:
        await chat.open(policy=pb.RoomPolicy(sequential=True))

        async def answer(_name: str, _request: ModelRequest) -> str:
            await chat.stub.RemoveParticipants(
                pb.RemoveParticipantsRequest(session=chat.ref, participant_ids=["white"])
            )
            return "hm"

        chat.model.answers = answer
        heard = await chat.say("@小黑 @小白 hi")
        assert heard.ended == {"black": "COMPLETE", "white": "FAILED"}
        assert len(chat.model.calls) == 1


async def test_who_never_answers_is_not_asked_by_a_mode() -> None:
    white = pb.Participant()
    white.CopyFrom(CATS[1])
    white.reply = pb.REPLY_RULE_NEVER
    async with room() as chat:
        await chat.open(
            mode="workflow", role_config_json=CHAIN, participants=[CATS[0], white, CATS[2]]
        )
        heard = await chat.say("make tea")
        assert [id_ for id_, _ in heard.targets] == ["black"]
        assert (await chat.state())["current_node"] == "reviewer"


async def test_silence_approves_nothing() -> None:
    async with room(CatModel(lambda _name, _request: "  ")) as chat:
        await chat.open(mode="workflow", role_config_json=CHAIN)
        heard = await chat.say("make tea")
        assert heard.ended == {"black": "SILENT"}
        assert (await chat.state())["current_node"] == "coder"


async def test_a_new_session_of_the_same_id_has_no_rounds_of_the_deleted_one() -> None:
    is_asked, may_answer = asyncio.Event(), asyncio.Event()

    async def answer(_name: str, _request: ModelRequest) -> str:
        is_asked.set()
        await may_answer.wait()
        return "fine"

    async with room(CatModel(answer)) as chat:
        await chat.open(session_id="d")
        asked = asyncio.create_task(chat.say("@小黑 hi", request_id="r"))
        await is_asked.wait()
        await chat.stub.DeleteSession(pb.DeleteSessionRequest(session=chat.ref))
        may_answer.set()
        await asked
        await chat.open(session_id="d")
        heard = await chat.resume("r")
        assert heard.refusal is not None
        assert heard.refusal.reason == "ROUND_NOT_FOUND"


async def test_a_first_message_that_is_refused_begins_no_session() -> None:
    async with room() as chat:
        heard = await chat.say("  ", session=pb.SessionRef(), participants=CATS)
        assert heard.refusal is not None
        assert heard.refusal.reason == "QUESTION_MISSING"
        assert not (await chat.stub.ListSessions(pb.ListSessionsRequest())).sessions


async def test_choosing_leaves_time_for_the_answer() -> None:
    async def answer(name: str, _request: ModelRequest) -> str:
        if not name:
            await asyncio.sleep(30)
        return "hm"

    async with room(CatModel(answer)) as chat:
        await chat.open(policy=pb.RoomPolicy(unaddressed=pb.UNADDRESSED_SELECTOR))
        heard = await chat.say("who knows?", timeout_s=2)
        assert heard.ended == {"black": "COMPLETE"}


@pytest.mark.row("S4-15")
async def test_a_message_of_another_session_is_none_of_this_one() -> None:
    async with room() as chat:
        await chat.open(session_id="A", channel="group")
        await chat.say("SECRET", BOB, message={"id": "theirs"})
        await chat.open(session_id="B", channel="group")
        calls = len(chat.model.calls)
        heard = await chat.say(None, message={"id": "theirs", "parts": []})
        assert heard.refusal is not None
        assert heard.refusal.reason == "MESSAGE_NOT_FOUND"
        assert len(chat.model.calls) == calls


async def test_what_is_said_behind_a_whispered_move_is_said_to_all() -> None:
    async with room(CatModel(lambda _name, _request: "nobody was there")) as chat:
        cats_first = (*CATS, *PLAYERS[:2])
        await chat.open(mode="werewolf", participants=cats_first, role_config_json=night(1))
        await chat.act("start")
        heard = await chat.say("/kill Bob", ANN)
        assert (await chat.state())["phase"] == "talk"
        assert [list(one.audience) for one in heard.end.responses] == [[], [], []]


@pytest.mark.row("N-16")
async def test_a_whisper_is_answered_by_itself_in_a_burst() -> None:
    async with room() as chat:
        await chat.open(policy=pb.RoomPolicy(burst_window_ms=300))
        whispered = asyncio.create_task(chat.say("@小黑 WHISPER", message={"audience": ["black"]}))
        await asyncio.sleep(0.05)
        heard = [await chat.say("@小白 hi all"), await whispered]
        assert [one.targets[0][0] for one in heard] == ["white", "black"]
        of_white = next(request for name, request in chat.model.calls if name == "小白")
        assert "WHISPER" not in "".join(str(one.content) for one in of_white.messages)
        audiences = {text_of(one): set(one.audience) for one in await chat.history()}
        assert audiences == {
            "@小黑 WHISPER": {"black"},
            "小黑说喵": {"black", "u1"},
            "@小白 hi all": set(),
            "小白说喵": set(),
        }


@pytest.mark.row("N-16")
async def test_a_burst_whose_first_message_is_refused_goes_on_without_it() -> None:
    async with room() as chat:
        await chat.open(policy=pb.RoomPolicy(burst_window_ms=200))
        await chat.say("@小黑 hi", message={"id": "taken"})
        first = asyncio.create_task(chat.say("@小黑 again", BOB, message={"id": "taken"}))
        heard = await chat.say("@小白 hi")
        refused = await first
        assert refused.refusal is not None
        assert refused.refusal.reason == "CONFLICT"
        assert heard.ended == {"white": "COMPLETE"}


@pytest.mark.row("N-19")
async def test_messages_at_once_do_not_get_past_the_loop_guard() -> None:
    bot = pb.Participant(id="bot", kind=pb.PARTICIPANT_KIND_BOT, name="Bot")
    author = message_pb2.Author(id="bot", name="Bot")
    async with room() as chat:
        await chat.open(participants=[*CATS, bot])
        heard = await asyncio.gather(*(chat.say(f"@小黑 thanks {i}", author) for i in range(10)))
        assert len(chat.model.calls) == 3
        assert sorted(one.reason for one in heard) == ["COMPLETE"] * 3 + ["LOOP_SUPPRESSED"] * 7


@pytest.mark.row("N-19")
async def test_who_is_handed_on_to_too_often_is_told_with_who_handed_on() -> None:
    def answer(name: str, _request: ModelRequest) -> str:
        return f"@{'小白' if name == '小黑' else '小黑'} your turn"

    async with room(CatModel(answer)) as chat:
        policy = pb.RoomPolicy(onward_depth=15, loop_limit=1)
        await chat.open(participants=CATS[:2], policy=policy)
        heard = [await chat.say("@小黑 go", request_id="q"), await chat.resume("q")]
        for one in heard:
            told = [(each.sender_id, each.participant_id) for each in one.of("loop_suppressed")]
            assert told == [("black", "white")]


@pytest.mark.row("S4-18")
async def test_nobody_is_asked_what_was_recalled_meanwhile() -> None:
    async with room() as chat:
        session = await chat.open(policy=pb.RoomPolicy(sequential=True))

        async def answer(_name: str, _request: ModelRequest) -> str:
            await chat.client.recall_message(session.channel, "q")
            return "hm"

        chat.model.answers = answer
        heard = await chat.say("@小黑 @小白 SECRET", message={"id": "q"})
        assert heard.ended == {"black": "FAILED", "white": "FAILED"}
        assert reasons(heard)[1] == "the message was recalled or erased"
        assert len(chat.model.calls) == 1


@pytest.mark.row("S4-18")
async def test_who_answers_later_is_asked_with_the_edited_message() -> None:
    async with room() as chat:
        session = await chat.open(policy=pb.RoomPolicy(sequential=True))

        async def answer(name: str, _request: ModelRequest) -> str:
            if name == "小黑":
                await chat.client.edit_message(session.channel, "q", "@小黑 @小白 NEWER")
            return "hm"

        chat.model.answers = answer
        heard = await chat.say("@小黑 @小白 OLDER", message={"id": "q"})
        assert heard.ended == {"black": "COMPLETE", "white": "COMPLETE"}
        assert "NEWER" in chat.model.prompt()
        assert "OLDER" not in chat.model.prompt()


@pytest.mark.row("S4-21")
async def test_personas_that_a_mode_asks_at_once_do_not_see_each_others_answers() -> None:
    questions = [{"text": "q1", "answers": ["1 小灰"]}, {"text": "q2", "answers": ["none"]}]
    model = CatModel(lambda name, _request: f"{[one for one, _ in model.calls].count(name)} {name}")
    async with room(model) as chat:
        await chat.open(
            mode="quiz",
            participants=[human("u1", "Ann"), *CATS],
            role_config_json=json.dumps({"questions": questions}),
        )
        builder = chat.app.builder
        build = builder.build

        async def late_for_grey(request: Any, **options: Any) -> Any:
            if request.self_ids == ("grey",):
                await asyncio.sleep(0.2)
            return await build(request, **options)

        builder.build = late_for_grey
        await chat.say("/start", ANN)
        prompts = [
            "".join(str(one.content) for one in request.messages)
            for name, request in model.calls
            if name == "小灰"
        ]
        assert len(prompts) == 2
        assert "2 小黑" not in prompts[1]
        assert "1 小黑" in prompts[1]
