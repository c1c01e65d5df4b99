"""Where a turn's rows belong: question, tool rounds and reply stand in one thread and session, by every RPC."""

import pytest

from backscroll import Author, Message
from backscroll.v1 import context_pb2 as pb
from backscroll_sidecar.domain import ToolCallPart
from backscroll_sidecar.models.faults import failed
from backscroll_sidecar.ports import ModelFault, ToolCallDelta
from tests.integration.chat.talk import Bot, answers, talk, turn
from tests.kit.fake_model import CALLS, STOP, FakeModel

T0 = 1_795_176_000_000
LINE = Message("m1", Author("u1", "Ann"), "where is the key?", T0, thread_id="A", session_id="S")
TRIGGER = {"question": "", "trigger_message_id": "m1"}
WHERE = {
    "the trigger's": (TRIGGER, ("A", "S")),
    "the trigger's, the whole channel as context": ({**TRIGGER, "thread_id": ""}, ("A", "S")),
    "the request's": ({"question": "and now?", "thread_id": "B", "session_id": "R"}, ("B", "R")),
    "the request's before the trigger's": ({**TRIGGER, "thread_id": "B", "session_id": "R"}, ("B", "R")),
    "none": ({"question": "and now?"}, ("", "")),
}  # fmt: skip


async def places(bot: Bot) -> list[tuple[str, str]]:
    rows = await bot.stored()
    return [(row.message.thread_id, row.message.session_id) for row in rows if row.message.id != "m1"]  # fmt: skip


@pytest.mark.row("S2-19")
@pytest.mark.parametrize("rpc", ["StreamChat", "Chat"])
@pytest.mark.parametrize("where", WHERE)
async def test_question_and_reply(where: str, rpc: str) -> None:
    """Both are stored where the question was asked: as the request says, else where its trigger stands."""
    context, place = WHERE[where]
    async with talk(FakeModel(["under the mat", STOP])) as bot:
        await bot.tell(LINE)
        request = turn(context=context)
        if rpc == "StreamChat":
            await bot.ask(request)
        else:
            await bot.stub.Chat(pb.ChatRequest(turn=request))
        stored = await places(bot)
    assert stored == [place] * (1 if "trigger_message_id" in context else 2)


async def test_every_round_and_a_reply_that_broke_off() -> None:
    """Calls, their results, what is left of a reply, and the whole one: each in the trigger's thread and session."""
    call = ToolCallDelta(ToolCallPart("c1", "weather"))
    broken = ["su", failed(ModelFault.SERVER_ERROR)]
    model = FakeModel([call, CALLS], [call, CALLS], broken, ["sunny", STOP])
    async with talk(model) as bot:
        await bot.tell(LINE)
        turn_id = await bot.open_turn(context=TRIGGER)
        for _ in range(3):
            await bot.ask(answers(turn_id, c1="sun"))
        stored = await places(bot)
    assert stored == [("A", "S")] * 6


@pytest.mark.row("S2-19")
async def test_the_next_build_of_the_thread_sees_the_answer() -> None:
    """What the bot said in a thread is part of that thread's context, and of no other's."""
    async with talk(FakeModel(["under the mat", STOP])) as bot:
        await bot.tell(LINE)
        await bot.ask(turn(context=TRIGGER))
        for thread, count in (("A", 2), ("B", 0)):
            built = await bot.client.build_context(
                "room", "under which mat?", asker="u1", thread_id=thread
            )
            assert len(built.items) == count


async def test_what_the_question_answers_and_names_is_stored_with_it() -> None:
    """A question without a trigger is stored with the edge and the people its request tells."""
    edges = {"reply": {"message_id": "m1"}, "mentions": [{"user_id": "u2"}]}
    context = {"question": "Ben, is it there?", **edges}
    async with talk(FakeModel(["yes", STOP])) as bot:
        await bot.tell(LINE)
        await bot.ask(turn(context=context))
        question = (await bot.stored())[1]
    assert question.message.reply.message_id == "m1"
    assert list(question.mentioned_user_ids) == ["u2"]
