"""Answers: messages, statuses, trailers."""

from __future__ import annotations

import asyncio
import base64
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest

from backscroll_sidecar.edge.http2 import frames
from backscroll_sidecar.edge.http2.frames import (
    Code,
)
from tests.integration.edge.http2.peer import Peer, Status, data, message
from tests.integration.edge.http2.serving import Served, echo, serving, until


async def test_a_handler_that_raises_fails_its_call_alone_and_tells_nobody_why() -> None:
    async def fail(_: bytes, __: Any) -> bytes:
        raise ValueError("a secret")

    async def fail_later(_: bytes, __: Any) -> AsyncIterator[bytes]:
        yield b"one"
        raise ValueError("a secret")

    async with (
        serving(
            Fail=grpc.unary_unary_rpc_method_handler(fail),
            Later=grpc.unary_stream_rpc_method_handler(fail_later),
            Reads=grpc.unary_unary_rpc_method_handler(echo, request_deserializer=int),
            Writes=grpc.unary_unary_rpc_method_handler(echo, response_serializer=bytes.fromhex),
            NotOurs=grpc.unary_unary_rpc_method_handler(lambda request, _: request),
        ) as served,
        served.peer() as peer,
    ):
        for number, name in enumerate(("Fail", "Reads", "Writes", "NotOurs")):
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

    async def end(_: bytes, context: Any) -> AsyncIterator[bytes]:
        for _number in range(wrote):
            yield b"one"
        await context.abort(Status.NOT_FOUND, text, (("why-bin", b"\0\xff\x80"), ("k", "v")))

    async def end_unary(_: bytes, context: Any) -> bytes:
        await context.abort(Status.NOT_FOUND, text, (("why-bin", b"\0\xff\x80"), ("k", "v")))
        return b""

    async with (
        serving(
            End=grpc.unary_stream_rpc_method_handler(end),
            One=grpc.unary_unary_rpc_method_handler(end_unary),
        ) as served,
        served.peer() as peer,
    ):
        for stream_id, path in ((1, "/t/End"), (3, "/t/One")):
            answer = await peer.ask(stream_id, path)
            assert answer.status is Status.NOT_FOUND
            assert answer.text == text
            assert base64.b64decode(answer.fields["why-bin"] + "==") == b"\0\xff\x80"
            assert answer.fields["k"] == "v"
        assert peer.answer(1).messages == [b"one"] * wrote


async def test_a_handler_sets_its_status_without_raising() -> None:
    async def mark(request: bytes, context: Any) -> bytes:
        context.set_code(Status.DATA_LOSS)
        context.set_details("gone")
        if request == b"raise":
            raise ValueError
        return b""

    async with (
        serving(Mark=grpc.unary_unary_rpc_method_handler(mark)) as served,
        served.peer() as peer,
    ):
        for stream_id, body in ((1, b"return"), (3, b"raise")):
            answer = await peer.ask(stream_id, "/t/Mark", body)
            assert (answer.status, answer.text) == (Status.DATA_LOSS, "gone")


async def test_only_the_first_end_of_a_call_counts() -> None:
    async def twice(_: bytes, context: Any) -> bytes:
        try:
            await context.abort(Status.NOT_FOUND, "first")
        except Exception:  # noqa: BLE001
            await context.abort(Status.ABORTED, "second")
        return b"third"

    async def swallow(_: bytes, context: Any) -> bytes:
        with contextlib.suppress(Exception):
            await context.abort(Status.NOT_FOUND, "first")
        return b"an answer"

    async with (
        serving(
            Twice=grpc.unary_unary_rpc_method_handler(twice),
            Swallow=grpc.unary_unary_rpc_method_handler(swallow),
        ) as served,
        served.peer() as peer,
    ):
        for stream_id, path in ((1, "/t/Twice"), (3, "/t/Swallow")):
            answer = await peer.ask(stream_id, path)
            assert (answer.status, answer.text, answer.messages) == (Status.NOT_FOUND, "first", [])


