"""Records that cannot be written cost no answer: a sink that is slow, full or dead."""

import asyncio

import pytest

from backscroll import Author, Message
from backscroll_sidecar.learning import recorder
from backscroll_sidecar.ports import UsageChange
from tests.kit.served import served

NOON, MINUTE, DAY = 1_795_176_000_000, 60_000, 24 * 3_600_000
ANN, BEN = Author("u1", "Ann"), Author("u2", "Ben")
CHAT = [Message(f"m{n}", BEN, f"line {n} of the chat", NOON - n * MINUTE) for n in range(20)]


async def ask(client):
    return await client.build_context("room", "which line?", asker=ANN, asked_at=NOON)


async def dropped(client):
    """Builds that were not recorded, as a scrape tells it."""
    (sample,) = await client.get_metrics("backscroll_dropped_usage_records_total")
    return sample.value


def is_recording(changes):
    return any(isinstance(one, UsageChange) for one in changes)


@pytest.mark.injects_fault
@pytest.mark.row("S5-21")
async def test_builds_go_on_while_the_sink_is_blocked(monkeypatch):
    """S5-21: builds are answered, whole, while no record can be written; then all that were queued are."""
    async with served() as (client, app):
        await client.append("room", CHAT)
        apply, blocked = app.store.apply, asyncio.Event()

        async def slow(changes):
            if is_recording(changes):
                await blocked.wait()
            return await apply(changes)

        monkeypatch.setattr(app.store, "apply", slow)
        contexts = [await ask(client) for _ in range(100)]
        assert not any(one.raw.degradations for one in contexts)
        blocked.set()
        ids = [one.context_id async for one in client.list_usage_records("room")]
        assert ids == [one.id for one in contexts]
        assert app.learning.recorder.dropped_count == 0


@pytest.mark.injects_fault
@pytest.mark.row("S5-21")
async def test_a_full_sink_drops_records_and_counts_them(monkeypatch):
    monkeypatch.setattr(recorder, "MAX_QUEUED", 10)
    async with served() as (client, app):
        await client.append("room", CHAT)
        contexts = await asyncio.gather(*(ask(client) for _ in range(50)))
        assert all(one.items for one in contexts)
        kept = [one.context_id async for one in client.list_usage_records("room")]
        counted = app.learning.recorder
        assert counted.noted_count == 50
        assert len(kept) + counted.dropped_count == 50
        assert 10 <= len(kept) < 50


@pytest.mark.injects_fault
@pytest.mark.row("S5-21", "S5-29")
async def test_a_dead_sink_costs_records_alone(monkeypatch):
    """S5-29: what cannot be recorded is counted; messages and builds go on."""
    async with served() as (client, app):
        await client.append("room", CHAT)
        apply = app.store.apply

        async def dead(changes):
            if is_recording(changes):
                raise ValueError("no room for records")
            return await apply(changes)

        monkeypatch.setattr(app.store, "apply", dead)
        assert (await ask(client)).items
        await app.learning.recorder.flush()
        assert await dropped(client) == 1
        report = await client.append("room", Message("x", BEN, "still here", NOON))
        assert not report.problems
        assert [one async for one in client.list_usage_records()] == []


@pytest.mark.injects_fault
@pytest.mark.row("S5-21", "S5-29")
async def test_what_the_writer_has_no_room_for_is_counted(monkeypatch):
    async with served() as (client, app):
        await client.append("room", CHAT)
        monkeypatch.setattr(app.writer, "offer", lambda _: False)
        assert (await ask(client)).items
        await app.learning.recorder.flush()
        assert await dropped(client) == 1


@pytest.mark.row("S5-18")
async def test_records_go_when_their_days_are_over():
    class Clock:
        now = NOON

        def now_ms(self):
            return self.now

        def monotonic_s(self):
            return asyncio.get_running_loop().time()

    clock = Clock()
    async with served(clock=clock, usage_days=7) as (client, _):
        await client.append("room", CHAT)
        old, clock.now = await ask(client), NOON + 6 * DAY
        kept = await ask(client)
        assert len([one async for one in client.list_usage_records()]) == 2
        clock.now = NOON + 8 * DAY
        newest = await ask(client)
        ids = [one.context_id async for one in client.list_usage_records()]
        assert ids == [kept.id, newest.id]
        assert old.id not in ids
