"""Both clients' rooms: sessions that begin by themselves, rounds with tools, rounds that break off."""

import grpc
import pytest

from backscroll import (
    AsyncClient,
    Author,
    Client,
    Interrupt,
    InvalidRequest,
    Message,
    NotFound,
    Participant,
    Persona,
    Refused,
    RoomPolicy,
    RoundEnded,
    RoundStarted,
    TargetDelta,
    TargetEnded,
    TargetStarted,
    TargetToolCall,
    ToolResult,
    Unavailable,
)
from tests.clients.python.fake_server import status_of

CATS = [Persona("tom", "Tom", "A lazy cat."), Persona("kit", "Kit", nickname="Kitten")]
ANN = Author("u1", "Ann")
GONE = status_of(grpc.StatusCode.UNAVAILABLE)


def rpcs(fake):
    return [seen.rpc for seen in fake.seen]


# --- how a session begins -------------------------------------------------------------------------


def test_a_room_begins_with_its_first_call(client, fake):
    room = client.room("cats", personas=CATS, mode="free_chat", role_config={"a": "猫"})
    assert not fake.seen
    assert room.ask("hello", ANN).replies == {"Tom": "Tom says: hello", "Kit": "Kit says: hello"}
    assert rpcs(fake) == ["GetSession", "CreateSession", "StartRound"]
    [request] = fake.requests("CreateSession")
    assert request.session.role_config_json == '{"a": "猫"}'
    assert [one.nickname for one in request.session.participants] == ["", "Kitten"]
    room.ask("again", ANN)
    assert rpcs(fake)[3:] == ["StartRound"]


def test_a_room_that_is_there_is_taken_as_it_is(client, fake):
    client.room("cats", personas=CATS).session()
    again = client.room("cats", personas=["other"])
    assert [one.name for one in again.session().participants] == ["Tom", "Kit"]
    assert len(fake.requests("CreateSession")) == 1


def test_a_room_without_an_id_has_one_of_its_own(client, fake):
    room = client.room(personas=CATS)
    assert room.session().session_id == room.session_id
    assert rpcs(fake) == ["CreateSession", "GetSession"]
    assert client.room(room.session_id).ask("hello", ANN).session_id == room.session_id


def test_an_id_alone_must_be_there(client, fake):
    room = client.room("dogs")
    for call in (room.session, lambda: room.ask("hello", ANN)):
        with pytest.raises(NotFound) as missing:
            call()
        assert (missing.value.reason, missing.value.field) == (
            "SESSION_NOT_FOUND",
            "session.session_id",
        )
    assert not fake.requests("CreateSession")


def test_wrong_arguments_come_up_before_anything_is_asked(client, fake):
    with pytest.raises(TypeError, match="author"):
        client.room("cats").say("hello")
    with pytest.raises(TypeError, match="budget"):
        client.room("cats").say("hello", ANN, budget=5)
    with pytest.raises(ValueError, match="loudly"):
        Persona("tom", reply="loudly")
    with pytest.raises(TypeError, match="id"):
        client.room("cats", personas=[Persona(5)])
    assert not fake.seen


# --- rounds ---------------------------------------------------------------------------------------


def test_the_events_of_a_round_are_typed(client):
    room = client.room("cats", personas=CATS)
    heard = room.say("@Kit hello", ANN)
    kinds = [type(event) for event in heard.events]
    assert kinds == [RoundStarted, TargetStarted, TargetDelta, TargetEnded, RoundEnded]
    assert [event.sequence for event in heard.events] == [1, 2, 3, 4, 5]
    assert [event.target_id for event in heard.events] == ["", "kit", "kit", "kit", ""]
    assert (heard.replies["Kit"], heard.replies["kit"]) == ("Kit says: hello",) * 2
    assert (heard.route.reasons, heard.route.clean_text) == ({"kit": "mention"}, "hello")
    assert (heard.ended.reason, heard.session_id) == ("complete", "cats")
    assert heard.request_id in repr(heard)


def test_what_is_said_goes_as_it_was_given(client, fake):
    room = client.room("cats", personas=CATS)
    room.ask(
        "hello", ANN, id="m7", targets=["tom"], request_id="r1", reply_to="m1", mentions=["kit"],
        audience=["tom"], expected_state_version=3, token_budget=900, temperature=0.2,
    )  # fmt: skip
    [request] = fake.requests("StartRound")
    message = request.message
    assert (message.id, message.author.name, message.reply.message_id) == ("m7", "Ann", "m1")
    assert [*message.audience, *request.targets, message.mentions[0].user_id] == [
        "tom", "tom", "kit",
    ]  # fmt: skip
    assert (request.request_id, request.expected_state_version) == ("r1", 3)
    assert (request.context.token_budget, request.model_call.temperature) == (
        900,
        pytest.approx(0.2),
    )
    room.ask(Message("m8", "u2", "hi", 1_795_132_800_000), targets=["kit"])
    message = fake.requests("StartRound")[1].message
    assert (message.id, message.author.id, message.sent_at_ms) == ("m8", "u2", 1_795_132_800_000)


