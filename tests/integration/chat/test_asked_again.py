"""The same words asked again: which stored line is the question, and which are history (law 3)."""

import asyncio

import pytest

from backscroll import Message
from backscroll_sidecar.domain import Role
from backscroll_sidecar.models.faults import failed
from backscroll_sidecar.ports import ModelFault
from tests.integration.chat.talk import Bot, Heard, talk, text_of, turn
from tests.kit.chats import StillClock
from tests.kit.fake_model import STOP, FakeModel

T0 = 1_795_176_000_000
SAID = "and now? 现在呢？"
OTHER = Message("m1", "u2", "we meet at six", T0)


def model(*script) -> FakeModel:
    said = script or ("hm", STOP)
    return FakeModel(answer=lambda _: said)


def shown(heard: Heard) -> list[str]:
    return [item.message.parts[0].text.text for item in heard.context.items]


def slow_commits(bot: Bot) -> None:
    """The question's commit comes behind the build."""
    apply = bot.app.store.apply

    async def applied(changes):
        await asyncio.sleep(0.05)
        return await apply(changes)

    bot.app.store.apply = applied


def early_questions(bot: Bot) -> None:
    """The question's commit comes before the build."""
    build = bot.app.builder.build

    async def built(request, **how):
        await asyncio.sleep(0.05)
        return await build(request, **how)

    bot.app.builder.build = built


@pytest.mark.row("S4-25")
@pytest.mark.parametrize("order", [slow_commits, early_questions])
@pytest.mark.parametrize("ids", [("", "", ""), ("q1", "q2", "q3"), ("q1", "", "")])
async def test_an_earlier_turns_question_stays_history(order, ids) -> None:
    """Law 3, S4-25: this turn's question is no history, an equal one of an earlier turn is, whichever commits first."""
    fake = model()
    async with talk(fake, clock=StillClock(T0 + 20_000)) as bot:
        order(bot)
        heard = [await bot.ask(turn(SAID, question_message_id=id)) for id in ids]
    for number, one in enumerate(heard):
        assert shown(one) == [SAID, "hm"] * number
        assert not one.context.HasField("trigger")
        assert not one.context.degradations
    for number, request in enumerate(fake.requests):
        roles = [Role.USER, Role.ASSISTANT] * number
        assert [message.role for message in request.messages] == [*roles, Role.USER]


@pytest.mark.parametrize("order", [slow_commits, early_questions])
async def test_a_question_that_got_no_answer_stays_history(order) -> None:
    """Law 3: what somebody said to a model that failed was said."""
    async with talk(model(failed(ModelFault.SERVER_ERROR))) as bot:
        order(bot)
        heard = [await bot.ask(turn(SAID)) for _ in range(3)]
    assert [shown(one) for one in heard] == [[], [SAID], [SAID, SAID]]


@pytest.mark.parametrize("order", [slow_commits, early_questions])
async def test_a_line_that_the_bot_appended_before_it_asks_is_the_question(order) -> None:
    """Law 3: without an id the line appended last is the question itself, once, before and after an answer to it."""
    fake = model()
    async with talk(fake, clock=StillClock(T0 + 20_000)) as bot:
        order(bot)
        await bot.tell(OTHER, Message("m2", "u1", SAID, T0 + 10_000))
        first = await bot.ask(turn(SAID))
        rows = await bot.stored()
        await bot.tell(Message("m3", "u1", SAID, T0 + 20_000))
        second = await bot.ask(turn(SAID))
    assert (shown(first), first.context.trigger.id) == (["we meet at six"], "m2")
    assert text_of(rows[-1]) == "hm"
    assert second.context.trigger.id == "m3"
    assert sum(SAID in one.content for one in fake.requests[0].messages) == 1


