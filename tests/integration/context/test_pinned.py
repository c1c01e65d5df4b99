"""Pinned messages over the wire: kept, listed, shown in every build of the channel, gone with their message."""

import asyncio

import pytest

from backscroll import Author, Conflict, Gone, Member, Message, NotFound
from backscroll.v1 import context_pb2 as pb
from tests.kit.served import served

NOON = 1_795_176_000_000
MINUTE, DAY = 60_000, 86_400_000
ANN, BEN = Author("u1", "Ann"), Author("u2", "Ben")
RULE = Message("rule", BEN, "群规：不要剧透 (no spoilers)", NOON - 30 * DAY)
NOISE = [
    Message(f"n{n:03}", BEN, f"small talk number {n}", NOON - DAY + n * MINUTE) for n in range(200)
]
PROFILES = (
    "balanced",
    "chain_recent",
    "retrieval",
    "memory",
    "hybrid",
    "hybrid_linear",
    "room",
)


async def ask(client, room="room", **fields):
    fields = {"asker": ANN, "asked_at": NOON, **fields}
    return await client.build_context(room, fields.pop("question", "what shall we cook?"), **fields)


def shown(context) -> list[str]:
    return [item.message.id for item in context.items]


def pins(context) -> dict[str, list[int]]:
    return {i.message.id: list(i.sources) for i in context.items if pb.SOURCE_PINNED in i.sources}


@pytest.mark.row("P-33", "S3-27", "N-03")
@pytest.mark.parametrize("profile", PROFILES)
async def test_a_pinned_line_is_in_every_build(client, profile):
    """S3-27: shown as a reference, counted in the budget, first in rank, explained as pinned; with preferences, too."""
    await client.append("room", [RULE, *NOISE])
    without = await ask(client, profile=profile)
    assert "rule" not in shown(without)
    await client.pin_message("room", "rule")
    context = await ask(client, profile=profile, preferences=["likes tea"], explain=True)
    (item,) = [item for item in context.items if item.message.id == "rule"]
    assert (item.rank, item.category, list(item.sources)) == (
        1,
        pb.CATEGORY_SEMANTIC,
        [pb.SOURCE_PINNED],
    )
    assert "群规：不要剧透 (no spoilers)" in context.text
    assert "群规：不要剧透 (no spoilers)" in context.payload_bytes.decode()
    assert context.tokens.semantic >= item.token_count > 0
    assert context.tokens.total <= context.tokens.budget
    told = {one.message_id: one for one in context.explanation.candidates}
    assert (told["rule"].decided_by, told["rule"].fate) == ("pinned", pb.FATE_SELECTED)
    plain = await ask(client, profile=profile)
    assert shown(plain)[0] == "rule"
    await client.unpin_message("room", "rule")
    assert shown(await ask(client, profile=profile)) == shown(without)


@pytest.mark.row("P-33")
@pytest.mark.parametrize("profile", [*PROFILES, "classic", "naive"])
async def test_pinned_alone_gives_its_lines(client, profile):
    """P-33: in each profile where a request names the source, in those without it as well."""
    await client.append("room", [RULE, *NOISE])
    for one in ("rule", "n003", "n199"):
        await client.pin_message("room", one)
    context = await ask(client, profile=profile, overrides={"sources": ["pinned"]}, explain=True)
    assert pins(context) == {id: [pb.SOURCE_PINNED] for id in ("rule", "n003", "n199")}
    assert [one.message_id for one in context.explanation.candidates] == ["rule", "n003", "n199"]


@pytest.mark.row("S3-27")
@pytest.mark.parametrize("profile", ["classic", "naive"])
async def test_the_plain_formulas_stay_as_they_are(client, profile):
    """The docs say so: `classic` and `naive` show what they would show without pins."""
    await client.append("room", [RULE, *NOISE])
    before = shown(await ask(client, profile=profile))
    await client.pin_message("room", "rule")
    assert shown(await ask(client, profile=profile)) == before


@pytest.mark.row("S3-27")
async def test_pins_are_listed_in_their_order_and_survive_a_restart(tmp_path):
    """Stored through the writer: pinned twice keeps its place, unpinned and pinned again comes last."""
    async with served(tmp_path / "h.db") as (client, _):
        await client.append("room", [RULE, *NOISE])
        for one in ("n001", "rule", "n002", "n001"):
            await client.pin_message("room", one)
        assert [row.message.id for row in await client.list_pinned_messages("room")] == [
            "n001",
            "rule",
            "n002",
        ]
        await client.unpin_message("room", "n001")
        await client.unpin_message("room", "n001")
        await client.pin_message("room", "n001")
        before = await ask(client)
    async with served(tmp_path / "h.db") as (client, _):
        rows = await client.list_pinned_messages("room")
        assert [row.message.id for row in rows] == ["rule", "n002", "n001"]
        assert rows[0].message.parts[0].text.text == "群规：不要剧透 (no spoilers)"
        after = await ask(client)
        assert (shown(after), after.payload_bytes) == (shown(before), before.payload_bytes)
        await client.pin_message("room", "n150")
        assert "n150" in pins(await ask(client))


