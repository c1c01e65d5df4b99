"""One question, one answer: asked twice by its id, at once or later, also while the first one waits for tools."""

import asyncio

import pytest

from backscroll import Author, Message
from backscroll.v1 import context_pb2 as pb
from backscroll_sidecar.models.faults import failed
from backscroll_sidecar.ports import ModelFault
from tests.integration.chat.talk import Bot, answers, talk, text_of, turn
from tests.kit.fake_model import CALLS, LENGTH, STOP, FakeModel, call

T0 = 1_795_176_000_000
LINE = Message("m1", Author("u1", "Ann"), "which day?", T0)
BY_TRIGGER = turn(context={"question": "", "trigger_message_id": "m1"})
BY_QUESTION = turn("which day?", question_message_id="q1")
ASKED = {"trigger": BY_TRIGGER, "question id": BY_QUESTION}


async def replies(bot: Bot) -> list[str]:
    return [text_of(row) for row in await bot.stored() if row.message.role == 2]


@pytest.mark.row("S2-19")
@pytest.mark.parametrize("by", ASKED)
async def test_asked_again_after_the_answer(by: str) -> None:
    """The stored answer comes again, with the context, its ids and its end; the model is not asked."""
    model = FakeModel(["Thurs", "day", STOP], ["Friday", STOP])
    async with talk(model) as bot:
        await bot.tell(LINE)
        first = await bot.ask(ASKED[by])
        again = await bot.ask(ASKED[by])
        once = await bot.stub.Chat(pb.ChatRequest(turn=ASKED[by]))
        assert await replies(bot) == ["Thursday"]
    assert (again.kinds, again.text) == (["context", "delta", "end"], "Thursday")
    assert once.text == "Thursday"
    for end in (again.end, once.end):
        assert end.reply_message_id == first.end.reply_message_id
        assert (end.turn_id, end.reason) == (first.end.turn_id, first.end.reason)
    assert len(model.requests) == 1


async def test_a_cut_answer_ends_the_same_again() -> None:
    """LENGTH and its notice come again, too."""
    async with talk(FakeModel(["Thurs", LENGTH])) as bot:
        await bot.tell(LINE)
        first, again = [await bot.ask(BY_TRIGGER) for _ in range(2)]
    assert (again.reason, again.notices) == ("LENGTH", first.notices)


@pytest.mark.parametrize("by", ASKED)
async def test_asked_twice_at_once(by: str) -> None:
    """The second waits for the first, and both hear the one answer."""
    model = FakeModel(["Thursday", STOP], ["Friday", STOP])
    async with talk(model) as bot:
        await bot.tell(LINE)
        heard = await asyncio.gather(*(bot.ask(ASKED[by]) for _ in range(5)))
        assert await replies(bot) == ["Thursday"]
        await bot.idle()
        assert bot.app.chat.is_idle
    assert {one.text for one in heard} == {"Thursday"}
    assert len({one.end.reply_message_id for one in heard}) == len(model.requests) == 1


async def test_what_was_not_answered_is_answered() -> None:
    """After an error, a partial answer, a recall or an erasure the model is asked again."""
    model = FakeModel(
        [failed(ModelFault.SERVER_ERROR)], ["Thu", failed(ModelFault.SERVER_ERROR)],
        ["Thursday", STOP], ["Friday", STOP], ["Saturday", STOP],
    )  # fmt: skip
    async with talk(model) as bot:
        await bot.tell(LINE)
        heard = [await bot.ask(BY_TRIGGER) for _ in range(3)]
        await bot.client.recall_message("room", heard[-1].end.reply_message_id)
        heard.append(await bot.ask(BY_TRIGGER))
        await bot.client.erase("room", message_ids=[heard[-1].end.reply_message_id])
        heard += [await bot.ask(BY_TRIGGER) for _ in range(2)]
    assert [one.text for one in heard] == ["", "Thu", "Thursday", "Friday", "Saturday", "Saturday"]


async def test_two_bots_answer_one_question() -> None:
    """Each in its own name."""
    async with talk(FakeModel(["yes", STOP], ["no", STOP])) as bot:
        await bot.tell(LINE)
        context = {"question": "", "trigger_message_id": "m1"}
        heard = [await bot.ask(turn(context={**context, "self_ids": [one]})) for one in ("a", "b")]
        assert await replies(bot) == ["yes", "no"]
    assert [one.text for one in heard] == ["yes", "no"]


