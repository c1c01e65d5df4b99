"""Unix sockets of a server: made so that only this user can open them, gone when the server goes."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from backscroll_sidecar.edge.bind_policy import Address
from backscroll_sidecar.edge.http2.server import has_listener
from backscroll_sidecar.errors import StartRefused

T = TypeVar("T")


class UnixSockets:
    """Paths that were bound. `setting` is where the operator names them."""

    def __init__(self, setting: str) -> None:
        self._setting = setting
        self._paths: dict[Path, tuple[int, int] | None] = {}

    def bind(self, address: Address, bind: Callable[[Path], T]) -> T:
        """Bind a path; one that a dead server left behind is replaced.

        Raises
        ------
        StartRefused
            It is taken, or no socket.
        """
        if not hasattr(socket, "AF_UNIX"):
            raise StartRefused(self._setting, "names a unix socket, which this system has not")
        path = Path(address.host)
        if path.exists() or path.is_symlink():
            if not path.is_socket():
                raise StartRefused(self._setting, f"cannot be served: {path} is no socket")
            if has_listener(path):
                raise StartRefused(self._setting, f"cannot be served: {path} is taken")
        before = os.umask(0o077)
        try:
            bound = bind(path)
        finally:
            os.umask(before)
        return bound

    def keep(self, address: Address) -> None:
        """Take care of a path's end: what binds it does not."""
        path = Path(address.host)
        self._paths[path] = _identity(path)

    def remove(self) -> None:
        """At once, for another server may take its place while calls end; and not what took it already."""
        for path, identity in self._paths.items():
            if _identity(path) == identity:
                path.unlink(missing_ok=True)
        self._paths.clear()


def _identity(path: Path) -> tuple[int, int] | None:
    """Which file a path is now; None: none."""
    try:
        found = path.lstat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
