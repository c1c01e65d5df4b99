"""Clocks that disagree: an answer stands behind what it answers, in memory, in the store, after a restart."""

import time
from pathlib import Path

import pytest

from backscroll import Author, Message
from backscroll_sidecar.context.profiles import PROFILES
from tests.integration.chat.talk import Bot, answers, talk, text_of, turn
from tests.kit.fake_model import CALLS, LENGTH, STOP, FakeModel, call

CALL = call("c1", arguments="")
NOON = 1_795_176_000_000
BOT = Author("bot", "Cat", "bot")
ANN, BEN = Author("u1", "Ann"), Author("u2", "Ben")
TRIGGER = {"question": "", "trigger_message_id": "q1"}


def now_ms() -> int:
    return int(time.time() * 1000)


async def ranked(bot: Bot) -> list[str]:
    rows = await bot.stored()
    return [text_of(row) for row in sorted(rows, key=lambda row: (row.rank_time_ms, row.sequence))]


async def shown(bot: Bot, trigger: str = "q2") -> list[str]:
    built = await bot.client.build_context("room", trigger_message_id=trigger, self_ids=["bot"])
    return [one.content for one in built.raw.messages]


@pytest.mark.parametrize("ahead_s", [-55, -2, 0, 2, 6, 30, 55])
async def test_an_answer_stands_behind_its_question(ahead_s: int) -> None:
    """A platform whose clock is ahead of or behind the server's; the reply's time is what it is ranked by."""
    at_ms = now_ms() + ahead_s * 1_000
    async with talk(FakeModel(["Thursday", STOP])) as bot:
        await bot.tell(Message("q1", ANN, "which day?", at_ms))
        reply = (await bot.ask(turn(context=TRIGGER))).end.reply_message_id
        await bot.tell(Message("q2", BEN, "sure?", at_ms + 4_000, reply_to=reply))
        assert await shown(bot) == ["Ann <u1>: which day?", "Thursday", "Ben <u2>: sure?"]
        question, answer, last = await bot.stored()
    assert question.message.sent_at_ms == question.rank_time_ms == at_ms
    assert answer.message.sent_at_ms == answer.rank_time_ms >= max(at_ms + 1, now_ms() - 60_000)
    assert last.message.sent_at_ms == at_ms + 4_000
    assert last.rank_time_ms >= max(answer.rank_time_ms, at_ms + 4_000)


@pytest.mark.parametrize("ahead_s", [-55, 30, 55])
async def test_rounds_stand_in_their_order(ahead_s: int) -> None:
    """Calls, results, calls, results, reply: each behind what came before it."""
    at_ms = now_ms() + ahead_s * 1_000
    model = FakeModel(["a", CALL, CALLS], ["b", CALL, CALLS], ["c", STOP])
    async with talk(model) as bot:
        await bot.tell(Message("q1", ANN, "which day?", at_ms))
        turn_id = await bot.open_turn(context=TRIGGER)
        for said in ("one", "two"):
            await bot.ask(answers(turn_id, c1=said))
        rows = sorted(await bot.stored(), key=lambda row: (row.rank_time_ms, row.sequence))
        times = [row.message.sent_at_ms for row in rows]
    kinds = [row.message.id.partition(":")[2] for row in rows]
    assert kinds == ["", "calls:1", "result:1:0", "calls:2", "result:2:0", "reply"]
    assert times == sorted(times)


