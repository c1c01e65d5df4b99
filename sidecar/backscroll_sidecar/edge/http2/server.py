"""The server of this machine's own addresses: takes `grpc.aio`'s handlers, listens, drains."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from typing import Any, NamedTuple

import grpc

from backscroll_sidecar.edge.http2.connection import Connection
from backscroll_sidecar.edge.http2.headers import Metadata

BACKLOG = 1_024
MOST_HELD_BYTES = 512 * 2**20
"""Of messages half received or not read yet, all connections together; then calls that bring more are refused."""
BREAK_OFF_S = 1.0
"""What calls get to end by themselves once they are cancelled, and their answers to leave."""


class _Details(NamedTuple):
    """A call as gRPC's handlers by name look it up."""

    method: str
    invocation_metadata: Metadata


class LocalServer:
    """The part of `grpc.aio.Server` that the edge needs, over sockets that somebody has bound.

    Parameters
    ----------
    max_receive_bytes : of a message; a longer one is RESOURCE_EXHAUSTED.
    """

    def __init__(self, max_receive_bytes: int) -> None:
        self._max_receive_bytes = max_receive_bytes
        self._generic: list[grpc.GenericRpcHandler] = []
        self._known: dict[str, Any] = {}
        self._sockets: list[socket.socket] = []
        self._listening: list[asyncio.Server] = []
        self._connections: set[Connection] = set()
        self._is_empty = asyncio.Event()
        self._is_empty.set()
        self._held_bytes = 0
        self._is_stopping = False
        self._has_stopped = asyncio.Event()

    def add_generic_rpc_handlers(self, handlers: Sequence[grpc.GenericRpcHandler]) -> None:
        """Answer calls of these services, too."""
        self._generic.extend(handlers)

    def add_socket(self, bound: socket.socket) -> None:
        """Listen on a socket from `start` on. It is closed when the server stops."""
        self._sockets.append(bound)

    async def start(self) -> None:
        """Take calls."""
        loop = asyncio.get_running_loop()

        def connection() -> Connection:
            return Connection(
                loop, self._find, self._max_receive_bytes, self._opened, self._closed, self._hold
            )

        for one in self._sockets:
            is_path = one.family == getattr(socket, "AF_UNIX", None)
            create: Any = loop.create_unix_server if is_path else loop.create_server
            self._listening.append(await create(connection, sock=one, backlog=BACKLOG))

    async def stop(self, grace_s: float | None) -> None:
        """Take no new calls, let running ones end for `grace_s`, then end them as UNAVAILABLE. Idempotent."""
        self._is_stopping = True
        for server in self._listening:
            server.close()
        for bound in self._sockets:
            bound.close()
        self._sockets.clear()
        for connection in list(self._connections):
            connection.leave()
        if not await self._emptied(grace_s or 0.0):
            for connection in list(self._connections):
                connection.break_off()
            if not await self._emptied(BREAK_OFF_S):
                for connection in list(self._connections):
                    connection.abort()
                await self._emptied(BREAK_OFF_S)
        self._has_stopped.set()

    async def wait_for_termination(self) -> None:
        """Return when it has stopped."""
        await self._has_stopped.wait()

    async def _emptied(self, longest_s: float) -> bool:
        try:
            await asyncio.wait_for(self._is_empty.wait(), longest_s)
        except TimeoutError:
            return False
        return True

    def _opened(self, connection: Connection) -> None:
        self._connections.add(connection)
        self._is_empty.clear()
        if self._is_stopping:  # it was accepted just before
            connection.leave()

    def _closed(self, connection: Connection) -> None:
        self._connections.discard(connection)
        if not self._connections:
            self._is_empty.set()

    def _hold(self, more: int) -> bool:
        self._held_bytes += more
        return self._held_bytes <= MOST_HELD_BYTES

    def _find(self, path: str, metadata: Metadata) -> Any:  # noqa: ANN401
        known = self._known.get(path)
        if known is not None:
            return known
        details: Any = _Details(path, metadata)
        for one in self._generic:
            handler = one.service(details)
            if handler is not None:
                self._known[path] = handler
                return handler
        return None
