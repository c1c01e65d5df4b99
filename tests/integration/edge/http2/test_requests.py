"""Requests: headers, messages, compression, sizes."""

import base64
import gzip
import zlib
from typing import Any

import pytest

from backscroll_sidecar.edge.http2.frames import (
    CONTINUATION,
    END_HEADERS,
    END_STREAM,
    HEADERS,
    ErrorCode,
    frame,
)
from backscroll_sidecar.edge.http2.messages import MAX_METADATA_BYTES
from tests.integration.edge.http2.peer import (
    CALL,
    MAX_BYTES,
    Peer,
    Status,
    data,
    in_frames,
    message,
)
from tests.integration.edge.http2.serving import connected
from tests.kit.endpoints import unary_unary


@pytest.mark.parametrize("path", ["/t/Echo", "/t/Split"])
async def test_a_call_without_a_message_is_refused(peer: Peer, path: str) -> None:
    peer.send(peer.headers(1, path, end=True))
    peer.send(peer.headers(3, path), data(3, b"", end=True))
    for stream_id in (1, 3):
        assert (await peer.over(stream_id)).status in {Status.UNIMPLEMENTED, Status.INTERNAL}
    assert await peer.is_well(5)


@pytest.mark.parametrize("path", ["/t/Echo", "/t/Split", "/t/Join", "/t/Chat"])
@pytest.mark.parametrize("cut", [1, 4, 5, 7])
async def test_a_call_with_half_a_message_is_refused(peer: Peer, path: str, cut: int) -> None:
    peer.send(peer.headers(1, path), data(1, message(b"text")[:cut], end=True))
    assert (await peer.over()).status is Status.INTERNAL
    assert await peer.is_well(3)


async def test_a_stream_without_a_message_is_a_stream(peer: Peer) -> None:
    peer.send(peer.headers(1, "/t/Join", end=True))
    assert (await peer.over()).messages == [b""]
    peer.send(peer.headers(3, "/t/Chat"), data(3, b"", end=True))
    assert (await peer.over(3)).messages == []
    assert peer.answer(3).status is Status.OK


async def test_a_unary_call_with_two_messages_is_answered_once(peer: Peer) -> None:
    peer.send(peer.headers(1), data(1, message(b"one") + message(b"two"), end=True))
    peer.send(peer.headers(3), data(3, message(b"one")), data(3, message(b"two"), end=True))
    for stream_id in (1, 3):
        answer = await peer.over(stream_id)
        assert answer.status is not Status.OK or answer.messages == [b"one"]
    assert await peer.is_well(5)


async def test_the_end_may_come_in_a_frame_of_its_own(peer: Peer) -> None:
    for number, path in enumerate(("/t/Echo", "/t/Split", "/t/Join")):
        stream_id = 4 * number + 1
        peer.send(peer.headers(stream_id, path), data(stream_id, message(b"x")))
        peer.send(data(stream_id, b"", end=True))
        assert (await peer.over(stream_id)).messages == [b"x"]
        peer.send(peer.headers(stream_id + 2, path), data(stream_id + 2, message(b"x")))
        await peer.ping()
        peer.send(data(stream_id + 2, b"", end=True))
        assert (await peer.over(stream_id + 2)).messages == [b"x"]


async def test_an_answer_before_the_end_of_the_request_asks_for_no_more(peer: Peer) -> None:
    """gRPC over HTTP/2, Early Server Closure: RST_STREAM with NO_ERROR behind the trailers."""
    peer.send(peer.headers(1), data(1, message(b"x")))
    await peer.until(lambda: peer.answer(1).reset is not None)
    assert peer.answer(1).is_ended
    assert peer.answer(1).reset == ErrorCode.NO_ERROR
    peer.send(peer.headers(3, "/t/Nothing"))
    await peer.until(lambda: peer.answer(3).reset is not None)
    assert peer.answer(3).status is Status.UNIMPLEMENTED


@pytest.mark.parametrize("path", ["/t/Echo", "/t/Join"])
@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
async def test_packed_requests_are_unpacked(peer: Peer, path: str, encoding: str) -> None:
    packed = (gzip.compress if encoding == "gzip" else zlib.compress)(b"text" * 1_000)
    peer.send(peer.headers(1, path, ("grpc-encoding", encoding)))
    peer.send(data(1, message(packed, 1), end=True))
    assert (await peer.over()).messages == [b"text" * 1_000]


