"""PgBouncer before the tests' own PostgreSQL: hands a session to another client behind each transaction."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Self

from backscroll_bench.speed.postgres import START_S, USER
from tests.kit.haproxy import free_ports
from tests.kit.postgres import PostgresServer

PROGRAM = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")


class PgBouncer:
    """The process, for as long as the block lasts."""

    def __init__(self, server: PostgresServer) -> None:
        self._server = server
        (self.port,) = free_ports(1)

    def __enter__(self) -> Self:
        assert PROGRAM is not None
        self._folder = Path(tempfile.mkdtemp(prefix="backscroll-pgb-"))
        file = self._folder / "pgbouncer.ini"
        file.write_text(
            f"[databases]\n* = host={self._server.folder} user=backscroll\n"
            f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {self.port}\nunix_socket_dir =\n"
            "auth_type = any\npool_mode = transaction\ndefault_pool_size = 4\nidle_transaction_timeout = 5\n"
        )
        user: tuple[str, ...] = ()
        if os.geteuid() == 0:
            self._folder.chmod(0o755)
            user = ("-u", USER)
        self._process = subprocess.Popen([PROGRAM, "-q", *user, file])
        ends_s = time.monotonic() + START_S
        while not self._answers():
            assert self._process.poll() is None
            assert time.monotonic() < ends_s
            time.sleep(0.05)
        return self

    def _answers(self) -> bool:
        ready = [self._server.bin / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        return subprocess.run([*ready, "-d", "postgres"], check=False).returncode == 0

    def __exit__(self, *exc: object) -> None:
        self._process.terminate()
        self._process.wait(START_S)
        shutil.rmtree(self._folder)

    def url(self, direct: str) -> str:
        """The way through it to a database of the server."""
        name = direct.removeprefix("postgresql://backscroll@/").partition("?")[0]
        return f"postgresql://backscroll@127.0.0.1:{self.port}/{name}?statement_cache_size=0"
