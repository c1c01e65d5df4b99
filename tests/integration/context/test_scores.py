"""`classic` over the wire: factors through explain, pools, threshold, settings, overrides, events."""

import math

import pytest

from backscroll import Author, Message, Overrides
from backscroll.v1 import context_pb2, message_pb2
from backscroll_sidecar.config.settings import MemorySettings
from backscroll_sidecar.domain import ChannelKey
from backscroll_sidecar.ports import EventQuery
from tests.kit.served import served

NOON = 1_795_176_000_000
MINUTE, HOUR = 60_000, 3_600_000
ANN, BEN, CAT = Author("u1", "Ann"), Author("u2", "Ben"), Author("u3", "Cat")
CHAT = [
    Message("root", BEN, "alpha root", NOON - 30 * HOUR),
    Message("mid", CAT, "middle", NOON - 3 * HOUR, reply_to="root"),
    Message("parent", BEN, "parent", NOON - 2 * HOUR, reply_to="mid"),
    Message("brother", CAT, "brother", NOON - HOUR, reply_to="parent"),
    Message("named", CAT, "look here", NOON - 30 * MINUTE, mentions=["u1", "u9"]),
    Message("words", BEN, "alpha beta", NOON - 20 * MINUTE),
    Message("own", ANN, "mine", NOON - MINUTE),
    Message("lone", CAT, "unlinked", NOON - 1_000),
]


async def ask(client, **fields):
    fields = {
        "asker": ANN,
        "asked_at": NOON,
        "profile": "classic",
        "explain": True,
        "reply": "parent",
        **fields,
    }
    return await client.build_context("room", fields.pop("question", "alpha gamma?"), **fields)


def table(context) -> dict[str, dict[str, float]]:
    factors = context.explanation.factors
    return {
        c.message_id: dict(zip(factors, c.shares, strict=True))
        for c in context.explanation.candidates
    }


def chosen(context) -> list[str]:
    return [item.message.id for item in context.items]


@pytest.mark.row("S5-06", "S5-07", "S5-08", "S5-09", "S5-10", "S5-11", "S5-12")
async def test_every_factor(client):
    """S5-06, S5-07, S5-08, S5-09, S5-10, S5-11, S5-12: shares by hand, their sums, the score."""
    await client.append("room", CHAT)
    context = await ask(client, mentions=["u9"])
    shares = table(context)
    hours = {"root": 30, "mid": 3, "parent": 2, "brother": 1, "named": 0.5, "words": 1 / 3}
    decay = {id: 0.2 * math.exp(-0.1 * age) for id, age in {**hours, "own": 1 / 60}.items()}
    by_hand = {
        "root": (0.4 * 0.64, 0, decay["root"], 0, 0.1 / 3),  # alpha of alpha, root, gamma
        "mid": (0.4 * 0.8, 0, decay["mid"], 0, 0),
        "parent": (0.4, 0, decay["parent"], 0, 0),
        "brother": (0.4 * 0.6, 0, decay["brother"], 0, 0),
        "named": (0, 0, decay["named"], 0.15 * 0.8, 0),  # names Ann, and u9 as the question does
        "words": (0, 0, decay["words"], 0, 0.1 / 3),
        "own": (0, 0.15 * 0.8, decay["own"], 0, 0),
    }
    for id, values in by_hand.items():
        assert list(shares[id].values()) == pytest.approx(list(values), abs=1e-9), id
    for one in context.explanation.candidates:
        assert math.fsum(one.shares) == pytest.approx(one.linear)
        assert one.score == pytest.approx(min(1.0, one.linear))
    assert (context.explanation.threshold, context.explanation.link) == (0.3, "identity")


@pytest.mark.row("S5-13", "S5-14", "S5-15", "S5-16")
async def test_pools_and_threshold(client):
    """S5-13, S5-14, S5-15, S5-16: the thread beyond the window, the window, each once; at least 0.3; time order."""
    await client.append("room", CHAT)
    context = await ask(client)
    candidates = context.explanation.candidates
    sources = {c.message_id: set(c.sources) for c in candidates}
    assert len(sources) == len(candidates)
    thread, window = context_pb2.SOURCE_THREAD, context_pb2.SOURCE_WINDOW
    assert sources == {
        "root": {thread},
        **{id: {thread, window} for id in ("mid", "parent", "brother")},
        **{id: {window} for id in ("named", "words", "own", "lone")},
    }
    # root has .4 × .64 + .2 × e^-3 + .1 / 3 = .2993
    assert chosen(context) == ["mid", "parent", "brother", "own"]
    assert [c.message_id for c in context.explanation.candidates if c.fate == context_pb2.FATE_THRESHOLD] == [
        "root", "named", "words", "lone",
    ]  # fmt: skip
    without = await ask(client, reply=None)
    assert "root" not in table(without)


@pytest.mark.row("S5-50")
async def test_overrides(client):
    """S5-50: per request, over what is configured."""
    await client.append("room", CHAT)
    assert chosen(await ask(client, overrides=Overrides(max_context=2))) == ["mid", "parent"]
    assert "lone" not in chosen(await ask(client))
    assert "lone" in chosen(await ask(client, overrides=Overrides(relevance_threshold=0.1)))
    hour = await ask(client, reply=None, overrides=Overrides(time_window_hours=1))
    assert set(table(hour)) == {"brother", "named", "words", "own", "lone"}
    plain = await ask(client, overrides=Overrides(use_intelligent_context=False))
    assert len(plain.items) == 8


