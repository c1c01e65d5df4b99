"""Sockets that listen: bound so that nobody else gets them, and nobody loses theirs."""

from __future__ import annotations

import errno
import socket
import sys
from collections.abc import Iterable
from pathlib import Path

from backscroll_sidecar.edge.http2.server import BACKLOG

PORT_TRIES = 8
"""Any port will do: if one is taken on another address that the host stands for, the next is tried."""
PROBE_S = 0.5


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
