"""Two edges, one contract: deadlines, and callers who leave."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from grpc_health.v1 import health_pb2

from backscroll.v1 import history_pb2 as hpb
from backscroll_sidecar.edge.listeners import EdgeName
from tests.integration.edge.conftest import EdgeApp
from tests.integration.edge.edges.callers import (
    CLIENTS,
    QUESTION,
    SERVING,
    Client,
    Shape,
    Status,
    batch,
)
from tests.integration.edge.edges.conftest import Both
from tests.integration.edge.edges.servers import Slow, edge_of, until

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_a_deadline_that_passes_is_told_and_counted(
    app: EdgeApp, tmp_path: Path, edge: EdgeName, transport: str, kind: str
) -> None:
    slow = Slow()
    async with (
        edge_of(edge, EdgeApp(app.history, slow, chat=app.chat), tmp_path) as served,
        served.client(CLIENTS[kind], transport) as client,
    ):
        await client.call("Check", health_pb2.HealthCheckRequest())  # so that it is connected
        found = await client.call("BuildContext", QUESTION, timeout=1.0)
        assert (found.code, found.details) == (Status.DEADLINE_EXCEEDED, "Deadline Exceeded")
        await until(lambda: served.records)
        assert (slow.started, slow.cancelled) == (1, 1)
        assert [one.code for one in served.records] == ["DEADLINE_EXCEEDED"]
        assert served.running.missed_deadlines == {"BuildContext": 1}


async def test_a_deadline_far_away_changes_nothing(client: Client) -> None:
    """Headers have eight digits for it."""
    for timeout in (1e2, 1e5, 1e8):
        found = await client.call("Check", health_pb2.HealthCheckRequest(), timeout=timeout)
        assert found.answer.status == SERVING


async def test_a_caller_who_leaves_cancels_the_handler(
    app: EdgeApp, tmp_path: Path, edge: EdgeName, transport: str, kind: str
) -> None:
    slow = Slow()
    async with (
        edge_of(edge, EdgeApp(app.history, slow, chat=app.chat), tmp_path) as served,
        served.client(CLIENTS[kind], transport) as client,
    ):
        stub: Any = Shape.of("BuildContext").on(client.channel)  # type: ignore[attr-defined]
        call = stub.future(QUESTION) if kind == "sync" else stub(QUESTION)
        waiting = None if kind == "sync" else asyncio.ensure_future(call.code())
        await until(lambda: slow.running)
        assert call.cancel()
        assert (await waiting if waiting else call.code()) is Status.CANCELLED
        await until(lambda: served.records)
        assert (slow.running, slow.cancelled) == (0, 1)
        (record,) = served.records
        assert (record.code, record.reason, record.incident) == ("CANCELLED", "", "")
        assert not served.running.missed_deadlines


async def test_a_caller_who_hangs_up_cancels_the_handler(
    app: EdgeApp, tmp_path: Path, edge: EdgeName, transport: str, kind: str
) -> None:
    slow = Slow()
    async with edge_of(edge, EdgeApp(app.history, slow, chat=app.chat), tmp_path) as served:
        async with served.client(CLIENTS[kind], transport) as client:
            calls = [asyncio.ensure_future(client.call("BuildContext", QUESTION)) for _ in range(3)]
            await until(lambda: slow.running == 3)
        await until(lambda: len(served.records) == 3)
        assert slow.cancelled == 3
        assert {one.code for one in served.records} == {"CANCELLED"}
        await asyncio.gather(*calls, return_exceptions=True)


async def test_a_stream_that_is_left_ends(both: Both, client: Client, edge: EdgeName) -> None:
    """An export of which only the first run is read."""
    await client.call("ImportMessages", *[batch("ample", 50, 60_000, 50 * i) for i in range(6)])
    before = len(both[edge].records)
    export = hpb.ExportMessagesRequest(channel="ample")
    found = await client.call("ExportMessages", export, most=1)
    assert len(found.answers) == 1
    await until(lambda: len(both[edge].records) > before)
    assert both[edge].records[-1].code == "CANCELLED"
