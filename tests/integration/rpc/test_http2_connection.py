"""The edge of this machine's own addresses, by a client that says exactly what it is told to, and by gRPC's own."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import gzip
import itertools
import random
import socket
import struct
import tracemalloc
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import unquote

import grpc
import hpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll_sidecar.rpc.exposure import Address, Reach
from backscroll_sidecar.rpc.http2 import connection as connection_module
from backscroll_sidecar.rpc.http2 import frames
from backscroll_sidecar.rpc.http2 import server as server_module
from backscroll_sidecar.rpc.http2.connection import (
    CONNECTION_WINDOW_BYTES,
    Connection,
)
from backscroll_sidecar.rpc.http2.frames import (
    ACK,
    CONTINUATION,
    DATA,
    DEFAULT_WINDOW_BYTES,
    END_HEADERS,
    END_STREAM,
    GOAWAY,
    HAS_PRIORITY,
    HEADERS,
    LEAST_FRAME_BYTES,
    MOST_WINDOW_BYTES,
    PADDED,
    PING,
    PREFACE,
    PRIORITY,
    PUSH_PROMISE,
    RST_STREAM,
    SETTINGS,
    WINDOW_UPDATE,
    Code,
    frame,
    reset,
    window_update,
)
from backscroll_sidecar.rpc.http2.headers import MAX_METADATA_BYTES
from backscroll_sidecar.rpc.http2.server import LocalServer
from backscroll_sidecar.rpc.http2.stream import STREAM_WINDOW_BYTES
from backscroll_sidecar.rpc.listeners import Listeners

PATIENCE_S = 4.0
MAX_BYTES = 5 * 2**20
CALL = (
    (":method", "POST"),
    (":scheme", "http"),
    (":path", "/t/Echo"),
    (":authority", "localhost"),
    ("te", "trailers"),
    ("content-type", "application/grpc"),
)
HELLO = PREFACE + frame(SETTINGS, 0, 0)
Status = grpc.StatusCode


def no_task_but(before: set[Any]) -> bool:
    """Whether all tasks are those of before, and this one: a fixture's end is a task of its own."""
    return asyncio.all_tasks() - {asyncio.current_task()} <= before


async def until(is_so: Callable[[], object], what: str = "") -> None:
    """Let the loop go on until something is so."""
    try:
        async with asyncio.timeout(PATIENCE_S):
            while not is_so():  # noqa: ASYNC110
                await asyncio.sleep(0.002)
    except TimeoutError:
        raise AssertionError(f"never so: {what}") from None


def message(body: bytes, flag: int = 0) -> bytes:
    return bytes((flag,)) + len(body).to_bytes(4, "big") + body


def data(stream_id: int, body: bytes, *, end: bool = False) -> bytes:
    return frame(DATA, END_STREAM if end else 0, stream_id, body)


def in_frames(stream_id: int, body: bytes, *, end: bool = True) -> bytes:
    """A body in as many frames as it needs."""
    cuts = [body[at : at + LEAST_FRAME_BYTES] for at in range(0, len(body), LEAST_FRAME_BYTES)]
    last = len(cuts) - 1
    return b"".join(data(stream_id, one, end=end and at == last) for at, one in enumerate(cuts))


def settings_frame(*pairs: tuple[int, int]) -> bytes:
    return frame(SETTINGS, 0, 0, b"".join(struct.pack(">HI", *pair) for pair in pairs))


# --- handlers -------------------------------------------------------------------------------------


async def echo(request: bytes, _: Any) -> bytes:
    return request


async def big(request: bytes, _: Any) -> bytes:
    """As many bytes as it is asked for."""
    return pattern(int(request))


async def split(request: bytes, _: Any) -> AsyncIterator[bytes]:
    """A stream of the words of the request."""
    for one in request.split():
        yield one


async def join(requests: AsyncIterator[bytes], _: Any) -> bytes:
    return b"+".join([one async for one in requests])


async def chat(requests: AsyncIterator[bytes], _: Any) -> AsyncIterator[bytes]:
    async for one in requests:
        yield one.upper()