def test_two_rounds_have_two_request_ids(client, fake):
    room = client.room("cats", personas=CATS)
    first, second = room.ask("a", ANN), room.ask("a", ANN)
    assert first.request_id != second.request_id
    assert [one.request_id for one in fake.requests("StartRound")] == [
        first.request_id,
        second.request_id,
    ]


def test_a_server_that_is_away_for_a_moment_is_asked_again_under_the_same_id(client, fake):
    room = client.room("cats", personas=CATS)
    room.session()
    fake.fail("StartRound", GONE)
    assert room.ask("hello", ANN).ended.reason == "complete"
    ids = {one.request_id for one in fake.requests("StartRound")}
    assert len(ids) == 1
    assert len(fake.sessions.asked) == 2


@pytest.mark.parametrize("after", range(1, 8))
def test_a_round_that_breaks_off_goes_on_and_asks_nobody_twice(client, fake, after):
    room = client.room("cats", personas=CATS)
    fake.breaks_after = after
    heard = room.ask("hello", ANN, request_id="r1")
    assert heard.replies == {"Tom": "Tom says: hello", "Kit": "Kit says: hello"}
    assert sorted(fake.sessions.asked) == [("r1", "kit"), ("r1", "tom")]
    [resumed] = fake.requests("ResumeRound")
    assert (resumed.request_id, resumed.after_sequence) == ("r1", after)
    kinds = [type(event) for event in heard.events]
    assert kinds.count(RoundStarted) == kinds.count(RoundEnded) == 1
    assert kinds.count(TargetEnded) == 2
    texts = {}
    for event in heard.events:
        if isinstance(event, TargetStarted):
            texts[event.target_id] = ""
        if isinstance(event, TargetDelta):
            texts[event.target_id] = (
                event.text if event.whole else texts[event.target_id] + event.text
            )
    assert texts == {"tom": "Tom says: hello", "kit": "Kit says: hello"}


def test_a_server_that_stays_away_raises_with_what_goes_on(client, fake):
    room = client.room("cats", personas=CATS)
    fake.breaks_after = 3
    fake.fail("ResumeRound", GONE, times=9)
    with pytest.raises(Unavailable) as away:
        room.ask("hello", ANN)
    fake.scripts["ResumeRound"].faults.clear()
    assert room.resume(away.value.request_id).replies["Kit"] == "Kit says: hello"
    assert len(fake.sessions.asked) == 2


def test_functions_answer_what_a_persona_asks_for(client, fake):
    def meeting(day: str) -> str:
        """Look up when we meet."""
        return f"on {day} at six"

    room = client.room("cats", personas=CATS)
    heard = room.ask("@Tom when?", ANN, tools=[meeting])
    assert heard.replies == {"Tom": "Tom says: on friday at six"}
    kinds = [type(event) for event in heard.events]
    assert kinds.count(TargetToolCall) == 1
    assert Interrupt not in kinds
    assert kinds.count(RoundEnded) == 1
    [start] = fake.requests("StartRound")
    assert start.model_call.enable_tools
    assert "meeting" in start.context.tools_json
    [resume] = fake.requests("ResumeRound")
    assert resume.answers[0].interrupt_id == "i-tom"
    named = room.ask("@Kit when?", ANN, tools={"look": meeting})
    assert named.replies["Kit"] == "Kit says: on friday at six"


def test_a_round_waits_for_answers_of_the_bots_own(client):
    room = client.room("cats", personas=CATS)
    schema = '[{"type": "function", "function": {"name": "look"}}]'
    heard = room.ask("@Tom when?", ANN, tools_json=schema, enable_tools=True)
    assert heard.ended.reason == "interrupted"
    [waits] = heard.interrupts
    assert [call.name for call in waits.calls] == ["look"]
    results = [ToolResult(call.id, "at six") for call in waits.calls]
    gone_on = room.resume(heard.request_id, answers={waits.interrupt_id: results})
    assert gone_on.replies == {"Tom": "Tom says: at six"}


