"""Forks and imports over a real socket: who sees what in the copy, which state it has, and what may be repeated."""

import json
import time
from collections.abc import Sequence
from typing import Any

import pytest

from backscroll import Message
from backscroll.errors import NotFound
from backscroll.v1 import session_pb2 as pb
from tests.integration.rooms.room import CATS, Room, human, room, text_of

WORKFLOW = json.dumps({"role_map": {"coder": "black", "reviewer": "white", "tester": "grey"}})


async def seen(chat: Room, viewer_id: str) -> list[str]:
    built = await chat.built(viewer_id=viewer_id)
    return [text_of(one.message) for one in built.items if one.message.author.id == "u1"]


async def put(chat: Room, *participants: pb.Participant) -> None:
    await chat.stub.PutParticipants(
        pb.PutParticipantsRequest(session=chat.ref, participants=participants)
    )


async def leave(chat: Room, *ids: str) -> None:
    await chat.stub.RemoveParticipants(
        pb.RemoveParticipantsRequest(session=chat.ref, participant_ids=ids)
    )


async def fork(chat: Room, **fields: Any) -> pb.Session:
    """Fork the session; further calls are about the fork."""
    made = await chat.stub.ForkSession(pb.ForkSessionRequest(session=chat.ref, **fields))
    chat.session_id = made.session.session_id
    return made.session


async def exported(chat: Room) -> list[str]:
    lines: list[str] = []
    async for run in chat.stub.ExportSession(pb.ExportSessionRequest(session=chat.ref)):
        lines += run.lines
    return lines


async def imported(chat: Room, lines: Sequence[str], **fields: Any) -> pb.ImportSessionResponse:
    async def requests():
        yield pb.ImportSessionRequest(lines=lines[:2], **fields)
        yield pb.ImportSessionRequest(lines=lines[2:])

    return await chat.stub.ImportSession(requests())


async def lived(chat: Room) -> dict[str, list[str]]:
    """A session with people who come and go, among lines of others; what each of them sees of it."""
    made = await chat.open(session_id="o", channel="group", participants=CATS[:2])
    others = pb.Session(session_id="other", channel="group")
    await chat.stub.CreateSession(pb.CreateSessionRequest(session=others))
    number = 0

    async def says(text: str) -> None:
        nonlocal number
        number += 1
        noise = Message(f"n{number}", "u9", "noise", session_id="other")
        await chat.client.append(made.channel, noise)
        message = Message(f"m{number}", "u1", text, session_id="o")
        await chat.client.append(made.channel, message)

    await says("first")
    await put(chat, CATS[2])
    await says("second")
    await leave(chat, "white")
    await says("third")
    await put(chat, CATS[1])
    await says("fourth")
    await put(chat, human("u2", "Bob"))
    await leave(chat, "grey")
    found = {one.id: await seen(chat, one.id) for one in (await chat.session()).participants}
    assert found == {
        "black": ["first", "second", "third", "fourth"], "white": ["first", "second", "fourth"],
        "grey": ["second", "third", "fourth"], "u2": [],
    }  # fmt: skip
    return found


async def says_more(chat: Room) -> dict[str, list[str]]:
    """What each participant sees of what is said now."""
    made = await chat.session()
    message = Message("new", "u1", "new", session_id=made.session_id)
    await chat.client.append(made.channel, message)
    return {one.id: await seen(chat, one.id) for one in made.participants}


def with_new(found: dict[str, list[str]], *gone: str) -> dict[str, list[str]]:
    return {one: texts if one in gone else [*texts, "new"] for one, texts in found.items()}


@pytest.mark.row("P-03", "N-18")
async def test_in_a_fork_everybody_sees_what_they_saw() -> None:
    async with room() as chat:
        found = await lived(chat)
        await fork(chat, new_session_id="f")
        assert {one: await seen(chat, one) for one in found} == found
        assert await says_more(chat) == with_new(found, "grey")


@pytest.mark.row("P-03", "N-18")
async def test_a_fork_at_an_earlier_message_has_who_was_there() -> None:
    async with room() as chat:
        await lived(chat)
        await fork(chat, message_id="m3")
        then = {
            "black": ["first", "second", "third"], "white": ["first", "second"],
            "grey": ["second", "third"], "u2": [],
        }  # fmt: skip
        assert {one: await seen(chat, one) for one in then} == then
        # who left later is there; who came, or came back, later joins the fork
        assert await says_more(chat) == with_new(then)


