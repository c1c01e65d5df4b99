"""Answers: messages, statuses, trailers."""

import asyncio
import base64
from collections.abc import AsyncIterator
from typing import Any

import pytest
from google.rpc import status_pb2  # type: ignore[import-untyped]

from backscroll_sidecar.edge.http2 import frames
from backscroll_sidecar.edge.http2.frames import ErrorCode
from backscroll_sidecar.edge.status import Code, Refused
from tests.integration.edge.http2.peer import Peer, Status, data, message
from tests.integration.edge.http2.serving import Served, connected, until
from tests.kit.endpoints import stream_unary, unary_stream, unary_unary


async def test_a_handler_that_raises_fails_its_call_alone_and_tells_nobody_why() -> None:
    async def fail(_: bytes, __: Any) -> bytes:
        raise ValueError("a secret")

    async def fail_later(_: bytes, __: Any) -> AsyncIterator[bytes]:
        yield b"one"
        raise ValueError("a secret")

    async with connected(
        Fail=unary_unary(fail),
        Later=unary_stream(fail_later),
        NotOurs=unary_unary(lambda request, _: request),
    ) as (_, peer):
        for number, name in enumerate(("Fail", "NotOurs")):
            answer = await peer.ask(2 * number + 1, f"/t/{name}", b"x")
            assert answer.status is Status.UNKNOWN
            assert "secret" not in answer.text
        answer = await peer.ask(11, "/t/Later", b"x")
        assert answer.messages == [b"one"]
        assert answer.status is Status.UNKNOWN
        assert await peer.is_well(13)


@pytest.mark.parametrize("wrote", [0, 1, 3])
async def test_a_handler_ends_its_call_with_a_text_and_binary_metadata(wrote: int) -> None:
    text = '没有这个频道：100% \n"x" 🎉'

    async def end(_: bytes, __: Any) -> AsyncIterator[bytes]:
        for _number in range(wrote):
            yield b"one"
        raise Refused(Code.NOT_FOUND, text, "WHY", {"k": "频道"}, is_final=True)

    async def end_unary(_: bytes, __: Any) -> bytes:
        raise Refused(Code.NOT_FOUND, text, "WHY", {"k": "频道"}, is_final=True)

    async with connected(End=unary_stream(end), One=unary_unary(end_unary)) as (_, peer):
        for stream_id, path in ((1, "/t/End"), (3, "/t/One")):
            answer = await peer.ask(stream_id, path)
            assert answer.status is Status.NOT_FOUND
            assert answer.text == text
            raw = base64.b64decode(answer.fields["grpc-status-details-bin"] + "==")
            assert status_pb2.Status.FromString(raw).message == text
            assert answer.fields["grpc-retry-pushback-ms"] == "-1"
        assert peer.answer(1).messages == [b"one"] * wrote


async def test_a_slow_reader_is_asked_no_more_of_than_it_reads(served: Served) -> None:
    """The generator stands still while the client has no room, and goes on when it has."""
    made = 0

    async def count(_: bytes, __: Any) -> AsyncIterator[bytes]:
        nonlocal made
        for _number in range(200):
            made += 1
            yield bytes(9_995)

    async with connected(gives_room=False, Count=unary_stream(count)) as (_, peer):
        peer.call(1, "/t/Count")
        await peer.until(lambda: peer.window == 0)
        await peer.ping()
        ahead = made
        assert 7 <= ahead <= 14  # the window holds six and a half; as much again may be held here
        peer.give_room(0, 10**7)
        peer.give_room(1, 30_000)
        await peer.until(lambda: peer.windows[1] == 0)
        await peer.ping()
        assert made <= ahead + 4
        peer.give_room(1, 10**7)
        assert len((await peer.over()).messages) == 200


async def test_a_client_that_does_not_read_its_socket_stops_the_generator() -> None:
    made = 0

    async def count(_: bytes, __: Any) -> AsyncIterator[bytes]:
        nonlocal made
        for _number in range(500):
            made += 1
            yield bytes(100_000)

    async with connected(receive_bytes=8_192, gives_room=False, Count=unary_stream(count)) as (
        served,
        peer,
    ):
        peer.set((frames.INITIAL_WINDOW_SIZE, 2**30))
        peer.give_room(0, 2**30)
        peer.call(1, "/t/Count")
        await until(lambda: made, "it begins")
        last = -1
        while made != last:
            last = made
            await asyncio.sleep(0.05)
        assert made < 150  # what fits into sockets and the buffer, of 500
        assert served.connection._transport.get_write_buffer_size() < 2 * 2**20
        peer.max_frame = 2**24
        assert len((await peer.over()).messages) == 500


async def test_answers_come_while_requests_still_do(peer: Peer) -> None:
    peer.send(peer.headers(1, "/t/Chat"))
    for number in range(5):
        peer.send(data(1, message(b"m%d" % number)))
        await peer.until(lambda: len(peer.answer(1).messages) == number + 1)  # noqa: B023
    peer.send(data(1, b"", end=True))
    answer = await peer.over()
    assert answer.messages == [b"M%d" % number for number in range(5)]
    assert answer.status is Status.OK
    assert answer.reset is None


async def test_a_stream_that_the_handler_leaves_early_is_over(served: Served) -> None:
    async def first(requests: AsyncIterator[bytes], _: Any) -> bytes:
        async for one in requests:
            return one
        return b""

    async with connected(First=stream_unary(first)) as (here, peer):
        peer.send(peer.headers(1, "/t/First"), data(1, message(b"a") + message(b"b")))
        answer = await peer.over()
        assert answer.messages == [b"a"]
        await peer.ping()
        assert answer.reset == ErrorCode.NO_ERROR
        assert here.connection._streams == {}
