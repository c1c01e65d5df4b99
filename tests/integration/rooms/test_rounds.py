"""Rounds over a real socket: who is asked, in what order, what each sees, what is kept."""

import asyncio
import json

import pytest

from backscroll import Message
from backscroll.v1 import message_pb2
from backscroll.v1 import session_pb2 as pb
from backscroll_sidecar.models.faults import failed
from backscroll_sidecar.ports import ModelFault
from tests.integration.rooms.room import ANN, BOB, CATS, CatModel, human, room, said, text_of

BROKEN = failed(ModelFault.CONNECTION)


@pytest.mark.row("S4-20", "S4-28")
async def test_nobody_named_everybody_answers() -> None:
    async with room() as chat:
        await chat.open()
        heard = await chat.say("大家好")
        assert heard.targets == [("black", "ALL"), ("white", "ALL"), ("grey", "ALL")]
        assert heard.said == {"black": "小黑说喵", "white": "小白说喵", "grey": "小灰说喵"}
        assert heard.reason == "COMPLETE"
        assert heard.replies == ["小黑说喵", "小白说喵", "小灰说喵"]
        assert text_of(heard.started.user_message) == "大家好"
        stored = await chat.history()
        first, *others = (one.id for one in stored)
        assert first == heard.started.user_message.id
        # Replies of one wave are kept as they end.
        assert sorted(others) == sorted(one.id for one in heard.end.responses)
        assert {one.session_id for one in stored} == {chat.session_id}
        assert {event.target_id for event in heard.events if event.HasField("delta")} == {
            "black", "white", "grey",
        }  # fmt: skip
        assert [event.sequence for event in heard.events] == list(range(1, len(heard.events) + 1))


@pytest.mark.row("S4-19")
async def test_who_is_named_answers_alone() -> None:
    async with room() as chat:
        await chat.open()
        heard = await chat.say("请@小黑看看，@黑黑 也行")
        assert heard.targets == [("black", "MENTION")]
        assert heard.started.route.clean_text == "请看看，也行"
        assert chat.model.asked == ["小黑"]


@pytest.mark.row("S4-21")
async def test_targets_at_once_see_what_was_there_before_the_round() -> None:
    async with room() as chat:
        await chat.open()
        await chat.say("@小黑 第一句", ANN)
        await chat.say("第二句")
        assert sorted(chat.model.asked[1:]) == sorted(["小黑", "小白", "小灰"])
        for place in (1, 2, 3):
            prompt = chat.model.prompt(place)
            assert "小黑说喵" in prompt  # of the round before
            assert prompt.count("第二句") == 1
            assert "小白说喵" not in prompt
            assert "小灰说喵" not in prompt


@pytest.mark.row("S4-30")
async def test_targets_one_after_the_other_see_those_before() -> None:
    model = CatModel(lambda name, _: f"{name}的话")
    async with room(model) as chat:
        await chat.open(policy=pb.RoomPolicy(sequential=True))
        heard = await chat.say("排队说")
        assert heard.replies == ["小黑的话", "小白的话", "小灰的话"]
        assert "小黑的话" not in model.prompt(0)
        assert "小黑的话" in model.prompt(1)
        assert "小白的话" not in model.prompt(1)
        assert "小白的话" in model.prompt(2)
        assert all(model.prompt(place).count("排队说") == 1 for place in range(3))


@pytest.mark.row("S4-31")
async def test_a_target_that_fails_costs_only_itself() -> None:
    model = CatModel(lambda name, _: BROKEN if name == "小白" else f"{name}好")
    async with room(model) as chat:
        await chat.open()
        heard = await chat.say("在吗")
        assert heard.ended == {"black": "COMPLETE", "white": "FAILED", "grey": "COMPLETE"}
        assert heard.replies == ["小黑好", "小灰好"]
        assert list(heard.end.failed_ids) == ["white"]
        (error,) = [one.error for one in heard.of("target_ended") if one.HasField("error")]
        assert error.reason == "connection"
        assert heard.reason == "COMPLETE"


