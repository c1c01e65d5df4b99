"""A server as a child process that never outlives its parent (see `tied`)."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from backscroll_sidecar.cli.console import CommandError
from backscroll_sidecar.config.sources import load

STOP_S = 20.0
"""Seconds a server gets to end by itself; it drains for less."""


@dataclass(frozen=True, slots=True)
class Running:
    """A server that serves: its first address and its process."""

    address: str
    pid: int
    start_s: float


@contextmanager
def server(options: Sequence[str], directory: Path) -> Iterator[Running]:
    """Run ``backscroll serve`` on a free port with these options only: no settings of the environment or of a file."""
    with tempfile.TemporaryFile() as log:
        command = [
            sys.executable,
            "-m",
            "backscroll_sidecar.cli.tied",
            "serve",
            "--json",
            "--listen",
            "127.0.0.1:0",
        ]
        process = subprocess.Popen(  # noqa: S603 - our own program with our own arguments
            [*command, *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            cwd=directory,
            env=_environment(),
        )
        try:
            ready = _first_line(process)
            if ready is None:
                log.seek(0)
                said = log.read()[-4_000:].decode(errors="replace")
                raise CommandError(
                    f"the server did not start:\n{said}", "look for more with: backscroll doctor"
                )
            yield Running(ready["listen"][0], process.pid, ready["start_seconds"])
        finally:
            _end(process)


@contextmanager
def server_for(name: str, *flags: str) -> Iterator[tuple[Running, Path]]:
    """A server over a new database, with that database's file. Both go with the block; compiled kernels stay."""
    with tempfile.TemporaryDirectory(prefix=f"backscroll-{name}-") as folder:
        directory = Path(folder)
        database = directory / f"{name}.db"
        kernels = load(directory=directory).settings.state_dir
        own = ["--state-dir", str(kernels), "--database", str(database), "--log-level", "warning"]
        with server([*own, *flags], directory) as running:
            yield running, database


def _environment() -> Mapping[str, str]:
    ours = ("BACKSCROLL_", "MEMORY_", "MAX_CHARS_PER_MESSAGE", "TG_HISTORY_WINDOW")
    return {name: value for name, value in os.environ.items() if not name.upper().startswith(ours)}


def _first_line(process: subprocess.Popen[bytes]) -> dict[str, Any] | None:
    """What the server prints once it serves; nothing if it ended before."""
    if process.stdout is None:
        raise AssertionError("the server's output is a pipe")
    try:
        value = json.loads(process.stdout.readline())
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
    try:
        process.wait(STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()