@pytest.mark.parametrize(
    ("profile", "kinds", "links"),
    [
        ("balanced", {"link", "conversation"}, {"softmax, logistic"}),
        ("memory", {"memory"}, {"logistic"}),
        ("classic", {"score"}, {"identity"}),
        ("room", {"recency"}, {"identity"}),
    ],
)
async def test_every_score_says_of_what_it_is(client, profile, kinds, links):
    """Law 7: the kinds of scores that the contract names, and no source of ours among the operator's own."""
    await client.append("room", CHAT)
    context = await ask(client, profile=profile, question="alpha beta?", asked_at=NOON)
    candidates = context.explanation.candidates
    assert {one.scored_by for one in candidates} == kinds
    assert context.explanation.link in links
    assert not [one for one in candidates if one.own_sources]
    parent = next(one for one in candidates if one.message_id == "parent")
    if profile == "balanced":
        assert (parent.decided_by, parent.scored_by) == ("chain", "link")
    if profile == "memory":
        assert context_pb2.SOURCE_RECALL in parent.sources


async def test_ranks_are_a_prefix(client):
    """A smaller maximum selects the lowest ranks."""
    await client.append("room", CHAT)

    async def order(most: int) -> list[str]:
        context = await ask(client, overrides=Overrides(max_context=most))
        return [i.message.id for i in sorted(context.items, key=lambda item: item.rank)]

    whole = await order(20)
    assert [await order(n) for n in (1, 2, 3)] == [whole[:n] for n in (1, 2, 3)]


@pytest.mark.row("S5-26", "S5-27")
@pytest.mark.parametrize(
    ("memory", "expected"),
    [
        ({}, ["mid", "parent", "brother", "own"]),
        ({"enable_intelligent_memory": False}, [m.id for m in CHAT]),
        ({"max_context_messages": 1}, ["parent"]),
        ({"relevance_threshold": 0.5}, ["parent"]),
        ({"reply_chain_weight": 0.0}, ["own"]),
        ({"user_continuity_weight": 0.0}, ["mid", "parent", "brother"]),
        ({"time_decay_weight": 0.9}, [m.id for m in CHAT]),
        ({"mention_relation_weight": 0.9}, ["mid", "parent", "brother", "named", "own"]),
        ({"keyword_overlap_weight": 0.9}, ["root", "mid", "parent", "brother", "words", "own"]),
        ({"time_window_hours": 2}, ["mid", "parent", "brother", "own"]),
    ],
)
async def test_settings(memory, expected):
    """S5-26, S5-27: a server with one MEMORY_ setting changed answers `classic` differently (the window shows in the
    candidates only: the thread pool knows none)."""
    async with served(memory=MemorySettings(**memory)) as (client, _):
        await client.append("room", CHAT)
        context = await ask(client)
        assert chosen(context) == expected
        if "time_window_hours" in memory:
            window = [c.message_id for c in context.explanation.candidates
                      if context_pb2.SOURCE_WINDOW in c.sources]  # fmt: skip
            assert window == ["parent", "brother", "named", "words", "own", "lone"]


@pytest.mark.row("S3-16", "S3-17", "S5-27")
@pytest.mark.parametrize("collects", [True, False])
async def test_events_are_recorded(collects):
    """S3-16, S3-17, S5-27: what was cut is told in the answer and recorded behind it, under the turn;
    enable_async_data_collection off records nothing."""
    memory = MemorySettings(enable_async_data_collection=collects)
    async with served(memory=memory) as (client, app):
        await client.append(
            "room", [Message(f"m{n:02}", ANN, f"line {n}", NOON - 100 + n) for n in range(30)]
        )
        context = await ask(
            client, profile="naive", reply=None, overrides=Overrides(recent_limit=30)
        )
        agent, turn, cut = context.raw.events
        assert [e.type for e in (agent, turn, cut)] == [
            "agent.started",
            "turn.started",
            "context.compressed",
        ]
        assert (cut.parent_id, cut.level) == (agent.id, "turn")
        assert dict(cut.payload) == {
            "original_count": "30", "compressed_count": "12", "max_messages": "12", "max_chars_per_message": "4000",
        }  # fmt: skip
        await client.append("room", [Message("after", ANN, "x", NOON)])  # the writer has been there
        recorded = await app.store.events(ChannelKey("default", "room"), EventQuery(context.id))
        assert [one.event.id for one in recorded] == (
            [agent.id, turn.id, cut.id] if collects else []
        )
        uncut = await ask(client, profile="room", reply=None)
        assert list(uncut.raw.events) == []


@pytest.mark.row("S2-18")
async def test_addressed_and_type(client):
    """S2-18: a mention of the bot or a reply to it is recognised as a query to it."""
    bot = Author("bot", "Helper", "bot")
    await client.append("room", [*CHAT, Message("b", bot, "here", NOON - 500, role="assistant")])
    for fields, addressed in (
        ({"question": "@Helper when?", "reply": None}, True),
        ({"question": "when?", "reply": "b"}, True),
        ({"question": "when?", "reply": "parent"}, False),
    ):
        context = await ask(client, self_ids=["bot"], **fields)
        assert context.raw.addressed is addressed
        assert context.raw.question_type == message_pb2.MESSAGE_TYPE_QUESTION
