"""Both clients' rooms against a whole server, with a model that answers as each persona is told to."""

import pytest

from backscroll import (
    Author,
    Message,
    Participant,
    Persona,
    Refused,
    RoomPolicy,
    TargetDelta,
    text_of,
)
from tests.integration.rooms.room import CatModel
from tests.kit.served import in_background

pytestmark = pytest.mark.slow

ANN, BOB, CLEO = Author("u1", "Ann"), Author("u2", "Bob"), Author("u3", "Cleo")
CATS = [
    Persona("black", "小黑", "你是一只黑猫，负责写代码。", nickname="黑黑", summary="写代码"),
    Persona("white", "小白", "你是一只白猫，负责评审。", aliases=["Whitey"]),
    Persona("grey", "小灰", "你是一只灰猫，负责测试。", reply="mentioned"),
]


@pytest.fixture
def model():
    return CatModel()


@pytest.fixture
def bot(connect, model):
    with in_background(model=model) as client:
        yield connect(client._target, timeout_s=120)


def presence_of(session, participant_id):
    [one] = [one for one in session.participants if one.id == participant_id]
    return one.presences


@pytest.mark.row("P-03")
def test_many_people_and_personas_each_with_role_and_times(bot, model):
    """P-03: three people, three personas and somebody else's bot in one session; who comes and goes, when."""
    room = bot.room("cats", personas=[*CATS, Participant("u1", "Ann"), Participant("u2", "Bob")])
    room.add(Participant("helper", "Helper", kind="bot"))
    kinds = {one.id: one.kind for one in room.session().participants}
    assert kinds == {"black": 2, "white": 2, "grey": 2, "u1": 1, "u2": 1, "helper": 3}

    first = room.ask("我们周五开会", ANN)
    assert set(first.replies) == {"小黑", "小白"}  # 小灰 answers when it is named
    room.ask("@Whitey 记住了吗", BOB)
    stored = list(bot.list_messages(room.session().channel))
    said = [(one.message.author.id, text_of(one.message)) for one in stored]
    assert said[0] == ("u1", "我们周五开会")
    assert ("u2", "@Whitey 记住了吗") in said
    assert {one.message.session_id for one in stored} == {"cats"}
    assert {one.message.role for one in stored if one.message.author.id == "black"} == {2}

    # 小黑 leaves, something is said, 小黑 and a new persona come: when each took part is kept.
    room.remove("black")
    left = presence_of(room.session(), "black")[-1]
    assert left.HasField("until_sequence")
    room.ask("黑猫听不到这句：密码是七", BOB)
    room.add(CATS[0], Persona("new", "小新", "你是新来的猫。"))
    stays = presence_of(room.session(), "black")
    assert len(stays) == 2
    assert stays[0].until_sequence < stays[1].after_sequence or not stays[0].HasField(
        "after_sequence"
    )
    [joined] = presence_of(room.session(), "new")
    assert joined.after_sequence >= stays[0].until_sequence

    model.names = [*model.names, "小新"]
    room.ask("@小黑 @小新 你们记得什么？", BOB)
    prompts = {
        name: "\n".join(one.content for one in request.messages)
        for name, request in model.calls[-2:]
    }
    assert "我们周五开会" in prompts["小黑"]
    assert "密码是七" not in prompts["小黑"]
    assert "我们周五开会" not in prompts["小新"]
    assert "密码是七" not in prompts["小新"]


@pytest.mark.row("P-03")
def test_join_and_leave_times_by_the_clock(bot):
    """P-03: times that another system kept are taken as they are."""
    from backscroll import Presence

    at_ms = 1_795_132_800_000
    room = bot.room(
        personas=[
            CATS[0],
            Participant("u1", "Ann", presences=[Presence(joined_at=at_ms, left_at=at_ms + 5_000)]),
        ]
    )
    [kept] = presence_of(room.session(), "u1")
    assert (kept.joined_at_ms, kept.left_at_ms) == (at_ms, at_ms + 5_000)
    room.remove("black", left_at=at_ms + 9_000)
    assert presence_of(room.session(), "black")[-1].left_at_ms == at_ms + 9_000


def test_a_round_is_streamed_and_can_be_had_again(bot, model):
    model.answers = lambda name, _: [f"{name}：", "喵", "呜"]
    room = bot.room(personas=CATS)
    heard = room.say(Message("p1", ANN, "@小黑 @小白 早"))
    pieces = [event for event in heard.events if isinstance(event, TargetDelta)]
    assert len(pieces) > 2
    assert dict(heard.route.reasons) == {"black": "mention", "white": "mention"}
    assert len(model.calls) == 2
    again = room.ask(Message("p1", ANN, "@小黑 @小白 早"), request_id=heard.request_id)
    assert again.replies == heard.replies
    assert room.resume(heard.request_id).replies == heard.replies
    assert len(model.calls) == 2