def pattern(size: int) -> bytes:
    return (b"0123456789abcdefghijklmnopqrstuvwxyz" * (size // 36 + 1))[:size]


class Gate:
    """A handler that waits, and tells what became of it."""

    def __init__(self) -> None:
        self.started = self.cancelled = self.finished = 0
        self.open = asyncio.Event()

    async def unary(self, request: bytes, _: Any) -> bytes:
        self.started += 1
        try:
            await self.open.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        self.finished += 1
        return request

    async def stream(self, requests: AsyncIterator[bytes], context: Any) -> bytes:
        await self.unary(b"", context)
        return b"+".join([one async for one in requests])


SHAPES: dict[str, Any] = {
    "Echo": grpc.unary_unary_rpc_method_handler(echo),
    "Big": grpc.unary_unary_rpc_method_handler(big),
    "Split": grpc.unary_stream_rpc_method_handler(split),
    "Join": grpc.stream_unary_rpc_method_handler(join),
    "Chat": grpc.stream_stream_rpc_method_handler(chat),
}


# --- a server that is watched ---------------------------------------------------------------------


class Watched(LocalServer):
    """Keeps what was connected, so that a test can see what is left of it."""

    def __init__(self) -> None:
        super().__init__(MAX_BYTES)
        self.seen: list[Connection] = []

    def _opened(self, connection: Connection) -> None:
        self.seen.append(connection)
        super()._opened(connection)

    def is_clean(self) -> bool:
        return not any(one._streams or one._blocked for one in self.seen)


@dataclass
class Served:
    server: Watched
    port: int
    peers: int = 0

    @asynccontextmanager
    async def peer(self, hello: bytes = HELLO, **options: Any) -> AsyncIterator[Peer]:
        """A client; it has said hello unless told otherwise."""
        raw = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # so: no delay
        if "receive_bytes" in options:
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, options.pop("receive_bytes"))
        raw.setblocking(False)
        await asyncio.get_running_loop().sock_connect(raw, ("127.0.0.1", self.port))
        reader, writer = await asyncio.open_connection(sock=raw)
        peer = Peer(reader, writer, **options)
        self.peers += 1
        try:
            peer.send(hello)
            yield peer
        finally:
            writer.transport.abort()
            self.peers -= 1
        known = self.server._connections
        await until(lambda: len(known) <= self.peers, "the server forgets who has left")

    @property
    def connection(self) -> Connection:
        """The last one that was made."""
        return self.server.seen[-1]

    def stream(self, stream_id: int = 1) -> Any:
        return self.server.seen[-1]._streams[stream_id]


@asynccontextmanager
async def serving(**handlers: Any) -> AsyncIterator[Served]:
    """A server of these handlers; it must leave nothing behind."""
    loop = asyncio.get_running_loop()
    failures: list[dict[str, Any]] = []
    loop.set_exception_handler(lambda _, failure: failures.append(failure))
    before = asyncio.all_tasks()
    server = Watched()
    server.add_generic_rpc_handlers(
        [grpc.method_handlers_generic_handler("t", {**SHAPES, **handlers})]
    )
    bound = socket.create_server(("127.0.0.1", 0))
    bound.setblocking(False)
    server.add_socket(bound)
    await server.start()
    try:
        yield Served(server, bound.getsockname()[1])
    finally:
        await server.stop(0.0)
    await until(server.is_clean, "no stream is left")
    assert server._held_bytes == 0
    await until(lambda: no_task_but(before), "no task is left")
    assert not failures, failures


# --- a client that says what it is told to --------------------------------------------------------


class Frame(NamedTuple):
    kind: int
    flags: int
    stream_id: int
    body: bytes


@dataclass
class Answer:
    """What came on a stream."""

    blocks: list[dict[str, str]] = field(default_factory=list)
    body: bytearray = field(default_factory=bytearray)
    is_ended: bool = False
    reset: int | None = None

    @property
    def is_over(self) -> bool:
        return self.is_ended or self.reset is not None

    @property
    def fields(self) -> dict[str, str]:
        return {name: value for block in self.blocks for name, value in block.items()}

    @property
    def status(self) -> Status:
        number = int(self.fields["grpc-status"])
        return next(one for one in Status if one.value[0] == number)

    @property
    def text(self) -> str:
        return unquote(self.fields.get("grpc-message", ""))

    @property
    def messages(self) -> list[bytes]:
        found, at = [], 0
        while at < len(self.body):
            end = at + 5 + int.from_bytes(self.body[at + 1 : at + 5], "big")
            assert end <= len(self.body)
            found.append(bytes(self.body[at + 5 : end]))
            at = end
        return found


class Peer:
    """A client. It reads when asked to, and checks all that it is sent against what it allowed.

    Parameters
    ----------
    gives_room : for what it has read, as clients do.
    table_bytes : the most that its decoder may remember, once its settings are acknowledged.
    """

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        *,
        gives_room: bool = True,
        table_bytes: int = 4_096,
    ) -> None:
        self._reader, self._writer = reader, writer
        self._gives_room = gives_room
        self._encoder, self._decoder = hpack.Encoder(), hpack.Decoder()
        self._table_bytes = table_bytes
        self._block: tuple[int, int, bytearray] | None = None
        self._unacknowledged: list[dict[int, int]] = []
        self.window = self.initial_window = DEFAULT_WINDOW_BYTES
        self.windows: dict[int, int] = {}
        self.max_frame = LEAST_FRAME_BYTES
        self.answers: dict[int, Answer] = {}
        self.frames: list[Frame] = []
        self.allowed: dict[int, int] = {}
        self.settings: dict[int, int] = {}
        self.farewell: tuple[int, Code, bytes] | None = None
        self.is_closed = False

    # --- what it says

    def send(self, *raw: bytes) -> None:
        for one in raw:
            if one.startswith(PREFACE):
                self._unacknowledged.append({})
        self._writer.write(b"".join(raw))

    async def drain(self) -> None:
        await self._writer.drain()

    async def hang_up(self) -> None:
        self._writer.transport.abort()

    def block(self, path: str = "/t/Echo", *more: Any, call: Any = CALL) -> bytes:
        fields = [("" or name, path if name == ":path" else value) for name, value in call]
        return bytes(self._encoder.encode([*fields, *more]))

    def headers(
        self, stream_id: int, path: str = "/t/Echo", *more: Any, end: bool = False
    ) -> bytes:
        flags = END_HEADERS | (END_STREAM if end else 0)
        return frame(HEADERS, flags, stream_id, self.block(path, *more))

    def call(self, stream_id: int, path: str = "/t/Echo", body: bytes = b"", *more: Any) -> None:
        """A whole unary call."""
        self.send(
            self.headers(stream_id, path, *more), in_frames(stream_id, message(body), end=True)
        )

    def give_room(self, stream_id: int, count: int) -> None:
        self.send(window_update(stream_id, count))
        if stream_id:
            self.windows[stream_id] = self._window(stream_id) + count
        else:
            self.window += count

    def set(self, *pairs: tuple[int, int]) -> None:
        self.send(settings_frame(*pairs))
        self._unacknowledged.append(dict(pairs))

    # --- what it hears

    def answer(self, stream_id: int) -> Answer:
        return self.answers.setdefault(stream_id, Answer())

    async def next(self) -> Frame | None:
        """The next frame; None when the server has closed."""
        try:
            async with asyncio.timeout(PATIENCE_S):
                head = await self._reader.readexactly(9)
                size = int.from_bytes(head[:3], "big")
                body = await self._reader.readexactly(size)
        except (asyncio.IncompleteReadError, ConnectionError):
            self.is_closed = True
            return None
        except TimeoutError:
            raise AssertionError("the server says nothing") from None
        assert size <= self.max_frame, f"a frame of {size} bytes"
        found = Frame(head[3], head[4], int.from_bytes(head[5:], "big"), body)
        self.frames.append(found)
        self._note(found)
        return found

    async def until(self, is_so: Callable[[], object], what: str = "") -> None:
        """Read until something is so."""
        while not is_so():
            found = await self.next()
            assert found is not None or is_so(), f"closed before it was so: {what} {self.farewell}"

    async def over(self, stream_id: int = 1) -> Answer:
        """The answer to a call, once it is there."""
        await self.until(lambda: self.answer(stream_id).is_over, f"{stream_id} is over")
        return self.answer(stream_id)

    async def ask(self, stream_id: int, path: str = "/t/Echo", body: bytes = b"x", *more: Any) -> Answer:  # fmt: skip
        self.call(stream_id, path, body, *more)
        return await self.over(stream_id)

    async def fault(self) -> Code | None:
        """Why the server closes; None when it just does."""
        while await self.next() is not None:
            pass
        return self.farewell[1] if self.farewell else None

    async def is_well(self, stream_id: int) -> bool:
        """Whether the connection still takes calls."""
        answer = await self.ask(stream_id, "/t/Echo", b"still there?")
        return answer.status is Status.OK and answer.messages == [b"still there?"]

    async def ping(self) -> None:
        """Return when all that was said so far has been taken."""
        token = random.randbytes(8)
        self.send(frame(PING, 0, 0, token))
        await self.until(lambda: self.frames and self.frames[-1] == (PING, ACK, 0, token), "a ping")

    def _window(self, stream_id: int) -> int:
        return self.windows.setdefault(stream_id, self.initial_window)

    def _note(self, found: Frame) -> None:
        kind, flags, stream_id, body = found
        assert self._block is None or kind == CONTINUATION
        answer = self.answer(stream_id) if stream_id else Answer()
        if answer.reset is not None:
            assert kind == WINDOW_UPDATE, f"{found} behind the end"
        elif answer.is_ended:
            assert kind in {WINDOW_UPDATE, RST_STREAM}, f"{found} behind the end"
        match kind:
            case frames.DATA:
                self._note_data(answer, stream_id, body, flags)
            case frames.HEADERS | frames.CONTINUATION:
                self._note_headers(found)
            case frames.RST_STREAM:
                answer.reset = int.from_bytes(body, "big")
            case frames.SETTINGS if flags & ACK:
                self._acknowledged(self._unacknowledged.pop(0))
            case frames.SETTINGS:
                self.settings.update(struct.iter_unpack(">HI", body))
                self.send(frame(SETTINGS, ACK, 0))
            case frames.WINDOW_UPDATE:
                count = int.from_bytes(body, "big")
                assert count
                self.allowed[stream_id] = self.allowed.get(stream_id, 0) + count
            case frames.GOAWAY:
                last, code = struct.unpack(">II", body[:8])
                self.farewell = last, Code(code), body[8:]
            case _:
                assert kind == PING

    def _note_data(self, answer: Answer, stream_id: int, body: bytes, flags: int) -> None:
        assert answer.blocks, "DATA before headers"
        self.window -= len(body)
        self.windows[stream_id] = self._window(stream_id) - len(body)
        assert self.window >= 0, "more than the connection has room for"
        assert self.windows[stream_id] >= 0 or not body, "more than the stream has room for"
        answer.body += body
        answer.is_ended = bool(flags & END_STREAM)
        if self._gives_room and body:
            self.give_room(0, len(body))
            self.give_room(stream_id, len(body))

    def _note_headers(self, found: Frame) -> None:
        if found.kind == HEADERS:
            self._block = found.stream_id, found.flags, bytearray()
        assert self._block is not None
        stream_id, flags, block = self._block
        block += found.body
        if found.flags & END_HEADERS:
            self._block = None
            answer = self.answer(stream_id)
            answer.blocks.append({str(n): str(v) for n, v in self._decoder.decode(bytes(block))})
            answer.is_ended = bool(flags & END_STREAM)

    def _acknowledged(self, values: dict[int, int]) -> None:
        """Settings hold from their acknowledgement on."""
        initial = values.get(frames.INITIAL_WINDOW_SIZE, self.initial_window)
        for stream_id in self.windows:
            self.windows[stream_id] += initial - self.initial_window
        self.initial_window = initial
        self.max_frame = values.get(frames.MAX_FRAME_SIZE, self.max_frame)
        if 1 in values:
            self._decoder.max_allowed_table_size = values[1]


