"""States that callers give, over a real socket: nonsense is refused, and what was played goes on without those gone."""

import json

import grpc
import pytest

from backscroll.errors import error_from
from backscroll.v1 import session_pb2 as pb
from tests.integration.rooms.room import CATS, PERSONA, Room, human, room

WEREWOLF = {"assign": {"black": "werewolf"}}
QUIZ = {"questions": [{"text": "1?", "answers": ["1"]}]}
WORKFLOW = {"role_map": {"coder": "black", "reviewer": "white", "tester": "grey"}}
PEOPLE = (*CATS, human("u1", "Ann"), human("u2", "Bob"))


async def exported(chat: Room) -> list[str]:
    request = pb.ExportSessionRequest(session=chat.ref)
    return [line async for some in chat.stub.ExportSession(request) for line in some.lines]


async def imported(chat: Room, lines: list[str], session_id: str) -> pb.Session:
    async def requests():
        yield pb.ImportSessionRequest(lines=lines, session_id=session_id)

    return (await chat.stub.ImportSession(requests())).session


@pytest.mark.parametrize(
    ("mode", "config", "state"),
    [
        ("werewolf", WEREWOLF, {"phase": "talk"}),
        ("werewolf", WEREWOLF, {"phase": "night", "alive": ["nobody"], "day": 1}),
        ("quiz", QUIZ, {"phase": "asking", "index": 999}),
        ("quiz", QUIZ, {"phase": "asking", "index": -5}),
        ("workflow", WORKFLOW, {"current_node": "nope", "status": "working"}),
    ],
)
async def test_a_state_that_leads_nowhere_is_refused(mode: str, config: dict, state: dict) -> None:
    async with room() as chat:
        await chat.open(participants=PEOPLE, mode=mode, role_config_json=json.dumps(config))
        request = pb.UpdateSessionRequest(session=chat.ref, mode_state_json=json.dumps(state))
        expected = "INVALID_ARGUMENT", "INVALID_FIELD", "mode_state_json"
        assert await chat.refused(chat.stub.UpdateSession(request)) == expected
        first, *rest = await exported(chat)
        line = json.loads(first)
        line["session"]["modeStateJson"] = json.dumps(state)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await imported(chat, [json.dumps(line), *rest], "i")
        error = error_from(caught.value)
        assert (error.code.name, error.reason, error.field) == expected


@pytest.mark.parametrize(
    ("mode", "config", "move"),
    [("werewolf", WEREWOLF, "start"), ("workflow", WORKFLOW, "task"), ("quiz", QUIZ, "start")],
)
async def test_what_was_played_is_copied_without_those_gone(
    mode: str, config: dict, move: str
) -> None:
    async with room() as chat:
        if mode == "quiz":
            config = config | {"contestants": ["black", "u1"]}
        made = await chat.open(
            participants=(*PEOPLE, pb.Participant(id="x", kind=PERSONA, name="X")),
            mode=mode, role_config_json=json.dumps(config),
        )  # fmt: skip
        await chat.act(move)
        state = await chat.state()
        gone = pb.RemoveParticipantsRequest(session=chat.ref, participant_ids=["black"])
        await chat.stub.RemoveParticipants(gone)
        back = await imported(chat, await exported(chat), "i")
        forked = await chat.stub.ForkSession(
            pb.ForkSessionRequest(session=chat.ref, new_session_id="f")
        )
        for one in (back, forked.session):
            assert (one.mode, json.loads(one.mode_state_json)) == (made.mode, state)