@pytest.mark.parametrize("order", [slow_commits, early_questions])
async def test_an_answered_line_is_not_asked_now(order) -> None:
    """Law 3: a trigger that was answered is history when its words are asked again without an id."""
    async with talk(model(), clock=StillClock(T0 + 20_000)) as bot:
        order(bot)
        await bot.tell(OTHER, Message("m2", "u1", SAID, T0 + 10_000))
        await bot.ask(turn(SAID, context={"trigger_message_id": "m2"}))
        again = await bot.ask(turn(SAID))
    assert shown(again) == ["we meet at six", SAID, "hm"]
    assert not again.context.HasField("trigger")


async def test_a_build_alone_takes_the_newest_equal_line() -> None:
    """Law 3: BuildContext stores nothing, so the newest equal line within 60 s is its question."""
    async with talk(model(), clock=StillClock(T0 + 20_000)) as bot:
        await bot.tell(OTHER, *(Message(f"q{n}", "u1", SAID, T0 + 10_000 + n) for n in range(2)))
        built = await bot.client.build_context("room", SAID, asker="u1")
    assert [item.message.id for item in built.raw.items] == ["m1", "q0"]
    assert built.raw.trigger.id == "q1"


STRIPPED = [
    (SAID, SAID),
    (f"@Helper {SAID}", SAID),
    (f"@Helper, {SAID}", SAID),
    (f"/ask {SAID}", SAID),
    (f"!ask@helper_bot {SAID}", SAID),
    ("@小黑你好吗？", "你好吗？"),
    ("what is up, @Helper?", "what is up?"),
    ("hey <@111> what is up?", "hey  what is up?"),
    ("what is <@111> up?", "what is up?"),
    (".ask what is up?", "what is up?"),
    (">cat what is up?", "what is up?"),
    ("。问 你好吗？", "你好吗？"),
]


@pytest.mark.parametrize(("brought", "asked"), STRIPPED)
@pytest.mark.parametrize("is_hot", [True, False])
async def test_what_the_bot_brought_is_stored_and_seen_once(
    brought, asked, is_hot, tmp_path
) -> None:
    """Cut as bots cut it before they ask: one question, in the topic where it stands; nothing new but the answer."""
    fake = model()
    path = tmp_path / "chat.db"
    line = Message("m2", "u1", brought, T0 + 10_000, thread_id="topic")
    async with talk(fake, clock=StillClock(T0 + 20_000), database=path) as bot:
        await bot.tell(OTHER, line)
        if is_hot:
            await bot.client.build_context("room", "hm?", asker="u2")
        heard = await bot.ask(turn(asked))
        rows = await bot.stored()
        again = await bot.ask(turn(asked))
        assert len(await bot.stored()) == len(rows) + 2  # said once more, so stored once more
    assert [text_of(row) for row in rows] == ["we meet at six", brought, "hm"]
    assert rows[-1].message.thread_id == "topic"
    assert rows[-1].message.reply.message_id == "m2"
    assert heard.context.trigger.id == "m2"
    assert [one.content for one in fake.requests[0].messages] == [asked]
    assert not again.context.HasField("trigger")


@pytest.mark.parametrize("words", ["@Helper what?", "so, what is up?", "what is up?!"])
async def test_another_line_is_no_question_of_this_turn(words) -> None:
    """What says more, or something else, was said beside the question."""
    async with talk(model(), clock=StillClock(T0 + 20_000)) as bot:
        await bot.tell(Message("m2", "u1", words, T0 + 10_000))
        heard = await bot.ask(turn("what is up?"))
        rows = await bot.stored()
    assert [text_of(row) for row in rows] == [words, "what is up?", "hm"]
    assert not heard.context.HasField("trigger")


async def test_an_id_of_its_own_makes_it_a_message_of_its_own() -> None:
    """Who names the id of the question wants it stored under that, and a retry to find it there."""
    async with talk(model(), clock=StillClock(T0 + 20_000)) as bot:
        for _ in range(2):
            await bot.ask(turn(SAID, question_message_id="q1"))
        rows = await bot.stored()
    assert rows[0].message.id == "q1"
    assert [text_of(row) for row in rows] == [SAID, "hm"]