@pytest.fixture
async def served() -> AsyncIterator[Served]:
    async with serving() as one:
        yield one


@pytest.fixture
async def peer(served: Served) -> AsyncIterator[Peer]:
    async with served.peer() as one:
        yield one


# --- how a connection begins ----------------------------------------------------------------------


async def test_the_server_says_first_what_it_takes(peer: Peer) -> None:
    await peer.ping()
    assert peer.frames[0].kind == SETTINGS
    assert peer.settings[frames.INITIAL_WINDOW_SIZE] == STREAM_WINDOW_BYTES
    assert peer.settings[frames.MAX_HEADER_LIST_SIZE] == MAX_METADATA_BYTES
    assert peer.allowed[0] == CONNECTION_WINDOW_BYTES - DEFAULT_WINDOW_BYTES


async def test_a_preface_may_come_in_pieces(served: Served) -> None:
    for cut in (1, 5, 23, 24, 25, 32):
        async with served.peer(hello=b"") as peer:
            peer._unacknowledged.append({})
            peer.send(HELLO[:cut])
            await asyncio.sleep(0.005)
            peer.send(HELLO[cut:])
            assert await peer.is_well(1)


@pytest.mark.parametrize(
    "hello",
    [b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", b"x", PREFACE[:-1] + b"x", b"PRI * HTTP/1", b"\x16\x03\x01\x02\0"],
)  # fmt: skip
async def test_a_wrong_preface_ends_the_connection_at_its_first_wrong_byte(
    served: Served, hello: bytes
) -> None:
    async with served.peer(hello=hello) as peer:
        assert await peer.fault() is Code.PROTOCOL_ERROR


async def test_a_preface_without_settings_is_none(served: Served) -> None:
    """RFC 9113, section 3.4: the first frame is SETTINGS."""
    async with served.peer(hello=PREFACE + frame(PING, 0, 0, bytes(8))) as peer:
        assert await peer.fault() is Code.PROTOCOL_ERROR


# --- frames ---------------------------------------------------------------------------------------


class Wire(asyncio.Transport):
    """What a connection writes to, without a socket."""

    def __init__(self, connection: Connection) -> None:
        super().__init__()
        self.connection = connection
        self.sent = bytearray()
        self.is_shut = False

    def write(self, raw: Any) -> None:
        if not self.is_shut:
            self.sent += raw

    def close(self) -> None:
        if not self.is_shut:
            self.is_shut = True
            asyncio.get_running_loop().call_soon(self.connection.connection_lost, None)

    abort = close

    def is_closing(self) -> bool:
        return self.is_shut

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass

    def frames(self) -> list[Frame]:
        found, at = [], 0
        while at < len(self.sent):
            size = int.from_bytes(self.sent[at : at + 3], "big")
            head = self.sent[at + 3 : at + 9]
            body = bytes(self.sent[at + 9 : at + 9 + size])
            found.append(Frame(head[0], head[1], int.from_bytes(head[2:], "big"), body))
            at += 9 + size
        return found


def wired(max_bytes: int = MAX_BYTES, **handlers: Any) -> Wire:
    """A connection of a server without a socket."""
    server = LocalServer(max_bytes)
    server.add_generic_rpc_handlers(
        [grpc.method_handlers_generic_handler("t", {**SHAPES, **handlers})]
    )
    return wire_of(server, max_bytes)


def wire_of(server: LocalServer, max_bytes: int = MAX_BYTES) -> Wire:
    """A connection as the server makes them for its sockets."""
    loop = asyncio.get_running_loop()
    told = server._opened, server._closed, server._hold
    wire = Wire(Connection(loop, server._find, max_bytes, *told))
    wire.connection.connection_made(wire)
    return wire


def conversation() -> bytes:
    """A client that does a little of everything."""
    encoder = hpack.Encoder()

    def block(path: str, *more: Any) -> bytes:
        fields = [(name, path if name == ":path" else value) for name, value in CALL]
        return bytes(encoder.encode([*fields, *more]))

    def headers(stream_id: int, path: str, *more: Any) -> bytes:
        return frame(HEADERS, END_HEADERS, stream_id, block(path, *more))

    def cut_headers(stream_id: int, *more: Any) -> bytes:
        long = block("/t/Echo", *more)
        end = frame(CONTINUATION, END_HEADERS, stream_id, long[40:])
        return frame(HEADERS, 0, stream_id, long[:40]) + end

    return b"".join(
        (
            PREFACE,
            settings_frame((frames.INITIAL_WINDOW_SIZE, 100_000), (1, 4_096), (99, 7)),
            window_update(0, 1_000_000),
            headers(1, "/t/Echo", ("k", "v"), ("d-bin", "AAEC")),
            data(1, message(b"one"), end=True),
            headers(3, "/t/Chat", ("grpc-encoding", "gzip")),
            data(3, message(b"a") + message(gzip.compress(b"b"), 1)[:9]),
            frame(PING, 0, 0, b"12345678"),
            data(3, message(gzip.compress(b"b"), 1)[9:]),
            headers(5, "/t/Split", ("grpc-timeout", "30S")),
            frame(DATA, PADDED, 5, b"\x03" + message(b"some words") + bytes(3)),
            frame(DATA, END_STREAM, 5),
            cut_headers(7, ("long", "x" * 300)),
            frame(PRIORITY, 0, 7, bytes(5)),
            data(7, message(b"seven"), end=True),
            data(3, b"", end=True),
            headers(9, "/t/Join"),
            frame(0x55, 0xFF, 9, b"unknown"),
            data(9, message(b"x") + message(b"y")),
            window_update(9, 1_000),
            reset(9, Code.CANCEL),
            headers(11, "/t/Nothing"),
            settings_frame((frames.INITIAL_WINDOW_SIZE, 50)),
            headers(13, "/t/Echo"),
            data(13, message(bytes(100)), end=True),
            window_update(13, 1_000),
        )
    )


GOOD = conversation()


def said(wire: Wire) -> dict[int, list[bytes]]:
    """The messages of each answer that is whole."""
    answers: dict[int, Answer] = {}
    for kind, flags, stream_id, body in wire.frames():
        answer = answers.setdefault(stream_id, Answer())
        if kind == DATA:
            answer.body += body
        answer.is_ended |= bool(flags & END_STREAM) and kind in {DATA, HEADERS}
    return {key: one.messages for key, one in answers.items() if one.is_ended}


ANSWERS = {
    1: [b"one"], 3: [b"A", b"B"], 5: [b"some", b"words"], 7: [b"seven"], 11: [], 13: [bytes(100)],
}  # fmt: skip


async def settle(wire: Wire) -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def hung_up(wire: Wire, before: set[Any]) -> None:
    """The client goes: nothing must be left."""
    wire.close()
    await until(lambda: not wire.connection._streams, "no stream is left")
    await until(lambda: no_task_but(before), "no task is left")


async def test_frames_may_be_cut_anywhere_byte_by_byte() -> None:
    before = asyncio.all_tasks()
    wire = wired()
    for at in range(len(GOOD)):
        wire.connection.data_received(GOOD[at : at + 1])
        if at % 7 == 0:
            await asyncio.sleep(0)
    await settle(wire)
    assert said(wire) == ANSWERS
    await hung_up(wire, before)


@pytest.mark.parametrize("seed", range(10))
async def test_frames_may_be_cut_anywhere(seed: int) -> None:
    chance = random.Random(seed)
    before = asyncio.all_tasks()
    wire = wired()
    cuts = sorted(chance.sample(range(len(GOOD)), chance.choice([0, 1, 3, 20])))
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
        assert await peer.fault() in {Code.PROTOCOL_ERROR, Code.FRAME_SIZE_ERROR}
    async with served.peer() as peer:
        peer.send(frame(HEADERS, PADDED | END_HEADERS, 1, body))
        assert await peer.fault() in {Code.PROTOCOL_ERROR, Code.FRAME_SIZE_ERROR}


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


async def test_the_end_of_the_stream_is_said_by_the_first_frame_of_headers(served: Served) -> None:
    async with served.peer() as peer:
        block = peer.block("/t/Join")
        peer.send(frame(HEADERS, END_STREAM, 1, block[:9]))
        peer.send(frame(CONTINUATION, END_HEADERS, 1, block[9:]))
        assert (await peer.over()).messages == [b""]


@pytest.mark.parametrize(
    "between",
    [data(1, b""), frame(PING, 0, 0, bytes(8)), frame(0x42, 0, 0), frame(SETTINGS, 0, 0), window_update(0, 1),
     frame(HEADERS, END_HEADERS, 3, b"\x82"), frame(CONTINUATION, END_HEADERS, 3, b"\x82"), reset(1, Code.CANCEL)],
)  # fmt: skip
async def test_nothing_may_come_between_the_frames_of_headers(
    served: Served, between: bytes
) -> None:
    async with served.peer() as peer:
        block = peer.block()
        peer.send(frame(HEADERS, 0, 1, block[:5]), between)
        peer.send(frame(CONTINUATION, END_HEADERS, 1, block[5:]))
        assert await peer.fault() is Code.PROTOCOL_ERROR


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
        assert await peer.fault() is Code.PROTOCOL_ERROR
    async with served.peer() as peer:
        peer.send(peer.headers(1), frame(CONTINUATION, END_HEADERS, 1, b""))
        assert await peer.fault() is Code.PROTOCOL_ERROR


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
async def test_a_longer_frame_ends_the_connection_before_it_has_come(
    served: Served, kind: int
) -> None:
    async with served.peer() as peer:
        peer.send(peer.headers(1))
        peer.send(frame(kind, 0, 1, bytes(LEAST_FRAME_BYTES + 1))[:9])
        assert await peer.fault() is Code.FRAME_SIZE_ERROR


@pytest.mark.parametrize(
    "raw",
    [frame(PING, 0, 0, bytes(7)), frame(PING, 0, 0, bytes(9)), frame(RST_STREAM, 0, 1, bytes(3)),
     frame(WINDOW_UPDATE, 0, 0, bytes(5)), frame(WINDOW_UPDATE, 0, 1, b""), frame(SETTINGS, 0, 0, bytes(5)),
     frame(SETTINGS, ACK, 0, bytes(6)), frame(HEADERS, END_HEADERS | HAS_PRIORITY, 3, bytes(4))],
)  # fmt: skip
async def test_a_frame_of_a_wrong_size_ends_the_connection(served: Served, raw: bytes) -> None:
    async with served.peer() as peer:
        peer.send(peer.headers(1, "/t/Join"), raw)
        assert await peer.fault() is Code.FRAME_SIZE_ERROR


@pytest.mark.parametrize(
    "raw",
    [frame(SETTINGS, 0, 1), frame(SETTINGS, ACK, 1), frame(PING, 0, 1, bytes(8)), data(0, b"x"),
     frame(HEADERS, END_HEADERS, 0, b"\x82"), frame(HEADERS, END_HEADERS, 2, b"\x82"), reset(0, Code.CANCEL),
     frame(PUSH_PROMISE, END_HEADERS, 1, bytes(4)), frame(CONTINUATION, END_HEADERS, 0)],
)  # fmt: skip
async def test_a_frame_on_a_stream_where_it_cannot_be_ends_the_connection(
    served: Served, raw: bytes
) -> None:
    async with served.peer() as peer:
        peer.send(peer.headers(1, "/t/Join"), raw)
        assert await peer.fault() is Code.PROTOCOL_ERROR


@pytest.mark.parametrize("raw", [frame(PRIORITY, 0, 0, bytes(5)), frame(GOAWAY, 0, 1, bytes(8))])
async def test_priority_and_farewell_have_their_streams_too(served: Served, raw: bytes) -> None:
    async with served.peer() as peer:
        peer.send(raw)
        assert await peer.fault() is Code.PROTOCOL_ERROR


async def test_a_priority_may_come_for_any_stream(peer: Peer) -> None:
    peer.send(frame(PRIORITY, 0, 9, bytes(5)), peer.headers(1), frame(PRIORITY, 0, 1, bytes(5)))
    peer.send(data(1, message(b"x"), end=True))
    await peer.over()
    peer.send(frame(PRIORITY, 0, 1, bytes(5)))
    assert await peer.is_well(3)


# --- streams and their numbers --------------------------------------------------------------------


@pytest.mark.parametrize("stream_id", [5, 2, 4])
@pytest.mark.parametrize("kind", [DATA, RST_STREAM, WINDOW_UPDATE])
async def test_frames_on_a_stream_that_never_was_end_the_connection(
    served: Served, stream_id: int, kind: int
) -> None:
    async with served.peer() as peer:
        assert await peer.is_well(3)
        peer.send(frame(kind, 0, stream_id, b"\0\0\0\x08"))
        assert await peer.fault() is Code.PROTOCOL_ERROR


async def test_frames_on_a_stream_that_is_over_are_passed_over(peer: Peer) -> None:
    """They may have been sent before the client knew."""
    assert (await peer.ask(1, "/t/None")).status is Status.UNIMPLEMENTED
    for stream_id in (3, 5):
        peer.send(peer.headers(stream_id, "/t/Join"), reset(stream_id, Code.CANCEL))
    for stream_id in (1, 3, 5):
        peer.send(data(stream_id, bytes(100)), window_update(stream_id, 5))
        peer.send(reset(stream_id, Code.CANCEL), data(stream_id, b"", end=True))
    assert await peer.is_well(7)


async def test_what_is_sent_to_streams_that_are_over_counts_for_the_connection(peer: Peer) -> None:
    """Else the window of the connection would leak away."""
    peer.send(peer.headers(1, "/t/Join"), reset(1, Code.CANCEL))
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
    served: Served, stream_id: int
) -> None:
    """RFC 9113, section 5.1.1; else its client would wait for ever."""
    async with served.peer() as peer:
        assert await peer.is_well(5)
        peer.call(stream_id, "/t/Echo", b"x")
        assert await peer.fault() in {Code.PROTOCOL_ERROR, Code.STREAM_CLOSED}