@pytest.mark.parametrize("path", ["/t/Echo", "/t/Join"])
async def test_a_zip_bomb_fails_its_call_alone(peer: Peer, path: str) -> None:
    bomb = gzip.compress(bytes(2 * MAX_BYTES))
    peer.send(peer.headers(1, path, ("grpc-encoding", "gzip")), in_frames(1, message(bomb, 1)))
    answer = await peer.over()
    assert answer.status is Status.RESOURCE_EXHAUSTED
    assert await peer.is_well(3)


async def test_an_unknown_encoding_is_unimplemented_and_the_known_ones_are_told(peer: Peer) -> None:
    peer.send(peer.headers(1, "/t/Echo", ("grpc-encoding", "snappy")))
    peer.send(data(1, message(b"1234", 1), end=True))
    answer = await peer.over()
    assert answer.status is Status.UNIMPLEMENTED
    assert answer.fields["grpc-accept-encoding"] == "identity,deflate,gzip"
    assert await peer.is_well(3)


@pytest.mark.parametrize("path", ["/t/Echo", "/t/Chat"])
async def test_a_message_over_the_limit_is_refused_before_it_has_come(
    peer: Peer, path: str
) -> None:
    peer.send(peer.headers(1, path), data(1, message(bytes(MAX_BYTES + 1))[:5]))
    answer = await peer.over()
    assert answer.status is Status.RESOURCE_EXHAUSTED
    peer.send(data(1, bytes(1_000)), data(1, b"", end=True))
    assert await peer.is_well(3)


async def test_what_is_no_call_is_answered_by_http(peer: Peer) -> None:
    get = tuple(("" or n, "GET" if n == ":method" else v) for n, v in CALL)
    html = tuple((n, "text/html" if n == "content-type" else v) for n, v in CALL)
    for stream_id, call, status in ((1, get, "405"), (3, html, "415")):
        peer.send(frame(HEADERS, END_HEADERS | END_STREAM, stream_id, peer.block("/x", call=call)))
        answer = await peer.over(stream_id)
        assert answer.fields[":status"] == status
        assert answer.fields["content-type"] == "text/plain; charset=utf-8"
        assert b"gRPC" in answer.body
    head = tuple((n, "HEAD" if n == ":method" else v) for n, v in CALL)
    peer.send(frame(HEADERS, END_HEADERS | END_STREAM, 5, peer.block("/x", call=head)))
    answer = await peer.over(5)
    assert (answer.fields[":status"], answer.body) == ("405", b"")  # of HEAD there is none to be
    assert await peer.is_well(7)


@pytest.mark.parametrize("path", ["/t/Nothing", "/no/Echo", "/", "", "*", "/t/Echo/", "t/Echo"])
async def test_a_path_that_nobody_serves_is_unimplemented(peer: Peer, path: str) -> None:
    assert (await peer.ask(1, path)).status is Status.UNIMPLEMENTED
    assert await peer.is_well(3)


async def test_metadata_is_told_to_the_handler() -> None:
    told: list[Any] = []

    async def hear(request: bytes, context: Any) -> bytes:
        told.append(context.metadata)
        return request

    async with connected(Hear=unary_unary(hear)) as (_, peer):
        raw = bytes(range(256))
        text = base64.b64encode(raw).decode()
        more = [
            ("k", "v"),
            ("d-bin", text),
            ("e-bin", text.rstrip("=")),
            ("k", "again"),
            ("empty", ""),
        ]
        for stream_id in (1, 3, 5):  # the second time, they are but places in a table
            await peer.ask(stream_id, "/t/Hear", b"x", ("grpc-timeout", "9S"), *more)
        expected = (("k", "v"), ("d-bin", raw), ("e-bin", raw), ("k", "again"), ("empty", ""))
        assert told == [expected] * 3


async def test_bad_metadata_fails_its_call_alone(peer: Peer) -> None:
    for number, value in enumerate(("*", "a", "ab=c")):
        answer = await peer.ask(2 * number + 1, "/t/Echo", b"x", ("d-bin", value))
        assert answer.status is not Status.OK
    big = ("k", "x" * MAX_METADATA_BYTES)
    block = peer.block("/t/Echo", big)
    peer.send(frame(HEADERS, 0, 9, block[:100]), frame(CONTINUATION, END_HEADERS, 9, block[100:]))
    assert (await peer.over(9)).status is Status.RESOURCE_EXHAUSTED
    assert await peer.is_well(11)
