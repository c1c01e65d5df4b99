"""Pings, settings and floods of them."""

import asyncio
import contextlib
import socket
from collections.abc import Callable
from typing import Any

import pytest

from backscroll_sidecar.edge.http2 import frames
from backscroll_sidecar.edge.http2.frames import ACK, PING, SETTINGS, ErrorCode, frame, reset
from backscroll_sidecar.edge.status import Code, Refused
from tests.integration.edge.http2.peer import Peer, data, message
from tests.integration.edge.http2.serving import connected, gated, until
from tests.kit.endpoints import unary_unary


async def test_pings_are_answered_with_what_they_say(peer: Peer) -> None:
    for token in (bytes(8), b"abcdefgh", b"\xff" * 8):
        peer.send(frame(PING, 0, 0, token))
        await peer.until(lambda: (PING, ACK, 0, token) in peer.frames)  # noqa: B023
    peer.send(frame(PING, ACK, 0, b"no reply"))
    await peer.ping()
    assert (PING, ACK, 0, b"no reply") not in peer.frames


async def test_every_settings_frame_is_acknowledged_once(peer: Peer) -> None:
    for number in range(5):
        peer.set((frames.INITIAL_WINDOW_SIZE, 1_000 + number))
    peer.send(frame(SETTINGS, ACK, 0))
    await peer.ping()
    assert sum(one.kind == SETTINGS and bool(one.flags & ACK) for one in peer.frames) == 6


async def test_many_pings_of_a_client_that_reads_are_no_flood(peer: Peer) -> None:
    for _ in range(5):
        peer.send(*[frame(PING, 0, 0, bytes(8))] * 1_000)
        await peer.ping()
    assert await peer.is_well(1)


def pings(_: Peer, __: int) -> bytes:
    return frame(PING, 0, 0, bytes(8)) * 100


def many_settings(_: Peer, __: int) -> bytes:
    return frame(SETTINGS, 0, 0) * 100


def unknown_calls(peer: Peer, number: int) -> bytes:
    return peer.headers(2 * number + 1, "/t/Nothing", end=True)


def calls_without_a_message(peer: Peer, number: int) -> bytes:
    return peer.headers(2 * number + 1, "/t/Echo", end=True)


def calls_that_fail(peer: Peer, number: int) -> bytes:
    return peer.headers(2 * number + 1, "/t/Abort") + data(2 * number + 1, message(b""), end=True)


@pytest.mark.parametrize(
    "flood", [pings, many_settings, unknown_calls, calls_without_a_message, calls_that_fail]
)
async def test_a_client_that_floods_and_does_not_read_is_cut_off(
    flood: Callable[[Peer, int], bytes],
) -> None:
    """What it is owed must not pile up, and its connection must be gone though it reads nothing."""

    async def abort(_: bytes, context: Any) -> bytes:
        raise Refused(Code.NOT_FOUND, "x" * 400)

    most = 0
    async with connected(receive_bytes=4_096, Abort=unary_unary(abort)) as (served, peer):
        await until(lambda: served.server.seen, "it is connected")
        transport = served.connection._transport
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4_096)
        for number in range(40_000):
            peer.send(flood(peer, number))
            if number % 50 == 0:
                most = max(most, transport.get_write_buffer_size())
                if transport.is_closing() or peer._writer.is_closing():
                    break
                with contextlib.suppress(TimeoutError, ConnectionError):
                    async with asyncio.timeout(0.05):
                        await peer.drain()
                        continue
                break  # the server reads no more, which will do
        assert most < 4 * 2**20
        if transport.is_closing():
            await until(lambda: not served.server._connections, "it is gone")


async def test_calls_that_are_cancelled_at_once_leave_nothing() -> None:
    """Rapid reset."""
    async with gated() as (gate, served, peer):
        for stream_id in range(1, 4_001, 2):
            peer.call(stream_id, "/t/Wait")
            peer.send(reset(stream_id, ErrorCode.CANCEL))
        await peer.ping()
        assert not served.connection._streams
        await until(lambda: gate.started == gate.cancelled, "all are cancelled")
        assert await peer.is_well(4_001)