async def test_numbers_may_be_left_out(peer: Peer) -> None:
    for stream_id in (1, 7, 1_001, 2**31 - 1):
        assert await peer.is_well(stream_id)


async def test_trailers_of_a_client_end_its_requests(peer: Peer) -> None:
    peer.send(peer.headers(1, "/t/Join"), data(1, message(b"a") + message(b"b")))
    peer.send(
        frame(HEADERS, END_HEADERS | END_STREAM, 1, bytes(hpack.Encoder().encode([("k", "v")])))
    )
    assert (await peer.over()).messages == [b"a+b"]


async def test_headers_again_that_end_nothing_are_an_error(served: Served) -> None:
    async with served.peer() as peer:
        peer.send(peer.headers(1, "/t/Join"), peer.headers(1, "/t/Join"))
        while not peer.answer(1).is_over and await peer.next() is not None:
            pass
        found = peer.farewell[1] if peer.farewell else peer.answer(1).reset
        assert found == Code.PROTOCOL_ERROR


async def test_what_comes_behind_the_end_of_a_stream_is_not_taken() -> None:
    """RFC 9113, section 5.1, half-closed (remote): an error of the stream or of the connection, STREAM_CLOSED."""
    gate = Gate()
    async with (
        serving(Late=grpc.stream_unary_rpc_method_handler(gate.stream)) as served,
        served.peer() as peer,
    ):
        peer.send(peer.headers(1, "/t/Late"), data(1, message(b"a"), end=True))
        peer.send(data(1, message(b"behind the end")), frame(PING, 0, 0, bytes(8)))
        pong = (PING, ACK, 0, bytes(8))
        await peer.until(
            lambda: peer.answer(1).is_over or peer.farewell or peer.frames[-1:] == [pong]
        )
        gate.open.set()
        found = peer.farewell[1] if peer.farewell else peer.answer(1).reset
        assert found == Code.STREAM_CLOSED


