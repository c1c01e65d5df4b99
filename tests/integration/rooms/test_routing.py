"""Routing over a real socket: each target with its reason, each ignored mention with its reason, nothing stored."""

import pytest

from backscroll.v1 import message_pb2
from backscroll.v1 import session_pb2 as pb
from tests.integration.rooms.room import ANN, CATS, PERSONA, human, room

MORE = (
    *CATS,
    pb.Participant(id="opus", kind=PERSONA, name="opus", aliases=["Opus 4"]),
    pb.Participant(id="opus-45", kind=PERSONA, name="opus-45"),
    pb.Participant(id="muse", kind=PERSONA, name="Muse", reply=pb.REPLY_RULE_NEVER),
    human("cat", "小黑猫"),
    human("u1", "Ann", aliases=["安安"]),
)
M, G, A = "MENTION", "GROUP_MENTION", "ALL"
TABLE = [
    # text, targets, ignored, clean text
    ("@小黑你好", [("black", M)], [], "你好"),
    ("请@小黑来", [("black", M)], [], "请来"),
    ("@小黑猫 你好", None, [], "@小黑猫 你好"),
    ("@小黑猫和@小黑", [("black", M)], [], "@小黑猫和"),
    ("＠小黑 你好", [("black", M)], [], "你好"),
    ("＠ｏｐｕｓ hi", [("opus", M)], [], "hi"),
    ("@小黑、@小白：看看", [("black", M), ("white", M)], [], None),
    ("@小黑 @小黑 @黑黑 看", [("black", M)], [], "看"),
    ("@BLACKY look", [("black", M)], [], "look"),
    ("@opus请看", [("opus", M)], [], "请看"),
    ("@opus-45 look", [("opus-45", M)], [], "look"),
    ("@opus-46 look", None, [("opus-46", "UNKNOWN")], "@opus-46 look"),
    ("ask @opus.", [("opus", M)], [], None),
    ("@opus's view", [("opus", M)], [], None),
    ("@Opus 4 go", [("opus", M)], [], "go"),
    ("mail ann@opus.com now", None, [], "mail ann@opus.com now"),
    ("see https://x.com/@opus now", None, [], "see https://x.com/@opus now"),
    ("`@小黑` 是什么", None, [("小黑", "CODE")], "`@小黑` 是什么"),
    ("```\n@小黑\n```\n@小白 看", [("white", M)], [("小黑", "CODE")], "```\n@小黑\n```\n看"),
    ("@所有人 开会", [("black", G), ("white", G), ("grey", G), ("opus", G), ("opus-45", G)], [], "开会"),
    ("@all meet", [("black", G), ("white", G), ("grey", G), ("opus", G), ("opus-45", G)], [], "meet"),
    ("@Muse sing", [], [("Muse", "UNAVAILABLE")], "@Muse sing"),
    ("@nobody @小灰 来", [("grey", M)], [("nobody", "UNKNOWN")], "@nobody 来"),
    ("@安安 你怎么看", None, [], "@安安 你怎么看"),
    ("hi@小白", [("white", M)], [], "hi"),
    ("@", None, [], "@"),
    ("没有提到谁", None, [], "没有提到谁"),
    ("@小黑", [("black", M)], [], ""),
]  # fmt: skip


@pytest.mark.row("N-17", "S4-08", "S4-09", "S4-10")
async def test_a_table_of_messages() -> None:
    everybody = [(id_, A) for id_ in ("black", "white", "grey", "opus", "opus-45")]
    async with room() as chat:
        await chat.open(participants=MORE)
        for text, targets, ignored, clean in TABLE:
            message = message_pb2.Message(author=ANN, parts=[{"text": {"text": text}}])
            answer = await chat.stub.RouteMessage(
                pb.RouteMessageRequest(session=chat.ref, message=message)
            )
            route = answer.route
            found = [
                (one.participant_id, pb.RouteReason.Name(one.reason).removeprefix("ROUTE_REASON_"))
                for one in route.targets
            ]
            assert found == (everybody if targets is None else targets), text
            told = [
                (one.text, pb.IgnoredReason.Name(one.reason).removeprefix("IGNORED_REASON_"))
                for one in route.ignored
            ]
            assert told == ignored, text
            if clean is not None:
                assert route.clean_text == clean, text
            assert route.user_text == (route.clean_text or text.strip()), text
            for one in (*route.targets, *route.ignored):
                if one.end:
                    assert text[one.start] in "@＠", text
        assert not [one async for one in chat.client.list_channels() if one.message_count]
        assert chat.model.calls == []