def test_one_persona_that_fails_costs_only_itself(bot, model):
    model.answers = lambda name, _: RuntimeError("boom") if name == "小黑" else "喵"
    heard = bot.room(personas=CATS).ask("早", ANN)
    assert heard.replies == {"小白": "喵"}
    assert set(heard.errors) == {"小黑"}
    assert heard.errors["小黑"].reason == "failed"
    assert heard.ended.failed_ids == ("black",)


def test_what_is_for_some_is_seen_by_them_alone(bot, model):
    room = bot.room(personas=CATS)
    room.ask("只给小黑：暗号是鱼", ANN, audience=["black"], targets=["black"])
    room.ask("@小黑 @小白 暗号是什么", ANN)
    prompts = {name: str(request.messages) for name, request in model.calls[-2:]}
    assert "暗号是鱼" in prompts["小黑"]
    assert "暗号是鱼" not in prompts["小白"]
    channel = room.session().channel
    built = bot.build_context(
        channel, "?", asker=ANN, session_id=room.session_id, viewer_id="black"
    )
    assert "audience" in built.visible_by.values()
    other = bot.build_context(
        channel, "?", asker=BOB, session_id=room.session_id, viewer_id="white"
    )
    assert "暗号是鱼" not in other.text


def test_a_room_prepares_for_bots_that_call_the_model(bot, model):
    room = bot.room(personas=CATS)
    room.ask("我们周五开会", ANN)
    asked = len(model.calls)
    prepared = room.prepare("@小黑 几号？", BOB, model="gpt-x")
    [one] = prepared.contexts
    assert (one.target.id, one.target.reason) == ("black", "mention")
    assert one.context.payload["model"] == "gpt-x"
    assert "小黑" in one.context.payload["messages"][0]["content"]
    assert "小白:" in one.stop_names
    assert prepared.lookup["黑黑"] == "black"
    assert next(text_of(each) for each in prepared.history) == "我们周五开会"
    assert len(model.calls) == asked


def test_a_workflow_hands_the_work_on(bot):
    nodes = {"coder": "black", "reviewer": "white", "tester": "grey"}
    room = bot.room(personas=CATS, mode="workflow", role_config={"role_map": nodes})
    heard = room.ask("写一个排序函数", ANN)
    assert list(heard.replies) == ["小黑", "小白", "小灰"]
    assert heard.state["status"] == "done"
    assert set(heard.route.reasons.values()) == {"role_map"}


def test_a_game_by_moves_and_by_messages(bot):
    people = [Participant(one.id, one.name) for one in (ANN, BOB, CLEO)]
    roles = {"u1": "werewolf", "u2": "seer", "u3": "villager"}
    room = bot.room(
        personas=people, mode="werewolf", role_config={"assign": roles, "talk_rounds": 0},
        policy=RoomPolicy(language="en"),
    )  # fmt: skip
    with pytest.raises(Refused):
        room.act("vote", actor="u1", argument="Bob")
    assert set(room.act("start").waiting_for) == {"u1", "u2"}
    checked = room.ask("/check Ann", BOB)
    assert [(text_of(one), list(one.audience)) for one in checked.announcements] == [
        ("Ann is a werewolf.", ["u2"])
    ]
    assert room.ask("/pass", ANN).state["phase"] == "vote"
    for who in (BOB, CLEO):
        ended = room.ask("/vote Ann", who)
    ended = room.act("vote", actor="u1", argument="nobody")
    assert (ended.over, ended.state["winner"]) == (True, "villagers")
    assert [one.event for one in room.states()][-1] == "begun"


def test_export_import_fork_and_lists(bot):
    bot.put_space("cafe", personas=CATS)
    room = bot.room("morning", space="cafe", title="Morning")
    room.ask("@小黑 早", ANN)
    assert [one.title for one in bot.list_sessions(space="cafe")] == ["Morning"]
    lines = list(room.export())
    taken = bot.import_session(lines, session_id="evening", space="cafe")
    assert taken.messages.stored_count == len(lines) - 1
    assert bot.import_session(lines, session_id="evening", space="cafe").messages.stored_count == 0
    forked = room.fork()
    assert forked.session().forked_from.session_id == "morning"
    assert len(list(forked.export())) == len(lines)
    assert room.delete(erase_messages=True)
    assert {one.session_id for one in bot.list_sessions(space="cafe")} == {
        "evening",
        forked.session_id,
    }