async def test_more_streams_than_are_allowed_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_module, "MOST_STREAMS", 3)
    gate = Gate()
    async with (
        serving(Wait=grpc.unary_unary_rpc_method_handler(gate.unary)) as served,
        served.peer() as peer,
    ):
        for stream_id in (1, 3, 5, 7, 9):
            peer.call(stream_id, "/t/Wait", b"%d" % stream_id)
        assert (await peer.over(7)).reset == Code.REFUSED_STREAM
        assert (await peer.over(9)).reset == Code.REFUSED_STREAM
        assert peer.settings[frames.MAX_CONCURRENT_STREAMS] == 3
        assert gate.started == 3
        gate.open.set()
        for stream_id in (1, 3, 5):
            assert (await peer.over(stream_id)).messages == [b"%d" % stream_id]
        assert await peer.is_well(11)


# --- what the client has room for -----------------------------------------------------------------


async def test_an_answer_goes_through_a_window_of_one_byte() -> None:
    before = asyncio.all_tasks()
    wire = wired()
    encoder = hpack.Encoder()
    fields = [(name, "/t/Big" if name == ":path" else value) for name, value in CALL]
    take = wire.connection.data_received
    take(PREFACE + settings_frame((frames.INITIAL_WINDOW_SIZE, 1)) + window_update(0, 2**20))
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
async def test_a_frame_size_that_cannot_be_ends_the_connection(served: Served, value: int) -> None:
    async with served.peer() as peer:
        peer.send(settings_frame((frames.MAX_FRAME_SIZE, value)))
        assert await peer.fault() is Code.PROTOCOL_ERROR


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

    async with (
        serving(Endless=grpc.unary_stream_rpc_method_handler(endless)) as served,
        served.peer(gives_room=False) as peer,
    ):
        peer.set((frames.INITIAL_WINDOW_SIZE, 2**30))
        peer.call(1, "/t/Endless")
        await peer.until(lambda: peer.window == 0)
        peer.call(3, "/t/Big", b"70000")
        for _ in range(60):
            peer.give_room(0, 5_000)
            await peer.until(lambda: peer.window == 0 or peer.answer(3).is_over)
        assert peer.answer(3).messages == [pattern(70_000)]
        peer.send(reset(1, Code.CANCEL))


async def test_a_stream_that_is_cancelled_gives_its_place_to_others(served: Served) -> None:
    async with served.peer(gives_room=False) as peer:
        peer.set((frames.INITIAL_WINDOW_SIZE, 10**6))
        peer.call(1, "/t/Big", b"100000")
        await peer.until(lambda: peer.window == 0)
        peer.call(3, "/t/Echo", b"x")
        peer.send(reset(1, Code.CANCEL))
        await peer.ping()
        peer.give_room(0, 6)
        assert (await peer.over(3)).messages == [b"x"]


@pytest.mark.parametrize("stream_id", [0, 1])
async def test_room_for_nothing_is_an_error(served: Served, stream_id: int) -> None:
    async with served.peer() as peer:
        peer.send(peer.headers(1, "/t/Join"), window_update(stream_id, 0))
        while not peer.answer(1).is_over and await peer.next() is not None:
            pass
        found = peer.farewell[1] if peer.farewell else peer.answer(1).reset
        assert found == Code.PROTOCOL_ERROR


@pytest.mark.parametrize("stream_id", [0, 1])
async def test_too_wide_a_window_is_an_error(served: Served, stream_id: int) -> None:
    async with served.peer() as peer:
        most = MOST_WINDOW_BYTES - DEFAULT_WINDOW_BYTES
        peer.send(peer.headers(1, "/t/Join"), window_update(stream_id, most))
        await peer.ping()
        peer.send(window_update(stream_id, 1))
        while not peer.answer(1).is_over and await peer.next() is not None:
            pass
        found = peer.farewell[1] if peer.farewell else peer.answer(1).reset
        assert found == Code.FLOW_CONTROL_ERROR


async def test_settings_of_too_wide_a_window_are_an_error(served: Served) -> None:
    async with served.peer() as peer:
        peer.send(settings_frame((frames.INITIAL_WINDOW_SIZE, 2**31)))
        assert await peer.fault() is Code.FLOW_CONTROL_ERROR


async def test_settings_that_make_a_window_too_wide_are_an_error(served: Served) -> None:
    """RFC 9113, section 6.9.2."""
    async with served.peer() as peer:
        peer.send(peer.headers(1, "/t/Join"), window_update(1, 2**30))
        peer.set((frames.INITIAL_WINDOW_SIZE, 2**31 - 1))
        await peer.until(lambda: peer.farewell)
        assert peer.farewell[1] is Code.FLOW_CONTROL_ERROR


async def test_a_client_that_may_remember_no_headers_is_told_that_none_are(served: Served) -> None:
    """RFC 7541, section 4.2: an encoder whose table is made smaller says so in its next block."""
    async with served.peer() as peer:
        peer.set((1, 0))
        assert (await peer.ask(1)).messages == [b"x"]
        assert (await peer.ask(3, "/t/Nothing")).status is Status.UNIMPLEMENTED


# --- what the server has room for -----------------------------------------------------------------


async def test_more_than_there_is_room_for_ends_the_connection() -> None:
    gate = Gate()
    async with (
        serving(Late=grpc.stream_unary_rpc_method_handler(gate.stream)) as served,
        served.peer() as peer,
    ):
        peer.send(peer.headers(1, "/t/Late"))
        full = STREAM_WINDOW_BYTES // LEAST_FRAME_BYTES
        peer.send(*[data(1, message(bytes(LEAST_FRAME_BYTES - 5)))] * full)
        await peer.ping()
        for _ in range(full + 1):  # whatever was allowed meanwhile, this is more
            peer.send(data(1, message(bytes(LEAST_FRAME_BYTES - 5))))
        assert await peer.fault() is Code.FLOW_CONTROL_ERROR
        await until(lambda: gate.cancelled, "its handler is cancelled")


async def test_a_handler_that_does_not_read_stops_its_client_until_it_does() -> None:
    gate = Gate()
    async with (
        serving(Late=grpc.stream_unary_rpc_method_handler(gate.stream)) as served,
        served.peer() as peer,
    ):
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
    async with (
        serving(Late=grpc.stream_unary_rpc_method_handler(gate.stream)) as served,
        served.peer() as peer,
    ):
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
        peer.send(reset(1, Code.CANCEL))
        assert held < 2 * MAX_BYTES + 4 * 2**20


async def test_what_lies_unread_on_all_calls_together_is_bounded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(server_module, "MOST_HELD_BYTES", 100_000)
    gate = Gate()
    async with (
        serving(Late=grpc.stream_unary_rpc_method_handler(gate.stream)) as served,
        served.peer() as peer,
    ):
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


# --- pings, settings, floods ----------------------------------------------------------------------


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
        await context.abort(Status.NOT_FOUND, "x" * 400)
        return b""

    most = 0
    async with (
        serving(Abort=grpc.unary_unary_rpc_method_handler(abort)) as served,
        served.peer(receive_bytes=4_096) as peer,
    ):
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
    gate = Gate()
    async with (
        serving(Wait=grpc.unary_unary_rpc_method_handler(gate.unary)) as served,
        served.peer() as peer,
    ):
        for stream_id in range(1, 4_001, 2):
            peer.call(stream_id, "/t/Wait")
            peer.send(reset(stream_id, Code.CANCEL))
        await peer.ping()
        assert not served.connection._streams
        await until(lambda: gate.started == gate.cancelled, "all are cancelled")
        assert await peer.is_well(4_001)


# --- how a call ends before it is answered --------------------------------------------------------


