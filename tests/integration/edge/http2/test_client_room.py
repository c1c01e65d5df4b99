"""What the client has room for: answers wait for its windows."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import hpack
import pytest

from backscroll_sidecar.edge.http2 import frames
from backscroll_sidecar.edge.http2.frames import (
    DATA,
    DEFAULT_WINDOW_BYTES,
    END_HEADERS,
    END_STREAM,
    HEADERS,
    LEAST_FRAME_BYTES,
    MOST_WINDOW_BYTES,
    PREFACE,
    ErrorCode,
    frame,
    reset,
    window_update,
)
from tests.integration.edge.http2.peer import CALL, Peer, Status, data, message
from tests.integration.edge.http2.serving import Served, connected, pattern
from tests.integration.edge.http2.wire import hung_up, said, settle, wired
from tests.kit.endpoints import unary_stream


async def test_an_answer_goes_through_a_window_of_one_byte() -> None:
    before = asyncio.all_tasks()
    wire = wired()
    encoder = hpack.Encoder()
    fields = [(name, "/t/Big" if name == ":path" else value) for name, value in CALL]
    take = wire.connection.data_received
    take(PREFACE + frames.settings((frames.INITIAL_WINDOW_SIZE, 1)) + window_update(0, 2**20))
    take(frame(HEADERS, END_HEADERS, 1, bytes(encoder.encode(fields))))
    take(data(1, message(b"200000"), end=True))
    await settle(wire)
    one, begun = window_update(1, 1), len(wire.sent)
    for _ in range(400):
        take(one * 25)
    pieces = [found for found in wire.frames() if found.kind == DATA]
    assert len(wire.sent) - begun == 10_000 * 10
    assert {len(found.body) for found in pieces} == {1}
    while not wire.frames()[-1].flags & END_STREAM:
        take(window_update(1, 777) * 40)
    assert said(wire) == {1: [pattern(200_000)]}
    await hung_up(wire, before)


async def test_an_answer_larger_than_every_window_arrives_whole(peer: Peer) -> None:
    assert (await peer.ask(1, "/t/Big", b"1000000")).messages == [pattern(1_000_000)]


async def test_windows_of_answers_under_way_go_up_and_down_and_below_zero(served: Served) -> None:
    async with served.peer(gives_room=False) as peer:
        peer.give_room(0, 10**6)
        peer.set((frames.INITIAL_WINDOW_SIZE, 1_000))
        peer.call(1, "/t/Big", b"9000")
        await peer.until(lambda: len(peer.answer(1).body) == 1_000)
        peer.set((frames.INITIAL_WINDOW_SIZE, 3_000))
        await peer.until(lambda: len(peer.answer(1).body) == 3_000)
        peer.set((frames.INITIAL_WINDOW_SIZE, 0))
        await peer.ping()
        assert peer.windows[1] == -3_000
        peer.give_room(1, 2_500)
        await peer.ping()
        assert len(peer.answer(1).body) == 3_000
        peer.give_room(1, 501)
        await peer.until(lambda: len(peer.answer(1).body) == 3_001)
        peer.set((frames.INITIAL_WINDOW_SIZE, 5_000), (frames.INITIAL_WINDOW_SIZE, 4_000))
        peer.call(3, "/t/Big", b"3995")  # of a stream that begins now
        await peer.until(lambda: len(peer.answer(1).body) == 7_001)
        assert (await peer.over(3)).messages == [pattern(3_995)]
        peer.give_room(1, 10_000)
        assert (await peer.over()).messages == [pattern(9_000)]


async def test_a_window_of_nothing_holds_back_messages_only(served: Served) -> None:
    async with served.peer(gives_room=False) as peer:
        peer.set((frames.INITIAL_WINDOW_SIZE, 0))
        peer.call(1, "/t/Echo", b"x")
        assert (await peer.ask(3, "/t/Nothing")).status is Status.UNIMPLEMENTED
        peer.give_room(1, 6)
        assert (await peer.over(1)).messages == [b"x"]


async def test_frames_are_as_long_as_the_client_takes_them(served: Served) -> None:
    async with served.peer(gives_room=False) as peer:
        peer.give_room(0, 10**7)
        peer.set((frames.INITIAL_WINDOW_SIZE, 10**7), (frames.MAX_FRAME_SIZE, 100_000))
        await peer.ask(1, "/t/Big", b"250000")
        assert max(len(one.body) for one in peer.frames) == 100_000
        peer.set((frames.MAX_FRAME_SIZE, LEAST_FRAME_BYTES))
        assert (await peer.ask(3, "/t/Big", b"250000")).messages == [pattern(250_000)]
        peer.set((frames.MAX_FRAME_SIZE, 2**24 - 1))
        assert (await peer.ask(5, "/t/Big", b"250000")).messages == [pattern(250_000)]


@pytest.mark.parametrize("value", [0, LEAST_FRAME_BYTES - 1, 2**24, 2**32 - 1])
async def test_a_frame_size_that_cannot_be_ends_the_connection(peer: Peer, value: int) -> None:
    peer.send(frames.settings((frames.MAX_FRAME_SIZE, value)))
    assert await peer.fault() is ErrorCode.PROTOCOL_ERROR


async def test_streams_share_the_window_of_the_connection_and_none_starves(served: Served) -> None:
    async with served.peer(gives_room=False) as peer:
        peer.set((frames.INITIAL_WINDOW_SIZE, 10**6))
        ids = range(1, 13, 2)
        for stream_id in ids:
            peer.call(stream_id, "/t/Big", b"60000")
        while not all(peer.answer(one).is_over for one in ids):
            if peer.window:
                await peer.next()
            else:
                peer.give_room(0, 7_001)
        assert all(peer.answer(one).messages == [pattern(60_000)] for one in ids)


async def test_a_stream_without_an_end_leaves_room_for_others() -> None:
    async def endless(_: bytes, __: Any) -> AsyncIterator[bytes]:
        while True:
            yield bytes(50_000)

    async with connected(gives_room=False, Endless=unary_stream(endless)) as (_, peer):
        peer.set((frames.INITIAL_WINDOW_SIZE, 2**30))
        peer.call(1, "/t/Endless")
        await peer.until(lambda: peer.window == 0)
        peer.call(3, "/t/Big", b"70000")
        for _ in range(60):
            peer.give_room(0, 5_000)
            await peer.until(lambda: peer.window == 0 or peer.answer(3).is_over)
        assert peer.answer(3).messages == [pattern(70_000)]
        peer.send(reset(1, ErrorCode.CANCEL))


async def test_a_stream_that_is_cancelled_gives_its_place_to_others(served: Served) -> None:
    async with served.peer(gives_room=False) as peer:
        peer.set((frames.INITIAL_WINDOW_SIZE, 10**6))
        peer.call(1, "/t/Big", b"100000")
        await peer.until(lambda: peer.window == 0)
        peer.call(3, "/t/Echo", b"x")
        peer.send(reset(1, ErrorCode.CANCEL))
        await peer.ping()
        peer.give_room(0, 6)
        assert (await peer.over(3)).messages == [b"x"]


@pytest.mark.parametrize("stream_id", [0, 1])
async def test_room_for_nothing_is_an_error(peer: Peer, stream_id: int) -> None:
    peer.send(peer.headers(1, "/t/Join"), window_update(stream_id, 0))
    assert await peer.verdict() == ErrorCode.PROTOCOL_ERROR


@pytest.mark.parametrize("stream_id", [0, 1])
async def test_too_wide_a_window_is_an_error(peer: Peer, stream_id: int) -> None:
    most = MOST_WINDOW_BYTES - DEFAULT_WINDOW_BYTES
    peer.send(peer.headers(1, "/t/Join"), window_update(stream_id, most))
    await peer.ping()
    peer.send(window_update(stream_id, 1))
    assert await peer.verdict() == ErrorCode.FLOW_CONTROL_ERROR


async def test_settings_of_too_wide_a_window_are_an_error(peer: Peer) -> None:
    peer.send(frames.settings((frames.INITIAL_WINDOW_SIZE, 2**31)))
    assert await peer.fault() is ErrorCode.FLOW_CONTROL_ERROR


async def test_settings_that_make_a_window_too_wide_are_an_error(peer: Peer) -> None:
    """RFC 9113, section 6.9.2."""
    peer.send(peer.headers(1, "/t/Join"), window_update(1, 2**30))
    peer.set((frames.INITIAL_WINDOW_SIZE, 2**31 - 1))
    await peer.until(lambda: peer.farewell)
    assert peer.farewell[1] is ErrorCode.FLOW_CONTROL_ERROR


async def test_a_client_that_may_remember_no_headers_is_told_that_none_are(peer: Peer) -> None:
    """RFC 7541, section 4.2: an encoder whose table is made smaller says so in its next block."""
    peer.set((1, 0))
    assert (await peer.ask(1)).messages == [b"x"]
    assert (await peer.ask(3, "/t/Nothing")).status is Status.UNIMPLEMENTED
