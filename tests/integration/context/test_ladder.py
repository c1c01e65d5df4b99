"""The ladder through the door: ranked, else the last messages, else none; which rung it was is told."""

import pytest

from backscroll import Author, Message
from backscroll.v1 import context_pb2 as pb
from backscroll_sidecar.config.settings import MemorySettings
from backscroll_sidecar.context.profiles import PROFILES
from tests.kit.served import served

NOON = 1_795_176_000_000
LINES = [
    Message(f"m{n:02}", f"u{n % 3}", f"line {n} 火车", NOON - 60_000 + n * 1_000) for n in range(40)
]


def broken(*args: object, **kwargs: object) -> None:
    raise ZeroDivisionError


async def ask(client, profile, **fields):
    return await client.build_context(
        "room", "and now?", asker=Author("u1"), asked_at=NOON, profile=profile,
        preferences=["likes tea"], **fields,
    )  # fmt: skip


@pytest.mark.row("S5-24", "S2-14")
@pytest.mark.injects_fault
@pytest.mark.parametrize("explain", [False, True])
@pytest.mark.parametrize("profile", sorted(PROFILES))
async def test_each_rung_where_the_one_before_breaks(profile, explain):
    """The last 20 or the profile's fewer where ranking breaks, the question alone where that breaks, too."""
    async with served() as (client, app):
        await client.append("room", LINES)
        picker = app.builder._picker
        picker._ranker = broken
        context = await ask(client, profile, explain=explain)
        most = {"retrieval": 15, "naive": 12}.get(profile, 20)
        assert context.raw.rung == pb.RUNG_RECENT
        assert [item.message.id for item in context.items] == [m.id for m in LINES[-most:]]
        assert ("rank", "ERROR") in [(d.stage, d.reason) for d in context.degradations]
        assert "likes tea" in context.text
        assert context.payload["messages"][-1]["content"].endswith("and now?")
        picker._recent = broken
        context = await ask(client, profile, explain=explain)
        assert context.raw.rung == pb.RUNG_EMPTY
        assert not context.items
        assert ("rank", "ERROR") in [(d.stage, d.reason) for d in context.degradations]
        assert context.payload["messages"][-1]["content"].endswith("and now?")


@pytest.mark.row("S5-24", "S5-26", "S5-27")
@pytest.mark.injects_fault
@pytest.mark.parametrize(("most", "expected"), [(None, 20), (7, 7)])
async def test_the_settings_of_the_second_rung(most, expected):
    """MEMORY_MAX_CONTEXT_MESSAGES bounds it; MEMORY_FALLBACK_ON_ERROR off goes straight to nothing."""
    given = {} if most is None else {"max_context_messages": most}
    for falls_back in (True, False):
        memory = MemorySettings(fallback_on_error=falls_back, **given)
        async with served(memory=memory) as (client, app):
            await client.append("room", LINES)
            app.builder._picker._ranker = broken
            context = await ask(client, "balanced")
            assert len(context.items) == (expected if falls_back else 0)
            assert context.raw.rung == (pb.RUNG_RECENT if falls_back else pb.RUNG_EMPTY)


@pytest.mark.row("S5-26", "S5-50")
@pytest.mark.parametrize("explain", [False, True])
async def test_without_ranking_the_last_ten(explain):
    """MEMORY_ENABLE_INTELLIGENT_MEMORY off, or a request's own word: the last 10, whatever is asked."""
    off = {"use_intelligent_context": False}
    for enabled, overrides in ((False, {}), (True, off)):
        async with served(memory=MemorySettings(enable_intelligent_memory=enabled)) as (client, _):
            await client.append("room", LINES)
            for profile in ("balanced", "classic", "hybrid"):
                context = await ask(client, profile, overrides=overrides, explain=explain)
                assert [item.message.id for item in context.items] == [m.id for m in LINES[-10:]]
                assert context.raw.rung == pb.RUNG_RANKED
                assert not context.degradations
            again = {"use_intelligent_context": True}
            context = await ask(client, "balanced", overrides=again, explain=explain)
            assert len(context.items) > 10