@pytest.mark.row("S4-17")
async def test_the_order_of_a_round() -> None:
    """The message is stored before any context is built, each reply before the next persona is asked."""
    order: list[str] = []
    async with room() as chat:
        await chat.open(policy=pb.RoomPolicy(sequential=True))
        apply, build = chat.app.store.apply, chat.app.builder.build
        answers = chat.model.answers

        async def applying(changes):
            for change in changes:
                order.extend(f"save {one.author.id}" for one in getattr(change, "messages", ()))
            return await apply(changes)

        async def building(request, **given):
            order.append(f"build {request.viewer_id}")
            return await build(request, **given)

        chat.app.store.apply = applying
        object.__setattr__(chat.app.builder, "build", building)
        chat.model.answers = lambda name, request: (
            order.append(f"ask {name}"),
            answers(name, request),
        )[1]
        heard = await chat.say("@小黑 @小白 好")
        assert heard.reason == "COMPLETE"
    assert order == [
        "save u1", "build black", "ask 小黑", "save black", "build white", "ask 小白", "save white",
    ]  # fmt: skip


@pytest.mark.row("S4-17")
async def test_commits_of_a_round() -> None:
    """One at the beginning, one a target, one at the end."""
    async with room() as chat:
        await chat.open()
        await chat.say("热身")
        commits = 0
        apply = chat.app.store.apply

        async def counting(changes):
            nonlocal commits
            commits += any(type(one).__name__ != "EventsChange" for one in changes)
            return await apply(changes)

        chat.app.store.apply = counting
        await chat.say("@小黑 好")
        assert commits == 3
        commits = 0
        await chat.say("@小黑 @小白 @小灰 好")
        assert commits <= 5


@pytest.mark.row("S4-14", "S4-15")
async def test_a_session_is_made_where_none_is_named() -> None:
    """All that a request may say of it: space, project, mode, its configuration, the participants."""
    async with room() as chat:
        ref = pb.SessionRef(space="cafe", project_id="p1", owner_id="ann")
        heard = await chat.say(
            "第一句", session=ref, request_id="r1", participants=CATS, channel="group",
            mode="workflow",
            role_config_json='{"role_map": {"coder": "black", "reviewer": "white", "tester": "grey"}}',
        )  # fmt: skip
        assert heard.reason == "COMPLETE"
        made = heard.started.session
        assert made.session_id
        assert (made.space, made.project_id, made.owner_id) == ("cafe", "p1", "ann")
        assert (made.channel, made.mode) == ("group", "workflow")
        again = await chat.say(
            "第一句", session=ref, request_id="r1", participants=CATS, channel="group",
            mode="workflow",
            role_config_json='{"role_map": {"coder": "black", "reviewer": "white", "tester": "grey"}}',
        )  # fmt: skip
        assert again.session_id == made.session_id
        assert again.started.resumed
        assert again.replies == heard.replies
        assert len(chat.model.calls) == 3
        anew = await chat.say("第二句", session=ref, participants=CATS)
        assert anew.session_id != made.session_id


async def test_another_mode_than_the_sessions_is_refused() -> None:
    async with room() as chat:
        await chat.open()
        heard = await chat.say("好", mode="quiz")
        assert (heard.refusal.reason, heard.refusal.field) == ("CONFLICT", "mode")
        assert await chat.history() == []


async def test_the_same_request_is_told_again_without_the_model() -> None:
    async with room() as chat:
        await chat.open()
        first = await chat.say("@小黑 @小白 好", request_id="r1")
        again = await chat.say("@小黑 @小白 好", request_id="r1")
        resumed = await chat.resume("r1", after_sequence=100)
        assert len(chat.model.calls) == 2
        assert again.said == resumed.said == first.said
        assert again.replies == resumed.replies == first.replies
        assert again.started.resumed
        assert not first.started.resumed
        assert all(one.whole for one in again.of("delta"))
        assert resumed.events[0].sequence == 101
        other = await chat.say("@小黑 别的", request_id="r1")
        assert (other.refusal.reason, other.refusal.field) == ("CONFLICT", "request_id")
        assert len(await chat.history()) == 3


