"""Two edges, one contract: servers that begin, begin again and stop."""

import asyncio
import socket
from pathlib import Path
from typing import Any

import pytest
from grpc_health.v1 import health_pb2

from backscroll_sidecar.edge.listeners import EdgeName
from tests.integration.edge.conftest import EdgeApp
from tests.integration.edge.edges.callers import (
    CLIENTS,
    NOT_SERVING,
    QUESTION,
    RECONNECT,
    SERVING,
    Status,
)
from tests.integration.edge.edges.servers import Slow, edge_of, until
from tests.kit.patience import PATIENCE_S, patience

pytestmark = pytest.mark.asyncio(loop_scope="module")


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def target_of(transport: str, folder: Path) -> str:
    return f"127.0.0.1:{free_port()}" if transport == "tcp" else f"unix:{folder}/later.sock"


async def test_a_call_may_wait_until_there_is_a_server(
    app: EdgeApp, tmp_path: Path, edge: EdgeName, transport: str, kind: str
) -> None:
    target = target_of(transport, tmp_path)
    client = CLIENTS[kind](target, *RECONNECT)
    try:
        check = health_pb2.HealthCheckRequest()
        assert (await client.call("Check", check)).code is Status.UNAVAILABLE
        options: dict[str, Any] = {"wait_for_ready": True, "timeout": PATIENCE_S}
        waiting = asyncio.ensure_future(client.call("Check", check, **options))
        await asyncio.sleep(0.03)
        assert not waiting.done()
        async with edge_of(edge, app, tmp_path, listen=[target]):
            assert (await waiting).answer.status in {SERVING, NOT_SERVING}
            assert (await client.call("BuildContext", QUESTION, **options)).code is Status.OK
    finally:
        await client.close()


async def test_a_server_that_starts_again_takes_the_place_of_the_last(
    app: EdgeApp, tmp_path: Path, edge: EdgeName, kind: str
) -> None:
    """The same port and the same path; a client of the last one finds its way by itself."""
    async with edge_of(edge, app, tmp_path) as first:
        listen = list(first.running.addresses)
        made = [CLIENTS[kind](target, *RECONNECT) for target in listen]
        for client in made:
            assert (await client.call("BuildContext", QUESTION)).code is Status.OK
    other: EdgeName = "grpc" if edge == "auto" else "auto"
    for name in (edge, other):
        async with edge_of(name, app, tmp_path, listen=listen) as again:
            assert list(again.running.addresses) == listen
            for client in made:
                options: dict[str, Any] = {"wait_for_ready": True, "timeout": PATIENCE_S}
                assert (await client.call("BuildContext", QUESTION, **options)).code is Status.OK
    for client in made:
        await client.close()


async def test_a_stop_lets_running_calls_end_and_takes_no_new_ones(
    app: EdgeApp, tmp_path: Path, edge: EdgeName, transport: str, kind: str
) -> None:
    slow = Slow()
    async with (
        edge_of(edge, EdgeApp(app.history, slow, chat=app.chat), tmp_path) as served,
        served.client(CLIENTS[kind], transport) as client,
        served.client(CLIENTS[kind], transport) as fresh,
    ):
        ending = asyncio.ensure_future(client.call("BuildContext", QUESTION))
        await until(lambda: slow.running)
        stopping = asyncio.ensure_future(served.running.stop(PATIENCE_S))
        check, codes = health_pb2.HealthCheckRequest(), {Status.OK}
        async with patience():
            while codes != {Status.UNAVAILABLE}:  # asked again where one is left without an answer
                codes = {
                    (await one.call("Check", check, timeout=2.0)).code for one in (client, fresh)
                }
        assert (await client.call("BuildContext", QUESTION)).code is Status.UNAVAILABLE
        assert not stopping.done()
        slow.go.set()
        assert (await ending).details == "it ended well"
        await asyncio.wait_for(stopping, PATIENCE_S)
        await asyncio.wait_for(served.running.wait(), PATIENCE_S)
        assert (slow.started, slow.cancelled) == (1, 0)


async def test_a_stop_breaks_off_what_does_not_end(
    app: EdgeApp, tmp_path: Path, edge: EdgeName, transport: str, kind: str
) -> None:
    """Once the grace is over: a call, and one who watches, who hears before that it ends."""
    slow = Slow()
    async with (
        edge_of(edge, EdgeApp(app.history, slow, chat=app.chat), tmp_path) as served,
        served.client(CLIENTS[kind], transport) as client,
    ):
        watch = asyncio.ensure_future(client.call("Watch", health_pb2.HealthCheckRequest()))
        long = asyncio.ensure_future(client.call("BuildContext", QUESTION))
        await until(lambda: slow.running)
        await asyncio.wait_for(served.running.stop(0.05), PATIENCE_S)
        assert (await long).code is Status.UNAVAILABLE
        heard = await watch
        assert heard.code is Status.UNAVAILABLE
        assert [one.status for one in heard.answers] in ([SERVING, NOT_SERVING], [NOT_SERVING])
        await until(lambda: slow.cancelled)
        assert [one.code for one in served.records] == ["CANCELLED"]
        await served.running.stop(0)


async def test_a_stop_leaves_no_socket_behind(app: EdgeApp, tmp_path: Path, edge: EdgeName) -> None:
    async with edge_of(edge, app, tmp_path) as served:
        port = int(served.target("tcp").rpartition(":")[2])
        path = Path(served.target("unix").removeprefix("unix:"))
        assert path.exists()  # noqa: ASYNC240
    assert not path.exists()  # noqa: ASYNC240
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))
