"""Contexts whose last places are drawn, over the wire."""

import pytest

from backscroll import Author, Message, Overrides
from backscroll.errors import InvalidRequest
from tests.kit.served import served

NOON, MINUTE = 1_795_176_000_000, 60_000
ANN, BEN = Author("u1", "Ann"), Author("u2", "Ben")
WORDS = ["train", "ticket", "sea", "火车", "票", "beach", "window", "seat"]
CHAT = [
    Message(f"m{n}", BEN if n % 3 else ANN, f"{WORDS[n % 8]} {WORDS[n * 5 % 8]} no {n}", NOON - (41 - n) * MINUTE)
    for n in range(40)
]  # fmt: skip
QUESTION = Message("q", ANN, "when does the train to the sea leave, 火车?", NOON)
FEW = {"max_context": 8, "relevance_threshold": 0.05}
DRAWS = Overrides(exploration_slots=2, **FEW)


async def ask(client, overrides=DRAWS, **fields):
    return await client.build_context(
        "room", **{"trigger_message_id": "q", "profile": "classic", "overrides": overrides, **fields}
    )  # fmt: skip


def ids(context):
    return [one.message.id for one in context.items]


@pytest.mark.row("S5-41")
async def test_the_last_places_are_drawn_and_recorded():
    """S5-41: the best stay, probabilities, temperature, seed and features of every candidate are in the record."""
    async with served() as (client, _):
        await client.append("room", [*CHAT, QUESTION])
        plain = await ask(client, Overrides(**FEW))
        assert plain.exploration is None
        assert not (await client.get_usage_record(plain.id)).HasField("exploration")
        best = [one.message.id for one in sorted(plain.items, key=lambda each: each.rank)][:6]
        seen = set()
        for seed in range(12):
            context = await ask(client, exploration_seed=seed, explain=True)
            assert len(context.items) == 8
            assert set(best) <= set(ids(context))
            seen |= set(ids(context))
            drawn = context.exploration
            assert (drawn.slots, drawn.temperature, drawn.seed) == (2, 0.1, seed)
            assert drawn.seed_given
            assert 0 < drawn.probability < 1
            by = {one.message_id: one.decided_by for one in context.explanation.candidates}
            assert sum(word == "exploration" for word in by.values()) == 2
            record = await client.get_usage_record(context.id)
            assert record.exploration == drawn
            assert list(record.factors) == list(context.explanation.factors)
            kept = {one.message_id: one for one in record.candidates}
            assert {id_ for id_, one in kept.items() if one.drawn} == set(ids(context))
            assert sum(one.inclusion_probability for one in kept.values()) == pytest.approx(8)
            for told in context.explanation.candidates:
                weighed = [
                    feature * weight
                    for feature, weight in zip(
                        kept[told.message_id].features, context.explanation.weights, strict=True
                    )
                ]
                assert weighed == pytest.approx(list(told.shares), abs=1e-6)
        assert len(seen) > 10


@pytest.mark.row("S5-41")
async def test_a_seed_draws_the_same_again():
    """S5-41: of one question in a day the draw is one; its seed, given, makes the same bytes."""
    async with served() as (client, _):
        await client.append("room", [*CHAT, QUESTION])
        first, second = await ask(client), await ask(client)
        assert first.raw.payloads == second.raw.payloads
        assert first.exploration == second.exploration
        assert not first.exploration.seed_given
        again = await ask(client, exploration_seed=first.exploration.seed)
        assert (again.raw.payloads, again.raw.items) == (first.raw.payloads, first.raw.items)
        untold = [
            (await ask(client, trigger_message_id=None, question="train?", asker=ANN, asked_at=NOON)).exploration.seed
            for _ in range(2)
        ]  # fmt: skip
        assert len(set(untold)) == 2  # nothing tells two such questions apart but their builds


@pytest.mark.row("S5-41")
async def test_where_it_is_set():
    """S5-41: off by default; by the server, the channel, the request, each before the one before."""
    async with served() as (client, _):
        await client.append("room", [*CHAT, QUESTION])
        assert (await ask(client, Overrides(**FEW))).exploration is None
    async with served(exploration_slots=1) as (client, _):
        await client.append("room", [*CHAT, QUESTION])
        few = Overrides(**FEW)
        assert (await ask(client, few)).exploration.slots == 1
        await client.set_channel_settings("room", overrides=Overrides(exploration_slots=3))
        assert (await ask(client, few)).exploration.slots == 3
        assert (await ask(client)).exploration.slots == 2
        off = Overrides(exploration_slots=0, **FEW)
        assert (await ask(client, off)).exploration is None
        assert (await ask(client, DRAWS, profile="balanced")).exploration is None
        plain = Overrides(exploration_slots=2, use_intelligent_context=False)
        assert (await ask(client, plain)).exploration is None


@pytest.mark.row("S5-41")
async def test_erased_messages_leave_no_features():
    async with served() as (client, _):
        await client.append("room", [*CHAT, QUESTION])
        context = await ask(client)
        record = await client.get_usage_record(context.id)
        gone = next(one.message_id for one in record.candidates if one.drawn)
        await client.erase("room", message_ids=[gone])
        left = await client.get_usage_record(context.id)
        assert gone not in {one.message_id for one in left.candidates}
        assert len(left.candidates) == len(record.candidates) - 1


@pytest.mark.row("S5-41")
@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"exploration_slots": 4}, "overrides.exploration_slots"),
        ({"exploration_temperature": 0.0}, "overrides.exploration_temperature"),
        ({"exploration_temperature": float("nan")}, "overrides.exploration_temperature"),
    ],
)
async def test_bad_values_are_named(given, field):
    async with served() as (client, _):
        with pytest.raises(InvalidRequest) as refused:
            await ask(client, Overrides(**given))
        assert refused.value.field == field
        with pytest.raises(InvalidRequest) as refused:
            await ask(client, exploration_seed=2**63)
        assert refused.value.field == "exploration_seed"
