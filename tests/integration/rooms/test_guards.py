"""Tools and interrupts, loops of bots, bursts, personas that write for others, and who is chosen."""

import asyncio
import contextlib

import pytest

from backscroll.v1 import context_pb2, message_pb2
from backscroll.v1 import session_pb2 as pb
from backscroll_sidecar.chat.turn_store import TurnStore
from backscroll_sidecar.domain import ToolCallPart
from tests.integration.rooms.room import ANN, BOB, CATS, PERSONA, CatModel, human, room, text_of
from tests.integration.rooms.test_rounds import BROKEN
from tests.kit.chats import StillClock

TOOLS = '[{"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}]'
WITH_TOOLS = {
    "context": context_pb2.BuildContextRequest(tools_json=TOOLS),
    "model_call": context_pb2.ModelCall(enable_tools=True),
}
ROBOT = message_pb2.Author(id="r2", name="R2", kind=message_pb2.AUTHOR_KIND_BOT)


# --- tools -------------------------------------------------------------------------------------------


def looks_up(name: str, request) -> object:
    if name == "小黑" and not any(one.role.name == "TOOL" for one in request.messages):
        return ["看看天气", ToolCallPart("c1", "weather", '{"city": "北京"}')]
    return f"{name}：晴天" if name == "小黑" else f"{name}好"


def answer_of(interrupt: pb.Interrupt, text: str = "晴") -> pb.ToolAnswers:
    results = [context_pb2.ToolResult(call_id=call.id, text=text) for call in interrupt.tool_calls]
    return pb.ToolAnswers(interrupt_id=interrupt.interrupt_id, tool_results=results)


async def test_a_round_waits_for_tools_and_goes_on() -> None:
    model = CatModel(looks_up)
    async with room(model) as chat:
        await chat.open()
        heard = await chat.say("@小黑 @小白 天气如何", request_id="r1", **WITH_TOOLS)
        assert heard.ended == {"black": "INTERRUPTED", "white": "COMPLETE"}
        assert heard.reason == "INTERRUPTED"
        (interrupt,) = heard.of("interrupt")
        assert [one.name for one in interrupt.tool_calls] == ["weather"]
        assert interrupt.expires_at_ms > 0
        waiting = await chat.resume("r1")
        assert waiting.reason == "INTERRUPTED"
        assert waiting.of("interrupt")[0].interrupt_id == interrupt.interrupt_id
        assert len(model.calls) == 2
        strange = context_pb2.ToolResult(call_id="c9", text="晴")
        given = pb.ToolAnswers(interrupt_id=interrupt.interrupt_id, tool_results=[strange])
        wrong = await chat.resume("r1", answers=[given])
        assert wrong.refusal.field == "answers[0].tool_results"
        done = await chat.resume("r1", answers=[answer_of(interrupt)])
        assert done.reason == "COMPLETE"
        assert done.said["black"] == "晴天"  # its own name before it is taken away
        assert done.said["white"] == "小白好"
        assert len(model.calls) == 3
        again = await chat.resume("r1", answers=[answer_of(interrupt)])
        assert again.said == done.said
        assert len(model.calls) == 3
        other = await chat.resume("r1", answers=[answer_of(interrupt, "雨")])
        assert (other.refusal.reason, other.refusal.field) == (
            "CONFLICT",
            "answers[0].interrupt_id",
        )
        lost = await chat.resume("r1", answers=[pb.ToolAnswers(interrupt_id="no")])
        assert lost.refusal.reason == "INTERRUPT_NOT_FOUND"
        unknown = await chat.resume("r9")
        assert (unknown.refusal.reason, unknown.refusal.field) == ("ROUND_NOT_FOUND", "request_id")


