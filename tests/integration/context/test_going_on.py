"""A reply that broke off is seen by the model when somebody asks to go on with it, or by setting always or never."""

import pytest

from backscroll import Author, Message
from backscroll_sidecar.context.profiles import PROFILES
from tests.kit.served import served

NOON = 1_795_176_000_000
ANN, BEN, BOT = Author("u1", "Ann"), Author("u2", "Ben"), Author("bot", "Cat", "bot")
STORY = Message("q", ANN, "tell a story", NOON - 5_000)
HALF = Message(
    "half", BOT, "once upon a time there was", NOON - 4_000, role="assistant", reply_to="q", partial=True
)  # fmt: skip


async def contents(client, question="continue", asker="u1", **request):
    """The messages but for the question, as role and text, by both ways."""
    request = {"self_ids": ["bot"], "asked_at": NOON, **request}
    found = []
    for explain in (False, True):
        built = await client.build_context(
            "room", question, asker=asker, explain=explain, **request
        )
        assert built.raw.rung == 1
        found.append([(m["role"], m["content"]) for m in built.payload["messages"][:-1]])
    assert found[0] == found[1]
    return found[0]


def has_half(messages) -> bool:
    return any("once upon" in content for _, content in messages)


@pytest.mark.parametrize("profile", sorted(PROFILES))
@pytest.mark.parametrize("question", ["continue", "@Cat go on please", "接着说", "继续"])
async def test_who_asks_to_go_on_is_understood(client, profile, question):
    """As the bot's own line, whatever the profile; and what it was an answer to where chains are kept."""
    await client.append("room", [STORY, HALF])
    messages = await contents(client, question, profile=profile, include_system=False)
    assert ("assistant", "once upon a time there was") in messages
    budget = {"token_budget": 120} if profile != "retrieval" else {"token_budget": 200}
    assert has_half(await contents(client, question, profile=profile, **budget))


async def test_otherwise_it_stays_out(client):
    """Another question, words of the asker's own since, another bot's reply, another thread, a whole answer since."""
    await client.append("room", [STORY, HALF])
    assert not has_half(await contents(client, "what is the weather?"))
    assert not has_half(await contents(client, "continue", self_ids=["other"]))
    assert has_half(await contents(client, "continue", asker="u2"))
    await client.append("room", [Message("again", ANN, "go on", NOON - 3_000)])
    assert has_half(await contents(client))  # it was asked in vain
    await client.append("room", [Message("b", BEN, "I am here", NOON - 2_000)])
    assert has_half(await contents(client))  # it was her answer, whoever spoke since
    assert not has_half(await contents(client, asker="u2"))
    assert not has_half(await contents(client, asker="u3"))
    await client.append("room", [
        Message("half2", BOT, "once upon a day", NOON - 1_000, role="assistant", partial=True, thread_id="T"),
        Message("go", ANN, "continue", NOON - 500, thread_id="T"),
        Message("elsewhere", ANN, "continue", NOON - 400, thread_id="U"),
    ])  # fmt: skip
    assert has_half(await contents(client, "", trigger_message_id="go"))
    assert not has_half(await contents(client, "", trigger_message_id="elsewhere"))


async def test_a_recalled_one_is_gone(client):
    await client.append("room", [STORY, HALF])
    await client.recall_message("room", "half")
    assert not has_half(await contents(client))


@pytest.mark.parametrize("policy", ["when_asked", "never", "always"])
async def test_the_setting(policy):
    """never: not even then; always: a line like others, found by its words long after."""
    async with served(partial_replies=policy) as (client, _):
        await client.append("room", [STORY, HALF])
        assert has_half(await contents(client)) is (policy != "never")
        assert has_half(await contents(client, "what now?")) is (policy == "always")
        lines = [Message(f"m{n}", BEN, f"line {n}", NOON - 3_000 + n) for n in range(150)]
        await client.append("room", lines)
        found = await contents(client, "once upon which time?", profile="memory")
        assert has_half(found) is (policy == "always")


@pytest.mark.parametrize("profile", sorted(PROFILES))
@pytest.mark.parametrize("question", ["why frogs?", "continue", "接着说"])
async def test_who_replies_to_it_is_answered_about_it(client, profile, question):
    """By the platform's edge, whatever they say, whoever spoke since."""
    await client.append("room", [STORY, HALF, Message("b", BEN, "lol", NOON - 2_000)])
    for reply in ("half", "b"):
        asked = {"profile": profile, "reply": reply, "asker": "u3"}
        assert has_half(await contents(client, question, **asked)) is (reply == "half")
    await client.append("room", [Message("r", BEN, question, NOON - 1_000, reply_to="half")])
    assert has_half(await contents(client, "", profile=profile, trigger_message_id="r"))


