"""HAProxy by the configuration of `deploy/`, its addresses put in the place of those there."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Self

CONFIGURATION = Path(__file__).parents[2] / "deploy" / "haproxy" / "haproxy.cfg"
PROGRAM = shutil.which("haproxy", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
START_S = 30.0
LIMIT_LINES = 3


def free_ports(count: int) -> list[int]:
    """Ports that nobody has just now."""
    taken = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports: list[int] = [one.getsockname()[1] for one in taken]
    for one in taken:
        one.close()
    return ports


class HAProxy:
    """The process, for as long as the block lasts, before servers of this machine.

    Parameters
    ----------
    folder : for its configuration.
    servers : the ports of each for calls and for its health.
    with_limit : with the limit of calls a key that the file has marked, in a minute and not in a second.
    """

    def __init__(
        self, folder: Path, servers: Sequence[tuple[int, int]], *, with_limit: bool = False
    ) -> None:
        (port,) = free_ports(1)
        self.address = f"127.0.0.1:{port}"
        text = CONFIGURATION.read_text().replace("127.0.0.1:50050", self.address)
        for place, (calls, health) in enumerate(servers, 1):
            there = f"127.0.0.1:5005{place} port 808{place}"
            assert there in text
            text = text.replace(there, f"127.0.0.1:{calls} port {health}")
        if with_limit:
            assert text.count("#limit ") == LIMIT_LINES
            text = text.replace("#limit ", "").replace("http_req_rate(1s)", "http_req_rate(1m)")
        self.file = folder / "haproxy.cfg"
        self.file.write_text(text)

    def __enter__(self) -> Self:
        assert PROGRAM is not None
        self._process = subprocess.Popen([PROGRAM, "-db", "-f", self.file])
        ends_s = time.monotonic() + START_S
        host, _, port = self.address.partition(":")
        while True:
            try:
                socket.create_connection((host, int(port)), 1).close()
            except OSError:
                assert self._process.poll() is None, "it says why"
                assert time.monotonic() < ends_s
                time.sleep(0.05)
            else:
                return self

    def __exit__(self, *exc: object) -> None:
        self._process.terminate()
        self._process.wait(START_S)