@pytest.mark.parametrize("profile", sorted(PROFILES))
@pytest.mark.parametrize("behind_s", [3, 55, 8 * 3_600])
async def test_the_last_answer_is_seen_by_a_clock_that_is_behind(
    profile: str, behind_s: int
) -> None:
    """The next question has no edge, and by its time the bot's answer was not there yet; nor what people answered."""
    at_ms = now_ms() - behind_s * 1_000
    async with talk(FakeModel(["A heron", STOP])) as bot:
        await bot.tell(Message("q1", ANN, "which bird is that?", at_ms))
        reply = (await bot.ask(turn(context=TRIGGER))).end.reply_message_id
        await bot.tell(Message("q2", ANN, "and what does it eat?", at_ms + 1))
        assert await items(bot, "q2", profile) == ["q1", reply]
        await bot.tell(
            Message("own", BOT, "fish", now_ms(), role="assistant"),
            Message("thanks", BEN, "thanks", at_ms + 2, reply_to=reply),
            Message("q4", ANN, "and where does it sleep?", at_ms + 1_002),
            Message("late", BEN, "who had said that before?", at_ms + 2_002),
        )
        assert set(await items(bot, "q4", profile)) == {"q1", "q2", reply, "own", "thanks"}
        assert await items(bot, "q2", profile) == ["q1", reply]
        assert await items(bot, "q1", profile) == []


async def items(bot: Bot, trigger: str, profile: str) -> list[str]:
    built = await bot.client.build_context(
        "room", trigger_message_id=trigger, self_ids=["bot"], profile=profile,
        overrides={"relevance_threshold": 0.0},
    )  # fmt: skip
    return [one.message.id for one in built.items]


async def test_going_on_by_a_clock_that_is_behind() -> None:
    """What broke off is found though it is ranked behind the wish to go on; what came after that is not looked at."""
    at_ms = now_ms() - 3_000
    async with talk(FakeModel(["A heron is", LENGTH])) as bot:
        await bot.tell(Message("q1", ANN, "which bird is that?", at_ms))
        reply = (await bot.ask(turn(context=TRIGGER))).end.reply_message_id
        await bot.tell(Message("q2", ANN, "go on", at_ms + 1_000))
        assert await items(bot, "q2", "balanced") == ["q1", reply]


async def test_lines_told_newest_first_are_no_answers() -> None:
    """A platform's own clock counts more than the order in which its lines were told."""
    told = [Message(f"m{n}", (ANN, BEN)[n % 2], f"line {n}", NOON + n * 1_000) for n in range(6)]
    async with talk() as bot:
        await bot.tell(*reversed(told))
        assert await items(bot, "m3", "naive") == ["m0", "m1", "m2"]


async def test_a_question_of_its_own_stands_behind_the_lines_it_follows() -> None:
    """Lines that the platform dates ahead, and a question without a trigger: by our clock it would come first."""
    at_ms = now_ms() + 30_000
    async with talk(FakeModel(["Thursday", STOP], ["yes", STOP])) as bot:
        await bot.tell(Message("m1", BEN, "we could meet", at_ms))
        for question in ("which day?", "sure?"):
            await bot.ask(turn(question))
        assert await ranked(bot) == ["we could meet", "which day?", "Thursday", "sure?", "yes"]


async def test_late_parents_and_chains_after_a_restart(tmp_path: Path) -> None:
    """In memory, from rows and from segments the order is one: replies dated early, parents that come last."""
    at_ms = now_ms() - 3_600_000
    lines = [Message(f"m{n}", ANN, f"line {n}", at_ms + n * 1_000) for n in range(100)]
    late = [
        Message("c", BEN, "third", at_ms + 10_000, reply_to="b"),
        Message("b", BEN, "second", at_ms + 20_000, reply_to="a"),
    ]
    parent = Message("a", ANN, "first", at_ms + 50_500)
    seen = []
    for start in range(3):
        async with talk(database=tmp_path / "history.db") as bot:
            if start == 0:
                await bot.tell(*lines, *late)
                await shown(bot, "m99")  # hot
            if start == 1:
                await shown(bot, "m99")
                await bot.tell(parent)
            seen.append((await ranked(bot), await shown(bot, "m99")))
    expected = [f"line {n}" for n in range(51)]
    expected += ["first", "second", "third", *(f"line {n}" for n in range(51, 100))]
    assert seen[1] == seen[2]
    assert seen[1][0] == expected
    where = [expected.index(one.partition(": ")[2]) for one in seen[1][1]]
    assert where == sorted(where)
