"""The server of this machine's own addresses: listens, takes connections, drains."""

from __future__ import annotations

import asyncio
import errno
import socket
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from backscroll_sidecar.concurrency.standstill import Standstill
from backscroll_sidecar.edge.call_pipeline import Endpoint
from backscroll_sidecar.edge.http2.connection import Connection

BACKLOG = 1_024
MOST_HELD_BYTES = 512 * 2**20
"""Of messages half received or not read yet, all connections together; then calls that bring more are refused."""
PORT_TRIES = 8
"""Any port will do: if one is taken on another address that the host stands for, the next is tried."""
PROBE_S = 0.5
BREAK_OFF_S = 1.0
"""What calls get to end by themselves once they are cancelled, and their answers to leave."""


class LocalServer:
    """Answers calls of endpoints over sockets that somebody has bound.

    Parameters
    ----------
    max_receive_bytes : of a message; a longer one is RESOURCE_EXHAUSTED.
    """

    def __init__(self, endpoints: Iterable[Endpoint], max_receive_bytes: int) -> None:
        self._endpoints = {one.path: one for one in endpoints}
        self._max_receive_bytes = max_receive_bytes
        self._sockets: list[socket.socket] = []
        self._listening: list[asyncio.Server] = []
        self._connections: set[Connection] = set()
        self._is_empty = asyncio.Event()
        self._is_empty.set()
        self._held_bytes = 0
        self._standstill: Standstill | None = None
        self._is_stopping = False
        self._has_stopped = asyncio.Event()

    def add_socket(self, bound: socket.socket) -> None:
        """Listen on a socket from `start` on. It is closed when the server stops."""
        self._sockets.append(bound)

    async def start(self) -> None:
        """Take calls."""
        loop = asyncio.get_running_loop()
        self._standstill = Standstill()
        self._standstill.start()

        def connection() -> Connection:
            told = self._opened, self._closed, self._hold, self._linger_s
            return Connection(loop, self._endpoints, self._max_receive_bytes, *told)

        for one in self._sockets:
            is_path = one.family == getattr(socket, "AF_UNIX", None)
            create: Any = loop.create_unix_server if is_path else loop.create_server
            self._listening.append(await create(connection, sock=one, backlog=BACKLOG))

    def _linger_s(self) -> float:
        """How long calls go on whose callers left while this process stood still: their answers may be here."""
        return 0.0 if self._standstill is None else self._standstill.left_s

    async def stop(self, grace_s: float | None) -> None:
        """Take no new calls, let running ones end for `grace_s`, then end them as UNAVAILABLE. Idempotent."""
        self._is_stopping = True
        if self._standstill is not None:
            self._standstill.stop()
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


# --- sockets: bound so that nobody else gets them, and nobody loses theirs ---------------------------


def listening_at(host: str, port: int) -> list[socket.socket]:
    """Sockets of one port at all addresses that a host stands for and this machine has. Raises `OSError`."""
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    addresses = dict.fromkeys((one[0], str(one[4][0])) for one in found)
    for left in reversed(range(1 if port else PORT_TRIES)):
        try:
            return _all_listening(addresses, port)
        except OSError as error:
            if error.errno != errno.EADDRINUSE or not left:
                raise
    raise AssertionError("there is at least one try")


def listening_path(path: Path) -> socket.socket:
    """A unix socket; one that a dead server left behind is replaced. Raises `OSError`."""
    path.unlink(missing_ok=True)
    return _listening(socket.AF_UNIX, str(path))


def has_listener(path: Path) -> bool:
    """Whether somebody listens at a unix socket, however busy."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(PROBE_S)
        try:
            probe.connect(str(path))
        except (ConnectionRefusedError, FileNotFoundError):
            return False
        except OSError:
            return True
    return True


def _all_listening(addresses: Iterable[tuple[int, str]], port: int) -> list[socket.socket]:
    made: list[socket.socket] = []
    refused = OSError()
    for family, host in addresses:
        try:
            made.append(_listening(family, (host, port)))
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                for one in made:
                    one.close()
                raise
            refused = error  # a version of IP that is not there
        else:
            port = made[-1].getsockname()[1]
    if not made:
        raise refused
    return made


def _listening(family: int, where: tuple[str, int] | str) -> socket.socket:
    """A socket that nobody else can bind from now on; who connects waits until the server starts."""
    # Named, the protocol makes asyncio send small writes at once (TCP_NODELAY).
    protocol = socket.IPPROTO_TCP if isinstance(where, tuple) else 0
    bound = socket.socket(family, socket.SOCK_STREAM, protocol)
    try:
        if sys.platform != "win32":  # there it would let others steal the port
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(where)
        bound.listen(BACKLOG)
        bound.setblocking(False)
    except BaseException:
        bound.close()
        raise
    return bound
