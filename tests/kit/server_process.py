"""A server process for proofs: started on a free port, killed or stopped by its own id.

It ends with the process that started it, however that ends.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from tests.kit.postgres import database_url


class ServerProcess:
    """`backscroll serve` in a process of its own.

    Parameters
    ----------
    database : path of the SQLite file, or URL.
    state_dir : where kernels are cached; None: the user's own.
    settings : further settings, by their environment variables.
    listen : its address.
    """

    def __init__(
        self,
        database: str | Path,
        *,
        durability: str = "full",
        state_dir: str | Path | None = None,
        settings: Mapping[str, str] | None = None,
        listen: str = "127.0.0.1:0",
    ) -> None:
        self._settings = dict(settings or {})
        self._command = [
            sys.executable, "-m", "backscroll_sidecar.cli.tied", "serve", "--json",
            "--listen", listen, "--database", database_url(database), "--durability", durability,
            *(("--state-dir", str(state_dir)) if state_dir else ()),
        ]  # fmt: skip
        self._process: subprocess.Popen[str] | None = None
        self.address = self.http_address = ""
        self.start_cpu_s = 0.0

    @property
    def pid(self) -> int:
        """The id of the running process."""
        assert self._process is not None
        return self._process.pid

    def start(self) -> Self:
        """Start it and wait until it serves."""
        environment = {"BACKSCROLL_LOG_LEVEL": "warning", **os.environ, **self._settings}
        self._process = subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the server did not start; exit code {self._process.wait()}")
        ready = json.loads(line)
        self.address = ready["listen"][0]
        self.http_address = ready.get("http", [""])[0]
        self.start_cpu_s = _cpu_s(self.pid)
        return self

    def kill(self) -> None:
        """SIGKILL: nothing is flushed."""
        self._end(signal.SIGKILL)

    def stop(self, timeout_s: float = 20.0) -> int:
        """SIGTERM: drains; the exit code."""
        return self._end(signal.SIGTERM, timeout_s)

    def _end(self, how: signal.Signals, timeout_s: float = 20.0) -> int:
        if self._process is None:
            return 0
        if self._process.poll() is None:
            self._process.send_signal(how)
        code = self._process.wait(timeout_s)
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        self._process = None
        return code

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *exc: object) -> None:
        self.stop()


def _cpu_s(pid: int) -> float:
    """Processor time that a process has taken so far: unlike the clock's, not what others took of the machine."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
