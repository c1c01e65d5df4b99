"""What a scrape says of a server under way: stages of builds, queues, what was given up."""

import asyncio

import pytest

from backscroll import AsyncClient, Message
from backscroll_sidecar.domain import ChannelKey, Event
from backscroll_sidecar.models.faults import failed
from backscroll_sidecar.ports import ModelFault
from backscroll_sidecar.server import serve_metrics
from tests.kit.fake_embedder import FakeEmbedder
from tests.kit.scraped import scrape
from tests.kit.served import running

NOON = 1_795_176_000_000
ENOUGH_S = 300.0


@pytest.mark.row("P-16")
async def test_stages_add_up_to_builds():
    """Every stage that an answer names has its time and the number of builds; each profile counts."""
    async with running() as (server, _), AsyncClient(server.addresses[0]) as client:
        metrics = serve_metrics(server, "127.0.0.1:0")
        before = await asyncio.to_thread(scrape, metrics.address)
        assert not [key for key in before if key[0].startswith("backscroll_context_stage")]
        await client.append(
            "room", [Message(f"m{n}", "ann", f"line {n}", NOON + n) for n in range(9)]
        )
        sums: dict[str, int] = {}
        for profile in ("balanced", "classic", "room"):
            built = await client.build_context("room", "and?", asker="ben", profile=profile)
            for stage, us in built.raw.diagnostics.stage_microseconds.items():
                sums[stage] = sums.get(stage, 0) + us
        told = await asyncio.to_thread(scrape, metrics.address)
        await asyncio.to_thread(metrics.close)
    stages = {key[1] for key in told if key[0] == "backscroll_context_stage_seconds_sum"}
    assert stages == set(sums) - {"parse", "encode"}  # these are of the edge
    for stage in stages - {"record"}:  # which ends behind the answer
        assert told["backscroll_context_stage_seconds_sum", stage] == pytest.approx(
            sums[stage] / 1e6
        )
        assert told["backscroll_context_stage_seconds_count", stage] == 3
    whole = sum(told["backscroll_context_stage_seconds_sum", stage] for stage in stages)
    assert whole == pytest.approx(told["backscroll_context_build_seconds_sum",], abs=1e-4)


@pytest.mark.row("P-16")
async def test_queues_are_told():
    """What waits for its commit, what was dropped, what waits for its vector: each goes up and down again."""
    embedder = FakeEmbedder()
    async with (
        running(embedder=embedder) as (server, app),
        AsyncClient(server.addresses[0]) as client,
    ):

        async def now(name):
            found = {one.name: one.value for one in await client.get_metrics(f"backscroll_{name}")}
            return found.popitem()[1]

        async def becomes(name, value):
            async with asyncio.timeout(ENOUGH_S):
                while await now(name) != value:  # noqa: ASYNC110 - what it waits for is the metric
                    await asyncio.sleep(0.01)

        assert await now("writer_queue_items") == 0
        apply, entered, go = app.store.apply, asyncio.Event(), asyncio.Event()

        async def slow(changes):
            entered.set()
            await go.wait()
            return await apply(changes)

        app.store.apply = slow
        first = asyncio.create_task(client.append("a", [Message("m", "ann", "one", NOON)]))
        await entered.wait()
        second = asyncio.create_task(
            client.append("b", [Message(f"m{n}", "ann", "two", NOON) for n in range(3)])
        )
        await becomes("writer_queue_items", 3)
        assert await now("writer_queue_bytes") > 3_000
        go.set()
        await asyncio.gather(first, second)
        await becomes("writer_queue_items", 0)
        assert await now("dropped_events") == 0
        app.writer.emit(ChannelKey("default", "a"), "c", [Event("e", "t", "turn", NOON)] * 30_000)
        assert await now("dropped_events") == 30_000

        await becomes("embedded_messages", 4)
        embedder.broken = failed(ModelFault.SERVER_ERROR)
        await client.append("c", [Message("m", "ann", "three", NOON)])
        assert await now("embedding_backlog_channels") == 1
        embedder.broken = None
        await becomes("embedding_backlog_channels", 0)
        assert await now("embedded_messages") == 5
        assert await now("refused_embeddings") == 0