async def test_it_is_shown_with_what_went_on_with_it(client):
    """Later, too, however often it broke off; not where nobody went on, nor in a build of the time before."""
    await client.append("room", [
        STORY, HALF, Message("lol", BEN, "lol", NOON - 3_500), Message("go", ANN, "continue", NOON - 3_000),
        Message("half2", BOT, "a frog that", NOON - 2_500, role="assistant", reply_to="go", partial=True),
        Message("go2", ANN, "go on", NOON - 2_000),
    ])  # fmt: skip
    said = [content for _, content in await contents(client, "", trigger_message_id="go2")]
    assert [any(half in one for one in said) for half in ("once upon", "a frog that")] == [
        True,
        True,
    ]
    assert not has_half(await contents(client, "and toads?"))
    await client.append("room", [
        Message("rest", BOT, "jumped.", NOON - 1_500, role="assistant", reply_to="go2"),
    ])  # fmt: skip
    said = " ".join(content for _, content in await contents(client, "and toads?"))
    assert said.index("once upon") < said.index("a frog that") < said.index("jumped.")
    assert not has_half(await contents(client, "and toads?", asked_at=NOON - 1_600))


@pytest.mark.parametrize("first", ["continue", "what now?"])
async def test_a_question_changes_no_later_one(first):
    """Law 2: who asked before, and whether the broken reply was a line for that question, tells in no score."""
    lines = [
        Message(f"m{n}", (ANN, BEN)[n % 2], f"a frog, {n} of them, said Ben", NOON - 3_900 + n)
        for n in range(30)
    ]
    told = []
    for asked in ((first,), ()):
        async with served() as (client, _):
            await client.append("room", [STORY, HALF, *lines])
            for question in asked:
                await client.build_context(
                    "room", question, asker="u1", self_ids=["bot"], reply="half", asked_at=NOON
                )
            built = await client.build_context(
                "room", "which frog?", asker="u1", self_ids=["bot"], asked_at=NOON, explain=True
            )
        told.append([(one.message_id, one.score) for one in built.raw.explanation.candidates])
    assert told[0]
    assert told[0] == told[1]


@pytest.mark.parametrize(
    "question",
    [
        "ادامه بده", "أكمل", "ต่อเลย", "продолжай", "Weiter!", "sigue", "continúa", "continuez", "続けて", "계속해줘",
        "继续🙏", "keep going 🙏", "继续吧～", "cont.", "👉 continue ❤️",
    ],
)  # fmt: skip
async def test_who_asks_in_another_language_is_understood(client, question):
    """Signs and emoji at its ends aside."""
    await client.append("room", [STORY, HALF])
    assert has_half(await contents(client, question))
    assert not has_half(await contents(client, f"{question} {question} 42"))


async def test_a_half_that_was_answered_stays_with_the_rest(client):
    """Whatever the person said who answered it, once the bot went on."""
    await client.append("room", [
        STORY, HALF, Message("r", ANN, "what did he do?", NOON - 3_000, reply_to="half"),
    ])  # fmt: skip
    assert not has_half(await contents(client, "who?"))
    await client.append("room", [
        Message("rest", BOT, "he jumped", NOON - 2_000, role="assistant", reply_to="r"),
    ])  # fmt: skip
    assert has_half(await contents(client, "who?"))


@pytest.mark.parametrize("policy", ["when_asked", "always"])
@pytest.mark.parametrize("off_ms", [-3_000, -500, 0, 500])
async def test_a_half_that_the_platform_tells_again_is_shown_once(policy, off_ms):
    """Whichever clock was ahead."""
    text = HALF.to_proto().parts[0].text.text
    copy = Message("p", BOT, text, NOON - 4_000 + off_ms, role="assistant", reply_to="q")
    async with served(partial_replies=policy) as (client, _):
        await client.append("room", [STORY, HALF])
        await client.append("room", [copy])
        for question in ("continue", "what now?"):
            found = await contents(client, question)
            assert sum("once upon" in content for _, content in found) == 1