async def test_a_fork_may_be_asked_for_again() -> None:
    async with room() as chat:
        await lived(chat)
        origin = chat.session_id
        first = await fork(chat, new_session_id="f", message_id="m3")
        chat.session_id = origin
        again = await fork(chat, new_session_id="f", message_id="m3")
        assert (again.channel, again.created_at_ms) == (first.channel, first.created_at_ms)
        assert len(await chat.history()) == 3
        chat.session_id = origin
        other = chat.stub.ForkSession(
            pb.ForkSessionRequest(session=chat.ref, new_session_id="f", message_id="m2")
        )
        assert (await chat.refused(other))[1] == "CONFLICT"
        mine = chat.stub.ForkSession(
            pb.ForkSessionRequest(session=chat.ref, new_session_id="other")
        )
        assert (await chat.refused(mine))[1] == "CONFLICT"
        with pytest.raises(NotFound):  # nothing was copied
            await chat.history("session/other")


class Hands:
    """A clock that moves when it is told to."""

    at_ms = 1_800_000_000_000

    def now_ms(self) -> int:
        return self.at_ms

    monotonic_s = staticmethod(time.monotonic)


async def test_a_fork_has_the_state_that_held_at_its_message() -> None:
    clock = Hands()
    async with room(clock=clock) as chat:
        made = await chat.open(mode="workflow", role_config_json=WORKFLOW)
        origin, states = made.session_id, {}
        for id_, act in (("m1", "task"), ("m2", "stop"), ("m3", "task")):
            states[id_] = json.loads((await chat.session()).mode_state_json)["status"]
            clock.at_ms += 1_000
            message = Message(id_, "u1", id_, session_id=origin, sent_at=clock.at_ms)
            await chat.client.append(made.channel, message)
            clock.at_ms += 1_000
            await chat.act(act, "u1", "make tea")
        changed = pb.UpdateSessionRequest(session=chat.ref, mode="free_chat")
        clock.at_ms += 1_000
        await chat.stub.UpdateSession(changed)
        assert len(set(states.values())) > 1
        for id_, status in states.items():
            chat.session_id = origin
            forked = await fork(chat, message_id=id_)
            assert (forked.mode, forked.state_version) == ("workflow", 1)
            assert json.loads(forked.mode_state_json)["status"] == status
            assert json.loads(forked.role_config_json) == json.loads(WORKFLOW)
        chat.session_id = origin
        assert (await fork(chat)).mode == "free_chat"


async def test_in_a_copy_the_mode_begins_anew_at_messages_from_before() -> None:
    """Which states its messages led to is not known there."""
    async with room() as chat:
        await chat.open(mode="workflow", role_config_json=WORKFLOW)
        heard = await chat.say("make tea")
        first = heard.end.responses[0].id
        assert (await chat.state())["status"] != "idle"
        await fork(chat)
        assert (await chat.state())["status"] != "idle"
        states = (await chat.stub.ListStates(pb.ListStatesRequest(session=chat.ref))).states
        assert [one.event for one in states] == ["taken_over"]
        await fork(chat, message_id=first)
        assert (await chat.state())["status"] == "idle"


async def test_a_fork_at_a_move_has_what_the_move_led_to() -> None:
    async with room() as chat:
        config = json.dumps({**json.loads(WORKFLOW), "advance": "step"})
        made = await chat.open(mode="workflow", role_config_json=config)
        heard = await chat.say("make tea")
        after = await chat.state()
        await chat.say("go on")
        assert await chat.state() != after
        await fork(chat, message_id=heard.end.responses[-1].id)
        assert await chat.state() == after
        assert (await chat.session()).forked_from.session_id == made.session_id


async def test_a_forgotten_persona_of_the_space_is_not_in_a_fork() -> None:
    async with room() as chat:
        space = pb.Space(slug="cafe", participants=CATS)
        await chat.stub.PutSpace(pb.PutSpaceRequest(space=space))
        await chat.open(space="cafe", participants=[])
        gone = pb.RemoveParticipantsRequest(session=chat.ref, participant_ids=["grey"], forget=True)
        await chat.stub.RemoveParticipants(gone)
        forked = await fork(chat)
        assert [one.id for one in forked.participants] == ["black", "white"]


