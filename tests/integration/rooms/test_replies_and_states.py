"""What is stored with a reply or a move, and told of it: names of authors, states by version, tool rounds, tasks."""

import json
from typing import Any

import pytest

from backscroll import Message
from backscroll.v1 import context_pb2, history_pb2
from backscroll.v1 import session_pb2 as pb
from backscroll_sidecar.domain import ToolCallPart
from backscroll_sidecar.sessions.modes.base import Action, Announcement, Outcome, Table
from tests.integration.rooms.own_mode import Debate, DebateConfig, DebateState
from tests.integration.rooms.room import ANN, CATS, CatModel, Room, human, room, text_of
from tests.integration.rooms.test_guards import WITH_TOOLS, answer_of
from tests.kit.fake_embedder import FakeEmbedder

BY_STEPS = json.dumps(
    {"role_map": {"coder": "black", "reviewer": "white", "tester": "grey"}, "advance": "step"}
)


# --- names -------------------------------------------------------------------------------------------


async def test_a_stored_reply_has_the_name_of_its_persona() -> None:
    async with room() as chat:
        await chat.open()
        heard = await chat.say("@小黑 hi")
        assert [(one.author.id, one.author.name) for one in heard.end.responses] == [
            ("black", "小黑")
        ]
        assert [one.author.name for one in await chat.history()] == ["Ann", "小黑"]
        await chat.say("@小白 and you?")
        assert "小黑 <black>" in chat.model.prompt()


def looks_up_twice(_: str, request: Any) -> object:
    results = sum(one.role.name == "TOOL" for one in request.messages)
    return "晴天" if results == 2 else [ToolCallPart("c1", "weather", "{}")]


async def test_a_model_may_use_a_call_id_in_every_round_of_tools() -> None:
    async with room(CatModel(looks_up_twice)) as chat:
        await chat.open()
        heard = await chat.say("@小黑 天气", request_id="r", **WITH_TOOLS)
        (first,) = heard.of("interrupt")
        heard = await chat.resume("r", answers=[answer_of(first, "雨")])
        (second,) = heard.of("interrupt")
        assert second.interrupt_id != first.interrupt_id
        heard = await chat.resume("r", answers=[answer_of(second, "晴")])
        assert heard.said == {"black": "晴天"}
        assert {one.author.name for one in await chat.history()} == {"Ann", "小黑"}


async def test_a_chat_in_a_session_takes_the_name_of_its_bot() -> None:
    async with room() as chat:
        session = await chat.open()
        for ids in (["white"], ["stranger"]):
            request = context_pb2.StreamChatRequest(
                context=context_pb2.BuildContextRequest(
                    session_id=chat.session_id, channel=session.channel, question="hi", asker=ANN,
                    self_ids=ids,
                )
            )  # fmt: skip
            async for _ in chat.contexts.StreamChat(request):
                pass
        names = {one.author.id: one.author.name for one in await chat.history()}
        assert names == {"u1": "Ann", "white": "小白", "stranger": ""}


# --- states ------------------------------------------------------------------------------------------


async def test_each_change_carries_the_state_of_its_version() -> None:
    questions = [{"text": "q1", "answers": ["42"]}, {"text": "q2", "answers": ["43"]}]
    async with room(CatModel(lambda name, _: "42" if name == "小灰" else "no")) as chat:
        await chat.open(
            mode="quiz",
            role_config_json=json.dumps({"questions": questions}),
            participants=[human("u1", "Ann"), *CATS],
        )
        live = await chat.say("/start", ANN, request_id="q")
        again = await chat.resume("q")
        kept = (await chat.stub.ListStates(pb.ListStatesRequest(session=chat.ref))).states
        states = {one.state_version: one.mode_state_json for one in kept}
        for heard in (live, again):
            changes = heard.of("state_changed")
            assert len(changes) > 2
            for one in changes:
                assert one.mode_state_json == states[one.state_version]
                assert not one.over


class Loud(Debate):
    """Announces more than a message may hold."""

    name = "loud"

    def apply(
        self, config: DebateConfig, state: DebateState, table: Table, action: Action
    ) -> Outcome:
        outcome = super().apply(config, state, table, action)
        if action.name == "open" and action.argument != "loudly":
            return outcome
        return Outcome(outcome.state, (Announcement("fine"), Announcement("x" * (2 << 20))), "loud")


