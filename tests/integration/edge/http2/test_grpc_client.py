"""gRPC's own client over this edge."""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from typing import Any

import grpc
import hpack
import pytest

from backscroll_sidecar.edge.grpc.handlers import Handlers
from backscroll_sidecar.edge.http2 import frames
from backscroll_sidecar.edge.http2.frames import (
    END_HEADERS,
    HEADERS,
    LEAST_FRAME_BYTES,
    PING,
    PREFACE,
    ErrorCode,
    frame,
    reset,
    window_update,
)
from backscroll_sidecar.edge.http2.stream import STREAM_WINDOW_BYTES
from tests.integration.edge.http2.peer import CALL, MAX_BYTES, Status, data, message
from tests.integration.edge.http2.serving import (
    Gate,
    Served,
    connected,
    gated,
    pattern,
    requests,
    serving,
    until,
)
from tests.integration.edge.http2.wire import hung_up, said, settle, wired
from tests.kit.endpoints import endpoints, stream_stream, unary_stream, unary_unary


@asynccontextmanager
async def channel(port: int, **options: Any) -> AsyncIterator[Any]:
    sizes = [(f"grpc.max_{name}_message_length", 2 * MAX_BYTES) for name in ("send", "receive")]
    more = [("grpc.initial_reconnect_backoff_ms", 100), ("grpc.use_local_subchannel_pool", 1)]
    async with grpc.aio.insecure_channel(
        f"127.0.0.1:{port}", options=sizes + more, **options
    ) as made:
        yield made


@pytest.mark.parametrize("compression", [None, grpc.Compression.Gzip, grpc.Compression.Deflate])
async def test_grpc_calls_of_all_four_shapes(served: Served, compression: Any) -> None:
    body = b"some words " * 500
    async with channel(served.port, compression=compression) as client:
        assert await client.unary_unary("/t/Echo")(body) == body
        assert [one async for one in client.unary_stream("/t/Split")(body)] == body.split()
        assert await client.stream_unary("/t/Join")(requests([b"a" * 2_000, b"", b"c"])) == (
            b"a" * 2_000 + b"++c"
        )
        found = [one async for one in client.stream_stream("/t/Chat")(requests([b"a", body]))]
        assert found == [b"A", body.upper()]
        call = client.stream_stream("/t/Chat")()
        for one in (b"x", b"y"):
            await call.write(one)
            assert await call.read() == one.upper()
        await call.done_writing()
        assert await call.read() is grpc.aio.EOF
        assert await call.code() is Status.OK


async def test_grpc_sends_and_gets_four_megabytes(served: Served) -> None:
    body = random.Random(1).randbytes(4 * 2**20)
    async with channel(served.port) as client:
        assert await client.unary_unary("/t/Echo")(body) == body
        found = [one async for one in client.stream_stream("/t/Chat")(requests([body]))]
        assert found == [body.upper()]


async def test_grpc_has_two_thousand_calls_at_once_on_one_connection() -> None:
    gate = Gate()
    async with (
        serving(Wait=unary_unary(gate.unary)) as served,
        channel(served.port) as client,
    ):
        wait = client.unary_unary("/t/Wait")
        calls = [wait(b"%d" % number) for number in range(2_000)]
        answers: Awaitable[list[bytes]] = asyncio.gather(*calls)
        await until(lambda: gate.started == 2_000, "all run at once")
        assert len(served.server.seen) == 1
        gate.open.set()
        assert await answers == [b"%d" % number for number in range(2_000)]


async def test_a_handler_is_told_the_same_metadata_as_by_grpc() -> None:
    """The edge must not be told from gRPC's own server by what it adds or leaves out."""
    told: list[Any] = []

    async def hear(request: bytes, caller: Any) -> bytes:
        told.append(tuple((name, value) for name, value in caller.metadata))
        return request

    handlers: dict[str, Any] = {"Hear": unary_unary(hear)}
    async with serving(**handlers) as served:
        theirs = grpc.aio.server()
        theirs.add_generic_rpc_handlers((Handlers(endpoints(**handlers)),))
        port = theirs.add_insecure_port("127.0.0.1:0")
        await theirs.start()
        for where in (served.port, port):
            async with channel(where) as client:
                more = (("k", "v"), ("d-bin", b"\1\xfe"), ("k", "w"))
                await client.unary_unary("/t/Hear")(b"", metadata=more, timeout=9)
        await theirs.stop(None)
        await theirs.wait_for_termination()
        del theirs
    ours, others = told
    assert sorted(ours, key=repr) == sorted(others, key=repr)


async def test_the_loop_of_the_server_serves_as_well() -> None:
    """The server itself runs on uvloop where it is installed."""
    uvloop = pytest.importorskip("uvloop")

    async def talk() -> None:
        async with serving() as served, served.peer() as peer:
            assert await peer.is_well(1)
            assert (await peer.ask(3, "/t/Big", b"1000000")).messages == [pattern(1_000_000)]
            peer.send(peer.headers(5, "/t/Join"))
            await peer.ping()
            stopping = asyncio.create_task(served.server.stop(0.0))
            assert (await peer.over(5)).status is Status.UNAVAILABLE
            assert await peer.fault() is ErrorCode.NO_ERROR
            await stopping

    def run() -> None:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(talk())

    await asyncio.to_thread(run)


