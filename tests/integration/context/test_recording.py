"""What builds and turns record is written behind the answer: a store that hangs on it delays nobody."""

import asyncio
import threading
import time

import pytest

from backscroll import Author, Message, Overrides
from backscroll.v1 import context_pb2 as pb
from backscroll_sidecar.ports import EventsChange
from tests.kit.served import served

NOON = 1_795_176_000_000
LINES = [Message(f"m{n}", "u1", f"line {n}", NOON - 60_000 + n) for n in range(30)]


@pytest.mark.row("S5-21")
@pytest.mark.parametrize("explain", [False, True])
async def test_a_sink_that_hangs_delays_no_answer(explain):
    """Answers come while not one event can be written; all are there once it goes on, in their order."""
    async with served() as (client, app):
        await client.append("room", LINES)
        goes_on, apply, waiting = asyncio.Event(), app.store.apply, []

        async def hanging(changes):
            if any(isinstance(one, EventsChange) for one in changes):
                waiting.append(len(changes))
                await goes_on.wait()
            return await apply(changes)

        app.store.apply = hanging
        asked = {"asker": Author("u2"), "asked_at": NOON, "profile": "naive", "explain": explain}
        many = Overrides(recent_limit=30)
        told = []
        for n in range(20):
            context = await client.build_context("room", f"and {n}?", overrides=many, **asked)
            assert context.raw.rung == pb.RUNG_RANKED
            assert len(context.items) == 12
            told += [event.id for event in context.raw.events]
        assert len(waiting) == 1
        assert not [one async for one in client.list_events("room")]
        goes_on.set()
        await client.append("room", [Message("after", "u1", "the writer has been there", NOON)])
        assert [one.event.id async for one in client.list_events("room")] == told
        assert len(told) == 60


@pytest.mark.row("S5-21")
async def test_recording_holds_nothing_on_the_answers_way(monkeypatch):
    """Whatever is recorded is only queued on the loop: nothing sleeps in its thread, builds and turns alike."""
    slept: list[float] = []
    loop_thread, sleep = threading.get_ident(), time.sleep

    def told(seconds: float) -> None:
        if threading.get_ident() == loop_thread:
            slept.append(seconds)
        else:
            sleep(seconds)

    async with served() as (client, _):
        await client.append("room", LINES)
        monkeypatch.setattr(time, "sleep", told)
        context = await client.build_context(
            "room", "and 3?", asker="u2", asked_at=NOON, profile="naive", overrides=Overrides(recent_limit=30)
        )  # fmt: skip
        assert context.raw.events
        assert (await client.chat("room", "and now?", asker="u2")).text
        await client.append("room", [Message("after", "u1", "the writer has been there", NOON)])
        assert [one async for one in client.list_events("room")]
    assert slept == []
