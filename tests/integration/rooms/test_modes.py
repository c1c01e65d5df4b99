"""The modes, played over a real socket: a workflow, a night of werewolves, a quiz, and one of the operator's own."""

import json

import pytest

from backscroll.v1 import context_pb2, message_pb2
from backscroll.v1 import session_pb2 as pb
from tests.integration.rooms.room import ANN, BOB, CATS, PERSONA, CatModel, human, room, text_of

ROLES = {"coder": "black", "reviewer": "white", "tester": "grey"}


def config(**more: object) -> str:
    return json.dumps({"role_map": ROLES, **more})


@pytest.mark.row("S4-23", "S4-24", "S4-30", "S4-10")
async def test_one_message_walks_the_chain() -> None:
    """Mentions are not heeded; each sees the answers before; the state behind it is stored."""
    model = CatModel(lambda name, _: f"{name}做完了")
    async with room(model) as chat:
        await chat.open(mode="workflow", role_config_json=config())
        heard = await chat.say("@小灰 写一个排序函数")
        assert heard.targets == [("black", "ROLE_MAP"), ("white", "ROLE_MAP"), ("grey", "ROLE_MAP")]
        assert model.asked == ["小黑", "小白", "小灰"]
        assert heard.replies == ["小黑做完了", "小白做完了", "小灰做完了"]
        assert "小黑做完了" in model.prompt(1)
        assert "小白做完了" in model.prompt(2)
        assert "当前阶段：coder" in model.prompt(0)
        assert "你的结果接下来交给小白（reviewer）" in model.prompt(0)
        events = [one.event for one in heard.of("state_changed")]
        assert events == ["task", "approved", "approved", "done"]
        state = await chat.state()
        assert (state["status"], state["current_node"], state["task"]) == ("done", "coder", 1)
        over = heard.of("state_changed")[-1]
        assert over.over
        assert [text_of(one) for one in over.announcements] == ["任务完成。"]
        assert heard.end.state_version == (await chat.session()).state_version


@pytest.mark.row("S4-12", "S4-13")
async def test_the_task_is_the_first_message_and_what_was_added() -> None:
    async with room() as chat:
        await chat.open(mode="workflow", role_config_json=config(advance="step"))
        first = await chat.say("写一个排序函数", ANN)
        assert first.targets == [("black", "ROLE_MAP")]
        second = await chat.say("要稳定的", BOB)
        assert second.targets == [("white", "ROLE_MAP")]
        third = await chat.say("还要快", ANN)
        assert third.targets == [("grey", "ROLE_MAP")]
        task = "主任务：写一个排序函数\n  补充要求：\n  1. 要稳定的\n  2. 还要快"
        assert chat.model.prompt().endswith(f"铲屎官说：{task}")
        assert chat.model.prompt().count("要稳定的") == 1
        assert (await chat.state())["status"] == "done"
        anew = await chat.say("再写一个查找函数", ANN)
        assert anew.targets == [("black", "ROLE_MAP")]
        assert "主任务：再写一个查找函数" in chat.model.prompt()
        assert "补充要求" not in chat.model.prompt()
        message = message_pb2.Message(author=BOB, parts=[{"text": {"text": "用二分"}}])
        prepared = await chat.stub.PrepareRound(
            pb.PrepareRoundRequest(round=pb.StartRoundRequest(session=chat.ref, message=message))
        )
        assert prepared.task_prompt == "主任务：再写一个查找函数\n补充要求：\n1. 用二分"
        assert [one.participant_id for one in prepared.route.targets] == ["white"]
        assert prepared.mode == "workflow"
        assert len(await chat.history()) == 9  # nothing of it is stored


async def test_the_task_prompt_in_english() -> None:
    cats = [
        pb.Participant(id=id_, kind=PERSONA, name=name, persona=f"You are {name}.")
        for id_, name in (("black", "Blacky"), ("white", "Whitey"), ("grey", "Greyhound"))
    ]
    model = CatModel(lambda name, _: "done", names=("Blacky", "Whitey", "Greyhound"))
    async with room(model) as chat:
        await chat.open(mode="workflow", role_config_json=config(advance="step"), participants=cats)
        await chat.say("write a sort")
        await chat.say("make it stable")
        assert model.prompt().endswith(
            "User says: Task: write a sort\n  Added later:\n  1. make it stable"
        )


@pytest.mark.row("S4-23")
async def test_the_work_is_sent_back_so_often_and_no_more() -> None:
    model = CatModel(lambda name, _: "/reject 缺少测试" if name == "小白" else f"{name}做完了")
    async with room(model) as chat:
        await chat.open(mode="workflow", role_config_json=config(max_rejections=2))
        heard = await chat.say("写一个排序函数")
        assert model.asked == ["小黑", "小白"] * 3
        events = [one.event for one in heard.of("state_changed")]
        assert events == [
            "task",
            "approved",
            "rejected",
            "approved",
            "rejected",
            "approved",
            "given_up",
        ]
        assert (await chat.state())["status"] == "given_up"
        assert "已经不能再打回了" in model.prompt()
        assert heard.replies == ["小黑做完了", "/reject 缺少测试"] * 3


