"""How a server stops: GOAWAY, grace, the end."""

import asyncio
import contextlib
import socket
from typing import Any

import pytest

from backscroll_sidecar.edge.http2 import frames
from backscroll_sidecar.edge.http2 import server as server_module
from backscroll_sidecar.edge.http2.frames import ErrorCode, reset
from backscroll_sidecar.edge.http2.server import LocalServer
from tests.integration.edge.http2.peer import MAX_BYTES, Answer, Status, data, message
from tests.integration.edge.http2.serving import Served, connected, flow, gated, serving, until
from tests.integration.edge.http2.wire import hung_up, settle, wire_of
from tests.kit.endpoints import unary_stream, unary_unary
from tests.kit.patience import PATIENCE_S, patience


async def test_stopping_closes_idle_connections_with_a_farewell(served: Served) -> None:
    async with served.peer() as peer, served.peer() as other:
        assert await peer.is_well(3)
        await other.ping()
        await served.server.stop(PATIENCE_S)
        assert await peer.fault() is ErrorCode.NO_ERROR
        assert peer.farewell
        assert peer.farewell[0] == 3
        assert await other.fault() is ErrorCode.NO_ERROR
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", served.port)


async def test_stopping_lets_running_calls_end_and_takes_no_new_ones() -> None:
    async with gated() as (gate, served, peer):
        peer.call(1, "/t/Wait", b"answer")
        peer.send(peer.headers(3, "/t/Join"), data(3, message(b"a")))
        await until(lambda: gate.started and len(served.connection._streams) == 2, "both run")
        stopping = asyncio.create_task(served.server.stop(PATIENCE_S))
        await peer.until(lambda: peer.farewell)
        assert peer.farewell == (3, ErrorCode.NO_ERROR, b"")
        peer.call(5, "/t/Wait", b"too late")
        peer.send(reset(5, ErrorCode.CANCEL))
        peer.send(data(3, message(b"b"), end=True))
        assert (await peer.over(3)).messages == [b"a+b"]
        await peer.ping()
        assert not stopping.done()
        gate.open.set()
        assert (await peer.over(1)).messages == [b"answer"]
        assert await peer.next() is None
        await stopping
        assert gate.started == 1
        assert peer.answer(5) == Answer()


@pytest.mark.parametrize("grace_s", [None, 0.0, 0.05])
async def test_calls_that_outlive_the_grace_are_unavailable(grace_s: float | None) -> None:
    async with gated() as (gate, served, peer):
        peer.call(1, "/t/Wait")
        peer.send(peer.headers(3, "/t/Join"), peer.headers(5, "/t/Echo"))
        await until(lambda: gate.started and len(served.connection._streams) == 3, "they run")
        stopping = asyncio.create_task(served.server.stop(grace_s))
        for stream_id in (1, 3, 5):
            assert (await peer.over(stream_id)).status is Status.UNAVAILABLE
        while await peer.next() is not None:
            pass
        await stopping
        assert gate.cancelled == 1


@pytest.mark.parametrize("path", ["/t/Echo", "/t/Flow"])
async def test_an_answer_that_nobody_has_room_for_is_broken_off_with_a_word(path: str) -> None:
    """Its handler is done, or waits for room: UNAVAILABLE or a reset, not just a closed connection."""
    async with connected(gives_room=False, Flow=unary_stream(flow)) as (served, peer):
        peer.set((frames.INITIAL_WINDOW_SIZE, 4))
        peer.call(1, path, b"text")
        await peer.until(lambda: len(peer.answer(1).body) == 4)
        stopping = asyncio.create_task(served.server.stop(0.01))
        while await peer.next() is not None:
            pass
        await stopping
        assert peer.answer(1).is_over


async def test_a_handler_that_goes_on_though_cancelled_holds_up_no_stop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(server_module, "BREAK_OFF_S", 0.05)
    gate = asyncio.Event()

    async def deaf(request: bytes, _: Any) -> bytes:
        while not gate.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await gate.wait()
        return request

    async with connected(Deaf=unary_unary(deaf)) as (served, peer):
        peer.call(1, "/t/Deaf")
        await until(lambda: served.server.seen and served.connection._streams, "it runs")
        async with patience():
            await served.server.stop(0.0)
        assert not served.server._connections
        gate.set()


async def test_stopping_twice_and_at_once_is_stopping(served: Served) -> None:
    async with served.peer() as peer:
        await peer.ping()
        async with patience():
            await asyncio.gather(*(served.server.stop(0.0) for _ in range(3)))
            await served.server.stop(None)
            await served.server.wait_for_termination()


async def test_stopping_before_the_start_closes_the_sockets() -> None:
    server = LocalServer((), MAX_BYTES)
    bound = socket.create_server(("127.0.0.1", 0))
    server.add_socket(bound)
    async with patience():
        await server.stop(1.0)
        await server.wait_for_termination()
    assert bound.fileno() == -1


async def test_who_connects_while_the_server_stops_is_closed_too() -> None:
    """The connection is accepted, and made known only after `stop` has told all connections to leave."""
    before = asyncio.all_tasks()
    server = LocalServer((), MAX_BYTES)
    await server.stop(0.0)
    wire = wire_of(server)
    await settle(wire)
    assert wire.is_shut
    await hung_up(wire, before)


async def test_a_stop_is_not_held_up_by_a_client_that_does_not_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(server_module, "BREAK_OFF_S", 0.05)
    async with serving() as served, served.peer(receive_bytes=4_096, gives_room=False) as peer:
        peer.set((frames.INITIAL_WINDOW_SIZE, 2**30))
        peer.give_room(0, 2**30)
        peer.call(1, "/t/Big", b"8000000")
        await until(lambda: served.server.seen and served.connection._is_paused, "it is stuck")
        async with patience():
            await served.server.stop(0.0)
        assert not served.server._connections
