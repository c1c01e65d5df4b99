"""Every profile ranks in every channel there may be: nothing to index, nobody to name, nothing left.

A channel's first minutes are everybody's first try. Each question is asked of the channel as it was loaded and again
after one more message of the same kind, by the quick way and by the one that explains.
"""

import pytest
import pytest_asyncio

from backscroll import AsyncClient, Author, Media, Message, ToolCall, ToolResult
from backscroll.v1 import context_pb2
from backscroll_sidecar.context.profiles import PROFILES
from tests.kit.fake_embedder import FakeEmbedder
from tests.kit.served import served

NOON = 1_795_176_000_000
ANN, BEN, BOT = Author("u1", "Ann"), Author("u2", "Ben"), Author("bot", "Helper", "bot")


def said(*texts: str, authors: tuple[Author, ...] = (ANN, BEN)) -> list[Message]:
    """The texts, one a second, by the authors in turn; the bot's are its own."""
    return [
        Message(
            f"m{n}",
            authors[n % len(authors)],
            text,
            NOON + n * 1_000,
            role="assistant" if authors[n % len(authors)] is BOT else "user",
            reply_to=f"m{n - 2}" if n % 3 == 2 else None,
        )
        for n, text in enumerate(texts)
    ]


def sent(*parts: object) -> list[Message]:
    """Messages of these parts, without a word."""
    return [Message(f"m{n}", ANN, None, NOON + n, parts=[part]) for n, part in enumerate(parts)]


CHANNELS = {
    "nothing": [],
    "hi": said("hi"),
    "hello": said("hello"),
    "one emoji": said("👍"),
    "emojis": said(*["👍", "😀😀", "🎉"] * 14),
    "marks": said("?", "...", "!!", "。。。", "—"),
    "stop words": said("the", "of", "and so", "的", "了"),
    "greetings": said("hi", "hello", "ok", "thanks", "👍", "哈哈", "好的"),
    "numbers": said("1", "42", "2026-11-20"),
    "one word": said("deployment"),
    "one line of Chinese": said("明天去里斯本"),
    "one author": said("plans for Lisbon", "and the weather", "ok", authors=(ANN,)),
    "the bot alone": said("Welcome!", "Ask me anything", authors=(BOT,)),
    "joins": [Message("m0", ANN, "Ann joined", NOON, role="system")],
    "pictures": sent(*[Media("image", uri=f"https://x/{n}.png") for n in range(20)]),
    "pictures with words": sent(Media("image", uri="https://x/1.png", alt_text="a red bicycle")),
    "voices and files": sent(
        Media("audio"), Media("file", mime="application/pdf"), Media("sticker")
    ),
    "tools": [
        Message("m0", BOT, None, NOON, role="assistant", parts=[ToolCall("c1", "f", "{}")]),
        Message("m1", BOT, None, NOON, role="tool", parts=[ToolResult("c1", "")]),
    ],
    "a call without an answer": [
        Message("m0", BOT, None, NOON, role="assistant", parts=[ToolCall("c1", "f", "{}")])
    ],
}
QUESTIONS = (
    "what is the plan for the weather?",
    "when did Ben say that he would go to Lisbon? how many days?",
    "你还记得我们上周说的里斯本旅行计划吗？",
    "what do I like?",
    "ok",
    "👍",
    "?!",
    "42",
    "a" * 5_000,
)


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=["no embedder", "an embedder"])
async def client(request: pytest.FixtureRequest):
    embedder = FakeEmbedder() if request.param == "an embedder" else "none"
    async with served(embedder=embedder) as (client, _):
        yield client


async def asked(client: AsyncClient, channel: str, profile: str, **request: object) -> None:
    """By both ways: the rung is the first one, and no part was lost to an error."""
    for explain in (False, True):
        built = await client.build_context(
            channel, asker="u2", self_ids=["bot"], profile=profile, explain=explain, **request
        )
        assert built.raw.rung == context_pb2.RUNG_RANKED, (request, built.degradations)
        assert "ERROR" not in [one.reason for one in built.degradations], request
        assert built.payload["messages"], request


@pytest.mark.slow
@pytest.mark.parametrize("profile", sorted(PROFILES))
@pytest.mark.parametrize("kind", sorted(CHANNELS))
@pytest.mark.asyncio(loop_scope="module")
async def test_every_profile_ranks(client: AsyncClient, kind: str, profile: str) -> None:
    channel, messages = f"{kind} {profile}", CHANNELS[kind]
    if messages:
        report = await client.append(channel, messages)
        assert not report.problems
    everybody = [m.id for m in messages]
    for _ in range(2):
        for question in QUESTIONS:
            await asked(client, channel, profile, question=question)
        for id in everybody[:2]:
            await asked(client, channel, profile, trigger_message_id=id)
            await asked(client, channel, profile, question="what is this?", reply=id)
        if messages:
            again = Message("more", messages[-1].author, messages[-1].text, NOON + 60_000,
                            parts=messages[-1].parts, role=messages[-1].role)  # fmt: skip
            await client.append(channel, again)
    for id in [*everybody, "more"][: 50 if messages else 0]:
        await client.recall_message(channel, id)
    for question in QUESTIONS:
        await asked(client, channel, profile, question=question)
