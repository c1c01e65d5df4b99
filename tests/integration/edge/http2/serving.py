"""A server that is watched, and what it answers."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from backscroll_sidecar.edge.http2.connection import Connection
from backscroll_sidecar.edge.http2.server import LocalServer
from tests.integration.edge.http2.peer import HELLO, MAX_BYTES, Peer
from tests.kit.endpoints import endpoints, stream_stream, stream_unary, unary_stream, unary_unary
from tests.kit.patience import patience


def no_task_but(before: set[Any]) -> bool:
    """Whether all tasks are those of before, and this one: a fixture's end is a task of its own."""
    return asyncio.all_tasks() - {asyncio.current_task()} <= before


async def until(is_so: Callable[[], object], what: str = "") -> None:
    """Let the loop go on until something is so."""
    try:
        async with patience():
            while not is_so():  # noqa: ASYNC110
                await asyncio.sleep(0.002)
    except TimeoutError:
        raise AssertionError(f"never so: {what}") from None


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
    "Echo": unary_unary(echo),
    "Big": unary_unary(big),
    "Split": unary_stream(split),
    "Join": stream_unary(join),
    "Chat": stream_stream(chat),
}


class Watched(LocalServer):
    """Keeps what was connected, so that a test can see what is left of it."""

    def __init__(self, **handlers: Any) -> None:
        super().__init__(endpoints(**SHAPES | handlers), MAX_BYTES)
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
    server = Watched(**handlers)
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


@asynccontextmanager
async def connected(**options: Any) -> AsyncIterator[tuple[Served, Peer]]:
    """A server of handlers (their names are capitalised) and a peer with the other options."""
    handlers = {name: one for name, one in options.items() if name[0].isupper()}
    ours = {name: one for name, one in options.items() if name not in handlers}
    async with serving(**handlers) as served, served.peer(**ours) as peer:
        yield served, peer


@asynccontextmanager
async def gated(**options: Any) -> AsyncIterator[tuple[Gate, Served, Peer]]:
    """A gate, a server whose calls Wait and Late wait at it, and a peer."""
    gate = Gate()
    shapes = {"Wait": unary_unary(gate.unary), "Late": stream_unary(gate.stream)}
    async with connected(**shapes, **options) as (served, peer):
        yield gate, served, peer


async def flow(_: bytes, __: Any) -> AsyncIterator[bytes]:
    while True:
        yield bytes(50_000)


async def requests(bodies: Iterable[bytes]) -> AsyncIterator[bytes]:
    for one in bodies:
        yield one
