"""Which session a name means: ids that several spaces have, aliases, and what is kept of them while they change."""

import asyncio
import json

import pytest

from backscroll import Message
from backscroll.errors import error_from
from backscroll.v1 import session_pb2 as pb
from tests.integration.rooms.room import CATS, Room, human, room, text_of

WORKFLOW = json.dumps({"role_map": {"coder": "black", "reviewer": "white", "tester": "grey"}})


async def put(chat: Room, ref: pb.SessionRef, *participants: pb.Participant) -> None:
    await chat.stub.PutParticipants(
        pb.PutParticipantsRequest(session=ref, participants=participants)
    )


async def seen(chat: Room, viewer_id: str, **fields: object) -> list[str]:
    built = await chat.built(viewer_id=viewer_id, **fields)
    return [text_of(one.message) for one in built.items]


@pytest.mark.row("S4-04", "N-18")
@pytest.mark.parametrize("spaces", [("a", "b"), ("", "a")])
async def test_sessions_of_one_id_in_two_spaces_have_rounds_of_their_own(
    spaces: tuple[str, str],
) -> None:
    async with room() as chat:
        for space in spaces:
            await chat.open(
                session_id="s", space=space, participants=[*CATS[:2], human("u1", "Ann")]
            )
        for space in spaces:
            ref = pb.SessionRef(session_id="s", space=space)
            first = await chat.say(f"EARLY {space}.", session=ref, targets=["black"])
            assert first.ended == {"black": "COMPLETE"}
            await put(chat, ref, CATS[2])
            late = await chat.say("now", session=ref, targets=["grey"])
            assert list(late.ended) == ["grey"]
            assert "EARLY" not in chat.model.prompt()
            await chat.say("more", session=ref, targets=["black"])
            assert f"EARLY {space}." in chat.model.prompt()


async def test_a_context_for_an_id_that_several_spaces_have() -> None:
    async with room() as chat:
        channels = {}
        for space in ("a", "b"):
            made = await chat.open(session_id="s", space=space, participants=CATS[:2])
            channels[space] = made.channel
            await chat.client.append(
                made.channel, Message("m", "u1", f"in {space}", session_id="s")
            )
        for space, channel in channels.items():
            assert await seen(chat, "black", channel=channel) == [f"in {space}"]
        which = await chat.refused(chat.built(viewer_id="black"))
        assert which == ("INVALID_ARGUMENT", "INVALID_FIELD", "session_id")
        elsewhere = await chat.refused(chat.built(viewer_id="black", channel="elsewhere"))
        assert elsewhere == ("INVALID_ARGUMENT", "INVALID_FIELD", "session_id")


@pytest.mark.row("S4-04")
async def test_a_session_read_by_its_alias_is_never_an_old_one() -> None:
    async with room() as chat:
        made = await chat.open(aliases=["old"], mode="workflow", role_config_json=WORKFLOW)
        chat.session_id = "old"
        for number in range(4):
            acted = await chat.act(("task", "stop")[number % 2])
            assert acted.change.state_version == number + 2
        assert (await chat.session()).state_version == 5
        for number in range(2):
            gone = pb.RemoveParticipantsRequest(session=chat.ref, participant_ids=["black"])
            await chat.stub.RemoveParticipants(gone)
            message = Message(f"x{number}", "u1", f"after {number}", session_id=made.session_id)
            await chat.client.append(made.channel, message)
            assert await seen(chat, "black") == []
            await put(chat, chat.ref, CATS[0])


async def test_an_alias_leads_to_a_session_from_the_moment_it_has_it() -> None:
    async with room() as chat:
        await chat.open(session_id="s", title="first", aliases=["twice", "twice"])
        alias = pb.SessionRef(session_id="late")
        lost = chat.stub.GetSession(pb.GetSessionRequest(session=alias))
        assert (await chat.refused(lost))[1] == "SESSION_NOT_FOUND"
        for title in ("second", "third"):
            await chat.stub.UpdateSession(
                pb.UpdateSessionRequest(session=chat.ref, title=title, add_aliases=["late", "late"])
            )
            found = await chat.stub.GetSession(pb.GetSessionRequest(session=alias))
            assert found.session.title == title
        await chat.stub.DeleteSession(pb.DeleteSessionRequest(session=alias))
        lost = chat.stub.GetSession(pb.GetSessionRequest(session=alias))
        assert (await chat.refused(lost))[1] == "SESSION_NOT_FOUND"


