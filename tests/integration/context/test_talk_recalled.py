"""In the middle of a talk with the bot a line is understood from the talk: what it is about was said weeks ago."""

import pytest

from backscroll import Author, Message
from backscroll.v1 import context_pb2 as pb

ANN, BEN, CAT = Author("u1", "Ann"), Author("u2", "Ben"), Author("u3", "Cat")
BOT = Author("helper", "Helper", "bot")
NOON = 1_795_176_000_000
SECOND, MINUTE, HOUR, DAY = 1_000, 60_000, 3_600_000, 86_400_000
OF_HISTORY = {pb.SOURCE_LEXICAL, pb.SOURCE_SEMANTIC, pb.SOURCE_RECALL}

TALKS = {
    "en": (
        "I moved to Bergen for the fishery job and knew nobody there, cooking alone every evening",
        ["my first winter in Bergen was hard", "That must have been a change. Did the fishery job help?"],
        "I felt so lonely then",
    ),
    "zh": (
        "去年给奶奶挑了一条红色羊毛围巾做生日礼物，她天天戴着",
        ["奶奶下周又要过生日了", "真好！想好送她什么礼物了吗？"],
        "我也这么觉得，还没想好",
    ),
}  # fmt: skip
OTHER = ["the build server is slow again", "Shall I look at the queue?"]


def past(old: str, author: Author = ANN) -> list[Message]:
    """A line of seven weeks ago, a long chat of all behind it, and a few lines of today."""
    noise = [
        Message(f"n{n}", (ANN, BEN, CAT)[n % 3], f"line {n} of the long chat on gardens", NOON - 20 * DAY + n * MINUTE)
        for n in range(150)
    ]  # fmt: skip
    lately = [
        Message(f"l{n}", (BEN, CAT)[n % 2], f"hose {n} leaks", NOON - 15 * MINUTE + n * MINUTE)
        for n in range(6)
    ]
    return [Message("old", author, old, NOON - 50 * DAY), *noise, *lately]


def talk(lines: list[str], asker: Author, before: int, *, bot: Author = BOT, prefix="t"):
    """Asker and bot in turn, 15 s a line, the last one `before` ms before noon."""
    return [
        Message(
            f"{prefix}{n}",
            (asker, bot)[n % 2],
            text,
            NOON - before - (len(lines) - 1 - n) * 15 * SECOND,
            role="assistant" if n % 2 and bot is BOT else "user",
        )
        for n, text in enumerate(lines)
    ]


async def ask(client, lines, question, **fields):
    lines = sorted(lines, key=lambda line: line.sent_at)
    await client.append("room", lines)
    return await client.build_context("room", question, asker=ANN, asked_at=NOON, **fields)


def ranks(context) -> dict[str, int]:
    return {item.message.id: item.rank for item in context.items}


@pytest.mark.row("N-03", "S2-11")
@pytest.mark.parametrize("language", TALKS)
async def test_weeks_later_the_old_line_is_recalled(client, language):
    """N-03: the line alone shares no word with it; the talk does. The talk's last line keeps its place."""
    old, said, question = TALKS[language]
    lines = [*past(old), *talk(said, ANN, 10 * SECOND)]
    context = await ask(client, lines, question, self_ids=["helper"], explain=True)
    found = ranks(context)
    assert found["old"] <= 5
    assert found["t1"] <= 5
    explanation = context.explanation
    (one,) = [one for one in explanation.candidates if one.message_id == "old"]
    shares = dict(zip(explanation.factors, one.shares, strict=True))
    assert shares["talk"] > 0.0
    assert shares["words"] == pytest.approx(0.0, abs=1e-6)
    for one in explanation.candidates:
        assert sum(one.shares) == pytest.approx(one.linear, abs=1e-6)


@pytest.mark.row("N-03")
@pytest.mark.parametrize("language", TALKS)
async def test_a_bot_is_known_by_its_id_as_by_its_role(client, language):
    """N-03: a bot that tells its own id need not have stored its lines as an assistant's."""
    old, said, question = TALKS[language]
    lines = [*past(old), *talk(said, ANN, 10 * SECOND, bot=Author("helper", "Helper"))]
    assert ranks(await ask(client, lines, question, self_ids=["helper"]))["old"] <= 5


@pytest.mark.row("N-03")
@pytest.mark.parametrize("language", TALKS)
async def test_the_talk_of_somebody_else_is_not_the_askers(client, language):
    """N-03: in the same minutes the bot talks with two people; only one of them is reminded."""
    old, said, question = TALKS[language]
    others = talk(said, CAT, 25 * SECOND, prefix="c")
    own = talk(OTHER, ANN, 10 * SECOND)
    found = ranks(
        await ask(client, [*past(old, CAT), *others, *own], question, self_ids=["helper"])
    )
    assert found.get("old", 999) > 10


@pytest.mark.row("N-03", "S2-11")
@pytest.mark.parametrize("language", TALKS)
async def test_chatter_between_people_opens_nothing(client, language):
    """N-03: the same lines between two people are a reply like any other: no line of the history is looked for."""
    old, said, question = TALKS[language]
    lines = [*past(old), *talk(said, ANN, 10 * SECOND, bot=BEN)]
    context = await ask(client, lines, question, self_ids=["helper"])
    assert "old" not in ranks(context)
    assert all(OF_HISTORY.isdisjoint(item.sources) for item in context.items)


@pytest.mark.row("N-03")
async def test_a_plain_question_in_a_talk_stands_by_itself(client):
    """N-03: it changes the subject: words of the talk are no part of it."""
    old, said, _ = TALKS["en"]
    other = Message("other", ANN, "the puppy we adopted is called Rex", NOON - 40 * DAY)
    lines = [*past(old), other, *talk(said, ANN, 10 * SECOND)]
    context = await ask(
        client,
        lines,
        "what was the puppy called that we adopted?",
        self_ids=["helper"],
        explain=True,
    )
    found = ranks(context)
    assert found["other"] == 1
    assert "talk" not in context.explanation.factors


@pytest.mark.row("N-03")
@pytest.mark.parametrize("answered", ["t1", "n149"])
async def test_a_reply_button_on_the_bots_line_is_talk_too(client, answered):
    """N-03: on anybody else's it says that the last lines are what is meant."""
    old, said, question = TALKS["en"]
    lines = [*past(old), *talk(said, ANN, 10 * SECOND)]
    context = await ask(client, lines, question, self_ids=["helper"], reply=answered)
    assert ("old" in ranks(context)) == (answered == "t1")