@pytest.mark.parametrize("place", ["store", "model"])
async def test_a_caller_who_leaves_can_come_back(place: str) -> None:
    """What was not said whole is asked again, what was is not."""
    go, reached = asyncio.Event(), asyncio.Event()

    async def slow():
        reached.set()
        await go.wait()
        return "好了"

    model = CatModel(lambda name, _: slow() if name == "小白" else f"{name}好")
    async with room(model) as chat:
        await chat.open()
        running = asyncio.create_task(chat.say("@小黑 @小白 好", request_id="r1"))
        await reached.wait()
        if place == "store":
            while len(await chat.history()) < 2:  # noqa: ASYNC110 - the store tells nobody
                await asyncio.sleep(0.005)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        while not chat.app.chat.is_idle:  # noqa: ASYNC110 - the server tells nobody that it knows
            await asyncio.sleep(0.005)
        go.set()
        again = await chat.resume("r1")
        assert again.said == {"black": "小黑好", "white": "好了"}
        assert model.asked.count("小白") == 2
        if place == "store":
            assert model.asked.count("小黑") == 1
        assert again.reason == "COMPLETE"


async def test_the_deadline_ends_a_round_that_may_go_on() -> None:
    go = asyncio.Event()

    async def slow():
        await go.wait()
        return "终于"

    model = CatModel(lambda name, _: slow() if name == "小白" else f"{name}好")
    async with room(model) as chat:
        await chat.open()
        heard = await chat.say("@小黑 @小白 好", request_id="r1", timeout_s=1.0)
        assert heard.ended == {"black": "COMPLETE", "white": "PARTIAL"}
        assert heard.reason == "DEADLINE"
        assert list(heard.end.failed_ids) == ["white"]
        go.set()
        again = await chat.resume("r1")
        assert again.said == {"black": "小黑好", "white": "终于"}
        assert model.asked.count("小黑") == 1
        assert again.reason == "COMPLETE"


async def test_targets_that_are_asked_for_win_over_the_text() -> None:
    async with room() as chat:
        await chat.open()
        heard = await chat.say("@小黑 好", targets=["小白"])
        assert heard.targets == [("white", "EXPLICIT")]
        nobody = await chat.say("@小黑 好", targets=["nobody"])
        assert (nobody.targets, nobody.reason) == ([], "NOBODY")
        (ignored,) = nobody.started.route.ignored
        assert (ignored.text, ignored.reason) == ("nobody", pb.IGNORED_REASON_UNKNOWN)


async def test_a_reply_to_a_persona_is_for_it() -> None:
    async with room() as chat:
        await chat.open()
        first = await chat.say("@小黑 好")
        reply = message_pb2.Reply(message_id=first.end.responses[0].id)
        heard = await chat.say("为什么？", BOB, message={"reply": reply, "author": BOB})
        assert heard.targets == [("black", "REPLY")]


async def test_a_message_that_is_stored_already_is_named_by_its_id() -> None:
    async with room() as chat:
        made = await chat.open()
        await chat.client.append(made.channel, message_of("m1", "@小黑 早"))
        heard = await chat.say(message={"id": "m1", "author": None})
        assert heard.targets == [("black", "MENTION")]
        assert next(one.id for one in await chat.history()) == "m1"
        assert len(await chat.history()) == 2
        lost = await chat.say(message={"id": "m2", "author": None})
        assert (lost.refusal.reason, lost.refusal.field) == ("MESSAGE_NOT_FOUND", "message.id")


def message_of(id_: str, text: str) -> Message:
    return Message(id_, "u1", text)