async def loud(chat: Room) -> None:
    modes = chat.app.rooms.sessions.modes
    modes._by_name = {**modes._by_name, "loud": Loud()}
    await chat.open(mode="loud", role_config_json=json.dumps({"sides": ["black", "white"]}))


async def test_a_move_whose_announcements_are_refused_is_not_made() -> None:
    async with room() as chat:
        await loud(chat)
        code, reason, _ = await chat.refused(chat.act("open", argument="loudly", request_id="m"))
        assert (code, reason) == ("INVALID_ARGUMENT", "TOO_LARGE")
        assert (await chat.session()).state_version == 1
        assert await chat.history() == []
        assert (await chat.act("open", request_id="m2")).change.state_version == 2


async def test_a_reply_is_not_stored_without_the_state_that_it_leads_to() -> None:
    async with room() as chat:
        await loud(chat)
        await chat.act("open")
        heard = await chat.say("go", ANN)
        assert heard.ended == {"black": "FAILED"}
        assert [text_of(one) for one in await chat.history()] == ["go"]
        assert (await chat.session()).state_version == 2


# --- who sees what -----------------------------------------------------------------------------------


async def test_a_task_is_told_as_far_as_its_persona_was_there() -> None:
    async with room() as chat:
        session = await chat.open(mode="workflow", role_config_json=BY_STEPS)
        await chat.say("make tea")
        await chat.stub.RemoveParticipants(
            pb.RemoveParticipantsRequest(session=chat.ref, participant_ids=["grey"])
        )
        added = Message("add", "u1", "ADDED while away", session_id=chat.session_id)
        await chat.client.append(session.channel, added)
        await chat.stub.PutParticipants(
            pb.PutParticipantsRequest(session=chat.ref, participants=[CATS[2]])
        )
        white = await chat.say("go")
        assert [one for one, _ in white.targets] == ["white"]
        assert "ADDED" in chat.model.prompt()
        grey = await chat.say("go on")
        assert [one for one, _ in grey.targets] == ["grey"]
        assert "ADDED" not in chat.model.prompt()
        assert "make tea" in chat.model.prompt()


@pytest.mark.parametrize(
    ("observe", "seen"),
    [
        (pb.OBSERVE_ALL, {"cat one", "cat for grey"}),
        (pb.OBSERVE_PRESENT, {"cat one", "cat for grey"}),
        (pb.OBSERVE_ADDRESSED, {"cat for grey"}),
        (pb.OBSERVE_NONE, set()),
    ],
)
@pytest.mark.parametrize("is_late", [False, True])
async def test_other_channels_are_seen_as_a_participant_observes(
    observe: int, seen: set[str], *, is_late: bool
) -> None:
    grey = pb.Participant(id="grey", kind=CATS[2].kind, name="小灰", observe=observe)
    embedder = FakeEmbedder(synonyms={"feline": "cat"})
    async with room(embedder=embedder, search_scopes={"default": "tenant"}) as chat:
        session = await chat.open(participants=CATS[:2] if is_late else (*CATS[:2], grey))
        await chat.client.append(
            "far",
            [
                Message("f1", "u1", "cat one"),
                Message("f2", "u1", "cat for grey", audience=["grey"]),
                Message("f3", "u1", "cat for others", audience=["white"]),
            ],
        )
        await chat.client.append(session.channel, Message("h", "u1", "rain"))
        if is_late:
            await chat.stub.PutParticipants(
                pb.PutParticipantsRequest(session=chat.ref, participants=[grey])
            )
        assert (await chat.client.wait_for_index("far", wait_s=10)).ready
        built = await chat.built(
            viewer_id="grey", question="where is the feline?", profile="balanced",
            semantic_scope=history_pb2.SEARCH_SCOPE_TENANT,
        )  # fmt: skip
        texts = {text_of(one.message) for one in built.items if one.channel}
        assert texts == (set() if is_late and observe != pb.OBSERVE_ALL else seen)
