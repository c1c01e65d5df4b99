"""A client that says exactly what it is told to."""

import asyncio
import gzip
import random
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import unquote

import grpc
import hpack

from backscroll_sidecar.edge.http2 import frames
from backscroll_sidecar.edge.http2.frames import (
    ACK,
    CONTINUATION,
    DATA,
    DEFAULT_WINDOW_BYTES,
    END_HEADERS,
    END_STREAM,
    HEADERS,
    LEAST_FRAME_BYTES,
    PADDED,
    PING,
    PREFACE,
    PRIORITY,
    RST_STREAM,
    SETTINGS,
    WINDOW_UPDATE,
    ErrorCode,
    frame,
    reset,
    window_update,
)
from tests.kit.patience import patience

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


def message(body: bytes, flag: int = 0) -> bytes:
    return bytes((flag,)) + len(body).to_bytes(4, "big") + body


def data(stream_id: int, body: bytes, *, end: bool = False) -> bytes:
    return frame(DATA, END_STREAM if end else 0, stream_id, body)


def in_frames(stream_id: int, body: bytes, *, end: bool = True) -> bytes:
    """A body in as many frames as it needs."""
    cuts = [body[at : at + LEAST_FRAME_BYTES] for at in range(0, len(body), LEAST_FRAME_BYTES)]
    last = len(cuts) - 1
    return b"".join(data(stream_id, one, end=end and at == last) for at, one in enumerate(cuts))


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
        self.farewell: tuple[int, ErrorCode, bytes] | None = None
        self.is_closed = False

    # --- what it says

    def send(self, *raw: bytes) -> None:
        for one in raw:
            if one.startswith(PREFACE):
                self._unacknowledged.append({})
        self._writer.write(b"".join(raw))

    async def drain(self) -> None:
        await self._writer.drain()

    def block(self, path: str = "/t/Echo", *more: Any, call: Any = CALL) -> bytes:
        fields = [(name, path if name == ":path" else value) for name, value in call]
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
        self.send(frames.settings(*pairs))
        self._unacknowledged.append(dict(pairs))

    # --- what it hears

    def answer(self, stream_id: int) -> Answer:
        return self.answers.setdefault(stream_id, Answer())

    async def next(self) -> Frame | None:
        """The next frame; None when the server has closed."""
        try:
            async with patience():
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

    async def fault(self) -> ErrorCode | None:
        """Why the server closes; None when it just does."""
        while await self.next() is not None:
            pass
        return self.farewell[1] if self.farewell else None

    async def verdict(self, stream_id: int = 1) -> ErrorCode | int | None:
        """What a call was ended with, by an end of the connection or of its stream."""
        while not self.answer(stream_id).is_over and await self.next() is not None:
            pass
        return self.farewell[1] if self.farewell else self.answer(stream_id).reset

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
                self.farewell = last, ErrorCode(code), body[8:]
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
            frames.settings((frames.INITIAL_WINDOW_SIZE, 100_000), (1, 4_096), (99, 7)),
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
            reset(9, ErrorCode.CANCEL),
            headers(11, "/t/Nothing"),
            frames.settings((frames.INITIAL_WINDOW_SIZE, 50)),
            headers(13, "/t/Echo"),
            data(13, message(bytes(100)), end=True),
            window_update(13, 1_000),
        )
    )


GOOD = conversation()