@pytest.mark.row("N-17")
async def test_marks_of_the_platform_come_first() -> None:
    async with room() as chat:
        await chat.open()
        mention = message_pb2.Mention(user_id="white", name="whatever", start=0, end=9)
        message = message_pb2.Message(
            author=ANN, parts=[{"text": {"text": "@whatever 你好"}}], mentions=[mention]
        )
        answer = await chat.stub.RouteMessage(
            pb.RouteMessageRequest(session=chat.ref, message=message)
        )
        (target,) = answer.route.targets
        assert (target.participant_id, target.start, target.end) == ("white", 0, 9)
        assert answer.route.clean_text == "你好"


@pytest.mark.row("N-17")
async def test_always_self_and_too_many() -> None:
    async with room() as chat:
        always = pb.Participant(id="echo", kind=PERSONA, name="Echo", reply=pb.REPLY_RULE_ALWAYS)
        shy = pb.Participant(id="shy", kind=PERSONA, name="Shy", reply=pb.REPLY_RULE_MENTIONED)
        await chat.open(participants=[*CATS, always, shy], policy=pb.RoomPolicy(max_targets=3))
        heard = await chat.say("@小黑 好")
        assert heard.targets == [("black", "MENTION"), ("echo", "ALWAYS")]
        heard = await chat.say("大家好")
        assert len(heard.targets) == 3
        assert [one.reason for one in heard.started.route.ignored] == [pb.IGNORED_REASON_LIMIT]
        heard = await chat.say("@Shy 来")
        assert heard.targets[0] == ("shy", "MENTION")
        itself = message_pb2.Author(id="black", kind=message_pb2.AUTHOR_KIND_BOT)
        heard = await chat.say("@小黑 自言自语", itself)
        assert heard.targets == []
        assert heard.started.route.ignored[0].reason == pb.IGNORED_REASON_SELF


@pytest.mark.row("S4-13")
async def test_all_that_a_round_would_go_by_in_one_answer() -> None:
    async with room() as chat:
        made = await chat.open(participants=[*CATS, human("u1", "Ann")])
        for number in range(25):
            await chat.say(f"第{number}句", targets=["小灰"])
        calls, stored = len(chat.model.calls), len(await chat.history())
        message = message_pb2.Message(author=ANN, parts=[{"text": {"text": "@小黑 @小白 怎么看"}}])
        answer = await chat.stub.PrepareRound(
            pb.PrepareRoundRequest(round=pb.StartRoundRequest(session=chat.ref, message=message))
        )
        assert answer.lookup["小黑"] == answer.lookup["Blacky"] == answer.lookup["black"] == "black"
        assert answer.lookup["Ann"] == "u1"
        assert [one.participant_id for one in answer.route.targets] == ["black", "white"]
        assert answer.user_text == answer.route.clean_text == "怎么看"
        assert answer.task_prompt == ""
        assert len(answer.history) == 20
        assert answer.history[-1].parts[0].text.text == "小灰说喵"
        assert [one.target.participant_id for one in answer.contexts] == ["black", "white"]
        for one in answer.contexts:
            assert one.context.payloads[0].body
            assert len(one.context.items) == 20
            assert "小灰:" in one.stop_names
        assert not [name for name in answer.contexts[0].stop_names if name.startswith("小黑")]
        assert (answer.mode, answer.state_version) == ("free_chat", 1)
        after = await chat.session()
        assert (len(chat.model.calls), len(await chat.history())) == (calls, stored)
        assert after.state_version == made.state_version