@pytest.mark.parametrize("path", ["/t/Wait", "/t/Late"])
async def test_a_client_that_cancels_cancels_the_handler(path: str) -> None:
    gate = Gate()
    async with (
        serving(
            Wait=grpc.unary_unary_rpc_method_handler(gate.unary),
            Late=grpc.stream_unary_rpc_method_handler(gate.stream),
        ) as served,
        served.peer() as peer,
    ):
        peer.send(peer.headers(1, path), data(1, message(b"x")))
        await until(lambda: gate.started, "it runs")
        peer.send(reset(1, Code.CANCEL))
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

    async with (
        serving(
            Hear=grpc.stream_unary_rpc_method_handler(hearing),
            Say=grpc.unary_stream_rpc_method_handler(saying),
        ) as served,
        served.peer(gives_room=False) as peer,
    ):
        peer.send(peer.headers(1, "/t/Hear"))
        peer.call(3, "/t/Say")
        await peer.until(lambda: peer.window == 0)
        await peer.ping()
        peer.send(reset(3, Code.CANCEL), reset(1, Code.CANCEL))
        await until(lambda: sorted(ends) == ["hearing", "saying"], "both are cancelled")


async def test_a_connection_that_is_lost_cancels_its_handlers() -> None:
    gate = Gate()
    async with serving(
        Wait=grpc.unary_unary_rpc_method_handler(gate.unary),
        Late=grpc.stream_unary_rpc_method_handler(gate.stream),
    ) as served:
        async with served.peer() as peer:
            for stream_id in (1, 3):
                peer.call(stream_id, "/t/Wait")
            peer.send(peer.headers(5, "/t/Late"), peer.headers(7, "/t/Echo"))
            await until(lambda: gate.started == 3, "they run")
        await until(lambda: gate.cancelled == 3, "they are cancelled")
        await until(served.server.is_clean, "no stream is left")


async def test_a_fault_of_the_connection_cancels_its_handlers() -> None:
    gate = Gate()
    async with (
        serving(Wait=grpc.unary_unary_rpc_method_handler(gate.unary)) as served,
        served.peer() as peer,
    ):
        peer.call(1, "/t/Wait")
        await until(lambda: gate.started, "it runs")
        peer.send(frame(PUSH_PROMISE, 0, 1, bytes(4)))
        assert await peer.fault() is Code.PROTOCOL_ERROR
        await until(lambda: gate.cancelled, "it is cancelled")


@pytest.mark.parametrize("deadline", ["20m", "20000u", "20000000n", "1n", "0n", "0S"])
async def test_a_deadline_ends_the_call(deadline: str) -> None:
    gate = Gate()
    async with (
        serving(Wait=grpc.unary_unary_rpc_method_handler(gate.unary)) as served,
        served.peer() as peer,
    ):
        answer = await peer.ask(1, "/t/Wait", b"x", ("grpc-timeout", deadline))
        assert answer.reset == Code.CANCEL or answer.status is Status.DEADLINE_EXCEEDED
        assert gate.started == gate.cancelled
        assert served.connection._streams == {}


@pytest.mark.parametrize("deadline", ["1H", "1M", "20S", "99999999H", "99999999S"])
async def test_a_deadline_far_away_ends_nothing(deadline: str) -> None:
    left: list[float] = []

    async def ask(request: bytes, context: Any) -> bytes:
        left.append(context.time_remaining())
        return request

    async with (
        serving(Left=grpc.unary_unary_rpc_method_handler(ask)) as served,
        served.peer() as peer,
    ):
        answer = await peer.ask(1, "/t/Left", b"x", ("grpc-timeout", deadline))
        assert answer.messages == [b"x"]
        assert left[0] > 15


async def test_without_a_deadline_none_is_told() -> None:
    left: list[float | None] = []

    async def ask(request: bytes, context: Any) -> bytes:
        left.append(context.time_remaining())
        return request

    async with (
        serving(Left=grpc.unary_unary_rpc_method_handler(ask)) as served,
        served.peer() as peer,
    ):
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
        assert answer.reset == Code.CANCEL or answer.status is Status.DEADLINE_EXCEEDED


@pytest.mark.parametrize("path", ["/t/Big", "/t/Split"])
async def test_a_deadline_ends_a_call_whose_answer_nobody_has_room_for(path: str) -> None:
    """Its handler may long be done; the answer is held for nobody."""
    async with serving() as served, served.peer(gives_room=False) as peer:
        peer.set((frames.INITIAL_WINDOW_SIZE, 4))
        peer.call(1, path, b"1000 2000" if path == "/t/Split" else b"1000", ("grpc-timeout", "30m"))
        await peer.until(lambda: len(peer.answer(1).body) == 4)
        answer = await peer.over()
        assert answer.reset == Code.CANCEL or answer.status is Status.DEADLINE_EXCEEDED
        assert served.connection._streams == {}


async def flow(_: bytes, __: Any) -> AsyncIterator[bytes]:
    while True:
        yield bytes(50_000)


async def test_a_deadline_ends_a_call_whose_handler_waits_for_room() -> None:
    async with (
        serving(Flow=grpc.unary_stream_rpc_method_handler(flow)) as served,
        served.peer(gives_room=False) as peer,
    ):
        peer.set((frames.INITIAL_WINDOW_SIZE, 4))
        peer.call(1, "/t/Flow", b"", ("grpc-timeout", "30m"))
        await peer.until(lambda: len(peer.answer(1).body) == 4)
        answer = await peer.over()
        assert answer.reset == Code.CANCEL or answer.status is Status.DEADLINE_EXCEEDED
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


# --- requests -------------------------------------------------------------------------------------


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
    assert peer.answer(1).reset == Code.NO_ERROR
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
        assert (await peer.over(stream_id)).fields == {":status": status}
    assert await peer.is_well(5)


@pytest.mark.parametrize("path", ["/t/Nothing", "/no/Echo", "/", "", "*", "/t/Echo/", "t/Echo"])
async def test_a_path_that_nobody_serves_is_unimplemented(peer: Peer, path: str) -> None:
    assert (await peer.ask(1, path)).status is Status.UNIMPLEMENTED
    assert await peer.is_well(3)


async def test_metadata_is_told_to_the_handler() -> None:
    told: list[Any] = []

    async def hear(request: bytes, context: Any) -> bytes:
        told.append(context.invocation_metadata())
        return request

    async with (
        serving(Hear=grpc.unary_unary_rpc_method_handler(hear)) as served,
        served.peer() as peer,
    ):
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


# --- answers --------------------------------------------------------------------------------------


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


# --- how a server stops ---------------------------------------------------------------------------


async def test_stopping_closes_idle_connections_with_a_farewell(served: Served) -> None:
    async with served.peer() as peer, served.peer() as other:
        assert await peer.is_well(3)
        await other.ping()
        await served.server.stop(PATIENCE_S)
        assert await peer.fault() is Code.NO_ERROR
        assert peer.farewell
        assert peer.farewell[0] == 3
        assert await other.fault() is Code.NO_ERROR
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", served.port)


async def test_stopping_lets_running_calls_end_and_takes_no_new_ones() -> None:
    gate = Gate()
    async with (
        serving(Wait=grpc.unary_unary_rpc_method_handler(gate.unary)) as served,
        served.peer() as peer,
    ):
        peer.call(1, "/t/Wait", b"answer")
        peer.send(peer.headers(3, "/t/Join"), data(3, message(b"a")))
        await until(lambda: gate.started and len(served.connection._streams) == 2, "both run")
        stopping = asyncio.create_task(served.server.stop(PATIENCE_S))
        await peer.until(lambda: peer.farewell)
        assert peer.farewell == (3, Code.NO_ERROR, b"")
        peer.call(5, "/t/Wait", b"too late")
        peer.send(reset(5, Code.CANCEL))
        peer.send(data(3, message(b"b"), end=True))
        assert (await peer.over(3)).messages == [b"a+b"]
        await peer.ping()
        assert not stopping.done()
        gate.open.set()
        assert (await peer.over(1)).messages == [b"answer"]
        assert await peer.next() is None
        await stopping
        assert gate.started == 1
        assert peer.answer(5) == Answer()