@pytest.mark.parametrize("size", [6_000, 200_000])
async def test_a_long_text_of_a_status_breaks_no_frame(size: int) -> None:
    """Three bytes of a character are nine when escaped: headers longer than a frame go on in the next, or are cut."""

    async def end(_: bytes, context: Any) -> bytes:
        await context.abort(Status.INVALID_ARGUMENT, "字" * size)
        return b""

    async with (
        serving(End=grpc.unary_unary_rpc_method_handler(end)) as served,
        served.peer() as peer,
    ):
        answer = await peer.ask(1, "/t/End")
        assert answer.status is Status.INVALID_ARGUMENT
        assert answer.text.startswith("字字字")
        assert await peer.is_well(3)


async def test_messages_are_read_and_written_by_the_handlers_own_functions() -> None:
    async def double(request: int, _: Any) -> int:
        return 2 * request

    async def total(requests: AsyncIterator[int], _: Any) -> AsyncIterator[int]:
        found = 0
        async for one in requests:
            yield (found := found + one)

    both: Any = {"request_deserializer": int, "response_serializer": lambda one: b"%d" % one}
    async with (
        serving(
            Double=grpc.unary_unary_rpc_method_handler(double, **both),
            Total=grpc.stream_stream_rpc_method_handler(total, **both),
        ) as served,
        served.peer() as peer,
    ):
        assert (await peer.ask(1, "/t/Double", b"21")).messages == [b"42"]
        peer.send(peer.headers(3, "/t/Total"))
        peer.send(data(3, message(b"1") + message(b"2") + message(b"3"), end=True))
        assert (await peer.over(3)).messages == [b"1", b"3", b"6"]


async def test_a_handler_may_write_by_itself() -> None:
    async def write(_: bytes, context: Any) -> None:
        for one in (b"a", b"", b"c"):
            await context.write(one)

    async def write_both(requests: AsyncIterator[bytes], context: Any) -> None:
        async for one in requests:
            await context.write(one)

    async with (
        serving(
            Write=grpc.unary_stream_rpc_method_handler(write),
            Both=grpc.stream_stream_rpc_method_handler(write_both),
        ) as served,
        served.peer() as peer,
    ):
        assert (await peer.ask(1, "/t/Write")).messages == [b"a", b"", b"c"]
        assert (await peer.ask(3, "/t/Both", b"x")).messages == [b"x"]


async def test_two_tasks_of_a_handler_may_write_at_once() -> None:
    async def write(_: bytes, context: Any) -> None:
        await asyncio.gather(*(context.write(bytes(40_000)) for _ in range(4)))

    async with (
        serving(Write=grpc.unary_stream_rpc_method_handler(write)) as served,
        served.peer() as peer,
    ):
        assert (await peer.ask(1, "/t/Write")).messages == [bytes(40_000)] * 4


async def test_a_slow_reader_is_asked_no_more_of_than_it_reads(served: Served) -> None:
    """The generator stands still while the client has no room, and goes on when it has."""
    made = 0

    async def count(_: bytes, __: Any) -> AsyncIterator[bytes]:
        nonlocal made
        for _number in range(200):
            made += 1
            yield bytes(9_995)

    async with (
        serving(Count=grpc.unary_stream_rpc_method_handler(count)) as served_here,
        served_here.peer(gives_room=False) as peer,
    ):
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

    async with (
        serving(Count=grpc.unary_stream_rpc_method_handler(count)) as served,
        served.peer(receive_bytes=8_192, gives_room=False) as peer,
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

    async with (
        serving(First=grpc.stream_unary_rpc_method_handler(first)) as here,
        here.peer() as peer,
    ):
        peer.send(peer.headers(1, "/t/First"), data(1, message(b"a") + message(b"b")))
        answer = await peer.over()
        assert answer.messages == [b"a"]
        await peer.ping()
        assert answer.reset == Code.NO_ERROR
        assert here.connection._streams == {}