@pytest.mark.row("S3-27")
@pytest.mark.parametrize("how", ["recall", "erase", "erase user", "erase all"])
async def test_a_pin_goes_with_its_message(client, how):
    """Recalled or erased it is no longer listed, shown, or a candidate."""
    await client.append("room", [RULE, Message("own", ANN, "by somebody else", NOON - DAY), *NOISE])
    await client.pin_message("room", "rule")
    await client.pin_message("room", "own")
    assert pins(await ask(client)).keys() == {"rule", "own"}
    if how == "recall":
        await client.recall_message("room", "rule")
    elif how == "erase":
        await client.erase("room", message_ids=["rule"])
    elif how == "erase user":
        await client.erase("room", user_id="u2")
    else:
        await client.erase("room", whole_channel=True)
    left = set() if how == "erase all" else {"own"}
    if how != "erase all":
        assert {row.message.id for row in await client.list_pinned_messages("room")} == left
    context = await ask(client, explain=True)
    assert pins(context).keys() == left
    assert "rule" not in {one.message_id for one in context.explanation.candidates}


@pytest.mark.row("S3-27")
async def test_what_cannot_be_pinned(client):
    """NotFound, Gone, and Conflict beyond 50; another channel's pins are another's."""
    await client.append("room", [RULE, *NOISE])
    await client.append("other", [RULE])
    with pytest.raises(NotFound) as unknown:
        await client.pin_message("room", "nobody")
    assert unknown.value.reason == "MESSAGE_NOT_FOUND"
    await client.recall_message("room", "n000")
    with pytest.raises(Gone):
        await client.pin_message("room", "n000")
    with pytest.raises(NotFound) as never:
        await client.list_pinned_messages("never")
    assert never.value.reason == "CHANNEL_NOT_FOUND"
    many = [client.pin_message("room", f"n{n:03}") for n in range(1, 60)]
    outcomes = await asyncio.gather(*many, return_exceptions=True)
    assert sum(isinstance(one, Conflict) for one in outcomes) == 9
    assert len(await client.list_pinned_messages("room")) == 50
    assert not await client.list_pinned_messages("other")
    await client.pin_message("room", "n001")  # again: no error


@pytest.mark.row("S3-27")
async def test_pins_within_limits(client):
    """They come first in rank: a small budget or maximum keeps them; more than fit lose by name."""
    await client.append("room", [RULE, *NOISE])
    for one in ("rule", "n001", "n002"):
        await client.pin_message("room", one)
    for most in (1, 2, 3, 5):
        context = await ask(client, overrides={"max_context": most}, explain=True)
        assert len(pins(context)) == min(3, most)
        assert len(context.items) == most
    tight = await ask(client, token_budget=120)
    assert "rule" in shown(tight)
    assert tight.tokens.total <= 120


async def test_pins_a_question_may_not_see(client):
    """A later one, one of another thread, and where membership counts one of before."""
    lines = [
        Message("rule", BEN, "be kind", NOON - 3 * DAY),
        Message("later", BEN, "afterwards", NOON + DAY),
        Message("topic", BEN, "in the topic", NOON - 2 * DAY, thread_id="t"),
        Message("hello", BEN, "hello", NOON - MINUTE),
    ]
    await client.append("room", lines)
    for one in ("rule", "later", "topic"):
        await client.pin_message("room", one)
    assert pins(await ask(client)).keys() == {"rule", "topic"}
    assert pins(await ask(client, thread_id="t")).keys() == {"topic"}
    await client.upsert_members("room", Member("u1", "Ann", joined_at=NOON - DAY))
    assert not pins(await ask(client, visible_since_membership=True))


async def test_a_message_is_pinned_and_unpinned_by_its_other_id(client):
    """As the platform's copy of a reply names it; still one pin."""
    await client.append("room", [RULE, *NOISE[:3]])
    await client.alias_message("room", "rule", "platform-7")
    for message_id in ("platform-7", "rule"):
        await client.pin_message("room", message_id)
        assert [one.message.id for one in await client.list_pinned_messages("room")] == ["rule"]
    assert list(pins(await ask(client))) == ["rule"]
    await client.unpin_message("room", "platform-7")
    assert list(await client.list_pinned_messages("room")) == []
    assert pins(await ask(client)) == {}
