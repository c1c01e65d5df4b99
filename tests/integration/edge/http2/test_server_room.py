"""What the server has room for: windows it grants, and what it holds."""

import tracemalloc
import zlib

import pytest

from backscroll_sidecar.edge.http2 import server as server_module
from backscroll_sidecar.edge.http2.frames import (
    DATA,
    LEAST_FRAME_BYTES,
    PADDED,
    ErrorCode,
    frame,
    reset,
)
from backscroll_sidecar.edge.http2.stream import STREAM_WINDOW_BYTES
from tests.integration.edge.http2.peer import MAX_BYTES, Peer, Status, data, in_frames, message
from tests.integration.edge.http2.serving import Gate, connected, gated, pattern, until
from tests.kit.endpoints import stream_unary


async def test_more_than_there_is_room_for_ends_the_connection() -> None:
    async with gated() as (gate, _, peer):
        peer.send(peer.headers(1, "/t/Late"))
        full = STREAM_WINDOW_BYTES // LEAST_FRAME_BYTES
        peer.send(*[data(1, message(bytes(LEAST_FRAME_BYTES - 5)))] * full)
        await peer.ping()
        for _ in range(full + 1):  # whatever was allowed meanwhile, this is more
            peer.send(data(1, message(bytes(LEAST_FRAME_BYTES - 5))))
        assert await peer.fault() is ErrorCode.FLOW_CONTROL_ERROR
        await until(lambda: gate.cancelled, "its handler is cancelled")


async def test_a_handler_that_does_not_read_stops_its_client_until_it_does() -> None:
    async with gated() as (gate, _, peer):
        peer.send(peer.headers(1, "/t/Late"))
        one = message(pattern(10_000))

        async def send_while_allowed(already: int, most: int) -> int:
            """Return how many messages are sent in all."""
            while already < most:
                room = STREAM_WINDOW_BYTES + peer.allowed.get(1, 0) - already * len(one)
                count = min(room // len(one), 20, most - already)
                if count <= 0:
                    break
                peer.send(data(1, one) * count)
                already += count
                await peer.ping()
            return already

        stuck = await send_while_allowed(0, 1_000)
        assert STREAM_WINDOW_BYTES // 2 <= stuck * len(one) <= 2 * STREAM_WINDOW_BYTES
        assert await send_while_allowed(stuck, 1_000) == stuck
        gate.open.set()
        sent = stuck
        while sent < 1_000:
            sent = await send_while_allowed(sent, 1_000)
            await peer.ping()
        peer.send(data(1, b"", end=True))
        (answer,) = (await peer.over()).messages
        assert answer == b"+".join([pattern(10_000)] * 1_000)


async def test_a_message_larger_than_the_window_is_taken(peer: Peer) -> None:
    body = pattern(MAX_BYTES - 100)  # more than one window
    for stream_id, path in ((1, "/t/Echo"), (3, "/t/Join")):
        peer.send(peer.headers(stream_id, path))
        raw = message(body)
        at = 0
        while at < len(raw):
            room = STREAM_WINDOW_BYTES + peer.allowed.get(stream_id, 0) - at
            piece = raw[at : at + min(room, LEAST_FRAME_BYTES)]
            at += len(piece)
            peer.send(data(stream_id, piece, end=at == len(raw)))
            if not piece or at % 2**18 < LEAST_FRAME_BYTES:
                await peer.ping()
        assert (await peer.over(stream_id)).messages == [body]


async def test_padding_uses_up_the_window_and_is_paid_back(peer: Peer) -> None:
    peer.send(peer.headers(1, "/t/Join"))
    for _ in range(3):
        peer.send(*[frame(DATA, PADDED, 1, b"\xff" + bytes(255))] * (STREAM_WINDOW_BYTES // 1024))
        await peer.ping()
    assert peer.allowed[1] >= STREAM_WINDOW_BYTES // 4
    peer.send(data(1, b"", end=True))
    assert (await peer.over()).messages == [b""]


async def test_packed_messages_that_nobody_reads_take_no_more_memory_than_a_few() -> None:
    """64 KB that unpack to 64 MB: what waits for a handler must be bounded as it is held, not as it came."""
    gate = Gate()
    bomb = message(zlib.compress(bytes(2**20), 9), 1)
    async with connected(Late=stream_unary(gate.stream)) as (_, peer):
        peer.send(peer.headers(1, "/t/Late", ("grpc-encoding", "deflate")))
        await until(lambda: gate.started, "the handler runs")
        tracemalloc.start()
        try:
            for _ in range(16):
                peer.send(data(1, bomb * 4))
                await peer.ping()
            held, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        peer.send(reset(1, ErrorCode.CANCEL))
        assert held < 2 * MAX_BYTES + 4 * 2**20


async def test_what_lies_unread_on_all_calls_together_is_bounded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(server_module, "MOST_HELD_BYTES", 100_000)
    async with gated() as (gate, _, peer):
        for stream_id in (1, 3):
            peer.send(peer.headers(stream_id, "/t/Late"))
            peer.send(in_frames(stream_id, message(bytes(60_000)), end=False))
        assert (await peer.over(3)).status is Status.RESOURCE_EXHAUSTED
        peer.send(peer.headers(5, "/t/Echo"), data(5, message(bytes(60_000))[:10_000]))
        await peer.ping()
        assert not peer.answer(5).is_over
        gate.open.set()
        peer.send(data(1, b"", end=True))
        assert (await peer.over(1)).messages == [bytes(60_000)]
        peer.send(in_frames(5, message(bytes(60_000))[10_000:], end=True))
        assert (await peer.over(5)).messages == [bytes(60_000)]