async def test_a_step_that_fails_leaves_the_task_where_it_is() -> None:
    from tests.integration.rooms.test_rounds import BROKEN

    model = CatModel(lambda name, _: BROKEN if name == "小白" else f"{name}做完了")
    async with room(model) as chat:
        await chat.open(mode="workflow", role_config_json=config())
        heard = await chat.say("写一个排序函数")
        assert heard.ended == {"black": "COMPLETE", "white": "FAILED"}
        assert (await chat.state())["current_node"] == "reviewer"
        model.answers = lambda name, _: f"{name}做完了"
        again = await chat.say("再试试")
        assert again.targets == [("white", "ROLE_MAP"), ("grey", "ROLE_MAP")]
        assert (await chat.state())["status"] == "done"


@pytest.mark.row("S4-24")
async def test_a_state_that_changed_meanwhile_is_not_overwritten() -> None:
    async with room() as chat:
        made = await chat.open(mode="workflow", role_config_json=config(advance="step"))
        stale = await chat.say("写", expected_state_version=made.state_version + 1)
        assert (stale.refusal.reason, stale.refusal.field) == ("CONFLICT", "expected_state_version")
        assert await chat.history() == []
        await chat.say("写", expected_state_version=made.state_version)
        late = chat.act("stop", expected_state_version=made.state_version)
        assert (await chat.refused(late))[1] == "CONFLICT"
        done = await chat.act("stop")
        assert (done.change.event, done.change.over) == ("stopped", True)


# --- werewolf ----------------------------------------------------------------------------------------


PLAYERS = (
    human("u1", "Ann"), human("u2", "Bob"),
    pb.Participant(id="black", kind=PERSONA, name="小黑", persona="一只黑猫"),
    pb.Participant(id="white", kind=PERSONA, name="小白", persona="一只白猫"),
    pb.Participant(id="grey", kind=PERSONA, name="小灰", persona="一只灰猫"),
)  # fmt: skip
ASSIGN = {
    "black": "werewolf",
    "white": "seer",
    "u1": "villager",
    "u2": "villager",
    "grey": "villager",
}


@pytest.mark.row("S4-34", "S4-22", "N-18")
async def test_a_game_of_werewolf_to_its_end() -> None:
    """Over gRPC alone: roles, a night, talk, votes, deaths, a winner; nobody is told what is not for them."""

    def answer(name: str, request) -> str:
        todo = request.messages[0].content.split("现在要做的")[-1]
        if "/杀" in todo:
            return "嘿嘿，canary-wolf\n/杀 Bob"
        if "/查验" in todo:
            return "让我看看 canary-seer\n/check 小黑"
        if "/投票" in todo:
            return "/vote Ann" if name == "小黑" else "/vote 小黑"
        return f"{name}：我是好人"

    model = CatModel(answer)
    async with room(model) as chat:
        await chat.open(
            mode="werewolf", participants=PLAYERS,
            role_config_json=json.dumps({"assign": ASSIGN, "talk_rounds": 1}),
        )  # fmt: skip
        night = await chat.say("/start", ANN)
        assert night.of("state_changed")[0].event == "started"
        assert {name for name, _ in night.targets} >= {"black", "white"}
        state = await chat.state()
        assert state["phase"] == "talk"
        assert state["deaths"] == [{"id": "u2", "day": 1, "cause": "killed"}]
        assert state["speakers"][0] == "u1"
        while (await chat.state())["phase"] == "talk":
            speaker = (await chat.state())["speakers"][0]
            assert speaker == "u1"
            await chat.say("我不是狼", ANN)
        votes = await chat.say("/vote 小黑", ANN)
        final = await chat.state()
        assert (final["phase"], final["winner"]) == ("over", "villagers")
        assert votes.of("state_changed")[-1].over
        for name, request in model.calls:
            prompt = "\n".join(one.content for one in request.messages)
            if name != "小黑":
                assert "canary-wolf" not in prompt
            if name != "小白":
                assert "canary-seer" not in prompt
        refused = await chat.refused(chat.act("vote", "u1", "小白"))
        assert refused[:2] == ("FAILED_PRECONDITION", "ACTION_REFUSED")
        whispers = [one for one in await chat.history() if "canary" in text_of(one)]
        assert [list(one.audience) for one in whispers] == [["black"], ["white"]] or [
            list(one.audience) for one in whispers
        ] == [["white"], ["black"]]


async def test_a_game_played_by_moves_alone() -> None:
    async with room() as chat:
        await chat.open(
            mode="werewolf",
            participants=[human(f"u{number}", f"P{number}") for number in range(4)],
            role_config_json=json.dumps(
                {"assign": {"u0": "werewolf", "u1": "seer", "u2": "villager", "u3": "villager"}, "talk_rounds": 0}
            ),
        )  # fmt: skip
        begun = await chat.act("start")
        assert sorted(begun.waiting_for) == ["u0", "u1"]
        await chat.act("check", "u1", "P0")
        again = await chat.act("kill", "u0", "P3", request_id="move-1")
        twice = await chat.act("kill", "u0", "P3", request_id="move-1")
        assert twice.change.state_version == again.change.state_version
        assert [text_of(one) for one in twice.change.announcements] == [
            text_of(one) for one in again.change.announcements
        ]
        for voter in ("u1", "u2"):
            await chat.act("vote", voter, "P0")
        last = await chat.act("vote", "u0", "nobody")
        assert last.change.over
        assert json.loads(last.change.mode_state_json)["winner"] == "villagers"
        told = [one for one in await chat.history() if one.audience]
        assert told
        assert [
            list(one.audience) for one in told if "狼人" in text_of(one) or "wolf" in text_of(one)
        ]