@pytest.mark.parametrize("grace_s", [None, 0.0, 0.05])
async def test_calls_that_outlive_the_grace_are_unavailable(grace_s: float | None) -> None:
    gate = Gate()
    async with (
        serving(Wait=grpc.unary_unary_rpc_method_handler(gate.unary)) as served,
        served.peer() as peer,
    ):
        peer.call(1, "/t/Wait")
        peer.send(peer.headers(3, "/t/Join"), peer.headers(5, "/t/Echo"))
        await until(lambda: gate.started and len(served.connection._streams) == 3, "they run")
        stopping = asyncio.create_task(served.server.stop(grace_s))
        for stream_id in (1, 3, 5):
            assert (await peer.over(stream_id)).status is Status.UNAVAILABLE
        while await peer.next() is not None:
            pass
        await stopping
        assert gate.cancelled == 1


@pytest.mark.parametrize("path", ["/t/Echo", "/t/Flow"])
async def test_an_answer_that_nobody_has_room_for_is_broken_off_with_a_word(path: str) -> None:
    """Its handler is done, or waits for room: UNAVAILABLE or a reset, not just a closed connection."""
    async with (
        serving(Flow=grpc.unary_stream_rpc_method_handler(flow)) as served,
        served.peer(gives_room=False) as peer,
    ):
        peer.set((frames.INITIAL_WINDOW_SIZE, 4))
        peer.call(1, path, b"text")
        await peer.until(lambda: len(peer.answer(1).body) == 4)
        stopping = asyncio.create_task(served.server.stop(0.01))
        while await peer.next() is not None:
            pass
        await stopping
        assert peer.answer(1).is_over


async def test_a_handler_that_goes_on_though_cancelled_holds_up_no_stop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(server_module, "BREAK_OFF_S", 0.05)
    gate = asyncio.Event()

    async def deaf(request: bytes, _: Any) -> bytes:
        while not gate.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await gate.wait()
        return request

    async with (
        serving(Deaf=grpc.unary_unary_rpc_method_handler(deaf)) as served,
        served.peer() as peer,
    ):
        peer.call(1, "/t/Deaf")
        await until(lambda: served.server.seen and served.connection._streams, "it runs")
        async with asyncio.timeout(PATIENCE_S):
            await served.server.stop(0.0)
        assert not served.server._connections
        gate.set()


async def test_stopping_twice_and_at_once_is_stopping(served: Served) -> None:
    async with served.peer() as peer:
        await peer.ping()
        async with asyncio.timeout(PATIENCE_S):
            await asyncio.gather(*(served.server.stop(0.0) for _ in range(3)))
            await served.server.stop(None)
            await served.server.wait_for_termination()


async def test_stopping_before_the_start_closes_the_sockets() -> None:
    server = LocalServer(MAX_BYTES)
    bound = socket.create_server(("127.0.0.1", 0))
    server.add_socket(bound)
    async with asyncio.timeout(PATIENCE_S):
        await server.stop(1.0)
        await server.wait_for_termination()
    assert bound.fileno() == -1


async def test_who_connects_while_the_server_stops_is_closed_too() -> None:
    """The connection is accepted, and made known only after `stop` has told all connections to leave."""
    before = asyncio.all_tasks()
    server = LocalServer(MAX_BYTES)
    await server.stop(0.0)
    wire = wire_of(server)
    await settle(wire)
    assert wire.is_shut
    await hung_up(wire, before)


async def test_a_stop_is_not_held_up_by_a_client_that_does_not_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(server_module, "BREAK_OFF_S", 0.05)
    async with serving() as served, served.peer(receive_bytes=4_096, gives_room=False) as peer:
        peer.set((frames.INITIAL_WINDOW_SIZE, 2**30))
        peer.give_room(0, 2**30)
        peer.call(1, "/t/Big", b"8000000")
        await until(lambda: served.server.seen and served.connection._is_paused, "it is stuck")
        async with asyncio.timeout(PATIENCE_S):
            await served.server.stop(0.0)
        assert not served.server._connections


# --- anything at all ------------------------------------------------------------------------------


async def survived(reads: Sequence[bytes]) -> None:
    """Whatever was read: nothing is raised, no failure of ours, whatever is whole is answered, nothing is left."""
    before = asyncio.all_tasks()
    wire = wired(100_000)
    for one in reads:
        if not wire.is_shut:
            wire.connection.data_received(one)
        await asyncio.sleep(0)
    await settle(wire)
    codes = [
        Code(int.from_bytes(one.body[4:8], "big")) for one in wire.frames() if one.kind == GOAWAY
    ]
    assert Code.INTERNAL_ERROR not in codes
    assert wire.is_shut == bool(codes)
    for stream in wire.connection._streams.values():
        waits = not stream.has_ended  # for the client to say more
        assert waits or stream._unsent, "neither answered nor held back by a window"
    await hung_up(wire, before)


@settings(max_examples=150)
@given(st.lists(st.binary(max_size=60), max_size=5), st.booleans())
async def test_any_bytes_end_in_an_answer_or_a_farewell(
    reads: list[bytes], is_greeted: bool
) -> None:
    await survived([HELLO, *reads] if is_greeted else reads)


FRAMES = st.builds(
    frame,
    st.integers(0, 11),
    st.sampled_from([0, 1, 4, 5, 8, 9, 0x0D, 0x20, 0x2D, 0xFF]),
    st.sampled_from([0, 1, 2, 3, 5, 7, 2**31 - 1, 2**32 - 1]),
    st.one_of(
        st.sampled_from(
            [b"", bytes(4), b"\0\0\0\x08", b"\x7f\xff\xff\xff", bytes(5), bytes(8), b"\0\4\0\0\0\0",
             message(b"text"), message(gzip.compress(b"x"), 1), bytes(hpack.Encoder().encode(CALL))]
        ),
        st.binary(max_size=30),
    ),
)  # fmt: skip


@settings(max_examples=250)
@given(st.lists(FRAMES, max_size=12))
async def test_any_frames_end_in_an_answer_or_a_farewell(given_frames: list[bytes]) -> None:
    await survived([HELLO, *given_frames])


@settings(max_examples=250)
@given(st.integers(0, 2**32))
async def test_a_good_conversation_with_faults_ends_in_answers_or_a_farewell(seed: int) -> None:
    chance = random.Random(seed)
    raw = bytearray(GOOD)
    for _ in range(chance.choice([1, 1, 2, 5, 30])):
        at = chance.randrange(len(PREFACE) if chance.random() < 0.95 else 0, len(raw))
        match chance.randrange(5):
            case 0:
                raw[at] = chance.randrange(256)
            case 1:
                raw[at] ^= 1 << chance.randrange(8)
            case 2:
                del raw[at : at + chance.choice([1, 4, 9, 30])]
            case 3:
                raw[at:at] = chance.randbytes(chance.choice([1, 4, 9, 30]))
            case _:
                raw[at:at] = raw[at : at + chance.choice([9, 13, 50])]
    cuts = sorted(chance.choices(range(len(raw)), k=chance.choice([0, 1, 10])))
    await survived([bytes(raw[a:b]) for a, b in itertools.pairwise([0, *cuts, len(raw)])])


async def test_a_good_conversation_without_faults_is_answered_whole() -> None:
    """What the one above starts from."""
    await survived([GOOD])


async def test_what_is_small_is_sent_at_once() -> None:
    """TCP_NODELAY, whatever the loop: asyncio sets it only on sockets that say they are TCP's."""
    listeners = Listeners()
    listeners.add_generic_rpc_handlers([grpc.method_handlers_generic_handler("t", SHAPES)])
    target = listeners.bind(Address("127.0.0.1", 0, Reach.LOOPBACK))
    await listeners.start()
    _, writer = await asyncio.open_connection("127.0.0.1", int(target.rsplit(":", 1)[1]))
    known = listeners._local._connections
    await until(lambda: known, "it is connected")
    accepted = next(iter(known))._transport.get_extra_info("socket")
    assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
    writer.close()
    await listeners.stop(0.0)