@pytest.mark.row("S4-18", "S4-29")
async def test_the_prompt() -> None:
    """Name and text of the persona, colleagues, history, the message under its label."""
    async with room() as chat:
        await chat.open(participants=[*CATS[:2], human("u1", "Ann", summary="产品经理")])
        await chat.say("@小白 早")
        await chat.say("@小黑 写个函数")
        system, user = chat.model.calls[-1][1].messages
        assert system.content == (
            "你是小黑。\n你是一只黑猫，负责写代码。\n你的同事：\n- 小白：评审代码\n- Ann（人类）：产品经理\n"
            "只以小黑的身份说话，不要替别人说话。"
        )
        assert user.content.endswith("\n\n铲屎官说：Ann <u1>: 写个函数")
        assert "小白 <white>" in user.content
        assert user.content.count("写个函数") == 1


@pytest.mark.row("S4-29")
async def test_label_and_template_can_be_set() -> None:
    async with room() as chat:
        policy = pb.RoomPolicy(question_label="主人：", prompt="[{{name}}|{{persona}}|{{mode}}]")
        await chat.open(policy=policy)
        await chat.say("@小黑 来")
        system, user = chat.model.calls[-1][1].messages
        assert system.content == "[小黑|你是一只黑猫，负责写代码。|free_chat]"
        assert user.content == "主人：来"


@pytest.mark.row("S4-25")
@pytest.mark.parametrize("layout", range(1, 5))
@pytest.mark.parametrize("is_sequential", [False, True])
async def test_what_is_asked_stands_there_once(layout: int, *, is_sequential: bool) -> None:
    async with room() as chat:
        await chat.open(policy=pb.RoomPolicy(layout=layout, sequential=is_sequential))
        await chat.say("旧的一句")
        await chat.say("独一无二的问题")
        for _, request in chat.model.calls[3:]:
            text = "\n".join(one.content for one in request.messages)
            assert text.count("独一无二的问题") == 1


@pytest.mark.row("S4-11")
async def test_a_bare_mention_is_shown_as_it_is() -> None:
    async with room() as chat:
        await chat.open()
        heard = await chat.say("@小黑")
        assert (heard.started.route.clean_text, heard.started.route.user_text) == ("", "@小黑")
        assert chat.model.prompt().endswith("铲屎官说：@小黑")


@pytest.mark.row("S4-03", "S4-27")
@pytest.mark.parametrize("window", [None, 3])
async def test_the_window(window: int | None) -> None:
    async with room() as chat:
        policy = pb.RoomPolicy(window_messages=window, unaddressed=pb.UNADDRESSED_NOBODY)
        await chat.open(policy=policy)
        for number in range(30):
            await chat.say(f"第{number}行。")
        heard = await chat.say("@小黑 数数")
        shown = heard.of("target_started")[0].context.items
        count = window or 20
        assert [one.message.parts[0].text.text for one in shown] == [
            f"第{number}行。" for number in range(30 - count, 30)
        ]
        assert json.loads(heard.started.session.mode_state_json) == {}


@pytest.mark.row("S4-02", "S4-01")
async def test_two_front_ends_get_the_same_prompt(tmp_path) -> None:
    """And so does one behind a restart: everything is made of what is stored."""
    database = tmp_path / "history.db"
    async with room(database=database) as chat:
        await chat.open()
        await chat.say("@小黑 记住这个")
        one = await chat.stub.PrepareRound(prepared(chat.session_id))
        other = await chat.stub.PrepareRound(prepared(chat.session_id))
    async with room(database=database) as chat:
        third = await chat.stub.PrepareRound(prepared(one.history[0].session_id))
    bodies = [answer.contexts[0].context.payloads[0].body for answer in (one, other, third)]
    assert bodies[0] == bodies[1] == bodies[2]


def prepared(session_id: str) -> pb.PrepareRoundRequest:
    message = message_pb2.Message(author=ANN, parts=[said("@小黑 还记得吗")])
    ref = pb.SessionRef(session_id=session_id)
    return pb.PrepareRoundRequest(round=pb.StartRoundRequest(session=ref, message=message))