def test_asynchronous_functions_need_an_event_loop(client, fake):
    async def meeting(day: str) -> str:
        return f"on {day} at six"

    room = client.room("cats", personas=CATS)
    room.session()
    if client.kind is Client:
        with pytest.raises(TypeError, match="AsyncClient"):
            room.ask("@Tom when?", ANN, tools=[meeting])
        assert not fake.requests("StartRound")
    else:
        heard = room.ask("@Tom when?", ANN, tools=[meeting])
        assert heard.replies["Tom"] == "Tom says: on friday at six"


def test_what_fails_has_reason_and_field(client, fake):
    with pytest.raises(InvalidRequest) as unknown:
        client.room("cats", mode="nope").session()
    assert (unknown.value.reason, unknown.value.field) == ("UNKNOWN_MODE", "mode")
    room = client.room("cats", personas=CATS)
    with pytest.raises(Refused) as refused:
        room.act("cheat", actor="u1")
    assert (refused.value.reason, refused.value.field) == ("ACTION_REFUSED", "name")
    room.update(status="sealed")
    with pytest.raises(Refused) as closed:
        room.ask("hello", ANN)
    assert closed.value.reason == "SESSION_CLOSED"
    with pytest.raises(NotFound) as nowhere:
        room.resume("r9")
    assert (nowhere.value.reason, nowhere.value.request_id) == ("ROUND_NOT_FOUND", "r9")


# --- the rest -------------------------------------------------------------------------------------


def test_moves_and_changes(client, fake):
    room = client.room("cats", personas=CATS)
    move = room.act("start", actor="u1", argument="now")
    assert (move.event, move.state, move.state_version) == ("start", {"phase": "asking"}, 2)
    assert move.waiting_for == ("tom",)
    [request] = fake.requests("Act")
    assert (request.actor_id, request.argument) == ("u1", "now")
    assert request.request_id
    session = room.update(title="Cats", mode_state={"phase": "over"}, policy={"max_targets": 2})
    assert (session.title, session.mode_state_json) == ("Cats", '{"phase": "over"}')
    assert fake.requests("UpdateSession")[0].policy.max_targets == 2
    assert [one.id for one in room.add(Participant("u1", "Ann"), "u2")] == [
        "tom", "kit", "u1", "u2",
    ]  # fmt: skip
    assert [one.id for one in room.remove("tom", "kit")] == ["u1", "u2"]
    assert [one.event for one in room.states()] == ["begun"]
    prepared = room.prepare("hello", ANN)
    assert prepared.contexts == ()
    assert room.fork(new_session_id="other").session().session_id == "other"
    assert (room.delete(), room.delete()) == (True, False)


def test_spaces_sessions_and_lines(client, fake):
    client.put_space("cafe", personas=CATS, mode="quiz", policy=RoomPolicy(burst_window_ms=200))
    assert client.get_space("cafe").policy.burst_window_ms == 200
    client.put_space("attic")
    assert [one.slug for one in client.list_spaces(page_size=1)] == ["attic", "cafe"]
    client.delete_space("attic")
    with pytest.raises(NotFound) as missing:
        client.get_space("attic")
    assert missing.value.reason == "SPACE_NOT_FOUND"
    for name in ("a", "b", "c"):
        client.room(name, personas=CATS).ask("hello", ANN)
    assert [one.session_id for one in client.list_sessions(page_size=2)] == ["a", "b", "c"]
    lines = list(client.room("a").export())
    taken = client.import_session(lines * 400, session_id="copy", space="cafe", channel="c")
    assert taken.session.session_id == "copy"
    sent = fake.requests("ImportSession")
    assert [len(one.lines) for one in sent] == [500, 300]
    assert (sent[0].session_id, sent[0].space, sent[0].channel) == ("copy", "cafe", "c")
    assert not sent[1].session_id
    assert [one.name for one in client.modes()] == ["free_chat", "quiz"]


def test_leaving_the_loop_ends_the_round(fake):
    with Client(fake.address) as client:
        room = client.room("cats", personas=CATS)
        with room.say("hello", ANN) as heard:
            for event in heard:
                assert isinstance(event, RoundStarted)
                break
        assert heard.ended is None
        assert list(heard) == []


async def test_leaving_the_loop_ends_the_round_async(fake):
    async with AsyncClient(fake.address) as client:
        room = client.room("cats", personas=CATS)
        async with room.say("hello", ANN) as heard:
            async for event in heard:
                assert isinstance(event, RoundStarted)
                break
        assert heard.ended is None
        assert [event async for event in heard] == []