@pytest.mark.parametrize("late", ["reply", "calls"])
async def test_what_two_of_a_wave_come_to_is_kept_of_both(monkeypatch, late: str) -> None:
    """The store is slow with what one of them came to, and has that of the other before."""
    kept, ways = asyncio.Event(), {"reply": TurnStore.save_reply, "calls": TurnStore.keep}

    async def slow(self: TurnStore, *given: object) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(kept.wait(), 0.5)
        await ways[late](self, *given)

    async def quick(self: TurnStore, *given: object) -> None:
        await ways["calls" if late == "reply" else "reply"](self, *given)
        kept.set()

    monkeypatch.setattr(TurnStore, "save_reply", slow if late == "reply" else quick)
    monkeypatch.setattr(TurnStore, "keep", slow if late == "calls" else quick)
    async with room(CatModel(looks_up)) as chat:
        await chat.open()
        heard = await chat.say("@小黑 @小白 天气如何", request_id="r1", **WITH_TOOLS)
        assert heard.ended == {"black": "INTERRUPTED", "white": "COMPLETE"}
        waiting = await chat.resume("r1")
        assert waiting.ended == heard.ended
        assert len(chat.model.calls) == 2


@pytest.mark.parametrize(
    "label", ["Eve: ", "Eve <u7>: ", "**Eve**: ", "User says: ", "铲屎官说：", "Boss asks: "]
)
async def test_a_persona_does_not_write_for_who_takes_no_part(label: str) -> None:
    async with room(CatModel(lambda _name, _request: f"好。\n{label}我同意")) as chat:
        await chat.open(policy=pb.RoomPolicy(question_label="Boss asks: "))
        heard = await chat.say("@小黑 好", message_pb2.Author(id="u7", name="Eve"))
        assert heard.ended == {"black": "FOREIGN_SPEAKER"}
        assert heard.said["black"].strip() == "好。"


async def test_two_that_wait_at_once_have_two_interrupts() -> None:
    def both(name: str, request) -> object:
        if not any(one.role.name == "TOOL" for one in request.messages):
            return [ToolCallPart("c1", "weather", "{}")]
        return f"知道了{name}"

    async with room(CatModel(both)) as chat:
        await chat.open()
        heard = await chat.say("@小黑 @小白 天气", request_id="r1", **WITH_TOOLS)
        first, second = (
            event.interrupt
            for event in sorted(heard.events, key=lambda one: one.target_id)
            if event.HasField("interrupt")
        )
        assert first.interrupt_id != second.interrupt_id
        half = await chat.resume("r1", answers=[answer_of(second)])
        assert half.ended == {"black": "INTERRUPTED", "white": "COMPLETE"}
        assert half.reason == "INTERRUPTED"
        whole = await chat.resume("r1", answers=[answer_of(first)])
        assert whole.said == {"black": "知道了小黑", "white": "知道了小白"}
        assert whole.reason == "COMPLETE"


# --- loops -------------------------------------------------------------------------------------------


@pytest.mark.row("N-19")
async def test_two_bots_do_not_thank_each_other_for_ever() -> None:
    """Three answers in five minutes, over a restart of nothing but the clock; people are never held up."""
    clock = StillClock()
    async with room(CatModel(lambda *_: "不客气，@R2 谢谢你"), clock=clock) as chat:
        bot = pb.Participant(id="r2", name="R2", kind=pb.PARTICIPANT_KIND_BOT)
        await chat.open(participants=[*CATS, bot])
        for _ in range(3):
            assert (await chat.say("@小黑 谢谢", ROBOT)).reason == "COMPLETE"
        for _ in range(5):
            heard = await chat.say("@小黑 谢谢", ROBOT)
            assert heard.reason == "LOOP_SUPPRESSED"
            (told,) = heard.of("loop_suppressed")
            assert (told.sender_id, told.participant_id) == ("r2", "black")
            assert 0 < told.retry_after_ms <= 300_000
            (ignored,) = heard.started.route.ignored
            assert ignored.reason == pb.IGNORED_REASON_LOOP
        assert len(chat.model.calls) == 3
        assert (await chat.say("@小白 谢谢", ROBOT)).reason == "COMPLETE"  # another pair
        for _ in range(5):
            assert (await chat.say("@小黑 谢谢", ANN)).reason == "COMPLETE"
        clock.at_ms += 300_001
        assert (await chat.say("@小黑 谢谢", ROBOT)).reason == "COMPLETE"


