"""What the question replies to, and the newest line, are in every context: cut to the budget, never left out."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from backscroll import AsyncClient, Author, InvalidRequest, Message, Overrides
from backscroll.v1 import context_pb2 as pb
from backscroll_sidecar.context.profiles import PROFILES
from tests.kit.served import served

NOON = 1_795_176_000_000
ANN, BEN, BOT = Author("u1", "Ann"), Author("u2", "Ben"), Author("bot", "Cat", "bot")
LONG = {
    "Chinese": ("天地玄黄宇宙洪荒" * 600)[:4096],
    "English": ("the quick brown fox jumps over the lazy dog. " * 200)[:4096],
    "lines": "ab\n" * 1300,
    "one word": "x" * 4096,
    "families": "👨‍👩‍👧‍👦" * 370,
    "blank within": "a" + " " * 4000 + "b",
}
LAYOUTS = ["turns", "context_and_question", "single_user", "system_and_user"]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client() -> AsyncIterator[AsyncClient]:
    async with served() as (client, _):
        yield client


def talk(text: str, *, between: int, reply_to: str | None = "long") -> list[Message]:
    """A long message of the bot's, some lines, the question."""
    lines = [Message(f"m{n}", BEN, f"line {n} 哈哈", NOON + n) for n in range(1, between + 1)]
    return [
        Message("long", BOT, text, NOON, role="assistant"),
        *lines,
        Message("q", ANN, "最后一段是什么意思?", NOON + 5_000, reply_to=reply_to),
    ]


async def least_tokens(client: AsyncClient, channel: str, **request: object) -> int:
    """What the question and the fixed parts take."""
    with pytest.raises(InvalidRequest) as refused:
        await client.build_context(channel, token_budget=1, **request)
    return int(refused.value.metadata["least_tokens"])


def check(built: object, budget: int, id: str, text: str) -> pb.Item:
    """One message is in, whole or as a marked beginning of itself, and all of it within the budget."""
    (item,) = [one for one in built.items if one.message.id == id]
    assert built.tokens.total <= budget
    shown = "\n".join(m["content"] for m in built.payload["messages"]).split("\n")
    said = "".join(line.removeprefix("  ") for line in shown)
    wanted = "".join(text.split("\n"))
    assert (wanted in said) is not item.truncated
    if item.truncated:
        assert "…" in said
    return item