async def test_two_open_turns_store_one_answer() -> None:
    """Whoever answers first; the other is told the answer that is stored, and that its own is not."""
    ask = [call("c1", arguments=""), CALLS]
    model = FakeModel(ask, ask, ["sun", STOP], ["rain", STOP])
    asked = turn(tools=True, context={"question": "", "trigger_message_id": "m1"})
    async with talk(model) as bot:
        await bot.tell(LINE)
        turns = [(await bot.ask(asked)).end.turn_id for _ in range(2)]
        first, second = [await bot.ask(answers(one, c1="x")) for one in turns]
        assert await replies(bot) == ["", "sun", ""]
    assert second.end.reply_message_id == first.end.reply_message_id
    assert [one.reason for one in second.errors] == ["CONFLICT"]


async def test_another_question_under_the_id_is_not_answered_with_the_old_answer() -> None:
    """Its id is taken, and its answer belongs to no question."""
    async with talk(FakeModel(["Thursday", STOP], ["under the mat", STOP])) as bot:
        await bot.ask(BY_QUESTION)
        other = await bot.ask(turn("where is the key?", question_message_id="q1"))
    assert other.text == "under the mat"
    assert [one.reason for one in other.errors] == ["CONFLICT"]


@pytest.mark.row("S2-19")
async def test_an_edited_question_is_answered_anew() -> None:
    """And that answer is the one told again; the first one stays in the history."""
    model = FakeModel(["Thursday", STOP], ["week 14", STOP], ["Monday", STOP])
    async with talk(model) as bot:
        await bot.tell(LINE)
        heard = [await bot.ask(BY_TRIGGER)]
        await bot.client.edit_message("room", "m1", "which week?")
        heard += [await bot.ask(BY_TRIGGER) for _ in range(2)]
        await bot.client.edit_message("room", "m1", "which  day?\n")
        heard.append(await bot.ask(BY_TRIGGER))
        assert await replies(bot) == ["Thursday", "week 14"]
        assert not any(one.errors for one in heard)
    assert [one.text for one in heard] == ["Thursday", "week 14", "week 14", "Thursday"]


@pytest.mark.row("S2-19")
async def test_other_words_about_a_message_are_answered_anew() -> None:
    """Two things asked about one message have an answer each; the message's own words without its call are the same."""
    model = FakeModel(["Thursday", STOP], ["week 14", STOP], ["周四", STOP])
    asked = [
        "which day?",
        "@Cat which day?",
        "which week?",
        "which day?",
        "which week?",
        "哪天？",
        "哪天？",
    ]
    async with talk(model) as bot:
        await bot.tell(LINE)
        heard = [
            await bot.ask(turn(context={"question": one, "trigger_message_id": "m1"}))
            for one in asked
        ]
        assert await replies(bot) == ["Thursday", "week 14", "周四"]
        assert not any(one.errors for one in heard)
    assert [one.text for one in heard] == [
        "Thursday", "Thursday", "week 14", "Thursday", "week 14", "周四", "周四",
    ]  # fmt: skip


async def test_a_caller_who_leaves_while_waiting_holds_nothing_up() -> None:
    """Nor does one whose time is up: it is told so."""
    gate = asyncio.Event()

    async def held(_: object) -> None:
        await gate.wait()

    model = FakeModel(["Thursday", STOP])
    async with talk(model) as bot:
        await bot.tell(LINE)
        stream = bot.app.builder.build

        async def slow(request, **how):  # the first one's build
            await held(request)
            return await stream(request, **how)

        bot.app.builder.build = slow
        first = asyncio.create_task(bot.ask(BY_TRIGGER))
        while not bot.app.chat._held:  # noqa: ASYNC110 - nothing tells
            await asyncio.sleep(0.001)
        late = await bot.ask(BY_TRIGGER, timeout_s=0.2)
        leaving = asyncio.create_task(bot.ask(BY_TRIGGER))
        await asyncio.sleep(0.05)
        leaving.cancel()
        gate.set()
        assert (await first).text == "Thursday"
        assert (await bot.ask(BY_TRIGGER)).text == "Thursday"
        assert len(model.requests) == 1
    assert late.refusal is not None
    assert late.refusal.reason == "DEADLINE"
