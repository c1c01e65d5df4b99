"""What PrepareRound says of each message of the table: look-up, mentions, targets, texts, history, task, prompts."""

import json
from collections import Counter
from typing import Any

import pytest

from backscroll import Author, Message
from backscroll.v1 import context_pb2, message_pb2
from backscroll.v1 import session_pb2 as pb
from tests.golden.rooms.asked import CASES, PERSONA, Case
from tests.integration.rooms.room import Room, room, text_of

LAYOUTS = [number for number in context_pb2.Layout.values() if number]
ANN = message_pb2.Author(id="u1", name="Ann")


async def prepared(chat: Room, case: Case, layout: int = 0) -> pb.PrepareRoundResponse:
    """The case in a session of its own, asked for."""
    made = await chat.open(
        participants=case.participants, mode=case.mode, role_config_json=case.role_config_json
    )
    kinds = {one.id: "bot" if one.kind == PERSONA else "human" for one in case.participants}
    said = [
        Message(
            f"h{place}", Author(who, kind=kinds[who]), text, session_id=made.session_id,
            role="assistant" if kinds[who] == "bot" else "user",
        )
        for place, (who, text) in enumerate(case.lines)
    ]  # fmt: skip
    if said:
        await chat.client.append(made.channel, said)
    if case.state is not None:
        state = json.dumps(case.state)
        await chat.stub.UpdateSession(
            pb.UpdateSessionRequest(session=chat.ref, mode_state_json=state)
        )
    message = message_pb2.Message(author=ANN, parts=[{"text": {"text": case.text}}])
    context = context_pb2.BuildContextRequest(layout=layout)
    asked = pb.StartRoundRequest(session=chat.ref, message=message, context=context)
    return await chat.stub.PrepareRound(pb.PrepareRoundRequest(round=asked))


def found(answer: pb.PrepareRoundResponse) -> dict[str, Any]:
    """The answer, as a case is written down."""
    route = answer.route
    return {
        "lookup": dict(answer.lookup),
        "targets": [
            (one.participant_id, pb.RouteReason.Name(one.reason).removeprefix("ROUTE_REASON_"))
            for one in route.targets
        ],
        "mentions": [
            (one.participant_id, one.start, one.end)
            for one in route.targets
            if one.reason == pb.ROUTE_REASON_MENTION
        ],
        "ignored": [
            (one.text, pb.IgnoredReason.Name(one.reason).removeprefix("IGNORED_REASON_"))
            for one in route.ignored
        ],
        "clean text": route.clean_text,
        "user text": answer.user_text,
        "history": [text_of(one) for one in answer.history],
        "task": answer.task_prompt,
        "contexts": [one.target.participant_id for one in answer.contexts],
        "mode": answer.mode,
    }


def test_the_table_is_what_it_should_be() -> None:
    assert len(CASES) >= 40
    languages = Counter(one.language for one in CASES)
    assert languages["zh"] == languages["en"]
    assert len({(one.language, one.about) for one in CASES}) == len(CASES)


@pytest.mark.row(
    "S4-08", "S4-09", "S4-10", "S4-11", "S4-12", "S4-13", "S4-19", "S4-20", "S4-21", "S4-22", "S4-23",
)  # fmt: skip
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.language}: {case.about}")
async def test_what_a_round_would_go_by(case: Case) -> None:
    async with room() as chat:
        answer = await prepared(chat, case)
        assert found(answer) == case.expected()
        shown = [text for _, text in case.lines][-20:]
        for one in answer.contexts:  # all of them show the same, from before the round
            if not case.task:
                assert [text_of(item.message) for item in one.context.items] == shown
        assert chat.model.calls == []
        assert len(await chat.history()) == len(case.lines)


@pytest.mark.row("S4-25")
@pytest.mark.parametrize("layout", LAYOUTS)
async def test_what_is_said_is_in_a_prompt_once(layout: int) -> None:
    """Each message of the table, in each layout; of a workflow it is the last line of the task."""
    async with room() as chat:
        for case in CASES:
            answer = await prepared(chat, case, layout)
            assert answer.contexts, case
            for one in answer.contexts:
                body = json.loads(one.context.payloads[0].body)
                user = "\n".join(
                    each["content"] for each in body["messages"] if each["role"] != "system"
                )
                told = answer.user_text.replace("\n", "\n  ")
                assert user.count(told) == 1, (case, user)
                lines = [line.strip() for line in case.task.splitlines()]
                assert [line for line in lines if user.count(line) != 1] == [], (case, user)