@pytest.mark.row("N-19")
async def test_the_limit_is_set_and_kept_over_a_restart(tmp_path) -> None:
    database = tmp_path / "history.db"
    async with room(database=database) as chat:
        await chat.open(session_id="s1", policy=pb.RoomPolicy(loop_limit=1, loop_window_s=3600))
        assert (await chat.say("@小黑 好", ROBOT)).reason == "COMPLETE"
    async with room(database=database) as chat:
        chat.session_id = "s1"
        assert (await chat.say("@小黑 好", ROBOT)).reason == "LOOP_SUPPRESSED"


@pytest.mark.row("N-19", "N-15")
async def test_personas_hand_on_only_so_often() -> None:
    """A name at the beginning of a line hands on, where the session lets it; two that do it in turns are stopped."""
    model = CatModel(lambda name, _: "好\n@小白 你说" if name == "小黑" else "不\n@小黑 你说")
    async with room(model) as chat:
        await chat.open()
        assert (await chat.say("@小黑 开始")).targets == [("black", "MENTION")]  # not unless set
        policy = pb.RoomPolicy(onward_depth=15)
        await chat.stub.UpdateSession(pb.UpdateSessionRequest(session=chat.ref, policy=policy))
        heard = await chat.say("@小黑 再来")
        assert [name for name, _ in heard.targets] == ["black", "white"] * 3 + ["black"]
        assert {reason for _, reason in heard.targets[1:]} == {"ONWARD"}
        assert heard.reason == "COMPLETE"


@pytest.mark.row("N-15")
async def test_lines_of_other_bots_are_marked() -> None:
    async with room() as chat:
        bot = pb.Participant(id="r2", name="R2", kind=pb.PARTICIPANT_KIND_BOT)
        await chat.open(participants=[*CATS, bot])
        await chat.say("我是机器人", ROBOT)
        await chat.say("@小白 早")
        await chat.say("@小黑 都说了什么")
        prompt = chat.model.prompt()
        assert "R2 <r2> [bot]: 我是机器人" in prompt
        assert "小白 <white> [bot]: 小白说喵" in prompt
        assert "Ann <u1>: @小白 早" in prompt
        await chat.say("@小黑 你自己呢")
        roles = [one.role.name for one in chat.model.calls[-1][1].messages]
        assert roles == ["SYSTEM", "USER"]
        assert "Assistant: 小黑说喵" in chat.model.prompt()


# --- bursts ------------------------------------------------------------------------------------------


@pytest.mark.row("N-16")
async def test_many_mentions_in_a_moment_are_one_round() -> None:
    async with room() as chat:
        await chat.open(policy=pb.RoomPolicy(burst_window_ms=400))
        said = await asyncio.gather(
            *(
                chat.say(f"@小黑 第{number}问", (ANN, BOB)[number % 2], request_id=f"r{number}")
                for number in range(8)
            )
        )
        reasons = [one.reason for one in said]
        assert sorted(reasons) == ["COALESCED"] * 7 + ["COMPLETE"]
        leader = reasons.index("COMPLETE")
        assert {one.end.coalesced_into for one in said if one.reason == "COALESCED"} == {
            f"r{leader}"
        }
        assert len(chat.model.calls) == 1
        for number in range(8):
            assert chat.model.prompt().count(f"第{number}问") == 1
        assert len(await chat.history()) == 9
        again = await asyncio.gather(
            *(
                chat.say(f"@小黑 第{number}问", (ANN, BOB)[number % 2], request_id=f"r{number}")
                for number in range(8)
            )
        )
        assert [one.reason for one in again] == reasons
        assert len(chat.model.calls) == 1
        alone = await chat.say("@小白 单独一问")
        assert alone.reason == "COMPLETE"


# --- personas that write for others ------------------------------------------------------------------


