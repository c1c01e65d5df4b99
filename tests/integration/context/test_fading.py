"""How fast messages fade: by setting and by request, in the profiles that have a rate and nowhere else."""

import math

import pytest

from backscroll import Author, InvalidRequest, Message, Overrides
from tests.kit.served import served

NOON = 1_795_176_000_000
HOUR = 3_600_000
ASKER = Author("u1", "Ann")
CHAT = [
    Message("old", "u2", "the garden gate is painted green", NOON - 10 * HOUR),
    Message("new", "u3", "the gate again", NOON - HOUR),
]


async def ranking(client, profile, **overrides) -> list[str]:
    """The ids of the chosen, best first."""
    await client.append("room", CHAT)
    context = await client.build_context(
        "room",
        "garden gate painted?",
        asker=ASKER,
        asked_at=NOON,
        profile=profile,
        overrides=Overrides(relevance_threshold=0.0, **overrides),
    )
    return [item.message.id for item in sorted(context.items, key=lambda item: item.rank)]


@pytest.mark.row("S5-08", "S5-62")
async def test_two_rates_of_decay_give_two_orders(client):
    """S5-08, S5-62: without decay the words decide, with the default the newer message wins."""
    assert await ranking(client, "classic") == ["new", "old"]
    assert await ranking(client, "classic", decay_per_hour=0.1) == ["new", "old"]
    assert await ranking(client, "classic", decay_per_hour=0.0) == ["old", "new"]


@pytest.mark.row("S5-62")
@pytest.mark.parametrize("profile", ["hybrid", "hybrid_linear"])
async def test_two_half_lives_give_two_orders(client, profile):
    """S5-62: in the profiles that fuse, age takes half of its share after this many minutes."""
    only = {"sources": ["lexical"]}
    year = await ranking(client, profile, recency_half_life_minutes=525_600.0, **only)
    assert year == ["old", "new"]
    if profile == "hybrid":  # the ranks lie close together; the scores do not
        assert await ranking(client, profile, **only) == ["new", "old"]


@pytest.mark.row("S5-08", "S5-62")
async def test_the_settings_of_a_server():
    """S5-08, S5-62: what the operator sets, and a request changes."""
    async with served(decay_per_hour=0.0, recency_half_life_minutes=525_600) as (client, _):
        assert await ranking(client, "classic") == ["old", "new"]
        assert await ranking(client, "classic", decay_per_hour=0.1) == ["new", "old"]
        assert await ranking(client, "hybrid", sources=["lexical"]) == ["old", "new"]


@pytest.mark.row("S5-62")
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("decay_per_hour", -0.001),
        ("decay_per_hour", 100.1),
        ("decay_per_hour", math.nan),
        ("decay_per_hour", math.inf),
        ("recency_half_life_minutes", 0.0),
        ("recency_half_life_minutes", 525_601.0),
        ("recency_half_life_minutes", math.nan),
    ],
)
async def test_a_rate_out_of_range_is_refused(client, field, value):
    """S5-62: with the field's name."""
    with pytest.raises(InvalidRequest) as refused:
        await ranking(client, "classic", **{field: value})
    assert (refused.value.reason, refused.value.field) == ("INVALID_FIELD", f"overrides.{field}")