@pytest.mark.row("N-18")
async def test_who_is_forgotten_sees_no_more_than_before() -> None:
    async with room() as chat:
        made = await chat.open(participants=CATS[:2])
        await chat.say("EARLY", targets=["black"])
        await put(chat, chat.ref, CATS[2])
        message = Message("m", "u1", "later", session_id=made.session_id)
        await chat.client.append(made.channel, message)
        assert await seen(chat, "grey") == ["later"]
        gone = pb.RemoveParticipantsRequest(session=chat.ref, participant_ids=["grey"], forget=True)
        left = await chat.stub.RemoveParticipants(gone)
        assert [one.id for one in left.participants] == ["black", "white"]
        assert [one.id for one in (await chat.session()).participants] == ["black", "white"]
        assert await seen(chat, "grey") == []
        assert await seen(chat, "", self_ids=["grey"]) == []
        await put(chat, chat.ref, CATS[2])
        message = Message("n", "u1", "back", session_id=made.session_id)
        await chat.client.append(made.channel, message)
        assert await seen(chat, "grey") == ["back"]


async def test_two_callers_at_once_never_give_one_name_twice() -> None:
    """By an id and by an alias: it is one session."""
    async with room() as chat:
        made = await chat.open(session_id="s", aliases=["old"], participants=CATS[:1])
        calls = [
            put(chat, pb.SessionRef(session_id=name), human(f"u{number}", "Ann"))
            for number in range(4)
            for name in ("s", "old")
        ]
        done = await asyncio.gather(*calls, return_exceptions=True)
        refused = [error_from(one).reason for one in done if one is not None]
        assert refused == ["NAME_TAKEN"] * 6
        people = (await chat.session()).participants
        assert [one.name for one in people] == [made.participants[0].name, "Ann"]


async def test_moves_at_once_by_two_names_are_made_one_after_the_other() -> None:
    async with room() as chat:
        await chat.open(session_id="s", aliases=["old"])
        titles = [
            chat.stub.UpdateSession(
                pb.UpdateSessionRequest(
                    session=pb.SessionRef(session_id=name), add_aliases=[f"{name}-{number}"]
                )
            )
            for number in range(4)
            for name in ("s", "old")
        ]
        await asyncio.gather(*titles)
        assert len((await chat.session()).aliases) == 9


async def test_two_sessions_begun_at_once_never_have_one_alias() -> None:
    async with room() as chat:
        await chat.open(session_id="first")
        calls = [
            chat.stub.CreateSession(
                pb.CreateSessionRequest(session=pb.Session(session_id=f"s{number}", aliases=["a"]))
            )
            for number in range(5)
        ]
        calls.append(
            chat.stub.UpdateSession(pb.UpdateSessionRequest(session=chat.ref, add_aliases=["a"]))
        )
        done = await asyncio.gather(*calls, return_exceptions=True)
        refused = [error_from(one) for one in done if isinstance(one, Exception)]
        assert [(one.reason, one.field) for one in refused] == [("CONFLICT", "session.aliases")] * 5
        alias = pb.SessionRef(session_id="a")
        assert (await chat.stub.GetSession(pb.GetSessionRequest(session=alias))).session.session_id


async def test_a_session_has_so_many_aliases_at_most() -> None:
    async with room() as chat:
        await chat.open(aliases=[f"a{number}" for number in range(50)])
        more = chat.stub.UpdateSession(
            pb.UpdateSessionRequest(session=chat.ref, add_aliases=["one-more"])
        )
        assert await chat.refused(more) == ("INVALID_ARGUMENT", "TOO_LARGE", "session.aliases")


async def test_an_id_with_a_slash_has_no_other_sessions_channel() -> None:
    async with room() as chat:
        for space, session_id in (("", "x/y"), ("x", "y"), ("x/y", "z"), ("x", "y/z")):
            await chat.stub.CreateSession(
                pb.CreateSessionRequest(session=pb.Session(space=space, session_id=session_id))
            )
        listed = (await chat.stub.ListSessions(pb.ListSessionsRequest())).sessions
        assert len({one.channel for one in listed}) == 4