async def test_what_one_read_brought_is_taken_in_pieces() -> None:
    """Law 9: no read makes the loop begin more than some hundred calls at once, and all are answered."""
    before = asyncio.all_tasks()
    wire = wired()
    encoder = hpack.Encoder()
    fields = [(name, "/t/Echo" if name == ":path" else value) for name, value in CALL]
    calls = [
        frame(HEADERS, END_HEADERS, stream_id, bytes(encoder.encode(fields)))
        + data(stream_id, message(bytes(100)), end=True)
        for stream_id in range(1, 4_001, 2)
    ]
    wire.connection.data_received(
        PREFACE + frames.settings() + window_update(0, 2**30) + b"".join(calls)
    )
    assert 0 < len(wire.connection._streams) < 200
    wire.connection.data_received(frame(PING, 0, 0, bytes(8)))  # behind them
    answered = 0
    while answered < len(calls):
        await asyncio.sleep(0)
        assert len(wire.connection._streams) < 400
        answered = len(said(wire))
    await settle(wire)
    assert any(kind == PING for kind, *_ in wire.frames())
    await hung_up(wire, before)


async def test_a_handler_is_cancelled_once_and_may_clean_up() -> None:
    """The deadline cancels it; that its caller then leaves must not interrupt what it does about that."""
    done: list[str] = []

    async def slow(_: bytes, __: Any) -> bytes:
        try:
            await asyncio.Event().wait()
        finally:
            done.append("begun")
            await asyncio.sleep(0.05)
            done.append("cleaned up")
        return b""

    async with connected(Slow=unary_unary(slow)) as (_, peer):
        peer.call(1, "/t/Slow", b"", ("grpc-timeout", "10m"))
        await until(lambda: done, "the deadline has passed")
        peer.send(reset(1, ErrorCode.CANCEL))
        await peer.ping()
        await until(lambda: done == ["begun", "cleaned up"], "it cleans up")


async def test_who_writes_a_little_need_not_wait_for_a_reader() -> None:
    """A handler may hold a lock while it writes: others would wait for a reader."""
    written = asyncio.Event()

    async def watch(_: bytes, __: Any) -> AsyncIterator[bytes]:
        for _n in range(3):
            yield b"news"
        written.set()
        await asyncio.Event().wait()

    async with connected(gives_room=False, Watch=unary_stream(watch)) as (_, peer):
        peer.set((frames.INITIAL_WINDOW_SIZE, 0))
        peer.call(1, "/t/Watch", b"")
        await until(written.is_set, "it has written")
        peer.send(reset(1, ErrorCode.CANCEL))
        await peer.ping()


async def test_messages_without_content_are_not_free() -> None:
    """Whoever does not read them makes the client stop, however small they are."""
    async with gated() as (_, served, peer):
        peer.send(peer.headers(1, "/t/Late"))
        for _ in range(STREAM_WINDOW_BYTES // LEAST_FRAME_BYTES - 1):
            peer.send(data(1, message(b"") * (LEAST_FRAME_BYTES // 5)))
        await peer.ping()
        stream = served.connection._streams[1]
        assert stream._held_bytes >= 64 * len(stream._messages) > 0
        assert peer.allowed.get(1, 0) <= STREAM_WINDOW_BYTES // 2
        peer.send(reset(1, ErrorCode.CANCEL))
        await peer.ping()


async def test_a_refused_call_that_nobody_reads_keeps_nothing() -> None:
    """Its answer waits for room; what still comes is not kept meanwhile."""

    async def talk(requests: AsyncIterator[bytes], _caller: Any) -> AsyncIterator[bytes]:
        yield bytes(200_000)
        async for _ in requests:
            pass

    async with connected(gives_room=False, Talk=stream_stream(talk)) as (served, peer):
        peer.set((frames.INITIAL_WINDOW_SIZE, 0))
        peer.send(peer.headers(1, "/t/Talk"))
        await peer.ping()
        for _ in range(20):
            peer.send(data(1, b"\x07" * LEAST_FRAME_BYTES))  # no message begins so
        await peer.ping()
        stream = served.connection._streams[1]
        assert stream._reader.held_bytes == stream._held_bytes == 0
        assert not stream._messages


async def test_a_call_that_is_broken_off_is_never_well() -> None:
    """Not even where its handler swallows that it was cancelled, and goes on."""

    async def stubborn(_: bytes, context: Any) -> AsyncIterator[bytes]:
        yield b"1"
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        yield b"2"

    async with connected(Stubborn=unary_stream(stubborn)) as (_, peer):
        peer.call(1, "/t/Stubborn", b"", ("grpc-timeout", "20m"))
        answer = await peer.over()
        assert answer.messages == [b"1"]
        assert answer.status is Status.DEADLINE_EXCEEDED


async def test_who_speaks_no_http2_leaves_no_timer_behind() -> None:
    wire = wired()
    greeting = wire.connection._last_call
    assert greeting is not None
    wire.connection.data_received(b"GET / HTTP/1.1\r\n\r\n")
    assert greeting.cancelled()
