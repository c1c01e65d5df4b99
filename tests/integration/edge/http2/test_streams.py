"""Streams and their numbers."""

import hpack
import pytest

from backscroll_sidecar.edge.http2 import connection as connection_module
from backscroll_sidecar.edge.http2 import frames
from backscroll_sidecar.edge.http2.connection import CONNECTION_WINDOW_BYTES
from backscroll_sidecar.edge.http2.frames import (
    ACK,
    DATA,
    DEFAULT_WINDOW_BYTES,
    END_HEADERS,
    END_STREAM,
    HEADERS,
    LEAST_FRAME_BYTES,
    PING,
    RST_STREAM,
    WINDOW_UPDATE,
    ErrorCode,
    frame,
    reset,
    window_update,
)
from tests.integration.edge.http2.peer import Peer, Status, data, message
from tests.integration.edge.http2.serving import gated


@pytest.mark.parametrize("stream_id", [5, 2, 4])
@pytest.mark.parametrize("kind", [DATA, RST_STREAM, WINDOW_UPDATE])
async def test_frames_on_a_stream_that_never_was_end_the_connection(
    peer: Peer, stream_id: int, kind: int
) -> None:
    assert await peer.is_well(3)
    peer.send(frame(kind, 0, stream_id, b"\0\0\0\x08"))
    assert await peer.fault() is ErrorCode.PROTOCOL_ERROR


async def test_frames_on_a_stream_that_is_over_are_passed_over(peer: Peer) -> None:
    """They may have been sent before the client knew."""
    assert (await peer.ask(1, "/t/None")).status is Status.UNIMPLEMENTED
    for stream_id in (3, 5):
        peer.send(peer.headers(stream_id, "/t/Join"), reset(stream_id, ErrorCode.CANCEL))
    for stream_id in (1, 3, 5):
        peer.send(data(stream_id, bytes(100)), window_update(stream_id, 5))
        peer.send(reset(stream_id, ErrorCode.CANCEL), data(stream_id, b"", end=True))
    assert await peer.is_well(7)


async def test_what_is_sent_to_streams_that_are_over_counts_for_the_connection(peer: Peer) -> None:
    """Else the window of the connection would leak away."""
    peer.send(peer.headers(1, "/t/Join"), reset(1, ErrorCode.CANCEL))
    sent = 0
    await peer.ping()
    while sent <= CONNECTION_WINDOW_BYTES // 2 + 2**20:
        raw = data(1, bytes(LEAST_FRAME_BYTES)) * 64
        peer.send(raw)
        await peer.drain()
        sent += LEAST_FRAME_BYTES * 64
    await peer.ping()
    assert DEFAULT_WINDOW_BYTES + peer.allowed[0] - sent >= CONNECTION_WINDOW_BYTES // 2


@pytest.mark.parametrize("stream_id", [1, 3, 5])
async def test_a_call_on_a_number_that_was_passed_ends_the_connection(
    peer: Peer, stream_id: int
) -> None:
    """RFC 9113, section 5.1.1; else its client would wait for ever."""
    assert await peer.is_well(5)
    peer.call(stream_id, "/t/Echo", b"x")
    assert await peer.fault() in {ErrorCode.PROTOCOL_ERROR, ErrorCode.STREAM_CLOSED}


async def test_numbers_may_be_left_out(peer: Peer) -> None:
    for stream_id in (1, 7, 1_001, 2**31 - 1):
        assert await peer.is_well(stream_id)


async def test_trailers_of_a_client_end_its_requests(peer: Peer) -> None:
    peer.send(peer.headers(1, "/t/Join"), data(1, message(b"a") + message(b"b")))
    peer.send(
        frame(HEADERS, END_HEADERS | END_STREAM, 1, bytes(hpack.Encoder().encode([("k", "v")])))
    )
    assert (await peer.over()).messages == [b"a+b"]


async def test_headers_again_that_end_nothing_are_an_error(peer: Peer) -> None:
    peer.send(peer.headers(1, "/t/Join"), peer.headers(1, "/t/Join"))
    assert await peer.verdict() == ErrorCode.PROTOCOL_ERROR


async def test_what_comes_behind_the_end_of_a_stream_is_not_taken() -> None:
    """RFC 9113, section 5.1, half-closed (remote): an error of the stream or of the connection, STREAM_CLOSED."""
    async with gated() as (gate, _, peer):
        peer.send(peer.headers(1, "/t/Late"), data(1, message(b"a"), end=True))
        peer.send(data(1, message(b"behind the end")), frame(PING, 0, 0, bytes(8)))
        pong = (PING, ACK, 0, bytes(8))
        await peer.until(
            lambda: peer.answer(1).is_over or peer.farewell or peer.frames[-1:] == [pong]
        )
        gate.open.set()
        found = peer.farewell[1] if peer.farewell else peer.answer(1).reset
        assert found == ErrorCode.STREAM_CLOSED


async def test_more_streams_than_are_allowed_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_module, "MOST_STREAMS", 3)
    async with gated() as (gate, _, peer):
        for stream_id in (1, 3, 5, 7, 9):
            peer.call(stream_id, "/t/Wait", b"%d" % stream_id)
        assert (await peer.over(7)).reset == ErrorCode.REFUSED_STREAM
        assert (await peer.over(9)).reset == ErrorCode.REFUSED_STREAM
        assert peer.settings[frames.MAX_CONCURRENT_STREAMS] == 3
        assert gate.started == 3
        gate.open.set()
        for stream_id in (1, 3, 5):
            assert (await peer.over(stream_id)).messages == [b"%d" % stream_id]
        assert await peer.is_well(11)