async def test_a_move_that_is_forbidden_is_said_and_nothing_is_stored() -> None:
    async with room() as chat:
        await chat.open(mode="werewolf", participants=PLAYERS)
        heard = await chat.say("/kill Bob", ANN)
        assert heard.refusal.reason == "ACTION_REFUSED"
        assert heard.refusal.code.name == "FAILED_PRECONDITION"
        assert await chat.history() == []


# --- quiz --------------------------------------------------------------------------------------------


@pytest.mark.row("S4-34", "S4-22")
async def test_a_quiz_to_its_end() -> None:
    questions = [
        {"text": "法国的首都？", "answers": ["巴黎", "Paris"]},
        {"text": "2 + 2?", "answers": ["4"], "points": 2},
    ]
    model = CatModel(lambda *_: "我不知道")
    async with room(model) as chat:
        await chat.open(
            mode="quiz", participants=[human("u1", "Ann"), human("u2", "Bob"), CATS[0]],
            role_config_json=json.dumps({"questions": questions}),
        )  # fmt: skip
        begun = await chat.say("/start", ANN)
        assert "法国的首都？" in text_of(begun.of("state_changed")[0].announcements[0])
        assert [name for name, _ in begun.targets] == ["black"]
        wrong = await chat.say("伦敦", BOB)
        assert (await chat.state())["index"] == 0
        assert wrong.reason in {"NOBODY", "COMPLETE"}
        right = await chat.say("是巴黎吧", BOB)
        assert (await chat.state())["scores"]["u2"] == 1
        assert right.of("state_changed")[0].event in {"answered", "solved"}
        await chat.say("4", ANN)
        final = await chat.state()
        assert (final["phase"], final["winners"]) == ("over", ["u1"])
        assert final["scores"] == {"u1": 2, "u2": 1} or final["scores"]["u1"] == 2
        for _, request in model.calls:
            assert "巴黎" not in "\n".join(
                one.content for one in request.messages if one.role.name == "SYSTEM"
            )


# --- one's own ---------------------------------------------------------------------------------------


@pytest.mark.row("S4-22", "S4-34")
async def test_a_mode_of_ones_own() -> None:
    async with room(modes="tests.integration.rooms.own_mode:Debate") as chat:
        modes = (await chat.stub.ListModes(pb.ListModesRequest())).modes
        assert "debate" in [one.name for one in modes]
        await chat.open(
            mode="debate", role_config_json='{"sides": ["black", "white"], "rounds": 2}'
        )
        heard = await chat.say("猫比狗好", ANN)
        assert chat.model.asked == ["小黑", "小白", "小黑", "小白"]
        assert heard.of("state_changed")[-1].over
        assert "[轮到你了" in chat.model.prompt()
        assert (await chat.state()) == {"turn": 4, "total": 4}


async def test_an_own_mode_that_cannot_be_used_stops_the_start() -> None:
    from backscroll_sidecar.errors import StartRefused

    with pytest.raises(StartRefused, match="modes"):
        async with room(modes="tests.integration.rooms.own_mode:Nothing"):
            pass


def test_contexts_are_typed() -> None:
    assert context_pb2


@pytest.mark.row("N-18", "S4-34")
async def test_a_whispered_move_is_told_to_nobody_who_is_asked_next() -> None:
    """A person who is a wolf moves by a message: the night goes on, and no prompt holds the words."""

    def answer(name: str, request) -> str:
        todo = request.messages[0].content.split("现在要做的")[-1]
        return (
            "/check 小黑" if "/查验" in todo else "/vote nobody" if "/投票" in todo else "我说完了"
        )

    model = CatModel(answer)
    async with room(model) as chat:
        roles = {
            "u1": "werewolf",
            "white": "seer",
            "u2": "villager",
            "black": "villager",
            "grey": "villager",
        }
        await chat.open(
            mode="werewolf", participants=PLAYERS, role_config_json=json.dumps({"assign": roles})
        )
        await chat.act("start")
        heard = await chat.say("canary 今晚就他了\n/kill Bob", ANN)
        assert list(heard.started.user_message.audience) == ["u1"]
        assert ("white", "ROLE_MAP") in heard.targets
        state = await chat.state()
        assert state["deaths"] == [{"id": "u2", "day": 1, "cause": "killed"}]
        assert len(model.calls) >= 1
        for place in range(len(model.calls)):
            assert "canary" not in model.prompt(place)
        await chat.say("我是好人", ANN)
        for place in range(len(model.calls)):
            assert "canary" not in model.prompt(place)
