"""A connection without a socket: bytes in, bytes out."""

import asyncio
from typing import Any

from backscroll_sidecar.edge.http2.connection import Connection
from backscroll_sidecar.edge.http2.frames import DATA, END_STREAM, HEADERS
from backscroll_sidecar.edge.http2.server import LocalServer
from tests.integration.edge.http2.peer import MAX_BYTES, Answer, Frame
from tests.integration.edge.http2.serving import SHAPES, no_task_but, until
from tests.kit.endpoints import endpoints


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
    return wire_of(LocalServer(endpoints(**SHAPES | handlers), max_bytes), max_bytes)


def wire_of(server: LocalServer, max_bytes: int = MAX_BYTES) -> Wire:
    """A connection as the server makes them for its sockets."""
    loop = asyncio.get_running_loop()
    told = server._opened, server._closed, server._hold, server._linger_s
    wire = Wire(Connection(loop, server._endpoints, max_bytes, *told))
    wire.connection.connection_made(wire)
    return wire


def said(wire: Wire) -> dict[int, list[bytes]]:
    """The messages of each answer that is whole."""
    answers: dict[int, Answer] = {}
    for kind, flags, stream_id, body in wire.frames():
        answer = answers.setdefault(stream_id, Answer())
        if kind == DATA:
            answer.body += body
        answer.is_ended |= bool(flags & END_STREAM) and kind in {DATA, HEADERS}
    return {key: one.messages for key, one in answers.items() if one.is_ended}


async def settle(wire: Wire) -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def hung_up(wire: Wire, before: set[Any]) -> None:
    """The client goes: nothing must be left."""
    wire.close()
    await until(lambda: not wire.connection._streams, "no stream is left")
    await until(lambda: no_task_but(before), "no task is left")
