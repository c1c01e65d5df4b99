"""Frames, whole and in pieces, and what breaks the rules of RFC 9113."""

import asyncio
import itertools
import random

import pytest

from backscroll_sidecar.edge.http2.frames import (
    ACK,
    CONTINUATION,
    DATA,
    END_HEADERS,
    END_STREAM,
    GOAWAY,
    HAS_PRIORITY,
    HEADERS,
    LEAST_FRAME_BYTES,
    PADDED,
    PING,
    PRIORITY,
    PUSH_PROMISE,
    RST_STREAM,
    SETTINGS,
    WINDOW_UPDATE,
    ErrorCode,
    frame,
    reset,
    window_update,
)
from tests.integration.edge.http2.peer import GOOD, Peer, data, message
from tests.integration.edge.http2.serving import Served, pattern
from tests.integration.edge.http2.wire import hung_up, said, settle, wired

ANSWERS = {
    1: [b"one"], 3: [b"A", b"B"], 5: [b"some", b"words"], 7: [b"seven"], 11: [], 13: [bytes(100)],
}  # fmt: skip


@pytest.mark.parametrize("seed", range(11))
async def test_frames_may_be_cut_anywhere(seed: int) -> None:
    chance = random.Random(seed)
    before = asyncio.all_tasks()
    wire = wired()
    cuts = sorted(chance.sample(range(len(GOOD)), chance.choice([0, 1, 3, 20])))
    if seed == 10:
        cuts = range(1, len(GOOD))
    for start, end in itertools.pairwise([0, *cuts, len(GOOD)]):
        wire.connection.data_received(GOOD[start:end])
        await asyncio.sleep(0)
    await settle(wire)
    assert said(wire) == ANSWERS
    await hung_up(wire, before)


@pytest.mark.parametrize("padding", [0, 1, 255])
async def test_padding_and_priority_are_passed_over(peer: Peer, padding: int) -> None:
    flags = PADDED | HAS_PRIORITY | END_HEADERS
    block = bytes((padding,)) + bytes(5) + peer.block() + bytes(padding)
    body = bytes((padding,)) + message(b"in the middle") + bytes(padding)
    peer.send(frame(HEADERS, flags, 1, block), frame(DATA, PADDED | END_STREAM, 1, body))
    answer = await peer.over()
    assert answer.messages == [b"in the middle"]
    peer.send(frame(HEADERS, HAS_PRIORITY | END_HEADERS, 3, bytes(5) + peer.block()))
    peer.send(data(3, message(b""), end=True))
    assert (await peer.over(3)).messages == [b""]


async def test_padding_alone_is_no_content(peer: Peer) -> None:
    peer.send(peer.headers(1), data(1, message(b"ab")[:6]))
    peer.send(*[frame(DATA, PADDED, 1, b"\xff" + bytes(255))] * 3)
    peer.send(data(1, b"b", end=True))
    assert (await peer.over()).messages == [b"ab"]


@pytest.mark.parametrize("body", [b"", b"\x01", b"\x05abcd", b"\xff" + bytes(254)])
async def test_more_padding_than_frame_ends_the_connection(served: Served, body: bytes) -> None:
    async with served.peer() as peer:
        peer.send(peer.headers(1), frame(DATA, PADDED, 1, body))
        assert await peer.fault() in {ErrorCode.PROTOCOL_ERROR, ErrorCode.FRAME_SIZE_ERROR}
    async with served.peer() as peer:
        peer.send(frame(HEADERS, PADDED | END_HEADERS, 1, body))
        assert await peer.fault() in {ErrorCode.PROTOCOL_ERROR, ErrorCode.FRAME_SIZE_ERROR}


async def test_headers_may_be_cut_anywhere(peer: Peer) -> None:
    for number, cut in enumerate((0, 1, 2, 10, 30)):
        stream_id = 2 * number + 1
        block = peer.block("/t/Echo", ("cut", str(cut)))
        peer.send(frame(HEADERS, 0, stream_id, block[:cut]))
        for at in range(cut, len(block) - 1):
            peer.send(frame(CONTINUATION, 0, stream_id, block[at : at + 1]))
        peer.send(frame(CONTINUATION, END_HEADERS, stream_id, block[max(cut, len(block) - 1) :]))
        peer.send(data(stream_id, message(b"x"), end=True))
        assert (await peer.over(stream_id)).messages == [b"x"]


async def test_headers_may_end_with_an_empty_frame(peer: Peer) -> None:
    peer.send(frame(HEADERS, 0, 1, peer.block()), frame(CONTINUATION, END_HEADERS, 1))
    peer.send(data(1, message(b"x"), end=True))
    assert (await peer.over()).messages == [b"x"]


async def test_the_end_of_the_stream_is_said_by_the_first_frame_of_headers(peer: Peer) -> None:
    block = peer.block("/t/Join")
    peer.send(frame(HEADERS, END_STREAM, 1, block[:9]))
    peer.send(frame(CONTINUATION, END_HEADERS, 1, block[9:]))
    assert (await peer.over()).messages == [b""]