# --- gRPC's own client ----------------------------------------------------------------------------


@asynccontextmanager
async def channel(port: int, **options: Any) -> AsyncIterator[Any]:
    sizes = [(f"grpc.max_{name}_message_length", 2 * MAX_BYTES) for name in ("send", "receive")]
    more = [("grpc.initial_reconnect_backoff_ms", 100), ("grpc.use_local_subchannel_pool", 1)]
    async with grpc.aio.insecure_channel(
        f"127.0.0.1:{port}", options=sizes + more, **options
    ) as made:
        yield made


async def requests(bodies: Iterable[bytes]) -> AsyncIterator[bytes]:
    for one in bodies:
        yield one


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
        serving(Wait=grpc.unary_unary_rpc_method_handler(gate.unary)) as served,
        channel(served.port) as client,
    ):
        wait = client.unary_unary("/t/Wait")
        calls = [wait(b"%d" % number) for number in range(2_000)]
        answers: Awaitable[list[bytes]] = asyncio.gather(*calls)
        await until(lambda: gate.started == 2_000, "all run at once")
        assert len(served.server.seen) == 1
        gate.open.set()
        assert await answers == [b"%d" % number for number in range(2_000)]


async def test_grpc_waits_until_the_server_is_there() -> None:
    bound = socket.socket()
    bound.bind(("127.0.0.1", 0))  # nobody listens yet
    bound.setblocking(False)
    server = Watched()
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler("t", SHAPES)])
    async with channel(bound.getsockname()[1]) as client:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await client.unary_unary("/t/Echo")(b"x")
        assert caught.value.code() is Status.UNAVAILABLE
        call = asyncio.ensure_future(client.unary_unary("/t/Echo")(b"x", wait_for_ready=True))
        server.add_socket(bound)
        await server.start()
        assert await call == b"x"
    await server.stop(1.0)


async def test_grpc_is_told_status_text_and_metadata() -> None:
    told: list[Any] = []

    async def end(_: bytes, context: Any) -> bytes:
        told.append(dict(context.invocation_metadata()))
        await context.abort(Status.NOT_FOUND, "没有：100%", (("why-bin", b"\0\xff"), ("k", "v")))
        return b""

    async with (
        serving(End=grpc.unary_unary_rpc_method_handler(end)) as served,
        channel(served.port) as client,
    ):
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await client.unary_unary("/t/End")(b"", metadata=(("d-bin", b"\1\xfe"), ("k", "v")))
        assert caught.value.code() is Status.NOT_FOUND
        assert caught.value.details() == "没有：100%"
        trailing = dict(tuple(caught.value.trailing_metadata()))
        assert (trailing["why-bin"], trailing["k"]) == (b"\0\xff", "v")
        assert (told[0]["d-bin"], told[0]["k"]) == (b"\1\xfe", "v")


async def test_grpc_is_told_what_it_asked_wrong(served: Served) -> None:
    async with channel(served.port) as client:
        for path, body, code in (
            ("/t/Nothing", b"", Status.UNIMPLEMENTED),
            ("/t/Echo", bytes(MAX_BYTES + 1), Status.RESOURCE_EXHAUSTED),
        ):
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await client.unary_unary(path)(body)
            assert caught.value.code() is code
        assert await client.unary_unary("/t/Echo")(b"x") == b"x"


async def test_a_handler_is_told_the_same_metadata_as_by_grpc() -> None:
    """The edge must not be told from gRPC's own server by what it adds or leaves out."""
    told: list[Any] = []

    async def hear(request: bytes, context: Any) -> bytes:
        told.append(tuple((name, value) for name, value in context.invocation_metadata()))
        return request

    handlers: dict[str, Any] = {"Hear": grpc.unary_unary_rpc_method_handler(hear)}
    async with serving(**handlers) as served:
        theirs = grpc.aio.server()
        theirs.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("t", handlers),))
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


async def test_grpc_cancels_and_times_out() -> None:
    gate = Gate()
    async with (
        serving(Wait=grpc.unary_unary_rpc_method_handler(gate.unary)) as served,
        channel(served.port) as client,
    ):
        call = client.unary_unary("/t/Wait")(b"")
        await until(lambda: gate.started == 1, "it runs")
        call.cancel()
        await until(lambda: gate.cancelled == 1, "it is cancelled")
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await client.unary_unary("/t/Wait")(b"", timeout=0.05)
        assert caught.value.code() is Status.DEADLINE_EXCEEDED
        await until(lambda: gate.started == gate.cancelled, "it is cancelled, too")


async def test_grpc_ends_its_calls_while_the_server_stops() -> None:
    gate = Gate()
    async with (
        serving(Wait=grpc.unary_unary_rpc_method_handler(gate.unary)) as served,
        channel(served.port) as client,
    ):
        call = asyncio.ensure_future(client.unary_unary("/t/Wait")(b"x"))
        await until(lambda: gate.started, "it runs")
        stopping = asyncio.create_task(served.server.stop(PATIENCE_S))
        await asyncio.sleep(0.02)
        gate.open.set()
        assert await call == b"x"
        await stopping


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
            assert await peer.fault() is Code.NO_ERROR
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
        PREFACE + settings_frame() + window_update(0, 2**30) + b"".join(calls)
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

    async with (
        serving(Slow=grpc.unary_unary_rpc_method_handler(slow)) as served,
        served.peer() as peer,
    ):
        peer.call(1, "/t/Slow", b"", ("grpc-timeout", "10m"))
        await until(lambda: done, "the deadline has passed")
        peer.send(reset(1, Code.CANCEL))
        await peer.ping()
        await until(lambda: done == ["begun", "cleaned up"], "it cleans up")


async def test_who_writes_a_little_need_not_wait_for_a_reader() -> None:
    """A handler may hold a lock while it writes, as that of a watch of health does: others would wait for a reader."""
    written = asyncio.Event()

    async def watch(_: bytes, context: Any) -> None:
        for _n in range(3):
            await context.write(b"news")
        written.set()
        await asyncio.Event().wait()

    async with (
        serving(Watch=grpc.unary_stream_rpc_method_handler(watch)) as served,
        served.peer(gives_room=False) as peer,
    ):
        peer.set((frames.INITIAL_WINDOW_SIZE, 0))
        peer.call(1, "/t/Watch", b"")
        await until(written.is_set, "it has written")
        peer.send(reset(1, Code.CANCEL))
        await peer.ping()


async def test_messages_without_content_are_not_free() -> None:
    """Whoever does not read them makes the client stop, however small they are."""
    gate = Gate()
    async with (
        serving(Late=grpc.stream_unary_rpc_method_handler(gate.stream)) as served,
        served.peer() as peer,
    ):
        peer.send(peer.headers(1, "/t/Late"))
        for _ in range(STREAM_WINDOW_BYTES // LEAST_FRAME_BYTES - 1):
            peer.send(data(1, message(b"") * (LEAST_FRAME_BYTES // 5)))
        await peer.ping()
        stream = served.connection._streams[1]
        assert stream._held_bytes >= 64 * len(stream._messages) > 0
        assert peer.allowed.get(1, 0) <= STREAM_WINDOW_BYTES // 2
        peer.send(reset(1, Code.CANCEL))
        await peer.ping()


async def test_a_refused_call_that_nobody_reads_keeps_nothing() -> None:
    """Its answer waits for room; what still comes is not kept meanwhile."""

    async def talk(requests: AsyncIterator[bytes], context: Any) -> None:
        await context.write(bytes(200_000))
        async for _ in requests:
            pass

    async with (
        serving(Talk=grpc.stream_stream_rpc_method_handler(talk)) as served,
        served.peer(gives_room=False) as peer,
    ):
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

    async with (
        serving(Stubborn=grpc.unary_stream_rpc_method_handler(stubborn)) as served,
        served.peer() as peer,
    ):
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