@pytest.mark.row("P-02", "S2-08")
@pytest.mark.parametrize("kind", sorted(LONG))
@pytest.mark.parametrize("profile", sorted(PROFILES))
@pytest.mark.asyncio(loop_scope="module")
async def test_what_the_question_replies_to_is_cut_to_what_fits(client, profile, kind):
    """From a line more than nothing up to all of it; with references, preferences and every layout."""
    channel = f"answered {profile} {kind}"
    await client.append(channel, talk(LONG[kind], between=30))
    for layout in LAYOUTS:
        request = {
            "trigger_message_id": "q", "self_ids": ["bot"], "profile": profile, "layout": layout,
            "preferences": ["likes short answers", "speaks 中文"],
            "overrides": Overrides(relevance_threshold=0.0, max_chars_per_message=65_536),
        }  # fmt: skip
        least = await least_tokens(client, channel, **request)
        before = 0
        for budget in (least + 32, least + 60, least + 150, 500, 1_000, 2_000, 4_096, 20_000):
            built = await client.build_context(channel, token_budget=budget, **request)
            item = check(built, budget, "long", LONG[kind])
            if budget == 20_000 or kind in ("Chinese", "families"):
                assert item.truncated is (budget < 20_000)
            assert "ERROR" not in [one.reason for one in built.degradations]
            assert built.tokens.total >= min(before, budget // 2)
            before = built.tokens.total


@pytest.mark.parametrize("profile", sorted(PROFILES.keys() - {"memory"}))
@pytest.mark.asyncio(loop_scope="module")
async def test_so_is_the_newest_line(client, profile):
    """A long message just before a question that replies to nothing; of `memory` there is no newest line."""
    channel = f"newest {profile}"
    lines = talk(LONG["English"], between=0, reply_to=None)
    older = [Message(f"m{n}", BEN, f"line {n}", NOON - 1_000 + n) for n in range(30)]
    await client.append(channel, [*older, *lines])
    request = {"trigger_message_id": "q", "self_ids": ["bot"], "profile": profile}
    request["overrides"] = Overrides(relevance_threshold=0.0)
    least = await least_tokens(client, channel, **request)
    for budget in (least + 40, 300, 600, 2_000):
        built = await client.build_context(channel, token_budget=budget, **request)
        check(built, budget, "long", LONG["English"])


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def far(client):
    """A channel with 600 lines behind one that has no word in common with them."""
    lines = [Message(f"m{n}", BEN, f"line {n}", NOON - 700_000 + n * 1_000) for n in range(600)]
    up = Message("up", BOT, "我们去里斯本", NOON - 800_000, role="assistant")
    await client.append("far", [up, *lines])
    return "far"


@pytest.mark.parametrize("profile", sorted(PROFILES.keys() - {"classic"}))
@pytest.mark.parametrize("most", [1, 3, None])
@pytest.mark.asyncio(loop_scope="module")
async def test_however_far_up_it_stands(client, far, profile, most):
    """600 lines up, whatever the maximum, the threshold, and the sources that were asked for."""
    for overrides in (
        Overrides(max_context=most),
        Overrides(max_context=most, relevance_threshold=1.0),
        Overrides(max_context=most, sources=["recent"]),
        Overrides(max_context=most, use_intelligent_context=False),
    ):
        built = await client.build_context(
            far, "what does that mean?", asker="u1", reply="up", self_ids=["bot"],
            profile=profile, overrides=overrides, explain=True,
        )  # fmt: skip
        (item,) = [one for one in built.items if one.message.id == "up"]
        assert item.category == pb.CATEGORY_RECENT or profile == "steady"  # there behind the window
        assert item.rank == 1
        (told,) = [c for c in built.explanation.candidates if c.message_id == "up"]
        assert told.fate == pb.FATE_SELECTED
        assert told.decided_by == "chain"


@pytest.mark.parametrize("profile", sorted(PROFILES))
@pytest.mark.asyncio(loop_scope="module")
async def test_what_was_taken_back_is_not_shown(client, profile):
    """A reply to a recalled message brings nothing of it back, and explain says why."""
    channel = f"recalled {profile}"
    await client.append(channel, talk("a secret plan", between=2))
    await client.recall_message(channel, "long")
    built = await client.build_context(
        channel, trigger_message_id="q", self_ids=["bot"], profile=profile, explain=True
    )
    assert b"secret" not in built.payload_bytes
    assert "long" not in [item.message.id for item in built.items]


@pytest.mark.asyncio(loop_scope="module")
async def test_a_limit_of_messages_keeps_it(client):
    """`naive` shows the last 12: what the question replies to is one of them."""
    channel = "limit of messages"
    await client.append(channel, talk("shall we?", between=30))
    built = await client.build_context(
        channel, trigger_message_id="q", self_ids=["bot"], profile="naive"
    )
    assert [item.message.id for item in built.items] == ["long", *[f"m{n}" for n in range(20, 31)]]


@pytest.mark.asyncio(loop_scope="module")
async def test_its_loss_is_named(client):
    """Where not even one line fits, the answer says so."""
    channel = "no room"
    await client.append(channel, talk(LONG["English"], between=3))
    request = {"trigger_message_id": "q", "self_ids": ["bot"]}
    least = await least_tokens(client, channel, **request)
    built = await client.build_context(channel, token_budget=least, **request)
    assert not built.items
    assert [(d.stage, d.reason, d.source) for d in built.degradations] == [
        ("compress", "BUDGET", "chain")
    ]