@pytest.mark.row("S4-06", "P-03", "N-18")
@pytest.mark.parametrize("fields", [{"session_id": "i", "channel": "busy"}, {"session_id": "i"}])
async def test_in_an_import_everybody_sees_what_they_saw(fields: dict[str, str]) -> None:
    async with room() as chat:
        found = await lived(chat)
        lines = await exported(chat)
        presences = {
            one["id"]: one.get("presences")
            for one in json.loads(lines[0])["session"]["participants"]
        }
        assert presences == {
            "black": None, "white": [{"untilSequence": "2"}, {"afterSequence": "3"}],
            "grey": [{"afterSequence": "1", "untilSequence": "4"}], "u2": [{"afterSequence": "4"}],
        }  # fmt: skip
    async with room() as chat:
        for number in range(5):
            await chat.client.append("busy", Message(f"b{number}", "u9", f"noise {number}"))
        taken = await imported(chat, lines, **fields)
        assert taken.messages.stored_count == 4
        chat.session_id = "i"
        assert {one: await seen(chat, one) for one in found} == found
        assert await says_more(chat) == with_new(found, "grey")


async def test_an_import_of_a_bad_state_is_refused_each_time() -> None:
    role_config = json.dumps({"role_map": {"coder": "black"}, "nodes": ["coder"]})
    session = {
        "sessionId": "x", "mode": "workflow", "roleConfigJson": role_config,
        "participants": [{"id": "black", "kind": "PARTICIPANT_KIND_PERSONA"}],
        "modeStateJson": json.dumps({"current_node": "coder", "status": "bad"}),
    }  # fmt: skip
    async with room() as chat:
        for _ in range(2):
            code, reason, _ = await chat.refused(imported(chat, [json.dumps({"session": session})]))
            assert (code, reason) == ("INVALID_ARGUMENT", "INVALID_FIELD")
        assert not (await chat.stub.ListSessions(pb.ListSessionsRequest())).sessions
        session["modeStateJson"] = json.dumps({"current_node": "coder", "status": "working"})
        taken = await imported(chat, [json.dumps({"session": session})])
        assert json.loads(taken.session.mode_state_json)["status"] == "working"
        assert taken.session.state_version == 1


async def test_lines_of_other_kinds_are_refused_by_their_number() -> None:
    session = json.dumps({"session": {"sessionId": "x"}})
    message = json.dumps({"message": {"id": "m", "author": {"id": "u"}}})
    async with room() as chat:
        for kind in ("participant", "state", "session", "other"):
            lines = [session, message, json.dumps({kind: {}})]
            assert await chat.refused(imported(chat, lines)) == (
                "INVALID_ARGUMENT", "INVALID_FIELD", "lines[2]",
            )  # fmt: skip


@pytest.mark.row("S4-06")
async def test_an_import_into_a_session_that_is_there_brings_what_is_missing() -> None:
    async with room() as chat:
        await lived(chat)
        lines = await exported(chat)
    async with room() as chat:
        begun = await chat.open(
            session_id="o", channel="mine", title="mine", participants=[CATS[0]]
        )
        for stored in (4, 0):
            taken = await imported(chat, lines, session_id="o")
            assert taken.messages.stored_count == stored
            assert taken.session.title == "mine"
            assert taken.session.participants == begun.participants
        await put(chat, CATS[1])
        await chat.stub.UpdateSession(pb.UpdateSessionRequest(session=chat.ref, title="new"))
        taken = await imported(chat, lines, session_id="o")
        assert (taken.session.title, taken.messages.duplicate_count) == ("new", 4)
        assert [one.id for one in taken.session.participants] == ["black", "white"]
        elsewhere = imported(chat, lines, session_id="o", channel="elsewhere")
        assert await chat.refused(elsewhere) == ("ABORTED", "CONFLICT", "channel")


async def test_an_import_into_the_session_of_another_owner_is_refused() -> None:
    async with room() as chat:
        await chat.open(session_id="o", owner_id="ann")
        lines = [json.dumps({"session": {"sessionId": "o", "ownerId": "bob"}})]
        assert await chat.refused(imported(chat, lines)) == (
            "ABORTED", "CONFLICT", "session.owner_id",
        )  # fmt: skip


async def test_a_list_tells_the_mode() -> None:
    async with room() as chat:
        await chat.open(mode="workflow", role_config_json=WORKFLOW)
        (listed,) = (await chat.stub.ListSessions(pb.ListSessionsRequest())).sessions
        assert listed.mode == "workflow"
        assert json.loads(listed.role_config_json) == json.loads(WORKFLOW)
        assert not listed.participants
        assert (listed.mode_state_json, listed.state_version) == ("", 0)