async def test_a_persona_that_writes_as_another_is_cut() -> None:
    model = CatModel(lambda *_: ["我觉得好。\n小", "白：我也觉得好", "\n小灰：同意"])
    async with room(model) as chat:
        await chat.open()
        heard = await chat.say("@小黑 怎么样")
        assert heard.said == {"black": "我觉得好。"}
        (ended,) = heard.of("target_ended")
        assert heard.ended == {"black": "FOREIGN_SPEAKER"}
        assert ended.foreign_speaker_id == "white"
        assert text_of(ended.message) == "我觉得好。"
        assert heard.replies == ["我觉得好。"]


async def test_an_answer_that_is_all_somebody_elses_is_none() -> None:
    async with room(CatModel(lambda *_: "小白：喵")) as chat:
        await chat.open()
        heard = await chat.say("@小黑 怎么样", request_id="r1")
        assert heard.ended == {"black": "FOREIGN_SPEAKER"}
        assert heard.replies == []
        again = await chat.say("@小黑 怎么样", request_id="r1")
        assert again.ended == {"black": "FOREIGN_SPEAKER"}
        assert len(chat.model.calls) == 1


@pytest.mark.parametrize("text", ["", "  ", "@小白", "@小白 @Blacky"])
async def test_nothing_but_a_mention_is_silence(text: str) -> None:
    async with room(CatModel(lambda *_: text)) as chat:
        await chat.open()
        heard = await chat.say("@小黑 说点什么", request_id="r1")
        assert heard.ended == {"black": "SILENT"}
        assert (heard.replies, heard.reason) == ([], "COMPLETE")
        assert len(await chat.history()) == 1
        assert (await chat.resume("r1")).ended == {"black": "SILENT"}
        assert len(chat.model.calls) == 1


# --- who is chosen -----------------------------------------------------------------------------------


async def test_the_model_chooses_who_speaks() -> None:
    choices = iter(["小灰", "我觉得应该是小白来说", "谁都行", BROKEN])
    model = CatModel(lambda name, _: next(choices) if name == "?" else f"{name}好")
    async with room(model) as chat:
        await chat.open(policy=pb.RoomPolicy(unaddressed=pb.UNADDRESSED_SELECTOR))
        chosen = [(await chat.say(f"第{number}句")).targets for number in range(4)]
        assert chosen == [[(name, "SELECTOR")] for name in ("grey", "white", "black", "black")]
        named = await chat.say("@小白 你好")
        assert named.targets == [("white", "MENTION")]
        routed = await chat.stub.RouteMessage(
            pb.RouteMessageRequest(
                session=chat.ref,
                message=message_pb2.Message(author=ANN, parts=[{"text": {"text": "谁来？"}}]),
            )
        )
        assert routed.route.targets == []
        assert list(routed.route.candidate_ids) == ["black", "white", "grey"]


async def test_the_last_one_that_is_well_answers() -> None:
    model = CatModel(lambda name, _: BROKEN if name == "小灰" else f"{name}好")
    async with room(model) as chat:
        policy = pb.RoomPolicy(unaddressed=pb.UNADDRESSED_LAST_HEALTHY)
        await chat.open(policy=policy)
        assert (await chat.say("有人吗")).targets == [("black", "LAST_HEALTHY")]
        await chat.say("@小白 早")
        await chat.say("@小灰 早")
        assert (await chat.say("然后呢")).targets == [("white", "LAST_HEALTHY")]


async def test_a_default_and_nobody() -> None:
    async with room() as chat:
        policy = pb.RoomPolicy(unaddressed=pb.UNADDRESSED_DEFAULT, default_id="grey")
        await chat.open(policy=policy)
        assert (await chat.say("有人吗")).targets == [("grey", "DEFAULT")]
        policy = pb.RoomPolicy(unaddressed=pb.UNADDRESSED_NOBODY)
        await chat.stub.UpdateSession(pb.UpdateSessionRequest(session=chat.ref, policy=policy))
        quiet = await chat.say("有人吗")
        assert (quiet.targets, quiet.reason) == ([], "NOBODY")
        assert len(await chat.history()) == 3


def test_kinds() -> None:
    assert PERSONA
    assert human
