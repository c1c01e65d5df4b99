"""Summaries of past days: made behind everything else, shown in builds, gone with what they stand for."""

import asyncio

import pytest

from backscroll import Author, Message
from backscroll.errors import BackscrollError
from backscroll.v1 import context_pb2 as pb
from backscroll_sidecar.models.scripted import ScriptedModel
from backscroll_sidecar.ports import Finished, FinishReason, ModelError, ModelFault, TextDelta
from tests.kit.served import served

DAY = 24 * 3_600_000
NOON = 1_795_176_000_000
FIRST = (NOON // DAY - 10) * DAY
ANN, BEN = Author("u1", "Ann"), Author("u2", "Ben")


def day(n, text, count=3):
    at = FIRST + n * DAY + 3_600_000
    return [
        Message(
            f"d{n}-{i}",
            (ANN, BEN)[i % 2],
            f"{text} number {n}{i} at 192.168.{n}.{i}",
            at + i * 60_000,
        )
        for i in range(count)
    ]


NEW = [Message(f"new{i}", BEN, f"lunch talk {i}", NOON - 60_000 * (30 - i)) for i in range(25)]


async def until(client, wanted, channel="room"):
    """The summaries by day, once there are those that are wanted."""
    for _ in range(200):
        found = {}
        async for one in client.list_period_summaries(channel, page_size=2):
            found[(one.start_ms - FIRST) // DAY] = one
        if wanted(found):
            return found
        await asyncio.sleep(0.1)
    raise AssertionError(found)


async def fill(client):
    await client.append("room", day(0, "the printer lives in room"))
    await client.append("room", day(3, "打印机在房间里面，地址是"))
    await client.append("room", NEW)


@pytest.mark.row("S5-46")
async def test_each_past_day_has_one(tmp_path):
    """S5-46: off by default; none of empty days and of the newest; with the ids; the same after a restart."""
    async with served(tmp_path / "b.db") as (client, _):
        await fill(client)
        await asyncio.sleep(1.5)
        assert [one async for one in client.list_period_summaries("room")] == []
        await client.set_channel_settings("room", summary_hours=24)
        found = await until(client, lambda found: len(found) == 2)
        assert set(found) == {0, 3}
        assert list(found[0].message_ids) == ["d0-0", "d0-1", "d0-2"]
        assert "192.168.0" in found[0].text
        assert "打印机" in found[3].text
        assert found[0].end_ms - found[0].start_ms == DAY
        assert found[0].token_count > 0
        (made,) = await client.get_metrics("backscroll_period_summaries")
        assert (made.value, made.labels["kind"]) == (2, "key_lines")
        ids = {one.id for one in found.values()}
    async with served(tmp_path / "b.db", summary_hours=24) as (client, _):
        await client.append("room", day(5, "a late import brings the scanner"))
        found = await until(client, lambda found: len(found) == 3)
        assert ids < {one.id for one in found.values()}


@pytest.mark.row("S5-46")
async def test_a_build_shows_the_newest():
    """They are part of `summary`, counted in the budget, with their days; not before they were, not where unwanted."""
    async with served(summary_hours=24) as (client, _):
        await fill(client)
        await until(client, lambda found: len(found) == 2)
        context = await client.build_context("room", "hello?", asker=ANN, asked_at=NOON)
        assert "192.168.0" in context.raw.summary
        assert "打印机" in context.raw.summary
        assert context.raw.summary.startswith("## 2026-11-10\n")
        assert context.tokens.summary > 0
        assert context.tokens.total <= context.tokens.budget
        assert context.raw.summary.splitlines()[1] in context.text
        early = await client.build_context("room", "hello?", asker=ANN, asked_at=FIRST + 2 * DAY)
        assert "打印机" not in early.raw.summary
        for fields in ({"without_summary": True}, {"profile": "steady"}):
            other = await client.build_context("room", "hello?", asker=ANN, asked_at=NOON, **fields)
            assert not other.raw.HasField("summary")
        await client.set_channel_settings("room", summary_hours=0)
        off = await client.build_context("room", "hello?", asker=ANN, asked_at=NOON)
        assert not off.raw.HasField("summary")


@pytest.mark.row("S5-46", "N-10")
async def test_what_is_taken_back_takes_the_summary_along():
    """N-10: recalled, edited, erased: gone at once, and made again without it; late messages are taken in."""
    async with served(summary_hours=24) as (client, _):
        await fill(client)
        await until(client, lambda found: len(found) == 2)
        await client.recall_message("room", "d0-1")
        context = await client.build_context("room", "hello?", asker=ANN, asked_at=NOON)
        assert "192.168.0.1" not in context.raw.summary
        found = await until(client, lambda found: 0 in found and len(found[0].message_ids) == 2)
        assert "192.168.0.1" not in found[0].text
        await client.erase("room", user_id="u1")
        found = await until(
            client, lambda found: len(found) == 1 and len(found[3].message_ids) == 1
        )
        assert list(found[3].message_ids) == ["d3-1"]
        late = Message("late", BEN, "the fax is 10.0.0.77", FIRST + 3 * DAY + 60_000)
        await client.append("room", [late])
        found = await until(client, lambda found: "late" in found[3].message_ids)
        assert "10.0.0.77" in found[3].text
        await client.erase("room", whole_channel=True)
        assert [one async for one in client.list_period_summaries("room")] == []


@pytest.mark.row("S5-46")
async def test_what_is_deleted_stays_away():
    """It is not made again until its period changes; what is whispered is in none."""
    async with served(summary_hours=24) as (client, _):
        await fill(client)
        whisper = Message("w", ANN, "the safe is 7788", FIRST + 60_000, audience=["u2"])
        await client.append("room", [whisper])
        found = await until(client, lambda found: len(found) == 2)
        assert "7788" not in found[0].text
        assert await client.delete_period_summary("room", found[0].id)
        assert not await client.delete_period_summary("room", found[0].id)
        assert not await client.delete_period_summary("room", "24:1")
        await client.append("room", [Message("more", BEN, "still here", NOON)])
        await asyncio.sleep(2.5)
        assert set(await until(client, bool)) == {3}
        with pytest.raises(BackscrollError) as refused:
            await client.set_channel_settings("room", summary_hours=8_761)
        assert refused.value.field == "settings.summary_hours"


@pytest.mark.row("S5-46")
@pytest.mark.parametrize(
    ("steps", "kind", "failure"),
    [
        (
            [TextDelta("They spoke of the printer."), Finished(FinishReason.STOP)],
            pb.SUMMARY_KIND_MODEL,
            "",
        ),
        ([ModelError(ModelFault.RATE_LIMITED, "later")], pb.SUMMARY_KIND_KEY_LINES, "rate_limited"),
    ],
)
async def test_by_a_model_or_without_one_where_it_fails(steps, kind, failure):
    """What it wrote stands before people's own words; where it fails these are all there is, and the reason is told."""
    async with served(summary_hours=24, model=ScriptedModel(lambda _: steps)) as (client, _):
        await fill(client)
        found = await until(client, lambda found: len(found) == 2)
        for one in found.values():
            assert (one.kind, one.model_failure) == (kind, failure)
            assert ("They spoke of the printer." in one.text) == (not failure)
        assert "192.168.0" in found[0].text