@pytest.mark.parametrize(
    "between",
    [data(1, b""), frame(PING, 0, 0, bytes(8)), frame(0x42, 0, 0), frame(SETTINGS, 0, 0), window_update(0, 1),
     frame(HEADERS, END_HEADERS, 3, b"\x82"), frame(CONTINUATION, END_HEADERS, 3, b"\x82"), reset(1, ErrorCode.CANCEL)],
)  # fmt: skip
async def test_nothing_may_come_between_the_frames_of_headers(peer: Peer, between: bytes) -> None:
    block = peer.block()
    peer.send(frame(HEADERS, 0, 1, block[:5]), between)
    peer.send(frame(CONTINUATION, END_HEADERS, 1, block[5:]))
    assert await peer.fault() is ErrorCode.PROTOCOL_ERROR


@pytest.mark.parametrize("size", [0, 1, LEAST_FRAME_BYTES])
async def test_headers_without_an_end_end_the_connection(served: Served, size: int) -> None:
    async with served.peer() as peer:
        peer.send(frame(HEADERS, 0, 1, b"\x82"))
        for _ in range(65_536 // size if size else 1):
            peer.send(frame(CONTINUATION, 0, 1, bytes(size)))
        assert await peer.fault() is not None
        assert served.connection._streams == {}


async def test_headers_go_on_only_where_they_have_begun(served: Served) -> None:
    async with served.peer() as peer:
        peer.send(frame(CONTINUATION, END_HEADERS, 1, peer.block()))
        assert await peer.fault() is ErrorCode.PROTOCOL_ERROR
    async with served.peer() as peer:
        peer.send(peer.headers(1), frame(CONTINUATION, END_HEADERS, 1, b""))
        assert await peer.fault() is ErrorCode.PROTOCOL_ERROR


async def test_what_nobody_knows_is_passed_over(peer: Peer) -> None:
    """Kinds of frames, flags, settings: RFC 9113, sections 4.1 and 6.5.2."""
    for kind in (10, 11, 0x42, 0xFF):
        for stream_id in (0, 1, 2, 2**31 - 1):
            peer.send(frame(kind, 0xFF, stream_id, b"anything"))
    peer.set((0, 1), (7, 1), (0xFFFF, 2**32 - 1))
    peer.send(frame(PING, 0xFE, 0, bytes(8)))
    peer.send(frame(HEADERS, END_HEADERS | 0xC2, 2**31 + 1, peer.block()))  # the reserved bit
    peer.send(frame(DATA, END_STREAM | 0xF6, 1, message(b"x")))
    assert (await peer.over()).messages == [b"x"]


async def test_a_frame_may_have_as_many_bytes_as_everybody_must_take(peer: Peer) -> None:
    body = pattern(LEAST_FRAME_BYTES - 5)
    peer.call(1, "/t/Echo", body)
    assert (await peer.over()).messages == [body]


@pytest.mark.parametrize("kind", [DATA, HEADERS, SETTINGS, 0x42])
async def test_a_longer_frame_ends_the_connection_before_it_has_come(peer: Peer, kind: int) -> None:
    peer.send(peer.headers(1))
    peer.send(frame(kind, 0, 1, bytes(LEAST_FRAME_BYTES + 1))[:9])
    assert await peer.fault() is ErrorCode.FRAME_SIZE_ERROR


@pytest.mark.parametrize(
    "raw",
    [frame(PING, 0, 0, bytes(7)), frame(PING, 0, 0, bytes(9)), frame(RST_STREAM, 0, 1, bytes(3)),
     frame(WINDOW_UPDATE, 0, 0, bytes(5)), frame(WINDOW_UPDATE, 0, 1, b""), frame(SETTINGS, 0, 0, bytes(5)),
     frame(SETTINGS, ACK, 0, bytes(6)), frame(HEADERS, END_HEADERS | HAS_PRIORITY, 3, bytes(4))],
)  # fmt: skip
async def test_a_frame_of_a_wrong_size_ends_the_connection(peer: Peer, raw: bytes) -> None:
    peer.send(peer.headers(1, "/t/Join"), raw)
    assert await peer.fault() is ErrorCode.FRAME_SIZE_ERROR


@pytest.mark.parametrize(
    "raw",
    [frame(SETTINGS, 0, 1), frame(SETTINGS, ACK, 1), frame(PING, 0, 1, bytes(8)), data(0, b"x"),
     frame(HEADERS, END_HEADERS, 0, b"\x82"), frame(HEADERS, END_HEADERS, 2, b"\x82"), reset(0, ErrorCode.CANCEL),
     frame(PUSH_PROMISE, END_HEADERS, 1, bytes(4)), frame(CONTINUATION, END_HEADERS, 0)],
)  # fmt: skip
async def test_a_frame_on_a_stream_where_it_cannot_be_ends_the_connection(
    peer: Peer, raw: bytes
) -> None:
    peer.send(peer.headers(1, "/t/Join"), raw)
    assert await peer.fault() is ErrorCode.PROTOCOL_ERROR


@pytest.mark.parametrize("raw", [frame(PRIORITY, 0, 0, bytes(5)), frame(GOAWAY, 0, 1, bytes(8))])
async def test_priority_and_farewell_have_their_streams_too(peer: Peer, raw: bytes) -> None:
    peer.send(raw)
    assert await peer.fault() is ErrorCode.PROTOCOL_ERROR


async def test_a_priority_may_come_for_any_stream(peer: Peer) -> None:
    peer.send(frame(PRIORITY, 0, 9, bytes(5)), peer.headers(1), frame(PRIORITY, 0, 1, bytes(5)))
    peer.send(data(1, message(b"x"), end=True))
    await peer.over()
    peer.send(frame(PRIORITY, 0, 1, bytes(5)))
    assert await peer.is_well(3)
