"""How a call ends before it is answered: cancelled, late, left."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import hpack
import pytest

from backscroll_sidecar.edge.http2 import frames
from backscroll_sidecar.edge.http2.frames import (
    END_HEADERS,
    END_STREAM,
    HEADERS,
    PUSH_PROMISE,
    RST_STREAM,
    ErrorCode,
    frame,
    reset,
)
from tests.integration.edge.http2.peer import CALL, HELLO, Answer, Peer, Status, data, message
from tests.integration.edge.http2.serving import Gate, connected, flow, gated, serving, until
from tests.integration.edge.http2.wire import hung_up, settle, wired
from tests.kit.endpoints import stream_unary, unary_stream, unary_unary


@pytest.mark.parametrize("path", ["/t/Wait", "/t/Late"])
async def test_a_client_that_cancels_cancels_the_handler(path: str) -> None:
    async with gated() as (gate, served, peer):
        peer.send(peer.headers(1, path), data(1, message(b"x")))
        await until(lambda: gate.started, "it runs")
        peer.send(reset(1, ErrorCode.CANCEL))
        await until(lambda: gate.cancelled, "it is cancelled")
        assert served.connection._streams == {}
        assert await peer.is_well(3)
        assert peer.answer(1) == Answer()


async def test_a_handler_that_waits_for_requests_or_for_room_is_cancelled_too() -> None:
    ends: list[str] = []

    async def hearing(requests: AsyncIterator[bytes], _: Any) -> bytes:
        try:
            return b"".join([one async for one in requests])
        finally:
            ends.append("hearing")

    async def saying(_: bytes, __: Any) -> AsyncIterator[bytes]:
        try:
            while True:
                yield bytes(10_000)
        finally:
            ends.append("saying")

    async with connected(
        gives_room=False, Hear=stream_unary(hearing), Say=unary_stream(saying)
    ) as (_, peer):
        peer.send(peer.headers(1, "/t/Hear"))
        peer.call(3, "/t/Say")
        await peer.until(lambda: peer.window == 0)
        await peer.ping()
        peer.send(reset(3, ErrorCode.CANCEL), reset(1, ErrorCode.CANCEL))
        await until(lambda: sorted(ends) == ["hearing", "saying"], "both are cancelled")


async def test_a_connection_that_is_lost_cancels_its_handlers() -> None:
    gate = Gate()
    async with serving(
        Wait=unary_unary(gate.unary),
        Late=stream_unary(gate.stream),
    ) as served:
        async with served.peer() as peer:
            for stream_id in (1, 3):
                peer.call(stream_id, "/t/Wait")
            peer.send(peer.headers(5, "/t/Late"), peer.headers(7, "/t/Echo"))
            await until(lambda: gate.started == 3, "they run")
        await until(lambda: gate.cancelled == 3, "they are cancelled")
        await until(served.server.is_clean, "no stream is left")


async def test_a_fault_of_the_connection_cancels_its_handlers() -> None:
    async with gated() as (gate, _, peer):
        peer.call(1, "/t/Wait")
        await until(lambda: gate.started, "it runs")
        peer.send(frame(PUSH_PROMISE, 0, 1, bytes(4)))
        assert await peer.fault() is ErrorCode.PROTOCOL_ERROR
        await until(lambda: gate.cancelled, "it is cancelled")


@pytest.mark.parametrize("deadline", ["20m", "20000u", "20000000n", "1n", "0n", "0S"])
async def test_a_deadline_ends_the_call(deadline: str) -> None:
    async with gated() as (gate, served, peer):
        answer = await peer.ask(1, "/t/Wait", b"x", ("grpc-timeout", deadline))
        assert answer.reset == ErrorCode.CANCEL or answer.status is Status.DEADLINE_EXCEEDED
        assert gate.started == gate.cancelled
        assert served.connection._streams == {}


@pytest.mark.parametrize("deadline", ["1H", "1M", "20S", "99999999H", "99999999S"])
async def test_a_deadline_far_away_ends_nothing(deadline: str) -> None:
    left: list[float] = []

    async def ask(request: bytes, context: Any) -> bytes:
        left.append(context.time_left_s)
        return request

    async with connected(Left=unary_unary(ask)) as (_, peer):
        answer = await peer.ask(1, "/t/Left", b"x", ("grpc-timeout", deadline))
        assert answer.messages == [b"x"]
        assert left[0] > 15


async def test_without_a_deadline_none_is_told() -> None:
    left: list[float | None] = []

    async def ask(request: bytes, context: Any) -> bytes:
        left.append(context.time_left_s)
        return request

    async with connected(Left=unary_unary(ask)) as (_, peer):
        await peer.ask(1, "/t/Left", b"x")
        assert left == [None]


async def test_a_malformed_deadline_fails_its_call_alone(peer: Peer) -> None:
    for number, value in enumerate(("", "1", "S", "1x", "-1S", "123456789S")):
        answer = await peer.ask(2 * number + 1, "/t/Echo", b"x", ("grpc-timeout", value))
        assert answer.status is Status.INTERNAL
    assert await peer.is_well(99)


async def test_a_deadline_ends_a_call_whose_request_never_comes(peer: Peer) -> None:
    for stream_id, path in ((1, "/t/Echo"), (3, "/t/Join")):
        peer.send(peer.headers(stream_id, path, ("grpc-timeout", "10m")))
        answer = await peer.over(stream_id)
        assert answer.reset == ErrorCode.CANCEL or answer.status is Status.DEADLINE_EXCEEDED


@pytest.mark.parametrize("path", ["/t/Big", "/t/Split"])
async def test_a_deadline_ends_a_call_whose_answer_nobody_has_room_for(path: str) -> None:
    """Its handler may long be done; the answer is held for nobody."""
    async with serving() as served, served.peer(gives_room=False) as peer:
        peer.set((frames.INITIAL_WINDOW_SIZE, 4))
        peer.call(1, path, b"1000 2000" if path == "/t/Split" else b"1000", ("grpc-timeout", "30m"))
        await peer.until(lambda: len(peer.answer(1).body) == 4)
        answer = await peer.over()
        assert answer.reset == ErrorCode.CANCEL or answer.status is Status.DEADLINE_EXCEEDED
        assert served.connection._streams == {}


async def test_a_deadline_ends_a_call_whose_handler_waits_for_room() -> None:
    async with connected(gives_room=False, Flow=unary_stream(flow)) as (served, peer):
        peer.set((frames.INITIAL_WINDOW_SIZE, 4))
        peer.call(1, "/t/Flow", b"", ("grpc-timeout", "30m"))
        await peer.until(lambda: len(peer.answer(1).body) == 4)
        answer = await peer.over()
        assert answer.reset == ErrorCode.CANCEL or answer.status is Status.DEADLINE_EXCEEDED
        assert served.connection._streams == {}


async def test_a_deadline_that_passes_before_the_handler_runs_ends_the_call() -> None:
    """The request has just come, its handler is to run next, and now the time is over."""
    before = asyncio.all_tasks()
    wire = wired()
    encoder = hpack.Encoder()
    wire.connection.data_received(HELLO)
    block = bytes(encoder.encode([*CALL, ("grpc-timeout", "1S")]))
    wire.connection.data_received(
        frame(HEADERS, END_HEADERS, 1, block) + data(1, message(b"x"), end=True)
    )
    stream = wire.connection._streams[1]
    stream._too_late()
    await settle(wire)
    assert wire.connection._streams == {}
    ends = [one for one in wire.frames() if one.kind == RST_STREAM or one.flags & END_STREAM]
    assert any(one.stream_id == 1 for one in ends)
    await hung_up(wire, before)
